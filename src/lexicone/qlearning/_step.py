"""One step of thresholded lexicographic Q-learning from samples: act, observe, move the table towards the target.

After a step (s, a, r, s') the table moves towards the rule's target,

    u(s,a) ← u(s,a) + α·(r + γ·v(s') − u(s,a)),    v(s') = 0 if s' is terminal.

An episode that is only cut off is no such end: there v(s') counts.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.extend.random import threefry_2x32
from jax.typing import ArrayLike, DTypeLike
from jaxtyping import Array, Bool, Float, Int, UInt32

from lexicone.models._environment import Environment, EpisodeState, draw_index, transition
from lexicone.qlearning._exploration import ExplorationKind, RateKind, ScheduleShape
from lexicone.qlearning._rules import (
    Rule,
    RuleNumbers,
    acceptable,
    decision_values,
    greedy,
    successor_values,
)

__all__ = [
    "QState",
    "StaticSettings",
    "StepInfo",
    "TracedSettings",
    "init",
    "schedule_value",
    "step",
    "uniform_draws",
]


class StaticSettings(NamedTuple):
    """What the program is compiled for."""

    rule: Rule
    """Its `Rule.structure`."""
    learning: RateKind
    explores: ExplorationKind
    exploration: ScheduleShape


class TracedSettings(NamedTuple):
    """What may change without compiling again."""

    env: Environment
    numbers: RuleNumbers
    gamma: Float[Array, ""]
    max_episode_steps: Int[Array, ""]
    learning: Float[Array, "3"]
    """Start, end, and the steps in between; with "visits" start, half and a number that is not used."""
    exploration: Float[Array, "3"]
    """Start, end, and the steps in between."""


class QState(NamedTuple):
    """One run under way."""

    table: Float[Array, "S A K"]
    visits: Int[Array, "S A"]
    episode: EpisodeState
    ended: Bool[Array, ""]
    """The episode is over: the next step begins a new one."""
    action: Int[Array, ""]
    """The action that comes next; used by on-policy updates only."""
    total: Float[Array, " K"]
    """The episode's discounted return so far."""
    discount: Float[Array, ""]


class StepInfo(NamedTuple):
    """One step: where, what, and how the episode stands."""

    state: Int[Array, ""]
    action: Int[Array, ""]
    reward: Float[Array, " K"]
    next_state: Int[Array, ""]
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]
    total: Float[Array, " K"]


def init(table: Array) -> QState:
    """A run before its first step."""
    zero = jnp.zeros((), jnp.int32)
    return QState(
        table,
        jnp.zeros(table.shape[:2], jnp.int32),
        EpisodeState(zero, zero),
        jnp.ones((), bool),
        zero,
        jnp.zeros(table.shape[2], table.dtype),
        jnp.ones((), table.dtype),
    )


def step(
    static: StaticSettings,
    traced: TracedSettings,
    state: QState,
    time: ArrayLike,
    draws: Float[Array, "4"],
) -> tuple[QState, StepInfo]:
    """Begin a new episode if one has ended, act, and learn from it.

    ``draws`` are from [0, 1): for the start, the action, the successor, and the action after that.
    """
    env, rule, numbers, table = traced.env, static.rule, traced.numbers, state.table
    start = EpisodeState(draw_index(env.start, draws[0]), jnp.zeros((), jnp.int32))
    episode = jax.tree.map(partial(jnp.where, state.ended), start, state.episode)
    s = episode.state
    a = _draw_action(static, traced, table, s, time, draws[1])
    if rule.update.on_policy:
        a = jnp.where(state.ended, a, state.action)
    after = transition(env, episode, a, draws[2], traced.max_episode_steps)

    following = after.episode.state
    row, allowed = table[following], _allowed(env, following)
    q = decision_values(rule, numbers, row)
    action = followed = None
    if rule.update.on_policy:
        action = _draw_action(static, traced, table, following, time + 1, draws[3])
        followed = jax.nn.one_hot(action, row.shape[0], dtype=row.dtype)
    worth = successor_values(rule, numbers, q, acceptable(rule, numbers, q, allowed), followed)
    target = after.reward + traced.gamma * jnp.where(after.terminated, 0.0, worth)
    rate = _learning_rate(static, traced, time, state.visits[s, a])
    total = jnp.where(state.ended, 0.0, state.total)
    discount = jnp.where(state.ended, 1.0, state.discount)
    total = total + discount * after.reward
    return QState(
        table.at[s, a].add(rate * (target - table[s, a])),
        state.visits.at[s, a].add(1),
        after.episode,
        after.terminated | after.truncated,
        state.action if action is None else action,
        total,
        discount * traced.gamma,
    ), StepInfo(s, a, after.reward, after.episode.state, after.terminated, after.truncated, total)


def uniform_draws(
    key: UInt32[Array, "2"], times: Int[Array, " T"], dtype: DTypeLike
) -> Float[Array, "T 4"]:
    """Four numbers from [0, 1) for each time; a counter-based generator, whatever else is drawn.

    ``key`` is two 32-bit numbers: the seed and the number of the run.
    """
    count = times.shape[0]
    first = jnp.repeat(times.astype(jnp.uint32), 2)
    second = jnp.tile(jnp.arange(2, dtype=jnp.uint32), count)
    bits = threefry_2x32(key, jnp.concatenate([first, second])).reshape(2, count, 2)
    return (bits.transpose(1, 0, 2).reshape(count, 4) >> 8).astype(dtype) * 2.0**-24


def _draw_action(
    static: StaticSettings,
    traced: TracedSettings,
    table: Float[Array, "S A K"],
    state: Int[Array, ""],
    time: ArrayLike,
    draw: Array,
) -> Int[Array, ""]:
    """The action in a state."""
    rule, numbers = static.rule, traced.numbers
    row, allowed = table[state], _allowed(traced.env, state)
    count = row.shape[0]
    level = schedule_value(static.exploration, traced.exploration, time)
    q = decision_values(rule, numbers, row)
    if static.explores == "epsilon_greedy":
        choice = greedy(rule, numbers, q, acceptable(rule, numbers, q, allowed).strict)
        even = 1 / count if allowed is None else allowed / jnp.sum(allowed)
        weight = (1 - level) * choice + level * even
    else:
        one = jnp.eye(count, dtype=bool)
        pairs = one[:, None, :] | one[None, :, :]
        rows = jnp.broadcast_to(q, (count, count, *q.shape))
        won = greedy(rule, numbers, rows, acceptable(rule, numbers, rows, pairs).strict)
        wins = jnp.where(one, 0.0, jnp.einsum("aba->ab", won))
        score = wins.sum(axis=1) / max(1, count - 1) / level
        weight = jax.nn.softmax(score if allowed is None else jnp.where(allowed, score, -jnp.inf))
    below = jnp.cumsum(weight)
    return jnp.minimum(jnp.sum(draw * below[-1] >= below, dtype=jnp.int32), count - 1)


def _allowed(env: Environment, state: Int[Array, ""]) -> Bool[Array, " A"] | None:
    return None if env.available is None else env.available[state]


def _learning_rate(
    static: StaticSettings, traced: TracedSettings, time: ArrayLike, visits: Array
) -> Float[Array, ""]:
    if static.learning != "visits":
        return schedule_value(static.learning, traced.learning, time)
    start, half, _ = traced.learning
    return start * half / (half + visits)


def schedule_value(
    shape: ScheduleShape, numbers: Float[Array, "3"], time: ArrayLike
) -> Float[Array, ""]:
    """Where a schedule is at a time; ``numbers`` are its start, its end, and the steps in between."""
    start, end, over = numbers
    share = jnp.minimum(time / over, 1.0)
    if shape == "geometric":
        return start * (end / start) ** share
    return start + (end - start) * share
