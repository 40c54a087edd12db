"""The outer loop of a training: updates in pieces of half a second, between them looks, callbacks and checkpoints."""

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import jax
import numpy as np

from lexicone._base.checks import check_flags
from lexicone.learning._log_files import complete_rows, log_files, row_of
from lexicone.learning._overflow import first_loss, lost_seeds, tell_loss
from lexicone.learning._plan import Plan
from lexicone.learning._progress import showing
from lexicone.learning._result import TrainingResult
from lexicone.learning._runs import Runs
from lexicone.learning._saved import check_same, resume

__all__ = ["Ended", "run_to_end"]

_PIECE_SECONDS = 0.5  # between two looks at the progress
_SAVE_SECONDS = 10.0  # between two checkpoints
_Result = TypeVar("_Result", bound=TrainingResult)


class Ended(NamedTuple):
    """How a training has ended, or was ended."""

    runs: Runs
    status: Literal["finished", "stopped", "interrupted"]
    extended: tuple[tuple[int, int], ...]

    def says(self, result: _Result) -> _Result:
        """A result that knows it."""
        return dataclasses.replace(result, status=self.status, extended=self.extended)


class _Stopped(Exception):
    """The callback has asked for it."""


def run_to_end(
    runs: Runs,
    go_on: Callable[[Runs, int], Runs],
    result: Callable[[Runs], TrainingResult],
    plan: Plan,
    *,
    task: str = "",
    restore: Callable[[Runs, dict[str, np.ndarray]], None] | None = None,
) -> Ended:
    """All updates that are left, in pieces, with looks and checkpoints between them.

    A ValueError where numbers are lost; the checkpoint then holds all updates before. Whatever else goes wrong, it
    holds those of all pieces before. A callback that returns True, or Ctrl-C, ends it early, and all is kept.

    Args:
        runs: before the first update.
        go_on: ``go_on(runs, until)`` does updates until there are so many.
        result: what runs will be saved as.
        plan: how long, and what is kept.
        task: what messages call it.
        restore: is told the runs, and what else there is, in a file from which a training goes on. Where a world has
            to be brought back so, no update can be done twice, and a piece is one of them.
    """
    path, wanted = plan.checkpoint, result(runs)
    extended: tuple[tuple[int, int], ...] = ()
    if path is not None:
        _ = wanted.identity  # so that settings which no file can hold are refused now
    if path is not None and Path(path).exists():
        if plan.resume:
            runs, more, extended = resume(path, wanted)
            if restore is not None:
                restore(runs, more)
        elif not plan.overwrite:
            check_same(path, wanted)
    latest = runs

    def save(runs: Runs, status: Any = "unfinished") -> None:
        if path is not None:
            status = "finished" if int(runs.update) >= plan.updates else status
            Ended(runs, status, extended).says(result(runs)).save(path)

    def go_on_with_numbers(runs: Runs, until: int) -> Runs:
        nonlocal latest
        try:
            after = jax.block_until_ready(go_on(runs, until))
        except Exception:
            save(runs)  # what was done before: the world may have failed, the training has not
            raise
        if lost_seeds(runs, after).any():
            good, after = first_loss(runs, after, go_on)
            save(good)
            raise ValueError(tell_loss(good, after, plan.every, wanted.order, task))
        latest = after
        stop = tell_rows(runs, after)
        if stop is not None:
            if stop.update < int(
                after.update
            ):  # a piece ends with the same bits however it is parted
                latest = jax.block_until_ready(go_on(runs, stop.update))
            save(latest, "stopped" if isinstance(stop.error, _Stopped) else "unfinished")
            raise stop.error
        return after

    def tell_rows(runs: Runs, after: Runs) -> "_Stop | None":
        """Tell the log files and the callback of all rows that were finished; whether, and where, it ends."""
        if plan.callback is None and not plan.logs:
            return None
        first, last = (complete_rows(r, plan.every, plan.updates) for r in (runs, after))
        history = result(after).history if last > first else {}
        for place in range(first, last):
            row = row_of(history, place)
            files.add(row)
            stop = _ask(plan.callback, {**row, "updates": plan.updates}, started)
            if stop is not None:
                return stop
        return None

    started = time.monotonic()
    longest = plan.updates if restore is None else 1
    status: Any = "finished"
    try:
        with log_files(plan, result(runs)) as files, showing(plan, wanted.order) as show:
            latest = _in_pieces(runs, plan.updates, go_on_with_numbers, save, show, longest=longest)
    except _Stopped:
        status = "stopped"
    except KeyboardInterrupt:
        status = "interrupted"
        save(latest, status)
    status = "finished" if int(latest.update) >= plan.updates else status
    return Ended(latest, status, extended)


class _Stop(NamedTuple):
    update: int
    """After which the training ends."""
    error: Exception


def _ask(callback: Any, row: dict[str, Any], started: float) -> _Stop | None:
    """What the user's function says of a row."""
    if callback is None:
        return None
    update = row["update"]
    try:
        answer = callback({**row, "seconds": time.monotonic() - started})
    except Exception as error:
        name = getattr(callback, "__qualname__", type(callback).__name__)
        told = ValueError(
            f"callback: {name} failed after update {update}: {type(error).__name__}: {error}"
        )
        told.__cause__ = error
        return _Stop(update, told)
    try:
        check_flags(callback=False if answer is None else answer)
    except ValueError:
        told = ValueError(f"callback: must return True, False or None, got {answer!r}")
        return _Stop(update, told)
    return _Stop(update, _Stopped()) if answer else None


def _in_pieces(
    runs: Runs,
    total: int,
    go_on: Callable[[Runs, int], Runs],
    save: Callable[[Runs], None],
    show: Callable[[Runs], None],
    *,
    longest: int,
) -> Runs:
    """The whole training in pieces of about half a second, with a look at each and a checkpoint now and then."""
    done = int(runs.update)
    piece, saved, compiled = 1, time.monotonic(), False
    while done < total:
        begin = time.monotonic()
        runs = go_on(runs, min(done + piece, total))
        seconds = time.monotonic() - begin
        pace = _PIECE_SECONDS / max(seconds, 1e-3) if compiled else 8.0  # the first was compilation
        piece, compiled = min(longest, max(1, round(piece * min(8.0, pace)))), True
        done = int(runs.update)
        show(runs)
        if time.monotonic() - saved >= _SAVE_SECONDS and done < total:
            save(runs)
            saved = time.monotonic()
    save(runs)
    return runs
