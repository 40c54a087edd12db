"""Thresholded lexicographic Q-learning from samples: any `Rule`, the whole run one compiled program.

After a step (s, a, r, s') the table moves towards the rule's target,

    u(s,a) ← u(s,a) + α·(r + γ·v(s') − u(s,a)),    v(s') = 0 if s' is terminal.

An episode that is only cut off is no such end: there v(s') counts.

Steps are scanned, seeds vmapped. The rule's form and the schedules' shapes are compiled in; thresholds, slacks, the
buffer, rates, γ and the cap on episodes are traced, so other numbers reuse the program.
"""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.random import threefry_2x32
from jaxtyping import Array, Bool, Float, Int

from lexicone.models._evaluation import evaluate
from lexicone.models._mdp import MDP
from lexicone.models._simulation import (
    Environment,
    EpisodeState,
    draw_index,
    environment,
    transition,
)
from lexicone.order import Order
from lexicone.qlearning._exploration import EpsilonGreedy, Schedule, Softmax, Visits, as_schedule
from lexicone.qlearning._iterate import check_task, start_table
from lexicone.qlearning._rules import Numbers, Rule, acceptable, greedy, seen, successor_values

__all__ = [
    "History",
    "Info",
    "Learned",
    "Plan",
    "Setting",
    "State",
    "init",
    "random_numbers",
    "step",
    "tlq",
]

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


class Plan(NamedTuple):
    """What the program is compiled for."""

    rule: Rule
    learning: str
    explores: type[EpsilonGreedy] | type[Softmax]
    exploration: str


class Setting(NamedTuple):
    """What may change without compiling again."""

    env: Environment
    numbers: Numbers
    gamma: Float[Array, ""]
    max_episode_steps: Int[Array, ""]
    learning: Float[Array, "3"]
    exploration: Float[Array, "3"]
    """Start, end, and the steps in between (or start, half, unused)."""


class State(NamedTuple):
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


class Info(NamedTuple):
    """One step: where, what, and how the episode stands."""

    state: Int[Array, ""]
    action: Int[Array, ""]
    reward: Float[Array, " K"]
    next_state: Int[Array, ""]
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]
    total: Float[Array, " K"]


def init(table: Array) -> State:
    """A run before its first step."""
    zero = jnp.zeros((), jnp.int32)
    return State(
        table,
        jnp.zeros(table.shape[:2], jnp.int32),
        EpisodeState(zero, zero),
        jnp.ones((), bool),
        zero,
        jnp.zeros(table.shape[2], table.dtype),
        jnp.ones((), table.dtype),
    )


def step(plan: Plan, setting: Setting, state: State, time: Any, draws: Array) -> tuple[State, Info]:
    """Begin a new episode if one has ended, act, and learn from it. ``draws[4]`` are from [0, 1)."""
    env, rule, numbers, table = setting.env, plan.rule, setting.numbers, state.table
    start = EpisodeState(draw_index(env.start, draws[0]), jnp.zeros((), jnp.int32))
    episode = jax.tree.map(partial(jnp.where, state.ended), start, state.episode)
    s = episode.state
    a = _act(plan, setting, table[s], time, draws[1])
    if rule.update.on_policy:
        a = jnp.where(state.ended, a, state.action)
    after = transition(env, episode, a, draws[2], setting.max_episode_steps)

    row = table[after.episode.state]
    q = seen(rule, numbers, row)
    action = followed = None
    if rule.update.on_policy:
        action = _act(plan, setting, row, time + 1, draws[3])
        followed = jax.nn.one_hot(action, row.shape[0], dtype=row.dtype)
    worth = successor_values(rule, numbers, q, acceptable(rule, numbers, q), followed)
    target = after.reward + setting.gamma * jnp.where(after.terminated, 0.0, worth)
    rate = _rate(plan, setting, time, state.visits[s, a])
    total = jnp.where(state.ended, 0.0, state.total)
    discount = jnp.where(state.ended, 1.0, state.discount)
    total = total + discount * after.reward
    return State(
        table.at[s, a].add(rate * (target - table[s, a])),
        state.visits.at[s, a].add(1),
        after.episode,
        after.terminated | after.truncated,
        state.action if action is None else action,
        total,
        discount * setting.gamma,
    ), Info(s, a, after.reward, after.episode.state, after.terminated, after.truncated, total)


def random_numbers(key: Array, times: Array, dtype: Any) -> Float[Array, "T 4"]:
    """Four numbers from [0, 1) for each time; a counter-based generator, whatever else is drawn.

    ``key`` is two 32-bit numbers: the seed and the number of the run.
    """
    count = times.shape[0]
    first = jnp.repeat(times.astype(jnp.uint32), 2)
    second = jnp.tile(jnp.arange(2, dtype=jnp.uint32), count)
    bits = threefry_2x32(key, jnp.concatenate([first, second])).reshape(2, count, 2)
    return (bits.transpose(1, 0, 2).reshape(count, 4) >> 8).astype(dtype) * 2.0**-24


def tlq(
    mdp: MDP,
    order: Order,
    rule: Any = "gabor",
    gamma: float = 1.0,
    *,
    seeds: int = 10,
    steps: int = 100_000,
    learning_rate: Schedule | Visits | float = 0.1,
    exploration: EpsilonGreedy | Softmax = _EXPLORATION,
    max_episode_steps: int = 1000,
    initial: Any = 0.0,
    log_points: int = 100,
    seed: int = 0,
) -> Learned:
    """Learn with a rule (a `Rule` or the name of a preset) in ``seeds`` independent runs of ``steps`` steps.

    An episode longer than ``max_episode_steps`` is cut off; its last state still counts with its value. ``initial``
    fills the table as in `tlq_iterate`. Run i is the same however many others there are. What a rule accepts is
    decided up to its ``tie_tolerance``; values that are still being learned are rarely equal to it, so a rule with
    thresholds needs a larger one than `tlq_iterate` does.
    """
    rule, numbers = check_task(mdp, order, rule, gamma)
    for name, value in (
        ("seeds", seeds),
        ("steps", steps),
        ("max_episode_steps", max_episode_steps),
        ("log_points", log_points),
    ):
        if value < 1:
            raise ValueError(f"{name}: must be at least 1, got {value}")
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed: must be at least 0 and below 2³², got {seed}")
    if not isinstance(exploration, EpsilonGreedy | Softmax):
        raise ValueError(f"exploration: expected EpsilonGreedy or Softmax, got {exploration!r}")
    plan, learning, exploring = _plan(rule, learning_rate, exploration, steps)
    env = environment(mdp)
    dtype = env.reward.dtype
    setting = Setting(
        env,
        Numbers(*(jnp.asarray(number, dtype) for number in numbers)),
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
        plan, setting, jnp.asarray(mdp.initial, dtype), table, keys, points, length, rest
    )
    times = [length * (i + 1) for i in range(points)] + [steps] * (rest > 0)
    return Learned(
        q=np.asarray(seen(plan.rule, setting.numbers, final.table)),
        policy=np.asarray(policy),
        visits=np.asarray(final.visits),
        history=History(np.array(times), *(np.asarray(part) for part in log)),
        mdp=mdp,
        order=order,
        gamma=gamma,
        rule=rule,
    )


@partial(jax.jit, static_argnames=("plan", "points", "length", "rest"))
def _learn(
    plan: Plan,
    setting: Setting,
    starts: Array,
    table: Array,
    keys: Any,
    points: int,
    length: int,
    rest: int,
) -> tuple[State, Array, tuple[Array, ...]]:
    """All runs: ``points`` stretches of ``length`` steps and a last one of ``rest``."""

    def stretch(key: Any, count: int, carry: Any, begin: Any) -> Any:
        state, before = carry
        times = begin + jnp.arange(count)

        def one(carry: Any, now: Any) -> Any:
            state, (total, episodes, terminated) = carry
            time, draws = now
            state, info = step(plan, setting, state, time, draws)
            ended = info.terminated | info.truncated
            total = total + jnp.where(ended, info.total, 0.0)
            tally = (total, episodes + ended, terminated + info.terminated)
            return (state, tally), None

        zero = jnp.zeros((), jnp.int32)
        tally = (jnp.zeros(table.shape[2], table.dtype), zero, zero)
        draws = random_numbers(key, times, table.dtype)
        (state, tally), _ = jax.lax.scan(one, (state, tally), (times, draws))
        total, episodes, terminated = tally
        policy, promise = _greedy(plan, setting, state.table, starts)
        moved = (jnp.abs(policy - before).max(axis=1) > 1e-6) & ~setting.env.terminal
        changed = moved.sum() / jnp.maximum(1, (~setting.env.terminal).sum())
        returns = jnp.where(episodes > 0, total / jnp.maximum(1, episodes), jnp.nan)
        return (state, policy), (returns, episodes, terminated, promise, changed)

    def run(key: Any) -> Any:
        carry = init(table), jnp.zeros(table.shape[:2], table.dtype)
        carry, log = jax.lax.scan(partial(stretch, key, length), carry, length * jnp.arange(points))
        if rest:
            carry, last = stretch(key, rest, carry, length * points)
            log = jax.tree.map(lambda a, b: jnp.concatenate([a, b[None]]), log, last)
        return *carry, log

    return jax.vmap(run)(keys)


def _greedy(plan: Plan, setting: Setting, table: Array, starts: Array) -> tuple[Array, Array]:
    """The policy of a whole table, and what the table promises for it at the start."""
    q = seen(plan.rule, setting.numbers, table)
    sets = acceptable(plan.rule, setting.numbers, q)
    policy = greedy(plan.rule, setting.numbers, q, sets.strict)
    return policy, jnp.einsum("s,sa,sak->k", starts, policy, q)


def _act(plan: Plan, setting: Setting, row: Array, time: Any, draw: Array) -> Array:
    """The action in a state with table row ``[A,K]``."""
    rule, numbers = plan.rule, setting.numbers
    count = row.shape[0]
    level = _follow(plan.exploration, setting.exploration, time)
    q = seen(rule, numbers, row)
    if plan.explores is EpsilonGreedy:
        choice = greedy(rule, numbers, q, acceptable(rule, numbers, q).strict)
        weight = (1 - level) * choice + level / count
    else:
        one = jnp.eye(count, dtype=bool)
        pairs = one[:, None, :] | one[None, :, :]
        rows = jnp.broadcast_to(q, (count, count, *q.shape))
        won = greedy(rule, numbers, rows, acceptable(rule, numbers, rows, pairs).strict)
        wins = jnp.where(one, 0.0, jnp.einsum("aba->ab", won))
        weight = jax.nn.softmax(wins.sum(axis=1) / max(1, count - 1) / level)
    below = jnp.cumsum(weight)
    return jnp.minimum(jnp.sum(draw * below[-1] >= below, dtype=jnp.int32), count - 1)


def _rate(plan: Plan, setting: Setting, time: Any, visits: Array) -> Array:
    if plan.learning != "visits":
        return _follow(plan.learning, setting.learning, time)
    start, half, _ = setting.learning
    return start * half / (half + visits)


def _follow(shape: str, numbers: Array, time: Any) -> Array:
    start, end, over = numbers
    share = jnp.minimum(time / over, 1.0)
    if shape == "geometric":
        return start * (end / start) ** share
    return start + (end - start) * share


def _plan(
    rule: Rule, learning_rate: Any, exploration: EpsilonGreedy | Softmax, steps: int
) -> tuple[Plan, tuple[float, ...], tuple[float, ...]]:
    """What is compiled, and the numbers of both schedules."""
    given = exploration.rate if isinstance(exploration, EpsilonGreedy) else exploration.temperature
    level = as_schedule(given)
    exploring = (*level.ends, level.over * steps)
    if isinstance(learning_rate, Visits):
        learning = (learning_rate.start, learning_rate.half, 1.0)
        return Plan(rule.structure, "visits", type(exploration), level.shape), learning, exploring
    try:
        rate = as_schedule(learning_rate)
    except (TypeError, ValueError):
        raise ValueError(f"learning_rate: expected a number, got {learning_rate!r}") from None
    if not all(0 < end <= 1 for end in rate.ends):
        raise ValueError(f"learning_rate: must stay above 0 and at most 1, got {learning_rate}")
    plan = Plan(rule.structure, rate.shape, type(exploration), level.shape)
    return plan, (*rate.ends, rate.over * steps), exploring
