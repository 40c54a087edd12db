"""A figure of single episodes: what they earned step by step, what was seen, what was done."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from lexicone.order import Order
from lexicone.plots._style import COLORS, INK, STYLE

__all__ = ["EpisodeCourse", "draw_episodes"]

_MOST_LINES = 6  # of what is seen and done: more cannot be told apart


class EpisodeCourse(NamedTuple):
    """One episode of T steps."""

    rewards: Float[np.ndarray, "T K"]
    seen: Float[np.ndarray, "T+1 D"]
    done: Float[np.ndarray, "T A"]


def draw_episodes(
    episodes: Sequence[EpisodeCourse], order: Order, title: str, *, states: Sequence[str] = ()
) -> Figure:
    """The returns so far of each objective over the steps, thresholds dashed, in the order's units.

    Below, what was seen and done in the first episode: of a model, whose ``states`` have names, where it was.
    """
    count = len(order)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(max(6.4, 2.9 * count), 5.6), layout="constrained")
        parts: Any = figure.subfigures(2, 1)
        upper, lower = parts
        factors = np.asarray(order.in_units(np.ones(count)))
        for k, axes in enumerate(upper.subplots(1, count, squeeze=False)[0]):
            for episode in episodes:
                total = np.concatenate([[0.0], np.cumsum(episode.rewards[:, k])]) * factors[k]
                axes.plot(total, color=COLORS[k % len(COLORS)], lw=1.2, alpha=0.8)
                axes.plot(len(total) - 1, total[-1], "o", ms=3, color=COLORS[k % len(COLORS)])
            if k < count - 1 and np.isfinite(order.thresholds[k]):
                axes.axhline(order.thresholds[k] * factors[k], color=INK, lw=0.8, ls="--")
            bound = f" {order.levels[k].bound}" if k < count - 1 else ""
            axes.set_title(f"{order.labels[k]}{bound}", fontsize=9)
            _over_steps(axes)
        upper.axes[0].set_ylabel("return so far")
        first = episodes[0]
        if len(states):
            _draw_states(lower.subplots(), first, states)
        else:
            left, right = lower.subplots(1, 2)
            _draw_lines(left, first.seen, "seen", "observation")
            _draw_lines(right, first.done, "done", "action")
        figure.suptitle(title, fontsize=10)
    return figure


def _over_steps(axes: Axes) -> None:
    axes.set_xlabel("step")
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))


def _draw_lines(axes: Axes, rows: np.ndarray, ylabel: str, what: str) -> None:
    shown = min(rows.shape[1], _MOST_LINES)
    for i in range(shown):
        axes.plot(rows[:, i], color=COLORS[i % len(COLORS)], lw=1, label=str(i + 1))
    title = f"{what}, first episode"
    if shown < rows.shape[1]:
        title += f" (the first {shown} of {rows.shape[1]} numbers)"
    axes.set(ylabel=ylabel)
    axes.set_title(title, fontsize=9)
    if shown > 1:
        axes.legend(fontsize=7, ncols=2, loc="best", frameon=True, framealpha=0.9, edgecolor="none")
    _over_steps(axes)


def _draw_states(axes: Axes, episode: EpisodeCourse, states: Sequence[str]) -> None:
    """Where the first episode was: the states that it came to, the first one on top."""
    visited = episode.seen[:, 0].astype(int)
    places = {s: i for i, s in enumerate(dict.fromkeys(visited.tolist()))}
    axes.plot([places[s] for s in visited.tolist()], "o-", color=INK, ms=3, lw=0.8)
    axes.set_yticks(range(len(places)), [str(states[s]) for s in places], fontsize=7)
    axes.invert_yaxis()
    axes.set_title("states, first episode", fontsize=9)
    _over_steps(axes)
