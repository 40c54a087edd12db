"""Figures of hypercones, and of an ascent: its values over the steps and its way."""

import math
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.patches import Wedge

from lexicone._base.arrays import as_numbers
from lexicone._base.checks import check_function, check_range
from lexicone.directions._cone import project_cone
from lexicone.order import Order, OrderLike, as_order
from lexicone.plots._style import FORMULAS, INK, PRIMARY, SECONDARY, STYLE, THRESHOLD, Figure

__all__ = ["cone_geometry", "cone_keeps", "halfspace_fails", "trajectory", "values_over_steps"]

_LARGEST = 1e6  # what can be drawn


def values_over_steps(history: Float[np.ndarray, "steps K"], order: OrderLike) -> Figure:
    """The K values along an ascent with their thresholds, and a second view of where they settle."""
    order = as_order(order)
    history = as_numbers("history", history, (None, len(order)), finite=True)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.0, 3.1), layout="constrained")
        whole, close = figure.subplots(1, 2)
        colors = [PRIMARY, SECONDARY, *(f"C{i}" for i in range(2, len(order)))]
        for axes in (whole, close):
            for k, label in enumerate(order.labels):
                ending = f"{label}, ends at {history[-1, k]:.3f}"
                axes.plot(history[:, k], color=colors[k], label=ending, lw=1.6)
            for k, threshold in enumerate(order.thresholds):
                if math.isfinite(threshold):
                    label = f"threshold {threshold:g} of {order.labels[k]}"
                    axes.axhline(threshold, color=THRESHOLD, lw=1.2, ls="--", zorder=0, label=label)
            axes.set(xlabel="step", xlim=(0, max(1, len(history) - 1)))
        settled = history[len(history) // 4 :]
        margin = 0.15 * max(float(np.ptp(settled)), 1e-9)
        close.set(ylim=(settled.min() - margin, settled.max() + margin), title="closer")
        whole.set(ylabel="value", title="whole ascent")
        whole.legend(loc="lower right")
    return figure


def trajectory(
    functions: Callable[[Any], Any],
    path: Float[np.ndarray, "steps 2"],
    gradients: Float[np.ndarray, "steps 2 2"],
    order: OrderLike,
) -> Figure:
    """An ascent in the plane over the level curves of two functions, and a closer view past the threshold.

    ``functions`` takes points ``[…,2]`` to values ``[…,2]``; arrows show the directions of the gradients.
    """
    order = as_order(order, 2)
    check_function("functions", functions)
    path = as_numbers("path", path, (None, 2), finite=True)
    gradients = as_numbers("gradients", gradients, (len(path), 2, 2), finite=True)
    if np.ptp(path, axis=0).max() > _LARGEST or np.abs(path).max() > _LARGEST:
        raise ValueError("path: is too long to draw")
    functions = _checked(functions)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8.2, 4.4), layout="constrained")
        whole, close = figure.subplots(1, 2)
        met = np.asarray(functions(path))[:, 0] >= order.thresholds[0]
        after = path[np.argmax(met) :] if met.any() else path
        _draw_path(whole, functions, path, path, gradients, order, arrows=12)
        _draw_path(close, functions, path, after, gradients, order, arrows=8)
        whole.set_title("whole ascent")
        close.set_title("after the threshold is met")
        for axes in (whole, close):
            axes.set_xlabel("x", style="italic")
        whole.set_ylabel("y", style="italic")
        for color, label in (
            (PRIMARY, f"level curves and gradient of {order.labels[0]}"),
            (SECONDARY, f"level curves and gradient of {order.labels[1]}"),
            (THRESHOLD, f"{order.labels[0]} at its threshold {order.thresholds[0]:g}"),
            (INK, "ascent, from ● to ★"),
        ):
            whole.plot([], [], color=color, label=label)
        figure.legend(loc="outside upper center", ncols=2, fontsize=8)
    return figure


def _draw_path(
    axes: Axes,
    functions: Callable[[Any], Any],
    path: np.ndarray,
    focus: np.ndarray,
    gradients: np.ndarray,
    order: Order,
    arrows: int,
) -> None:
    """The part of the plane around the points ``focus``."""
    middle = (focus.min(axis=0) + focus.max(axis=0)) / 2
    half = 0.68 * max(np.ptp(focus, axis=0).max(), 1e-3)
    xs, ys = (np.linspace(m - half, m + half, 240) for m in middle)
    values = np.asarray(functions(np.stack(np.meshgrid(xs, ys), axis=-1)))
    for k, color in enumerate((PRIMARY, SECONDARY)):
        levels = np.unique(np.quantile(values[..., k], np.linspace(0.02, 0.98, 10)))
        lines = {"colors": color, "linewidths": 0.7, "alpha": 0.5, "linestyles": "solid"}
        axes.contour(xs, ys, values[..., k], levels, **lines)
    bound = {"colors": THRESHOLD, "linewidths": 2.0, "linestyles": "solid"}
    axes.contour(xs, ys, values[..., 0], [order.thresholds[0]], **bound)
    axes.plot(*path.T, color=INK, lw=1.2, marker=".", ms=3.5, zorder=3)
    axes.plot(*path[0], "o", color=INK, ms=5, zorder=4)
    axes.plot(*path[-1], "*", color=INK, ms=9, zorder=4)
    start = len(path) - len(focus)
    lengths = np.cumsum(np.linalg.norm(np.diff(focus, axis=0, prepend=focus[:1]), axis=1))
    stops = np.linspace(0, lengths[-1], arrows)
    at = start + np.unique(np.searchsorted(lengths, stops).clip(0, len(focus) - 1))
    for k, color in enumerate((PRIMARY, SECONDARY)):
        unit = gradients[at, k] / np.linalg.norm(gradients[at, k], axis=-1, keepdims=True)
        axes.quiver(*path[at].T, *unit.T, color=color, angles="xy", scale=9, width=0.005, zorder=2)
    axes.set(xlim=xs[[0, -1]], ylim=ys[[0, -1]], aspect="equal")


def _checked(functions: Callable[[Any], Any]) -> Callable[[Any], np.ndarray]:
    """The functions, whose values must be two finite numbers for each point."""

    def both(points: np.ndarray) -> np.ndarray:
        return as_numbers("functions", functions(points), points.shape, finite=True)

    return both


def halfspace_fails(step: float = 1.0) -> Figure:
    """Why the half-space is not enough: its projection is tangent to a level curve, so any step loses value."""
    check_range("step", step, -_LARGEST, _LARGEST)
    return _level_step(0.0, step, "projected onto the half-space (Δ = 0)")


def cone_keeps(delta: float = math.radians(20), step: float = 1.0) -> Figure:
    """How the hypercone differs: a step of the same size along its projection keeps the value."""
    check_range("delta", delta, 0, math.pi / 2, below=True)
    check_range("step", step, -_LARGEST, _LARGEST)
    return _level_step(
        delta, step, f"projected onto the hypercone (Δ = {math.degrees(delta):.0f}°)"
    )


def cone_geometry(delta: float = math.radians(25)) -> Figure:
    """Projection onto a hypercone in the plane of ``g`` and its axis: outside, in the polar cone, inside."""
    check_range("delta", delta, 0, math.pi / 2, below=True)
    axis = np.array([0.0, 1.0])
    cases = {
        "$g$": np.array([1.15, -0.12]),
        "$g$ (polar cone)": np.array([-0.25, -0.85]),
        "$g$ (inside)": np.array([-0.75, 0.75]),
    }
    with mpl.rc_context(FORMULAS):
        figure = Figure(figsize=(5.0, 4.2), layout="constrained")
        axes = figure.subplots()
        degrees = math.degrees(delta)
        axes.add_patch(Wedge((0, 0), 1.4, degrees, 180 - degrees, color="#f39c12", alpha=0.22))
        axes.add_patch(
            Wedge((0, 0), 1.4, 270 - degrees, 270 + degrees, color="#7f8c8d", alpha=0.18)
        )
        axes.text(0.5, 1.15, r"hypercone $C_a^\Delta$", color="#b9770e", ha="center")
        axes.text(0.0, -1.25, "polar cone: projects to 0", color="#5d6d7e", ha="center", fontsize=8)
        _arrow(axes, np.zeros(2), axis, INK, "$a$", (4, 4))
        for label, g in cases.items():
            projection = np.asarray(project_cone(g, axis, delta))
            _arrow(axes, np.zeros(2), g, SECONDARY, label, (5, -10) if g[0] > 0 else (6, 2))
            if projection.any() and not np.allclose(projection, g):
                axes.plot(*np.stack([g, projection]).T, color=INK, lw=0.8, ls=":")
                _arrow(axes, np.zeros(2), projection, PRIMARY, "$g^p$", (4, 4))
        axes.plot([0, 1.6], [0, 0], color=INK, lw=0.6)
        arc = np.linspace(0, delta, 30)
        axes.plot(0.55 * np.cos(arc), 0.55 * np.sin(arc), color=INK, lw=0.8)
        axes.annotate("Δ", (0.62 * math.cos(delta / 2), 0.62 * math.sin(delta / 2)), va="center")
        axes.set(xlim=(-1.5, 1.6), ylim=(-1.45, 1.45), aspect="equal")
        axes.set_axis_off()
    return figure


def _level_step(delta: float, step: float, title: str) -> Figure:
    """A step from a level curve of ``F₁ = 1 − ‖θ‖²`` along the projection of ``∇F₂``."""

    def primary(points: np.ndarray) -> Any:
        return 1 - np.sum(points**2, axis=-1)

    start = np.array([0.0, math.sqrt(0.5)])
    gradient = -2 * start
    other = np.array([0.34, 0.26])
    projected = np.asarray(project_cone(other, gradient, delta))
    end = start + step * projected
    with mpl.rc_context(FORMULAS):
        figure = Figure(figsize=(4.6, 4.0), layout="constrained")
        axes = figure.subplots()
        xs, ys = np.linspace(-0.62, 0.78, 200), np.linspace(-0.1, 1.12, 200)
        grid = primary(np.stack(np.meshgrid(xs, ys), axis=-1))
        levels = np.round(np.arange(0.1, 0.95, 0.1), 1)
        curves = axes.contour(xs, ys, grid, levels, colors=PRIMARY, linewidths=0.8, alpha=0.6)
        axes.clabel(curves, fmt="%.1f", fontsize=8)
        axes.contour(xs, ys, grid, [primary(start)], colors=PRIMARY, linewidths=1.8)
        for side in (-1, 1):  # the edges of the cone, π/2−Δ away from its axis
            angle = math.atan2(*gradient[::-1]) + side * (math.pi / 2 - delta)
            edge = start + 0.75 * np.array([math.cos(angle), math.sin(angle)])
            axes.plot(*np.stack([start, edge]).T, color=INK, lw=0.9, ls="--")
        _arrow(axes, start, start + 0.35 * gradient, PRIMARY, r"$\nabla F_1$", (6, 0))
        _arrow(axes, start, start + other, SECONDARY, r"$\nabla F_2$", (4, 4))
        _arrow(axes, start, end, INK, r"$\nabla F_2^p$", (-12, -18))
        axes.plot(*start, "o", color=INK, ms=5)
        change = f"one step: $F_1$ {primary(start):.2f} → {primary(end):.2f}"
        axes.set_title(f"{title}\n{change}", fontsize=9)
        axes.set(xlim=xs[[0, -1]], ylim=ys[[0, -1]], aspect="equal", xticks=[], yticks=[])
    return figure


def _arrow(
    axes: Axes, start: np.ndarray, end: np.ndarray, color: str, label: str, offset: tuple[int, int]
) -> None:
    axes.annotate(
        "", tuple(end), tuple(start), arrowprops={"arrowstyle": "-|>", "color": color, "lw": 1.6}
    )
    axes.annotate(label, tuple(end), xytext=offset, textcoords="offset points", color=color)
