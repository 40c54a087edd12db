"""The exact lexicographic optimum of a model: which policy is best, and a proof that none is better.

Thresholds hold for expected returns: ``criterion="expected"``. Mixtures count: a policy may choose at random.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any, Literal, cast, get_args, overload

import numpy as np
from jaxtyping import Float, Int

from lexicone._base.checks import check_function, check_kind, check_range
from lexicone._base.threads import one_thread
from lexicone.exact._deterministic import solve_deterministic, too_many_states
from lexicone.exact._linear_quadratic import (
    LinearQuadraticMethod,
    LinearQuadraticSolution,
    solve_linear_quadratic,
)
from lexicone.exact._report import Report, reward_scale
from lexicone.exact._solution import Policies, Solution, Status
from lexicone.exact._stages import solve_stages
from lexicone.exact._state_actions import StateActions, all_state_actions
from lexicone.models._arrays import as_array
from lexicone.models._evaluation import evaluate
from lexicone.models._linear_quadratic import LinearQuadratic
from lexicone.models._matching import match_order
from lexicone.models._mdp import MDP, check_model
from lexicone.order import Order, OrderLike
from lexicone.proofs._quick import find_doubt
from lexicone.proofs._verify import MAX_EXACT_STATES, verify

__all__ = ["PROGRAM_STATES", "Method", "Policies", "Solution", "Status", "solve", "solve_finite"]

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
_MOST_STARTS = 16  # deterministic policies that a start is taken apart into


@overload
def solve(
    mdp: MDP,
    order: OrderLike,
    *,
    gamma: float = 1.0,
    policies: Policies = "stochastic",
    method: Method = "auto",
    tolerance: float = 1e-6,
    time_limit: float = np.inf,
    start: Solution | np.ndarray | None = None,
    progress: Callable[[str], None] | None = None,
) -> Solution: ...


@overload
def solve(
    mdp: LinearQuadratic,
    order: OrderLike,
    *,
    method: Literal["auto"] | LinearQuadraticMethod = "auto",
    tolerance: float = 1e-6,
) -> LinearQuadraticSolution: ...


@one_thread()
def solve(
    mdp: MDP | LinearQuadratic,
    order: OrderLike,
    *,
    gamma: float = 1.0,
    policies: Policies = "stochastic",
    method: Method | LinearQuadraticMethod = "auto",
    tolerance: float = 1e-6,
    time_limit: float = np.inf,
    start: Solution | np.ndarray | None = None,
    progress: Callable[[str], None] | None = None,
) -> Solution | LinearQuadraticSolution:
    """The policy with the best expected returns in the thresholded lexicographic order.

    Stage i maximises ``min(V_i, τ_i)`` among the policies that keep the values of the stages before, the last
    maximises ``V_K``. Thresholds of −∞ never matter, +∞ means: maximise.

    Args:
        mdp: the model. A `LinearQuadratic` has its own gamma and takes no options but ``method`` ("riccati", the
            default, or "sdp", with the extra ``continuous``) and ``tolerance``; it gives a `LinearQuadraticSolution`.
            For an `MDP`, `gamma` below 1 discounts, 1 adds up whole episodes. Then staying for ever where it costs
            nothing counts as an end, and to pay for ever as −∞. That holds for each start by itself: a policy that
            pays for ever from one start, or with any positive probability, is not allowed, even if `evaluate`,
            which nets gains over the start distribution, gives it a finite value.
        order: the thresholds: an `Order`, a list, or a mapping from names. Names are matched with the model's, and
            the result has the order's sequence.
        policies: ``"deterministic"`` searches policies that never choose at random (small models).
        method: ``"lp"``, the linear program on occupancy measures as a whole, ``"columns"``, the same by
            column generation (large models), or ``"auto"``.
        tolerance: on keys, relative to the values' size; a result that the duals do not prove to this accuracy has
            the status "failed". The size is that of the value itself, at least a thousandth of what is gained and
            paid on the way to it, and three tenths of the objective's largest reward. Thresholds are met up to the
            tolerance relative to the threshold, or to what is gained and paid on the way.
        time_limit: in seconds; after that, at the end of the step at hand, the result has the status "limit", with
            the best policy so far and a bound on what a better one could have.
        start: an earlier solution of the same model, for other thresholds or another gamma, to start from; or any
            policy of it, as for `evaluate`. The result is the same, but comes sooner if the two are near. If the time
            is over before that, it is no worse than this policy (unless that chooses at random and may not).
        progress: called with a line of text now and then.
    """
    if isinstance(mdp, LinearQuadratic):
        given = {"gamma": (gamma, 1.0), "policies": (policies, "stochastic")}
        given |= {"time_limit": (time_limit, np.inf), "start": (start, None)}
        return _linear_quadratic(mdp, order, method, tolerance, given)
    check_model(mdp, gamma)
    mdp, order = match_order(mdp, order, gamma=gamma)
    check_function("progress", progress, optional=True)
    _check(gamma, policies, method, tolerance, time_limit)
    method = cast(Method, method)
    start_policy = None if start is None else _start_policy(mdp, start)
    starts = [] if start_policy is None else _deterministic_parts(start_policy)
    deadline = time.monotonic() + time_limit

    def solve_scaled(scale: np.ndarray) -> Solution:
        report = Report(mdp, order, gamma, tolerance, scale)
        pairs = all_state_actions(mdp, gamma, scale)
        if not pairs.num_states:
            return report.ended(policies)
        if policies == "deterministic":
            return _deterministic(report, pairs, starts, deadline, progress)
        found = _stochastic(report, pairs, method, starts, deadline, progress)
        if start_policy is not None and found.status is Status.LIMIT:
            return report.better_of(found, pairs, start_policy)
        return found

    scale = reward_scale(mdp)
    found = solve_scaled(scale)
    finer = _finer_scale(found, scale)
    solved = found.status in (Status.OPTIMAL, Status.NEEDS_MEMORY, Status.FAILED)
    if solved and (finer < scale).any():
        again = solve_scaled(finer)
        if again.status is not Status.FAILED or found.status is Status.FAILED:
            found = again
    return _confirmed(mdp, found, tolerance)


def _confirmed(mdp: MDP, found: Solution, tolerance: float) -> Solution:
    """The solution, or "failed" in its place if it is said to be optimal and the duals do not prove it."""
    if found.status not in (Status.OPTIMAL, Status.NEEDS_MEMORY):
        return found
    doubt = find_doubt(mdp, found, tolerance)
    if not doubt or _proven(mdp, found, tolerance):
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
    scale = reward_scale(mdp)
    report = Report(mdp, order, gamma, 1e-6, scale)
    pairs = all_state_actions(mdp, gamma, scale)
    if not pairs.num_states:
        return report.ended("deterministic")
    return _deterministic(report, pairs, [], deadline, progress, finite=True)


def _finer_scale(found: Solution, scale: Float[np.ndarray, " K"]) -> Float[np.ndarray, " K"]:
    """Units of the size of values and thresholds where rewards are so much larger that differences would be lost."""
    limits = np.array([*found.order.thresholds, 0.0])
    size = np.maximum(*(np.abs(np.where(np.isfinite(v), v, 0.0)) for v in (found.values, limits)))
    drowned = (size < scale / _DROWNS) & (size > _NOTHING * scale)
    return np.where(drowned, size, scale)


def _linear_quadratic(
    model: LinearQuadratic,
    order: OrderLike,
    method: str,
    tolerance: float,
    given: dict[str, tuple[Any, Any]],
) -> LinearQuadraticSolution:
    for name, (value, default) in given.items():
        plain = isinstance(value, str | float | int | np.generic)
        if value is not default and not (plain and value == default):
            raise ValueError(f"{name}: does not go with a LinearQuadratic model")
    check_kind("method", method, ("auto", *get_args(LinearQuadraticMethod)))
    check_range("tolerance", tolerance, 0, above=True)
    model, order = match_order(model, order, gamma=model.gamma)
    return solve_linear_quadratic(model, order, "sdp" if method == "sdp" else "riccati", tolerance)


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
        return evaluate(report.mdp, report.policy_table(pairs, shares), report.gamma) / report.scale

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
    report: Report,
    pairs: StateActions,
    method: Method,
    starts: list[np.ndarray],
    deadline: float,
    progress: Callable[[str], None] | None,
) -> Solution:
    if method == "auto":
        small = pairs.num_states <= PROGRAM_STATES and not _too_near_one(pairs.gamma)
        method = "lp" if small else "columns"
    found = _by_method(report, pairs, method, starts, deadline, progress)
    other: Literal["lp", "columns"] = "columns" if method == "lp" else "lp"
    possible = pairs.num_states <= _OTHER_METHOD_STATES[other]
    possible = possible and not (other == "lp" and _too_near_one(pairs.gamma))
    if found.status is Status.FAILED and possible:
        soon = min(deadline, time.monotonic() + _OTHER_METHOD_SECONDS)
        again = _by_method(report, pairs, other, starts, soon, progress)
        if again.status not in (Status.FAILED, Status.LIMIT):
            return again
    return found


def _by_method(
    report: Report,
    pairs: StateActions,
    method: Literal["lp", "columns"],
    starts: list[np.ndarray],
    deadline: float,
    progress: Callable[[str], None] | None,
) -> Solution:
    found = solve_stages(
        pairs,
        _scaled_thresholds(report),
        method,
        break_ties=report.order.break_ties,
        gap=0.1 * report.tolerance,
        starts=starts,
        deadline=deadline,
        progress=progress,
    )
    return report.stochastic(found, method)


def _scaled_thresholds(report: Report) -> Float[np.ndarray, " K"]:
    return np.array([*report.order.thresholds, np.inf]) / report.scale


def _start_policy(mdp: MDP, start: Solution | np.ndarray) -> Float[np.ndarray, "S A"]:
    """The policy to start from; a ValueError if it is not one of this model."""
    policy = start.policy if isinstance(start, Solution) else as_array("start", start)
    sizes = (mdp.num_states, mdp.num_actions)
    if policy.shape not in (sizes, sizes[:1]):
        raise ValueError(
            f"start: expected a solution or a policy of this model, of {sizes[0]} states and {sizes[1]} actions; "
            f"got one of shape {policy.shape}"
        )
    try:
        table = mdp.policy_table(policy)
    except ValueError as error:
        raise ValueError(f"start: {error}") from None
    if isinstance(start, Solution) and start.stay is None:
        same = start.values.shape == (mdp.num_objectives,)
        if same:
            own = evaluate(
                match_order(mdp, start.order, gamma=start.gamma, name="start")[0],
                table,
                start.gamma,
            )
            same = np.allclose(own, start.values, rtol=1e-6, atol=1e-6)
        if not same:
            raise ValueError(
                "start: its policy has other values in this model, so it is a solution of another one"
            )
    return table


def _deterministic_parts(policy: Float[np.ndarray, "S A"]) -> list[Int[np.ndarray, " S"]]:
    """Deterministic policies, one action per state, that mix to it; the likeliest actions alone if they are many."""
    likeliest = policy.argmax(axis=1)
    random_states = np.flatnonzero((policy > 0).sum(axis=1) > 1)
    options = [
        np.flatnonzero(policy[s])[np.argsort(-policy[s][policy[s] > 0], kind="stable")]
        for s in random_states
    ]
    if prod(len(option) for option in options) > _MOST_STARTS:
        return [likeliest]
    parts = []
    for actions in product(*options):
        part = likeliest.copy()
        part[random_states] = actions
        parts.append(part)
    return parts


def _too_near_one(gamma: float) -> bool:
    """Whether 1 − γ is lost in the errors that a linear program allows."""
    return PROGRAM_GAMMA < gamma < 1


def _check(gamma: float, policies: str, method: str, tolerance: float, time_limit: float) -> None:
    check_kind("policies", policies, get_args(Policies))
    check_kind("method", method, get_args(Method))
    if method == "lp" and _too_near_one(gamma):
        raise ValueError(
            f'gamma: {gamma!r} is too near to 1 for method="lp", which takes at most {PROGRAM_GAMMA!r}; '
            '"columns" serves it'
        )
    check_range("tolerance", tolerance, 0, above=True)
    check_range("time_limit", time_limit, 0, above=True)
