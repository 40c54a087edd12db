"""What the checks of one solution have in common."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from lexicone.models._mdp import MDP
from lexicone.proofs._bounds import Arithmetic
from lexicone.proofs._policy_value import Interval
from lexicone.proofs._rows import Rows

__all__ = ["Problem", "Stage"]


@dataclass(frozen=True)
class Stage:
    """One objective that is maximised up to its threshold, given those before."""

    objective: int
    threshold: float
    breaks_ties: bool


@dataclass(frozen=True, eq=False)
class Problem:
    """A solution with its model, and what is known of its policy."""

    mdp: MDP
    solution: Any
    rows: Rows
    model: Arithmetic
    chain: Rows
    """Of the policy."""
    intervals: list[Interval]
    """Of its values."""
    tolerance: float

    @cached_property
    def stages(self) -> list[Stage]:
        """Objectives with a threshold of −∞ have none; ties are broken after all."""
        limits = [*self.solution.order.thresholds, np.inf]
        plan = [Stage(i, t, False) for i, t in enumerate(limits) if t > -np.inf]
        if self.solution.order.break_ties:
            plan += [Stage(i, np.inf, True) for i in range(len(limits) - 1)]
        return plan

    @cached_property
    def sizes(self) -> Float[np.ndarray, " K"]:
        """The largest reward of each objective; 1 if there is none."""
        size = np.abs(self.rows.reward).max(axis=0, initial=0.0)
        return np.where(size > 0, size, 1.0)

    @cached_property
    def turnover(self) -> Float[np.ndarray, " K"]:
        """What the policy gains and pays on the way, both counted as positive; without what it does for ever."""
        visits = np.asarray(self.solution.occupancy)[self.chain.states].sum(axis=1)
        return np.where(np.isfinite(visits), visits, 0.0) @ self.chain.size

    def room(self, objective: int, value: Any) -> float:
        """The tolerance for a value: relative to its size, at least 1, and to a thousandth of the turnover."""
        size = abs(float(value)) if value is not None and np.isfinite(float(value)) else 0.0
        return self.tolerance * max(1.0, size, 1e-3 * float(self.turnover[objective]))

    def label(self, objective: int) -> str:
        """The objective's name."""
        return self.mdp.objective_labels[objective]

    def kept(self, objective: int, threshold: float) -> Fraction | None:
        """What the policy surely has of an objective, at most its threshold; None if nothing finite is known."""
        low = self.intervals[objective].low
        if isinstance(low, float) and not np.isfinite(low):
            return Fraction(threshold) if low > 0 and np.isfinite(threshold) else None
        return min(Fraction(low), Fraction(threshold)) if np.isfinite(threshold) else Fraction(low)
