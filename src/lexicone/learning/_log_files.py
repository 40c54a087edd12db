"""Rows of the history as they are finished: for the user's callback, for a CSV file, for TensorBoard.

A row depends on what was done alone, not on the pieces in which that was. So does the CSV file: a training that goes on
from a checkpoint writes it anew up to there. TensorBoard's files only grow; a new one says from where on it counts.
"""

import csv
import io
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from lexicone._base.events import EventFile
from lexicone._base.files import write_text
from lexicone.learning._plan import Plan
from lexicone.learning._result import TrainingResult
from lexicone.learning._runs import Runs

__all__ = ["LogFiles", "complete_rows", "log_files", "row_of"]


def complete_rows(runs: Runs, every: int, total: int) -> int:
    """How many rows of the history nothing will be added to."""
    done = int(runs.update)
    return math.ceil(done / every) if done >= total else done // every


def row_of(history: Mapping[str, np.ndarray], row: int) -> dict[str, Any]:
    """One row of all seeds: ``update`` a number, the rest arrays ``[N,…]``, but for ``episodes`` on a model."""
    found: dict[str, Any] = {}
    for name, table in history.items():
        entry = np.asarray(table)[row] if table.ndim == 1 else np.asarray(table)[:, row]
        found[name] = int(entry) if entry.ndim == 0 else entry
    return found


class LogFiles:
    """The files that a training keeps; ``add`` writes one row to all of them."""

    def __init__(self, plan: Plan, labels: Sequence[str], before: TrainingResult) -> None:
        self._labels, self._seeds = tuple(labels), plan.seeds
        self._table: Any = None
        self._events: list[EventFile] = []
        kinds = dict(plan.logs)
        if not kinds:
            return
        history = before.history
        rows = complete_rows(before.run, before.every, before.updates)
        if "csv" in kinds:
            lines = [line for i in range(rows) for line in self._lines(row_of(history, i))]
            write_text(kinds["csv"], _csv(lines))
            self._table = _open_end(kinds["csv"])
        if "tensorboard" in kinds:
            steps = row_of(history, rows - 1) if rows else {"update": -1}
            for seed in range(plan.seeds):
                folder = kinds["tensorboard"] / f"seed-{seed}"
                self._events.append(EventFile(folder, _step(steps, seed) + 1))

    def add(self, row: dict[str, Any]) -> None:
        """One row, in the files when this returns."""
        lines = self._lines(row) if self._table or self._events else []
        if self._table is not None:
            empty = self._table.tell() == 0
            self._table.write(_csv(lines, header=empty))
            self._table.flush()
        for seed, events in enumerate(self._events):
            numbers = {
                tag.replace(".", "/", 1): float(number)
                for tag, number in lines[seed].items()
                if tag not in ("seed", "update") and number == number
            }
            events.add(numbers, _step(row, seed))

    def close(self) -> None:
        """Nothing more comes."""
        for file in (self._table, *self._events):
            if file is not None:
                file.close()

    def _lines(self, row: Mapping[str, Any]) -> list[dict[str, Any]]:
        """A line for each seed, with a column for each objective, threshold or pair of them."""
        pairs = [f"{a}~{b}" for a, b in combinations(self._labels, 2)]
        names = {"cosines": pairs, "satisfied": self._labels[:-1]}
        lines = []
        for seed in range(self._seeds):
            line: dict[str, Any] = {"update": row["update"], "seed": seed}
            for name, entry in row.items():
                own = np.asarray(entry if np.ndim(entry) == 0 else entry[seed])
                if name == "update" or own.ndim > 1:
                    continue
                if own.ndim == 0:
                    line[name] = own.item()
                    continue
                known = names.get(name, self._labels)
                if len(known) != len(own):
                    known = [str(i + 1) for i in range(len(own))]
                line |= {f"{name}.{k}": v for k, v in zip(known, own.tolist(), strict=True)}
            lines.append(line)
        return lines


@contextmanager
def log_files(plan: Plan, before: TrainingResult) -> Iterator[LogFiles]:
    """The files of a training, closed at the end. ``before`` is where it begins or goes on."""
    with ExitStack() as stack:
        files = LogFiles(plan, before.order.labels, before)
        stack.callback(files.close)
        yield files


def _step(row: Mapping[str, Any], seed: int) -> int:
    """What TensorBoard draws over: steps of the environment, or updates where a learner does not count them."""
    if "steps" not in row:
        return int(row["update"])
    return int(np.asarray(row["steps"])[seed])


def _csv(lines: Sequence[Mapping[str, Any]], *, header: bool = True) -> str:
    if not lines:
        return ""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
    if header:
        writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def _open_end(path: Path) -> Any:
    file = open(os.fspath(path), "a", encoding="utf-8", newline="")  # noqa: SIM115
    file.seek(0, os.SEEK_END)
    return file
