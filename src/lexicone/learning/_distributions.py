"""Policies over actions: choices by softmax, numbers by independent normals with a free deviation.

A policy is a network's ``output`` ``[…,outputs]`` and, for numbers, ``log_std`` ``[parts]``. Probabilities are those of
what was drawn: numbers are moved into their bounds only on the way to the environment (`Actions.to_world`).
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lexicone.learning._random_bits import uniforms
from lexicone.learning._spaces import Actions
from lexicone.models._environment import draw_index

__all__ = ["beyond", "draw", "entropy", "log_probability", "most_probable"]


def _split(actions: Actions, output: Array) -> list[Array]:
    """``ln π`` of every choice, ``[…,size]`` each."""
    places = np.cumsum(actions.sizes)[:-1].tolist()
    return [jax.nn.log_softmax(part, axis=-1) for part in jnp.split(output, places, axis=-1)]


def draw(
    actions: Actions, output: Float[Array, "M outputs"], log_std: Float[Array, " numbers"], key: Any
) -> Array:
    """One action for each row, ``[M,parts]``: whole numbers counted from 0, or numbers."""
    if not actions.discrete:
        noise = jax.random.normal(key, output.shape, output.dtype)
        return output + jnp.exp(log_std)[None] * noise
    draws = uniforms(key, 0, (len(actions.sizes), output.shape[0]), output.dtype)
    parts = []
    for part, number in zip(_split(actions, output), draws, strict=True):
        beyond = jnp.cumsum(jnp.exp(part), axis=-1).at[:, -1].set(2.0)
        parts.append(jax.vmap(draw_index)(beyond, number))
    return jnp.stack(parts, axis=-1).astype(jnp.int32)


def most_probable(actions: Actions, output: Float[Array, "M outputs"]) -> Array:
    """The mode of every row, ``[M,parts]``."""
    if not actions.discrete:
        return output
    return jnp.stack([jnp.argmax(p, axis=-1) for p in _split(actions, output)], -1).astype(
        jnp.int32
    )


def log_probability(
    actions: Actions,
    output: Float[Array, "M outputs"],
    log_std: Float[Array, " numbers"],
    taken: Array,
) -> Float[Array, " M"]:
    """``ln π`` of what was taken ``[M,parts]``; the density for numbers."""
    if not actions.discrete:
        off = (taken - output) * jnp.exp(-log_std)[None]
        constant = jnp.sum(log_std) + 0.5 * math.log(2 * math.pi) * output.shape[-1]
        return -0.5 * jnp.sum(off**2, axis=-1) - constant
    parts = [
        jnp.take_along_axis(part, taken[:, i : i + 1], axis=-1)[:, 0]
        for i, part in enumerate(_split(actions, output))
    ]
    return sum(parts[1:], parts[0])


def entropy(
    actions: Actions, output: Float[Array, "M outputs"], log_std: Float[Array, " numbers"]
) -> Float[Array, " M"]:
    """``−Σ π ln π`` of every row; for numbers ``Σ ln σ + ½ ln 2πe``, the same for all."""
    if not actions.discrete:
        one = jnp.sum(log_std + 0.5 * math.log(2 * math.pi * math.e))
        return jnp.broadcast_to(one, output.shape[:1])
    parts = [-jnp.sum(jnp.exp(part) * part, axis=-1) for part in _split(actions, output)]
    return sum(parts[1:], parts[0])


def beyond(actions: Actions, output: Float[Array, "M outputs"]) -> Float[Array, " M"]:
    """How far means are out of their bounds, squared; 0 for choices.

    Out there all that is drawn becomes the same action, so that no reward says where to go.
    """
    if actions.discrete:
        return jnp.zeros(output.shape[:1], output.dtype)
    low, high = (jnp.asarray(bound, output.dtype) for bound in actions.own_bounds)
    off = jnp.maximum(output - high[None], 0.0) + jnp.maximum(low[None] - output, 0.0)
    return jnp.sum(off**2, axis=-1)
