"""Figures of training: satisfaction over episodes, of one seed and of many; the probability of an end."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, PercentFormatter

from lexicone._base.arrays import as_numbers
from lexicone._base.checks import check_mapping, check_range, check_text, check_type
from lexicone.order import OrderLike, as_order
from lexicone.plots._checks import as_curves, as_history, check_titles
from lexicone.plots._style import COLORS, INK, STYLE, Figure, line_style

__all__ = ["history", "leaf_probabilities", "one_seed", "over_seeds"]

_thousands = FuncFormatter(lambda x, _: f"{x:,.0f}")


def one_seed(episodes: Any, rates: Mapping[str, Float[np.ndarray, " P"]], title: str) -> Figure:
    """The paper's figure of a successful seed: how often each objective is met, over training."""
    check_titles(title=title)
    episodes = as_numbers("episodes", episodes, (None,), finite=True)
    check_mapping("rates", rates, "labels to numbers")
    rates = {
        label: as_numbers(f"rates[{label!r}]", rate, episodes.shape)
        for label, rate in rates.items()
    }
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.6, 2.9), layout="constrained")
        axes = figure.subplots()
        for number, (label, rate) in enumerate(rates.items()):
            style: dict[str, Any] = {**line_style(number), "marker": "", "lw": 1.5}
            axes.plot(episodes, rate, **style, label=label)
        _share_axes(axes, episodes)
        axes.set_title(title, fontsize=9)
        axes.legend(loc="lower right", fontsize=8)
    return figure


def over_seeds(
    curves: Mapping[str, tuple[Any, Float[np.ndarray, "N P"]]], ylabel: str, title: str
) -> Figure:
    """The paper's figure of all seeds: the mean, two deviations around it, and every seed as a thin line."""
    check_titles(ylabel=ylabel, title=title)
    curves = as_curves("curves", curves)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3.6 * len(curves), 2.9), layout="constrained")
        panels = np.atleast_1d(figure.subplots(1, len(curves), sharey=True))
        for i, (axes, (label, (episodes, rates))) in enumerate(
            zip(panels, curves.items(), strict=True)
        ):
            color = COLORS[i % len(COLORS)]
            mean, spread = rates.mean(axis=0), 2 * rates.std(axis=0)
            axes.plot(episodes, rates.T, color=color, lw=0.5, alpha=0.35)
            band = (np.clip(mean - spread, 0, 1), np.clip(mean + spread, 0, 1))
            axes.fill_between(episodes, *band, color=color, alpha=0.15, lw=0)
            axes.plot(episodes, mean, color=color, lw=2)
            _share_axes(axes, episodes)
            axes.set_title(f"{label}, {len(rates)} seeds", fontsize=9)
        panels[0].set_ylabel(ylabel)
        figure.suptitle(title, fontsize=10)
        figure.supxlabel(
            "thick: mean, shaded: ± 2 standard deviations, thin: each seed", fontsize=7
        )
    return figure


def leaf_probabilities(
    panels: Mapping[str, Mapping[str, tuple[Any, Float[np.ndarray, "N P"]]]],
    levels: Mapping[str, float],
    title: str,
) -> Figure:
    """Probability of the desired leaf over episodes, one panel per learner; ``levels`` are results without a curve."""
    check_titles(title=title)
    check_mapping("panels", panels, "names to curves")
    panels = {name: as_curves(f"panels[{name!r}]", curves) for name, curves in panels.items()}
    check_type("levels", levels, Mapping, "a mapping from names to numbers")
    for name, level in levels.items():
        check_text("levels", name)
        check_range(f"levels[{name!r}]", level, -math.inf, math.inf, above=True, below=True)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3.7 * len(panels), 3.2), layout="constrained")
        drawn = np.atleast_1d(figure.subplots(1, len(panels), sharey=True))
        for axes, (name, curves) in zip(drawn, panels.items(), strict=True):
            last = 1.0
            for i, (label, (episodes, rates)) in enumerate(curves.items()):
                style = line_style(i) | {"label": label, "marker": ""}
                # Curves that coincide stay visible: the first is the widest.
                style["lw"] = 1.2 + 0.7 * (len(curves) - 1 - i)
                axes.plot(episodes, rates.mean(axis=0), **style)
                last = float(np.max(episodes))
            for i, (label, level) in enumerate(levels.items()):
                line = "--" if i == 0 else ":"
                axes.axhline(level, color=INK, lw=1, ls=line, label=label)
            _share_axes(axes, [last])
            axes.set_title(name, fontsize=9)
        drawn[0].set_ylabel("probability of the desired leaf")
        drawn[-1].legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
        figure.suptitle(title, fontsize=10)
    return figure


def history(found: Mapping[str, np.ndarray], order: OrderLike, title: str) -> Figure:
    """Returns and satisfaction while training, every seed drawn, smoothed over a fiftieth of the training.

    Where a learner does not report one of them, for all K objectives, its panels say so.
    """
    order = as_order(order)
    count = len(order)
    check_titles(title=title)
    at, over, found = as_history("found", found)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3.2 * count, 4.4), layout="constrained")
        grid = figure.subplots(2, count, sharex=True, squeeze=False)
        width = max(1, len(at) // 50)
        for k, label in enumerate(order.labels):
            color = COLORS[k % len(COLORS)]
            top, bottom = grid[0, k], grid[1, k]
            _draw_seeds(top, found, at, "returns", k, width, color)
            top.set_title(label, fontsize=9)
            if k < count - 1:
                top.axhline(order.thresholds[k], color=INK, lw=0.8, ls="--")
                _draw_seeds(bottom, found, at, "satisfied", k, width, color)
                bottom.set_ylabel("episodes that meet it")
            else:
                _draw_seeds(bottom, found, at, "improved", k, width, color)
                bottom.set_ylabel("updates that improve it")
            _share_axes(bottom, at, over)
        grid[0, 0].set_ylabel("return")
        figure.suptitle(title, fontsize=10)
    return figure


def _draw_seeds(
    axes: Axes,
    found: Mapping[str, np.ndarray],
    at: np.ndarray,
    name: str,
    k: int,
    width: int,
    color: str,
) -> None:
    """One objective of one entry of the history, over episodes or steps ``at [L]``."""
    table = np.asarray(found.get(name, np.empty(0)))
    if table.ndim != 3 or k >= table.shape[2] or not len(table):
        says = f"the learner does not\nreport {name!r}"
        axes.text(0.5, 0.5, says, transform=axes.transAxes, ha="center", va="center", fontsize=8)
        return
    rows = table[..., k]
    kernel = np.ones(width) / width
    smooth = np.array([np.convolve(row, kernel, mode="valid") for row in rows])
    at = np.asarray(at)[width - 1 :]
    axes.plot(at, smooth.T, color=color, lw=0.5, alpha=0.4)
    axes.plot(at, smooth.mean(axis=0), color=color, lw=2)


def _share_axes(axes: Axes, at: Sequence[float] | np.ndarray, label: str = "episodes") -> None:
    axes.set(xlabel=label, ylim=(-0.02, 1.02), xlim=(0, float(np.max(at))))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.xaxis.set_major_formatter(_thousands)
    axes.xaxis.get_major_locator().set_params(nbins=5)  # type: ignore[attr-defined]
