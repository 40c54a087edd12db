"""The figures of ``lexicone reproduce tlq``, drawn from its results, and their text versions."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from rich.columns import Columns
from rich.console import Console
from rich.text import Text

from lexicone import plots
from lexicone.exact._solve import solve
from lexicone.models._evaluation import evaluate, state_values
from lexicone.models._mdp import MDP
from lexicone.order import Order
from lexicone.plots._text import sketch
from lexicone.qlearning._iterate import tlq_iterate
from lexicone.qlearning._parts import absolute_slack, informed
from lexicone.qlearning._rules import preset
from lexicone.studies.tlq.cells import CHANCE, walk
from lexicone.studies.tlq.early_late import DRAWN
from lexicone.studies.tlq.variants import OUTCOMES
from lexicone.tasks import maze

__all__ = ["FIGURES", "draw", "show"]


class _Kind(NamedTuple):
    claim: str
    """The claim whose data it draws."""
    make: Callable[[dict[str, Any]], Figure]


def draw(results: dict[str, Any], out: Path) -> list[Path]:
    """Every figure whose claim is among the results, as PNG and SVG."""
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
        task = DRAWN
        shown = _natural_and_others(results["4"]["data"])
        lines = max(title.count("\n") for title, _, _ in shown)
        parts = [
            "\n" * (lines - title.count("\n"))
            + f"{title}\n{sketch(task.mdp, policy, _visits(task.mdp, trajectory))}"
            for title, policy, trajectory in shown
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
    return plots.panels(DRAWN.mdp, _natural_and_others(data))


def _natural_and_others(data: dict[str, Any]) -> list[tuple[str, Any, tuple[int, ...]]]:
    """A title, a policy ``[S,A]`` and its trajectory: the optimum first, then each preset."""
    task = DRAWN
    best = solve(task.mdp, Order([task.threshold]), task.gamma, policies="deterministic").policy
    shown = [("optimum", "", best.argmax(axis=1))]
    for name, each in data["policies"].items():
        shown.append((name, each["numbers"], np.array(each["policy"])))
    costs = maze("early-late", ("tiles", "time"))
    result = []
    for name, numbers, actions in shown:
        policy = np.full((task.mdp.num_states, task.mdp.num_actions), 1 / task.mdp.num_actions)
        fixed = actions != CHANCE
        policy[fixed] = np.eye(task.mdp.num_actions)[actions[fixed]]
        way = walk(task.mdp, actions)
        tiles, time = evaluate(costs, policy)
        told = f"tiles {tiles:g}\n{1 - time:g} steps" if way.ends == "goal" else "never arrives"
        title = "\n".join(part for part in (name, numbers, told) if part)
        result.append((title, policy, way.states))
    return result


def _oscillation(data: dict[str, Any]) -> Figure:
    return plots.oscillations(data["runs"], maze("small"))


def _cyclic(data: dict[str, Any]) -> Figure:
    first, second = data["slacks"]
    maps = {name: np.array(table) for name, table in data["maps"].items()}
    return plots.outcome_maps(np.array(first), np.array(second), maps, OUTCOMES)


def _values(_: dict[str, Any]) -> Figure:
    """What absolute slack promises on the small maze, what its policy really has, and two other presets."""
    mdp, gamma = maze("small"), 0.9
    slack = gamma * (1 - gamma**2)
    columns = {}
    for name, rule in (
        (f"urban, δ={slack:.3g}", preset("urban", accept=absolute_slack(slack))),
        ("gabor, τ=0.7", preset("gabor")),
        ("informed, τ=0.7, b=0.05", preset("informed", update=informed(0.05))),
    ):
        found = tlq_iterate(mdp, Order([0.7]), rule, gamma)
        if not columns:
            columns[f"{name}: promised"] = np.einsum("sa,sak->sk", found.policy, found.q)
        columns[f"{name}: real"] = state_values(mdp, found.policy, gamma)
    return plots.value_maps(mdp, columns)


def _treasure(data: dict[str, Any]) -> Figure:
    front, found, linear, mixed = (np.array(data[n]) for n in ("front", "tlq", "linear", "mixed"))
    return plots.fronts(front, found, linear, mixed, ("treasure", "time"))


def _visits(mdp: MDP, states: tuple[int, ...]) -> np.ndarray:
    often = np.zeros((mdp.num_states, mdp.num_actions))
    often[list(states)] = 1.0
    return often


FIGURES = {
    "tlq-region": _Kind("1", _region),
    "tlq-values": _Kind("1", _values),
    "tlq-early-late": _Kind("4", _early_late),
    "tlq-oscillation": _Kind("5", _oscillation),
    "tlq-cyclic": _Kind("5", _cyclic),
    "tlq-treasure": _Kind("6", _treasure),
}
"""The name of each file, and how it is drawn."""
