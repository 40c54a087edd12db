"""Column generation: the occupancy program over few policies at a time, priced by policy iteration.

Any policy's values are a mixture of those of deterministic policies, so a master program of K+1 rows mixes the
policies found so far,

    max Σ_p λ_p V_i^p   s.t.   Σ_p λ_p = 1,   Σ_p λ_p V_j^p ≥ floor_j,   λ ≥ 0,

and its dual prices weigh the objectives for the next policy: the one with the largest ``V_i + Σ_j w_j V_j``.
When that is no better than the mixture, the mixture is optimal. With γ=1 a loop that pays can be run through
any number of times: it is a column that needs no share of the mixture.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from scipy import sparse

from lexicone.exact._highs import Outcome, build_program, solve_program
from lexicone.exact._occupancy_program import Maximum, upper_bound
from lexicone.exact._policy_iteration import BestPolicy, best_policy
from lexicone.exact._policy_iteration_total import (
    best_ending_policy,
    ending_policy,
    never_ending_states,
)
from lexicone.exact._state_actions import StateActions
from lexicone.models._chain import Chain, shares_of_time

__all__ = ["EXACT_GAP", "ColumnGeneration"]

EXACT_GAP = 1e-11
"""Of the value's size: what is left when a stage is solved exactly, up to rounding."""
_NEAR = 1e-7  # of the values' scale: where it may stop if pricing repeats itself
_MOST_STEPS = 10_000


class ColumnGeneration:
    """Policies found so far, and the best mixture of them."""

    def __init__(
        self,
        pairs: StateActions,
        before: "ColumnGeneration | None" = None,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self.pairs = pairs
        self.progress = progress
        self.policies: list[np.ndarray | None] = []
        """One pair per state; None for a loop."""
        self.visits: list[np.ndarray | None] = []
        """How often: ``[N]`` for a loop, ``[S]`` for a policy; None again for one that the mixture does not use."""
        self.ahead: list[np.ndarray | None] = []
        """``[S,K]``: what is still to come of each objective; kept for the policies of the mixture (γ<1)."""
        self.returns = np.zeros((0, pairs.num_objectives))
        self.share = np.zeros(0)
        self.last = ending_policy(pairs)
        self.guess: np.ndarray | None = None
        self.often: np.ndarray | None = None
        if before is not None:
            self._take_over(before)
        if not self.policies:
            self._add(self.last)

    def maximize(
        self, objective: int, floors: dict[int, float], cap: float = np.inf, gap: float = EXACT_GAP
    ) -> Maximum:
        """Maximise one objective given floors under others.

        Stops where ``cap`` is reached, or where the bound is nearer than ``gap`` times the value's size.
        """
        pairs = self.pairs
        if not self.reach(floors):
            nothing = np.zeros(pairs.num_states)
            weights = np.eye(pairs.num_objectives)[objective]
            return Maximum(Outcome.INFEASIBLE, np.nan, np.inf, weights, nothing)
        best_bound, best, repeats = np.inf, np.zeros(pairs.num_states), 0
        weights = best_weights = np.eye(pairs.num_objectives)[objective]
        value = -np.inf
        for step in range(_MOST_STEPS):
            if step or floors:
                outcome, value, weights = self._mix(objective, floors)
                if outcome is not Outcome.OPTIMAL:
                    return Maximum(outcome, np.inf, np.inf, weights, best)
                if value >= cap:
                    return Maximum(Outcome.CAPPED, value, np.inf, weights, best)
            accuracy = 1e-2 * (best_bound - value)
            exact = not np.isfinite(accuracy) or accuracy < 1e-10 * max(1.0, abs(value))
            found = self._price(weights, 0.0 if exact else accuracy)
            if found is None:
                repeats = 0
                continue
            bound = upper_bound(pairs, weights, found.values, floors)
            if bound <= best_bound:
                best_bound, best_weights, best = bound, weights, found.values
            if self.progress is not None:
                self.progress(f"{len(self.policies)} policies, between {value:.9g} and {bound:.9g}")
            open_gap = (best_bound - value) / max(1.0, abs(best_bound))
            known = self._known(found.policy)
            repeats = repeats + 1 if known else 0
            if open_gap <= gap or (known and (open_gap <= _NEAR or repeats > 6)):
                return Maximum(Outcome.OPTIMAL, value, max(best_bound, value), best_weights, best)
            if not known:
                self._add(found.policy)
        return Maximum(Outcome.FAILED, value, best_bound, best_weights, best)

    def _price(self, weights: np.ndarray, accuracy: float = 0.0) -> BestPolicy | None:
        """The best policy for the weighted sum; None if a loop makes it unbounded, which is now a column."""
        reward = self.pairs.reward @ weights
        known = [ahead @ weights for ahead in self.ahead if ahead is not None]
        if known:
            self.guess = np.max(known, axis=0)
            self.last = self.pairs.best_by_state(reward + self.pairs.next @ self.guess)
        if self.pairs.gamma < 1:
            found = best_policy(self.pairs, reward, self.last, self.guess, accuracy)
        else:
            found = best_ending_policy(self.pairs, reward, self.last)
        if found.loop is not None:
            self._add_loop(found.policy, found.loop)
            return None
        self.last, self.guess = found.policy, found.values
        return found

    def reach(self, floors: dict[int, float]) -> bool:
        """Find policies whose mixture keeps the floors, starting from those known; False if none do."""
        for _ in range(_MOST_STEPS):
            _, shortfall, weights = self._mix(None, floors)
            if shortfall <= 1e-10 * max(1.0, *(abs(f) for f in floors.values()), 1.0):
                return True
            found = self._price(weights)
            if found is None:
                continue
            needed = sum(weights[j] * f for j, f in floors.items())
            best = needed - upper_bound(self.pairs, weights, found.values, {})
            if best > 0 and (best >= 0.5 * shortfall or self._known(found.policy)):
                return False
            if self._known(found.policy):
                return False
            self._add(found.policy)
        return False

    def values(self) -> Float[np.ndarray, " K"]:
        """The K values of the last mixture."""
        return self.share @ self.returns

    def occupancy(self) -> Float[np.ndarray, " N"]:
        """The occupancy of the last mixture: the shares' sum."""
        total = np.zeros(self.pairs.num_pairs)
        for share, policy, visits in zip(self.share, self.policies, self.visits, strict=True):
            if share and policy is not None:
                total[policy] += share * (self._visits(policy) if visits is None else visits)
            elif share and visits is not None:
                total += share * visits
        return total

    def _mix(
        self, objective: int | None, floors: dict[int, float]
    ) -> tuple[Outcome, float, np.ndarray]:
        """Solve the master program: its value and the weights of the objectives.

        Without an objective it finds the smallest total shortfall below the floors.
        """
        columns, rows = self.returns, 1 + len(floors)
        shares = np.array([0.0 if p is None else 1.0 for p in self.policies])
        table = np.column_stack([shares, columns[:, list(floors)]])
        cost = np.zeros(len(columns)) if objective is None else -columns[:, objective]
        if objective is None:
            table = np.vstack([table, np.eye(rows)[1:]])
            cost = np.concatenate([cost, np.ones(len(floors))])
        lower = np.array([1.0, *floors.values()])
        upper = np.array([1.0, *(np.inf for _ in floors)])
        highs = build_program(
            cost, sparse.csr_array(table.T), lower, upper, tolerance=1e-10, presolve="off"
        )
        outcome = solve_program(highs)
        if outcome is Outcome.INFEASIBLE:  # by rounding: the floors have been reached
            highs.clearSolver()
            for row, floor in enumerate(floors.values()):
                highs.changeRowBounds(1 + row, floor - 1e-9 * max(1.0, abs(floor)), np.inf)
            outcome = solve_program(highs)
        weights = np.zeros(self.pairs.num_objectives)
        if objective is not None:
            weights[objective] = 1.0
        if outcome is not Outcome.OPTIMAL:
            return outcome, np.inf, weights
        solution = highs.getSolution()
        for row, j in enumerate(floors):
            weights[j] = max(solution.row_dual[1 + row], 0.0)
        share = np.maximum(np.array(solution.col_value), 0.0)
        share, missing = share[: len(columns)], float(share[len(columns) :].sum())
        share[share < 1e-13] = 0.0
        self.share = share / (share @ shares)
        for n in np.flatnonzero((self.share == 0) & (shares > 0)):
            self.visits[n] = self.ahead[n] = None
        if objective is None:
            return outcome, missing, weights
        return outcome, float(self.share @ columns[:, objective]), weights

    def _add(self, policy: np.ndarray) -> None:
        pairs = self.pairs
        chain = Chain(pairs.next[policy], pairs.banded)
        self.often = chain.visits(pairs.initial, self.often)
        paid = pairs.reward[policy]
        self._append(policy, self.often, self.often @ paid)
        if pairs.gamma < 1:
            self.ahead[-1] = np.stack([chain.values(p, goal=1e-9) for p in paid.T], axis=1)

    def _visits(self, policy: np.ndarray) -> np.ndarray:
        chain = Chain(self.pairs.next[policy], self.pairs.banded)
        return chain.visits(self.pairs.initial, self.often)

    def _add_loop(self, policy: np.ndarray, loop: np.ndarray) -> None:
        """How much of a round trip each pair of the loop takes."""
        members = np.flatnonzero(loop)
        visits = np.zeros(self.pairs.num_pairs)
        visits[policy[members]] = shares_of_time(self.pairs.next[policy[members]][:, members])
        self._append(None, visits, visits @ self.pairs.reward)

    def _append(
        self, policy: np.ndarray | None, visits: np.ndarray | None, returns: np.ndarray
    ) -> None:
        self.policies.append(policy)
        self.visits.append(visits)
        self.ahead.append(None)
        self.returns = np.vstack([self.returns, returns])
        self.share = np.append(self.share, 0.0)

    def _known(self, policy: np.ndarray) -> bool:
        return any(p is not None and (p == policy).all() for p in self.policies)

    def _take_over(self, before: "ColumnGeneration") -> None:
        """The other's policies: where a pair is gone, the last policy's own instead.

        Shared policies keep their values; a policy that would no longer end (γ=1) is dropped.
        """
        old, new = before.pairs, self.pairs
        place = np.full(int(old.states.max(initial=0)) + 1, -1)
        place[old.states] = np.arange(old.num_states)
        rows = place[new.states]
        width = 2 + max(int(old.action.max(initial=0)), int(new.action.max(initial=0)))
        number = np.full((new.num_states, width), -1)
        number[new.state, new.action + 1] = np.arange(new.num_pairs)
        states = np.arange(new.num_states)

        def translate(policy: np.ndarray) -> np.ndarray:
            return number[states, old.action[policy[rows]] + 1]

        last = translate(before.last)
        usable = (last >= 0).all() and not (new.gamma == 1 and never_ending_states(new, last).any())
        self.last = last if usable else self.last
        if before.guess is not None:
            self.guess = before.guess[rows]
        for policy in before.policies:
            if policy is None:
                continue
            same = translate(policy)
            same = np.where(same < 0, self.last, same)
            if new.gamma == 1 and never_ending_states(new, same).any():
                continue
            if not self._known(same):
                self._add(same)
