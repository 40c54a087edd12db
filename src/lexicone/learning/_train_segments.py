"""Training on segments: the loops around `learn`, for worlds that are compiled and for worlds that are Python code.

The update is one compiled program for all runs at once, whatever the lengths of episodes. In a compiled world the steps
are part of it; else all copies of all runs act in NumPy (`_acting`).
"""

import warnings
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PyTree

from lexicone.learning._acting import Acting, draw_segment
from lexicone.learning._devices import spread
from lexicone.learning._open_world import OpenedWorld
from lexicone.learning._outer_loop import run_to_end
from lexicone.learning._plan import Plan, key_numbers
from lexicone.learning._prepare import Prepared
from lexicone.learning._result_segments import TrainedSegments, segment_problem
from lexicone.learning._room import check_segments
from lexicone.learning._runs import Runs, SegmentRun, run_keys
from lexicone.learning._segments import Segment
from lexicone.learning._worlds_gym import make_copies
from lexicone.learning._worlds_jax import CompiledWorld, begin_places, run_segment
from lexicone.learning.algos._segment_ppo import SegmentProblem, choose, init, learn
from lexicone.order import Order

__all__ = ["advance", "learn_all", "train_on_segments"]

_ACTIONS = 0xAC705  # apart from what a learner draws with the same key


def train_on_segments(prepared: Prepared, order: Order, plan: Plan) -> TrainedSegments:
    """Train ``plan.seeds`` times at once."""
    if plan.snapshots:
        raise ValueError("snapshots: only a model's policies can be kept along the way")
    world, facts, learner, unlimited = prepared
    if isinstance(world, OpenedWorld) and not world.owned and plan.seeds > 1:
        raise ValueError(
            f"seeds: a VectorEnv serves one run, not {plan.seeds}; give seeds=1, or a function that makes vectors"
        )
    problem = segment_problem(facts, order)
    traced = jax.tree.map(lambda number: jnp.asarray(float(number), float), learner)
    inside = world if isinstance(world, CompiledWorld) else None  # of the program
    check_segments(learner, problem, plan, partial(_begin_one, traced, inside, problem))
    keys = spread(run_keys(plan.key, plan.seeds, 1), plan.seeds)
    runs = _begin(traced, inside, problem, keys, plan.rows)

    def result(runs: Runs, notes: dict[str, np.ndarray]) -> TrainedSegments:
        return TrainedSegments(
            facts=facts,
            known=world,
            order=order,
            learner=learner,
            key=key_numbers(plan.key),
            updates=plan.updates,
            every=plan.every,
            run=runs,
            extra=notes,
        )

    def tell_cut() -> None:
        if unlimited:
            warnings.warn(
                f"max_steps: {facts.environment} states no limit, and some of its episodes are cut off after "
                f"{learner.max_steps} steps; set max_steps to allow more",
                stacklevel=3,
            )

    if isinstance(world, CompiledWorld):

        def go_on(runs: Runs, until: int) -> Runs:
            return advance(traced, world, problem, keys, runs, until, plan.updates, plan.every)

        end = run_to_end(runs, go_on, lambda runs: result(runs, {}), plan, task=facts.environment)
        if np.asarray(end.runs.log["cut"]).sum() > 0:
            tell_cut()
        return end.says(result(end.runs, {}))
    copies = make_copies(
        world, key_numbers(plan.key), plan.seeds, learner.copies, learner.max_steps
    )
    try:
        copies.begin()
        marks = {
            0: copies.mark()
        }  # of the last two updates: runs that are saved may be the ones before

        def go_on_here(runs: Runs, until: int) -> Runs:
            after = _advance_here(copies, traced, problem, keys, runs, until, plan)
            for update in set(marks) - {int(runs.update)}:
                del marks[update]
            marks[until] = copies.mark()
            return after

        def restore(runs: Runs, notes: dict[str, np.ndarray]) -> None:
            copies.restore(notes)
            marks[int(runs.update)] = copies.mark()

        def result_here(runs: Runs) -> TrainedSegments:
            return result(runs, marks[int(runs.update)]())

        end = run_to_end(
            runs, go_on_here, result_here, plan, task=facts.environment, restore=restore
        )
        if copies.cut:
            tell_cut()
        return end.says(result_here(end.runs))
    finally:
        copies.close()


def _begin_one(
    learner: Any, world: CompiledWorld | None, problem: SegmentProblem, key: Any
) -> SegmentRun:
    """A run before its first update."""
    first, second = jax.random.split(jax.random.fold_in(key, 0))
    places = None if world is None else begin_places(world, second, learner.copies)
    return SegmentRun(init(learner, problem, first), places)


@partial(jax.jit, static_argnames=("world", "rows"))
def _begin(
    learner: Any, world: CompiledWorld | None, problem: SegmentProblem, keys: Any, rows: int
) -> Runs:
    """All runs before their first update."""
    one = partial(_begin_one, learner, world, problem)
    states = jax.vmap(one)(keys)
    empty = _no_segment(learner, problem)
    one_state = jax.eval_shape(lambda key: one(key).learning, keys[0])
    metrics = jax.eval_shape(
        lambda state: learn(learner, problem, state, empty, keys[0], jnp.zeros(()))[1], one_state
    )
    dtype, count = problem.thresholds.dtype, keys.shape[0]
    metrics["cut"] = jax.ShapeDtypeStruct((), dtype)
    log = {name: jnp.zeros((rows, count, *m.shape), m.dtype) for name, m in metrics.items()}
    return Runs(jnp.int32(0), states, log, jnp.zeros((0, count, 0, 0), dtype))


def _no_segment(learner: Any, problem: SegmentProblem) -> Segment:
    inputs, actions, objectives = problem.sizes
    shape, dtype = (learner.length, learner.copies), problem.thresholds.dtype
    row, flags = jnp.zeros((*shape, inputs), dtype), jnp.zeros(shape, bool)
    action = jnp.zeros((*shape, actions.parts), jnp.int32 if actions.discrete else dtype)
    return Segment(row, action, jnp.zeros((*shape, objectives), dtype), row, flags, flags, ~flags)


@partial(jax.jit, static_argnames=("world",))
def advance(
    learner: Any,
    world: CompiledWorld,
    problem: SegmentProblem,
    keys: Any,
    runs: Runs,
    until: Int[Array, ""] | int,
    total: Int[Array, ""] | int,
    every: Int[Array, ""] | int,
) -> Runs:
    """Updates in a compiled world until ``runs.update`` reaches ``until``, of ``total``.

    Args:
        learner: traced fields are numbers, the same for all runs.
        world: what is compiled with it.
        problem: thresholds and sizes.
        keys: of each run.
        runs: what is done so far.
        until: after how many updates to stop.
        total: how many the whole training has.
        every: updates per row of the history.
    """

    def body(runs: Runs) -> Runs:
        share = (runs.update / total).astype(problem.thresholds.dtype)

        def one(state: SegmentRun, key: Any) -> tuple[SegmentRun, dict[str, Array]]:
            key = jax.random.fold_in(key, runs.update + 1)
            act = partial(choose, problem.sizes.actions, state.learning.agent)
            places, segment, cut = run_segment(
                world, act, state.places, jax.random.fold_in(key, _ACTIONS), learner.length, learner.max_steps
            )  # fmt: skip
            learning, metrics = learn(learner, problem, state.learning, segment, key, share)
            return SegmentRun(learning, places), metrics | {"cut": cut.astype(share.dtype)}

        states, metrics = jax.vmap(one)(runs.states, keys)
        row = runs.update // every
        log = jax.tree.map(lambda sums, m: sums.at[row].add(m), runs.log, metrics)
        return Runs(runs.update + 1, states, log, runs.snapshots)

    return jax.lax.while_loop(lambda runs: runs.update < until, body, runs)


@jax.jit
def _keys_of(keys: Any, update: Any) -> tuple[Any, Any]:
    """Of one update of all runs: the learner's, and the actions'."""
    own = jax.vmap(lambda key: jax.random.fold_in(key, update + 1))(keys)
    return own, jax.vmap(lambda key: jax.random.fold_in(key, _ACTIONS))(own)


@jax.jit
def learn_all(
    learner: Any, problem: SegmentProblem, states: PyTree, segments: Segment, keys: Any, share: Any
) -> tuple[PyTree, dict[str, Array]]:
    """One update of all runs, from segments ``[T,R·N,…]``."""

    def part(array: Array) -> Array:
        runs = keys.shape[0]
        return jnp.moveaxis(array.reshape(array.shape[0], runs, -1, *array.shape[2:]), 1, 0)

    own = jax.tree.map(part, segments)
    return jax.vmap(lambda s, o, k: learn(learner, problem, s, o, k, share))(states, own, keys)


def _advance_here(
    copies: Any,
    learner: Any,
    problem: SegmentProblem,
    keys: Any,
    runs: Runs,
    until: int,
    plan: Plan,
) -> Runs:
    """Updates in copies that are Python code until there are so many."""
    states = jax.tree.map(jnp.asarray, runs.states.learning)
    log = {name: np.array(sums) for name, sums in runs.log.items()}
    dtype, actions = np.dtype(problem.thresholds.dtype), problem.sizes.actions
    for update in range(int(runs.update), until):
        copies.update = update + 1
        learn_keys, act_keys = _keys_of(keys, update)
        act = Acting(actions, states.agent)
        drawn = np.asarray(draw_segment(actions, act_keys, learner.length, learner.copies, dtype))
        steps = []
        for now in drawn:
            shown = copies.rows
            chosen = act(shown.reshape(len(keys), -1, shown.shape[-1]), now)
            chosen = chosen.reshape(len(shown), -1)
            steps.append((shown, chosen, *copies.step(chosen)))
        parts: list[Any] = [np.stack(part) for part in zip(*steps, strict=True)]
        segment = Segment(*parts)._replace(reward=parts[2].astype(dtype))
        share = jnp.asarray(update / plan.updates, dtype)
        states, metrics = learn_all(learner, problem, states, segment, learn_keys, share)
        for name, value in metrics.items():
            log[name][update // plan.every] += np.asarray(value)
    return Runs(jnp.int32(until), SegmentRun(states, None), log, runs.snapshots)
