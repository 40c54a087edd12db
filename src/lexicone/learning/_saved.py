"""Trainings in files: how one is read again, and how one goes on.

A file holds the leaves of `Runs`, the model or what is known of the environment, and all that decides the numbers
(`TrainingResult.identity`).
"""

import dataclasses
import json
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from lexicone._base import checkpoint
from lexicone._base.checks import check_kind, check_path, check_whole
from lexicone._base.levels import level_from_file
from lexicone.learning._defaults import TRAINING_FILE
from lexicone.learning._environments import EnvFacts, imports_a_module, source_of
from lexicone.learning._learner import as_pytree, check_learner
from lexicone.learning._named_worlds import find_world
from lexicone.learning._open_world import WorldFacts
from lexicone.learning._problem import check_features, env_problem, model_problem
from lexicone.learning._result import STATUSES, TrainingResult
from lexicone.learning._result_env import TrainedEnv
from lexicone.learning._result_model import Trained
from lexicone.learning._result_segments import TrainedSegments, segment_problem
from lexicone.learning._runs import Runs, SegmentRun, named_leaves
from lexicone.learning.algos._registry import LEARNERS
from lexicone.learning.algos._segment_ppo import init
from lexicone.models._layout import Layout
from lexicone.models._mdp import MDP
from lexicone.models._saved_models import TABLES
from lexicone.order import Order, as_order

__all__ = ["check_same", "kept_every", "load", "resume"]

_MISSING = "missing"  # what a file of another version says of a setting that it does not have


class SavedTraining(NamedTuple):
    """A file, read and unchanged since it was written."""

    name: str
    arrays: dict[str, np.ndarray]
    facts: dict[str, Any]


class _Entries(dict[str, Any]):
    """What a file holds; one that is missing is named."""

    def __missing__(self, name: str) -> Any:
        raise LookupError(f"there is no entry {name!r}")


def load(
    path: str | os.PathLike[str],
    learner: Any = None,
    *,
    task: Any = None,
    features: Any = None,
    actions: Any = None,
    rewards: Any = None,
) -> Any:
    """A `Trained`, `TrainedEnv` or `TrainedSegments` from a file or a folder of ``lexicone train``, finished or not.

    A file may not ask for a module to be imported: an environment whose id is ``"module:Name-v0"`` or
    ``"FILE.py:Name"`` is made again only if that id is given as ``task``.

    Args:
        path: of the file or the folder.
        learner: needed for one that is not lexicone's own.
        task: the environment or world, before it is evaluated; not needed if it was given to `train` by its id.
        features: the function of observations that was given to `train`, if there was one.
        actions: what can be done in a world in JAX that does not say so itself.
        rewards: the function that makes rewards, if there was one.
    """
    check_path("path", path)
    saved = _read(os.path.join(path, TRAINING_FILE) if os.path.isdir(path) else path)
    name, arrays, facts = saved
    with _reading(name, "an order"):
        units = facts.get("units")
        order = Order(
            [float(t) for t in facts["thresholds"]]
            if units is None
            else [level_from_file(u) for u in units],
            names=facts["names"],
            break_ties=facts["break_ties"],
        )
    with _reading(name, "numbers"):
        shared = {
            "order": order,
            "key": tuple(facts["key"]),
            "updates": facts["updates"],
            "every": facts["every"],
            "status": _status(facts),
            "extended": _as_extended(facts),
        }
    if learner is not None:
        check_learner(learner)
    shared["learner"] = _make_learner(saved) if learner is None else learner
    if "segments" in facts:
        return _load_segments(saved, shared, task, features, actions, rewards)
    if "environment" in facts:
        return _load_env(saved, shared, task, features)
    if any(given is not None for given in (task, features, actions, rewards)):
        raise ValueError(f"task, features: {name!r} holds its model; they are for environments")
    with _reading(name, "a model"):
        rows, labels = _as_tuple(facts["map"]), _as_tuple(facts.get("map_labels"))
        layout = Layout(rows, arrays["mdp.layout"], labels) if rows else None
        mdp = MDP(
            **{table: arrays[f"mdp.{table}"] for table in TABLES},
            available=arrays.get("mdp.available"),
            **facts["model_names"],
            layout=layout,
        )
        features = check_features(mdp, arrays.get("features"))
        problem = model_problem(mdp, features, as_order(order, mdp.num_objectives))
    run = _read_runs(saved, _shapes(saved, lambda key: shared["learner"].init(problem, key)))
    return Trained(mdp=mdp, features=features, run=run, **shared)


def _load_env(saved: SavedTraining, shared: dict[str, Any], task: Any, features: Any) -> TrainedEnv:
    with _reading(saved.name, "an environment"):
        needed = {name: saved.facts[name] for name in EnvFacts._fields if name != "reward_names"}
        facts = EnvFacts(**needed, reward_names=_as_tuple(saved.facts.get("reward_names")))
    named, options = facts.environment_id, facts.environment_options
    same = isinstance(task, str) and task == named
    source = None if task is None else source_of(task, **(options if same else {}))
    if source is None and named is not None and not imports_a_module(named):
        source = source_of(named, **options)
    problem = env_problem(facts.sizes, shared["order"])
    run = _read_runs(saved, _shapes(saved, lambda key: shared["learner"].init(problem, key)))
    trained = TrainedEnv(facts=facts, source=source, features=features, run=run, **shared)
    if task is not None:
        _ = trained.world  # so that a wrong one is refused now
    return trained


def _load_segments(
    saved: SavedTraining,
    shared: dict[str, Any],
    task: Any,
    features: Any,
    actions: Any,
    rewards: Any,
) -> TrainedSegments:
    asked = task is not None
    with _reading(saved.name, "an environment"):
        needed = {name: saved.facts[name] for name in WorldFacts._fields if name != "reward_names"}
        facts = WorldFacts(**needed, reward_names=_as_tuple(saved.facts.get("reward_names")))
        problem = segment_problem(facts, shared["order"])
    learner = shared["learner"]
    as_pytree(learner)
    shapes = _shapes(saved, lambda key: SegmentRun(init(learner, problem, key), None))
    run = _read_runs(saved, shapes)
    known = {name for name, _ in named_leaves(run)}
    extra = {
        n: a
        for n, a in saved.arrays.items()
        if n not in known and n.startswith(("replay.", "run.states."))
    }
    named = facts.environment_id
    if task is None and named is not None and not imports_a_module(named):
        task = named
    if isinstance(task, str) and task == named:
        task = find_world(task, facts.environment_options)
    given = {"features": features, "actions": actions, "rewards": rewards}
    trained = TrainedSegments(facts=facts, task=task, given=given, run=run, extra=extra, **shared)
    if asked:
        _ = trained.world  # so that a wrong one is refused now
    return trained


def resume(
    path: str | os.PathLike[str], wanted: TrainingResult
) -> tuple[Runs, dict[str, np.ndarray], tuple[tuple[int, int], ...]]:
    """The runs with which a training goes on, if the file is of the same one; else a ValueError that says what differs.

    ``wanted`` is that training before its first update. It may be longer than that of the file: schedules are those of
    the longer one from then on. Second, whatever else the file holds; third, how often that was so (`extended`).
    """
    saved = _read(path)
    theirs, ours = saved.facts, wanted.identity
    if ours.get("segments") and "environment" in theirs and "segments" not in theirs:
        raise ValueError(
            f"resume: {saved.name!r} was trained on whole episodes, by an earlier version; it can be loaded and acts, "
            "but does not go on"
        )
    with _reading(saved.name, "numbers"):
        check_whole(updates=theirs["updates"])
        extended = _as_extended(theirs)
    before, longer = theirs["updates"], wanted.updates > theirs["updates"]
    if longer and ours["snapshots"]:
        raise ValueError(
            f"resume: {saved.name!r} was to have {before} updates, with snapshots at even distances; it cannot become "
            "longer"
        )
    difference = _first_difference(
        {**theirs, **({"updates": wanted.updates} if longer else {})}, wanted
    )
    if difference is not None:
        hint = "; one can go on longer, not end sooner" if wanted.updates < before else ""
        raise ValueError(f"resume: {saved.name!r} is of another training: its {difference}{hint}")
    runs = _read_runs(saved, wanted.run.states)
    if longer:
        rows = len(next(iter(wanted.run.log.values())))
        runs = runs._replace(log={name: _lengthen(sums, rows) for name, sums in runs.log.items()})
        extended = (*extended, (int(runs.update), before))
    kept = {name: array for name, array in saved.arrays.items() if name.startswith("replay.")}
    return runs, kept, extended


def check_same(path: str | os.PathLike[str], wanted: TrainingResult) -> None:
    """A ValueError if there is a file that holds anything but a beginning, or the end, of the same training."""
    name = os.fspath(path)
    how = (
        "resume=True goes on with what is there, overwrite=True replaces it (--resume and --overwrite on the command "
        "line, or another --out)"
    )
    try:
        saved = _read(path)
    except ValueError as error:
        words = str(error).removeprefix("path: ")
        raise ValueError(f"checkpoint: there is a file already, and {words}; {how}") from None
    difference = _first_difference(saved.facts, wanted)
    if difference is not None:
        raise ValueError(f"checkpoint: {name!r} holds another training: its {difference}; {how}")


def kept_every(path: str | os.PathLike[str] | None) -> int | None:
    """How many updates a row of the history has in a file that is gone on from; None where there is none to read."""
    try:
        return None if path is None else int(_read(path).facts["every"])
    except (ValueError, TypeError, LookupError, OSError):
        return None


def _first_difference(theirs: dict[str, Any], wanted: TrainingResult) -> str | None:
    """What decides the numbers, and is other than in a file."""
    _fill_in(theirs, wanted)
    for name, ours in json.loads(json.dumps(wanted.identity)).items():
        if ours != theirs.get(name, _MISSING):
            return _difference(name, theirs.get(name, _MISSING), ours)
    return None


def _lengthen(sums: Any, rows: int) -> Any:
    """Room for more rows."""
    more = max(0, rows - len(sums))
    return jnp.concatenate([sums, jnp.zeros((more, *sums.shape[1:]), sums.dtype)])


def _status(facts: dict[str, Any]) -> str:
    """As it was written; files of earlier versions say only how far they are."""
    known = "finished" if facts["done"] >= facts["updates"] else "unfinished"
    status = facts.get("status", known)
    check_kind("status", status, STATUSES)
    return status


def _as_extended(facts: dict[str, Any]) -> tuple[tuple[int, int], ...]:
    return tuple((int(at), int(before)) for at, before in facts.get("extended", ()))


def _fill_in(facts: dict[str, Any], wanted: TrainingResult) -> None:
    """Settings that are younger than the file had their defaults."""
    if not isinstance(facts.get("settings"), dict):
        return
    for field in dataclasses.fields(wanted.learner):
        if field.name not in facts["settings"] and field.default is not dataclasses.MISSING:
            facts["settings"][field.name] = json.loads(json.dumps(field.default))


def _difference(name: str, theirs: Any, ours: Any) -> str:
    """Of facts with entries, such as settings, the first that differs."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in {**ours, **theirs}:
            pair = theirs.get(key, _MISSING), ours.get(key, _MISSING)
            if pair[0] != pair[1]:
                return _difference(key, *pair)
    return f"{name} is {_brief(theirs)}, not {_brief(ours)}"


def _brief(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else text[:77] + "…"


def _read(path: str | os.PathLike[str]) -> SavedTraining:
    arrays, facts = checkpoint.read(path)
    name = os.fspath(path)
    if not isinstance(facts, dict) or "settings" not in facts:
        raise ValueError(f"path: {name!r} holds no training")
    return SavedTraining(name, _Entries(arrays), _Entries(facts))


@contextmanager
def _reading(name: str, part: str) -> Iterator[None]:
    """Whatever is wrong with a part of a file, whose digest may be right, is a ValueError that names both."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise ValueError(f"path: {name!r} has {part} that cannot be read: {error}") from None


def _make_learner(saved: SavedTraining) -> Any:
    kind = saved.facts.get("learner")
    if kind not in LEARNERS:
        raise ValueError(
            f"learner: {saved.name!r} was trained by {kind!r}; give that learner to load"
        )
    with _reading(saved.name, "settings"):
        settings = {key: _as_tuple(value) for key, value in saved.facts["settings"].items()}
        return LEARNERS[kind](**settings)


def _as_tuple(value: Any) -> Any:
    """What JSON has made a list of."""
    return tuple(value) if isinstance(value, list) else value


def _shapes(saved: SavedTraining, init: Callable[[Any], Any]) -> Any:
    """The states that ``init`` begins with, for as many runs as a file holds."""
    with _reading(saved.name, "numbers"):
        check_whole(seeds=saved.facts["seeds"])
    seeds = saved.facts["seeds"]
    return jax.eval_shape(lambda: jax.vmap(init)(jax.random.split(jax.random.key(0), seeds)))


def _read_runs(saved: SavedTraining, shapes: Any) -> Runs:
    """The runs that a file holds; a ValueError if their states do not have these shapes."""
    name, arrays, facts = saved
    with _reading(name, "numbers"):
        check_whole(seeds=facts["seeds"], updates=facts["updates"], every=facts["every"])
    seeds = facts["seeds"]
    leaves = []
    for key, leaf in named_leaves(Runs(jnp.int32(0), shapes, {}, jnp.zeros(0))):
        if not key.startswith("run.states"):
            continue
        if key not in arrays:
            raise ValueError(f"path: {name!r} has no {key}: another version of lexicone wrote it")
        if arrays[key].shape != np.shape(leaf):
            raise ValueError(
                f"path: {name!r} does not fit the learner: {key} is not {np.shape(leaf)}"
            )
        leaves.append(jnp.asarray(arrays[key]))
    states = jax.tree.unflatten(jax.tree.structure(shapes), leaves)
    prefix = "run.log."
    log = {k.removeprefix(prefix): arrays[k] for k in arrays if k.startswith(prefix)}
    with _reading(name, "a run"):
        update, snapshots = int(arrays["run.update"]), arrays["run.snapshots"]
        if not 0 <= update <= facts["updates"]:
            raise ValueError(f"run.update is {update}, and there are {facts['updates']} in all")
        if not log:
            raise ValueError("there is no entry 'run.log'")
        rows = math.ceil(update / facts["every"])
        for metric, sums in log.items():
            if sums.ndim < 2 or len(sums) < rows or sums.shape[1] != seeds:
                raise ValueError(f"run.log.{metric} has the shape {sums.shape}")
        if snapshots.ndim != 4 or snapshots.shape[1] != seeds:
            raise ValueError(f"run.snapshots has the shape {snapshots.shape}")
    log = {metric: jnp.asarray(sums) for metric, sums in log.items()}
    return Runs(jnp.int32(update), states, log, jnp.asarray(snapshots))
