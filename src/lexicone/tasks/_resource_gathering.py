"""Resource Gathering (Barrett & Narayanan 2008): fetch gold and a diamond past enemies."""

import numpy as np

from lexicone._base.checks import check_probability
from lexicone.models._mdp import MDP, Layout
from lexicone.tasks._mo_gymnasium_tables import resource_map
from lexicone.tasks._moves import ACTIONS, moves_on

__all__ = ["resource_gathering"]


def resource_gathering(*, danger: float = 0.1) -> MDP:
    """Objectives ``survival`` (−1 if killed), ``gold`` and ``diamond`` (1 each if brought home).

    The map is mo-gymnasium's. Arriving next to an enemy, one is killed with probability
    ``danger``; arriving at home ends the episode. A state is a place and what is carried; two
    more are the two ends.
    """
    check_probability("danger", danger)
    grid = resource_map()
    rows, columns = grid.shape
    places = rows * columns
    home, killed = 4 * places, 4 * places + 1
    total = 4 * places + 2

    state = np.arange(4 * places)
    row, column, gold, gem = np.unravel_index(state, (rows, columns, 2, 2))
    place = moves_on(np.ones(grid.shape, dtype=bool)).target[row * columns + column]
    tile = grid.ravel()[place]
    has_gold = np.where(tile == "R1", 1, gold[:, None])
    has_gem = np.where(tile == "R2", 1, gem[:, None])
    arrived = 4 * place + 2 * has_gold + has_gem
    ends = tile == "H"
    next_state = np.tile(np.arange(total)[:, None, None], (1, 4, 2))
    next_state[: 4 * places, :, 0] = np.where(ends, home, arrived)
    next_state[: 4 * places, :, 1] = killed
    risk = np.zeros((total, 4))
    risk[: 4 * places] = danger * np.char.startswith(tile, "E")
    reward = np.zeros((total, 4, 2, 3))
    reward[: 4 * places, :, 0, 1] = ends * has_gold
    reward[: 4 * places, :, 0, 2] = ends * has_gem
    reward[: 4 * places, :, 1, 0] = -1.0
    start = np.argwhere(grid == "H")[0]
    first = np.ravel_multi_index((start[0], start[1], 0, 0), (rows, columns, 2, 2))
    load = ("", " gold", " diamond", " gold diamond")
    names = [
        f"({r},{c}){load[g + 2 * d]}" for r, c, g, d in zip(row, column, gold, gem, strict=True)
    ]
    tiles = tuple(
        "".join({" ": ".", "R1": "g", "R2": "d", "H": "S"}.get(t, "E") for t in line)
        for line in grid.tolist()
    )
    positions = np.concatenate([np.stack([row, column], axis=-1), [start, (-1, -1)]])
    return MDP(
        next_state=next_state,
        probability=np.stack([1 - risk, risk], axis=-1),
        reward=reward,
        initial=(np.arange(total) == first).astype(float),
        terminal=np.arange(total) >= home,
        state_names=(*names, "home", "killed"),
        action_names=ACTIONS,
        objective_names=("survival", "gold", "diamond"),
        layout=Layout(tiles, positions),
    )
