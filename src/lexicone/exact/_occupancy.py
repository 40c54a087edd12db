"""The occupancy linear program: maximise one objective, keep floors under others (HiGHS).

    max Σ x·r_i   s.t.   x ≥ 0,   flow(x) = initial,   Σ x·r_j ≥ floor_j

Its dual is the certificate. With the floors' multipliers λ ≥ 0 and the flow's v, no policy that keeps
the floors has more than ``Σ_s initial·v − Σ_j λ_j·floor_j``, as long as no choice beats v by one step.
"""

from typing import NamedTuple

import highspy
import numpy as np
from jaxtyping import Float, Int
from scipy import sparse

from lexicone.exact._choices import Choices
from lexicone.exact._highs import Outcome, load, run

__all__ = ["Occupancy", "Stage", "upper_bound"]


class Stage(NamedTuple):
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
    choices: Choices, weights: np.ndarray, values: np.ndarray, floors: dict[int, float]
) -> float:
    """What no policy that keeps the floors can exceed, from any weights ≥ 0 and values whatsoever.

    Where a choice beats the values by δ > 0, at most δ more can be gained at each visit: ``δ/(1−γ)`` in
    all. With γ=1 there is no such limit on visits, and δ is taken for rounding.
    """
    gain = choices.reward @ weights + choices.next @ values - values[choices.state]
    slip = max(float(gain.max(initial=0.0)), 0.0)
    slip *= choices.initial.sum() / (1 - choices.gamma) if choices.gamma < 1 else 1.0
    return float(choices.initial @ values + slip - sum(weights[j] * f for j, f in floors.items()))


class Occupancy:
    """The linear program of a model; stages solved one after the other start from each other's basis."""

    def __init__(
        self,
        choices: Choices,
        before: "Occupancy | None" = None,
        time_limit: float = np.inf,
    ) -> None:
        self.choices = choices
        self.occupancy = np.zeros(choices.num_choices)
        objectives = choices.num_objectives
        own = sparse.csr_array(
            (np.ones(choices.num_choices), (np.arange(choices.num_choices), choices.state)),
            shape=choices.next.shape,
        )
        flow = sparse.csr_array(own - choices.next)
        free = np.full(objectives, np.inf)
        self.highs = load(
            np.zeros(choices.num_choices),
            sparse.vstack([flow.T, sparse.csr_array(choices.reward.T)]),
            np.concatenate([choices.initial, -free]),
            np.concatenate([choices.initial, free]),
            time_limit=time_limit,
        )
        if before is not None:
            self._start_from(before)

    def maximize(self, objective: int, floors: dict[int, float]) -> Stage:
        """Maximise one objective given floors under others."""
        choices, highs = self.choices, self.highs
        states, count = choices.num_states, choices.num_choices
        weights = np.eye(choices.num_objectives)[objective]
        highs.changeColsCost(
            count, np.arange(count, dtype=np.int32), -choices.reward[:, objective].copy()
        )
        for k in range(choices.num_objectives):
            highs.changeRowBounds(states + k, floors.get(k, -np.inf), np.inf)
        outcome = run(highs)
        if (
            outcome is Outcome.INFEASIBLE and floors
        ):  # by rounding, if the floors come from a solution
            highs.clearSolver()
            for j, floor in floors.items():
                highs.changeRowBounds(states + j, floor - 1e-9 * max(1.0, abs(floor)), np.inf)
            outcome = run(highs)
        if outcome is not Outcome.OPTIMAL:
            return Stage(outcome, np.nan, np.inf, weights, np.zeros(states))
        solution = highs.getSolution()
        self.occupancy = np.maximum(np.array(solution.col_value), 0.0)
        dual = np.array(solution.row_dual)
        for j in floors:
            weights[j] = max(dual[states + j], 0.0)
        values = -dual[:states]
        value = float(self.occupancy @ choices.reward[:, objective])
        bound = upper_bound(choices, weights, values, floors)
        return Stage(Outcome.OPTIMAL, value, bound, weights, values)

    def start_at(self, policy: Int[np.ndarray, " S"]) -> None:
        """Start from the basis of a deterministic policy, one choice per state."""
        basic, lower = highspy.HighsBasisStatus.kBasic, highspy.HighsBasisStatus.kLower
        basis = highspy.HighsBasis()
        used = np.zeros(self.choices.num_choices, dtype=bool)
        used[policy] = True
        basis.col_status = [basic if u else lower for u in used]
        objectives = self.choices.num_objectives
        basis.row_status = [lower] * self.choices.num_states + [basic] * objectives
        basis.valid = True
        self.highs.setBasis(basis)

    def _start_from(self, before: "Occupancy") -> None:
        """The other program's basis, as far as states and choices are the same."""
        old, basis = before.choices, before.highs.getBasis()
        if not basis.valid:
            return
        width = 2 + max(int(old.action.max(initial=0)), int(self.choices.action.max(initial=0)))
        status = dict(zip(_names(old, width), basis.col_status, strict=True))
        rows = dict(zip(old.states.tolist(), basis.row_status, strict=False))
        lower = highspy.HighsBasisStatus.kLower
        start = highspy.HighsBasis()
        start.col_status = [status.get(n, lower) for n in _names(self.choices, width)]
        start.row_status = [rows.get(s, lower) for s in self.choices.states.tolist()]
        start.row_status = list(start.row_status) + list(basis.row_status)[old.num_states :]
        start.valid = True
        basic = highspy.HighsBasisStatus.kBasic
        members = sum(s == basic for s in start.col_status) + sum(
            s == basic for s in start.row_status
        )
        if members == len(start.row_status):
            self.highs.setBasis(start)


def _names(choices: Choices, width: int) -> list[int]:
    return (choices.states[choices.state] * width + choices.action + 1).tolist()
