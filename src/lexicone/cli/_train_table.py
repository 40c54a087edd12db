"""The table that ``lexicone train`` and ``evaluate`` print."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from lexicone._base.text import vector_text
from lexicone.order import Order

__all__ = ["print_training"]


def print_training(results: dict[str, Any], order: Order, console: Console) -> None:
    """In the order's units; results have totals, larger is better."""
    table = Table()
    table.add_column("seed", justify="right")
    for name, level in zip(order.labels, order.levels[:-1], strict=False):
        table.add_column(f"{name} {level.bound}", justify="right")
    known = "gap" in results
    for column in ("all", "mean returns"):
        table.add_column(column, justify="right")
    if known:
        table.add_column("gap to the optimum", justify="right")
    for i, share in enumerate(results["success"]):
        met = [
            f"{rate:.0%} ({low:.0%} to {high:.0%})"
            for rate, (low, high) in zip(
                results["satisfied"][i], results["satisfied_intervals"][i], strict=True
            )
        ]
        units = [level.sign for level in order.levels]
        ends = [_shown(order, end) for end in zip(*results["returns_intervals"][i], strict=True)]
        means, half = _shown(order, results["returns"][i]), np.abs(ends[1] - ends[0]) / 2
        cells = [", ".join(_with_room(m, h) for m, h in zip(means, half, strict=True))]
        if known:  # a gap has no sign of its own: positive is worse
            gap = _shown(order, results["gap"][i]) * units
            cells.append(vector_text(gap, 3, brackets=False))
        table.add_row(str(i), *met, f"{share:.0%}", *cells)
    console.print(table)
    how = "greedy actions" if results["greedy"] else "sampled actions"
    explanation = (
        f"Shares of {results['evaluation_episodes']} episodes ({how}). Intervals are those of 95 %."
    )
    if known:
        optimum = vector_text(_shown(order, results["exact"]), 3, brackets=False)
        of_model = f"exact expected values within {results['max_steps']} steps"
        whose = "mean returns" if "environment" in results else of_model
        explanation += (
            f" The gap is that of {whose}, both clipped at the thresholds, to the optimum {optimum} "
            f"({results['exact_status']})."
        )
    else:
        explanation += f" Episodes have at most {results['max_steps']} steps."
    console.print(explanation, highlight=False)


def _with_room(mean: float, half: float) -> str:
    """Half of the interval; nothing where one episode says nothing about others."""
    return f"{mean + 0.0:.3g}" + (f" ± {half:.2g}" if np.isfinite(half) else "")


def _shown(order: Order, numbers: Iterable[Any]) -> np.ndarray:
    """Values of a JSON file, where infinities are text, in the order's units."""
    return np.asarray(order.in_units([float(number) for number in numbers]))
