"""Looks at trainings under way: a setting that is behind, by the order, is given up.

At each of the shares of the budget that ``Study.prune`` names, a training stops, is judged by fresh episodes as at its
end, and goes on from its checkpoint with the same numbers as if nobody had looked. It is given up if, by then, most of
the earlier settings were better: if its standing (see `tuning`) is below their median. Settings that were asked for at
once do not see each other, so that whether one is given up follows from the study alone.
"""

from typing import Any

import numpy as np

from lexicone.order import Order
from lexicone.studies.sweeps.statistics import ranks

__all__ = ["final", "is_behind", "outcomes", "standings"]

_FIRST = 4  # settings that nobody is compared with


def outcomes(cell: dict[str, Any], order: Order) -> np.ndarray:
    """Each seed's values; where a threshold holds, up to the evaluation's error, it counts as met."""
    values = np.array(cell["values"], float)
    held = np.array(cell["held"], bool).reshape(len(values), -1)
    limits = np.broadcast_to(np.array(order.thresholds), held.shape)
    values[:, :-1] = np.where(held & np.isfinite(limits), limits, values[:, :-1])
    return values


def placed(cells: list[dict[str, Any]]) -> list[np.ndarray]:
    """The ranks of all seeds of all cells of a task together, by the order."""
    order = Order([float(t) for t in cells[0]["thresholds"]])
    return ranks(order, [outcomes(cell, order) for cell in cells])


def standings(cells: list[dict[str, Any]]) -> list[float]:
    """For each cell the probability that one of its seeds is better than one of all cells (half of it if equal).

    Those that were given up stand below all others, the earlier the lower, and are compared at the look where they
    were: with ``g`` looks between, by ``g`` less.
    """
    found = [0.0] * len(cells)
    levels = [cell.get("look") for cell in cells]
    for level in set(levels):
        chosen = [i for i, own in enumerate(levels) if own == level]
        ours = placed([cells[i] for i in chosen])
        every = np.concatenate(ours)
        for i, own in zip(chosen, ours, strict=True):
            share = (np.sign(np.subtract.outer(own, every)).mean() + 1) / 2
            found[i] = float(share) - (0 if level is None else cells[i]["looks"] - level)
    return found


def is_behind(seen: dict[str, Any], rivals: list[dict[str, Any]]) -> bool:
    """Whether most of the earlier settings were better when they were looked at."""
    if len(rivals) < _FIRST:
        return False
    *others, own = standings(
        [*({**rival, "look": None} for rival in rivals), {**seen, "look": None}]
    )
    return own < float(np.median(others))


def final(
    kept: dict[str, Any] | None, rivals: tuple[list[dict[str, Any]], ...]
) -> dict[str, Any] | None:
    """The outcome of a cell from what is kept of it: where it was given up, or its end; None if it is not done."""
    if kept is None:
        return None
    course = kept.get("course", [])
    for look, (seen, others) in enumerate(zip(course, rivals, strict=False)):
        if is_behind(seen, others):
            return {**seen, "look": look, "looks": len(rivals), "course": course[: look + 1]}
    return kept if "values" in kept else None
