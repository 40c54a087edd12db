"""Continuous worlds on the command line: their optima in ``lexicone tasks``, and ``lexicone solve WORLD``."""

import inspect
import json
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from lexicone._base.text import plain_numbers, vector_text
from lexicone.cli._models import print_values
from lexicone.order import Entry, Order
from lexicone.tasks._world import BoxWorld, Optimum
from lexicone.tasks._worlds import WORLDS, known_optimum, world

__all__ = ["describe_world", "list_worlds", "solve_world"]


def list_worlds(console: Console) -> None:
    """A table of all, with the optimum for their own thresholds."""
    table = Table()
    table.add_column("continuous world", no_wrap=True)
    for column in ("objectives", "thresholds", "optimum", "computed by"):
        table.add_column(column)
    for name in WORLDS:
        task, known = world(name), known_optimum(name)
        limits = " ".join(f"{t:g}" for t in task.thresholds)
        best = vector_text(known["values"], 4)
        table.add_row(name, ", ".join(task.reward_names), limits, best, known["how"])
    console.print(table)
    for name in WORLDS:
        console.print(f"{name}: {world(name).description}", highlight=False)


def describe_world(name: str) -> str:
    """All about one: what it is, its optimum, and how sure that is."""
    task, known = world(name), known_optimum(name)
    limits = " ".join(f"{t:g}" for t in task.thresholds)
    lines = [
        f"{task.name}: {task.description}",
        "",
        (inspect.getdoc(WORLDS[task.name]) or "").replace("`", ""),
        "",
        f"objectives  {', '.join(task.reward_names)}",
        f"actions     {', '.join(f'{a:g} to {b:g}' for a, b in zip(*task.actions, strict=True))}",
        f"thresholds  {limits}",
        f"optimum     {vector_text(known['values'], 4)}, {known['how']}",
    ]
    for grid in known["grids"]:
        size = "×".join(map(str, grid["states"]))
        lines.append(f"            {vector_text(grid['values'], 4)} with {size} states")
    played = vector_text(known["simulated"], 4)
    error = vector_text(known["error"], 2)
    lines.append(
        f"            {played} ± {error} when its policy plays {known['episodes']} episodes"
    )
    name = task.name.replace("_", "-")
    lines.append(f"try         lexicone train {name} --thresholds {limits}")
    lines.append(f"            lexicone solve {name} --thresholds {limits}")
    return "\n".join(lines)


def solve_world(name: str, thresholds: Sequence[Entry], as_json: bool, console: Console) -> None:
    """Computes and prints the optimum for other thresholds."""
    task = world(name)
    *limited, last = task.reward_names
    if len(thresholds) != len(limited):
        raise ValueError(
            f"--thresholds: {name} takes {len(limited)} ({', '.join(limited)}), and none for its last objective "
            f"({last}); got {len(thresholds)}"
        )
    order = Order(thresholds, names=task.reward_names)
    with console.status("solving …"):
        best = task.optimum(order)
    if as_json:
        print(json.dumps(_as_json(best), indent=2))
        return
    print_values(best.solution, console)
    console.print(f"{best.solution.status} ({best.how})", highlight=False)
    if isinstance(task, BoxWorld):
        console.print(
            f"lexicone tasks {name} shows how the optimum changes with finer grids.",
            highlight=False,
        )


def _as_json(best: Optimum) -> dict[str, Any]:
    return {
        "objectives": list(best.order.labels),
        "thresholds": plain_numbers(best.order.thresholds),
        "values": plain_numbers(best.values),
        "satisfied": best.solution.satisfied.tolist(),
        "prices": [plain_numbers(row) for row in best.solution.prices],
        "status": best.solution.status,
        "how": best.how,
    }
