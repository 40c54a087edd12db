"""Deep Sea Treasure (Vamplew et al. 2011): small treasures are near, large ones far."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lexicone._base.arrays import as_numbers
from lexicone._base.checks import as_texts
from lexicone.models._mdp import MDP, Layout
from lexicone.tasks._mo_gymnasium_tables import treasure_map
from lexicone.tasks._moves import ACTIONS, moves_on

__all__ = ["deep_sea_treasure"]


def deep_sea_treasure(
    sea: Any = "concave",
    *,
    objectives: Sequence[str] = ("treasure", "time"),
    start: tuple[int, int] | None = None,
) -> MDP:
    """A submarine: a treasure ends the episode and pays its worth, each step costs 1.

    ``sea`` is ``"concave"`` (treasures 1 … 124), ``"convex"`` (0.7 … 23.7) or ``"mirrored"``, all
    read from mo-gymnasium, or your own array: a number per treasure, 0 for water, −10 for rock.
    Moves off the map or into rock stay in place. ``objectives`` gives the order of ``treasure``
    and ``time``; ``start`` is (row, column).
    """
    objectives = as_texts("objectives", objectives)
    if sorted(objectives) != ["time", "treasure"]:
        raise ValueError(f"objectives: expected treasure and time in some order, got {objectives}")
    named = isinstance(sea, str)
    depth = as_numbers("sea", treasure_map(sea) if named else sea, finite=True)
    if depth.ndim != 2 or depth.size == 0:
        raise ValueError(f"sea: expected an array [rows, columns], got shape {depth.shape}")
    if start is None:  # the mirrored sea has its smallest treasure below the start, like the others
        start = (0, depth.shape[1] // 2) if named and sea == "mirrored" else (0, 0)
    row, column = _place(start)
    if not (0 <= row < depth.shape[0] and 0 <= column < depth.shape[1]) or depth[row, column] != 0:
        raise ValueError(f"start: ({row}, {column}) is not open water")
    cells, moved = moves_on(depth != -10)
    worth = depth[tuple(cells.T)]
    terminal = worth != 0
    moved[terminal] = np.flatnonzero(terminal)[:, None]
    paid = {"treasure": worth[moved], "time": np.full(moved.shape, -1.0)}
    reward = np.stack([paid[name] for name in objectives], axis=-1)
    reward[terminal] = 0.0
    tiles = np.where(depth == -10, "#", np.where(depth == 0, ".", "T"))
    tiles[row, column] = "S"
    return MDP(
        next_state=moved[..., None],
        probability=np.ones((*moved.shape, 1)),
        reward=reward[:, :, None, :],
        initial=(cells == (row, column)).all(axis=1).astype(float),
        terminal=terminal,
        state_names=tuple(f"({r},{c})" for r, c in cells),
        action_names=ACTIONS,
        objective_names=tuple(objectives),
        layout=Layout(
            tuple("".join(line) for line in tiles),
            cells,
            tuple(f"{w:g}" if w else "" for w in worth.tolist()),
        ),
    )


def _place(start: Any) -> tuple[int, int]:
    place = as_numbers("start", start, (2,), finite=True)
    if (place != np.floor(place)).any():
        raise ValueError(f"start: expected a row and a column, got {start!r}")
    return int(place[0]), int(place[1])
