"""Training: one compiled program for environment, policy, K gradients, direction and optimiser.

Updates are a loop inside the program, seeds (and whatever numbers one sweeps) a ``vmap`` around each update. What a
learner is, and how to write one, is in `lexicone.learner`. A run depends on its key and number alone: not on the pieces
in which the loop is run, so that one that was killed and resumed from its last checkpoint ends with the same bits; and
not on what runs beside it, as long as that makes the same program. All alone, or among many, it is compiled to another,
which rounds otherwise, and training can make much of a last digit. For environments that are Python code `train_env`
has the loop.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypedDict, Unpack, overload

import jax.numpy as jnp
import numpy as np

from lexicone.learning._arguments import (
    check_features,
    check_learner,
    check_variants,
    key_numbers,
    make_plan,
)
from lexicone.learning._collect_env import advance_env, begin_env
from lexicone.learning._compiled import advance, begin, run_keys, slice_runs
from lexicone.learning._environments import Env, Source, copies, open_world, source_of
from lexicone.learning._learner import Learner, split
from lexicone.learning._loop import complete
from lexicone.learning._result import Trained, problem_of
from lexicone.learning._result_env import TrainedEnv
from lexicone.learning._run import Run
from lexicone.models._mdp import MDP
from lexicone.order import Order

__all__ = ["train", "train_many"]


class Options(TypedDict, total=False):
    """Those of `train`."""

    seeds: int
    updates: int | None
    episodes: int | None
    key: Any
    log_every: int | None
    snapshots: int
    features: Any
    progress: bool
    checkpoint: str | os.PathLike[str] | None
    resume: bool


@overload
def train(
    task: MDP, order: Order | Iterable[float], learner: Learner, **options: Unpack[Options]
) -> Trained: ...
@overload
def train(
    task: str | Env | Callable[[], Any] | Source,
    order: Order | Iterable[float],
    learner: Learner,
    **options: Unpack[Options],
) -> TrainedEnv: ...


def train(
    task: Any,
    order: Order | Iterable[float],
    learner: Learner,
    *,
    seeds: int = 10,
    updates: int | None = None,
    episodes: int | None = None,
    key: Any = 0,
    log_every: int | None = None,
    snapshots: int = 0,
    features: Any = None,
    progress: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
) -> Trained | TrainedEnv:
    """Train a learner on a model or in an environment, ``seeds`` times.

    Args:
        task: an `MDP`; or a Gymnasium environment with one reward for each objective and discrete actions: its id, a
            function that makes one, or one that has a ``spec`` from which copies can be made.
        order: an `Order`, or its thresholds.
        learner: its algorithm and settings, such as `Reinforce`.
        seeds: how many independent runs. Run i is the same however many there are; on a model up to rounding, since
            other numbers of runs may be compiled to other programs.
        updates, episodes: how long; give one of them. Episodes are rounded up to whole updates.
        key: a number or a ``jax.random`` key, from which all randomness comes.
        log_every: updates per row of the history; by default 1, or more where that makes over 4,000 rows.
        snapshots: how many policies to keep along the way, evenly spaced, the last one at the end; for models.
        features: what networks see: for a model of each state, ``[S,D]``, by default one-hot vectors; for an
            environment a function from an observation to a vector, which by default flattens it.
        progress: show a progress bar with the mean returns and the satisfaction of the latest episodes.
        checkpoint: a file that is kept up to date while training, and is complete at the end.
        resume: go on from that file, if it exists; it must be of the same training.
    """
    options: Options = {
        "seeds": seeds,
        "updates": updates,
        "episodes": episodes,
        "key": key,
        "log_every": log_every,
        "snapshots": snapshots,
        "features": features,
        "progress": progress,
        "checkpoint": checkpoint,
        "resume": resume,
    }
    if not isinstance(task, MDP):
        order = order if isinstance(order, Order) else Order(order)
        return _train_env(task, order, learner, **options)
    (trained,) = _train(task, [(order, learner)], **options)
    return trained


def train_many(
    task: MDP,
    variants: Sequence[tuple[Order | Iterable[float], Learner]],
    *,
    seeds: int = 10,
    **options: Any,
) -> list[Trained]:
    """Train several (order, learner) at once that differ in thresholds and traced numbers only: one program, one vmap.

    Each result is the one that `train` gives for that order and learner, up to rounding. ``options`` are
    those of `train`, except ``checkpoint`` and ``resume``.
    """
    unknown = set(options) & {"checkpoint", "resume"}
    if unknown:
        raise ValueError(f"{unknown.pop()}: only train keeps checkpoints")
    if not isinstance(task, MDP):
        raise ValueError(
            f"task: expected an MDP, got {type(task).__name__}; in environments train one after another"
        )
    return _train(task, variants, seeds=seeds, **options)


def _train(
    task: MDP, given: Sequence[tuple[Any, Any]], *, features: Any = None, **options: Any
) -> list[Trained]:
    variants = check_variants(task, given)
    form = split(variants[0][1])[0]
    features = check_features(task, features)
    plan = make_plan(form.batch, **options)

    problem = problem_of(task, features, variants[0][0])
    keys = run_keys(plan.key, plan.seeds, len(variants))
    each = [
        {**split(learner)[1], "thresholds": np.array(order.thresholds)}
        for order, learner in variants
    ]
    numbers = {
        name: jnp.asarray(
            np.repeat(np.stack([own[name] for own in each]), plan.seeds, axis=0),
            problem.env.reward.dtype,
        )
        for name in each[0]
    }
    run = begin(form, problem, numbers, keys, plan.rows, plan.snapshots)

    def results(run: Run) -> list[Trained]:
        return [
            Trained(
                mdp=task,
                order=order,
                learner=learner,
                features=features,
                key=key_numbers(plan.key),
                updates=plan.updates,
                every=plan.every,
                run=slice_runs(run, i, len(variants)),
            )
            for i, (order, learner) in enumerate(variants)
        ]

    def go_on(run: Run, until: int) -> Run:
        return advance(form, problem, numbers, keys, run, until, plan.updates, plan.every)

    return results(complete(run, go_on, lambda run: results(run)[0], plan))


def _train_env(
    task: Any, order: Order, learner: Any, *, features: Any = None, **options: Any
) -> TrainedEnv:
    check_learner(learner, "init", "act", "learn", "log_policy")
    if options["snapshots"]:
        raise ValueError("snapshots: only a model's policies can be kept along the way")
    source = source_of(task)
    world = open_world(source, features, len(order))
    plan = make_plan(learner.batch, **options)

    keys = run_keys(plan.key, plan.seeds, 1)
    form, numbers = split(learner)
    numbers = {
        name: jnp.asarray(number, float)
        for name, number in {**numbers, "thresholds": order.thresholds}.items()
    }
    run = begin_env(world, form, numbers, keys, learner.batch, plan.rows)

    def result(run: Run) -> TrainedEnv:
        return TrainedEnv(
            facts=world.facts,
            source=source,
            features=features,
            order=order,
            learner=learner,
            key=key_numbers(plan.key),
            updates=plan.updates,
            every=plan.every,
            run=run,
        )

    with copies(world, learner.batch) as envs:

        def go_on(run: Run, until: int) -> Run:
            return advance_env(
                world, envs, form, numbers, keys, run, until, plan.updates, plan.every
            )

        return result(complete(run, go_on, result, plan))
