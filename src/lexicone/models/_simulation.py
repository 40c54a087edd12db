"""Many episodes of a stationary policy at once, in one compiled program; how often they meet thresholds."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from scipy import stats

from lexicone._base.arrays import as_numbers
from lexicone._base.checks import as_texts, check_flags, check_range, check_seed, check_whole
from lexicone._base.memory import check_memory
from lexicone.models._environment import (
    Environment,
    EpisodeState,
    Step,
    check_key,
    cumulative_shares,
    draw_index,
    environment,
    reset,
    transition,
)
from lexicone.models._mdp import MDP, check_model
from lexicone.order import Order, OrderLike, as_order, match_names

__all__ = ["Satisfaction", "Simulation", "Trajectories", "satisfaction", "simulate"]


class Trajectories(NamedTuple):
    """Episodes step by step, padded to the cap T: after its end an episode stands still."""

    states: Int[np.ndarray, "N T+1"]
    actions: Int[np.ndarray, "N T"]
    rewards: Float[np.ndarray, "N T K"]


class Simulation(NamedTuple):
    """N episodes."""

    returns: Float[np.ndarray, "N K"]
    """``Σ_t γ^t r_t``."""
    lengths: Int[np.ndarray, " N"]
    terminated: Bool[np.ndarray, " N"]
    truncated: Bool[np.ndarray, " N"]
    trajectories: Trajectories | None


class Satisfaction(NamedTuple):
    """How often episodes meet the thresholds, with Wilson confidence intervals ``(low, high)``."""

    rates: Float[np.ndarray, " K-1"]
    intervals: Float[np.ndarray, "K-1 2"]
    overall: float
    """The share of episodes that meet all thresholds."""
    overall_interval: tuple[float, float]
    episodes: int


def simulate(
    mdp: MDP,
    policy: Any,
    episodes: int = 100,
    *,
    seed: Any = 0,
    max_steps: int = 1000,
    gamma: float = 1.0,
    record: bool = False,
) -> Simulation:
    """Run many episodes of a stationary policy.

    Args:
        mdp: the model.
        policy: ``[S,A]`` probabilities or ``[S]`` actions.
        episodes: how many; episode i is the same however many others there are.
        seed: a whole number or a JAX key.
        max_steps: an episode that takes so many is cut off.
        gamma: the discount of the returns.
        record: also return the trajectories, ``max_steps`` long.

    All run at once in one compiled program, which is reused for other policies, seeds, discounts and caps.
    """
    check_model(mdp, gamma)
    check_whole(episodes=episodes, max_steps=max_steps)
    check_flags(record=record)
    if isinstance(seed, jax.Array):
        check_key("seed", seed)
    else:
        check_seed(seed)
    check_range("max_steps", max_steps, 1, 2**31 - 1, whole=True)
    kept = max_steps if record else 1
    needed = 8 * int(episodes) * (int(kept) + 4) * (mdp.num_objectives + 2)
    check_memory(
        "episodes", needed, f"{episodes} episodes" + " with every step kept" * bool(record)
    )
    actions = jnp.asarray(cumulative_shares(mdp.policy_table(policy)))
    key = seed if isinstance(seed, jax.Array) else jax.random.key(int(seed))
    keys = _episode_keys(key, episodes)
    env, discount = environment(mdp), jnp.asarray(gamma, dtype=actions.dtype)
    if record:
        final, (states, taken, rewards) = _record(env, actions, keys, discount, max_steps)
        first, middle = (np.asarray(s) for s in states)
        trajectories = Trajectories(
            np.concatenate([first[None], middle]).T,
            np.asarray(taken).T,
            np.moveaxis(np.asarray(rewards), 0, 1),
        )
    else:
        final, trajectories = _run(env, actions, keys, discount, jnp.asarray(max_steps)), None
    terminated = np.asarray(env.terminal[final.episode.state])
    return Simulation(
        np.asarray(final.total),
        np.asarray(final.episode.time),
        terminated,
        ~terminated,
        trajectories,
    )


def satisfaction(
    returns: Any,
    order: OrderLike,
    *,
    names: Sequence[str] | None = None,
    confidence: float = 0.95,
    tolerance: float = 1e-5,
) -> Satisfaction:
    """The shares of episodes with ``R_j ≥ τ_j``, one by one and together; ``returns[N,K]``.

    Args:
        returns: one row for each episode, columns in the order's sequence unless ``names`` says otherwise.
        order: the thresholds.
        names: of the columns, such as a model's ``objective_names``; they are matched with those of the order.
        confidence: of the intervals.
        tolerance: how far below a threshold still counts.

    Returns are sums in floating point, often of 32 bits, and land a little below a threshold that they
    reach: ten steps of −0.1 make −1.0000001. So a threshold counts as met from
    ``τ_j − tolerance·max(1, |τ_j|)`` on; 0 compares as it stands.
    """
    order = as_order(order)
    check_range("confidence", confidence, 0, 1, above=True, below=True)
    check_range("tolerance", tolerance, 0, 1, below=True)
    rows = as_numbers("returns", returns)
    if rows.ndim != 2 or len(rows) == 0:
        raise ValueError(f"returns: expected shape [episodes, {len(order)}], got {rows.shape}")
    if rows.shape[1] != len(order):
        raise ValueError(f"returns: expected shape [episodes, {len(order)}], got {rows.shape}")
    if names is not None:
        names = as_texts("names", names)
        if len(names) != rows.shape[1]:
            raise ValueError(f"names: returns have {rows.shape[1]} columns, got {len(names)} names")
        rows = rows[:, match_names(order, names, "names")]
    limits = np.array(order.thresholds)
    room = tolerance * np.where(np.isfinite(limits), np.maximum(1.0, np.abs(limits)), 0.0)
    if np.isnan(rows).any():
        raise ValueError("returns: contain NaN")
    met = np.asarray(Order(limits - room).satisfied(rows))
    every = np.asarray(met.all(axis=1))

    def interval(hits: np.ndarray) -> tuple[float, float]:
        test = stats.binomtest(int(hits.sum()), len(hits))
        low, high = test.proportion_ci(confidence, method="wilson")
        return float(low), float(high)

    return Satisfaction(
        met.mean(axis=0),
        np.array([interval(column) for column in met.T]).reshape(-1, 2),
        float(every.mean()),
        interval(every),
        len(rows),
    )


class _Running(NamedTuple):
    """A batch of episodes under way."""

    episode: EpisodeState
    total: Float[Array, "N K"]
    discount: Float[Array, ""]
    """γ^t; the same for all, as they started together."""


@partial(jax.jit, static_argnames="count")
def _episode_keys(key: Any, count: int) -> Any:
    return jax.vmap(partial(jax.random.fold_in, key))(jnp.arange(count))


def _begin(env: Environment, keys: Any) -> _Running:
    episode = jax.vmap(lambda key: reset(env, jax.random.fold_in(key, 0)))(keys)
    total = jnp.zeros((keys.shape[0], env.reward.shape[-1]), dtype=env.reward.dtype)
    return _Running(episode, total, jnp.ones((), dtype=env.reward.dtype))


def _advance(
    env: Environment, actions: Array, keys: Any, gamma: Array, limit: Any, running: _Running
) -> tuple[_Running, tuple[Array, Array]]:
    """One step of every episode that has not terminated; the others stand still."""

    def one(episode: EpisodeState, key: Any) -> tuple[Step, Array]:
        key = jax.random.fold_in(key, episode.time + 1)
        choice, move = jax.random.uniform(key, (2,), dtype=actions.dtype)
        action = draw_index(actions[episode.state], choice)
        return transition(env, episode, action, move, limit), action

    alive = ~env.terminal[running.episode.state]
    after, action = jax.vmap(one)(running.episode, keys)
    reward = jnp.where(alive[:, None], after.reward, 0.0)
    episode = jax.tree.map(partial(jnp.where, alive), after.episode, running.episode)
    total = running.total + running.discount * reward
    return _Running(episode, total, running.discount * gamma), (action, reward)


@jax.jit
def _run(env: Environment, actions: Array, keys: Any, gamma: Array, max_steps: Array) -> _Running:
    """Until every episode has ended."""

    def unfinished(carry: tuple[Array, _Running]) -> Array:
        time, running = carry
        return (time < max_steps) & ~env.terminal[running.episode.state].all()

    def body(carry: tuple[Array, _Running]) -> tuple[Array, _Running]:
        time, running = carry
        return time + 1, _advance(env, actions, keys, gamma, max_steps, running)[0]

    start = (jnp.zeros((), dtype=max_steps.dtype), _begin(env, keys))
    return jax.lax.while_loop(unfinished, body, start)[1]


@partial(jax.jit, static_argnames="max_steps")
def _record(
    env: Environment, actions: Array, keys: Any, gamma: Array, max_steps: int
) -> tuple[_Running, tuple[tuple[Array, Array], Array, Array]]:
    """The same, with all steps kept: ``states [T,N]``, ``actions [T,N]``, ``rewards [T,N,K]``."""

    def body(running: _Running, _: None) -> tuple[_Running, tuple[Array, Array, Array]]:
        after, (action, reward) = _advance(env, actions, keys, gamma, max_steps, running)
        return after, (after.episode.state, action, reward)

    start = _begin(env, keys)
    final, (states, taken, rewards) = jax.lax.scan(body, start, length=max_steps)
    return final, ((start.episode.state, states), taken, rewards)
