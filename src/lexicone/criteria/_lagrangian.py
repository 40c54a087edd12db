"""A Lagrangian learner for one constrained problem, from samples: the whole run is one compiled program.

    max_π min_{μ≥0}  V_m + Σ_j μ_j·(V_j − floor_j)

The policy, a softmax of a table, climbs the weighted sum by policy gradients; a table of values of all objectives
is the critic (advantages by GAE; an episode that is only cut off goes on in the critic's eyes). A multiplier rises
while the critic's value of its objective at the start is below the floor, and falls back while there is room. Rewards
are divided by their largest size, so that one set of rates fits all tasks.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int

from lexicone.models._advantages import sum_until_end
from lexicone.models._environment import (
    Environment,
    EpisodeState,
    action_bounds,
    draw_index,
    environment,
    reset,
    transition,
)
from lexicone.models._mdp import MDP

__all__ = [
    "LagrangianProblem",
    "LagrangianRates",
    "LagrangianState",
    "StepBatch",
    "collect",
    "init",
    "learn",
    "update",
]

_NEVER = -1e9  # the logit of an action that is not available: its probability is 0 exactly


class LagrangianRates(NamedTuple):
    """How fast things change."""

    policy: float = 0.05
    critic: float = 0.2
    multiplier: float = 0.1
    miss_weight: float = 30.0
    """How much a floor that is missed counts at once, besides its multiplier: this damps swings."""
    max_multiplier: float = 500.0
    """Multipliers stay below this: there a floor counts alone."""
    entropy: float = 0.1
    """At the start; it falls to 0 in a straight line."""
    trace: float = 0.95
    """λ of GAE."""


class LagrangianProblem(NamedTuple):
    """What may change without compiling again."""

    env: Environment
    start: Float[Array, " S"]
    weights: Float[Array, " K"]
    """1 for the objective that is maximised."""
    floors: Float[Array, " K"]
    """−∞ where there is none."""
    gamma: Float[Array, ""]
    max_episode_steps: Int[Array, ""]
    rates: LagrangianRates


class LagrangianState(NamedTuple):
    """One run under way."""

    logits: Float[Array, "S A"]
    optimizer: optax.OptState
    critic: Float[Array, "S K"]
    multipliers: Float[Array, " K"]
    average: Float[Array, "S A"]
    """The sum of the policies of the second half of the run."""
    episodes: EpisodeState
    """Where the N episodes are that go on side by side."""


class StepBatch(NamedTuple):
    """T steps of N episodes; one that has ended is followed by a new one."""

    state: Int[Array, "T N"]
    action: Int[Array, "T N"]
    reward: Float[Array, "T N K"]
    next_state: Int[Array, "T N"]
    terminated: Bool[Array, "T N"]
    ended: Bool[Array, "T N"]


def init(
    env: Environment, key: Array, side_by_side: int, rates: LagrangianRates
) -> LagrangianState:
    """Every available action equally probable, no multipliers."""
    states, actions, _, objectives = env.reward.shape
    logits = jnp.zeros((states, actions), env.reward.dtype)
    if env.available is not None:
        logits = jnp.where(env.available, logits, _NEVER)
    return LagrangianState(
        logits,
        optax.adam(rates.policy).init(logits),
        jnp.zeros((states, objectives), env.reward.dtype),
        jnp.zeros(objectives, env.reward.dtype),
        jnp.zeros_like(logits),
        jax.vmap(partial(reset, env))(jax.random.split(key, side_by_side)),
    )


def collect(
    env: Environment,
    state: LagrangianState,
    key: Array,
    length: int,
    max_episode_steps: Int[Array, ""],
) -> tuple[EpisodeState, StepBatch]:
    """The next steps of all episodes under the softmax policy."""
    below = action_bounds(jax.nn.softmax(state.logits), env.available)

    def one(episode: EpisodeState, draw: Array) -> tuple[EpisodeState, StepBatch]:
        action = draw_index(below[episode.state], draw[0])
        after = transition(env, episode, action, draw[1], max_episode_steps)
        ended = after.terminated | after.truncated
        new = EpisodeState(draw_index(env.start, draw[2]), jnp.zeros((), jnp.int32))
        following = jax.tree.map(partial(jnp.where, ended), new, after.episode)
        return following, StepBatch(
            episode.state, action, after.reward, after.episode.state, after.terminated, ended
        )

    count = state.episodes.state.shape[0]
    draws = jax.random.uniform(key, (length, count, 3), dtype=env.reward.dtype)
    return jax.lax.scan(jax.vmap(one), state.episodes, draws)


def update(
    problem: LagrangianProblem,
    share: Array,
    state: LagrangianState,
    episodes: EpisodeState,
    batch: StepBatch,
) -> LagrangianState:
    """One step of policy, critic and multipliers; ``share`` is how much of the run is over."""
    rates, gamma = problem.rates, problem.gamma
    later = jnp.where(batch.terminated[..., None], 0.0, state.critic[batch.next_state])
    surprise = batch.reward + gamma * later - state.critic[batch.state]

    advantage = sum_until_end(surprise, batch.ended, gamma * rates.trace)
    missing = jnp.where(
        jnp.isfinite(problem.floors), problem.floors - problem.start @ state.critic, 0.0
    )
    price = problem.weights + jnp.clip(
        state.multipliers + rates.miss_weight * missing, 0.0, rates.max_multiplier
    )
    gain = advantage @ (price / price.sum())
    gain = gain / (jnp.sqrt(jnp.mean(gain**2)) + 1e-3)

    def loss(logits: Array) -> Array:
        log = jax.nn.log_softmax(logits)
        spread = -(jnp.exp(log) * log).sum(axis=-1)[batch.state]
        taken = log[batch.state, batch.action]
        return -jnp.mean(taken * gain + (1 - share) * rates.entropy * spread)

    step, optimizer = optax.adam(rates.policy).update(jax.grad(loss)(state.logits), state.optimizer)
    logits = jnp.asarray(optax.apply_updates(state.logits, step))
    visits = jnp.zeros(len(state.critic)).at[batch.state].add(1.0)
    error = jnp.zeros_like(state.critic).at[batch.state].add(advantage)
    critic = state.critic + rates.critic * error / jnp.maximum(visits, 1.0)[:, None]
    multipliers = jnp.clip(
        state.multipliers + rates.multiplier * missing, 0.0, rates.max_multiplier
    )
    average = state.average + jnp.where(share >= 0.5, jax.nn.softmax(logits), 0.0)
    return LagrangianState(logits, optimizer, critic, multipliers, average, episodes)


def learn(
    mdp: MDP,
    objective: int,
    floors: dict[int, float],
    gamma: float = 1.0,
    *,
    steps: int = 200_000,
    seeds: int = 8,
    side_by_side: int = 16,
    length: int = 32,
    max_episode_steps: int = 200,
    rates: LagrangianRates | None = None,
    seed: int = 0,
    before: LagrangianState | None = None,
) -> tuple[LagrangianState, Float[np.ndarray, "C S A"]]:
    """Maximise an objective subject to floors under others.

    Returns the runs' states and the policies they end with: the last and the average of each (the last again after a
    single update of ``side_by_side·length`` steps), also without what they do in less than 2 % of the cases.

    Args:
        mdp: the model that is sampled.
        objective: the number of the objective that is maximised.
        floors: under others, by their numbers, in the model's own units.
        gamma: the discount.
        steps: of each run.
        seeds: how many runs.
        side_by_side: how many episodes a run has at a time.
        length: steps of each episode between two updates.
        max_episode_steps: a longer episode is cut off.
        rates: how fast things change.
        seed: of all runs.
        before: the states of runs that go on; new ones if left out.
    """
    rates = rates or LagrangianRates()
    size = np.abs(mdp.reward[mdp.probability > 0]).max(axis=0, initial=0.0)
    scale = np.where(size > 0, size, 1.0)
    env = environment(mdp)
    env = env._replace(reward=jnp.asarray(mdp.reward / scale, env.reward.dtype))
    limits = np.full(mdp.num_objectives, -np.inf)
    for j, floor in floors.items():
        limits[j] = floor / scale[j]
    dtype = env.reward.dtype
    problem = LagrangianProblem(
        env,
        jnp.asarray(mdp.initial, dtype),
        jnp.eye(mdp.num_objectives, dtype=dtype)[objective],
        jnp.asarray(limits, dtype),
        jnp.asarray(gamma, dtype),
        jnp.asarray(max_episode_steps, jnp.int32),
        LagrangianRates(*(jnp.asarray(rate, dtype) for rate in rates)),  # type: ignore[arg-type]
    )
    keys = jax.random.split(jax.random.key(seed), (seeds, 2))
    if before is None:
        before = jax.vmap(lambda key: init(env, key, side_by_side, problem.rates))(keys[:, 0])
    before = before._replace(average=jnp.zeros_like(before.average))
    updates = jnp.asarray(max(1, steps // (side_by_side * length)))
    final = _run(problem, before, keys[:, 1], updates, length)
    last = np.asarray(jax.nn.softmax(final.logits), dtype=float)
    average = np.asarray(final.average, dtype=float)
    total = average.sum(axis=-1, keepdims=True)
    average = np.where(total > 0, average / np.where(total > 0, total, 1.0), last)
    policies = np.concatenate([last, average])
    sharp = np.where(policies < 0.02, 0.0, policies)
    return final, np.concatenate([policies, sharp / sharp.sum(axis=-1, keepdims=True)])


@partial(jax.jit, static_argnames="length")
def _run(
    problem: LagrangianProblem, states: LagrangianState, keys: Array, updates: Array, length: int
) -> LagrangianState:
    """All runs: as many ``updates`` of policy, critic and multipliers each."""

    def run(state: LagrangianState, key: Array) -> LagrangianState:
        def body(number: Array, state: LagrangianState) -> LagrangianState:
            draw = jax.random.fold_in(key, number)
            episodes, batch = collect(problem.env, state, draw, length, problem.max_episode_steps)
            return update(problem, number / updates, state, episodes, batch)

        return jax.lax.fori_loop(0, updates, body, state)

    return jax.vmap(run)(states, keys)
