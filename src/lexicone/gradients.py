"""K gradients at once: from a function, to a Gram matrix, to one combined direction.

Parameters are any pytree. Gradients are the same pytree with a leading axis of length K in every leaf, so that
only `gram` and `combine` ever touch arrays of the size of the parameters.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

__all__ = ["combine", "gram", "values_and_gradients"]

_BLOCK = 8192


def values_and_gradients(
    fun: Callable[[Any], Float[Array, " K"]], x: PyTree
) -> tuple[Float[Array, " K"], PyTree]:
    """F(x) and ∇F₁…∇F_K from one forward pass; every leaf of the gradients is ``[K,…]``."""
    values, pull_back = jax.vjp(fun, x)
    (gradients,) = jax.vmap(pull_back)(jnp.eye(values.shape[0], dtype=values.dtype))
    return values, gradients


def gram(gradients: PyTree) -> Float[Array, "K K"]:
    """Inner products ``gᵢ·gⱼ``, summed over the leaves ``[K,…]``."""
    flat = [leaf.reshape(leaf.shape[0], -1) for leaf in jax.tree.leaves(gradients)]
    return jnp.sum(jnp.stack([_products(leaf) for leaf in flat]), axis=0)


def _products(rows: Float[Array, "K n"]) -> Float[Array, "K K"]:
    """``rows @ rows.T`` in blocks that stay in the cache: three times as fast as one product of long rows."""
    size, n = rows.shape
    blocks = n // _BLOCK
    rest = rows[:, blocks * _BLOCK :]

    def add(i: Any, total: Array) -> Array:
        block = jax.lax.dynamic_slice(rows, (0, i * _BLOCK), (size, _BLOCK))
        return total + block @ block.T

    if blocks == 0:
        return rest @ rest.T
    return jax.lax.fori_loop(0, blocks, add, rest @ rest.T)


def combine(weights: Float[Array, " K"], gradients: PyTree) -> PyTree:
    """``Σ wᵢ gᵢ``: the leaves lose their leading axis."""
    return jax.tree.map(lambda g: jnp.tensordot(weights.astype(g.dtype), g, axes=1), gradients)
