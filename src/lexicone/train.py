"""Training: one compiled program for environment, policy, K gradients, direction and optimiser.

Updates are a loop inside the program, seeds (and whatever numbers one sweeps) a ``vmap`` around each update. What a
learner is, and how to write one, is in `lexicone.learner`. A run depends on its key and number alone: not on how many
others run beside it, nor on the pieces in which the loop is run. A run that was killed and resumed from its last
checkpoint therefore ends with the numbers of one that was not.
"""

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from lexicone.checkpoint import read
from lexicone.engine import advance, begin, run_keys, slice_runs
from lexicone.learner import Learner, split
from lexicone.mdp import MDP
from lexicone.order import Order
from lexicone.trained import Run, Trained, load, problem_of

__all__ = ["train", "train_many"]

_ROWS = 4000  # of history that are kept without being asked for
_PIECE = 0.5  # seconds between two looks at the progress
_SAVE = 10.0  # seconds between two checkpoints


def train(
    task: MDP,
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
) -> Trained:
    """Train a learner on a model, ``seeds`` times at once.

    Args:
        task: the model.
        order: an `Order`, or its thresholds.
        learner: its algorithm and settings, such as `Reinforce`.
        seeds: how many independent runs; run i is the same however many there are.
        updates, episodes: how long; give one of them. Episodes are rounded up to whole updates.
        key: a number or a ``jax.random`` key, from which all randomness comes.
        log_every: updates per row of the history; by default 1, or more where that makes over 4,000 rows.
        snapshots: how many policies to keep along the way, evenly spaced, the last one at the end.
        features: what networks see of each state, ``[S,D]``; one-hot vectors by default.
        progress: show a progress bar with the mean returns and the satisfaction of the latest episodes.
        checkpoint: a file that is kept up to date while training, and is complete at the end.
        resume: go on from that file, if it exists; it must be of the same training.
    """
    order = order if isinstance(order, Order) else Order(order)
    (trained,) = _train(
        task,
        [(order, learner)],
        seeds=seeds,
        updates=updates,
        episodes=episodes,
        key=key,
        log_every=log_every,
        snapshots=snapshots,
        features=features,
        progress=progress,
        checkpoint=checkpoint,
        resume=resume,
    )
    return trained


def train_many(
    task: MDP, variants: Sequence[tuple[Order, Learner]], *, seeds: int = 10, **options: Any
) -> list[Trained]:
    """Train several (order, learner) at once that differ in thresholds and traced numbers only: one program, one vmap.

    Each result is the one that `train` gives for that order and learner. ``options`` are those of `train`, except
    ``checkpoint`` and ``resume``.
    """
    unknown = set(options) & {"checkpoint", "resume"}
    if unknown:
        raise ValueError(f"{unknown.pop()}: only train keeps checkpoints")
    return _train(task, variants, seeds=seeds, **options)


def _train(
    task: Any,
    variants: Sequence[tuple[Order, Any]],
    *,
    seeds: int,
    updates: int | None = None,
    episodes: int | None = None,
    key: Any = 0,
    log_every: int | None = None,
    snapshots: int = 0,
    features: Any = None,
    progress: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
) -> list[Trained]:
    form = _check_variants(task, variants)
    total = _check_length(seeds, updates, episodes, variants[0][1].batch)
    every = max(1, -(-total // _ROWS)) if log_every is None else log_every
    for name, value, least in (("log_every", every, 1), ("snapshots", snapshots, 0)):
        if value < least:
            raise ValueError(f"{name}: must be at least {least}, got {value}")
    if resume and checkpoint is None:
        raise ValueError("resume: needs the checkpoint to go on from")
    features = _check_features(task, features)
    key = jax.random.key(key) if isinstance(key, int | np.integer) else key
    snapshots = min(snapshots, total)

    problem = problem_of(task, features, variants[0][0])
    dtype = problem.env.reward.dtype
    keys = run_keys(key, seeds, len(variants))
    numbers = [
        {**split(learner)[1], "thresholds": np.array(order.thresholds)}
        for order, learner in variants
    ]
    numbers = {
        name: jnp.asarray(np.repeat(np.stack([n[name] for n in numbers]), seeds, axis=0), dtype)
        for name in numbers[0]
    }
    rows = 2 ** max(6, (-(-total // every) - 1).bit_length())  # other lengths, the same program
    run = begin(form, problem, numbers, keys, rows, snapshots)

    def results(run: Run) -> list[Trained]:
        return [
            Trained(
                mdp=task,
                order=order,
                learner=learner,
                features=features,
                key=tuple(np.asarray(jax.random.key_data(key)).tolist()),
                updates=total,
                every=every,
                run=slice_runs(run, i, len(variants)),
            )
            for i, (order, learner) in enumerate(variants)
        ]

    if checkpoint is not None and resume and Path(checkpoint).exists():
        run = _resume(checkpoint, results(run)[0])

    def go_on(run: Run, until: int) -> Run:
        return advance(form, problem, numbers, keys, run, until, total, every)

    def save(run: Run) -> None:
        if checkpoint is not None:
            results(run)[0].save(checkpoint)

    if checkpoint is None and not progress:
        return results(jax.block_until_ready(go_on(run, total)))
    with _bar(progress, total, variants[0][0], every) as show:
        run = _in_pieces(run, total, go_on, save, show)
    return results(run)


def _in_pieces(
    run: Run,
    total: int,
    go_on: Callable[[Run, int], Run],
    save: Callable[[Run], None],
    show: Callable[[Run], None],
) -> Run:
    """The whole training in pieces of about half a second, with a look at each and a checkpoint now and then."""
    done = int(run.update)
    piece, saved = 1, time.monotonic()
    while done < total:
        begin = time.monotonic()
        run = jax.block_until_ready(go_on(run, min(done + piece, total)))
        seconds = time.monotonic() - begin
        pace = 8.0 if piece == 1 else _PIECE / max(seconds, 1e-3)  # the first was compilation
        piece = max(2, round(piece * min(8.0, pace)))
        done = int(run.update)
        show(run)
        if time.monotonic() - saved >= _SAVE and done < total:
            save(run)
            saved = time.monotonic()
    save(run)
    return run


def _resume(path: str | os.PathLike[str], wanted: Trained) -> Run:
    _, theirs = read(path)
    for name, ours in json.loads(json.dumps(wanted.identity)).items():
        if ours != theirs.get(name):
            raise ValueError(
                f"resume: {os.fspath(path)!r} is of another training: its {name} is "
                f"{_brief(theirs.get(name))}, not {_brief(ours)}"
            )
    return load(path, wanted.learner).run


def _brief(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else text[:77] + "…"


def _check_variants(task: Any, variants: Sequence[tuple[Order, Any]]) -> Any:
    """The form that all learners share, once orders and learners fit the task and each other."""
    if not isinstance(task, MDP):
        raise ValueError(f"task: expected an MDP, got {type(task).__name__}")
    if not variants:
        raise ValueError("variants: need at least one")
    forms = []
    for order, learner in variants:
        if len(order) != task.num_objectives:
            raise ValueError(
                f"order: has {len(order)} objectives, the task has {task.num_objectives}"
            )
        missing = [
            name
            for name in ("traced", "batch", "max_steps", "init", "update", "log_policy")
            if not hasattr(learner, name)
        ]
        if missing:
            raise ValueError(f"learner: {learner!r} has no {', '.join(missing)}")
        forms.append(split(learner)[0])
    if any(form != forms[0] for form in forms):
        traced = ", ".join(variants[0][1].traced)
        raise ValueError(f"variants: learners may differ in {traced} only")
    return forms[0]


def _check_length(seeds: int, updates: int | None, episodes: int | None, batch: int) -> int:
    if seeds < 1:
        raise ValueError(f"seeds: must be at least 1, got {seeds}")
    if (updates is None) == (episodes is None):
        raise ValueError("updates, episodes: give one of them")
    name, value = ("updates", updates) if updates is not None else ("episodes", episodes)
    if value is None or value < 1:
        raise ValueError(f"{name}: must be at least 1, got {value}")
    return value if name == "updates" else -(-value // batch)


def _check_features(task: MDP, features: Any) -> np.ndarray | None:
    if features is None:
        return None
    rows = np.asarray(features, dtype=float)
    if rows.ndim != 2 or rows.shape[0] != task.num_states or not np.isfinite(rows).all():
        raise ValueError(
            f"features: expected finite numbers of shape [{task.num_states}, D], got {rows.shape}"
        )
    return rows


@contextmanager
def _bar(progress: bool, total: int, order: Order, every: int) -> Iterator[Callable[[Run], None]]:
    """A progress bar that says how the latest episodes of all runs went; or nothing."""
    if not progress:
        yield lambda run: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=16),
        TextColumn("{task.completed}/{task.total}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns) as bar:
        task = bar.add_task("training", total=total)

        def show(run: Run) -> None:
            done = int(run.update)
            row = (done - 1) // every
            size = done - row * every
            returns = np.asarray(run.log["returns"])[row].mean(axis=0) / size
            met = [f"{m:.0%}" for m in np.asarray(run.log["satisfied"])[row].mean(axis=0) / size]
            names = order.labels if len(order) <= 3 else ("",) * len(order)  # more do not fit
            words = [f"{name} {value:.3g}" for name, value in zip(names, returns, strict=True)]
            text = "  ".join(words) + (f"  met {' '.join(met)}" if met else "")
            bar.update(task, completed=done, description=text)

        yield show
