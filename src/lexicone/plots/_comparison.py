"""Learners compared over seeds: how many hold their thresholds, and the last objective beside the optimum."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator, PercentFormatter

from lexicone.plots._style import Figure, line_style

__all__ = ["compare_seeds"]


def compare_seeds(
    tasks: Mapping[str, Mapping[str, tuple[Any, np.ndarray, float | None, str]]],
) -> Figure:
    """A row for each task: shares with intervals on the left, every seed's last objective on the right.

    For each task and learner: the share ``(value, low, high)``, the values ``[N]``, the optimum or None, and the name
    of the last objective.
    """
    names = list(dict.fromkeys(name for learners in tasks.values() for name in learners))
    height = 0.8 + sum(0.5 + 0.28 * len(learners) for learners in tasks.values())
    figure = Figure(figsize=(7.0, height), layout="constrained")
    ratios = [0.5 + 0.28 * len(learners) for learners in tasks.values()]
    axes = figure.subplots(len(tasks), 2, squeeze=False, height_ratios=ratios)
    rng = np.random.default_rng(0)
    for (left, right), (task, learners) in zip(axes, tasks.items(), strict=True):
        last, best = "last objective", None
        for place, (name, (share, values, exact, what)) in enumerate(learners.items()):
            style = {**line_style(names.index(name)), "linestyle": ""}
            value, low, high = share
            left.plot([low, high], [place, place], color=style["color"], lw=2, alpha=0.5)
            left.plot([value], [place], ms=7, clip_on=False, **style)
            spread = place + rng.uniform(-0.18, 0.18, len(values))
            right.plot(values, spread, ms=4, alpha=0.6, mec="none", **style)
            right.plot([np.median(values)] * 2, [place - 0.3, place + 0.3], color="0.2", lw=1.5)
            best, last = exact if exact is not None else best, what
        if best is not None:
            right.axvline(best, color="0.3", ls="--", lw=1, label="optimum")
            right.legend(loc="best", fontsize=8, frameon=False)
        left.set(xlim=(-0.03, 1.03), yticks=range(len(learners)), yticklabels=list(learners))
        left.set_title(task, fontsize=10)
        left.set_xlabel("seeds that hold all thresholds", fontsize=9)
        left.xaxis.set_major_formatter(PercentFormatter(1.0))
        right.xaxis.set_major_locator(MaxNLocator(5))
        right.set(yticks=range(len(learners)), yticklabels=[])
        right.set_xlabel(f"{last}, every seed; bar: median", fontsize=9)
        for axis in (left, right):
            axis.set_ylim(len(learners) - 0.5, -0.5)
            axis.grid(axis="x", alpha=0.25)
            axis.spines[["top", "right"]].set_visible(False)
    return figure
