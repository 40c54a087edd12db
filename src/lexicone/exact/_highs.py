"""Linear programs for HiGHS: ``min cost·x`` subject to ``lower ≤ table·x ≤ upper`` and ``0 ≤ x ≤ most``.

Maximisation is written as minimisation, with which HiGHS is more reliable; one thread, so that it does not
compete with its caller.
"""

from enum import StrEnum
from typing import Any

import highspy
import numpy as np
from jaxtyping import Float
from scipy import sparse

from lexicone.exact._tolerances import NO_CHANCE

__all__ = ["Outcome", "build_program", "solve_program"]


_PRIMAL_SIMPLEX = 4  # HiGHS's number for it


class Outcome(StrEnum):
    """How a maximisation ended."""

    OPTIMAL = "optimal"
    CAPPED = "capped"
    """Enough was reached to stop; more may be possible."""
    UNBOUNDED = "unbounded"
    INFEASIBLE = "infeasible"
    """Nothing satisfies the constraints."""
    TIME_LIMIT = "time limit"
    FAILED = "failed"


def build_program(
    cost: Float[np.ndarray, " columns"],
    table: Any,
    lower: Float[np.ndarray, " rows"],
    upper: Float[np.ndarray, " rows"],
    most: Float[np.ndarray, " columns"] | None = None,
    *,
    tolerance: float = 1e-9,
    **options: Any,
) -> highspy.Highs:
    """A program that is ready to `solve_program`; ``options`` are HiGHS's own. ``table`` is any scipy sparse array."""
    columns = sparse.csc_array(table)
    lp: Any = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = len(lower), len(cost)
    lp.col_cost_ = cost
    lp.col_lower_ = np.zeros(len(cost))
    lp.col_upper_ = np.full(len(cost), np.inf) if most is None else most
    lp.row_lower_, lp.row_upper_ = lower, upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = columns.indptr.astype(np.int32)
    lp.a_matrix_.index_ = columns.indices.astype(np.int32)
    lp.a_matrix_.value_ = columns.data
    highs = highspy.Highs()
    settings = {
        "output_flag": False,
        "threads": 1,
        "small_matrix_value": NO_CHANCE,  # HiGHS would drop what is below 1e-9
        "primal_feasibility_tolerance": tolerance,
        "dual_feasibility_tolerance": tolerance,
        **options,
    }
    for name, setting in settings.items():
        highs.setOptionValue(name, setting)
    highs.passModel(lp)
    return highs


def solve_program(highs: highspy.Highs) -> Outcome:
    """Solve; where HiGHS cannot tell what it is, or fails, again without presolve, then by primal simplex."""
    outcome = _run_once(highs)
    for name, other in (("presolve", "off"), ("simplex_strategy", _PRIMAL_SIMPLEX)):
        if outcome is not Outcome.FAILED:
            break
        _, usual = highs.getOptionValue(name)
        highs.clearSolver()
        highs.setOptionValue(name, other)
        outcome = _run_once(highs)
        highs.setOptionValue(name, usual)
    return outcome


def _run_once(highs: highspy.Highs) -> Outcome:
    highs.run()
    return {
        highspy.HighsModelStatus.kOptimal: Outcome.OPTIMAL,
        highspy.HighsModelStatus.kUnbounded: Outcome.UNBOUNDED,
        highspy.HighsModelStatus.kInfeasible: Outcome.INFEASIBLE,
        highspy.HighsModelStatus.kTimeLimit: Outcome.TIME_LIMIT,
    }.get(highs.getModelStatus(), Outcome.FAILED)
