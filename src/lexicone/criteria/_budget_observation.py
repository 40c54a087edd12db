"""Budgets in the observation of any environment that is a pair of pure JAX functions.

For tasks that are not tables: a policy network sees the observation and ``c_j = Σ r_j − τ_j`` of every objective with a
finite threshold (with a discount, in today's units: ``c_j ← (c_j + r_j)/γ``), and can learn what a stationary policy
cannot. Rewards can be those of the environment, or *clipped*: over an episode they then add up to ``min(R_j, τ_j)``,
up to the constant ``min(0, τ_j)``, so that expected totals say what episodes do.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from lexicone._base.checks import (
    check_function,
    check_gamma,
    check_kind,
    check_range,
    check_type,
)
from lexicone.models._environment import (
    Environment,
    EpisodeState,
    reset as table_reset,
    step as table_step,
)
from lexicone.order import OrderLike, as_order

__all__ = ["Budgeted", "Transition", "from_table", "with_budgets"]


class Transition(NamedTuple):
    """What a step of an environment returns."""

    state: Any
    observation: Any
    reward: Float[Array, " K"]
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]


class Budgeted(NamedTuple):
    """The state of an environment, and the budgets left."""

    inner: Any
    budget: Float[Array, " J"]


Reset = Callable[[Any], tuple[Any, Any]]
"""``reset(key) -> state, observation``."""
Step = Callable[[Any, Any, Any], Transition]
"""``step(state, action, key) -> Transition``."""


def with_budgets(
    reset: Reset,
    step: Step,
    order: OrderLike,
    *,
    gamma: float = 1.0,
    rewards: Literal["original", "clipped"] = "original",
) -> tuple[Reset, Step]:
    """The same environment with flat observations ``[…, c_1, …, c_J]``; both functions stay pure.

    Args:
        reset: ``reset(key) -> state, observation``.
        step: ``step(state, action, key) -> Transition``.
        order: the thresholds; those of ±∞ need no budget.
        gamma: the discount of the returns that thresholds are compared with.
        rewards: ``"clipped"`` pays the change of ``min(Σ r_j, τ_j)`` instead of r_j.

    Use them under ``jit``, ``vmap`` and ``scan``. The first step checks that as many rewards are paid as the order has
    objectives.

    Args:
        reset: ``reset(key) -> state, observation``; observations must be arrays: they are raveled.
        step: ``step(state, action, key) -> Transition``.
        order: the thresholds; those of ±∞ need no budget.
        gamma: the discount of the returns that thresholds are compared with.
        rewards: ``"original"``, or ``"clipped"``, which add up to ``min(R_j, τ_j)`` over an episode.
    """
    check_function("reset", reset)
    check_function("step", step)
    check_gamma(gamma, above=True)
    check_kind("rewards", rewards, ("original", "clipped"))
    order = as_order(order).at_gamma(gamma)
    limits = np.array(order.thresholds, dtype=float)
    tracked = np.flatnonzero(np.isfinite(limits))

    def joined(observation: Any, budget: Array) -> Array:
        return jnp.concatenate([jnp.ravel(observation).astype(budget.dtype), budget])

    def begin(key: Any) -> tuple[Budgeted, Array]:
        begun = reset(key)
        if not isinstance(begun, tuple) or len(begun) != 2:
            raise ValueError(f"reset: must return a state and an observation, got {begun!r}")
        state, observation = begun
        budget = jnp.asarray(-limits[tracked])
        return Budgeted(state, budget), joined(observation, budget)

    def advance(state: Budgeted, action: Any, key: Any) -> Transition:
        after = step(state.inner, action, key)
        check_type("step", after, Transition, "a function that returns a Transition")
        if after.reward.shape != (len(order),):
            raise ValueError(
                f"order: has {len(order)} objectives ({len(order) - 1} thresholds + 1), "
                f"but a step pays rewards of shape {after.reward.shape}"
            )
        spent = state.budget + after.reward[tracked].astype(state.budget.dtype)
        reward = after.reward
        if rewards == "clipped":
            change = jnp.minimum(spent, 0.0) - jnp.minimum(state.budget, 0.0)
            reward = reward.astype(jnp.result_type(reward, jnp.float32))
            reward = reward.at[tracked].set(change.astype(reward.dtype))
        budget = spent / gamma
        return after._replace(
            state=Budgeted(after.state, budget),
            observation=joined(after.observation, budget),
            reward=reward,
        )

    return begin, advance


def from_table(env: Environment, max_steps: int) -> tuple[Reset, Step]:
    """The compiled environment of a model as such a pair; observations are one-hot states."""
    check_type("env", env, Environment, "an Environment")
    check_range("max_steps", max_steps, 1, 2**31 - 1, whole=True)

    def observe(episode: EpisodeState) -> Array:
        states = jnp.arange(env.terminal.shape[0])
        return (states == episode.state).astype(env.reward.dtype)

    def begin(key: Any) -> tuple[EpisodeState, Array]:
        episode = table_reset(env, key)
        return episode, observe(episode)

    def advance(state: EpisodeState, action: Any, key: Any) -> Transition:
        after = table_step(env, state, action, key, max_steps)
        return Transition(
            after.episode, observe(after.episode), after.reward, after.terminated, after.truncated
        )

    return begin, advance
