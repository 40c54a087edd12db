"""Slippery random grids of any size, for tests of scale: hazards of several kinds, and time."""

import numpy as np

from lexicone._base.checks import check_range, check_seed, check_whole
from lexicone._base.memory import check_memory
from lexicone.models._mdp import MDP, Layout
from lexicone.tasks._moves import ACTIONS, moves_on, with_slip

__all__ = ["grid"]


def grid(
    rows: int = 10,
    columns: int | None = None,
    num_objectives: int = 3,
    *,
    slip: float = 0.2,
    density: float = 0.3,
    seed: int = 0,
) -> MDP:
    """From the top left to the bottom right corner of ``rows × columns`` tiles.

    Objectives 1 … K−1 are hazards: each kind covers a random part of the tiles and costs a random
    amount in [0, 1) on arrival. Objective K is time: −1 for each step. Moves off the grid stay in
    place.

    Args:
        rows: of tiles.
        columns: of tiles; as many as rows if not given.
        num_objectives: K.
        slip: with this probability the agent moves to a side of where it meant
            to go, either with one half.
        density: the part of the tiles that each hazard covers.
        seed: of all that is random.
    """
    columns = rows if columns is None else columns
    check_whole(rows=rows, columns=columns, num_objectives=num_objectives)
    rows, columns, num_objectives = int(rows), int(columns), int(num_objectives)
    check_seed(seed)
    check_range("slip", slip, 0, 1)
    if rows * columns < 2:
        raise ValueError(f"rows: need at least two tiles, got {rows} × {columns}")
    check_range("density", density, 0, 1)
    sizes = {"rows": rows, "columns": columns, "num_objectives": num_objectives}
    needed = 8 * rows * columns * 12 * (num_objectives + 3)
    check_memory(max(sizes, key=sizes.__getitem__), needed, "a grid of this size")
    total = rows * columns
    rng = np.random.default_rng(int(seed))
    hazard = rng.random((total, num_objectives - 1))
    hazard *= rng.random(hazard.shape) < float(density)
    hazard[[0, -1]] = 0.0
    arrival = np.concatenate([-hazard, -np.ones((total, 1))], axis=1)

    cells, target = moves_on(np.ones((rows, columns), dtype=bool))
    target[-1] = total - 1
    next_state, probability = with_slip(target, slip)
    reward = arrival[next_state]
    reward[-1] = 0.0
    tiles = np.where(hazard.any(axis=1), "h", ".").reshape(rows, columns)
    tiles[0, 0], tiles[-1, -1] = "S", "G"
    return MDP(
        next_state=next_state,
        probability=probability,
        reward=reward,
        initial=(np.arange(total) == 0).astype(float),
        terminal=np.arange(total) == total - 1,
        action_names=ACTIONS,
        objective_names=(*(f"hazard {k + 1}" for k in range(num_objectives - 1)), "time"),
        layout=Layout(tuple("".join(line) for line in tiles), cells),
    )
