"""Policies as callers hand them over: probabilities of actions, or one action for each state."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from lexicone.models._arrays import SUM_TOLERANCE, as_array, scale_to_one

__all__ = ["as_policy"]


def as_policy(
    policy: Any,
    available: Bool[np.ndarray, "S A"],
    state_name: Callable[[int], str],
    action_name: Callable[[int], str],
) -> Float[np.ndarray, "S A"]:
    """Probabilities ``[S,A]``; a ValueError with the first state in which it is no policy of the model."""
    if hasattr(policy, "policy"):
        what = type(policy).__name__
        raise ValueError(
            f"policy: expected probabilities or actions, got a {what}; hand over its policy"
        )
    given = as_array("policy", policy)
    states, actions = available.shape
    if given.ndim == 1 and given.shape == (states,) and given.dtype.kind in "iu":
        bad = (given < 0) | (given >= actions)
        if bad.any():
            s = int(np.argmax(bad))
            raise ValueError(
                f"policy[{s}] ({state_name(s)}): is {given[s]}, "
                f"but actions are numbered from 0 to {actions - 1}"
            )
        table = np.eye(actions)[given]
    elif given.shape != (states, actions) or given.dtype.kind not in "fiub":
        raise ValueError(
            f"policy: expected probabilities of shape {(states, actions)} "
            f"or {states} action numbers, got {given.dtype} of shape {given.shape}"
        )
    else:
        table = given.astype(float)
        sums = table.sum(axis=1)
        bad = ~(table >= 0).all(axis=1) | ~(np.abs(sums - 1) <= SUM_TOLERANCE)
        if bad.any():
            s = int(np.argmax(bad))
            raise ValueError(
                f"policy[{s}] ({state_name(s)}): must be probabilities that sum to 1, "
                f"got {table[s].tolist()}"
            )
        table = scale_to_one(table)
    missing = (table > 0) & ~available
    if missing.any():
        s, a = (int(i) for i in np.argwhere(missing)[0])
        raise ValueError(
            f"policy[{s}] ({state_name(s)}): takes {action_name(a)}, which is not available there"
        )
    return table
