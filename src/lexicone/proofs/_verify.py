"""Whether a solution is what it says it is: proven from its policy and its duals, apart from the solver.

Of the solver's code nothing is used. A policy's values are proven as intervals (`_policy_value`), bounds on all other
policies by weights and state values (`_bounds`), stage by stage.
"""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from lexicone._base.checks import check_flags, check_range
from lexicone.models._matching import match_order
from lexicone.models._mdp import MDP, check_model
from lexicone.order import Order
from lexicone.proofs._bounds import Floats
from lexicone.proofs._certificate import Certificate
from lexicone.proofs._claims import Claim, Verification
from lexicone.proofs._integers import model_integers, policy_integers
from lexicone.proofs._policy_value import Interval, policy_values
from lexicone.proofs._problem import Problem
from lexicone.proofs._rows import Rows, policy_rows, read_rows
from lexicone.proofs._stages import bound_claims
from lexicone.proofs._witnesses import divergence_claims, supremum_claims, unbounded_claims

__all__ = ["MAX_EXACT_STATES", "Claimed", "verify"]

MAX_EXACT_STATES = 1000
"""The largest model, in states that can be reached, that is verified in whole numbers."""
_SUM = 1e-9  # how far the probabilities of a policy may be from a sum of 1


@runtime_checkable
class Claimed(Protocol):
    """What `verify` reads of a solution."""

    @property
    def status(self) -> Any: ...
    @property
    def values(self) -> np.ndarray: ...
    @property
    def key(self) -> np.ndarray: ...
    @property
    def policy(self) -> np.ndarray: ...
    @property
    def occupancy(self) -> np.ndarray: ...
    @property
    def satisfied(self) -> np.ndarray: ...
    @property
    def bound(self) -> np.ndarray: ...
    @property
    def stay(self) -> np.ndarray | None: ...
    @property
    def order(self) -> Order: ...
    @property
    def gamma(self) -> float: ...
    @property
    def policies(self) -> Any: ...
    @property
    def certificate(self) -> Certificate | None: ...


def verify(
    mdp: MDP, solution: Claimed, *, exact: bool = False, tolerance: float = 1e-6
) -> Verification:
    """Prove what a solution says of a model, or say which of its claims cannot be proven.

    Args:
        mdp: the model that it is a solution of; names are matched with the order's, as in `solve`.
        solution: of `solve`, or one from a file.
        exact: in whole numbers, without any rounding (up to 1,000 states that can be reached); else in floating
            point, with bounds on rounding that grow with the episode.
        tolerance: how far values, keys and bounds may be from what is proven, relative where they are above 1.

    Every solution: its policy is one, and has its values; key and thresholds met follow from them. "optimal" and
    "needs memory": no policy has a better key. "limit" and "supremum": no policy that has the key so far exceeds the
    bound. "unbounded": a loop pays for ever, and is reached with all floors kept. "divergent": no policy that
    keeps the floors has a total. "failed" claims nothing more.
    """
    if isinstance(solution, type) or not isinstance(solution, Claimed):
        raise ValueError(f"solution: expected one of solve, got {solution!r}")
    check_model(mdp, solution.gamma)
    check_flags(exact=exact)
    check_range("tolerance", tolerance, 0, 1, above=True)
    tolerance = float(tolerance)
    claims = _shapes(mdp, solution)
    if not claims:
        try:
            mdp, _ = match_order(mdp, solution.order, gamma=solution.gamma)
        except ValueError as error:  # other names
            claims = [Claim("model", False, str(error))]
    if claims:
        return Verification(str(solution.status), tuple(claims), exact)
    rows = read_rows(mdp, solution.gamma)
    if exact and rows.num_states > MAX_EXACT_STATES:
        raise ValueError(
            f"exact: takes models of up to {MAX_EXACT_STATES} states that can be reached, "
            f"this one has {rows.num_states}"
        )
    claims.append(_policy(mdp, solution))
    if not claims[0].holds:
        return Verification(str(solution.status), tuple(claims), exact)
    model = model_integers(mdp, rows) if exact else Floats(rows)
    policy = solution.policy[rows.states]
    stay = None if solution.stay is None else solution.stay[rows.states]
    chain = policy_rows(rows, policy, stay)
    numbers = Floats(chain) if not exact else policy_integers(model, chain, policy, stay)  # type: ignore[arg-type]
    intervals = policy_values(numbers)
    claims += _values(mdp, solution, intervals, tolerance)
    claims += _follows(solution, intervals, rows, chain, tolerance)
    problem = Problem(mdp, solution, rows, model, chain, intervals, tolerance)
    status = str(solution.status)
    if status in ("optimal", "needs memory", "limit", "supremum"):
        claims += bound_claims(problem)
    if status == "supremum":
        claims += supremum_claims(problem)
    if status == "unbounded":
        claims += unbounded_claims(problem)
    if status == "divergent":
        claims += divergence_claims(problem)
    return Verification(status, tuple(claims), exact)


def _shapes(mdp: MDP, solution: Claimed) -> list[Claim]:
    """Nothing if it can be a solution of this model; else why not."""
    objectives, sizes = mdp.num_objectives, (mdp.num_states, mdp.num_actions)
    wanted = {
        "policy": sizes,
        "occupancy": sizes,
        "values": (objectives,),
        "bound": (objectives,),
        "satisfied": (objectives - 1,),
    }
    if len(solution.order) != objectives:
        text = f"the order has {len(solution.order)} objectives, the model {objectives}"
        return [Claim("model", False, text)]
    for name, shape in wanted.items():
        given = np.shape(getattr(solution, name))
        if given != shape:
            text = (
                f"{name} has the shape {given}, in this model it is {shape}: it is of another one"
            )
            return [Claim("model", False, text)]
    certificate = solution.certificate
    for stage in () if certificate is None else certificate.stages:
        if stage.weights.shape != (objectives,) or stage.state_values.shape != sizes[:1]:
            return [Claim("model", False, "the duals do not have the model's shape")]
    return []


def _policy(mdp: MDP, solution: Claimed) -> Claim:
    policy = np.asarray(solution.policy, dtype=float)
    fair = np.isfinite(policy).all() and (policy >= 0).all()
    error = float(np.abs(policy.sum(axis=1) - 1).max(initial=0.0)) if fair else np.inf
    if not error <= _SUM:
        return Claim("policy", False, "its rows are not probabilities that sum to 1", error)
    if policy[~mdp.available].any():
        s, a = np.argwhere((policy > 0) & ~mdp.available)[0]
        return Claim("policy", False, f"in state {s} it takes action {a}, which is not available")
    if solution.policies == "deterministic" and ((policy > 0) & (policy < 1)).any():
        return Claim("policy", False, "it chooses at random, and is said not to")
    if solution.stay is not None:
        stay = np.asarray(solution.stay)
        if stay.shape != policy.shape[:1] or not ((stay >= 0) & (stay <= 1)).all():
            return Claim("policy", False, "`stay` is not one probability per state")
    return Claim("policy", True, "probabilities that sum to 1", error)


def _size(value: float) -> float:
    return max(1.0, abs(value)) if np.isfinite(value) else 1.0


def _values(
    mdp: MDP, solution: Claimed, intervals: list[Interval], tolerance: float
) -> list[Claim]:
    claims = []
    for k, interval in enumerate(intervals):
        name, stated = f"value of {mdp.objective_labels[k]}", float(solution.values[k])
        if not interval.known:
            claims.append(Claim(name, None, interval.note))
            continue
        low, high = float(interval.low), float(interval.high)
        if np.isinf(low) or np.isinf(stated):
            holds = low == stated
            claims.append(Claim(name, holds, f"{low}" if holds else f"it is {low}, not {stated}"))
            continue
        width = float(interval.high - interval.low)
        room = tolerance * _size(stated)
        holds: bool | None = low - room <= stated <= high + room
        text = f"between {low:.17g} and {high:.17g}" + ("" if holds else f", not {stated:.17g}")
        if holds and width > 10 * room:
            holds, text = None, f"{text}: rounding along its episodes hides the rest"
        claims.append(Claim(name, holds, text, width))
    return claims


def _follows(
    solution: Claimed, intervals: list[Interval], rows: Rows, chain: Rows, tolerance: float
) -> list[Claim]:
    """Key and thresholds met, from the values.

    Up to the tolerance, relative to the threshold, to what is gained and paid on the way, or to a millionth of the
    largest reward (of 1, if there is none).
    """
    values = np.asarray(solution.values, dtype=float)
    claims = []
    expected = None if np.isnan(values).any() else np.asarray(solution.order.key(values))
    same = expected is not None and np.array_equal(expected, np.asarray(solution.key))
    claims.append(
        Claim("key", same, "follows from the values" if same else f"is {expected}, by the values")
    )
    visits = np.asarray(solution.occupancy)[chain.states].sum(axis=1)
    turnover = np.where(np.isfinite(visits), np.abs(visits), 0.0) @ chain.size
    largest = rows.size.max(axis=0, initial=0.0)
    largest = np.where(largest > 0, largest, 1.0)
    wrong = []
    for j, limit in enumerate(solution.order.thresholds):
        low, high = float(intervals[j].low), float(intervals[j].high)
        size = max(abs(limit), float(turnover[j]), 1e-6 * float(largest[j]))
        room = tolerance * size if np.isfinite(limit) else 0.0
        said = bool(solution.satisfied[j])
        if (said and high < limit - room) or (not said and low >= limit + room):
            wrong.append(j)
    text = "follow from the values"
    if wrong:
        text = (
            f"threshold {wrong[0] + 1} is {'' if not solution.satisfied[wrong[0]] else 'not '}met"
        )
    claims.append(Claim("thresholds met", not wrong, text))
    return claims
