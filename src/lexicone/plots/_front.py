"""Figures of Pareto fronts, and of what thresholds cost."""

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np

from lexicone._base.checks import check_type
from lexicone.exact._front import Front, Sensitivity
from lexicone.plots._checks import as_labels, check_titles
from lexicone.plots._style import GREY, INK, PRIMARY, SECONDARY, STYLE, Figure

__all__ = ["draw_front", "draw_sensitivity"]


def draw_front(
    *fronts: Front, names: Sequence[str] | None = None, title: str | None = None
) -> Figure:
    """Pareto fronts: one or several of two objectives, or one of three, the third as colour.

    Points of stochastic policies are joined, since what lies between two of them is a mixture; deterministic
    ones are steps, since nothing lies between.
    """
    if not fronts:
        raise ValueError("fronts: need at least one")
    for i, front in enumerate(fronts):
        check_type(f"fronts[{i}]", front, Front, "a Front, as pareto finds it")
    check_titles(title=title)
    count = fronts[0].values.shape[1]
    labels = as_labels("names", names, count)
    if any(front.values.shape[1] != count for front in fronts) or (count == 3 and len(fronts) > 1):
        raise ValueError("fronts: expected several of two objectives or one of three")
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.8, 3.4), layout="constrained")
        axes = figure.subplots()
        for front in fronts:
            mixed = front.policies == "stochastic"
            color = SECONDARY if mixed else PRIMARY
            incomplete = "" if front.complete or mixed else ", not all"
            if count == 3:
                shown = axes.scatter(*front.values[:, :2].T, c=front.values[:, 2], s=22)
                figure.colorbar(shown, ax=axes, label=labels[2])
                continue
            label = f"{front.policies} policies, {len(front.values)} points{incomplete}"
            line = {"color": color, "lw": 1.1, "label": label, "marker": "o"}
            if mixed:
                axes.plot(*front.values.T, **line, ms=3)
            else:
                axes.step(*front.values.T, where="pre", **line, ms=5)
        axes.set(xlabel=labels[0], ylabel=labels[1])
        axes.set_title(title or "", fontsize=9)
        if count == 2:
            axes.legend(loc="best", fontsize=8)
    return figure


def draw_sensitivity(
    found: Sensitivity, names: Sequence[str] | None = None, title: str | None = None
) -> Figure:
    """The values of the optimum as one threshold moves: its own objective first, then those that pay for it.

    Grey: the threshold cannot be met; dotted: where it stands in the order. Names and units are those of the order,
    unless ``names`` are given.
    """
    check_type("found", found, Sensitivity, "what sensitivity finds")
    check_titles(title=title)
    units = found.order
    labels = [
        label + level.unit
        for label, level in zip(
            as_labels("names", units.names if names is None else names, len(units)),
            units.levels,
            strict=True,
        )
    ]
    which = [found.objective, *range(found.objective + 1, found.values.shape[1])]
    moved = np.zeros_like(found.values)
    moved[:, found.objective] = found.thresholds
    levels, values = units.in_units(moved)[:, found.objective], units.in_units(found.values)
    now = np.zeros(len(units))
    now[found.objective] = units.thresholds[found.objective]
    own = units.in_units(now)[found.objective]
    order = np.argsort(levels)
    levels, values = levels[order], values[order]
    with mpl.rc_context(STYLE):
        size = (4.8, 0.6 + 1.5 * len(which))
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(len(which), 1, sharex=True)
        for axes, k in zip(panels, which, strict=True):
            finite = np.isfinite(levels) & np.isfinite(values[:, k])
            color = PRIMARY if k == found.objective else SECONDARY
            axes.plot(levels[finite], values[finite, k], color=color, marker=".", lw=1.4)
            axes.set_ylabel(labels[k])
            if np.isfinite(own):
                axes.axvline(own, color=INK, lw=0.9, ls=":")
            missed = levels[finite & ~found.satisfied[order]]
            if len(missed):
                axes.axvspan(missed[0], missed[-1], color=GREY, zorder=0)
        panels[-1].set_xlabel(f"threshold of {labels[found.objective]}")
        panels[0].set_title(title or "", fontsize=9)
    return figure
