"""States of worlds in JAX may hold random keys, which files cannot: they are kept as numbers."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

__all__ = ["with_keys", "without_keys"]


class _KeyData(NamedTuple):
    """A ``jax.random`` key as numbers, which a file can hold."""

    data: Any


def without_keys(state: Any) -> Any:
    """The state with keys as numbers."""
    return jax.tree.map(
        lambda leaf: _KeyData(jax.random.key_data(leaf)) if _is_key(leaf) else leaf, state
    )


def with_keys(state: Any) -> Any:
    """The state with numbers of keys as keys again."""
    return jax.tree.map(
        lambda leaf: jax.random.wrap_key_data(leaf.data) if isinstance(leaf, _KeyData) else leaf,
        state,
        is_leaf=lambda leaf: isinstance(leaf, _KeyData),
    )


def _is_key(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
