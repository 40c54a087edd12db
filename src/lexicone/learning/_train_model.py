"""Training on a model: one compiled program, a loop over updates with a ``vmap`` over runs around each of them."""

from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from lexicone.learning._devices import spread
from lexicone.learning._episodes import RUNS
from lexicone.learning._learner import Learner, check_learner, with_arrays, with_cap
from lexicone.learning._outer_loop import run_to_end
from lexicone.learning._overflow import check_pay
from lexicone.learning._plan import Plan, key_numbers
from lexicone.learning._problem import (
    OWN_THRESHOLDS,
    Problem,
    chances_of,
    check_features,
    model_problem,
)
from lexicone.learning._result_model import Trained
from lexicone.learning._room import check_size
from lexicone.learning._runs import Runs, run_keys, slice_runs
from lexicone.models._matching import criterion_of, match_order
from lexicone.models._mdp import MDP
from lexicone.order import Order, OrderLike

__all__ = ["advance", "begin", "check_variants", "train_on_model"]


def check_variants(
    task: MDP, variants: Sequence[tuple[OrderLike, Learner]]
) -> tuple[MDP, list[tuple[Order, Learner]]]:
    """Orders and learners that fit the task, and that one program serves; the task in the orders' sequence."""
    pairs = isinstance(variants, list | tuple) and all(
        isinstance(pair, list | tuple) and len(pair) == 2 for pair in variants
    )
    if not pairs or not variants:
        raise ValueError("variants: need at least one, each an order and a learner")
    task, first = match_order(task, variants[0][0], criterion=None)
    checked = []
    for order, learner in variants:
        check_learner(learner, "update")
        same, order = match_order(task, order, criterion=criterion_of(learner))
        if same is not task:
            raise ValueError(
                f"variants: one program has one sequence of objectives; there are {', '.join(first.labels)} and "
                f"{', '.join(order.labels)}"
            )
        checked.append((order, with_cap(learner)))
    forms = {jax.tree.structure(learner) for _, learner in checked}
    if len(forms) > 1:
        traced = checked[0][1].traced
        allowed = f"may differ in {', '.join(traced)} only" if traced else "must be the same"
        raise ValueError(f"variants: learners {allowed}")
    return task, checked


def train_on_model(
    task: MDP, variants: Sequence[tuple[Order, Learner]], features: Any, plan: Plan
) -> list[Trained]:
    """Train all variants at once, ``plan.seeds`` times each: runs of one variant come one after another."""
    features = check_features(task, features)
    problem = model_problem(task, features, variants[0][0])
    dtype = problem.model.reward.dtype
    check_size(variants[0][1], problem, plan, len(variants))
    for _, learner in variants:
        check_pay(problem.scale, cast(int, learner.max_steps), dtype, task.objective_labels)
    of_each_run = [variant for variant in variants for _ in range(plan.seeds)]
    thresholds = np.array([order.thresholds for order, _ in of_each_run])
    chances = np.array([chances_of(order) for order, _ in of_each_run])
    learners, keys, thresholds, chances = spread(
        (
            with_arrays([learner for _, learner in of_each_run], dtype),
            run_keys(plan.key, plan.seeds, len(variants)),
            jnp.asarray(thresholds, dtype),
            jnp.asarray(chances, dtype),
        ),
        len(of_each_run),
    )
    problem = problem._replace(thresholds=thresholds, chances=chances)
    runs = begin(learners, problem, keys, plan.rows, plan.snapshots)

    def results(runs: Runs) -> list[Trained]:
        return [
            Trained(
                mdp=task,
                order=order,
                learner=learner,
                features=features,
                key=key_numbers(plan.key),
                updates=plan.updates,
                every=plan.every,
                run=slice_runs(runs, i, len(variants)),
            )
            for i, (order, learner) in enumerate(variants)
        ]

    def go_on(runs: Runs, until: int) -> Runs:
        return advance(learners, problem, keys, runs, until, plan.updates, plan.every)

    end = run_to_end(runs, go_on, lambda runs: results(runs)[0], plan)
    return [end.says(result) for result in results(end.runs)]


@partial(jax.jit, static_argnames=("rows", "snapshots"))
def begin(learners: Learner, problem: Problem, keys: Any, rows: int, snapshots: int) -> Runs:
    """All N runs before their first update.

    The traced fields of ``learners`` are ``[N]`` and the problem's thresholds ``[N,K−1]``: one for each run.
    """

    def one(learner: Any, problem: Problem, key: Any) -> tuple[Any, dict[str, Array]]:
        state = learner.init(problem, jax.random.fold_in(key, 0))
        metrics = jax.eval_shape(learner.update, problem, state, key, jnp.zeros(()))[1]
        return state, jax.tree.map(lambda m: jnp.zeros(m.shape, m.dtype), metrics)

    states, empty = _for_each_run(one, 0)(learners, problem, keys)
    log = jax.tree.map(lambda m: jnp.zeros((rows, *m.shape), m.dtype), empty)
    shape = (snapshots, keys.shape[0], *problem.model.next_state.shape[:2])
    return Runs(jnp.int32(0), states, log, jnp.zeros(shape, problem.model.reward.dtype))


@jax.jit
def advance(
    learners: Learner,
    problem: Problem,
    keys: Any,
    runs: Runs,
    until: Int[Array, ""] | int,
    total: Int[Array, ""] | int,
    every: Int[Array, ""] | int,
) -> Runs:
    """Updates until ``runs.update`` reaches ``until``, of ``total``.

    Args:
        learners: as in `begin`.
        problem: as in `begin`.
        keys: of each run.
        runs: what is done so far.
        until: after how many updates to stop.
        total: how many the whole training has.
        every: updates per row of the history.
    """
    count = runs.snapshots.shape[0]

    def body(runs: Runs) -> Runs:
        share = runs.update / total

        def one(learner: Any, problem: Problem, state: Any, key: Any) -> Any:
            return learner.update(problem, state, jax.random.fold_in(key, runs.update + 1), share)

        states, metrics = _for_each_run(one, 0, 0)(learners, problem, runs.states, keys)
        row = runs.update // every
        log = jax.tree.map(lambda sums, m: sums.at[row].add(m), runs.log, metrics)
        runs = Runs(runs.update + 1, states, log, runs.snapshots)
        return runs._replace(snapshots=keep(runs)) if count else runs

    def keep(runs: Runs) -> Array:
        place = runs.update * count // total
        due = place > (runs.update - 1) * count // total

        def one(learner: Any, problem: Problem, state: Any) -> Array:
            return learner.log_policy(problem, state)

        return jax.lax.cond(
            due,
            lambda kept: kept.at[place - 1].set(
                _for_each_run(one, 0)(learners, problem, runs.states).astype(kept.dtype)
            ),
            lambda kept: kept,
            runs.snapshots,
        )

    return jax.lax.while_loop(lambda runs: runs.update < until, body, runs)


def _for_each_run(function: Any, *axes: int) -> Any:
    """``function(learner, problem, …)`` of one run, for all."""
    return jax.vmap(function, in_axes=(0, OWN_THRESHOLDS, *axes), axis_name=RUNS)
