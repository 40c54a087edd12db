"""A training in pieces: a progress bar, checkpoints on the way, and going on from one."""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import numpy as np
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from lexicone._base.checkpoint import read
from lexicone.learning._arguments import Plan
from lexicone.learning._result import load
from lexicone.learning._run import Run, Training
from lexicone.order import Order

__all__ = ["complete"]

_PIECE = 0.5  # seconds between two looks at the progress
_SAVE = 10.0  # seconds between two checkpoints
_MISSING = "missing"  # what a file of another version says of a setting that it does not have


def complete(
    run: Run,
    go_on: Callable[[Run, int], Run],
    result: Callable[[Run], Training],
    plan: Plan,
) -> Run:
    """All updates that are left, in one piece or with looks and checkpoints on the way.

    ``go_on(run, until)`` does updates until there are so many; ``result`` is what a run will be saved as.
    """
    path, wanted = plan.checkpoint, result(run)
    if path is not None and plan.resume and Path(path).exists():
        run = _resume(path, wanted)

    def save(run: Run) -> None:
        if path is not None:
            result(run).save(path)

    if path is None and not plan.progress:
        return jax.block_until_ready(go_on(run, plan.updates))
    with _bar(plan, wanted.order) as show:
        return _in_pieces(run, plan.updates, go_on, save, show)


def _in_pieces(
    run: Run,
    total: int,
    go_on: Callable[[Run, int], Run],
    save: Callable[[Run], None],
    show: Callable[[Run], None],
) -> Run:
    """The whole training in pieces of about half a second, with a look at each and a checkpoint now and then."""
    done = int(run.update)
    piece, saved, compiled = 1, time.monotonic(), False
    while done < total:
        begin = time.monotonic()
        run = jax.block_until_ready(go_on(run, min(done + piece, total)))
        seconds = time.monotonic() - begin
        pace = _PIECE / max(seconds, 1e-3) if compiled else 8.0  # the first was compilation
        piece, compiled = max(1, round(piece * min(8.0, pace))), True
        done = int(run.update)
        show(run)
        if time.monotonic() - saved >= _SAVE and done < total:
            save(run)
            saved = time.monotonic()
    save(run)
    return run


def _resume(path: str | os.PathLike[str], wanted: Training) -> Run:
    _, theirs = read(path)
    for name, ours in json.loads(json.dumps(wanted.identity)).items():
        if ours != theirs.get(name, _MISSING):
            raise ValueError(
                f"resume: {os.fspath(path)!r} is of another training: its "
                + _difference(name, theirs.get(name, _MISSING), ours)
            )
    return load(path, wanted.learner).run


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


@contextmanager
def _bar(plan: Plan, order: Order) -> Iterator[Callable[[Run], None]]:
    """A progress bar that says how the latest episodes of all runs went; or nothing."""
    if not plan.progress:
        yield lambda run: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=16),
        TextColumn("{task.completed}/{task.total}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, refresh_per_second=1 / _PIECE) as bar:
        task = bar.add_task("training", total=plan.updates)

        def show(run: Run) -> None:
            done = int(run.update)
            row = (done - 1) // plan.every
            size = done - row * plan.every
            returns = np.asarray(run.log["returns"])[row].mean(axis=0) / size
            met = [f"{m:.0%}" for m in np.asarray(run.log["satisfied"])[row].mean(axis=0) / size]
            names = order.labels if len(order) <= 3 else ("",) * len(order)  # more do not fit
            words = [f"{name} {value:.3g}" for name, value in zip(names, returns, strict=True)]
            text = "  ".join(words) + (f"  met {' '.join(met)}" if met else "")
            bar.update(task, completed=done, description=text)

        yield show
