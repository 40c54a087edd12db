"""Whether the flow of `maximize` finds the optimum: random concave problems against an independent convex solver.

    python benchmarks/flow.py [--problems 1000] [--json benchmarks/results/flow.json]

K quadratics −(x−c)ᵀA(x−c) with thresholds of which some can be had together and some cannot. The judge solves one
second-order cone program per objective with clarabel: the best value of each under the floors of those before. A
result is right if its key (values cut at their thresholds) equals the judge's up to `--tolerance`, in their scale.
"""

# pyright: reportAttributeAccessIssue=false
# (clarabel is a compiled module without stubs)

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any, NamedTuple

import clarabel
import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import sparse

from lexicone import maximize

SIZES = ((1, 5), (2, 2), (2, 6), (3, 4), (3, 10), (4, 6), (6, 6), (8, 10), (16, 4))
"""(K, number of variables)."""


class Problem(NamedTuple):
    """K concave quadratics with K−1 thresholds."""

    matrices: np.ndarray
    centres: np.ndarray
    thresholds: np.ndarray
    start: np.ndarray

    def values(self, x: np.ndarray) -> np.ndarray:
        away = x - self.centres
        return -np.einsum("ki,kij,kj->k", away, self.matrices, away)


def random_problem(seed: int, size: int, n: int) -> Problem:
    """Thresholds from half to one and a half of the values at a random point between the centres."""
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(size, n, n)) / np.sqrt(n)
    matrices = roots @ np.swapaxes(roots, 1, 2) + 0.1 * np.eye(n)
    centres = rng.normal(size=(size, n))
    problem = Problem(matrices, centres, np.zeros(size - 1), 2 * rng.normal(size=n))
    between = rng.dirichlet(np.ones(size)) @ centres
    thresholds = problem.values(between)[:-1] * rng.uniform(0.5, 1.5, size - 1)
    if rng.random() < 0.2 and size > 1:  # nothing attains this
        thresholds[rng.integers(size - 1)] = rng.choice([0.5, np.inf])
    return problem._replace(thresholds=thresholds)


def judge(problem: Problem) -> tuple[np.ndarray, int] | None:
    """The best values in order, and which objective ended it (K−1: all thresholds can be had); None if in doubt."""
    roots = np.linalg.cholesky(problem.matrices)
    floors: list[float] = []
    for j in range(len(problem.centres)):
        x = _best(problem, roots, j, floors)
        if x is None:
            return None
        values = problem.values(x)
        limit = problem.thresholds[j] if j < len(problem.thresholds) else np.inf
        if abs(values[j] - limit) < 1e-4 * max(1.0, abs(limit)):
            return None  # barely attained, or barely not: what follows hangs on the last digits
        if values[j] < limit:
            return values, j
        floors.append(limit)
    return None


def _best(problem: Problem, roots: np.ndarray, j: int, floors: list[float]) -> np.ndarray | None:
    n = problem.centres.shape[1]
    blocks = [np.vstack([np.zeros(n), -roots[i].T]) for i in range(len(floors))]
    right = [
        np.append(np.sqrt(-floor), -roots[i].T @ problem.centres[i])
        for i, floor in enumerate(floors)
    ]
    if not blocks:
        return problem.centres[j]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(2 * np.triu(problem.matrices[j])),
        -2 * problem.matrices[j] @ problem.centres[j],
        sparse.csc_matrix(np.vstack(blocks)),
        np.concatenate(right),
        [clarabel.SecondOrderConeT(n + 1)] * len(floors),
        settings,
    ).solve()
    return np.asarray(solution.x) if str(solution.status) in ("Solved", "AlmostSolved") else None


def quadratics(x: Any) -> Any:
    """The values; the problem is part of x, so that it compiles once."""
    matrices, centres = jax.lax.stop_gradient((x["matrices"], x["centres"]))
    away = x["point"][None] - centres
    return -jnp.einsum("ki,kij,kj->k", away, matrices, away)


def climb(problem: Problem, **options: Any) -> Any:
    start = {"matrices": problem.matrices, "centres": problem.centres, "point": problem.start}
    options = {"method": "flow", "step": "safe", "max_steps": 20_000, **options}
    return maximize(quadratics, start, problem.thresholds, record_path=False, **options)


def behind(problem: Problem, values: np.ndarray, best: np.ndarray, last: int) -> float:
    """The largest distance from the judge's key, up to the objective that ended it, relative to its size."""
    limits = np.append(problem.thresholds, np.inf)[: last + 1]
    keys = [np.minimum(v[: last + 1], limits) for v in (values, best)]
    return float(np.max(np.abs(keys[0] - keys[1]) / np.maximum(1.0, np.abs(keys[1]))))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--tolerance", type=float, default=1e-5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    table = Table(title=f"maximize, method=flow, against clarabel, tolerance {options.tolerance:g}")
    for column in (
        "K",
        "n",
        "problems",
        "out of reach",
        "right",
        "worst",
        "steps",
        "in doubt",
        "s",
    ):
        table.add_column(column, justify="right")
    rows = []
    for size, n in SIZES:
        share = 0.02 if size == 16 else 0.98 / (len(SIZES) - 1)
        wanted = math.ceil(options.problems * share)
        distances, steps, missed, doubt, seed = [], [], 0, 0, 0
        began = time.perf_counter()
        while len(distances) < wanted:
            problem = random_problem(seed, size, n)
            seed += 1
            expected = judge(problem)
            if expected is None:
                doubt += 1
                continue
            best, last = expected
            result = climb(problem)
            distances.append(behind(problem, result.values, best, last))
            steps.append(result.steps)
            missed += last < size - 1
        right = sum(d <= options.tolerance for d in distances)
        row = {
            "objectives": size,
            "variables": n,
            "problems": wanted,
            "out_of_reach": missed,
            "right": right,
            "worst": max(distances),
            "median_steps": float(np.median(steps)),
            "in_doubt": doubt,
            "seconds": time.perf_counter() - began,
        }
        rows.append(row)
        table.add_row(
            *(f"{v:.2g}" if isinstance(v, float) and v < 1 else f"{v:.0f}" for v in row.values())
        )
    Console().print(table)
    if options.json:
        options.json.write_text(
            json.dumps({"tolerance": options.tolerance, "rows": rows}, indent=1)
        )


if __name__ == "__main__":
    main()
