"""Figures of models: graphs of states, mazes, and the policies in them."""

import math
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from lexicone._base.checks import check_range, check_type
from lexicone.models._arrays import NEVER
from lexicone.models._display import OTHER_TILE, TILE_COLORS
from lexicone.models._mdp import MDP, check_model
from lexicone.models._reachability import steps_from
from lexicone.plots._checks import as_occupancy, as_visits, check_map, check_titles
from lexicone.plots._style import GREY, INK, SECONDARY, STYLE, THRESHOLD, Figure

__all__ = ["draw_maze", "draw_model", "maze_on"]

_PATCH: Any = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}  # under words on lines
_GOALS = "#cfe8cf"  # states that it pays to reach
_GRAPH_STATES = 70  # more do not fit on a page
_GRAPH_ACTIONS = 24  # up to which each action is drawn by itself


def draw_model(
    mdp: MDP, policy: Any = None, occupancy: Any = None, title: str | None = None
) -> Figure:
    """A model on its map if it has one, else as a graph of its first states, nearest to the start first.

    In the graph, states that end the episode are grey, or green where arriving pays in some objective. What a policy
    does is blue, with its probabilities where it chooses at random. Small models with chance show each action as a
    dot, and behind it where it leads with which probability.
    """
    check_model(mdp)
    check_titles(title=title)
    occupancy = as_occupancy(mdp, occupancy)
    if mdp.layout is not None:
        return draw_maze(mdp, policy, occupancy, title)
    shares = np.zeros((mdp.num_states, mdp.num_actions))
    if policy is not None:
        shares = mdp.policy_table(policy)
        if occupancy is not None:
            shares = np.where(occupancy > 0, shares, 0.0)
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
            end = _GOALS if s in goals else GREY
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

    Args:
        mdp: a model with a layout.
        policy: ``[S,A]`` probabilities or ``[S]`` actions; none draws the tiles alone.
        occupancy: ``[S,A]``; with it only the states that are visited get arrows.
        title: above the map.
        trajectory: states, one after the other.
    """
    check_map(mdp)
    assert mdp.layout is not None
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
    """`draw_maze` on axes of one's own.

    Args:
        axes: where to draw.
        mdp, policy, occupancy, title, trajectory: as in `draw_maze`.
        arrow_width: 1 is `draw_maze`'s; smaller for small axes.
    """
    check_type("axes", axes, Axes, "axes of matplotlib")
    check_map(mdp)
    assert mdp.layout is not None
    check_titles(title=title)
    check_range("arrow_width", arrow_width, 0, math.inf, below=True)
    occupancy, trajectory = as_occupancy(mdp, occupancy), as_visits(mdp, trajectory)
    shares = np.zeros((mdp.num_states, 0)) if policy is None else mdp.policy_table(policy)
    rows, positions = mdp.layout.rows, mdp.layout.positions
    height, width = len(rows), len(rows[0])
    for row, line in enumerate(rows):
        for column, tile in enumerate(line):
            corner = (column, height - 1 - row)
            color = TILE_COLORS.get(tile, OTHER_TILE)
            axes.add_patch(Rectangle(corner, 1, 1, facecolor=color, edgecolor="#999999", lw=0.6))
    if max(height, width) <= 30:
        for (row, column), mark in mdp.layout.marks().items():
            label = {"h": "hh", "H": "HH"}.get(mark, mark)
            axes.text(column + 0.08, height - row - 0.1, label, fontsize=7, va="top")
    centres = np.stack([positions[:, 1] + 0.5, height - positions[:, 0] - 0.5], axis=-1)
    if trajectory:
        axes.plot(*centres[trajectory].T, color=THRESHOLD, lw=5, alpha=0.6, zorder=2)
    visited = (positions[:, 0] >= 0) & ~mdp.terminal
    if occupancy is not None:
        visited &= occupancy.sum(axis=1) > 0
    small = float(np.clip(0.14 * axes.bbox.width / axes.figure.dpi * 72 / width, 3.0, 6.0))
    for s, a in np.argwhere((shares > NEVER) & visited[:, None]).tolist():
        step = 0.36 * _heading(mdp, s, a, centres)
        share = float(shares[s, a])
        arrow = {"arrowstyle": "-|>", "color": SECONDARY, "lw": (0.6 + 2.2 * share) * arrow_width}
        axes.annotate(
            "", tuple(centres[s] + step), tuple(centres[s] - 0.3 * step), arrowprops=arrow
        )
        if share < 1 - NEVER:
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
    steps = steps_from(mdp.graph, mdp.initial > 0)
    depth = np.where(np.isfinite(steps), steps, -1).astype(int)
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
    coin = np.sum(shares > NEVER) > 1
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
        if not mdp.available[state, a]:
            continue
        used = shares[a] > NEVER
        color = SECONDARY if used else "#999999"
        dot = places[state] + np.array([(a - (len(names) - 1) / 2) * gap, -0.38])
        stem = {"color": color, "lw": 0.7 + 2 * shares[a], "zorder": 1}
        axes.plot(*np.stack([places[state], dot]).T, **stem)
        axes.plot(*dot, "o", color=color, ms=4, zorder=3)
        label = f"{name} {shares[a]:.2g}" if used and shares[a] < 1 - NEVER else name
        ink = SECONDARY if used else "#666666"
        left = dot[0] < places[state][0] - 1e-9  # then the line to the state is on the right
        place = {"ha": "right" if left else "left", "va": "center", "fontsize": 7, "color": ink}
        aside = (-5 if left else 5, 0)
        axes.annotate(
            label, tuple(dot), aside, textcoords="offset points", bbox=_PATCH, zorder=4, **place
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
