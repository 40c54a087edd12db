"""Training: one compiled program for environment, policy, K gradients, direction and optimiser.

Updates are a loop inside the program, seeds (and whatever numbers one sweeps) a ``vmap`` around each update. What a
learner is, and how to write one, is in `_learner`. A run depends on its key and number alone: not on the pieces
in which the loop is run, so that one that was killed and resumed from its last checkpoint ends with the same bits; and
not on what runs beside it, as long as that makes the same program. All alone, or among many, it is compiled to another,
which rounds otherwise, and training can make much of a last digit. For environments that are Python code
`_train_env` has the loop, and for learning from segments `_train_segments`.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol, cast, overload, runtime_checkable

from lexicone.learning._defaults import SEEDS
from lexicone.learning._environments import Env, EnvSource, OpenedEnv
from lexicone.learning._learner import EnvLearner, Learner, check_learner
from lexicone.learning._named_worlds import NamedWorld
from lexicone.learning._open_world import OpenedWorld
from lexicone.learning._plan import make_plan
from lexicone.learning._prepare import prepare
from lexicone.learning._result import uninterrupted
from lexicone.learning._result_env import TrainedEnv
from lexicone.learning._result_model import Trained
from lexicone.learning._result_segments import TrainedSegments
from lexicone.learning._saved import kept_every
from lexicone.learning._train_env import train_in_env
from lexicone.learning._train_model import check_variants, train_on_model
from lexicone.learning._train_segments import train_on_segments
from lexicone.learning._worlds_jax import JaxWorld
from lexicone.learning.algos._actor_critic import ActorCritic
from lexicone.learning.algos._ppo import PPO
from lexicone.models._matching import check_criterion, criterion_of
from lexicone.models._mdp import MDP
from lexicone.order import OrderLike, as_order

__all__ = ["train", "train_many"]

_Options = ParamSpec("_Options")
_Task = str | Env | Callable[[], Any] | EnvSource


@runtime_checkable
class _ByTask(Protocol[_Options]):
    """What kind of result a task and a learner lead to."""

    @overload
    def __call__(
        self,
        task: MDP,
        order: OrderLike,
        learner: Learner | None = None,
        *args: _Options.args,
        **options: _Options.kwargs,
    ) -> Trained: ...
    @overload
    def __call__(
        self,
        task: _Task | JaxWorld | NamedWorld | OpenedWorld | Sequence[Callable[..., Any]],
        order: OrderLike,
        learner: ActorCritic | None = None,
        *args: _Options.args,
        **options: _Options.kwargs,
    ) -> TrainedSegments: ...
    @overload
    def __call__(
        self,
        task: _Task | OpenedEnv,
        order: OrderLike,
        learner: EnvLearner,
        *args: _Options.args,
        **options: _Options.kwargs,
    ) -> TrainedEnv: ...


def _typed_by_task(
    function: Callable[Concatenate[Any, OrderLike, Any, _Options], Any],
) -> _ByTask[_Options]:
    """The function itself; type checkers learn what it returns for which task."""
    return cast(_ByTask[_Options], function)


@_typed_by_task
def train(
    task: Any,
    order: OrderLike,
    learner: Learner | EnvLearner | ActorCritic | None = None,
    *,
    seeds: int | None = None,
    updates: int | None = None,
    episodes: int | None = None,
    steps: int | None = None,
    seed: Any = 0,
    log_every: int | None = None,
    snapshots: int = 0,
    features: Any = None,
    actions: Any = None,
    rewards: Callable[[Any, Any, Any], Any] | None = None,
    progress: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    callback: Callable[[dict[str, Any]], bool | None] | None = None,
    log: str | Sequence[str] | Mapping[str, str | os.PathLike[str]] | None = None,
) -> Trained | TrainedEnv | TrainedSegments:
    """Train a learner on a model, in an environment or in a world written in JAX, ``seeds`` times.

    Without more, ``train(task, order)`` does what ``lexicone train`` does: `PPO` with its own settings, for each of 10
    seeds 20,000 episodes of a model, or 300,000 steps elsewhere.

    Args:
        task: an `MDP`; or a Gymnasium environment with one reward for each objective: its id, ``"FILE.py:NAME"``, a
            function or a class that makes one, one that has a ``spec`` from which copies can be made, or a
            ``VectorEnv``; or a world in JAX: an object with ``reset(key) -> (observation, state)`` and ``step(key,
            state, action) -> (observation, state, reward, terminated, truncated, info)``, or a pair of such functions.
        order: an `Order`, a list of thresholds, or a mapping from names to them. Names are matched with the model's or
            with the environment's ``reward_names``, and results have the order's sequence. Thresholds are compared with
            undiscounted returns, so that an amount per step needs a ``horizon``.
        learner: its algorithm and settings, such as `Reinforce`; by default `PPO`.
        seeds: how many independent runs, 10 by default, and 1 for a ``VectorEnv``. Run i is the same however many there
            are, up to rounding, since other numbers of runs may be compiled to other programs.
        updates, episodes, steps: how long; give one of them, or none for 20,000 episodes, or 300,000 steps where the
            learner takes segments (`PPO` and `A2C` wherever the task is no model). Rounded up to whole updates.
        seed: a number or a ``jax.random`` key, from which all randomness comes.
        log_every: updates per row of the history; by default 1, or more where that makes over 4,000 rows.
        snapshots: how many policies to keep along the way, evenly spaced, the last one at the end; for models.
        features: what networks see: for a model of each state, ``[S,D]``, by default one-hot vectors; for an
            environment a function from an observation to a vector, which by default flattens it.
        actions: what can be done in a world in JAX that does not say so itself: a number of choices, several such
            numbers, or bounds ``(low, high)``.
        rewards: a function that makes K rewards of (state, action, next state) in a world in JAX, and of (observation,
            action, next observation) in an environment, instead of the world's own.
        progress: show a progress bar with the mean returns and the satisfaction of the latest episodes, the pace and
            the time that is left; without a terminal a line now and then.
        checkpoint: a file that is kept up to date while training, and is complete at the end. One that holds another
            training is not replaced, unless you say ``overwrite``.
        resume: go on from that file, if it exists; it must be of the same training, or of the same with a smaller
            budget. Schedules are then stretched: what falls in the course of a training follows the larger budget from
            there on (`extended` in the result).
        overwrite: replace whatever is in that file.
        callback: ``callback(metrics)`` is called after each row of the history, with a dictionary of that row of all
            seeds, ``updates``, how many there will be, and ``seconds``. True ends the training: the result has all up
            to that row, says ``status="stopped"``, and can be resumed.
        log: ``"csv"``, ``"tensorboard"`` or both: rows of the history as they come, beside the checkpoint; or a mapping
            from these to a file and a folder.

    Ctrl-C ends the training early, too: what there is is saved and returned, with ``status="interrupted"``.
    """
    on_model = isinstance(task, MDP)
    learner = PPO() if learner is None else learner
    on_segments = not on_model and isinstance(learner, ActorCritic)
    check_learner(learner, *(["update"] if on_model else [] if on_segments else ["act", "learn"]))
    options: dict[str, Any] = {
        "seeds": SEEDS if seeds is None else seeds,
        "updates": updates,
        "episodes": episodes,
        "steps": steps,
        "seed": seed,
        "log_every": log_every,
        "snapshots": snapshots,
        "progress": progress,
        "checkpoint": checkpoint,
        "resume": resume,
        "overwrite": overwrite,
        "callback": callback,
        "log": log,
    }
    if resume is not False and log_every is None:
        options["log_every"] = kept_every(checkpoint)
    if on_segments:
        order = as_order(order).at_gamma(1.0)
        check_criterion(order, criterion_of(learner))
        prepared = prepare(
            task, order, learner, features=features, actions=actions, rewards=rewards
        )
        options["seeds"] = prepared.runs if seeds is None else seeds
        return train_on_segments(
            prepared, order, make_plan(None, steps_each=prepared.steps, **options)
        )
    for name, option in (("actions", actions), ("rewards", rewards)):
        if option is not None:
            raise ValueError(f"{name}: are for PPO and A2C, in environments and worlds")
    plan = make_plan(learner.batch, **options)
    if on_model:
        task, variants = check_variants(task, [(order, cast(Learner, learner))])
        return train_on_model(task, variants, features, plan)[0]
    order = as_order(order).at_gamma(1.0)
    check_criterion(order, criterion_of(learner))
    return train_in_env(task, order, cast(EnvLearner, learner), features, plan)


def train_many(
    task: MDP,
    variants: Sequence[tuple[OrderLike, Learner]],
    *,
    seeds: int = SEEDS,
    **options: Any,
) -> list[Trained]:
    """Train several (order, learner) at once that differ in thresholds and traced numbers only: one program, one vmap.

    Each result is the one that `train` gives for that order and learner, up to rounding. ``options`` are
    those of `train`, except those for files and ``callback``. Orders with names must have the same sequence. Ctrl-C
    is not caught.
    """
    unknown = set(options) & {"checkpoint", "resume", "overwrite", "log", "callback"}
    if unknown:
        raise ValueError(f"{min(unknown)}: is for train, not for several learners at once")
    if not isinstance(task, MDP):
        raise ValueError(
            f"task: expected an MDP, got {type(task).__name__}; in environments train one after another"
        )
    (task, checked), features = check_variants(task, variants), options.pop("features", None)
    plan = make_plan(checked[0][1].batch, seeds=seeds, **options)
    return [uninterrupted(trained) for trained in train_on_model(task, checked, features, plan)]
