"""Policies of several runs that act in NumPy, beside environments that are Python code.

The random numbers of a whole segment are drawn in one compiled call; then all copies of all runs act by a few matrix
products per time step. For few runs that takes half as long as a compiled call per time step, for ten the same.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from lexicone.learning._normalise import FARTHEST, LEAST
from lexicone.learning._policy_file import NUMPY_ACTIVATIONS
from lexicone.learning._random_bits import uniforms
from lexicone.learning._spaces import Actions

__all__ = ["Acting", "draw_segment"]


@partial(jax.jit, static_argnames=("actions", "length", "copies", "dtype"))
def draw_segment(actions: Actions, keys: Any, length: int, copies: int, dtype: Any) -> Array:
    """What N copies of R runs draw T steps with, ``[T,R,N,parts]``: uniforms for choices, normals for numbers."""
    shape = (length, copies, actions.parts)

    def one(key: Any) -> Array:
        if actions.discrete:
            return uniforms(key, 0, shape, dtype)
        return jax.random.normal(key, shape, dtype)

    return jnp.moveaxis(jax.vmap(one)(keys), 0, 1)


class Acting:
    """The policies of R runs, as they are during one segment."""

    def __init__(self, actions: Actions, agents: Any) -> None:
        """``agents`` is an `Agent` whose leaves are ``[R,…]``."""
        self.sizes = actions.sizes
        policy = agents.policy
        self.layers = [
            (np.swapaxes(np.asarray(layer.weight), 1, 2), np.asarray(layer.bias)[:, None])
            for layer in policy.layers
        ]
        self.activation = NUMPY_ACTIVATIONS[policy.activation]
        self.mean = np.asarray(agents.seen.mean)[:, None]
        self.unit = (
            1 / np.sqrt(np.asarray(agents.seen.square) + self.mean.dtype.type(LEAST))[:, None]
        )
        self.deviation = np.exp(np.asarray(agents.log_std))[:, None]

    def outputs(self, rows: np.ndarray) -> np.ndarray:
        """Logits of choices, or means of numbers: ``[R,N,D] -> [R,N,outputs]``."""
        rows = (rows - self.mean) * self.unit
        np.maximum(np.minimum(rows, FARTHEST, out=rows), -FARTHEST, out=rows)
        last = len(self.layers) - 1
        for i, (weight, bias) in enumerate(self.layers):
            rows = rows @ weight
            rows += bias
            rows = self.activation(rows) if i < last else rows
        return rows

    def __call__(self, rows: np.ndarray, drawn: np.ndarray) -> np.ndarray:
        """What all copies do at one time, ``[R,N,parts]``; ``drawn`` are the numbers of `draw_segment`."""
        output = self.outputs(rows)
        if not self.sizes:
            return output + self.deviation * drawn
        parts, begin = [], 0
        for i, size in enumerate(self.sizes):
            part = output[..., begin : begin + size]
            share = np.exp(part - part.max(axis=-1, keepdims=True))
            beyond = np.cumsum(share, axis=-1)
            mark = drawn[..., i, None] * beyond[..., -1:]
            parts.append(np.sum(mark >= beyond[..., :-1], axis=-1, dtype=np.int32))
            begin += size
        return np.stack(parts, axis=-1)
