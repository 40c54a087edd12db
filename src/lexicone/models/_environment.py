"""A model as a compiled environment: pure functions `reset` and `step` for ``jit``, ``vmap`` and ``scan``.

An episode ends by *termination* (a terminal state is reached) or by *truncation* (a cap on its
length). They are kept apart: after a truncation the state still has a value.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from lexicone._base.checks import check_type, is_number
from lexicone.models._mdp import MDP, check_model

__all__ = [
    "Environment",
    "EpisodeState",
    "Step",
    "action_bounds",
    "check_key",
    "cumulative_shares",
    "draw_index",
    "environment",
    "reset",
    "step",
    "transition",
]

_BEYOND_ALL_DRAWS = 2.0  # a cumulative probability that no draw from [0, 1) exceeds
_LARGEST_COMPARED = 64  # entries that are compared all at once; more are searched


class Environment(NamedTuple):
    """The tables of an `MDP` on the device, ready for sampling: a pytree that may be traced."""

    next_state: Int[Array, "S A B"]
    cumulative: Float[Array, "S A B"]
    reward: Float[Array, "S A B K"]
    start: Float[Array, " S"]
    terminal: Bool[Array, " S"]
    available: Bool[Array, "S A"] | None = None
    """None where every action is, everywhere."""


class EpisodeState(NamedTuple):
    """Where an episode is: its state and how many steps it took."""

    state: Int[Array, ""]
    time: Int[Array, ""]


class Step(NamedTuple):
    """What one action leads to."""

    episode: EpisodeState
    reward: Float[Array, " K"]
    terminated: Bool[Array, ""]
    """A terminal state is reached."""
    truncated: Bool[Array, ""]
    """The cap is reached, and no terminal state."""


def environment(mdp: MDP) -> Environment:
    """Put an `MDP` on the device; a ValueError if its precision cannot hold the rewards."""
    check_model(mdp)
    dtype = jnp.zeros(()).dtype
    largest = np.abs(mdp.reward).max(axis=(0, 1, 2))
    if (largest > jnp.finfo(dtype).max).any():
        k = int(np.argmax(largest))
        raise ValueError(
            f"mdp: pays up to {largest[k]:.3g} of {mdp.objective_labels[k]}; {jnp.finfo(dtype).bits} bits hold at most "
            f"{jnp.finfo(dtype).max:.3g} (JAX_ENABLE_X64=1 computes with 64)"
        )
    return Environment(
        jnp.asarray(mdp.next_state),
        jnp.asarray(cumulative_shares(mdp.probability)),
        jnp.asarray(mdp.reward),
        jnp.asarray(cumulative_shares(mdp.initial)),
        jnp.asarray(mdp.terminal),
        None if mdp.available.all() else jnp.asarray(mdp.available),
    )


def reset(env: Environment, key: Any) -> EpisodeState:
    """A new episode; its first state is drawn from the start distribution."""
    check_type("env", env, Environment, "an Environment")
    check_key("key", key)
    draw = jax.random.uniform(key, dtype=env.start.dtype)
    return EpisodeState(draw_index(env.start, draw), jnp.zeros((), dtype=jnp.int32))


def step(env: Environment, episode: EpisodeState, action: Any, key: Any, max_steps: Any) -> Step:
    """Take an action. A pure function: use it under ``jit``, ``vmap`` and ``scan``.

    Args:
        env: the compiled model.
        episode: where it stands.
        action: a number below A.
        key: a JAX key, for the successor.
        max_steps: caps the episode.

    In a terminal state nothing moves and nothing is paid.
    """
    check_type("env", env, Environment, "an Environment")
    check_type("episode", episode, EpisodeState, "an EpisodeState")
    check_key("key", key)
    for name, number in (("action", action), ("max_steps", max_steps)):
        if not is_number(number) or jnp.result_type(number).kind not in "iu":
            raise ValueError(f"{name}: must be a whole number, got {number!r}")
        if isinstance(number, int) and not 0 <= number < 2**31:
            raise ValueError(f"{name}: must be at least 0 and below 2³¹, got {number}")
    draw = jax.random.uniform(key, dtype=env.cumulative.dtype)
    return transition(env, episode, action, draw, max_steps)


def transition(
    env: Environment, episode: EpisodeState, action: Any, draw: Array, limit: Any
) -> Step:
    """A step whose randomness is a number from [0, 1)."""
    branch = draw_index(env.cumulative[episode.state, action], draw)
    state = env.next_state[episode.state, action, branch]
    reward = env.reward[episode.state, action, branch]
    time = episode.time + 1
    terminated = env.terminal[state]
    return Step(EpisodeState(state, time), reward, terminated, ~terminated & (time >= limit))


def check_key(name: str, key: Any) -> None:
    """A ValueError unless it is one key of ``jax.random``, new or old style; it may be traced."""
    if isinstance(key, jax.Array):
        if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) and key.shape == ():
            return
        if key.dtype == jnp.uint32 and key.shape == (2,):
            return
    raise ValueError(f"{name}: expected a key of jax.random, got {key!r}")


def cumulative_shares(probability: np.ndarray) -> np.ndarray:
    """Cumulative sums on the last axis; from the last possible entry on beyond every draw."""
    last = probability.shape[-1] - 1 - np.argmax(probability[..., ::-1] > 0, axis=-1)
    beyond = np.arange(probability.shape[-1]) >= last[..., None]
    return np.where(beyond, _BEYOND_ALL_DRAWS, np.cumsum(probability, axis=-1))


def action_bounds(
    shares: Float[Array, "... A"], available: Bool[Array, "... A"] | None
) -> Float[Array, "... A"]:
    """Cumulative probabilities of actions, for `draw_index`; from the last available one on beyond every draw."""
    below = jnp.cumsum(shares, axis=-1)
    if available is None:
        return below.at[..., -1].set(_BEYOND_ALL_DRAWS)
    from_here = jnp.cumsum(available[..., ::-1], axis=-1)[..., ::-1]
    return jnp.where(from_here - available == 0, _BEYOND_ALL_DRAWS, below)


def draw_index(cumulative: Array, draw: Array) -> Array:
    """The first entry whose cumulative probability exceeds the draw: never one of probability 0."""
    if cumulative.shape[0] == 1:
        return jnp.zeros((), dtype=jnp.int32)
    if cumulative.shape[0] <= _LARGEST_COMPARED:
        return jnp.sum(draw >= cumulative, dtype=jnp.int32)
    return jnp.searchsorted(cumulative, draw, side="right").astype(jnp.int32)
