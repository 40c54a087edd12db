"""Thresholded lexicographic Q-learning from samples: any `Rule`, the whole run one compiled program.

Steps are scanned, seeds vmapped. The rule's form and the schedules' shapes are compiled in; thresholds, slacks, the
buffer, rates, γ and the cap on episodes are traced, so other numbers reuse the program.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple, SupportsFloat

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt32

from lexicone._base.checks import check_range, check_seed
from lexicone._base.memory import check_memory
from lexicone.models._environment import environment
from lexicone.models._evaluation import evaluate
from lexicone.models._mdp import MDP
from lexicone.order import Order, OrderLike
from lexicone.qlearning._exploration import EpsilonGreedy, Schedule, Softmax, Visits, as_schedule
from lexicone.qlearning._iterate import check_task, start_table
from lexicone.qlearning._rules import Rule, RuleNumbers, acceptable, decision_values, greedy
from lexicone.qlearning._step import (
    QState,
    StaticSettings,
    TracedSettings,
    init,
    step,
    uniform_draws,
)

__all__ = ["History", "Learned", "tlq"]

_EXPLORATION = EpsilonGreedy()


class History(NamedTuple):
    """What happened, at L times of the run, in N runs."""

    steps: Int[np.ndarray, " L"]
    returns: Float[np.ndarray, "N L K"]
    """The mean discounted return of the episodes that ended since the time before; NaN if none did."""
    episodes: Int[np.ndarray, "N L"]
    terminated: Int[np.ndarray, "N L"]
    """How many of these episodes ended in a terminal state; the others were cut off."""
    promise: Float[np.ndarray, "N L K"]
    """What the table says that the greedy policy is worth at the start."""
    changed: Float[np.ndarray, "N L"]
    """The share of states in which the greedy policy is not the one of the time before; at first 1."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Learned:
    """The result of `tlq`: N runs that differ in their seed."""

    q: Float[np.ndarray, "N S A K"]
    """The values as decisions see them (clipped ones clipped)."""
    policy: Float[np.ndarray, "N S A"]
    """The rule's choice from ``q``, without exploration."""
    visits: Int[np.ndarray, "N S A"]
    history: History
    mdp: MDP
    order: Order
    gamma: float
    rule: Rule

    @cached_property
    def values(self) -> Float[np.ndarray, "N K"]:
        """What each run's policy is really worth from the start, by `evaluate`."""
        return np.array([evaluate(self.mdp, policy, self.gamma) for policy in self.policy])


def tlq(
    mdp: MDP,
    order: OrderLike,
    rule: Rule | str = "gabor",
    *,
    gamma: float = 1.0,
    seeds: int = 10,
    steps: int = 100_000,
    learning_rate: Schedule | Visits | float = 0.1,
    exploration: EpsilonGreedy | Softmax = _EXPLORATION,
    max_episode_steps: int = 1000,
    initial: SupportsFloat | Sequence[float] = 0.0,
    log_points: int = 100,
    seed: int = 0,
) -> Learned:
    """Learn with a rule in independent runs; run i is the same however many others there are.

    Args:
        mdp: the model that is sampled.
        order: the thresholds; names are matched with the model's, and results have the order's sequence.
        rule: a `Rule`, or the name of a preset. What it accepts is decided up to its ``tie_tolerance``; values that
            are still being learned are rarely equal to a limit, so a rule with thresholds needs a larger one here
            than in `tlq_iterate`.
        gamma: the discount.
        seeds: how many runs.
        steps: of each run.
        learning_rate: α: a number, a `Schedule` over the run, or `Visits`.
        exploration: `EpsilonGreedy` or `Softmax`.
        max_episode_steps: a longer episode is cut off; its last state still counts with its value.
        initial: fills the table, as in `tlq_iterate`.
        log_points: how many times of the run the history tells of.
        seed: of all runs, at least 0 and below 2³².
    """
    mdp, order, rule, numbers = check_task(mdp, order, rule, gamma)
    check_range("seeds", seeds, 1, whole=True)
    check_range("steps", steps, 1, whole=True)
    check_range("max_episode_steps", max_episode_steps, 1, whole=True)
    check_range("log_points", log_points, 1, whole=True)
    check_seed(seed)
    seeds, steps, log_points = int(seeds), int(steps), int(log_points)
    if not isinstance(exploration, EpsilonGreedy | Softmax):
        raise ValueError(f"exploration: expected EpsilonGreedy or Softmax, got {exploration!r}")
    static, learning, exploring = _settings_of(rule, learning_rate, exploration, steps)
    tables = 8 * int(seeds) * mdp.num_states * mdp.num_actions * (mdp.num_objectives + 1)
    check_memory("seeds", 2 * tables, f"the tables of {seeds} runs")
    env = environment(mdp)
    dtype = env.reward.dtype
    traced = TracedSettings(
        env,
        RuleNumbers(*(jnp.asarray(number, dtype) for number in numbers)),
        jnp.asarray(gamma, dtype),
        jnp.asarray(max_episode_steps, jnp.int32),
        jnp.asarray(learning, dtype),
        jnp.asarray(exploring, dtype),
    )
    table = jnp.asarray(start_table(mdp, initial), dtype)
    runs = np.arange(seeds, dtype=np.uint32)
    keys = jnp.asarray(np.stack([np.full_like(runs, seed), runs], axis=1))
    points = min(log_points, steps)
    length, rest = divmod(steps, points)
    final, policy, log = _learn(
        static, traced, jnp.asarray(mdp.initial, dtype), table, keys, points, length, rest
    )
    times = [length * (i + 1) for i in range(points)]
    if rest:
        times.append(steps)
    return Learned(
        q=np.asarray(decision_values(static.rule, traced.numbers, final.table)),
        policy=np.asarray(policy),
        visits=np.asarray(final.visits),
        history=History(np.array(times), *(np.asarray(part) for part in log)),
        mdp=mdp,
        order=order,
        gamma=gamma,
        rule=rule,
    )


@partial(jax.jit, static_argnames=("static", "points", "length", "rest"))
def _learn(
    static: StaticSettings,
    traced: TracedSettings,
    starts: Float[Array, " S"],
    table: Float[Array, "S A K"],
    keys: UInt32[Array, "N 2"],
    points: int,
    length: int,
    rest: int,
) -> tuple[QState, Array, tuple[Array, ...]]:
    """All runs: ``points`` stretches of ``length`` steps and a last one of ``rest``."""

    def stretch(
        key: Array, count: int, carry: tuple[QState, Array], begin: Array | int
    ) -> tuple[tuple[QState, Array], tuple[Array, ...]]:
        """``count`` steps from the time ``begin`` on: the run and its policy, and what the history says of them."""
        state, before = carry
        times = begin + jnp.arange(count)

        def one(
            carry: tuple[QState, tuple[Array, ...]], now: tuple[Array, Array]
        ) -> tuple[tuple[QState, tuple[Array, ...]], None]:
            state, (total, episodes, terminated) = carry
            time, draws = now
            state, info = step(static, traced, state, time, draws)
            ended = info.terminated | info.truncated
            total = total + jnp.where(ended, info.total, 0.0)
            tally = (total, episodes + ended, terminated + info.terminated)
            return (state, tally), None

        zero = jnp.zeros((), jnp.int32)
        tally = (jnp.zeros(table.shape[2], table.dtype), zero, zero)
        draws = uniform_draws(key, times, table.dtype)
        (state, tally), _ = jax.lax.scan(one, (state, tally), (times, draws))
        total, episodes, terminated = tally
        policy, promise = _greedy(static, traced, state.table, starts)
        moved = (jnp.abs(policy - before).max(axis=1) > 1e-6) & ~traced.env.terminal
        changed = moved.sum() / jnp.maximum(1, (~traced.env.terminal).sum())
        returns = jnp.where(episodes > 0, total / jnp.maximum(1, episodes), jnp.nan)
        return (state, policy), (returns, episodes, terminated, promise, changed)

    def run(key: Array) -> tuple[QState, Array, tuple[Array, ...]]:
        carry = init(table), jnp.zeros(table.shape[:2], table.dtype)
        carry, log = jax.lax.scan(partial(stretch, key, length), carry, length * jnp.arange(points))
        if rest:
            carry, last = stretch(key, rest, carry, length * points)
            log = jax.tree.map(lambda a, b: jnp.concatenate([a, b[None]]), log, last)
        state, policy = carry
        return state, policy, log

    return jax.vmap(run)(keys)


def _greedy(
    static: StaticSettings, traced: TracedSettings, table: Array, starts: Array
) -> tuple[Array, Array]:
    """The policy of a whole table, and what the table promises for it at the start."""
    q = decision_values(static.rule, traced.numbers, table)
    sets = acceptable(static.rule, traced.numbers, q, traced.env.available)
    policy = greedy(static.rule, traced.numbers, q, sets.strict)
    return policy, jnp.einsum("s,sa,sak->k", starts, policy, q)


def _settings_of(
    rule: Rule,
    learning_rate: Schedule | Visits | float,
    exploration: EpsilonGreedy | Softmax,
    steps: int,
) -> tuple[StaticSettings, tuple[float, ...], tuple[float, ...]]:
    """What is compiled, and the numbers of both schedules."""
    level = exploration.schedule
    if isinstance(learning_rate, Visits):
        rate_kind = "visits"
        learning = (learning_rate.start, learning_rate.half, 1.0)
    else:
        rate = _rate_schedule(learning_rate)
        rate_kind = rate.shape
        learning = (*rate.ends, rate.over * steps)
    static = StaticSettings(rule.structure, rate_kind, exploration.kind, level.shape)
    return static, learning, (*level.ends, level.over * steps)


def _rate_schedule(learning_rate: Schedule | float) -> Schedule:
    try:
        rate = as_schedule(learning_rate)
    except (TypeError, ValueError):
        raise ValueError(f"learning_rate: expected a number, got {learning_rate!r}") from None
    if not all(0 < end <= 1 for end in rate.ends):
        raise ValueError(f"learning_rate: must stay above 0 and at most 1, got {learning_rate}")
    return rate
