"""Fruit Tree Navigation (Yang et al. 2019): walk down a full binary tree to one of its fruits."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from lexicone._base.arrays import as_numbers
from lexicone._base.checks import check_seed, check_whole, find_places
from lexicone._base.memory import check_memory
from lexicone.models._mdp import MDP
from lexicone.tasks._mo_gymnasium_tables import fruits as read_fruits

__all__ = ["fruit_tree", "fruits_of"]

_NUTRIENTS = ("protein", "carbs", "fats", "vitamins", "minerals", "water")


def fruit_tree(
    depth: int = 5,
    *,
    fruits: Any = None,
    seed: int | None = None,
    num_objectives: int = 6,
    objectives: Sequence[int] | None = None,
) -> MDP:
    """A tree with ``2^depth`` fruits; actions are Left and Right; a fruit is paid on arrival.

    By default the fruits of mo-gymnasium's table (depth 5, 6 or 7, six nutrients). States are
    numbered in heap order: the children of i are 2i+1 and 2i+2.

    Args:
        depth: how many times to turn left or right.
        fruits: your own, ``[2^depth, K]``, from left to right.
        seed: random fruits instead, non-negative and of length 10 each; these
            are there for any depth.
        num_objectives: the numbers of a random fruit.
        objectives: which columns to keep, most important first.
    """
    check_whole(depth=depth)
    check_whole(num_objectives=num_objectives)
    depth, num_objectives = int(depth), int(num_objectives)
    width = num_objectives if fruits is None else 1
    check_memory("depth", 32.0 * 2.0 ** min(int(depth), 99) * width, f"a tree of depth {depth}")
    names: tuple[str, ...] | None = None
    if fruits is not None:
        leaves = as_numbers("fruits", fruits, finite=True)
    elif seed is not None:
        check_seed(seed)
        leaves = np.abs(np.random.default_rng(int(seed)).normal(size=(2**depth, num_objectives)))
        leaves *= 10 / np.linalg.norm(leaves, axis=1, keepdims=True)
    else:
        leaves, names = read_fruits(depth), _NUTRIENTS
    if leaves.ndim != 2 or leaves.shape[0] != 2**depth or leaves.shape[1] == 0:
        raise ValueError(
            f"fruits: expected shape [{2**depth}, K] for depth {depth}, got {leaves.shape}"
        )
    if objectives is not None:
        objectives = find_places(objectives, None, leaves.shape[1])
        leaves = leaves[:, objectives]
        names = None if names is None else tuple(names[k] for k in objectives)

    inner, total = 2**depth - 1, 2 ** (depth + 1) - 1
    next_state = np.arange(total).repeat(2).reshape(total, 2, 1)
    next_state[:inner, :, 0] = 2 * np.arange(inner)[:, None] + np.array([1, 2])
    arrival = np.zeros((total, leaves.shape[1]))
    arrival[inner:] = leaves
    reward = arrival[next_state]
    reward[inner:] = 0.0
    level = np.floor(np.log2(np.arange(total) + 1)).astype(int)
    return MDP(
        next_state=next_state,
        probability=np.ones(next_state.shape),
        reward=reward,
        initial=(np.arange(total) == 0).astype(float),
        terminal=np.arange(total) >= inner,
        state_names=tuple(f"({row},{i + 1 - 2**row})" for i, row in enumerate(level.tolist())),
        action_names=("Left", "Right"),
        objective_names=names,
    )


def fruits_of(mdp: MDP) -> Float[np.ndarray, "leaves K"]:
    """The fruits of such a tree from left to right: what is paid on arrival at each leaf."""
    leaves = (mdp.num_states + 1) // 2
    parents = slice(leaves // 2 - 1, leaves - 1)
    return mdp.reward[parents, :, 0].reshape(leaves, mdp.num_objectives)
