"""Random numbers for compiled loops: Threefry (Salmon et al. 2011), written out so that it becomes one small kernel.

``jax.random`` on a CPU runs Threefry as a loop and uses a part of its bits, which costs more than all else in a loop of
short steps. These are the same bits as ``jax.extend.random.threefry_2x32`` gives. They are counted by position and
stream: numbers of different streams, or of different keys, are independent.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, UInt

__all__ = ["random_bits", "shuffled", "threefry", "uniforms"]

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_OFFSETS = 2**30  # the stream they come from
_ROUNDS = 4  # of a shuffle, times the number of bits


def threefry(key: UInt[Array, "2"], first: Array, second: Array) -> tuple[Array, Array]:
    """Threefry-2×32 with 20 rounds: the two words of every counter ``(first, second)``, enciphered."""
    keys = (key[0], key[1], key[0] ^ key[1] ^ jnp.uint32(_PARITY))
    first, second = first + keys[0], second + keys[1]
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            first = first + second
            second = (second << rotation) | (second >> (32 - rotation))
            second = first ^ second
        first = first + keys[(group + 1) % 3]
        second = second + keys[(group + 2) % 3] + jnp.uint32(group + 1)
    return first, second


def random_bits(key: Any, stream: Any, count: int) -> UInt[Array, " count"]:
    """``count`` times 32 random bits. ``key`` is a key of ``jax.random.key``, of the usual kind."""
    counter = jnp.arange((count + 1) // 2, dtype=jnp.uint32)
    label = jnp.broadcast_to(jnp.asarray(stream).astype(jnp.uint32), counter.shape)
    return jnp.concatenate(threefry(jax.random.key_data(key), counter, label))[:count]


def uniforms(key: Any, stream: Any, shape: tuple[int, ...], dtype: Any = float) -> Array:
    """Numbers from [0, 1), multiples of 2⁻²⁴."""
    bits = random_bits(key, stream, math.prod(shape))
    return ((bits >> 8).astype(dtype) * 2.0**-24).reshape(shape)


def shuffled(key: Any, count: int) -> Int[Array, " count"]:
    """The numbers 0 to ``count``−1 in another order: swap-or-not (Hoang, Morris & Rogaway 2012).

    In every round each number has a partner, ``offset − x`` modulo ``count``, with which it changes places or not by a
    bit that both share. No sorting, which on a CPU takes longer, and whose threads may wait for each other for ever.
    """
    rounds = _ROUNDS * max(1, (count - 1).bit_length())
    offsets = (random_bits(key, _OFFSETS, rounds) % jnp.uint32(count)).astype(jnp.int32)
    data = jax.random.key_data(key)

    def swap(i: Any, x: Array) -> Array:
        partner = offsets[i] - x
        partner = jnp.where(partner < 0, partner + count, partner)
        shared = jnp.maximum(x, partner).astype(jnp.uint32)
        label = jnp.broadcast_to(jnp.asarray(i, jnp.uint32), shared.shape)
        return jnp.where(threefry(data, shared, label)[0] & 1 == 1, partner, x)

    return jax.lax.fori_loop(0, rounds, swap, jnp.arange(count, dtype=jnp.int32))
