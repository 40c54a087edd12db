"""Results as text, in the units of the order: costs with their own sign, amounts per step."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from lexicone.exact._front import Sensitivity
    from lexicone.exact._linear_quadratic import LinearQuadraticSolution
    from lexicone.exact._solution import Solution
    from lexicone.order import Order

__all__ = ["PRICE_COLUMN", "SolutionRow", "sensitivity_table", "solution_rows", "solution_table"]

PRICE_COLUMN = "one unit stricter costs at least"
_NO_PRICE = 1e-9


class SolutionRow(NamedTuple):
    """What a table says of one objective."""

    objective: str
    threshold: str
    value: str
    met: str
    price: str


def solution_rows(solution: "Solution | LinearQuadraticSolution") -> list[SolutionRow]:
    """One for each objective, in the order's units."""
    order, labels, rows = solution.order, solution.labels, []
    values, prices = order.in_units(solution.values), order.prices_in_units(solution.prices)
    for k, (label, level) in enumerate(zip(labels, order.levels, strict=True)):
        limit, met, price = "" if level == type(level)(None) else str(level), "", ""
        if k < len(order) - 1:
            limit = "inf" if limit == "" else limit
            met = "met" if solution.satisfied[k] else "missed"
            if (
                met == "missed" and order.thresholds[k] == np.inf
            ):  # nobody can: it asks for the most
                met = "best" if solution.status == "optimal" else ""
            price = _prices(order, prices[k], k, labels)
        rows.append(SolutionRow(label, limit, f"{values[k]:.6g}{level.unit}", met, price))
    return rows


def solution_table(solution: "Solution") -> str:
    """The same as plain text, with the status below."""
    head = ("objective", "threshold", "value", "", PRICE_COLUMN)
    note = f"{solution.status} (γ={solution.gamma:g}, {solution.policies} policies)"
    return f"{_aligned([head, *solution_rows(solution)])}\n{note}"


def sensitivity_table(found: "Sensitivity") -> str:
    """A row for each threshold: what is met, the values, and what a stricter one costs."""
    order, k = found.order, found.objective
    moving = order.levels[k]
    rows: list[Sequence[str]] = [(f"{order.labels[k]}", "", *order.labels, PRICE_COLUMN)]
    for i, threshold in enumerate(found.thresholds):
        prices = np.zeros((len(order) - 1, len(order)))
        prices[k] = found.prices[i]
        values = zip(order.in_units(found.values[i]), order.levels, strict=True)
        rows.append(
            (
                str(moving.moved(threshold, order.labels[k])),
                "met" if found.satisfied[i] else "missed",
                *(f"{value:.6g}{level.unit}" for value, level in values),
                _prices(order, order.prices_in_units(prices)[k], k),
            )
        )
    return _aligned(rows)


def _prices(order: "Order", prices: np.ndarray, k: int, labels: Sequence[str] | None = None) -> str:
    """What objectives after k lose."""
    labels = labels or order.labels
    return ", ".join(
        f"{prices[i]:.4g}{order.levels[i].unit} of {labels[i]}"
        for i in range(k + 1, len(prices))
        if np.isfinite(prices[i]) and abs(prices[i]) > _NO_PRICE
    )


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
