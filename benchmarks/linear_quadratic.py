"""Whether the two methods for linear–quadratic models agree: Riccati equations and semidefinite programs.

    python benchmarks/linear_quadratic.py [--systems 200] [--json benchmarks/results/linear_quadratic.json]

Random systems, some of them unstable, with 1 to 4 costs, some of which do not weigh inputs, and γ up to 0.999.
Thresholds are met with room, just attainable, or out of reach. The methods must agree on every objective that is still
open to choice, up to `--tolerance` in their scale. What follows once an objective is at its best has an interior
point's accuracy in the semidefinite program: "all apart" counts those too.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from lexicone import LinearQuadratic, Order, solve
from lexicone.exact import LinearQuadraticSolution
from lexicone.exact._riccati import starting_gain

GAMMAS = (0.5, 0.9, 0.99, 0.999)
KINDS = ("room", "attainable", "out of reach")


def random_system(seed: int) -> LinearQuadratic:
    rng = np.random.default_rng(seed)
    n, m, size = (int(rng.integers(1, high)) for high in (7, 4, 5))
    gamma = GAMMAS[seed % len(GAMMAS)]
    dynamics = rng.normal(size=(n, n))
    dynamics *= rng.uniform(0.3, 1.2) / np.abs(np.linalg.eigvals(dynamics)).max()
    ranks = rng.integers(1, n + m + 1, size=size)
    factors = [rng.normal(size=(r, n + m)) for r in ranks]
    for factor in factors[:-1]:
        if rng.random() < 0.4:
            factor[:, n:] = 0.0  # inputs are free
    factors[-1] = np.vstack([factors[-1], np.hstack([np.zeros((m, n)), np.eye(m)])])
    shocks = rng.normal(size=(n, int(rng.integers(1, n + 1))))
    first = rng.normal(size=(n, 1))
    return LinearQuadratic(
        dynamics,
        rng.normal(size=(n, m)),
        shocks @ shocks.T,
        costs=[f.T @ f for f in factors],
        gamma=gamma,
        initial=first @ first.T,
    )


def thresholds_of(model: LinearQuadratic, kind: str, seed: int) -> list[float]:
    """One after the other: between the best value, given those before, and twice its cost."""
    rng = np.random.default_rng(seed)
    thresholds: list[float] = []
    special = int(rng.integers(max(1, model.num_objectives - 1)))
    for j in range(model.num_objectives - 1):
        best = solve(model.reorder(range(j + 1)), Order(thresholds)).values[j]
        factor = rng.uniform(1.1, 2.0)
        if j == special and kind != "room":
            factor = 1.0 if kind == "attainable" else 0.7
        thresholds.append(float(best * factor))
    return thresholds


def open_objectives(solution: LinearQuadraticSolution) -> int:
    """How many objectives, from the first, were open to choice: up to the first that is at its best."""
    limits = np.array(solution.order.thresholds)
    tight = solution.values[:-1] <= limits + 1e-7 * np.maximum(1.0, np.abs(limits))
    binding = (solution.prices.max(axis=1, initial=0.0) == 0) & tight
    short = solution.values[:-1] < limits - 1e-9 * np.maximum(1.0, np.abs(limits))
    ends = np.flatnonzero(binding | short)
    return int(ends[0]) + 1 if ends.size else len(solution.values)


def differences(
    model: LinearQuadratic, first: LinearQuadraticSolution, second: LinearQuadraticSolution
) -> np.ndarray:
    """How far the keys are apart, in units of 1, of the key, or of a plain policy's totals, whichever is largest."""
    plain = model.evaluate(starting_gain(model))
    scale = np.maximum(np.maximum(1.0, np.abs(first.key)), np.abs(plain))
    return np.abs(first.key - second.key) / scale


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--systems", type=int, default=200)
    parser.add_argument("--tolerance", type=float, default=1e-8)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    for kind_number, kind in enumerate(KINDS):
        seconds = {"riccati": 0.0, "sdp": 0.0}
        apart, behind, gaps, statuses, compared = [], [], [], [], 0
        for seed in range(kind_number, options.systems, len(KINDS)):
            model = random_system(seed)
            order = Order(thresholds_of(model, kind, seed))
            found = {}
            for method in ("riccati", "sdp"):
                began = time.perf_counter()
                found[method] = solve(model, order, method=method)
                seconds[method] += time.perf_counter() - began
                statuses.append(str(found[method].status))
            each = differences(model, found["riccati"], found["sdp"])
            count = min(open_objectives(s) for s in found.values())
            compared += count
            apart.append(float(each[:count].max()))
            behind.append(float(each.max()))
            scale = np.maximum(1.0, np.abs(found["riccati"].key))
            gaps.append(float(np.max(np.abs(found["riccati"].gap) / scale)))
        rows.append(
            {
                "kind": kind,
                "systems": len(apart),
                "objectives": compared,
                "agree": sum(d <= options.tolerance for d in apart),
                "largest_difference": max(apart),
                "largest_difference_of_all": max(behind),
                "largest_gap": max(gaps),
                "optimal": statuses.count("optimal"),
                "seconds": seconds,
            }
        )
    table = Table(title=f"Riccati equations against semidefinite programs, {options.tolerance:g}")
    for column in (
        "thresholds",
        "systems",
        "open",
        "agree",
        "apart",
        "all apart",
        "gap",
        "optimal",
    ):
        table.add_column(column, justify="left" if column == "thresholds" else "right")
    for row in rows:
        table.add_row(
            row["kind"],
            str(row["systems"]),
            str(row["objectives"]),
            str(row["agree"]),
            f"{row['largest_difference']:.1e}",
            f"{row['largest_difference_of_all']:.1e}",
            f"{row['largest_gap']:.1e}",
            str(row["optimal"]),
        )
    Console().print(table)
    if options.json:
        options.json.write_text(
            json.dumps({"tolerance": options.tolerance, "rows": rows}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
