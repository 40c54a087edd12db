"""Training in environments that are Python code (`environments`).

Only the collection of episodes differs from training on a model (`engine`): a batch of environments runs one episode
each, one compiled call per time step chooses all actions, and the learner's update is the same function. Every episode
begins with ``reset(seed=…)``. Seeds and actions come from the key, the number of the run and that of the update, so a
run depends on its key and number alone, as far as ``reset(seed=…)`` settles what an environment does.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from lexicone.learning._compiled import begin_one, choose_actions, learn_from, seed_episodes
from lexicone.learning._environments import Facts, World, check_finite, read_reward, read_row
from lexicone.learning._episodes import Problem
from lexicone.learning._run import Run
from lexicone.models._simulation import Environment

__all__ = ["Played", "advance_env", "begin_env", "empty_problem", "play"]

_SHORTEST = 16  # steps to which episodes are padded at least


class Played(NamedTuple):
    """N episodes, time first, for as many steps as the longest took."""

    seen: Float[np.ndarray, "t+1 N D"]
    """Before every step, and at the end where each episode stopped."""
    action: Int[np.ndarray, "t N"]
    """Counted from 0."""
    reward: Float[np.ndarray, "t N K"]
    alive: Bool[np.ndarray, "t N"]
    terminated: Bool[np.ndarray, " N"]


def play(
    world: World,
    envs: Sequence[Any],
    choose: Callable[[np.ndarray, int], np.ndarray],
    seeds: Sequence[int],
    max_steps: int,
    where: str = "",
) -> Played:
    """One episode in each environment. ``choose(rows [N,D], time)`` says what all do next, counted from 0.

    An episode that the environment cuts off, or that has taken ``max_steps``, has stopped but not terminated.
    """
    facts, count = world.facts, len(seeds)
    rows = np.zeros((count, facts.inputs), jnp.zeros(()).dtype)
    going, terminated = np.ones(count, dtype=bool), np.zeros(count, dtype=bool)
    for n, seed in enumerate(seeds):
        rows[n] = read_row(world, envs[n].reset(seed=int(seed))[0])
    check_finite("observation", rows, facts.environment, 0, where)
    seen, action, reward, alive = [rows.copy()], [], [], []
    for time in range(max_steps):
        chosen = choose(rows, time)
        paid = np.zeros((count, facts.objectives))
        alive.append(going.copy())
        for n in np.flatnonzero(going).tolist():
            observation, earned, ended, cut, _ = envs[n].step(facts.first_action + int(chosen[n]))
            rows[n] = read_row(world, observation)
            paid[n] = read_reward(earned, facts.environment, facts.objectives)
            terminated[n] = ended
            going[n] = not (ended or cut)
        check_finite("observation", rows, facts.environment, time + 1, where)
        check_finite("reward", paid, facts.environment, time + 1, where)
        seen.append(rows.copy())
        action.append(np.where(alive[-1], chosen, 0))
        reward.append(paid)
        if not going.any():
            break
    return Played(np.stack(seen), np.stack(action), np.stack(reward), np.stack(alive), terminated)


def begin_env(
    world: World, form: Any, numbers: dict[str, Any], keys: Any, batch: int, rows: int
) -> Run:
    """All runs before their first update."""
    problem = empty_problem(world.facts)
    states = [begin_one(form, problem, numbers, key) for key in keys]
    sizes = world.facts.inputs, world.facts.objectives
    nothing = (
        np.zeros((_SHORTEST + 1, batch, sizes[0]), problem.scale.dtype),
        np.zeros((_SHORTEST, batch), np.int32),
        np.zeros((_SHORTEST, batch, sizes[1]), problem.scale.dtype),
        np.zeros((_SHORTEST, batch), bool),
        np.zeros(batch, bool),
    )
    arguments = (problem, numbers, states[0], *nothing, keys[0], 0, 1)
    metrics = jax.eval_shape(lambda *given: learn_from(form, *given)[1], *arguments)
    log = {name: np.zeros((rows, len(states), *m.shape), m.dtype) for name, m in metrics.items()}
    snapshots = np.zeros((0, len(states), 0, world.facts.actions), problem.scale.dtype)
    return Run(jnp.int32(0), _stack(states), log, snapshots)


def advance_env(
    world: World,
    envs: Sequence[Any],
    form: Any,
    numbers: dict[str, Any],
    keys: Any,
    run: Run,
    until: int,
    total: int,
    every: int,
) -> Run:
    """Updates until ``run.update`` reaches ``until``; in each, one run after another."""
    problem, done = empty_problem(world.facts), int(run.update)
    states = [
        jax.tree.map(lambda leaf, i=i: jnp.asarray(np.asarray(leaf)[i]), run.states)
        for i in range(len(keys))
    ]
    log = {name: np.array(sums) for name, sums in run.log.items()}
    for update in range(done, until):
        for i, state in enumerate(states):
            key, action_key, seeds = seed_episodes(keys[i], update, len(envs))
            choose = partial(_sample, form, numbers, state, key, action_key)
            where = f" of update {update + 1}, run {i}"
            played = play(world, envs, choose, np.asarray(seeds).tolist(), form.max_steps, where)
            padded = _pad(played, form.max_steps)
            states[i], metrics = learn_from(
                form, problem, numbers, state, *padded, key, update, total
            )
            for name, value in metrics.items():
                log[name][update // every, i] += np.asarray(value)
    return Run(jnp.int32(until), _stack(states), log, run.snapshots)


def _sample(
    form: Any, numbers: Any, state: Any, key: Any, action_key: Any, rows: np.ndarray, time: int
) -> np.ndarray:
    return np.asarray(choose_actions(form, numbers, state, rows, key, action_key, time))


def empty_problem(facts: Facts) -> Problem:
    """A model of 0 states, with the sizes of the environment."""
    actions, objectives = facts.actions, facts.objectives
    none = jnp.zeros((0, actions, 1))
    return Problem(
        Environment(
            jnp.zeros((0, actions, 1), jnp.int32),
            none,
            jnp.zeros((0, actions, 1, objectives)),
            jnp.zeros(0),
            jnp.zeros(0, bool),
        ),
        jnp.zeros((1, facts.inputs)),
        jnp.zeros(objectives - 1),
        jnp.zeros(objectives),
    )


def _pad(played: Played, max_steps: int) -> tuple[np.ndarray, ...]:
    """As `learn_from` takes them, with a length of few kinds, so that few programs are compiled."""
    taken = len(played.alive)
    length = max(_SHORTEST, 1 << (taken - 1).bit_length())
    more = (length if 2 * length <= max_steps else max_steps) - taken

    def longer(array: np.ndarray) -> np.ndarray:
        return np.concatenate([array, np.zeros((more, *array.shape[1:]), array.dtype)])

    seen = np.concatenate([longer(played.seen[:-1]), played.seen[-1:]])
    action, reward = played.action.astype(np.int32), played.reward.astype(seen.dtype)
    return seen, longer(action), longer(reward), longer(played.alive), played.terminated


def _stack(states: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *states)
