"""Successor tables in which some actions are not available everywhere: their rows are 0 and loop."""

import numpy as np
from jaxtyping import Bool

from lexicone.models._arrays import scale_to_one
from lexicone.models._rows import Tables

__all__ = ["all_available", "available_or_end", "scale_available", "without_missing"]


def all_available(shape: tuple[int, ...]) -> np.ndarray:
    """Every action in every state, read-only; it takes no memory."""
    return np.broadcast_to(np.True_, shape)


def available_or_end(
    available: Bool[np.ndarray, "..."], terminal: Bool[np.ndarray, "..."]
) -> np.ndarray:
    """The mask ``[S,A]``, read-only, with all actions in terminal states: an end is an end, whatever one does."""
    if available.ndim != 2 or terminal.shape != available.shape[:1]:
        return available  # whose shape is refused elsewhere
    mask = available | terminal[:, None]
    mask.flags.writeable = False
    return mask


def without_missing(tables: Tables, available: Bool[np.ndarray, "..."]) -> Tables:
    """What tables say of actions that are not available does not count."""
    next_state, probability, reward = tables
    shape = next_state.shape
    if available.shape != shape[:2]:
        raise ValueError(f"available: expected shape [S,A] = {shape[:2]}, got {available.shape}")
    if available.all() or probability.shape != shape or reward.shape[:3] != shape:
        return tables
    missing = ~available
    next_state, probability, reward = next_state.copy(), probability.copy(), reward.copy()
    next_state[missing] = np.nonzero(missing)[0][:, None]
    probability[missing], reward[missing] = 0.0, 0.0
    for table in (next_state, probability, reward):
        table.flags.writeable = False
    return Tables(next_state, probability, reward)


def scale_available(probability: np.ndarray, available: np.ndarray) -> np.ndarray:
    """Distributions of available actions, scaled to sum to 1 where the input was rounded."""
    if available.all():
        return scale_to_one(probability)
    table = probability.copy()
    table[available] = scale_to_one(probability[available])
    table.flags.writeable = False
    return table
