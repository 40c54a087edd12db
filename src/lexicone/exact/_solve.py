"""The exact lexicographic optimum of a model: which policy is best, and a proof that none is better.

Thresholds hold for expected returns: ``criterion="expected"``. Mixtures count: a policy may choose at random.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Bool, Float

from lexicone.exact._deterministic import MAX_STATES, Deterministic, solve_deterministic
from lexicone.exact._highs import Outcome
from lexicone.exact._stages import Optimum, solve_stages
from lexicone.exact._state_actions import STAY, StateActions, all_state_actions
from lexicone.exact._stay_for_ever import occupancy_for_ever, replace_stays
from lexicone.models._evaluation import evaluate
from lexicone.models._mdp import MDP, check_model
from lexicone.order import Order

__all__ = ["Report", "Solution", "Status", "reward_scale", "solve"]

Policies = Literal["stochastic", "deterministic"]
Method = Literal["auto", "lp", "columns"]

_DROWNS = 1e3  # how much larger than the optimum's values rewards may be
_LP_STATES = 150  # "auto" takes the linear program up to here, column generation above


class Status(StrEnum):
    """How `solve` ended."""

    OPTIMAL = "optimal"
    UNBOUNDED = "unbounded"
    """An objective that nothing limits can be made as large as one likes (γ=1)."""
    DIVERGENT = "divergent"
    """Every policy that keeps what is more important pays for an objective for ever: it is −∞ (γ=1).
    Loops whose rewards cancel count as no better, nor does a loop that gains from another start make up for it."""
    SUPREMUM = "supremum"
    """``bound`` is approached, but no policy attains it: the nearer, the rarer and longer a loop is
    used (γ=1). The policy is one that comes near."""
    NEEDS_MEMORY = "needs memory"
    """Optimal, but not by a stationary policy alone: see `Solution.stay` (γ=1)."""
    LIMIT = "limit"
    """The search for a deterministic policy was cut short: the best policy so far, and a bound."""
    FAILED = "failed"
    """The linear program could not be solved to the tolerance."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Solution:
    """The best policy of a model, as `solve` found it."""

    status: Status
    message: str
    """The status in a sentence, with the objective's name."""
    values: Float[np.ndarray, " K"]
    """The expected returns of `policy` (with `stay`, if there is one)."""
    key: Float[np.ndarray, " keys"]
    """``order.key(values)``."""
    policy: Float[np.ndarray, "S A"]
    """One stationary policy; it randomises in at most K−1 states that it visits, unless it stays in a
    loop that pays for ever."""
    occupancy: Float[np.ndarray, "S A"]
    """How often each action is expected to be taken, discounted; ∞ where it stays for ever."""
    satisfied: Bool[np.ndarray, " K-1"]
    """Which thresholds are met, up to the tolerance."""
    prices: Float[np.ndarray, "K-1 K"]
    """``prices[j,i]``: what one more unit of threshold j costs of objective i > j (0 where j is not met)."""
    bound: Float[np.ndarray, " K"]
    """From the duals: no policy whose key equals this one's up to i−1 has more than ``bound[i]`` there."""
    stay: Float[np.ndarray, " S"] | None
    """With status "needs memory": with this probability, decided anew at each visit, stop following
    `policy` and walk for ever where that costs nothing. None otherwise."""
    order: Order
    gamma: float
    policies: Policies
    method: str
    """"lp", "columns" or "branch and bound"."""
    criterion: str = "expected"

    @property
    def gap(self) -> Float[np.ndarray, " K"]:
        """``bound − key``, objective by objective: what is left unproven."""
        key = self.key[: len(self.order)]
        same = (self.bound == key) | (key == np.inf)
        return np.where(same, 0.0, np.where(same, 0.0, self.bound) - np.where(same, 0.0, key))

    @property
    def randomises(self) -> list[int]:
        """The states in which the policy chooses at random, of those that it visits."""
        often = (self.policy > 0) & (self.occupancy > 0)
        return np.flatnonzero(often.sum(axis=1) > 1).tolist()


def solve(
    mdp: MDP,
    order: Order,
    gamma: float = 1.0,
    *,
    policies: Policies = "stochastic",
    method: Method = "auto",
    tolerance: float = 1e-6,
    progress: Callable[[str], None] | None = None,
) -> Solution:
    """The policy with the best expected returns in the thresholded lexicographic order.

    Stage i maximises ``min(V_i, τ_i)`` among the policies that keep the values of the stages before, the last
    maximises ``V_K``. Thresholds of −∞ never matter, +∞ means: maximise.

    Args:
        mdp: the model; `gamma` below 1 discounts, 1 adds up whole episodes. Then staying for ever where it
            costs nothing counts as an end, and to pay for ever as −∞. That holds for each start by itself: a
            policy that pays for ever from one start, or with any positive probability, is not allowed, even if
            `evaluate`, which nets gains over the start distribution, gives it a finite value.
        order: the thresholds.
        policies: ``"deterministic"`` searches policies that never choose at random (small models).
        method: ``"lp"``, the linear program on occupancy measures as a whole, ``"columns"``, the same by
            column generation (large models), or ``"auto"``.
        tolerance: on keys, relative to the values' size where that is above 1; a result that the duals do
            not prove to this accuracy has the status "failed".
        progress: called with a line of text now and then.
    """
    _check(mdp, order, gamma, policies, method, tolerance)
    scale = reward_scale(mdp)
    found = _solve(mdp, order, gamma, policies, method, tolerance, progress, scale)
    size = np.where(np.isfinite(found.values), np.maximum(1.0, np.abs(found.values)), scale)
    if (scale > _DROWNS * size).any():  # differences that matter would be lost among such rewards
        scale = np.minimum(scale, size)
        found = _solve(mdp, order, gamma, policies, method, tolerance, progress, scale)
    return found


def reward_scale(mdp: MDP) -> Float[np.ndarray, " K"]:
    """The largest reward of each objective, up to its sign, that can come up; 1 if there is none."""
    states = mdp.reachable() & ~mdp.terminal
    size = np.abs(mdp.expected_reward[states]).max(axis=(0, 1), initial=0.0)
    return np.where(size > 0, size, 1.0)


def _solve(
    mdp: MDP,
    order: Order,
    gamma: float,
    policies: Policies,
    method: Method,
    tolerance: float,
    progress: Callable[[str], None] | None,
    scale: np.ndarray,
) -> Solution:
    """The same with rewards divided by ``scale``: all accuracies are relative to it."""
    pairs = all_state_actions(mdp, gamma, scale)
    thresholds = np.array([*order.thresholds, np.inf]) / scale
    problem = Report(mdp, order, gamma, tolerance, scale)
    if not pairs.num_states:
        return problem.ended(policies)
    if policies == "deterministic":
        if pairs.num_states > MAX_STATES:
            raise ValueError(
                f"policies: the search for a deterministic policy takes models of up to {MAX_STATES} "
                f"states that can be reached and are not terminal; this one has {pairs.num_states}"
            )

        def values_of(policy: np.ndarray) -> np.ndarray:
            shares = np.zeros(pairs.num_pairs)
            shares[policy] = 1.0
            return evaluate(mdp, problem.table(pairs, shares), gamma) / scale

        best = solve_deterministic(
            pairs, thresholds, values_of, break_ties=order.break_ties, progress=progress
        )
        return problem.deterministic(pairs, best)
    if method == "auto":
        method = "lp" if pairs.num_states <= _LP_STATES else "columns"
    found = solve_stages(
        pairs,
        thresholds,
        method,
        break_ties=order.break_ties,
        gap=0.1 * tolerance,
        progress=progress,
    )
    return problem.stochastic(found, method)


@dataclass(frozen=True)
class Report:
    """What was asked, for the report of what was found."""

    mdp: MDP
    order: Order
    gamma: float
    tolerance: float
    scale: np.ndarray

    def stochastic(self, found: Optimum, method: str) -> Solution:
        """From pairs to actions, from scaled to real rewards."""
        pairs, shares, stay = found.pairs, found.policy, None
        if self.gamma == 1:
            last = max(found.floors, default=0)
            done = replace_stays(pairs, shares, found.floors, last, found.marks)
            if done.stay is None:
                pairs, shares = done.pairs, done.policy
            else:
                stay = np.zeros(self.mdp.num_states)
                stay[pairs.states] = done.stay
        often = occupancy_for_ever(pairs, shares)
        policy = self.table(pairs, shares)
        if stay is None and self.gamma == 1:
            values = evaluate(self.mdp, policy, self.gamma)
        else:
            values = (often @ pairs.reward) * self.scale
        bound = found.bound * self.scale
        if found.outcome is not Outcome.OPTIMAL:
            bound[found.objective :] = np.inf
        status, message = _STATUS[found.outcome]
        missing = self._missing(values, bound)
        if status is Status.OPTIMAL and missing is not None:
            status, message = _STATUS[Outcome.FAILED]
            if self.gamma == 1:
                status, message = Status.SUPREMUM, _SUPREMUM
        elif status is Status.OPTIMAL and stay is not None:
            status, message = Status.NEEDS_MEMORY, _NEEDS_MEMORY
        proven = found.outcome is not Outcome.OPTIMAL or missing is None
        concerned = found.objective if proven or missing is None else missing
        return self._solution(
            status=status,
            message=message.format(self._label(concerned)),
            values=values,
            policy=policy,
            occupancy=self._spread(pairs, often),
            prices=(found.prices * self.scale / self.scale[:, None])[:-1] + 0.0,
            bound=bound,
            stay=stay,
            policies="stochastic",
            method=method,
        )

    def deterministic(self, pairs: StateActions, best: Deterministic) -> Solution:
        """The same for one pair per state."""
        shares = np.zeros(pairs.num_pairs)
        shares[best.policy] = 1.0
        policy = self.table(pairs, shares)
        status, message = _STATUS[best.outcome]
        return self._solution(
            status=status,
            message=message.format(self._label(best.objective)),
            values=evaluate(self.mdp, policy, self.gamma),
            policy=policy,
            occupancy=self._spread(pairs, occupancy_for_ever(pairs, shares)),
            prices=np.full((len(self.order) - 1, len(self.order)), np.nan),
            bound=best.bound * self.scale,
            stay=None,
            policies="deterministic",
            method="branch and bound",
        )

    def ended(self, policies: Policies) -> Solution:
        """Every episode starts in a terminal state: there is nothing to decide."""
        policy = np.zeros((self.mdp.num_states, self.mdp.num_actions))
        policy[:, 0] = 1.0
        values = np.zeros(len(self.order))
        return self._solution(
            status=Status.OPTIMAL,
            message="optimal: every episode starts in a terminal state",
            values=values,
            policy=policy,
            occupancy=np.zeros_like(policy),
            prices=np.zeros((len(self.order) - 1, len(self.order))),
            bound=np.array(Order(self.order.thresholds).key(values)),
            stay=None,
            policies=policies,
            method="none",
        )

    def table(self, pairs: StateActions, shares: np.ndarray) -> np.ndarray:
        """Probabilities of pairs as a policy ``[S,A]``; action 0 where nothing was decided."""
        policy = self._spread(pairs, shares)
        policy[policy.sum(axis=1) == 0, 0] = 1.0
        return policy / policy.sum(axis=1, keepdims=True)

    def _spread(self, pairs: StateActions, numbers: np.ndarray) -> np.ndarray:
        table = np.zeros((self.mdp.num_states, self.mdp.num_actions))
        moves = pairs.action != STAY
        table[pairs.states[pairs.state[moves]], pairs.action[moves]] = numbers[moves]
        return table

    def _missing(self, values: np.ndarray, bound: np.ndarray) -> int | None:
        """The first objective whose value is not proven to the tolerance."""
        key = np.asarray(Order(self.order.thresholds).key(values))
        size = np.where(np.isfinite(key), np.maximum(1.0, np.abs(key)), 1.0)
        short = ~(key >= bound - self.tolerance * size)
        return int(np.argmax(short)) if short.any() else None

    def _label(self, objective: int) -> str:
        names = self.order.names or self.mdp.objective_names
        return f"objective {objective + 1}" + (f" ({names[objective]})" if names else "")

    def _solution(self, *, values: np.ndarray, **rest: Any) -> Solution:
        limits = np.array(self.order.thresholds)
        slack = self.tolerance * np.where(np.isfinite(limits), np.maximum(1.0, np.abs(limits)), 1.0)
        return Solution(
            values=values,
            key=np.asarray(self.order.key(values)),
            satisfied=values[:-1] >= limits - slack,
            order=self.order,
            gamma=self.gamma,
            **rest,
        )


_STATUS = {
    Outcome.OPTIMAL: (Status.OPTIMAL, "optimal"),
    Outcome.UNBOUNDED: (
        Status.UNBOUNDED,
        "{} can be made as large as one likes without loss of anything more important",
    ),
    Outcome.INFEASIBLE: (
        Status.DIVERGENT,
        "{} has no finite total: every policy that keeps what is more important pays for it for ever, "
        "from some start and with positive probability, or goes round for ever in a loop whose rewards cancel",
    ),
    Outcome.TIME_LIMIT: (
        Status.LIMIT,
        "the search was cut short at {}: this is the best policy found so far",
    ),
    Outcome.FAILED: (
        Status.FAILED,
        "the linear program for {} could not be solved to the tolerance",
    ),
}
_SUPREMUM = (
    "no policy attains the bound on {}: the nearer, the more rarely and the longer it uses a loop"
)
_NEEDS_MEMORY = "optimal, but not by the policy alone: where `stay` says so, stop following it and stay for ever"


def _check(
    mdp: MDP, order: Order, gamma: float, policies: str, method: str, tolerance: float
) -> None:
    check_model(mdp, gamma)
    if not isinstance(order, Order):
        raise ValueError(f"order: expected an Order, got {type(order).__name__}")
    if len(order) != mdp.num_objectives:
        raise ValueError(
            f"order: has {len(order)} objectives ({len(order) - 1} thresholds + 1), "
            f"but the model has {mdp.num_objectives}"
        )
    if policies not in get_args(Policies):
        raise ValueError(f"policies: expected one of {get_args(Policies)}, got {policies!r}")
    if method not in get_args(Method):
        raise ValueError(f"method: expected one of {get_args(Method)}, got {method!r}")
    if not tolerance > 0:
        raise ValueError(f"tolerance: must be positive, got {tolerance}")
