"""Training in environments that are Python code (`_environments`).

Only the collection of episodes differs from training on a model (`_train_model`): a batch of environments runs one
episode each, one compiled call per time step chooses all actions, and the learner's update is the same function. Every
episode begins with ``reset(seed=…)``. Seeds and actions come from the key, the number of the run and that of the
update, so a run depends on its key and number alone, as far as ``reset(seed=…)`` settles what an environment does.
"""

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from lexicone.learning._environments import Env, OpenedEnv, copies, open_task
from lexicone.learning._episodes import Episodes
from lexicone.learning._learner import EnvLearner, with_cap
from lexicone.learning._outer_loop import run_to_end
from lexicone.learning._plan import Plan, key_numbers
from lexicone.learning._play import Played, play
from lexicone.learning._problem import Problem, env_problem
from lexicone.learning._random_bits import random_bits, uniforms
from lexicone.learning._result_env import TrainedEnv
from lexicone.learning._room import check_size
from lexicone.learning._runs import Runs, run_keys
from lexicone.models._environment import draw_index
from lexicone.order import Order

__all__ = ["choose_actions", "learn_from", "train_in_env"]

_SHORTEST = 16  # steps to which episodes are padded at least
_SEEDS, _ACTIONS = 0x5EED5, 0xAC705  # apart from what a learner draws with the same key


def train_in_env(
    task: Any, order: Order, learner: EnvLearner, features: Any, plan: Plan
) -> TrainedEnv:
    """Train ``plan.seeds`` times, one run after another in every update."""
    if plan.snapshots:
        raise ValueError("snapshots: only a model's policies can be kept along the way")
    opened = open_task(task, features, order)
    unlimited = learner.max_steps is None and opened.limit is None
    _check_limit(opened, learner.max_steps)
    learner = with_cap(learner, opened.limit)
    problem = env_problem(opened.facts.sizes, order)
    traced = jax.tree.map(lambda number: jnp.asarray(float(number), float), learner)
    check_size(learner, problem, plan)
    keys = run_keys(plan.key, plan.seeds, 1)
    runs = _begin(traced, problem, keys, plan.rows)

    def result(runs: Runs) -> TrainedEnv:
        return TrainedEnv(
            facts=opened.facts,
            source=opened.source,
            known=opened,
            features=features,
            order=order,
            learner=learner,
            key=key_numbers(plan.key),
            updates=plan.updates,
            every=plan.every,
            run=runs,
        )

    with copies(opened, learner.batch) as envs:

        def go_on(runs: Runs, until: int) -> Runs:
            return _advance(opened, envs, traced, problem, keys, runs, until, plan, unlimited)

        end = run_to_end(runs, go_on, result, plan)
        return end.says(result(end.runs))


def _check_limit(opened: OpenedEnv, cap: int | None) -> None:
    """Say so if episodes are cut off before the environment does it."""
    if cap is not None and opened.limit is not None and cap < opened.limit:
        warnings.warn(
            f"max_steps: {opened.facts.environment} has episodes of up to {opened.limit} steps; the learner's setting "
            f"cuts them off after {cap}",
            stacklevel=4,
        )


def _begin(learner: EnvLearner, problem: Problem, keys: Any, rows: int) -> Runs:
    """All runs before their first update."""
    states = [_begin_one(learner, problem, key) for key in keys]
    inputs, actions, objectives = problem.sizes
    length, batch, dtype = _SHORTEST, learner.batch, problem.scale.dtype
    nothing = Played(
        np.zeros((length + 1, batch, inputs), dtype),
        np.zeros((length, batch), np.int32),
        np.zeros((length, batch, objectives), dtype),
        np.zeros((length, batch), bool),
        np.zeros(batch, bool),
    )
    metrics = jax.eval_shape(learn_from, learner, problem, states[0], nothing, keys[0], 0, 1)[1]
    log = {name: np.zeros((rows, len(states), *m.shape), m.dtype) for name, m in metrics.items()}
    snapshots = np.zeros((0, len(states), 0, actions), dtype)
    return Runs(jnp.int32(0), _stack(states), log, snapshots)


def _advance(
    opened: OpenedEnv,
    envs: Sequence[Env],
    learner: EnvLearner,
    problem: Problem,
    keys: Any,
    runs: Runs,
    until: int,
    plan: Plan,
    unlimited: bool,
) -> Runs:
    """Updates until ``runs.update`` reaches ``until``; in each, one run after another.

    Args:
        opened: what is known of the environment.
        envs: copies of it, one for each episode of a batch.
        learner: with a cap on episodes.
        problem: sizes and thresholds.
        keys: of each run.
        runs: what is done so far.
        until: after how many updates to stop.
        plan: how long the whole training is.
        unlimited: whether nobody has set that cap; then an episode that it cuts off is reported.
    """
    done, cap = int(runs.update), cast(int, learner.max_steps)
    states = [
        jax.tree.map(lambda leaf, i=i: jnp.asarray(np.asarray(leaf)[i]), runs.states)
        for i in range(len(keys))
    ]
    log = {name: np.array(sums) for name, sums in runs.log.items()}
    for update in range(done, until):
        for i, state in enumerate(states):
            key, action_key, seeds = _seed_episodes(keys[i], update, len(envs))
            choose = partial(_sample, learner, state, key, action_key)
            where = f" of update {update + 1}, run {i}"
            played = play(opened, envs, choose, np.asarray(seeds).tolist(), cap, where)
            if unlimited and len(played.alive) == cap:
                _tell_cut(opened, cap)
            padded = _pad(played, cap)
            states[i], metrics = learn_from(
                learner, problem, state, padded, key, update, plan.updates
            )
            for name, value in metrics.items():
                log[name][update // plan.every, i] += np.asarray(value)
    return Runs(jnp.int32(until), _stack(states), log, runs.snapshots)


def _tell_cut(opened: OpenedEnv, cap: int) -> None:
    warnings.warn(
        f"max_steps: {opened.facts.environment} states no limit, and some of its episodes are cut off after {cap} "
        "steps, which is the learner's default; set max_steps to allow more",
        stacklevel=2,
    )


def _sample(
    learner: EnvLearner, state: Any, key: Any, action_key: Any, rows: np.ndarray, time: int
) -> np.ndarray:
    return np.asarray(choose_actions(learner, state, rows, key, action_key, time))


@jax.jit
def _begin_one(learner: EnvLearner, problem: Problem, key: Any) -> Any:
    """The state of one run before its first update."""
    return learner.init(problem, jax.random.fold_in(key, 0))


@partial(jax.jit, static_argnames=("count",))
def _seed_episodes(key: Any, update: Int[Array, ""] | int, count: int) -> tuple[Any, Any, Array]:
    """One update of a run: the learner's key, the actions' key, and a seed from 0 to 2³¹−1 for each episode."""
    key = jax.random.fold_in(key, update + 1)
    seeds = random_bits(jax.random.fold_in(key, _SEEDS), 0, count) >> 1
    return key, jax.random.fold_in(key, _ACTIONS), seeds


@jax.jit
def choose_actions(
    learner: EnvLearner,
    state: Any,
    rows: Float[Array, "N D"],
    key: Any,
    action_key: Any,
    time: Int[Array, ""] | int,
) -> Int[Array, " N"]:
    """What N episodes do at one time, sampled from the policy with which the learner acts."""
    beyond = jnp.cumsum(jnp.exp(learner.act(state, rows, key, time)), axis=-1).at[:, -1].set(2.0)
    draws = uniforms(action_key, time, (rows.shape[0],), beyond.dtype)
    return jax.vmap(draw_index)(beyond, draws)


@jax.jit
def learn_from(
    learner: EnvLearner,
    problem: Problem,
    state: Any,
    played: Played,
    key: Any,
    update: Int[Array, ""] | int,
    total: Int[Array, ""] | int,
) -> tuple[Any, dict[str, Array]]:
    """One update of one run from episodes whose every step is a state of its own."""
    seen, action, reward, alive, terminated = map(jnp.asarray, played)
    length, count = alive.shape
    numbered = jnp.arange((length + 1) * count, dtype=jnp.int32).reshape(length + 1, count)
    episodes = Episodes(numbered[:-1], action, reward, alive, numbered[-1], terminated)
    problem = problem._replace(features=seen.reshape(-1, seen.shape[-1]))
    return learner.learn(problem, state, episodes, key, cast(Array, update / total))


def _pad(played: Played, max_steps: int) -> Played:
    """The same episodes, as `learn_from` takes them: of few different lengths, so that few programs are compiled."""
    taken = len(played.alive)
    length = max(_SHORTEST, 1 << (taken - 1).bit_length())
    more = (length if 2 * length <= max_steps else max_steps) - taken

    def longer(array: np.ndarray) -> np.ndarray:
        return np.concatenate([array, np.zeros((more, *array.shape[1:]), array.dtype)])

    seen = np.concatenate([longer(played.seen[:-1]), played.seen[-1:]])
    action, reward = played.action.astype(np.int32), played.reward.astype(seen.dtype)
    return Played(seen, longer(action), longer(reward), longer(played.alive), played.terminated)


def _stack(states: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *states)
