"""How long the direction takes, against the physical limit and against TorchJD.

    python benchmarks/direction.py

For K=6 gradients of n=10⁶ float32 parameters: the time of Gram matrix + direction + combination, divided by the time
of two plain passes over the same K×n memory (a row-wise sum each), in JAX and in PyTorch; and divided into the
time of TorchJD's UPGrad and PCGrad on the same matrix. Then the K×K part alone, compiled: 10 problems at once, and one
of many objectives. All in one run on the same machine; the table prints ratios, and `--json FILE` keeps them.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

from lexicone import find_direction
from lexicone.directions._gradients import combine, gram

OBJECTIVES, PARAMETERS, PROBLEMS = 6, 1_000_000, 10
CALLS = 100  # of the K×K part, one after the other
DELTA = 0.05


def timed(contestants: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Median seconds of each, measured in turn so that a busy machine slows all of them alike."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for run in contestants.values():
        run()
    for _ in range(rounds):
        for name, run in contestants.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(each) for name, each in seconds.items()}


def jax_contestants(matrix: np.ndarray) -> dict[str, Callable[[], Any]]:
    gradients = jnp.asarray(matrix)
    values, thresholds = jnp.zeros(OBJECTIVES), jnp.zeros(OBJECTIVES - 1)

    def step(gradients: Any, method: Any) -> Any:
        weights = find_direction(
            gram(gradients), values, thresholds, delta=DELTA, method=method
        ).weights
        return combine(weights, gradients)

    compiled = jax.jit(step, static_argnums=1)
    one_pass = jax.jit(lambda m: jnp.sum(m, axis=1))

    def two_passes() -> None:
        one_pass(gradients).block_until_ready()
        one_pass(gradients).block_until_ready()

    return {
        "JAX, two plain passes": two_passes,
        "JAX, sequential": lambda: compiled(gradients, "sequential").block_until_ready(),
        "JAX, exact": lambda: compiled(gradients, "exact").block_until_ready(),
    }


def torch_contestants(matrix: np.ndarray) -> dict[str, Callable[[], Any]]:
    try:
        import torch
    except ImportError:
        return {}
    from lexicone.torch._losses import gram as torch_gram

    gradients = torch.from_numpy(matrix)
    values, thresholds = torch.zeros(OBJECTIVES), torch.zeros(OBJECTIVES - 1)

    def step(method: Any) -> Any:
        weights = find_direction(
            torch_gram(gradients), values, thresholds, delta=DELTA, method=method
        ).weights
        return weights @ gradients

    def two_passes() -> Any:
        return gradients.sum(dim=1), gradients.sum(dim=1)

    contestants = {
        "torch, two plain passes": two_passes,
        "torch, sequential": lambda: step("sequential"),
        "torch, exact": lambda: step("exact"),
    }
    try:
        from torchjd.aggregation import PCGrad, UPGrad

        upgrad, pcgrad = UPGrad(), PCGrad()
    except ImportError:
        return contestants
    return {
        **contestants,
        "TorchJD, UPGrad": lambda: upgrad(gradients),
        "TorchJD, PCGrad": lambda: pcgrad(gradients),
    }


def small_contestants(rows: np.ndarray) -> dict[str, Callable[[], Any]]:
    grams = jnp.asarray(rows @ np.swapaxes(rows, 1, 2))
    values = jnp.zeros((PROBLEMS, OBJECTIVES))
    thresholds = jnp.zeros(OBJECTIVES - 1)

    def find(method: Any) -> Callable[[], Any]:
        def one(products: Any, values: Any) -> Any:
            return find_direction(products, values, thresholds, delta=DELTA, method=method)

        compiled = jax.jit(jax.vmap(one))

        def run() -> None:
            found = None
            for _ in range(CALLS):
                found = compiled(grams, values)
            jax.block_until_ready(found)

        return run

    return {"K×K, sequential": find("sequential"), "K×K, exact": find("exact")}


def many_contestants(rng: np.random.Generator) -> dict[str, Callable[[], Any]]:
    """One problem of many objectives, whose search takes about K/2 changes of the set of touching cones."""

    def find(size: int) -> Callable[[], Any]:
        rows = jnp.asarray(rng.normal(size=(size, 4 * size)).astype(np.float32))
        zeros = jnp.zeros(size)
        compiled = jax.jit(
            lambda gram: find_direction(gram, zeros, zeros[1:], delta=DELTA, method="exact")
        )
        products = rows @ rows.T
        return lambda: jax.block_until_ready(compiled(products))

    return {f"one of K={size}, exact": find(size) for size in (16, 64, 128)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(OBJECTIVES, PARAMETERS)).astype(np.float32)
    matrix += 0.3 * matrix[:1] * rng.normal(size=(OBJECTIVES, 1)).astype(np.float32)  # correlated
    rows = rng.normal(size=(PROBLEMS, OBJECTIVES, 50)).astype(np.float32)
    small = timed(small_contestants(rows), options.rounds)
    small = {name: each / CALLS for name, each in small.items()}
    small |= timed(many_contestants(rng), options.rounds)
    # One library after the other: their thread pools would slow each other down.
    seconds = timed(jax_contestants(matrix), options.rounds)
    seconds |= timed(torch_contestants(matrix), options.rounds) | small

    table = Table(
        title=f"K={OBJECTIVES}, n={PARAMETERS:,}, float32; K×K: {PROBLEMS} problems at once"
    )
    for column in ("", "time", "÷ two plain passes", "÷ TorchJD UPGrad"):
        table.add_column(column, justify="right" if column else "left")
    ratios = {}
    for name, time_taken in seconds.items():
        limit = seconds.get(f"{name.split(',')[0]}, two plain passes".replace("TorchJD", "torch"))
        peer = seconds.get("TorchJD, UPGrad")
        ratios[name] = None if limit is None else time_taken / limit
        table.add_row(
            name,
            f"{time_taken * 1e6:,.0f} µs" if name in small else f"{time_taken * 1e3:.2f} ms",
            "" if ratios[name] is None else f"{ratios[name]:.2f}",
            "" if name in small or peer is None else f"{time_taken / peer:.2f}",
        )
    Console().print(table)
    if options.json:
        kept = {
            "load": os.getloadavg(),
            "cores": os.cpu_count(),
            "seconds": seconds,
            "ratios": ratios,
        }
        options.json.write_text(json.dumps(kept, indent=2) + "\n")


if __name__ == "__main__":
    main()
