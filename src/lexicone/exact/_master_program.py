"""The master program of column generation: the best mixture of the policies and loops found so far (HiGHS).

    max Σ_p λ_p V_i^p   s.t.   Σ_p λ_p = 1 (over policies),   Σ_p λ_p V_j^p ≥ floor_j,   λ ≥ 0.

It stays in HiGHS: policies and loops are appended as columns, costs and floors are changed in place, and each solution
starts from the basis of the one before.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse

from lexicone.exact._highs import Outcome, build_program, solve_program
from lexicone.exact._tolerances import RELAXED_FLOOR

__all__ = ["MasterProgram", "Mixture"]

_SCALE_BY_LARGEST = 4  # for HiGHS: with its usual scaling returns of 1e10 beside 1 seem unbounded


class Mixture(NamedTuple):
    """The best mixture of P columns; without shares unless the outcome is OPTIMAL."""

    outcome: Outcome
    shares: Float[np.ndarray, " P"]
    """At least 0; those of the policies sum to 1 up to rounding."""
    shortfall: float
    """How much is missing to the floors, in all; 0 if an objective was maximised."""
    weights: Float[np.ndarray, " K"]
    """The floors' dual prices, and 1 for the objective that was maximised."""


class MasterProgram:
    """Row 0 is the sum of the policies' shares, row ``1+k`` the value of objective k.

    Column k adds to objective k what is missing to its floor, at a cost of 1; policies and loops follow.
    """

    def __init__(self, num_objectives: int) -> None:
        self.num_objectives = num_objectives
        self.returns = np.zeros((0, num_objectives))
        """Of the policies and loops."""
        self.is_policy = np.zeros(0, dtype=bool)
        self.objective: int | None = None
        self.floors: dict[int, float] = {}
        rows = 1 + num_objectives
        free = np.full(num_objectives, np.inf)
        self.highs = build_program(
            np.ones(num_objectives),
            sparse.csr_array(np.eye(rows)[:, 1:]),
            np.array([1.0, *-free]),
            np.array([1.0, *free]),
            tolerance=1e-10,
            presolve="off",
            simplex_scale_strategy=_SCALE_BY_LARGEST,
        )

    def add_policy(self, returns: Float[np.ndarray, " K"]) -> None:
        """One more column."""
        self._add(1.0, returns)

    def add_loop(self, returns: Float[np.ndarray, " K"]) -> None:
        """One more column, which needs no share of the mixture."""
        self._add(0.0, returns)

    def solve(self, objective: int | None, floors: dict[int, float]) -> Mixture:
        """The mixture that has most of an objective; without one, the smallest total shortfall below the floors."""
        if objective != self.objective:
            self._change_objective(objective)
        if floors != self.floors:
            self._change_floors(floors)
        outcome = solve_program(self.highs)
        if outcome is not Outcome.OPTIMAL:  # from a bad basis, with returns of very different sizes
            outcome = self._solve_anew()
        if outcome is Outcome.INFEASIBLE:  # by rounding: the floors have been reached
            self._change_floors(
                {j: f - RELAXED_FLOOR * max(1.0, abs(f)) for j, f in floors.items()}
            )
            outcome = self._solve_anew()
        weights = np.zeros(self.num_objectives)
        if objective is not None:
            weights[objective] = 1.0
        if outcome is not Outcome.OPTIMAL:
            return Mixture(outcome, np.zeros(len(self.returns)), np.nan, weights)
        solution = self.highs.getSolution()
        for j in floors:
            weights[j] = max(solution.row_dual[1 + j], 0.0)
        column = np.maximum(np.array(solution.col_value), 0.0)
        shortfall, shares = column[: self.num_objectives], column[self.num_objectives :]
        return Mixture(outcome, shares, float(shortfall.sum()), weights)

    def _add(self, share: float, returns: np.ndarray) -> None:
        column = np.array([share, *returns])
        entries = np.flatnonzero(column).astype(np.int32)
        cost = 0.0 if self.objective is None else -returns[self.objective]
        self.highs.addCol(cost, 0.0, np.inf, len(entries), entries, column[entries])
        self.returns = np.vstack([self.returns, returns])
        self.is_policy = np.append(self.is_policy, share > 0)

    def _solve_anew(self) -> Outcome:
        """Without the last basis."""
        self.highs.clearSolver()
        return solve_program(self.highs)

    def _change_objective(self, objective: int | None) -> None:
        """The costs of all columns; only without an objective may there be a shortfall."""
        self.objective = objective
        count = len(self.returns)
        cost = np.zeros(count) if objective is None else -self.returns[:, objective]
        self.highs.changeColsCost(count, self.num_objectives + _numbers(count), cost)
        most = np.full(self.num_objectives, np.inf if objective is None else 0.0)
        self.highs.changeColsBounds(len(most), _numbers(len(most)), np.zeros(len(most)), most)

    def _change_floors(self, floors: dict[int, float]) -> None:
        self.floors = dict(floors)
        for k in range(self.num_objectives):
            self.highs.changeRowBounds(1 + k, floors.get(k, -np.inf), np.inf)


def _numbers(count: int) -> Int[np.ndarray, " count"]:
    return np.arange(count, dtype=np.int32)
