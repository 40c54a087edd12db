"""The best of the allowed actions by one objective's values: NumPy or JAX arrays with any leading axes."""

import math
from typing import Any

from jaxtyping import Bool, Float

from lexicone._base.arrays import namespace

__all__ = ["best_allowed", "largest_allowed", "tolerance_around"]


def largest_allowed(
    values: Float[Any, "... A"], allowed: Bool[Any, "... A"]
) -> Float[Any, "... 1"]:
    """The maximum over allowed actions, with the axis kept; −∞ if none is."""
    xp = namespace(values)
    return xp.max(xp.where(allowed, values, -math.inf), axis=-1, keepdims=True)


def best_allowed(
    values: Float[Any, "... A"], allowed: Bool[Any, "... A"], tolerance: Any
) -> Bool[Any, "... A"]:
    """The allowed actions with the largest value, up to the tolerance: a mask."""
    best = largest_allowed(values, allowed)
    return allowed & (values >= best - tolerance_around(best, tolerance))


def tolerance_around(value: Float[Any, "..."], tolerance: Any) -> Float[Any, "..."]:
    """The tolerance around a value, relative above 1; around an infinite one it is as it is."""
    xp = namespace(value)
    size = xp.where(xp.isfinite(value), xp.abs(value), 1.0)
    return tolerance * xp.maximum(size, xp.ones_like(size))
