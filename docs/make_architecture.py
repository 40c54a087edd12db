"""Draws how data flows through the rooms: ``python docs/make_architecture.py`` writes figures/flow-*.svg.

A flow is a few boxes on a grid and arrows between them. The results are committed.
"""

from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

FIGURES = Path(__file__).parent / "figures"
WIDTH, HEIGHT = 1.8, 0.86  # of a box, in inches
COLUMN, ROW = 2.75, 1.4
INK, QUIET = "#222222", "#666666"
COLORS = {
    "you": "#f2f2f2",
    "the rooms": "#f2f2f2",
    "models": "#dbe9f6",
    "tasks": "#dbe9f6",
    "order": "#dbe9f6",
    "directions": "#fde8cd",
    "exact": "#d9efd9",
    "learning": "#ece2f4",
    "qlearning": "#ece2f4",
    "criteria": "#ece2f4",
    "studies": "#fbdcdc",
    "cli": "#fbdcdc",
    "plots": "#fdf6cf",
}


class Box(NamedTuple):
    """A room at work: where it stands on the grid, and what it does."""

    column: float
    row: float
    room: str
    does: str


class Arrow(NamedTuple):
    """What one box hands to another."""

    start: str
    end: str
    data: str = ""


Flow = tuple[dict[str, Box], list[Arrow]]

SOLVE: Flow = (
    {
        "task": Box(0, 0, "tasks", "maze(…), or\nyour tables: MDP"),
        "pairs": Box(1, 0, "exact", "list state–actions,\nwhere one can stay"),
        "order": Box(1, 1, "order", "Order:\nthresholds τ"),
        "stages": Box(2, 0, "exact", "stages: objective i,\nkeep those before"),
        "program": Box(3, 0, "exact", "occupancy program or\ncolumn generation"),
        "sparse": Box(3, 1, "exact", "one sparse policy,\nstay for ever"),
        "solution": Box(2, 1, "exact", "Solution: values,\npolicy, prices, bound"),
    },
    [
        Arrow("task", "pairs", "MDP"),
        Arrow("pairs", "stages", "flow, rewards"),
        Arrow("order", "stages", "thresholds"),
        Arrow("stages", "program", "floors"),
        Arrow("program", "stages", "values, duals"),
        Arrow("program", "sparse", "occupancy"),
        Arrow("sparse", "solution", "policy"),
    ],
)

TRAIN: Flow = (
    {
        "task": Box(0, 0, "tasks", "MDP; with order,\nlearner and key"),
        "episodes": Box(1, 0, "learning", "collect episodes\nwith the policy"),
        "credit": Box(2, 0, "learning", "returns, critics:\nadvantages"),
        "gradients": Box(3, 0, "learning", "K gradients of\nthe network"),
        "direction": Box(3, 1, "directions", "Gram matrix →\ndirection"),
        "step": Box(2, 1, "learning", "optimiser step:\nnew policy"),
        "result": Box(1, 1, "learning", "Trained: policies,\nhistory, files"),
        "gap": Box(0, 1, "exact", "solve: the optimum\nto compare with"),
    },
    [
        Arrow("task", "episodes", "tables"),
        Arrow("episodes", "credit", "rewards"),
        Arrow("credit", "gradients", "[T,N,K]"),
        Arrow("gradients", "direction", "K×K"),
        Arrow("direction", "step", "K weights"),
        Arrow("step", "episodes", "next update"),
        Arrow("step", "result", "at the end"),
        Arrow("gap", "result", "gap"),
    ],
)

TRAIN_ENV: Flow = (
    {
        "task": Box(0, 0, "you", "Gymnasium id,\nor a function"),
        "act": Box(1, 0, "learning", "act: one compiled\ncall per time step"),
        "copies": Box(1, 1, "learning", "copies of it step in\nPython: an episode each"),
        "learn": Box(2, 0, "learning", "learn, compiled: as\non a model"),
        "direction": Box(2, 1, "directions", "Gram matrix →\ndirection"),
        "result": Box(3, 0, "learning", "TrainedEnv: policies\nthat act, files"),
    },
    [
        Arrow("task", "copies", "makes"),
        Arrow("act", "copies", "actions"),
        Arrow("copies", "act", "observations"),
        Arrow("act", "learn", "episodes"),
        Arrow("learn", "direction", "K×K"),
        Arrow("direction", "learn", "K weights"),
        Arrow("learn", "result", "at the end"),
    ],
)

REPRODUCE: Flow = (
    {
        "cli": Box(0, 0.5, "cli", "lexicone\nreproduce NAME"),
        "study": Box(1, 0.5, "studies", "settings, cells,\nclaims"),
        "task": Box(2, 0, "tasks", "the paper's models"),
        "work": Box(3, 0, "the rooms", "train, tlq, maximize,\nsolve, search"),
        "file": Box(2, 1, "studies", "results.json, kept\ncell by cell"),
        "plots": Box(3, 1, "plots", "figures; the study\nprints its table"),
    },
    [
        Arrow("cli", "study", "options"),
        Arrow("study", "task"),
        Arrow("task", "work", "MDP"),
        Arrow("work", "file", "values"),
        Arrow("study", "file", "done before?"),
        Arrow("file", "plots", "numbers"),
    ],
)

FLOWS = {"solve": SOLVE, "train": TRAIN, "train-env": TRAIN_ENV, "reproduce": REPRODUCE}


def center(box: Box) -> tuple[float, float]:
    """In inches, from the top left."""
    return (box.column * COLUMN + 1.0, -box.row * ROW - 0.55)


def draw_box(axes: Axes, box: Box) -> None:
    """The room's name in bold, and what it does."""
    x, y = center(box)
    corner = (x - WIDTH / 2, y - HEIGHT / 2)
    look = {"facecolor": COLORS[box.room], "edgecolor": QUIET, "linewidth": 0.8}
    axes.add_patch(FancyBboxPatch(corner, WIDTH, HEIGHT, "round,pad=0,rounding_size=0.08", **look))
    axes.text(x, y + 0.25, box.room, ha="center", va="center", weight="bold", color=INK, size=10)
    axes.text(x, y - 0.12, box.does, ha="center", va="center", color=INK, size=9.5)


def edge(box: Box, toward: Box) -> tuple[float, float]:
    """Where an arrow between two boxes leaves the first: on the side that faces the second."""
    x, y = center(box)
    there = center(toward)
    if abs(there[0] - x) > 0.1:
        return (x + WIDTH / 2 * (1 if there[0] > x else -1), y)
    return (x, y + HEIGHT / 2 * (1 if there[1] > y else -1))


def draw_arrow(axes: Axes, boxes: dict[str, Box], arrow: Arrow, *, back: bool) -> None:
    """A straight line with its data on it; one of two that go to and fro lies beside the other."""
    start, end = boxes[arrow.start], boxes[arrow.end]
    (x0, y0), (x1, y1) = edge(start, end), edge(end, start)
    upright, level = abs(x1 - x0) < 0.1, abs(y1 - y0) < 0.1
    side = 1 if (y1 < y0 if upright else x1 > x0) else -1
    aside = 0.12 * side if back else 0.0
    shift = (aside, 0.0) if upright else (0.0, aside)
    line = {"arrowstyle": "-|>", "color": QUIET, "linewidth": 1.1, "shrinkA": 1, "shrinkB": 1}
    tip, tail = [(x + shift[0], y + shift[1]) for x, y in ((x1, y1), (x0, y0))]
    axes.annotate("", tip, tail, arrowprops=line, zorder=0.4)
    x, y = (x0 + x1) / 2 + shift[0], (y0 + y1) / 2 + shift[1]
    horizontal, vertical = "center", "center"
    if upright:
        x, horizontal = x + 0.08 * side, "left" if side > 0 else "right"
    elif level:
        y, vertical = y + 0.05 * (side if back else 1), "bottom" if not back or side > 0 else "top"
    patch = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}
    axes.text(
        x,
        y,
        arrow.data,
        ha=horizontal,
        va=vertical,
        color=QUIET,
        size=8.5,
        style="italic",
        bbox=None if upright or level else patch,
        zorder=0.5,
    )


def draw(name: str) -> None:
    """One flow as an SVG, the same bytes every time."""
    boxes, arrows = FLOWS[name]
    width = max(center(box)[0] for box in boxes.values()) + 1.0
    height = -min(center(box)[1] for box in boxes.values()) + 0.55
    both = {(arrow.start, arrow.end) for arrow in arrows}
    with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "path"}):
        figure = Figure(figsize=(width, height))
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set(xlim=(0, width), ylim=(-height, 0))
        axes.set_axis_off()
        for box in boxes.values():
            draw_box(axes, box)
        for arrow in arrows:
            draw_arrow(axes, boxes, arrow, back=(arrow.end, arrow.start) in both)
        figure.savefig(FIGURES / f"flow-{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    for name in FLOWS:
        draw(name)
