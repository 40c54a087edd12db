"""From what was found on scaled state–action pairs to a `Solution` of the model."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from lexicone.exact._deterministic import DeterministicOptimum
from lexicone.exact._highs import Outcome
from lexicone.exact._solution import Policies, Solution, Status
from lexicone.exact._stages import Optimum
from lexicone.exact._state_actions import STAY, StateActions
from lexicone.exact._stay_for_ever import occupancy_for_ever, replace_stays
from lexicone.models._evaluation import estimate
from lexicone.models._mdp import MDP, decision_states, first_actions
from lexicone.order import Order
from lexicone.proofs._certificate import Certificate, StageProof

__all__ = ["Report", "reward_scale"]


def reward_scale(mdp: MDP) -> Float[np.ndarray, " K"]:
    """The largest reward of each objective, up to its sign, that can come up; 1 if there is none."""
    rows = mdp.rows
    size = np.abs(rows.expected_reward[decision_states(mdp)[rows.state]]).max(axis=0, initial=0.0)
    return np.where(size > 0, size, 1.0)


@dataclass(frozen=True)
class Report:
    """What was asked, for the report of what was found."""

    mdp: MDP
    order: Order
    gamma: float
    tolerance: float
    scale: Float[np.ndarray, " K"]

    @cached_property
    def largest(self) -> Float[np.ndarray, " K"]:
        """The largest reward of each objective."""
        return reward_scale(self.mdp)

    def stochastic(self, found: Optimum, method: str) -> Solution:
        """From pairs to actions, from scaled to real rewards."""
        pairs, shares, stay = found.pairs, found.policy, None
        cut_short = found.outcome is Outcome.TIME_LIMIT
        if self.gamma == 1:
            # without floors no other optimum is looked for
            floors = {} if cut_short else found.floors
            last = max(floors, default=0)
            done = replace_stays(pairs, shares, floors, last, found.relevant)
            if done.stay is None:
                pairs, shares = done.pairs, done.policy
            else:
                stay = np.zeros(self.mdp.num_states)
                stay[pairs.states] = done.stay
        occupancy = occupancy_for_ever(pairs, shares)
        policy = self.policy_table(pairs, shares)
        if stay is None and self.gamma == 1:
            values = estimate(self.mdp, policy, self.gamma)
        else:
            values = (occupancy @ pairs.reward) * self.scale
        bound = found.bound * self.scale
        if found.outcome is not Outcome.OPTIMAL and not cut_short:
            bound[found.objective :] = np.inf
        status, message = _STATUS[found.outcome]
        missing = self._missing(values, bound, self._gross(pairs, occupancy))
        if status is Status.OPTIMAL and missing is not None:
            status, message = _STATUS[Outcome.FAILED]
            if not found.attained:
                status, message = Status.SUPREMUM, _SUPREMUM
        elif status is Status.OPTIMAL and stay is not None:
            status, message = Status.NEEDS_MEMORY, _NEEDS_MEMORY
        if status is Status.FAILED:
            message += self._too_long(occupancy)
        proven = found.outcome is not Outcome.OPTIMAL or missing is None
        concerned = found.objective if proven or missing is None else missing
        return self._solution(
            status=status,
            message=message.format(self._label(concerned)),
            values=values,
            gross=self._gross(pairs, occupancy),
            policy=policy,
            occupancy=self._by_state(pairs, occupancy),
            prices=(found.prices * self.scale / self.scale[:, None])[:-1] + 0.0,
            bound=bound,
            stay=stay,
            policies="stochastic",
            method=method,
            certificate=self._certificate(found),
        )

    def deterministic(self, pairs: StateActions, best: DeterministicOptimum) -> Solution:
        """The same for one pair per state."""
        shares = np.zeros(pairs.num_pairs)
        shares[best.policy] = 1.0
        policy = self.policy_table(pairs, shares)
        occupancy = occupancy_for_ever(pairs, shares)
        status, message = _STATUS[best.outcome]
        return self._solution(
            status=status,
            message=message.format(self._label(best.objective)),
            values=estimate(self.mdp, policy, self.gamma),
            gross=self._gross(pairs, occupancy),
            policy=policy,
            occupancy=self._by_state(pairs, occupancy),
            prices=np.full((len(self.order) - 1, len(self.order)), np.nan),
            bound=best.bound * self.scale,
            stay=None,
            policies="deterministic",
            method="branch and bound",
        )

    def better_of(
        self, found: Solution, pairs: StateActions, policy: Float[np.ndarray, "S A"]
    ) -> Solution:
        """What was found, or that policy in its place if its key is better by more than the tolerance.

        What the policy pays or gains for ever counts as −∞: it is not netted over the start distribution.
        """
        occupancy = occupancy_for_ever(pairs, policy[pairs.states[pairs.state], pairs.action])
        values = estimate(self.mdp, policy, self.gamma)
        endless = pairs.reward[np.isinf(occupancy)].any(axis=0)
        key = np.asarray(self.order.key(np.where(endless, -np.inf, values)))
        differs = ~np.isclose(key, found.key, rtol=self.tolerance, atol=self.tolerance)
        if not differs.any() or key[np.argmax(differs)] < found.key[np.argmax(differs)]:
            return found
        return self._solution(
            status=found.status,
            message=found.message,
            values=values,
            gross=self._gross(pairs, occupancy),
            policy=policy,
            occupancy=self._by_state(pairs, occupancy),
            prices=found.prices,
            bound=found.bound,
            stay=None,
            policies=found.policies,
            method=found.method,
            certificate=found.certificate,
        )

    def ended(self, policies: Policies) -> Solution:
        """Every episode starts in a terminal state: there is nothing to decide."""
        policy = first_actions(self.mdp)
        values = np.zeros(len(self.order))
        return self._solution(
            status=Status.OPTIMAL,
            message="optimal: every episode starts in a terminal state",
            values=values,
            gross=values,
            policy=policy,
            occupancy=np.zeros_like(policy),
            prices=np.zeros((len(self.order) - 1, len(self.order))),
            bound=np.array(Order(self.order.thresholds).key(values)),
            stay=None,
            policies=policies,
            method="none",
        )

    def _certificate(self, found: Optimum) -> Certificate:
        """The stages' duals in the model's units and for all its states."""
        stages = []
        for duals in found.duals:
            unit = self.scale[duals.objective]
            values = np.full(self.mdp.num_states, np.nan)
            values[duals.states] = duals.state_values * unit
            values[self.mdp.terminal] = 0.0
            stages.append(StageProof(duals.objective, duals.weights * unit / self.scale, values))
        return Certificate(tuple(stages))

    def policy_table(self, pairs: StateActions, shares: np.ndarray) -> np.ndarray:
        """Probabilities of pairs as a policy ``[S,A]``; the first action where nothing was decided."""
        policy = self._by_state(pairs, shares)
        undecided = policy.sum(axis=1) == 0
        policy[undecided] = first_actions(self.mdp)[undecided]
        return policy / policy.sum(axis=1, keepdims=True)

    def _by_state(self, pairs: StateActions, numbers: np.ndarray) -> np.ndarray:
        table = np.zeros((self.mdp.num_states, self.mdp.num_actions))
        moves = pairs.action != STAY
        table[pairs.states[pairs.state[moves]], pairs.action[moves]] = numbers[moves]
        return table

    def _gross(self, pairs: StateActions, occupancy: np.ndarray) -> Float[np.ndarray, " K"]:
        """What is gained and paid on the way, both counted as positive; without what is done for ever."""
        passing = np.where(np.isfinite(occupancy), occupancy, 0.0)
        return (passing @ np.abs(pairs.reward)) * self.scale

    def _missing(self, values: np.ndarray, bound: np.ndarray, gross: np.ndarray) -> int | None:
        """The first objective whose value is not proven to the tolerance, relative to its size.

        That is at least a thousandth of what is gained and paid on the way, and three tenths of the unit it was
        solved in.
        """
        key = np.asarray(Order(self.order.thresholds).key(values))
        least = np.maximum(1e-3 * gross, 0.3 * self.scale)
        size = np.maximum(np.abs(_finite(key)), least)
        short = ~(key >= bound - self.tolerance * size)
        return int(np.argmax(short)) if short.any() else None

    def _satisfied(self, values: np.ndarray, gross: np.ndarray) -> np.ndarray:
        """Which thresholds are met up to the tolerance, relative to the threshold's own size or the value's.

        The value's is what is gained and paid on the way, at least a millionth of the largest reward: less is rounding.
        A failure probability of 9e-7 so does not meet a threshold of 1e-7.
        """
        limits = np.array(self.order.thresholds)
        size = np.maximum(np.abs(_finite(limits)), gross[:-1])
        size = np.maximum(size, 1e-6 * self.largest[:-1])
        return values[:-1] >= limits - self.tolerance * size

    def _too_long(self, occupancy: np.ndarray) -> str:
        """What to say of episodes that are long enough for rounding to add up (γ=1)."""
        steps = occupancy[np.isfinite(occupancy)].sum()
        if self.gamma < 1 or not steps > _LONG_EPISODE:
            return ""
        return (
            f": episodes take {steps:.2g} steps on average, and rounding adds up with each; "
            "a gamma below 1 makes them shorter"
        )

    def _label(self, objective: int) -> str:
        names = self.order.names or self.mdp.objective_names
        return f"objective {objective + 1}" + (f" ({names[objective]})" if names else "")

    def _solution(self, *, values: np.ndarray, gross: np.ndarray, **rest: Any) -> Solution:
        return Solution(
            values=values,
            key=np.asarray(self.order.key(values)),
            satisfied=self._satisfied(values, gross),
            order=self.order,
            gamma=self.gamma,
            state_names=self.mdp.state_names,
            action_names=self.mdp.action_names,
            objective_names=self.mdp.objective_names,
            **rest,
        )


def _finite(numbers: np.ndarray) -> np.ndarray:
    """0 in place of infinities."""
    return np.where(np.isfinite(numbers), numbers, 0.0)


_LONG_EPISODE = 1e4
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
