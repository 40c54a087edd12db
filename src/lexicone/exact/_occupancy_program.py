"""The occupancy linear program: maximise one objective, keep floors under others (HiGHS).

    max Σ x·r_i   s.t.   x ≥ 0,   flow(x) = initial,   Σ x·r_j ≥ floor_j

Its dual is the certificate. With the floors' multipliers λ ≥ 0 and the flow's v, no policy that keeps
the floors has more than ``Σ_s initial·v − Σ_j λ_j·floor_j``, as long as no pair beats v by one step.
"""

import time
from collections.abc import Callable

import highspy
import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse

from lexicone.exact._highs import Outcome, build_program, solve_program
from lexicone.exact._maximizer import StageMaximum, upper_bound, without_maximum
from lexicone.exact._policy_iteration import best_policy
from lexicone.exact._policy_iteration_total import (
    best_ending_policy,
    ending_policy,
    never_ending_states,
)
from lexicone.exact._state_actions import StateActions
from lexicone.exact._tolerances import EQUAL_VALUES, EXACT_GAP, RELAXED_FLOOR

__all__ = ["OccupancyProgram"]

_RELAXED = (1e-2 * RELAXED_FLOOR, RELAXED_FLOOR)
"""One try after the other."""


class OccupancyProgram:
    """The linear program of a model; maxima found one after the other start from each other's basis.

    After ``deadline`` (of `time.monotonic`) a maximum is given up: the outcome is TIME_LIMIT. If ``tight``, values and
    bound come from a best policy for the program's weights, not from its duals.
    """

    is_vertex = True

    def __init__(self, pairs: StateActions, deadline: float = np.inf, tight: bool = False) -> None:
        self.pairs = pairs
        self.deadline = deadline
        self.tight = tight
        self._occupancy = np.zeros(pairs.num_pairs)
        own = sparse.csr_array(
            (np.ones(pairs.num_pairs), (np.arange(pairs.num_pairs), pairs.state)),
            shape=pairs.next.shape,
        )
        flow = sparse.csr_array(own - pairs.next)
        free = np.full(pairs.num_objectives, np.inf)
        self.highs = build_program(
            np.zeros(pairs.num_pairs),
            sparse.vstack([flow.T, sparse.csr_array(pairs.reward.T)]),
            np.concatenate([pairs.initial, -free]),
            np.concatenate([pairs.initial, free]),
        )

    def maximize(
        self,
        objective: int,
        floors: dict[int, float],
        cap: float = np.inf,
        gap: float = EXACT_GAP,
    ) -> StageMaximum:
        """Maximise one objective given floors under others; always up to the optimum itself."""
        pairs, highs = self.pairs, self.highs
        states, count = pairs.num_states, pairs.num_pairs
        highs.changeColsCost(
            count, np.arange(count, dtype=np.int32), -pairs.reward[:, objective].copy()
        )
        for k in range(pairs.num_objectives):
            highs.changeRowBounds(states + k, floors.get(k, -np.inf), np.inf)
        outcome = self._run()
        for slack in _RELAXED if floors else ():
            if outcome is not Outcome.INFEASIBLE:  # by rounding, if a solution has the floors
                break
            highs.clearSolver()
            for j, floor in floors.items():
                highs.changeRowBounds(states + j, floor - slack * max(1.0, abs(floor)), np.inf)
            outcome = self._run()
        if outcome is not Outcome.OPTIMAL:
            return without_maximum(pairs, objective, outcome)
        solution = highs.getSolution()
        self._occupancy = np.maximum(np.array(solution.col_value), 0.0)
        dual = np.array(solution.row_dual)
        weights = np.eye(pairs.num_objectives)[objective]
        for j in floors:
            weights[j] = max(dual[states + j], 0.0)
        value = float(self._occupancy @ pairs.reward[:, objective])
        values = -dual[:states]
        if self.tight:
            values, bound = self._tight_values(weights, values, floors)
        else:
            bound = upper_bound(pairs, weights, values, floors)
        return StageMaximum(Outcome.OPTIMAL, value, bound, weights, values)

    def _tight_values(
        self, weights: np.ndarray, values: np.ndarray, floors: dict[int, float]
    ) -> tuple[np.ndarray, float]:
        """The values of a best policy for the weighted sum, and the bound; the program's own if they give a lower one.

        The program's may be any that are not too small, where the maximum does not come, and are only as exact as its
        tolerance.
        """
        pairs = self.pairs
        reward = pairs.reward @ weights
        bound = upper_bound(pairs, weights, values, floors)
        fill = self.elsewhere(None)
        taken = pairs.best_by_state(self._occupancy)
        start = np.where(self._occupancy[taken] > 0, taken, fill)
        if pairs.gamma < 1:
            best = best_policy(pairs, reward, start, values, deadline=self.deadline)
        else:
            if never_ending_states(pairs, start).any():
                start = fill
            best = best_ending_policy(pairs, reward, start, self.deadline)
        if best.loop is not None:  # weights are a little too high
            return values, bound
        tight = upper_bound(pairs, weights, best.values, floors, best.steps_left)
        if pairs.gamma < 1 and bound < tight:
            return values, bound
        return best.values, tight

    def occupancy(self) -> Float[np.ndarray, " N"]:
        """Of the last maximum; 0 before there is one."""
        return self._occupancy

    def needed_pairs(self) -> Bool[np.ndarray, " N"]:
        """What the last maximum takes: the next program starts from its basis."""
        return self._occupancy > EQUAL_VALUES

    def elsewhere(self, maximum: StageMaximum | None) -> Int[np.ndarray, " S"]:
        """Towards an end; for γ<1 what is best for the maximum's weighted sum."""
        pairs = self.pairs
        if pairs.gamma == 1 or maximum is None:
            return ending_policy(pairs)
        gain = pairs.reward @ maximum.weights + pairs.next @ maximum.state_values
        return pairs.best_by_state(gain)

    def restricted(self, pairs: StateActions) -> "OccupancyProgram":
        """The program of some of the pairs, which starts from this one's basis as far as it is the same."""
        program = OccupancyProgram(pairs, self.deadline, self.tight)
        program._start_from(self)
        return program

    def start_at(self, policy: Int[np.ndarray, " S"]) -> None:
        """Start from the basis of a deterministic policy, one pair per state; it must end."""
        basic, lower = highspy.HighsBasisStatus.kBasic, highspy.HighsBasisStatus.kLower
        basis = highspy.HighsBasis()
        used = np.zeros(self.pairs.num_pairs, dtype=bool)
        used[policy] = True
        basis.col_status = [basic if u else lower for u in used]
        objectives = self.pairs.num_objectives
        basis.row_status = [lower] * self.pairs.num_states + [basic] * objectives
        basis.valid = True
        self.highs.setBasis(basis)

    def start_from_policies(self, policies: list[Int[np.ndarray, " S"]]) -> None:
        """Start from the basis of the first policy that is whole and ends."""
        for policy in policies:
            if (policy < 0).any():
                continue
            if self.pairs.gamma < 1 or not never_ending_states(self.pairs, policy).any():
                self.start_at(policy)
                return

    def go_on(self, deadline: float, progress: Callable[[str], None] | None) -> None:
        """For another question, with time of its own."""
        self.deadline = deadline

    def mixture(self) -> Float[np.ndarray, " N"]:
        """The occupancy itself."""
        return self._occupancy

    def restore(self, mixture: Float[np.ndarray, " N"]) -> None:
        """The occupancy of an earlier maximum becomes the last one again."""
        self._occupancy = mixture

    @property
    def num_numbers(self) -> int:
        """Of the program's table and its factors."""
        return 4 * self.pairs.next.nnz

    def _run(self) -> Outcome:
        left = np.inf
        if np.isfinite(self.deadline):  # HiGHS counts the time of all runs together
            left = self.highs.getRunTime() + max(0.0, self.deadline - time.monotonic())
        self.highs.setOptionValue("time_limit", left)
        return solve_program(self.highs)

    def _start_from(self, before: "OccupancyProgram") -> None:
        """The other program's basis, as far as states and pairs are the same."""
        old, basis = before.pairs, before.highs.getBasis()
        if not basis.valid:
            return
        width = 2 + max(int(old.action.max(initial=0)), int(self.pairs.action.max(initial=0)))
        status = dict(zip(_names(old, width), basis.col_status, strict=True))
        rows = dict(zip(old.states.tolist(), basis.row_status, strict=False))
        lower = highspy.HighsBasisStatus.kLower
        start = highspy.HighsBasis()
        start.col_status = [status.get(n, lower) for n in _names(self.pairs, width)]
        start.row_status = [rows.get(s, lower) for s in self.pairs.states.tolist()]
        start.row_status = list(start.row_status) + list(basis.row_status)[old.num_states :]
        start.valid = True
        basic = highspy.HighsBasisStatus.kBasic
        members = [*start.col_status, *start.row_status].count(basic)
        if members == len(start.row_status):
            self.highs.setBasis(start)


def _names(pairs: StateActions, width: int) -> list[int]:
    """A number for each pair that is the same in every table of the model."""
    return (pairs.states[pairs.state] * width + pairs.action + 1).tolist()
