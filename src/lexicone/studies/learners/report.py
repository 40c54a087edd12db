"""The study of learners as a table, a page and figures, from its results alone."""

from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from lexicone import plots
from lexicone.studies.learners.judge import GAP, REACHED, rate_interval

__all__ = ["COLUMNS", "as_markdown", "draw", "explanation", "figures", "report", "row"]

COLUMNS = ("task", "criterion", "learner", "success", "95 % interval", "gap", "steps", "seconds")
_SHORT = ("task", "learner", "success", "95 %", "gap", "steps")
_PAPER, _OURS = "reinforce", "ppo"
_LABELS = {
    _PAPER: "REINFORCE (paper)",
    "a2c": "A2C",
    _OURS: "PPO",
    "half-space": "PPO, half-space",
    "lagrangian": "PPO, Lagrangian",
    "linear": "PPO, linear",
    "penalty": "PPO, penalty",
}


def report(results: dict[str, Any], console: Console) -> None:
    """Learner × task on the terminal, in 80 columns, and what these mean."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in _SHORT:
        table.add_column(column, justify="left" if column in _SHORT[:2] else "right", no_wrap=True)
    before = None
    for cell in results.values():
        named = dict(zip(COLUMNS, row(cell), strict=True))
        first = cell["task"] if before != cell["task"] else ""
        interval = named["95 % interval"].replace(" to ", "–").replace("%–", "–")
        gap = _number(cell["gap_median"])
        steps = f"{cell['steps'] / 1000:,.0f}k"
        table.add_row(first, named["learner"], named["success"], interval, gap, steps)
        before = cell["task"]
    console.print(table)
    console.print(explanation(results, "median of seeds"), highlight=False)


def as_markdown(results: dict[str, Any]) -> str:
    """The same as a page, and every goal of the tasks that have several."""
    page = f"{explanation(results, 'mean of seeds (median)')} Seconds: all seeds, compilation included."
    lines = ["# Learners and tasks", "", page, ""]
    lines += ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    lines += ["| " + " | ".join(row(cell)) + " |" for cell in results.values()]
    several = [cell for cell in results.values() if len(cell["goals"]) > 1]
    if several:
        lines += ["", "Successful seeds, goal by goal:", ""]
    for cell in several:
        goals = "; ".join(f"{goal['label']}: {goal['won']}" for goal in cell["goals"])
        lines.append(f"- {cell['task']}, {cell['learner']}, of {cell['seeds']} seeds: {goals}")
    return "\n".join(lines) + "\n"


def row(cell: dict[str, Any]) -> list[str]:
    """A cell as `COLUMNS` show it."""
    low, high = cell["interval"]
    won, runs = sum(g["won"] for g in cell["goals"]), cell["seeds"] * len(cell["goals"])
    return [
        cell["title"],
        cell["criterion"],
        cell["learner"],
        f"{won} of {runs}",
        f"{low:.0%} to {high:.0%}" + (" (W)" if cell["interval_method"] == "Wilson" else ""),
        f"{_number(cell['gap_mean'])} ({_number(cell['gap_median'])})",
        f"{cell['steps']:,.0f}",
        f"{cell['seconds']:.0f}",
    ]


def explanation(results: dict[str, Any], gap: str) -> str:
    """What the columns mean; ``gap`` says which gap is shown."""
    study = next(iter(results.values()))["settings"]["study"]
    return (
        f"A seed succeeds, criterion episode: at least {REACHED:.0%} of {study['evaluation']:,} sampled episodes meet "
        "the thresholds and reach the best that is left (exp1 with τ₁=0.5: meet the threshold); expected: no objective "
        f"is more than {GAP:.0%} behind the exact optimum, in units of max(1, |optimum|), in Space Traders at most "
        "what policies differ by. Intervals: bootstrap over seeds; (W): Wilson's, where all or none succeed. Gap: in "
        f"the worst objective, {gap}. Steps: of the environment, per seed, mean. Linear: the best ratio of weights for "
        "each goal, chosen afterwards."
    )


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value + 0.0:.2g}"


def draw(results: dict[str, Any], out: Path) -> list[Path]:
    """The figures for which there are results, as files."""
    found = figures(results)
    return [path for name, figure in found.items() for path in plots.save(figure, out / name)]


def figures(results: dict[str, Any]) -> dict[str, Any]:
    """The figures for which there are results."""
    found: dict[str, Any] = {"learners": _heat(results)}
    if curves := _curves(results, (_PAPER, _OURS)):
        found["learners-training"] = plots.over_training(curves)
    learners = tuple(dict.fromkeys(cell["learner"] for cell in results.values() if "curve" in cell))
    if set(learners) - {_PAPER, _OURS}:
        found["learners-training-all"] = plots.over_training(_curves(results, learners))
    if any(cell["task"] == "delta" for cell in results.values()):
        found["learners-delta"] = _delta(results)
    return found


def _heat(results: dict[str, Any]) -> Any:
    learners = list(dict.fromkeys(cell["learner"] for cell in results.values()))
    tasks = list(dict.fromkeys(cell["task"] for cell in results.values()))
    rate = np.full((len(learners), len(tasks)), np.nan)
    words = [[""] * len(tasks) for _ in learners]
    heads = [""] * len(tasks)
    for cell in results.values():
        i, j = learners.index(cell["learner"]), tasks.index(cell["task"])
        low, high = cell["interval"]
        rate[i, j] = cell["rate"]
        words[i][j] = f"{100 * cell['rate']:.3g}%\n{low:.0%} to {high:.0%}"
        heads[j] = cell["title"].replace(", ", "\n") + f"\n{cell['criterion']}"
    names = [_named(name) for name in learners]
    seeds = sorted({cell["seeds"] for cell in results.values()})
    title = f"successful seeds of {' or '.join(map(str, seeds))}, and 95 % intervals"
    return plots.heat_table(names, heads, rate, words, title)


def _curves(results: dict[str, Any], learners: tuple[str, ...]) -> dict[str, Any]:
    """These learners, for each task of which success over training was kept: two only where both are there."""
    panels: dict[str, Any] = {}
    for task in dict.fromkeys(cell["task"] for cell in results.values()):
        cells = [results.get(f"{task}/{learner}", {}) for learner in learners]
        kept = [cell for cell in cells if "curve" in cell]
        if not kept or (len(learners) == 2 and len(kept) < 2):
            continue
        panels[kept[0]["title"]] = {
            f"{_label(cell)}: {cell['goals'][0]['won']} of {cell['seeds']} seeds, {cell['steps']:,.0f} steps each": (
                np.array(cell["curve"]["episodes"]),
                np.array(cell["curve"]["share"]),
            )
            for cell in kept
        }
    return panels


def _label(cell: dict[str, Any]) -> str:
    return _named(cell["learner"])


def _named(learner: str) -> str:
    return _LABELS.get(learner, learner)


def _delta(results: dict[str, Any]) -> Any:
    curves, intervals, title = {}, {}, ""
    for cell in (cell for cell in results.values() if cell["task"] == "delta"):
        degrees = sorted({goal["delta_deg"] for goal in cell["goals"]})
        success = [
            np.array([g["share"] for g in cell["goals"] if g["delta_deg"] == degree]) >= REACHED
            for degree in degrees
        ]
        label = _label(cell)
        curves[label] = (np.array(degrees), np.array([s.mean(axis=1) for s in success]))
        intervals[label] = np.array([rate_interval(s)[1:3] for s in success])
        title = f"{cell['title']}, {cell['seeds']} seeds each"
    return plots.by_delta(curves, intervals, title)
