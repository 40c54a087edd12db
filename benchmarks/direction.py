"""How long the direction takes, against the physical limit and against TorchJD.

    python benchmarks/direction.py --json benchmarks/results/direction.json

For K=6 gradients of n=10⁶ float32 parameters: the time of Gram matrix + direction + combination, divided by the time
of two plain passes over the same K×n memory (a row-wise sum each), in JAX and in PyTorch; and divided into the
time of TorchJD's UPGrad and PCGrad on the same matrix. In PyTorch both sides are aggregators, as users call them.
Where there is a C compiler, a loop in C shows what one thread can do at best. Then the K×K part alone, compiled: 10
problems at once; and, on one core, one problem of many objectives. Medians, and the least times, which a busy machine
disturbs least; all in one run, and the load before and after it is kept with the results (`--json`).
"""

import argparse
import ctypes
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
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
METHODS = ("sequential", "exact", "flow")


Times = dict[str, tuple[float, float]]


def timed(contestants: dict[str, Callable[[], Any]], rounds: int) -> Times:
    """Median and least seconds of each, measured in turn so that a busy machine slows all of them alike."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for run in contestants.values():
        run()
    for _ in range(rounds):
        for name, run in contestants.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return {name: (statistics.median(each), min(each)) for name, each in seconds.items()}


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
        **{
            f"JAX, {method}": lambda method=method: compiled(gradients, method).block_until_ready()
            for method in METHODS
        },
    }


def torch_contestants(matrix: np.ndarray) -> dict[str, Callable[[], Any]]:
    try:
        import torch
        from torchjd.aggregation import PCGrad, UPGrad
    except ImportError:
        return {}
    from lexicone.torch import OrderedAggregator

    gradients, losses = torch.from_numpy(matrix), torch.ones(OBJECTIVES)

    def two_passes() -> Any:
        return gradients.sum(dim=1), gradients.sum(dim=1)

    def ordered(method: Any) -> Callable[[], Any]:
        aggregator = OrderedAggregator([1.0] * (OBJECTIVES - 1), method=method, delta=DELTA)
        return lambda: aggregator.observe(losses)(gradients)

    upgrad, pcgrad = UPGrad(), PCGrad()
    return {
        "torch, two plain passes": two_passes,
        **{f"torch, {method}": ordered(method) for method in METHODS},
        "TorchJD, UPGrad": lambda: upgrad(gradients),
        "TorchJD, PCGrad": lambda: pcgrad(gradients),
    }


def c_contestants(matrix: np.ndarray) -> dict[str, Callable[[], Any]]:
    """The loops of direction.c, and the weights by NumPy."""
    compiler = shutil.which("cc")
    if compiler is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        built = str(Path(folder) / "direction.so")
        source = str(Path(__file__).with_suffix(".c"))
        options = ["-O3", "-march=native", "-ffast-math", "-mprefer-vector-width=512"]
        if subprocess.run(
            [compiler, *options, "-shared", "-fPIC", source, "-o", built], check=False
        ).returncode:
            return {}
        loops = ctypes.CDLL(built)
    n = ctypes.c_size_t(matrix.shape[1])
    first, second = np.triu_indices(OBJECTIVES)
    pairs, out = np.empty(len(first)), np.empty(matrix.shape[1], np.float32)
    values = np.zeros(OBJECTIVES, np.float32)

    def at(array: np.ndarray) -> Any:
        return ctypes.c_void_p(array.ctypes.data)

    def two_passes() -> None:
        loops.sums(at(matrix), n, at(out))
        loops.sums(at(matrix), n, at(out))

    def step() -> np.ndarray:
        loops.gram(at(matrix), n, at(pairs))
        products = np.empty((OBJECTIVES, OBJECTIVES), np.float32)
        products[first, second] = products[second, first] = pairs
        found = find_direction(products, values, values[1:], delta=DELTA, method="exact")
        loops.combine(at(matrix), n, at(found.weights), at(out))
        return out

    np.testing.assert_allclose(step()[:9], _direction(matrix)[:9], rtol=1e-3, atol=1e-4)
    return {"C, two plain passes": two_passes, "C, exact": step}


def _direction(matrix: np.ndarray) -> np.ndarray:
    zeros = np.zeros(OBJECTIVES, np.float32)
    products = matrix @ matrix.T
    return find_direction(products, zeros, zeros[1:], delta=DELTA, method="exact").weights @ matrix


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

    return {f"K×K, {method}": find(method) for method in METHODS}


def many_contestants(rng: np.random.Generator) -> dict[str, Callable[[], Any]]:
    """One problem of many objectives, whose search takes about K/2 changes of a set."""

    def find(size: int, method: Any) -> Callable[[], Any]:
        rows = jnp.asarray(rng.normal(size=(size, 4 * size)).astype(np.float32))
        zeros = jnp.zeros(size)
        compiled = jax.jit(
            lambda gram: find_direction(gram, zeros, zeros[1:], delta=DELTA, method=method)
        )
        products = rows @ rows.T
        return lambda: jax.block_until_ready(compiled(products))

    return {
        f"one of K={size}, {method}": find(size, method)
        for size in (16, 64, 128)
        for method in ("exact", "flow")
    }


def many_on_one_core(rounds: int) -> Times:
    """In a process of its own, so that its threads, too, keep to one core."""
    command = [sys.executable, __file__, "--many", "--rounds", str(rounds)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--many", action="store_true", help="only many objectives, as JSON")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    if options.many:
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {0})  # before JAX starts its threads
        print(json.dumps(timed(many_contestants(rng), options.rounds)))
        return
    before = os.getloadavg()
    matrix = rng.normal(size=(OBJECTIVES, PARAMETERS)).astype(np.float32)
    matrix += 0.3 * matrix[:1] * rng.normal(size=(OBJECTIVES, 1)).astype(np.float32)  # correlated
    rows = rng.normal(size=(PROBLEMS, OBJECTIVES, 50)).astype(np.float32)
    small = timed(small_contestants(rows), options.rounds)
    small = {name: (median / CALLS, least / CALLS) for name, (median, least) in small.items()}
    small |= many_on_one_core(options.rounds)
    # One library after the other: their thread pools would slow each other down.
    seconds = timed(jax_contestants(matrix), options.rounds)
    seconds |= timed(torch_contestants(matrix), options.rounds)
    seconds |= timed(c_contestants(matrix), options.rounds) | small

    table = Table(
        title=f"K={OBJECTIVES}, n={PARAMETERS:,}, float32; K×K: {PROBLEMS} problems at once"
    )
    for column in ("", "median", "least", "÷ two plain passes", "least ÷ least", "÷ UPGrad"):
        table.add_column(column, justify="right" if column else "left")
    results = {}
    for name, (median, least) in seconds.items():
        limit = seconds.get(f"{name.split(',')[0]}, two plain passes".replace("TorchJD", "torch"))
        peer = None if name in small else seconds.get("TorchJD, UPGrad")
        results[name] = {
            "median seconds": median,
            "least seconds": least,
            "÷ two plain passes": limit and median / limit[0],
            "least ÷ least": limit and least / limit[1],
            "÷ UPGrad": peer and median / peer[0],
        }
        ratios = list(results[name].values())[2:]
        table.add_row(
            name,
            *(f"{1e6 * each:,.0f} µs" for each in (median, least)),
            *("" if each is None else f"{each:.2f}" for each in ratios),
        )
    Console().print(table)
    after = os.getloadavg()
    print(f"load before {before[0]:.1f}, after {after[0]:.1f}, {os.cpu_count()} cores")
    if options.json:
        kept = {"load before": before, "load after": after, "cores": os.cpu_count()}
        options.json.write_text(
            json.dumps(kept | {"results": results}, indent=2, ensure_ascii=False) + "\n"
        )


if __name__ == "__main__":
    main()
