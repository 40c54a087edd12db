"""Where the states of a model lie on a map."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from lexicone._base.arrays import as_numbers
from lexicone._base.checks import as_texts

__all__ = ["Layout"]


@dataclass(frozen=True, eq=False)
class Layout:
    """What drawings of mazes and grids need: tiles, and the tile of each state.

    ``rows`` are strings, one character per tile (``#`` wall, ``.`` free, others as the task says).
    ``positions[s]`` is the (row, column) of state s, or (−1, −1) if it is not on the map. Several
    states may share a tile. ``labels[s]``, if given and not empty, is written on the tile of state s
    in place of its character.
    """

    rows: tuple[str, ...]
    positions: Int[np.ndarray, "S 2"]
    labels: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", as_texts("rows", self.rows))
        places = np.atleast_1d(as_numbers("positions", self.positions, finite=True))
        positions = places.clip(-2, 2**31 - 1).astype(np.int32)
        if (positions != places.clip(-2, 2**31 - 1)).any():
            raise ValueError("positions: expected whole numbers")
        positions.flags.writeable = False
        object.__setattr__(self, "positions", positions)
        if len({len(row) for row in self.rows}) != 1 or not self.rows[0]:
            raise ValueError("rows: expected strings of one common length, at least 1")
        if positions.ndim != 2 or positions.shape[1] != 2:
            raise ValueError(f"positions: expected shape [states, 2], got {positions.shape}")
        height, width = len(self.rows), len(self.rows[0])
        if self.labels is not None:
            object.__setattr__(self, "labels", as_texts("labels", self.labels))
            if len(self.labels) != len(positions):
                raise ValueError(
                    f"labels: expected one for each of {len(positions)} states, got {len(self.labels)}"
                )
        bad = ((positions < -1) | (positions >= [height, width])).any(axis=1)
        if bad.any():
            s = int(np.argmax(bad))
            raise ValueError(
                f"positions[{s}]: {tuple(positions[s].tolist())} is not on the map "
                f"of {height} × {width}"
            )

    def marks(self) -> dict[tuple[int, int], str]:
        """What to write on which tile (row, column): labels, and characters other than ``.`` and ``#``."""
        found = {
            (row, column): tile
            for row, line in enumerate(self.rows)
            for column, tile in enumerate(line)
            if tile not in ".#"
        }
        for (row, column), label in zip(self.positions.tolist(), self.labels or (), strict=False):
            if label and row >= 0:
                found[row, column] = label
        return found
