"""Figures. Every function returns a matplotlib figure; `save` writes it as PNG and SVG."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle, Wedge

from lexicone.cone import project_cone
from lexicone.files import write_atomically
from lexicone.front import Front, Sensitivity
from lexicone.mdp import MDP
from lexicone.order import Order

__all__ = [
    "cone_geometry",
    "cone_keeps",
    "draw_front",
    "draw_maze",
    "draw_model",
    "draw_sensitivity",
    "halfspace_fails",
    "maze_on",
    "save",
    "trajectory",
    "values_over_steps",
]

PRIMARY, SECONDARY, THRESHOLD, INK = "#c0392b", "#2463a8", "#e0a800", "#222222"
STYLE: Any = {  # for mpl.rc_context
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "mathtext.fontset": "cm",
    "svg.hashsalt": "lexicone",  # the same figure gives the same file
}
_TILE_COLORS = {
    ".": "white",
    "S": "#e3edf9",
    "G": "#cdeccd",
    "h": "#fbe3cf",
    "H": "#f3b9ac",
    "#": "#555555",
    "E": "#f3b9ac",
    "g": "#fbf0c4",
    "d": "#d7eef2",
}
_PATCH: Any = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}  # under words on lines
_ENDS, _GOALS = "#ececec", "#cfe8cf"  # states that end an episode, and those that it pays to reach
_GRAPH_STATES = 70  # more do not fit on a page
_GRAPH_ACTIONS = 24  # up to which each action is drawn by itself


def save(figure: Figure, stem: Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Writes ``stem.png`` and ``stem.svg``, each whole or not at all; returns their paths."""
    written = []
    for suffix in formats:
        target = stem.with_name(f"{stem.name}.{suffix}")
        metadata = {"Date": None} if suffix == "svg" else None
        draw = partial(figure.savefig, format=suffix, dpi=200, metadata=metadata)
        with mpl.rc_context(STYLE):
            write_atomically(target, draw)
        written.append(target)
    return written


def values_over_steps(history: Float[np.ndarray, "steps K"], order: Order) -> Figure:
    """The K values along an ascent with their thresholds, and a second view of where they settle."""
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
    order: Order,
) -> Figure:
    """An ascent in the plane over the level curves of two functions, and a closer view past the threshold.

    ``functions`` takes points ``[…,2]`` to values ``[…,2]``; arrows show the directions of the gradients.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8.2, 4.4), layout="constrained")
        whole, close = figure.subplots(1, 2)
        met = np.asarray(functions(path))[:, 0] >= order.thresholds[0]
        after = path[np.argmax(met) :] if met.any() else path
        _draw_path(whole, functions, path, path, gradients, order, arrows=12)
        _draw_path(close, functions, path, after, gradients, order, arrows=8)
        whole.set(xlabel="$x$", ylabel="$y$", title="whole ascent")
        close.set(xlabel="$x$", title="after the threshold is met")
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


def halfspace_fails(step: float = 1.0) -> Figure:
    """Why the half-space is not enough: its projection is tangent to a level curve, so any step loses value."""
    return _level_step(0.0, step, "projected onto the half-space (Δ = 0)")


def cone_keeps(delta: float = math.radians(20), step: float = 1.0) -> Figure:
    """How the hypercone differs: a step of the same size along its projection keeps the value."""
    return _level_step(
        delta, step, f"projected onto the hypercone (Δ = {math.degrees(delta):.0f}°)"
    )


def cone_geometry(delta: float = math.radians(25)) -> Figure:
    """Projection onto a hypercone in the plane of ``g`` and its axis: outside, in the polar cone, inside."""
    axis = np.array([0.0, 1.0])
    cases = {
        "$g$": np.array([1.15, -0.12]),
        "$g$ (polar cone)": np.array([-0.25, -0.85]),
        "$g$ (inside)": np.array([-0.75, 0.75]),
    }
    with mpl.rc_context(STYLE):
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


def draw_model(
    mdp: MDP, policy: Any = None, occupancy: Any = None, title: str | None = None
) -> Figure:
    """A model on its map if it has one, else as a graph of its first states, nearest to the start first.

    In the graph, states that end the episode are grey, or green where arriving pays in some objective. What a policy
    does is blue, with its probabilities where it chooses at random. Small models with chance show each action as a
    dot, and behind it where it leads with which probability.
    """
    if mdp.layout is not None:
        return draw_maze(mdp, policy, occupancy, title)
    shares = np.zeros((mdp.num_states, mdp.num_actions))
    if policy is not None:
        shares = mdp.policy_table(policy)
        if occupancy is not None:
            shares = np.where(np.asarray(occupancy) > 0, shares, 0.0)
    depth = _depths(mdp)
    shown = [int(s) for s in np.argsort(depth, kind="stable") if depth[s] >= 0][:_GRAPH_STATES]
    levels = [[s for s in shown if depth[s] == d] for d in sorted({int(depth[s]) for s in shown})]
    places = {
        s: np.array([(i + 0.5) / len(members), -float(level)])
        for level, members in enumerate(levels)
        for i, s in enumerate(members)
    }
    moving = [s for s in shown if not mdp.terminal[s]]
    chance = (mdp.probability[moving] > 0).sum(axis=2).max(initial=0) > 1
    by_action = bool(chance) and len(moving) * mdp.num_actions <= _GRAPH_ACTIONS
    with mpl.rc_context(STYLE):
        most = max(map(len, levels))
        width = max(1.3 * most * mdp.num_actions, 6.0) if by_action else max(0.45 * most, 5.0)
        height = min(0.5 + (1.7 if by_action else 0.9) * len(levels), 9.0)
        figure = Figure(figsize=(float(min(width, 15.0)), height), layout="constrained")
        axes = figure.subplots()
        axes.set(xlim=(0, 1), ylim=(0.7 - len(levels), 0.3))
        for s in moving:
            if by_action:
                beside = next(len(members) for members in levels if s in members)
                _draw_actions(axes, mdp, s, shares[s], places, 0.6 / (beside * mdp.num_actions))
            else:
                _draw_moves(axes, mdp, s, shares[s], places)
        pays = (mdp.probability > 0) & (mdp.reward > 0).any(axis=3)
        goals = set(mdp.next_state[pays].tolist())
        for s, (x, y) in places.items():
            end = _GOALS if s in goals else _ENDS
            color = end if mdp.terminal[s] else "#e8eef7" if mdp.initial[s] > 0 else "white"
            label = mdp.state_names[s] if mdp.state_names else str(s)
            box = {"boxstyle": "round", "facecolor": color, "edgecolor": INK, "lw": 0.7}
            axes.text(x, y, label, ha="center", va="center", fontsize=7, bbox=box, zorder=5)
        left_out = int(np.sum(depth >= 0)) - len(shown)
        more = f" ({left_out} more states not shown)" if left_out else ""
        axes.set_title((title or "") + more, fontsize=9)
        axes.set_axis_off()
    return figure


def draw_maze(
    mdp: MDP,
    policy: Any = None,
    occupancy: Any = None,
    title: str | None = None,
    trajectory: Sequence[int] | None = None,
) -> Figure:
    """A map with its tiles, the policy as arrows (as wide as probable) and a trajectory of states.

    With ``occupancy`` only the states that are visited get arrows.
    """
    if mdp.layout is None:
        raise ValueError("mdp: has no layout to draw")
    height, width = len(mdp.layout.rows), len(mdp.layout.rows[0])
    with mpl.rc_context(STYLE):
        size = min(0.75, 9.0 / max(height, width))
        figure = Figure(figsize=(size * width + 0.4, size * height + 0.7), layout="constrained")
        maze_on(figure.subplots(), mdp, policy, occupancy, title, trajectory)
    return figure


def maze_on(
    axes: Axes,
    mdp: MDP,
    policy: Any = None,
    occupancy: Any = None,
    title: str | None = None,
    trajectory: Sequence[int] | None = None,
    *,
    arrow_width: float = 1.0,
) -> None:
    """`draw_maze` on axes of one's own."""
    if mdp.layout is None:
        raise ValueError("mdp: has no layout to draw")
    rows, positions = mdp.layout.rows, mdp.layout.positions
    height, width = len(rows), len(rows[0])
    for row, line in enumerate(rows):
        for column, tile in enumerate(line):
            corner = (column, height - 1 - row)
            color = _TILE_COLORS.get(tile, "#dcecc9")
            axes.add_patch(Rectangle(corner, 1, 1, facecolor=color, edgecolor="#999999", lw=0.6))
    if max(height, width) <= 30:
        for (row, column), mark in mdp.layout.marks().items():
            label = {"h": "hh", "H": "HH"}.get(mark, mark)
            axes.text(column + 0.08, height - row - 0.1, label, fontsize=7, va="top")
    centres = np.stack([positions[:, 1] + 0.5, height - positions[:, 0] - 0.5], axis=-1)
    if trajectory is not None:
        axes.plot(*centres[list(trajectory)].T, color=THRESHOLD, lw=5, alpha=0.6, zorder=2)
    shares = np.zeros((mdp.num_states, 0)) if policy is None else mdp.policy_table(policy)
    visited = (positions[:, 0] >= 0) & ~mdp.terminal
    if occupancy is not None:
        visited &= np.asarray(occupancy).sum(axis=1) > 0
    small = float(np.clip(0.14 * axes.bbox.width / axes.figure.dpi * 72 / width, 3.0, 6.0))
    for s, a in np.argwhere((shares > 1e-9) & visited[:, None]).tolist():
        step = 0.36 * _heading(mdp, s, a, centres)
        share = float(shares[s, a])
        arrow = {"arrowstyle": "-|>", "color": SECONDARY, "lw": (0.6 + 2.2 * share) * arrow_width}
        axes.annotate(
            "", tuple(centres[s] + step), tuple(centres[s] - 0.3 * step), arrowprops=arrow
        )
        if share < 1 - 1e-9:
            upright = abs(step[1]) > abs(step[0])
            x, y = centres[s] + step + ((0.07, 0.0) if upright else (-0.15 * step[0], -0.07))
            place = ("left", "center") if upright else ("center", "top")
            axes.text(x, y, f"{share:.2g}", fontsize=small, ha=place[0], va=place[1])
    places = positions[visited] if shares.size else positions[:0]
    if len(np.unique(places, axis=0)) < len(places):
        axes.set_xlabel("a tile with several arrows holds several states", fontsize=7)
    axes.set(xlim=(0, width), ylim=(0, height), aspect="equal", xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    axes.set_title(title or "", fontsize=8)


def draw_front(
    *fronts: Front, names: Sequence[str] | None = None, title: str | None = None
) -> Figure:
    """Pareto fronts: one or several of two objectives, or one of three, the third as colour.

    Points of stochastic policies are joined, since what lies between two of them is a mixture; deterministic
    ones are steps, since nothing lies between.
    """
    if not fronts:
        raise ValueError("fronts: need at least one")
    count = fronts[0].values.shape[1]
    labels = _front_labels(names, count)
    if any(front.values.shape[1] != count for front in fronts) or (count == 3 and len(fronts) > 1):
        raise ValueError("fronts: expected several of two objectives or one of three")
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.8, 3.4), layout="constrained")
        axes = figure.subplots()
        for front in fronts:
            mixed = front.policies == "stochastic"
            color = SECONDARY if mixed else PRIMARY
            told = "" if front.complete or mixed else ", not all"
            if count == 3:
                shown = axes.scatter(*front.values[:, :2].T, c=front.values[:, 2], s=22)
                figure.colorbar(shown, ax=axes, label=labels[2])
                continue
            label = f"{front.policies} policies, {len(front.values)} points{told}"
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

    Grey: the threshold cannot be met.
    """
    labels = _front_labels(names, found.values.shape[1])
    which = [found.objective, *range(found.objective + 1, found.values.shape[1])]
    order = np.argsort(found.thresholds)
    levels, values = found.thresholds[order], found.values[order]
    with mpl.rc_context(STYLE):
        size = (4.8, 0.6 + 1.5 * len(which))
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(len(which), 1, sharex=True)
        for axes, k in zip(panels, which, strict=True):
            finite = np.isfinite(levels) & np.isfinite(values[:, k])
            color = PRIMARY if k == found.objective else SECONDARY
            axes.plot(levels[finite], values[finite, k], color=color, marker=".", lw=1.4)
            axes.set_ylabel(labels[k])
            missed = levels[finite & ~found.satisfied[order]]
            if len(missed):
                axes.axvspan(missed[0], missed[-1], color=_ENDS, zorder=0)
        panels[-1].set_xlabel(f"threshold of {labels[found.objective]}")
        panels[0].set_title(title or "", fontsize=9)
    return figure


def _front_labels(names: Sequence[str] | None, count: int) -> list[str]:
    if names is None:
        return [f"objective {k + 1}" for k in range(count)]
    if len(names) != count:
        raise ValueError(f"names: expected {count}, one for each objective, got {list(names)}")
    return list(names)


def _heading(mdp: MDP, state: int, action: int, centres: np.ndarray) -> np.ndarray:
    """Where an action points on the map: by its name, or by where it leads on average."""
    named = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}
    if mdp.action_names and mdp.action_names[action].lower() in named:
        return np.array(named[mdp.action_names[action].lower()], float)
    moves = centres[mdp.next_state[state, action]] - centres[state]
    mean = mdp.probability[state, action] @ moves
    return mean / max(float(np.linalg.norm(mean)), 1e-9)


def _depths(mdp: MDP) -> np.ndarray:
    """Steps from the start to each state, −1 where none leads; ends lie below all that lead to them."""
    depth = np.where(mdp.initial > 0, 0, -1)
    level = np.flatnonzero(depth == 0)
    while len(level):
        following = np.unique(mdp.graph[level].indices)
        following = following[depth[following] < 0]
        depth[following] = depth[level[0]] + 1
        level = following
    source, target = mdp.graph.tocoo().coords
    into = mdp.terminal[target] & ~mdp.terminal[source] & (depth[source] >= 0)
    np.maximum.at(depth, target[into], depth[source[into]] + 1)
    return depth


def _draw_moves(
    axes: Axes, mdp: MDP, state: int, shares: np.ndarray, places: dict[int, np.ndarray]
) -> None:
    """An arrow to each state that can follow, blue and with its probability if the policy goes there."""
    following: dict[int, float] = {}
    for a, b in np.argwhere(mdp.probability[state] > 0).tolist():
        to = int(mdp.next_state[state, a, b])
        weight = float(shares[a] * mdp.probability[state, a, b])
        following[to] = following.get(to, 0.0) + weight
    coin = np.sum(shares > 1e-9) > 1
    for to, weight in following.items():
        if to == state or to not in places:
            continue
        back = state in mdp.next_state[to][mdp.probability[to] > 0]
        text = f"{weight:.2g}" if coin and 0 < weight < 1 else ""
        line = {"color": SECONDARY if weight else "#bbbbbb", "lw": 0.7 + 2 * weight}
        _line(axes, places[state], places[to], line, text, beside=back)


def _draw_actions(
    axes: Axes,
    mdp: MDP,
    state: int,
    shares: np.ndarray,
    places: dict[int, np.ndarray],
    gap: float,
) -> None:
    """A dot for each action, and from there an arrow with its probability to each state that can follow."""
    names = mdp.action_names or tuple(f"action {a}" for a in range(mdp.num_actions))
    for a, name in enumerate(names):
        used = shares[a] > 1e-9
        color = SECONDARY if used else "#999999"
        dot = places[state] + np.array([(a - (len(names) - 1) / 2) * gap, -0.38])
        stem = {"color": color, "lw": 0.7 + 2 * shares[a], "zorder": 1}
        axes.plot(*np.stack([places[state], dot]).T, **stem)
        axes.plot(*dot, "o", color=color, ms=4, zorder=3)
        told = f"{name} {shares[a]:.2g}" if used and shares[a] < 1 - 1e-9 else name
        ink = SECONDARY if used else "#666666"
        left = dot[0] < places[state][0] - 1e-9  # then the line to the state is on the right
        place = {"ha": "right" if left else "left", "va": "center", "fontsize": 7, "color": ink}
        aside = (-5 if left else 5, 0)
        axes.annotate(
            told, tuple(dot), aside, textcoords="offset points", bbox=_PATCH, zorder=4, **place
        )
        for b in np.flatnonzero(mdp.probability[state, a] > 0).tolist():
            to, chance = int(mdp.next_state[state, a, b]), float(mdp.probability[state, a, b])
            if to not in places:
                continue
            text = f"{chance:.2g}" if chance < 1 else ""
            line = {"color": color, "lw": 0.7 + shares[a]}
            _line(axes, dot, places[to], line, text, where=0.17, shrink=2.0)


def _line(
    axes: Axes,
    start: np.ndarray,
    end: np.ndarray,
    style: dict[str, Any],
    text: str = "",
    *,
    where: float = 0.5,
    beside: bool = False,
    shrink: float = 9.0,
) -> None:
    """An arrow with a text on it; bent along a level, past a level, and beside one that comes back."""
    rad = 0.08 if beside else 0.0
    if abs(start[1] - end[1]) < 0.1:
        rad = 0.25
    elif abs(start[1] - end[1]) > 1.1:
        rad = -0.35 if end[0] >= 0.5 else 0.35
    arrow = {"arrowstyle": "-|>", "shrinkA": shrink, "shrinkB": 9, **style}
    arrow["connectionstyle"] = f"arc3,rad={rad}"
    axes.annotate("", tuple(end), tuple(start), arrowprops=arrow, zorder=1)
    if text:
        size = np.array([axes.bbox.width, axes.bbox.height])
        scale = size / [np.ptp(axes.get_xlim()), np.ptp(axes.get_ylim())]
        (dx, dy), middle = (end - start) * scale, (start + end) / 2
        control = middle + rad * np.array([dy, -dx]) / scale
        x, y = (1 - where) ** 2 * start + 2 * where * (1 - where) * control + where**2 * end
        place = {"ha": "center", "va": "center", "fontsize": 6.5, "zorder": 4}
        axes.text(x, y, text, color=style["color"], bbox=_PATCH, **place)


def _level_step(delta: float, step: float, title: str) -> Figure:
    """A step from a level curve of ``F₁ = 1 − ‖θ‖²`` along the projection of ``∇F₂``."""

    def primary(points: np.ndarray) -> Any:
        return 1 - np.sum(points**2, axis=-1)

    start = np.array([0.0, math.sqrt(0.5)])
    gradient = -2 * start
    other = np.array([0.34, 0.26])
    projected = np.asarray(project_cone(other, gradient, delta))
    end = start + step * projected
    with mpl.rc_context(STYLE):
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
