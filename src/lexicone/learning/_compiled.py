"""The compiled programs behind `train`.

For a model: a loop over updates, and a ``vmap`` over runs around each of them. For environments that are Python code:
the parts of one update of one run, between which `train_env` steps the environments.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from lexicone.learning._episodes import RUNS, Episodes, Problem
from lexicone.learning._learner import join
from lexicone.learning._random_bits import random_bits, uniforms
from lexicone.learning._run import Run
from lexicone.models._simulation import draw_index

__all__ = [
    "advance",
    "begin",
    "begin_one",
    "choose_actions",
    "learn_from",
    "run_keys",
    "seed_episodes",
    "slice_runs",
]

_SEEDS, _ACTIONS = 0x5EED5, 0xAC705  # apart from what a learner draws with the same key


@partial(jax.jit, static_argnames=("form", "rows", "snapshots"))
def begin(
    form: Any, problem: Problem, numbers: dict[str, Array], keys: Any, rows: int, snapshots: int
) -> Run:
    """All runs before their first update."""

    def one(numbers: dict[str, Array], key: Any) -> tuple[Any, dict[str, Array]]:
        learner, own = _own(form, problem, numbers)
        state = learner.init(own, jax.random.fold_in(key, 0))
        metrics = jax.eval_shape(learner.update, own, state, key, jnp.zeros(()))[1]
        return state, jax.tree.map(lambda m: jnp.zeros(m.shape, m.dtype), metrics)

    states, empty = jax.vmap(one, axis_name=RUNS)(numbers, keys)
    log = jax.tree.map(lambda m: jnp.zeros((rows, *m.shape), m.dtype), empty)
    shape = (snapshots, keys.shape[0], *problem.env.next_state.shape[:2])
    return Run(jnp.int32(0), states, log, jnp.zeros(shape, problem.env.reward.dtype))


@partial(jax.jit, static_argnames=("form",))
def advance(
    form: Any,
    problem: Problem,
    numbers: dict[str, Array],
    keys: Any,
    run: Run,
    until: Int[Array, ""] | int,
    total: Int[Array, ""] | int,
    every: Int[Array, ""] | int,
) -> Run:
    """Updates until ``run.update`` reaches ``until``."""
    count = run.snapshots.shape[0]

    def body(run: Run) -> Run:
        share = run.update / total

        def one(numbers: dict[str, Array], state: Any, key: Any) -> tuple[Any, dict[str, Array]]:
            learner, own = _own(form, problem, numbers)
            return learner.update(own, state, jax.random.fold_in(key, run.update + 1), share)

        states, metrics = jax.vmap(one, axis_name=RUNS)(numbers, run.states, keys)
        row = run.update // every
        log = jax.tree.map(lambda sums, m: sums.at[row].add(m), run.log, metrics)
        run = Run(run.update + 1, states, log, run.snapshots)
        return run._replace(snapshots=keep(run)) if count else run

    def keep(run: Run) -> Array:
        place = run.update * count // total
        due = place > (run.update - 1) * count // total

        def one(numbers: dict[str, Array], state: Any) -> Array:
            learner, own = _own(form, problem, numbers)
            return learner.log_policy(own, state)

        return jax.lax.cond(
            due,
            lambda kept: kept.at[place - 1].set(
                jax.vmap(one, axis_name=RUNS)(numbers, run.states).astype(kept.dtype)
            ),
            lambda kept: kept,
            run.snapshots,
        )

    return jax.lax.while_loop(lambda run: run.update < until, body, run)


def _own(form: Any, problem: Problem, numbers: dict[str, Array]) -> tuple[Any, Problem]:
    """One run's learner and problem."""
    numbers = dict(numbers)
    thresholds = numbers.pop("thresholds")
    return join(form, numbers), problem._replace(thresholds=thresholds)


@partial(jax.jit, static_argnums=(1, 2))
def run_keys(key: Any, seeds: int, variants: int) -> Any:
    """A key for each seed, the same ones for every variant: ``[variants·seeds]``."""
    keys = jax.vmap(partial(jax.random.fold_in, key))(jnp.arange(seeds))
    return jnp.tile(keys, variants)


def slice_runs(run: Run, part: int, parts: int) -> Run:
    """One of several equal parts of the runs."""
    if parts == 1:
        return run
    size = run.snapshots.shape[1] // parts
    own = slice(part * size, (part + 1) * size)
    return Run(
        run.update,
        jax.tree.map(lambda leaf: leaf[own], run.states),
        {name: sums[:, own] for name, sums in run.log.items()},
        run.snapshots[:, own],
    )


@partial(jax.jit, static_argnames=("form",))
def begin_one(form: Any, problem: Problem, numbers: dict[str, Array], key: Any) -> Any:
    """The state of one run before its first update."""
    learner, own = _own(form, problem, numbers)
    return learner.init(own, jax.random.fold_in(key, 0))


@partial(jax.jit, static_argnames=("count",))
def seed_episodes(key: Any, update: Int[Array, ""] | int, count: int) -> tuple[Any, Any, Array]:
    """One update of a run: the learner's key, the actions' key, and a seed from 0 to 2³¹−1 for each episode."""
    key = jax.random.fold_in(key, update + 1)
    seeds = random_bits(jax.random.fold_in(key, _SEEDS), 0, count) >> 1
    return key, jax.random.fold_in(key, _ACTIONS), seeds


@partial(jax.jit, static_argnames=("form",))
def choose_actions(
    form: Any,
    numbers: dict[str, Array],
    state: Any,
    rows: Float[Array, "N D"],
    key: Any,
    action_key: Any,
    time: Int[Array, ""] | int,
) -> Int[Array, " N"]:
    """What N episodes do at one time, sampled from the policy with which the learner acts."""
    learner = join(form, {name: number for name, number in numbers.items() if name != "thresholds"})
    beyond = jnp.cumsum(jnp.exp(learner.act(state, rows, key, time)), axis=-1).at[:, -1].set(2.0)
    draws = uniforms(action_key, time, (rows.shape[0],), beyond.dtype)
    return jax.vmap(draw_index)(beyond, draws)


@partial(jax.jit, static_argnames=("form",))
def learn_from(
    form: Any,
    problem: Problem,
    numbers: dict[str, Array],
    state: Any,
    seen: Float[Array, "times N D"],
    action: Int[Array, "T N"],
    reward: Float[Array, "T N K"],
    alive: Bool[Array, "T N"],
    terminated: Bool[Array, " N"],
    key: Any,
    update: Int[Array, ""] | int,
    total: Int[Array, ""] | int,
) -> tuple[Any, dict[str, Array]]:
    """One update of one run from episodes whose every step is a state of its own; ``seen`` ends with their ends."""
    learner, own = _own(form, problem, numbers)
    length, count = alive.shape
    numbered = jnp.arange((length + 1) * count, dtype=jnp.int32).reshape(length + 1, count)
    episodes = Episodes(numbered[:-1], action, reward, alive, numbered[-1], terminated)
    own = own._replace(features=seen.reshape(-1, seen.shape[-1]))
    return learner.learn(own, state, episodes, key, update / total)
