"""The history of a training as columns, and a training in one line and as HTML for notebooks."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from lexicone._base.html import block, table

if TYPE_CHECKING:
    from lexicone.learning._result import TrainingResult

__all__ = ["history_columns", "training_html", "training_line"]

_FIRST = ("update", "episodes", "steps")
_BY_OBJECTIVE = ("returns", "satisfied", "improved", "weights")


def history_columns(
    history: Mapping[str, np.ndarray], labels: Sequence[str], seeds: int
) -> dict[str, list[Any]]:
    """A row for each seed and row of the history: seeds one after the other."""
    rows = len(history["update"])
    columns: dict[str, list[Any]] = {"seed": np.repeat(np.arange(seeds), rows).tolist()}
    for name in [*_FIRST, *(name for name in history if name not in _FIRST)]:
        numbers = np.asarray(history.get(name, np.full(rows, np.nan)))
        if numbers.ndim == 1:
            numbers = np.broadcast_to(numbers, (seeds, rows))
        flat = numbers.reshape(seeds * rows, -1)
        for ending, column in zip(_endings(name, numbers, labels), flat.T, strict=True):
            columns[name + ending] = column.tolist()
    return columns


def _endings(name: str, numbers: np.ndarray, labels: Sequence[str]) -> list[str]:
    """What tells the columns of one entry apart."""
    if numbers.ndim == 2:
        return [""]
    count = int(np.prod(numbers.shape[2:]))
    pairs = [f".{a}.{b}" for a, b in combinations(labels, 2)]
    if name == "cosines" and count == len(pairs):
        return pairs
    if name in _BY_OBJECTIVE and count <= len(labels):
        return [f".{label}" for label in labels[:count]]
    return [f".{i}" for i in range(count)]


def training_line(trained: "TrainingResult") -> str:
    """What learned what, and how far it is."""
    done = int(trained.run.update)
    entries = ", ".join(f"{a} {b}" for a, b in zip(trained.labels, _goals(trained), strict=True))
    many = "seed" if trained.seeds == 1 else "seeds"
    return (
        f"{type(trained).__name__}({type(trained.learner).__name__}, {trained.seeds} {many}, "
        f"{done:,} of {trained.updates:,} updates; {entries})"
    )


def training_html(trained: "TrainingResult") -> str:
    """The last row of the history, objective by objective, over seeds."""
    order, history = trained.order, trained.history
    rows = []
    for k, (label, goal) in enumerate(zip(trained.labels, _goals(trained), strict=True)):
        returns, met = np.asarray(history.get("returns")), np.asarray(history.get("satisfied"))
        shown, share = "", ""
        if returns.ndim == 3 and returns.shape[1]:
            at_end = np.asarray(order.in_units(returns[:, -1]))[:, k]
            shown = f"{at_end.mean():.4g} ({at_end.min():.4g} to {at_end.max():.4g})"
        if met.ndim == 3 and k < met.shape[2] and met.shape[1]:
            share = f"{met[:, -1, k].mean():.0%}"
        rows.append((label, goal, shown, share))
    head = (
        "objective",
        "good enough",
        "return at the end: mean of seeds (range)",
        "episodes that meet it",
    )
    facts = f"{training_line(trained).partition(';')[0]})"
    note = "" if int(trained.run.update) else "<p>Nothing has been learned yet.</p>"
    return block(facts, table(head, rows), note)


def _goals(trained: "TrainingResult") -> list[str]:
    levels = trained.order.levels
    return [*(level.bound for level in levels[:-1]), str(levels[-1])]
