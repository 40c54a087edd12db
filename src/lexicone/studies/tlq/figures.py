"""The figures of ``lexicone reproduce tlq``, drawn from its results alone, and their text versions."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from rich.columns import Columns
from rich.console import Console
from rich.text import Text

from lexicone import plots
from lexicone.models._mdp import MDP
from lexicone.plots._text import sketch
from lexicone.studies.tlq.cells import CHANCE
from lexicone.studies.tlq.variants import OUTCOMES
from lexicone.tasks import maze

__all__ = ["FIGURES", "draw", "show"]


class _Drawing(NamedTuple):
    claim: str
    """The claim whose data it draws."""
    make: Callable[[dict[str, Any]], Figure]


def draw(results: dict[str, Any], out: Path) -> list[Path]:
    """Every figure whose claim is among the results, as PNG, SVG and PDF."""
    return [
        path
        for name, (claim, make) in FIGURES.items()
        if claim in results
        for path in plots.save(make(results[claim]["data"]), out / name)
    ]


def show(results: dict[str, Any], console: Console) -> None:
    """The map over γ and δ, and the early-and-late maze with what each preset does, as text."""
    if "1" in results:
        console.print(Text(_region_text(results["1"]["data"])))
    if "4" in results:
        mdp = maze("early-late")
        panels = _panels(mdp, results["4"]["data"])
        lines = max(title.count("\n") for title, _, _ in panels)
        parts = [
            "\n" * (lines - title.count("\n"))
            + f"{title}\n{sketch(mdp, policy, _visits(mdp, states))}"
            for title, policy, states in panels
        ]
        console.print(Columns([Text(part) for part in parts], padding=(0, 2)))


def _region(data: dict[str, Any]) -> Figure:
    return plots.region(
        np.array(data["gammas"]),
        np.array(data["slacks"]),
        np.array(data["reached"]),
        data["boundary"],
    )


def _region_text(data: dict[str, Any]) -> str:
    """A character for each point: ``#`` where some way to break ties works."""
    gammas, slacks = data["gammas"], data["slacks"]
    lines = ["absolute slack on the small maze: # works under some tie-break"]
    for j in reversed(range(len(slacks))):
        marks = "".join("#" if data["reached"][i][j] else "·" for i in range(len(gammas)))
        lines.append(f"  δ={slacks[j]:.2f} {marks}")
    edge = sum(g < data["boundary"] for g in gammas)
    lines.append(f"         {' ' * edge}↑ γ={data['boundary']:.4f}")
    lines.append(f"         γ from {gammas[0]:g} to {gammas[-1]:g}")
    return "\n".join(lines)


def _early_late(data: dict[str, Any]) -> Figure:
    mdp = maze("early-late")
    return plots.panels(mdp, _panels(mdp, data))


def _panels(mdp: MDP, data: dict[str, Any]) -> list[tuple[str, np.ndarray, list[int]]]:
    """A title, a policy ``[S,A]`` and the states on its way: the optimum first, then each preset."""
    panels = []
    for name, each in {"optimum": data["optimum"], **data["policies"]}.items():
        actions = np.array(each["policy"])
        policy = np.full((mdp.num_states, mdp.num_actions), 1 / mdp.num_actions)
        fixed = actions != CHANCE
        policy[fixed] = np.eye(mdp.num_actions)[actions[fixed]]
        title = "\n".join(part for part in (name, each["numbers"], each["outcome"]) if part)
        panels.append((title, policy, each["states"]))
    return panels


def _oscillation(data: dict[str, Any]) -> Figure:
    return plots.oscillations(data["runs"], maze("small"))


def _cyclic(data: dict[str, Any]) -> Figure:
    first, second = data["slacks"]
    maps = {name: np.array(table) for name, table in data["maps"].items()}
    return plots.outcome_maps(np.array(first), np.array(second), maps, OUTCOMES)


def _values(data: dict[str, Any]) -> Figure:
    columns = {name: np.array(values) for name, values in data["values"].items()}
    return plots.value_maps(maze("small"), columns)


def _treasure(data: dict[str, Any]) -> Figure:
    front, found, linear, mixed = (np.array(data[n]) for n in ("front", "tlq", "linear", "mixed"))
    return plots.fronts(front, found, linear, mixed, ("treasure", "time"))


def _visits(mdp: MDP, states: list[int]) -> np.ndarray:
    visits = np.zeros((mdp.num_states, mdp.num_actions))
    visits[states] = 1.0
    return visits


FIGURES = {
    "tlq-region": _Drawing("1", _region),
    "tlq-values": _Drawing("1", _values),
    "tlq-early-late": _Drawing("4", _early_late),
    "tlq-oscillation": _Drawing("5", _oscillation),
    "tlq-cyclic": _Drawing("5", _cyclic),
    "tlq-treasure": _Drawing("6", _treasure),
}
"""The name of each file, and how it is drawn."""
