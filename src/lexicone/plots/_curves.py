"""Curves of several learners over training, with intervals over seeds."""

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, PercentFormatter
from scipy import stats

from lexicone._base.arrays import as_numbers
from lexicone._base.checks import check_mapping
from lexicone.order import OrderLike, as_order
from lexicone.plots._checks import as_history, check_titles
from lexicone.plots._style import INK, STYLE, Figure, line_style

__all__ = ["draw_mean", "interval_of_mean", "learning_curves"]

_LEVEL = 0.95
_MARKS = 8  # on each curve
_IN_A_ROW = 4  # of the legend, at most


def interval_of_mean(
    rows: Float[np.ndarray, "N P"],
) -> tuple[Float[np.ndarray, " P"], Float[np.ndarray, " P"]]:
    """The 95 % interval of the mean over N seeds, by Student's t: low and high; NaN for a single seed.

    Seeds that have no number yet (NaN) are left out.
    """
    known = np.isfinite(rows)
    count = known.sum(axis=0)
    mean = np.where(known, rows, 0.0).sum(axis=0) / np.maximum(count, 1)
    square = np.where(known, (rows - mean) ** 2, 0.0).sum(axis=0) / np.maximum(count - 1, 1)
    reach = stats.t.ppf(0.5 + _LEVEL / 2, np.maximum(count - 1, 1)) * np.sqrt(
        square / np.maximum(count, 1)
    )
    reach = np.where(count > 1, reach, np.nan)
    return mean - reach, mean + reach


def draw_mean(axes: Axes, at: Any, rows: np.ndarray, number: int, label: str | None) -> None:
    """The mean of seeds in the style of line ``number``, and the interval around it."""
    low, high = interval_of_mean(rows)
    style = line_style(number)
    known = np.isfinite(rows).any(axis=0)
    mean = np.full(rows.shape[1], np.nan)
    mean[known] = np.nanmean(rows[:, known], axis=0)
    every = (number % _MARKS / _MARKS / 10, 1 / _MARKS)
    axes.plot(at, mean, **style, lw=1.6, ms=4, markevery=every, label=label)
    axes.fill_between(at, low, high, color=style["color"], alpha=0.15, lw=0)


def learning_curves(
    found: Mapping[str, Mapping[str, Any]],
    order: OrderLike,
    title: str | None = None,
    *,
    optimum: Any = None,
) -> Figure:
    """Several trainings in one figure: means over seeds, shaded 95 % intervals of these means.

    Above, the returns of each objective with its threshold (dashed) and the optimum (dotted); below, the share of
    episodes that meet the threshold. Every learner has a colour, a dash and a marker of its own.

    Args:
        found: the ``history`` of each training, by the name of its learner.
        order: of the objectives.
        title: above the figure.
        optimum: the K values of the exact optimum, if they are known.
    """
    order = as_order(order)
    check_titles(title=title)
    check_mapping("found", found, "names to histories")
    tables = {name: as_history(f"found[{name!r}]", one, steps=True) for name, one in found.items()}
    best = None if optimum is None else as_numbers("optimum", optimum, (len(order),))
    count = len(order)
    with mpl.rc_context(STYLE):
        columns = min(len(tables), _IN_A_ROW)
        lines = -(-len(tables) // columns)
        figure = Figure(figsize=(max(3.2 * count, 5.0), 4.4 + 0.2 * lines), layout="constrained")
        grid = figure.subplots(2, count, sharex=True, squeeze=False)
        over = {axis for _, axis, _ in tables.values()}
        for k, label in enumerate(order.labels):
            top, bottom = grid[0, k], grid[1, k]
            for number, (name, (at, _, numbers)) in enumerate(tables.items()):
                for axes, entry in ((top, "returns"), (bottom, "satisfied")):
                    table = numbers[entry]
                    if table.ndim == 3 and k < table.shape[2] and len(table):
                        draw_mean(axes, at, table[..., k], number, name if k == 0 else None)
            top.set_title(label, fontsize=9)
            if best is not None and np.isfinite(best[k]):
                top.axhline(best[k], color=INK, lw=1, ls=":", label="exact optimum" * (k == 0))
            _finish(bottom, " or ".join(sorted(over)))
            if k == count - 1:
                bottom.set_visible(False)
                top.xaxis.set_tick_params(labelbottom=True)
                _finish(top, " or ".join(sorted(over)), share=False)
            elif np.isfinite(order.thresholds[k]):
                top.axhline(order.thresholds[k], color=INK, lw=0.9, ls="--")
        grid[0, 0].set_ylabel("return")
        grid[1, 0].set_ylabel("episodes that meet it")
        handles, names = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=columns, fontsize=8)
        figure.suptitle(title or "", fontsize=10)
    return figure


def _finish(axes: Axes, over: str, *, share: bool = True) -> None:
    axes.set_xlabel(over)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    axes.xaxis.get_major_locator().set_params(nbins=4)  # type: ignore[attr-defined]
    if share:
        axes.set_ylim(-0.02, 1.02)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
