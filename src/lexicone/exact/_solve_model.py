"""One model, one order: the optimum by the method that suits, checked before it is said to be optimal.

`solve` and `Solver` both end here; a `Prepared` model brings along what is known of it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float, Int

from lexicone._base.checks import check_kind, check_range
from lexicone.exact._deterministic import solve_deterministic, too_many_states
from lexicone.exact._known import Known
from lexicone.exact._prepared import Prepared
from lexicone.exact._report import Report
from lexicone.exact._solution import Policies, Solution, Status
from lexicone.exact._stages import solve_stages
from lexicone.exact._starts import deterministic_parts
from lexicone.exact._state_actions import StateActions
from lexicone.models._evaluation import estimate
from lexicone.models._mdp import MDP
from lexicone.order import Order
from lexicone.proofs._quick import find_doubt
from lexicone.proofs._verify import MAX_EXACT_STATES, verify

__all__ = ["PROGRAM_STATES", "Method", "Wanted", "check_options", "solve_finite", "solve_prepared"]

Method = Literal["auto", "lp", "columns"]

PROGRAM_STATES = 150
"""``method="auto"`` takes the linear program as a whole up to here, column generation above."""
PROGRAM_GAMMA = 1 - 1e-8
"""The largest discount below 1 for the linear program."""
_DROWNS = 1e3  # how much larger than the optimum's values rewards may be
_NOTHING = 1e-10  # of the largest reward: a smaller value is none
_OTHER_METHOD_STATES = {
    "lp": 2000,
    "columns": 20_000,
}  # up to here the other method is tried if one fails
_OTHER_METHOD_SECONDS = 60.0
_VERIFIED_STATES = 5000  # up to here a doubt is settled by a whole verification


@dataclass(frozen=True, eq=False)
class Wanted:
    """What is asked of a model."""

    order: Order
    policies: Policies = "stochastic"
    method: Method = "auto"
    tolerance: float = 1e-6
    deadline: float = np.inf
    """Of `time.monotonic`."""
    progress: Callable[[str], None] | None = None
    start: Float[np.ndarray, "S A"] | None = None
    """A policy to start from."""


def solve_prepared(model: Prepared, wanted: Wanted) -> Solution:
    """The optimum, or the reason why there is none; "optimal" only if the cheap part of verification agrees."""
    scale = model.scale
    found = _in_units(model, wanted, scale)
    finer = _finer_scale(found, scale)
    solved = found.status in (Status.OPTIMAL, Status.NEEDS_MEMORY, Status.FAILED)
    if solved and (finer < scale).any():
        again = _in_units(model, wanted, finer)
        if again.status is not Status.FAILED or found.status is Status.FAILED:
            found = again
    return _confirmed(model, found, wanted.tolerance)


def _in_units(model: Prepared, wanted: Wanted, scale: Float[np.ndarray, " K"]) -> Solution:
    report = Report(model.mdp, wanted.order, model.gamma, wanted.tolerance, scale)
    known = model.known(scale)
    if not known.pairs.num_states:
        return report.ended(wanted.policies)
    starts = [] if wanted.start is None else deterministic_parts(wanted.start)
    if wanted.policies == "deterministic":
        return _deterministic(report, known.pairs, starts, wanted.deadline, wanted.progress)
    found = _stochastic(report, known, wanted, starts)
    if wanted.start is not None and found.status is Status.LIMIT:
        return report.better_of(found, known.pairs, wanted.start)
    return found


def _confirmed(model: Prepared, found: Solution, tolerance: float) -> Solution:
    """The solution, or "failed" in its place if it is said to be optimal and the duals do not prove it."""
    if found.status not in (Status.OPTIMAL, Status.NEEDS_MEMORY):
        return found
    doubt = find_doubt(model.rows, found, tolerance)
    if not doubt or _proven(model.mdp, found, tolerance):
        return found
    return replace(found, status=Status.FAILED, message=f"not proven to the tolerance: {doubt}")


def _proven(mdp: MDP, found: Solution, tolerance: float) -> bool:
    """By a whole verification; in whole numbers where rounding along its episodes hides too much."""
    if mdp.num_states > _VERIFIED_STATES:
        return False
    if verify(mdp, found, tolerance=tolerance).ok:
        return True
    small = mdp.num_states <= MAX_EXACT_STATES
    return small and verify(mdp, found, exact=True, tolerance=tolerance).ok


def solve_finite(
    mdp: MDP,
    order: Order,
    gamma: float,
    deadline: float,
    progress: Callable[[str], None] | None,
) -> Solution:
    """The best deterministic policy of those that pay for no objective for ever."""
    model = Prepared(mdp, gamma)
    report = Report(mdp, order, gamma, 1e-6, model.scale)
    pairs = model.known(model.scale).pairs
    if not pairs.num_states:
        return report.ended("deterministic")
    return _deterministic(report, pairs, [], deadline, progress, finite=True)


def _finer_scale(found: Solution, scale: Float[np.ndarray, " K"]) -> Float[np.ndarray, " K"]:
    """Units of the size of values and thresholds where rewards are so much larger that differences would be lost."""
    limits = np.array([*found.order.thresholds, 0.0])
    size = np.maximum(*(np.abs(np.where(np.isfinite(v), v, 0.0)) for v in (found.values, limits)))
    drowned = (size < scale / _DROWNS) & (size > _NOTHING * scale)
    return np.where(drowned, size, scale)


def _deterministic(
    report: Report,
    pairs: StateActions,
    starts: list[np.ndarray],
    deadline: float,
    progress: Callable[[str], None] | None,
    finite: bool = False,
) -> Solution:
    refusal = too_many_states(pairs.num_states)
    if refusal:
        raise ValueError(f"policies: the search for a deterministic policy {refusal}")

    def values_of(policy: np.ndarray) -> np.ndarray:
        shares = np.zeros(pairs.num_pairs)
        shares[policy] = 1.0
        return estimate(report.mdp, report.policy_table(pairs, shares), report.gamma) / report.scale

    best = solve_deterministic(
        pairs,
        _scaled_thresholds(report),
        values_of,
        break_ties=report.order.break_ties,
        starts=[pairs.numbers_of(actions[pairs.states]) for actions in starts],
        finite=finite,
        deadline=deadline,
        progress=progress,
    )
    return report.deterministic(pairs, best)


def _stochastic(
    report: Report, known: Known, wanted: Wanted, starts: list[Int[np.ndarray, " S"]]
) -> Solution:
    size, gamma, method = known.pairs.num_states, report.gamma, wanted.method
    if method == "auto":
        small = size <= PROGRAM_STATES and not _too_near_one(gamma)
        method = "lp" if small else "columns"
    found = _by_method(report, known, wanted, method, starts)
    other: Literal["lp", "columns"] = "columns" if method == "lp" else "lp"
    possible = size <= _OTHER_METHOD_STATES[other]
    possible = possible and not (other == "lp" and _too_near_one(gamma))
    if found.status is Status.FAILED and possible:
        soon = min(wanted.deadline, time.monotonic() + _OTHER_METHOD_SECONDS)
        again = _by_method(report, known, replace(wanted, deadline=soon), other, starts)
        if again.status not in (Status.FAILED, Status.LIMIT):
            return again
    return found


def _by_method(
    report: Report,
    known: Known,
    wanted: Wanted,
    method: Literal["lp", "columns"],
    starts: list[Int[np.ndarray, " S"]],
) -> Solution:
    found = solve_stages(
        known,
        _scaled_thresholds(report),
        method,
        break_ties=report.order.break_ties,
        gap=0.1 * report.tolerance,
        starts=starts,
        deadline=wanted.deadline,
        progress=wanted.progress,
    )
    return report.stochastic(found, method)


def _scaled_thresholds(report: Report) -> Float[np.ndarray, " K"]:
    return np.array([*report.order.thresholds, np.inf]) / report.scale


def _too_near_one(gamma: float) -> bool:
    """Whether 1 − γ is lost in the errors that a linear program allows."""
    return PROGRAM_GAMMA < gamma < 1


def check_options(gamma: float, method: str, tolerance: float, time_limit: float) -> None:
    """A ValueError that names what is wrong."""
    check_kind("method", method, get_args(Method))
    if method == "lp" and _too_near_one(gamma):
        raise ValueError(
            f'gamma: {gamma!r} is too near to 1 for method="lp", which takes at most {PROGRAM_GAMMA!r}; '
            '"columns" serves it'
        )
    check_range("tolerance", tolerance, 0, above=True)
    check_range("time_limit", time_limit, 0, above=True)
