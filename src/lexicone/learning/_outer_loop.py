"""The outer loop of a training: updates in pieces of half a second, between them a progress bar and checkpoints."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import jax
import numpy as np

from lexicone._base.progress import progress_bars
from lexicone.learning._overflow import first_loss, lost_seeds, tell_loss
from lexicone.learning._plan import Plan
from lexicone.learning._result import TrainingResult
from lexicone.learning._runs import Runs
from lexicone.learning._saved import resume
from lexicone.order import Order

__all__ = ["run_to_end"]

_PIECE_SECONDS = 0.5  # between two looks at the progress
_SAVE_SECONDS = 10.0  # between two checkpoints


def run_to_end(
    runs: Runs,
    go_on: Callable[[Runs, int], Runs],
    result: Callable[[Runs], TrainingResult],
    plan: Plan,
    *,
    task: str = "",
    restore: Callable[[Runs, dict[str, np.ndarray]], None] | None = None,
) -> Runs:
    """All updates that are left, in pieces, with looks and checkpoints between them.

    A ValueError where numbers are lost; the checkpoint then holds all updates before. Whatever else goes wrong, it
    holds those of all pieces before.

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
    if path is not None:
        _ = wanted.identity  # so that settings which no file can hold are refused now
    if path is not None and plan.resume and Path(path).exists():
        runs, more = resume(path, wanted)
        if restore is not None:
            restore(runs, more)

    def save(runs: Runs) -> None:
        if path is not None:
            result(runs).save(path)

    def go_on_with_numbers(runs: Runs, until: int) -> Runs:
        try:
            after = jax.block_until_ready(go_on(runs, until))
        except Exception:
            save(runs)  # what was done before: the world may have failed, the training has not
            raise
        if lost_seeds(runs, after).any():
            good, after = first_loss(runs, after, go_on)
            save(good)
            raise ValueError(tell_loss(good, after, plan.every, wanted.order, task))
        return after

    with _bar(plan, wanted.order) as show:
        longest = plan.updates if restore is None else 1
        return _in_pieces(runs, plan.updates, go_on_with_numbers, save, show, longest=longest)


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


@contextmanager
def _bar(plan: Plan, order: Order) -> Iterator[Callable[[Runs], None]]:
    """A progress bar that says how the latest episodes of all runs went; or nothing."""
    if not plan.progress:
        yield lambda runs: None
        return
    with progress_bars(transient=False, refresh_per_second=1 / _PIECE_SECONDS) as bar:
        task = bar.add_task("training", total=plan.updates)

        def show(runs: Runs) -> None:
            done = int(runs.update)
            row = (done - 1) // plan.every
            size = done - row * plan.every
            if "finished" in runs.log:
                size = max(1.0, float(np.asarray(runs.log["finished"])[row].mean()))
            means = {
                name: np.asarray(runs.log[name])[row].mean(axis=0) / size
                for name in ("returns", "satisfied")
                if name in runs.log
            }
            bar.update(task, completed=done, description=_describe(means, order))

        yield show


def _describe(means: dict[str, np.ndarray], order: Order) -> str:
    """Mean returns, and how often thresholds were met, as far as the learner reports them."""
    words = []
    returns = means.get("returns", np.empty(0))
    if returns.shape == (len(order),):
        names = order.labels if len(order) <= 3 else ("",) * len(order)  # more do not fit
        words += [f"{name} {value:.3g}" for name, value in zip(names, returns, strict=True)]
    met = means.get("satisfied", np.empty(0))
    if met.ndim == 1 and len(met):
        words.append(f"met {' '.join(f'{share:.0%}' for share in met)}")
    return "  ".join(words) or "training"
