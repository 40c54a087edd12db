"""Running scales: of observations, so that networks see numbers near 1, and of returns, the critics' unit."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

__all__ = ["FARTHEST", "LEAST", "Moments", "no_moments", "note", "scale_of", "standardise"]

FARTHEST = 10.0
"""Deviations from the mean beyond which networks see no difference."""
LEAST = 1e-8
"""Variances below it are taken for rounding."""


class Moments(NamedTuple):
    """What was seen so far of each of D numbers."""

    weight: Float[Array, ""]
    """How many rows there were, less what was forgotten."""
    mean: Float[Array, " D"]
    square: Float[Array, " D"]
    """The mean squared distance from the mean."""


def no_moments(size: int, dtype: Any) -> Moments:
    """Before anything was seen: networks then see numbers as they are."""
    return Moments(jnp.zeros((), dtype), jnp.zeros(size, dtype), jnp.ones(size, dtype))


def note(before: Moments, rows: Float[Array, "T N D"], taken: Bool[Array, "T N"]) -> Moments:
    """Take note of more rows, of those that are ``taken`` (Chan, Golub & LeVeque 1979)."""
    weight = taken[..., None].astype(rows.dtype)
    count = jnp.sum(weight)
    mean = jnp.sum(rows * weight, axis=(0, 1)) / jnp.maximum(count, 1.0)
    off = (rows - mean[None, None]) * weight
    square = jnp.sum(off**2, axis=(0, 1)) / jnp.maximum(count, 1.0)
    total = before.weight + count
    share = count / jnp.maximum(total, 1.0)
    step = mean - before.mean
    spread = (1 - share) * before.square + share * square + share * (1 - share) * step**2
    return Moments(total, before.mean + share * step, spread)


def standardise(moments: Moments, rows: Float[Array, "*rows D"]) -> Float[Array, "*rows D"]:
    """``(x − mean)/deviation``, at most ten deviations away. A number that never changes stays 0."""
    shape = (1,) * (rows.ndim - 1) + moments.mean.shape
    deviation = jnp.sqrt(moments.square + LEAST).reshape(shape)
    return jnp.clip((rows - moments.mean.reshape(shape)) / deviation, -FARTHEST, FARTHEST)


def scale_of(moments: Moments) -> Float[Array, " D"]:
    """The root mean square of each number; 1 where all were 0, or nothing was seen."""
    size = jnp.sqrt(moments.square + moments.mean**2)
    return jnp.where((moments.weight > 0) & (size > LEAST), size, 1.0)
