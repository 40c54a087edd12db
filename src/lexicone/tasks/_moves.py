"""Moving Up, Down, Left and Right on a map: what all tasks on grids share."""

from typing import NamedTuple

import numpy as np

from lexicone._base.checks import check_probability

__all__ = ["ACTIONS", "Moves", "moves_on", "with_slip"]

ACTIONS = ("Up", "Down", "Left", "Right")
_STEPS = np.array([(-1, 0), (1, 0), (0, -1), (0, 1)])
_SIDES = np.array([(2, 3), (2, 3), (0, 1), (0, 1)])


class Moves(NamedTuple):
    """The free tiles of a map, numbered in reading order, and where each action leads."""

    cells: np.ndarray
    """(row, column) of each state: ``[S,2]``."""
    target: np.ndarray
    """``[S,4]``; a move off the map or into a wall stays in place."""


def moves_on(free: np.ndarray) -> Moves:
    """Moves between the tiles where ``free[row, column]``."""
    cells = np.argwhere(free)
    number = np.full(free.shape, -1)
    number[tuple(cells.T)] = np.arange(len(cells))
    aim = np.clip(cells[:, None, :] + _STEPS, 0, np.array(free.shape) - 1)
    target = number[aim[..., 0], aim[..., 1]]
    return Moves(cells, np.where(target < 0, np.arange(len(cells))[:, None], target))


def with_slip(target: np.ndarray, slip: float) -> tuple[np.ndarray, np.ndarray]:
    """``next_state`` and ``probability`` if a move goes to a side, either with ``slip/2``."""
    check_probability("slip", slip)
    slip = float(slip)
    if slip == 0:
        return target[..., None], np.ones((*target.shape, 1))
    next_state = np.stack([target, target[:, _SIDES[:, 0]], target[:, _SIDES[:, 1]]], axis=-1)
    return next_state, np.broadcast_to([1 - slip, slip / 2, slip / 2], next_state.shape)
