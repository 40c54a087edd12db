"""The paper's MAZE benchmark: reach G, avoid bad tiles, in any order and with any rewards.

Drawings are read as the paper prints them, with titles, borders and axis numbers,

    |__|G_|__| 2
    |HH|HH|__| 1          or in a compact form:      .G.
    |__|S_|__| 0                                     HH.
     0  1  2                                         .S.

``S`` start, ``G`` goal (terminal), ``hh``/``h`` low penalty, ``HH``/``H`` high penalty,
``##``/``#`` wall. The state at column x and row y, counted from the bottom left as in the paper,
is named ``(x,y)``.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from lexicone._base.checks import check_range, is_listing, is_number
from lexicone.models._mdp import MDP, Layout
from lexicone.tasks._moves import ACTIONS, moves_on, with_slip

__all__ = ["MAZES", "Objective", "Tile", "maze", "parse_maze"]

_LARGEST = 1e300  # sums of two rewards stay finite

MAZES = {
    "small": """
     __________
     |__|G_|__| 2
     |HH|HH|__| 1
     |__|S_|__| 0
      0  1  2
""",
    "extended": """
_____________
|__|G_|__|__| 4
|__|hh|hh|hh| 3
|__|__|__|__| 2
|HH|HH|HH|__| 1
|S_|__|__|__| 0
 0  1  2  3
""",
    "concave": """
          MAZE
       __________
       |__|G_|__| 4
       |__|hh|hh| 3
       |__|__|__| 2
       |HH|HH|__| 1
       |S_|__|__| 0
        0  1  2
""",
    "early-late": """
        MAZE
     __________
     |__|G_|__| 10
     |HH|HH|__| 9
     |__|__|__| 8
     |__|hh|hh| 7
     |__|__|__| 6
      __|__|__  5
     |__|__|__| 4
     |__|hh|hh| 3
     |__|__|__| 2
     |HH|HH|__| 1
     |__|S_|__| 0
      0  1  2
""",
}
"""The paper's figures maze-small, maze-extended, maze-concave-simple and maze-early-and-late."""

_TILES = {"__": ".", "G_": "G", "S_": "S", "hh": "h", "HH": "H", "##": "#"}


class Tile(NamedTuple):
    """Where a step leaves from or arrives, as a user's reward function sees it."""

    kind: str
    """``.``, ``S``, ``G``, ``h`` or ``H``."""
    x: int
    """Column, 0 at the left."""
    y: int
    """Row, 0 at the bottom."""


Objective = str | Callable[[Tile, str, Tile], float]
"""``"goal"``, ``"tiles"``, ``"tiles+goal"``, ``"time"``, or a function of (from, action, to)."""

_PRESETS: dict[str, tuple[str, ...]] = {
    "endpoint": ("goal", "tiles"),
    "path": ("tiles+goal", "time"),
    "endpoint-time": ("time", "tiles"),
}


def maze(
    drawing: str = "small",
    objectives: str | Sequence[Objective] | Mapping[str, Objective] = "endpoint",
    *,
    high_penalty: float = -5.0,
    low_penalty: float = -4.0,
    goal_reward: float = 1.0,
    slip: float = 0.0,
) -> MDP:
    """A maze of the paper by name (`MAZES`), or your own drawing, as an `MDP`.

    Every reward is paid on arrival, also when a move off the grid or into a wall leads nowhere:

    - ``"goal"``: ``goal_reward`` at G, 0 elsewhere;
    - ``"tiles"``: the penalty of a bad tile;
    - ``"tiles+goal"``: both (the primary objective of the paper's experiment 1);
    - ``"time"``: −1, but 0 at G (its secondary objective, and the variant R₁′ of its appendix).

    Three lists of objectives have names: ``"endpoint"`` is (goal, tiles), ``"path"`` is
    (tiles+goal, time), ``"endpoint-time"`` is (time, tiles).

    Args:
        drawing: a name, or a text with a line for each row (`parse_maze`).
        objectives: one of these lists, or your own in order of importance.
            A function ``f(from, action, to) -> float`` of tiles (`Tile`) is an
            objective too; a mapping gives them names.
        high_penalty: the reward of a tile H.
        low_penalty: that of a tile h.
        goal_reward: that of G.
        slip: with this probability the agent moves to a side of where it meant
            to go, either with one half.
    """
    rows = parse_maze(drawing)
    rewards = {"high_penalty": high_penalty, "low_penalty": low_penalty, "goal_reward": goal_reward}
    for name, number in rewards.items():
        check_range(name, number, -_LARGEST, _LARGEST)
    high_penalty, low_penalty, goal_reward = map(float, rewards.values())
    grid = np.array([list(row) for row in rows])
    cells, target = moves_on(grid != "#")
    kinds = grid[tuple(cells.T)]
    terminal = kinds == "G"
    target[terminal] = np.flatnonzero(terminal)[:, None]
    next_state, probability = with_slip(target, slip)
    tiles = [
        Tile(str(kind), int(column), len(rows) - 1 - int(row))
        for kind, (row, column) in zip(kinds, cells, strict=True)
    ]
    named = _named_objectives(objectives)
    paid = {
        "goal": np.where(kinds == "G", goal_reward, 0.0),
        "tiles": np.select([kinds == "H", kinds == "h"], [high_penalty, low_penalty], 0.0),
        "time": np.where(kinds == "G", 0.0, -1.0),
    }
    paid["tiles+goal"] = paid["tiles"] + paid["goal"]
    reward = np.stack(
        [
            paid[what][next_state] if isinstance(what, str) else _apply(what, tiles, next_state)
            for what in named.values()
        ],
        axis=-1,
    )
    reward[terminal] = 0.0
    starts = kinds == "S"
    result = MDP(
        next_state=next_state,
        probability=probability,
        reward=reward,
        initial=starts / starts.sum(),
        terminal=terminal,
        state_names=tuple(f"({tile.x},{tile.y})" for tile in tiles),
        action_names=ACTIONS,
        objective_names=tuple(named),
        layout=Layout(rows, cells),
    )
    for s in np.flatnonzero(starts & ~result.can_terminate()):
        row, column = cells[s]
        raise ValueError(
            f"drawing: no way leads from S at row {row + 1}, column {column + 1} to a G"
        )
    return result


def parse_maze(drawing: str) -> tuple[str, ...]:
    """A name of `MAZES`, a drawing or a compact map, as rows of ``.SGhH#`` from the top.

    Errors count rows and columns of tiles from 1, from the top left.
    """
    if not isinstance(drawing, str):
        raise ValueError(f"drawing: expected a name or a text, got {drawing!r}")
    if drawing in MAZES:
        drawing = MAZES[drawing]
    elif re.fullmatch(r"[\w -]{2,}", drawing) and not set(drawing) <= set(".SGhH#"):
        raise ValueError(f"drawing: no maze is called {drawing!r}; there are {', '.join(MAZES)}")
    lines = [line.strip() for line in drawing.splitlines() if line.strip()]
    rows = _parse_printed(lines) if any("|" in line for line in lines) else _parse_compact(lines)
    if not rows:
        raise ValueError("drawing: is empty")
    for i, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ValueError(
                f"drawing: row {i + 1} has {len(row)} columns, the first row has {len(rows[0])}"
            )
    for tile, what in (("S", "start"), ("G", "goal")):
        if not any(tile in row for row in rows):
            raise ValueError(f"drawing: has no {what} {tile}")
    return tuple(rows)


def _parse_printed(lines: Sequence[str]) -> list[str]:
    rows: list[str] = []
    for line in lines:
        if "|" not in line:
            if rows and not re.fullmatch(r"[_\s\d]+", line):
                raise ValueError(f"drawing: after row {len(rows)}: {line!r} is not a row of tiles")
            continue  # a title, a border or the numbers of the axis
        body = re.sub(r"(\|?)\s+\d+$", r"\1", line)  # the number of the row
        body = body.removeprefix("|").removesuffix("|")
        row = ""
        for column, cell in enumerate(body.split("|")):
            if cell not in _TILES:
                raise ValueError(
                    f"drawing: row {len(rows) + 1}, column {column + 1}: {cell!r} is not a tile; "
                    f"expected one of {' '.join(_TILES)}"
                )
            row += _TILES[cell]
        rows.append(row)
    return rows


def _parse_compact(lines: Sequence[str]) -> list[str]:
    for i, line in enumerate(lines):
        for j, tile in enumerate(line):
            if tile not in ".SGhH#":
                raise ValueError(
                    f"drawing: row {i + 1}, column {j + 1}: {tile!r} is not a tile; "
                    "expected one of . S G h H #"
                )
    return list(lines)


def _named_objectives(
    objectives: str | Sequence[Objective] | Mapping[str, Objective],
) -> dict[str, Objective]:
    if isinstance(objectives, str):
        if objectives not in _PRESETS:
            raise ValueError(
                f"objectives: expected one of {', '.join(_PRESETS)} or a list, got {objectives!r}"
            )
        objectives = _PRESETS[objectives]
    if not isinstance(objectives, Mapping):
        if not is_listing(objectives):
            raise ValueError(f"objectives: expected a list or a mapping, got {objectives!r}")
        objectives = tuple(objectives)
        names = [
            what if isinstance(what, str) else getattr(what, "__name__", "").strip("<>") or "f"
            for what in objectives
        ]
        if len(set(names)) != len(names):
            raise ValueError(f"objectives: {names} are not all different; give names in a mapping")
        objectives = dict(zip(names, objectives, strict=True))
    if not objectives:
        raise ValueError("objectives: need at least one")
    for name, what in objectives.items():
        known = isinstance(what, str) and what in ("goal", "tiles", "tiles+goal", "time")
        if not (known or callable(what)) or not isinstance(name, str):
            raise ValueError(
                f"objectives[{name!r}]: expected goal, tiles, tiles+goal, time or a function, "
                f"got {what!r}"
            )
    return dict(objectives)


def _apply(
    function: Callable[[Tile, str, Tile], float], tiles: Sequence[Tile], next_state: np.ndarray
) -> np.ndarray:
    values = np.empty(next_state.shape)
    for s, a, b in np.ndindex(*next_state.shape):
        value = function(tiles[s], ACTIONS[a], tiles[int(next_state[s, a, b])])
        if not is_number(value) or not abs(value) <= _LARGEST:
            raise ValueError(f"objectives: a function must return finite numbers, got {value!r}")
        values[s, a, b] = value
    return values
