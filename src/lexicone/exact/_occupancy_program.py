"""The occupancy linear program: maximise one objective, keep floors under others (HiGHS).

    max Σ x·r_i   s.t.   x ≥ 0,   flow(x) = initial,   Σ x·r_j ≥ floor_j

Its dual is the certificate. With the floors' multipliers λ ≥ 0 and the flow's v, no policy that keeps
the floors has more than ``Σ_s initial·v − Σ_j λ_j·floor_j``, as long as no pair beats v by one step.
"""

from typing import NamedTuple

import highspy
import numpy as np
from jaxtyping import Float, Int
from scipy import sparse

from lexicone.exact._highs import Outcome, build_program, solve_program
from lexicone.exact._state_actions import StateActions

__all__ = ["Maximum", "OccupancyProgram", "upper_bound"]


class Maximum(NamedTuple):
    """The maximum of one objective over the policies that keep the floors."""

    outcome: Outcome
    value: float
    bound: float
    """No policy that keeps the floors has more."""
    weights: Float[np.ndarray, " K"]
    """1 for the objective itself, the multiplier of its floor for each of the others."""
    values: Float[np.ndarray, " S"]
    """Of the weighted sum, in each state, under the policies that are best for it."""


def upper_bound(
    pairs: StateActions, weights: np.ndarray, values: np.ndarray, floors: dict[int, float]
) -> float:
    """What no policy that keeps the floors can exceed, from any weights ≥ 0 and values whatsoever.

    Where a pair beats the values by δ > 0, at most δ more can be gained at each visit: ``δ/(1−γ)`` in
    all. With γ=1 there is no such limit on visits, and δ is taken for rounding.
    """
    gain = pairs.reward @ weights + pairs.next @ values - values[pairs.state]
    slip = max(float(gain.max(initial=0.0)), 0.0)
    slip *= pairs.initial.sum() / (1 - pairs.gamma) if pairs.gamma < 1 else 1.0
    return float(pairs.initial @ values + slip - sum(weights[j] * f for j, f in floors.items()))


class OccupancyProgram:
    """The linear program of a model; stages solved one after the other start from each other's basis."""

    def __init__(
        self,
        pairs: StateActions,
        before: "OccupancyProgram | None" = None,
        time_limit: float = np.inf,
    ) -> None:
        self.pairs = pairs
        self.occupancy = np.zeros(pairs.num_pairs)
        objectives = pairs.num_objectives
        own = sparse.csr_array(
            (np.ones(pairs.num_pairs), (np.arange(pairs.num_pairs), pairs.state)),
            shape=pairs.next.shape,
        )
        flow = sparse.csr_array(own - pairs.next)
        free = np.full(objectives, np.inf)
        self.highs = build_program(
            np.zeros(pairs.num_pairs),
            sparse.vstack([flow.T, sparse.csr_array(pairs.reward.T)]),
            np.concatenate([pairs.initial, -free]),
            np.concatenate([pairs.initial, free]),
            time_limit=time_limit,
        )
        if before is not None:
            self._start_from(before)

    def maximize(self, objective: int, floors: dict[int, float]) -> Maximum:
        """Maximise one objective given floors under others."""
        pairs, highs = self.pairs, self.highs
        states, count = pairs.num_states, pairs.num_pairs
        weights = np.eye(pairs.num_objectives)[objective]
        highs.changeColsCost(
            count, np.arange(count, dtype=np.int32), -pairs.reward[:, objective].copy()
        )
        for k in range(pairs.num_objectives):
            highs.changeRowBounds(states + k, floors.get(k, -np.inf), np.inf)
        outcome = solve_program(highs)
        if (
            outcome is Outcome.INFEASIBLE and floors
        ):  # by rounding, if the floors come from a solution
            highs.clearSolver()
            for j, floor in floors.items():
                highs.changeRowBounds(states + j, floor - 1e-9 * max(1.0, abs(floor)), np.inf)
            outcome = solve_program(highs)
        if outcome is not Outcome.OPTIMAL:
            return Maximum(outcome, np.nan, np.inf, weights, np.zeros(states))
        solution = highs.getSolution()
        self.occupancy = np.maximum(np.array(solution.col_value), 0.0)
        dual = np.array(solution.row_dual)
        for j in floors:
            weights[j] = max(dual[states + j], 0.0)
        values = -dual[:states]
        value = float(self.occupancy @ pairs.reward[:, objective])
        bound = upper_bound(pairs, weights, values, floors)
        return Maximum(Outcome.OPTIMAL, value, bound, weights, values)

    def start_at(self, policy: Int[np.ndarray, " S"]) -> None:
        """Start from the basis of a deterministic policy, one pair per state."""
        basic, lower = highspy.HighsBasisStatus.kBasic, highspy.HighsBasisStatus.kLower
        basis = highspy.HighsBasis()
        used = np.zeros(self.pairs.num_pairs, dtype=bool)
        used[policy] = True
        basis.col_status = [basic if u else lower for u in used]
        objectives = self.pairs.num_objectives
        basis.row_status = [lower] * self.pairs.num_states + [basic] * objectives
        basis.valid = True
        self.highs.setBasis(basis)

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
        members = sum(s == basic for s in start.col_status) + sum(
            s == basic for s in start.row_status
        )
        if members == len(start.row_status):
            self.highs.setBasis(start)


def _names(pairs: StateActions, width: int) -> list[int]:
    return (pairs.states[pairs.state] * width + pairs.action + 1).tolist()
