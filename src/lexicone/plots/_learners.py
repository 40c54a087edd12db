"""Figures of the study of learners: success over training, learner × task, and success by Δ."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.ticker import FuncFormatter, PercentFormatter

from lexicone._base.arrays import as_numbers
from lexicone._base.checks import as_texts, check_mapping
from lexicone.plots._checks import as_curves, check_titles
from lexicone.plots._curves import draw_mean
from lexicone.plots._style import COLORS, INK, STYLE, Figure, line_style

__all__ = ["by_delta", "heat_table", "over_training"]

_SHADES = LinearSegmentedColormap.from_list("success", ["#f6d5cf", "#fbf5e6", "#bcd9f0"])
_MISSING = "#f2f2f2"


def over_training(
    panels: Mapping[str, Mapping[str, tuple[Any, Float[np.ndarray, "N P"]]]],
    ylabel: str = "successful episodes",
) -> Figure:
    """One panel per task, all its learners in it: every seed a thin line, their mean a thick one.

    Where a panel has more than two, the means alone, with shaded 95 % intervals over seeds.
    """
    check_titles(ylabel=ylabel)
    check_mapping("panels", panels, "names of tasks to curves")
    panels = {name: as_curves(f"panels[{name!r}]", curves) for name, curves in panels.items()}
    single = all(len(curves) <= 2 for curves in panels.values())
    with mpl.rc_context(STYLE):
        most = max(map(len, panels.values()))
        height = 2.9 + 0.2 * most
        figure = Figure(figsize=(4.2 * len(panels), height), layout="constrained")
        drawn = np.atleast_1d(figure.subplots(1, len(panels), sharey=True))
        for axes, (title, curves) in zip(drawn, panels.items(), strict=True):
            for number, (label, (episodes, share)) in enumerate(curves.items()):
                if not single:
                    draw_mean(axes, episodes, share, number, label)
                    continue
                color = COLORS[number]
                axes.plot(episodes, share.T, color=color, lw=0.6, alpha=0.35)
                axes.plot(episodes, share.mean(axis=0), color=color, lw=2.4, label=label)
            last = max(np.max(episodes) for episodes, _ in curves.values())
            axes.set(xlabel="episodes", xlim=(0, last), ylim=(-0.02, 1.02))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
            axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
            axes.set_title(title, fontsize=9)
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), fontsize=8)
        drawn[0].set_ylabel(ylabel)
        words = "thin: each seed, thick: their mean" if single else "mean of seeds, 95 % interval"
        figure.supxlabel(words, fontsize=7)
    return figure


def heat_table(
    rows: Sequence[str],
    columns: Sequence[str],
    rate: Float[np.ndarray, "R C"],
    words: Sequence[Sequence[str]],
    title: str,
) -> Figure:
    """Learner × task: a cell's shade is its rate, its words say the rest.

    Args:
        rows: names of the learners.
        columns: names of the tasks.
        rate: in [0, 1]; NaN where it was not run.
        words: what stands in each cell.
        title: above the table.
    """
    check_titles(title=title)
    rows, columns = as_texts("rows", rows), as_texts("columns", columns)
    if not rows or not columns:
        raise ValueError("rows, columns: there must be at least one of each")
    rate = as_numbers("rate", rate, (len(rows), len(columns)))
    if not isinstance(words, list | tuple) or len(words) != len(rows):
        raise ValueError(f"words: expected {len(rows)} lists of texts, got {words!r}")
    words = [as_texts(f"words[{i}]", row, len(columns)) for i, row in enumerate(words)]
    with mpl.rc_context(STYLE):
        size = (1.6 + 1.15 * len(columns), 1.3 + 0.5 * len(rows))
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        shades = _SHADES.with_extremes(bad=_MISSING)
        axes.imshow(np.ma.masked_invalid(rate), cmap=shades, vmin=0, vmax=1, aspect="auto")
        for i, j in np.argwhere(np.isfinite(rate)).tolist():
            axes.text(j, i, words[i][j], ha="center", va="center", fontsize=7.5, color=INK)
        axes.set_xticks(range(len(columns)), columns, fontsize=7.5)
        axes.set_yticks(range(len(rows)), rows)
        axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
        axes.set_xticks(np.arange(1, len(columns)) - 0.5, minor=True)
        axes.set_yticks(np.arange(1, len(rows)) - 0.5, minor=True)
        axes.grid(which="minor", color="white", lw=2)
        axes.tick_params(which="minor", length=0, top=False)
        axes.spines[:].set_visible(False)
        figure.supxlabel(title, fontsize=8)
    return figure


def by_delta(
    curves: Mapping[str, tuple[Any, Float[np.ndarray, "D N"]]],
    intervals: Mapping[str, Float[np.ndarray, "D 2"]],
    title: str,
) -> Figure:
    """The rate for each Δ in degrees: thin lines for single leaves, a thick one for all, bars for intervals."""
    check_titles(title=title)
    curves = as_curves("curves", curves, by_point=True)
    check_mapping("intervals", intervals, "labels to numbers")
    missing = [label for label in curves if label not in intervals]
    if missing:
        raise ValueError(f"intervals: there is none for {missing[0]!r}")
    intervals = {
        label: as_numbers(f"intervals[{label!r}]", intervals[label], (len(degrees), 2))
        for label, (degrees, _) in curves.items()
    }
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.4, 3.0), layout="constrained")
        axes = figure.subplots()
        for number, (label, (degrees, rates)) in enumerate(curves.items()):
            line = line_style(number ^ 1 if number < 2 else number)  # blue first
            color = line["color"]
            mean = rates.mean(axis=1)
            axes.plot(degrees, rates, color=color, lw=0.6, alpha=0.4)
            around = np.abs(intervals[label].T - mean)
            style: Any = {**line, "lw": 2, "capsize": 3, "elinewidth": 1, "label": label}
            axes.errorbar(degrees, mean, yerr=around, **style)
            axes.set_xticks(degrees)
        axes.set(xlabel="Δ in degrees", ylabel="successful seeds", ylim=(-0.02, 1.04))
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        axes.legend(loc="lower left", fontsize=8)
        axes.set_title(title, fontsize=9)
    return figure
