"""What is known of a model once it has been solved, so that other thresholds cost little.

Solves of one model with one γ share its pairs, what is left of them where totals must be finite, the columns of each
set of pairs, and every maximum that was found exactly. Nothing here depends on thresholds.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from lexicone.exact._end_components import restrict_to_finite
from lexicone.exact._highs import Outcome
from lexicone.exact._maximizer import Maximizer, StageMaximum
from lexicone.exact._state_actions import StateActions

__all__ = ["Known", "KnownMaximum"]

Floors = tuple[tuple[int, float], ...]


@dataclass(eq=False)
class KnownMaximum:
    """A maximum that was found exactly, and the pairs that can keep it."""

    maximizer: Maximizer
    maximum: StageMaximum
    mixture: Float[np.ndarray, " _"]
    """What `Maximizer.restore` takes."""
    gap: float
    """What was allowed to be left between value and bound."""
    keeping: StateActions | None = None


class Known:
    """What is known in one scale of rewards."""

    def __init__(self, pairs: StateActions) -> None:
        self.pairs = pairs
        self._finite: dict[tuple[StateActions, bytes], StateActions | None] = {}
        self._maximizers: dict[tuple[str, StateActions], Maximizer] = {}
        self._maxima: dict[tuple[str, StateActions, int, Floors], KnownMaximum] = {}

    def finite(self, pairs: StateActions, relevant: Bool[np.ndarray, " K"]) -> StateActions | None:
        """`restrict_to_finite`, computed once."""
        key = pairs, relevant.tobytes()
        if key not in self._finite:
            self._finite[key] = restrict_to_finite(pairs, relevant)
        return self._finite[key]

    def maximizer(
        self, method: str, pairs: StateActions, build: Callable[[], Maximizer]
    ) -> Maximizer:
        """The one of these pairs, with all that it has found so far."""
        key = method, pairs
        if key not in self._maximizers:
            self._maximizers[key] = build()
        return self._maximizers[key]

    def recall(
        self,
        method: str,
        pairs: StateActions,
        objective: int,
        floors: dict[int, float],
        gap: float,
    ) -> KnownMaximum | None:
        """A maximum that was found before, for this gap or a smaller one; its maximizer is again where it was."""
        found = self._maxima.get((method, pairs, objective, _key(floors)))
        if found is None or found.gap > gap:
            return None
        found.maximizer.restore(found.mixture)
        return found

    def remember(
        self,
        method: str,
        pairs: StateActions,
        objective: int,
        floors: dict[int, float],
        gap: float,
        found: tuple[Maximizer, StageMaximum],
    ) -> KnownMaximum:
        """Keep a maximum, if it is one."""
        maximizer, maximum = found
        known = KnownMaximum(maximizer, maximum, maximizer.mixture(), gap)
        if maximum.outcome is Outcome.OPTIMAL:
            self._maxima[method, pairs, objective, _key(floors)] = known
        return known

    @property
    def num_bytes(self) -> int:
        """About."""
        numbers = sum(engine.num_numbers for engine in self._maximizers.values())
        for (_, pairs, _, _), found in self._maxima.items():
            numbers += pairs.num_states + len(found.mixture)
        return 8 * numbers

    def forget(self) -> None:
        """All but the pairs."""
        self._finite.clear()
        self._maximizers.clear()
        self._maxima.clear()


def _key(floors: dict[int, float]) -> Floors:
    return tuple(sorted(floors.items()))
