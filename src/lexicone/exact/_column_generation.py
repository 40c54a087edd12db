"""Column generation: the occupancy program over few policies at a time, priced by policy iteration.

Any policy's values are a mixture of those of deterministic policies, so a master program of K+1 rows mixes the
policies found so far,

    max Σ_p λ_p V_i^p   s.t.   Σ_p λ_p = 1,   Σ_p λ_p V_j^p ≥ floor_j,   λ ≥ 0,

and its dual prices weigh the objectives for the next policy: the one with the largest ``V_i + Σ_j w_j V_j``.
When that is no better than the mixture, the mixture is optimal. With γ=1 a loop that pays can be run through
any number of times: it is a column that needs no share of the mixture.
"""

import time
from collections.abc import Callable
from hashlib import blake2b

import numpy as np
from jaxtyping import Bool, Float, Int

from lexicone.exact._highs import Outcome
from lexicone.exact._master_program import MasterProgram
from lexicone.exact._maximizer import StageMaximum, upper_bound, without_maximum
from lexicone.exact._policy_iteration import BestPolicy, best_policy
from lexicone.exact._policy_iteration_total import (
    MOST_STEPS_TO_END,
    best_ending_policy,
    ending_policy,
    never_ending_states,
)
from lexicone.exact._state_actions import StateActions
from lexicone.exact._tolerances import EXACT_GAP, NO_SHARE
from lexicone.models._chain import shares_of_time

__all__ = ["ColumnGeneration"]

_REPEATED_GAP = 1e-7  # of the value's size: where it may stop if no new policy is found
_MOST_REPEATS = 6  # then it stops wherever it is
_NO_SHORTFALL = 1e-10  # of the floors' size: less is rounding
_MOST_STEPS = 10_000
_MOST_NUMBERS = 8_000_000  # of visits and values of policies that are kept for later questions
_LARGEST_RETURN = 1e14  # in units of the largest reward: HiGHS takes no more than 1e15


class ColumnGeneration:
    """Policies found so far, and the best mixture of them.

    After ``deadline`` (of `time.monotonic`) a maximum is given up at the next step, be it of policy iteration: the
    outcome is TIME_LIMIT.
    """

    is_vertex = False

    def __init__(
        self,
        pairs: StateActions,
        deadline: float = np.inf,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self.pairs = pairs
        self.deadline = deadline
        self.progress = progress
        self.policies: list[np.ndarray | None] = []
        """One pair per state; None for a loop."""
        self.digests: set[bytes] = set()
        """Of the policies, to know them again."""
        self.visits: list[np.ndarray | None] = []
        """``[S]``, of states, for a policy; ``[N]``, of pairs, for a loop; None where the mixture does not use it."""
        self.state_values: list[np.ndarray | None] = []
        """``[S,K]``, of each objective; kept for the policies of the mixture (γ<1)."""
        self.master = MasterProgram(pairs.num_objectives)
        self.shares = np.zeros(0)
        """Of the policies and loops in the last mixture."""
        self.last_policy = ending_policy(pairs)
        """The best one for the last weights: where the next search for a best policy starts."""
        self.last_values: np.ndarray | None = None
        self.last_visits: np.ndarray | None = None

    def maximize(
        self,
        objective: int,
        floors: dict[int, float],
        cap: float = np.inf,
        gap: float = EXACT_GAP,
    ) -> StageMaximum:
        """Maximise one objective given floors under others.

        Stops where ``cap`` is reached, or where the bound is nearer than ``gap`` times the value's size.
        """
        pairs = self.pairs
        if not self.policies:
            self._add_policy(self.last_policy)
        best_values, repeats = np.zeros(pairs.num_states), 0
        weights = best_weights = np.eye(pairs.num_objectives)[objective]
        reached = self.reach_floors(floors)
        if reached is not Outcome.OPTIMAL:
            return without_maximum(pairs, objective, reached)
        value, best_bound, rough, settled = -np.inf, np.inf, True, False
        for step in range(_MOST_STEPS):
            if step or floors or len(self.policies) > 1:
                outcome, value, weights = self._solve_master(objective, floors)
                if outcome is not Outcome.OPTIMAL:
                    return StageMaximum(outcome, np.inf, np.inf, weights, best_values)
                if value >= cap:
                    return StageMaximum(Outcome.CAPPED, value, np.inf, weights, best_values)
            if settled and (best_bound - value) <= gap * max(1.0, abs(best_bound)):
                best_bound = max(best_bound, value)
                return StageMaximum(Outcome.OPTIMAL, value, best_bound, best_weights, best_values)
            accuracy = 1e-2 * (best_bound - value)
            size = max(1.0, abs(value)) if np.isfinite(value) else 1.0
            exact = not rough or not 1e-10 * size <= accuracy <= size
            found = self._best_policy_for(weights, 0.0 if exact else accuracy)
            if found is None:
                repeats = 0
                if self._too_late():
                    break
                continue
            cut_short = self._too_late()
            bound = upper_bound(pairs, weights, found.values, floors, found.steps_left)
            if cut_short and pairs.gamma == 1:  # then a bound needs the values of a best policy
                bound = np.inf
            same = exact and bound <= best_bound + EXACT_GAP * size
            if (
                same or bound <= best_bound
            ):  # of two that prove the same, the values that do not slip
                best_weights, best_values, settled = weights, found.values, exact
            best_bound = min(bound, best_bound)
            if self.progress is not None:
                self.progress(f"{len(self.policies)} policies, between {value:.9g} and {bound:.9g}")
            open_gap = (best_bound - value) / max(1.0, abs(best_bound))
            known = self._known(found.policy)
            rough = not known
            if known and not exact:
                continue
            repeats = repeats + 1 if known else 0
            stuck = known and (open_gap <= _REPEATED_GAP or repeats > _MOST_REPEATS)
            if open_gap <= gap or (stuck and not cut_short):
                best_bound = max(best_bound, value)
                return StageMaximum(Outcome.OPTIMAL, value, best_bound, best_weights, best_values)
            if not known and not self._add_policy(found.policy):
                break
            if self._too_late():
                break
        if not self._too_late():
            return StageMaximum(Outcome.FAILED, value, best_bound, best_weights, best_values)
        outcome, value, _ = self._solve_master(objective, floors)
        value = value if outcome is Outcome.OPTIMAL else np.nan
        return StageMaximum(Outcome.TIME_LIMIT, value, best_bound, best_weights, best_values)

    def _too_late(self) -> bool:
        return time.monotonic() > self.deadline

    def _best_policy_for(self, weights: np.ndarray, accuracy: float = 0.0) -> BestPolicy | None:
        """The best policy for the weighted sum; None if a loop makes it unbounded, which is now a column."""
        reward = self.pairs.reward @ weights
        known = [values @ weights for values in self.state_values if values is not None]
        if known:
            self.last_values = np.max(known, axis=0)
            self.last_policy = self.pairs.best_by_state(reward + self.pairs.next @ self.last_values)
        if self.pairs.gamma < 1:
            found = best_policy(
                self.pairs, reward, self.last_policy, self.last_values, accuracy, self.deadline
            )
        else:
            found = best_ending_policy(
                self.pairs, reward, self.last_policy, self.deadline, accuracy=accuracy
            )
        if found.loop is not None:
            self._add_loop(found.policy, found.loop)
            return None
        self.last_policy, self.last_values = found.policy, found.values
        return found

    def reach_floors(self, floors: dict[int, float]) -> Outcome:
        """Find policies whose mixture keeps the floors, starting from those known; INFEASIBLE if none do."""
        if not self.policies:
            self._add_policy(self.last_policy)
        if not self.policies:
            return Outcome.FAILED
        for _ in range(_MOST_STEPS):
            _, shortfall, weights = self._solve_master(None, floors)
            if shortfall <= _NO_SHORTFALL * max(1.0, *(abs(f) for f in floors.values()), 1.0):
                return Outcome.OPTIMAL
            if self._too_late():
                return Outcome.TIME_LIMIT
            found = self._best_policy_for(weights)
            if found is None:
                continue
            if self._too_late():
                return Outcome.TIME_LIMIT
            needed = sum(weights[j] * f for j, f in floors.items())
            best = needed - upper_bound(self.pairs, weights, found.values, {}, found.steps_left)
            if best > 0 and (best >= 0.5 * shortfall or self._known(found.policy)):
                return Outcome.INFEASIBLE
            if self._known(found.policy):
                return Outcome.INFEASIBLE
            if not self._add_policy(found.policy):
                return Outcome.FAILED
        return Outcome.INFEASIBLE

    def values(self) -> Float[np.ndarray, " K"]:
        """The K values of the last mixture."""
        return self.shares @ self.master.returns

    def occupancy(self) -> Float[np.ndarray, " N"]:
        """The occupancy of the last mixture: the shares' sum."""
        total = np.zeros(self.pairs.num_pairs)
        for share, policy, visits in zip(self.shares, self.policies, self.visits, strict=True):
            if share and policy is not None:
                total[policy] += share * (self._visits(policy) if visits is None else visits)
            elif share and visits is not None:
                total += share * visits
        return total

    def _solve_master(
        self, objective: int | None, floors: dict[int, float]
    ) -> tuple[Outcome, float, np.ndarray]:
        """Solve the master program: its value and the weights of the objectives.

        Without an objective it finds the smallest total shortfall below the floors.
        """
        outcome, share, shortfall, weights = self.master.solve(objective, floors)
        if outcome is not Outcome.OPTIMAL:
            return outcome, np.inf, weights
        share[share < NO_SHARE] = 0.0
        self.shares = share / share[self.master.is_policy].sum()
        self._forget_unused()
        value = shortfall if objective is None else float(self.values()[objective])
        return outcome, value, weights

    def _forget_unused(self) -> None:
        """Visits and values of the oldest policies that are not mixed, where they would fill the memory."""
        kept = [
            n for n, p in enumerate(self.policies) if p is not None and self.visits[n] is not None
        ]
        most = _MOST_NUMBERS // ((1 + self.pairs.num_objectives) * max(1, self.pairs.num_states))
        for n in kept[: max(0, len(kept) - most)]:
            if not self.shares[n]:
                self.visits[n] = self.state_values[n] = None

    def _add_policy(self, policy: np.ndarray) -> bool:
        """One more column, unless its episodes are too long or its values too large for the arithmetic."""
        pairs = self.pairs
        chain = pairs.chain(policy)
        visits = chain.visits(pairs.initial, self.last_visits)
        paid = pairs.reward[policy]
        returns = visits @ paid
        endless = pairs.gamma == 1 and not visits.sum() < MOST_STEPS_TO_END
        if endless or not np.abs(returns).max() < _LARGEST_RETURN:
            return False
        self.last_visits = visits
        self.master.add_policy(returns)
        self._append(policy, self.last_visits)
        if pairs.gamma < 1 and not self._too_late():
            self.state_values[-1] = np.stack([chain.values(p, goal=1e-9) for p in paid.T], axis=1)
        return True

    def _visits(self, policy: np.ndarray) -> np.ndarray:
        chain = self.pairs.chain(policy)
        return chain.visits(self.pairs.initial, self.last_visits)

    def _add_loop(self, policy: np.ndarray, loop: np.ndarray) -> None:
        """How much of a round trip each pair of the loop takes."""
        members = np.flatnonzero(loop)
        visits = np.zeros(self.pairs.num_pairs)
        visits[policy[members]] = shares_of_time(self.pairs.next[policy[members]][:, members])
        self.master.add_loop(visits @ self.pairs.reward)
        self._append(None, visits)

    def _append(self, policy: np.ndarray | None, visits: np.ndarray) -> None:
        self.policies.append(policy)
        if policy is not None:
            self.digests.add(_digest(policy))
        self.visits.append(visits)
        self.state_values.append(None)
        self.shares = np.append(self.shares, 0.0)

    def _known(self, policy: np.ndarray) -> bool:
        return _digest(policy) in self.digests

    def go_on(self, deadline: float, progress: Callable[[str], None] | None) -> None:
        """For another question, with time of its own."""
        self.deadline, self.progress = deadline, progress

    def mixture(self) -> Float[np.ndarray, " P"]:
        """The shares of the policies and loops."""
        return self.shares

    def restore(self, mixture: Float[np.ndarray, " P"]) -> None:
        """The occupancy of an earlier maximum becomes the last one again; later columns have no share in it."""
        self.shares = np.concatenate([mixture, np.zeros(len(self.policies) - len(mixture))])

    @property
    def num_numbers(self) -> int:
        """Of the columns."""
        return len(self.policies) * self.pairs.num_states

    def needed_pairs(self) -> Bool[np.ndarray, " N"]:
        """None: where a pair is gone, the policies take others (see `restricted`)."""
        return np.zeros(self.pairs.num_pairs, dtype=bool)

    def elsewhere(self, maximum: StageMaximum | None) -> Int[np.ndarray, " S"]:
        """The last policy that was found."""
        return self.last_policy

    def restricted(self, pairs: StateActions) -> "ColumnGeneration":
        """The same for some of the pairs, with these policies: where a pair is gone, the last policy's own instead.

        A policy that would no longer end (γ=1) is dropped, and so are loops.
        """
        fewer = ColumnGeneration(pairs, self.deadline, self.progress)
        place = np.full(int(self.pairs.states.max(initial=0)) + 1, -1)
        place[self.pairs.states] = np.arange(self.pairs.num_states)
        rows = place[pairs.states]

        def translate(policy: np.ndarray) -> np.ndarray:
            return pairs.numbers_of(self.pairs.action[policy[rows]])

        last = translate(self.last_policy)
        if (last >= 0).all() and not fewer._goes_on_for_ever(last):
            fewer.last_policy = last
        if self.last_values is not None:
            fewer.last_values = self.last_values[rows]
        fewer.start_from_policies([translate(p) for p in self.policies if p is not None])
        return fewer

    def start_from_policies(self, policies: list[Int[np.ndarray, " S"]]) -> None:
        """Take these into the mixture, at least one if time is over; −1 stands for the last policy's own pair."""
        for policy in policies:
            if self.policies and self._too_late():
                break
            whole = np.where(policy < 0, self.last_policy, policy)
            if not self._goes_on_for_ever(whole) and not self._known(whole):
                self._add_policy(whole)

    def _goes_on_for_ever(self, policy: np.ndarray) -> bool:
        return self.pairs.gamma == 1 and bool(never_ending_states(self.pairs, policy).any())


def _digest(policy: Int[np.ndarray, " S"]) -> bytes:
    return blake2b(policy.astype(np.int64).tobytes(), digest_size=16).digest()
