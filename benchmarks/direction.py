"""How long the direction takes, against the physical limit and against TorchJD.

    python benchmarks/direction.py --json benchmarks/results/direction.json

For K=6 gradients of n=10⁶ float32 parameters: the time of Gram matrix + direction + combination, divided by the time
of two plain passes over the same K×n memory (a row-wise sum each), in JAX and in PyTorch; and divided into the
time of TorchJD's UPGrad and PCGrad on the same matrix. In PyTorch both sides are aggregators, as users call them.
Where there is a C compiler, a loop in C shows what one thread can do at best. Then the K×K part alone, compiled: 10
problems at once, and one problem of many objectives.

All of it twice: with all cores, by the clock (medians, and the least times, which a busy machine disturbs least); and
in a process that keeps to one core, by its processor time, which others on the machine hardly disturb. What is
compared is timed in turn, and the load before and after is kept with the results (`--json`).
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
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

from lexicone import find_direction
from lexicone.directions._gradients import combine, gram

OBJECTIVES, PROBLEMS = 6, 10
CALLS = 100  # of the K×K part, one after the other
DELTA = 0.05
METHODS = ("sequential", "exact", "flow")


class Times(NamedTuple):
    """Seconds of one call."""

    median: float
    least: float
    processor: float
    """The median of the processor's time, of all threads together."""


def timed(
    contestants: dict[str, Callable[[], Any]], rounds: int, calls: int = 1
) -> dict[str, Times]:
    """Measured in turn, so that a busy machine slows all of them alike."""
    clock: dict[str, list[float]] = {name: [] for name in contestants}
    processor: dict[str, list[float]] = {name: [] for name in contestants}
    for run in contestants.values():
        run()
    for _ in range(rounds):
        for name, run in contestants.items():
            run()  # what the others have driven out of the cache comes back
            start, used = time.perf_counter(), time.process_time()
            run()
            processor[name].append((time.process_time() - used) / calls)
            clock[name].append((time.perf_counter() - start) / calls)
    return {
        name: Times(statistics.median(each), min(each), statistics.median(processor[name]))
        for name, each in clock.items()
    }


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


def measure(parameters: int, rounds: int) -> dict[str, Times]:
    """All contestants, one library after the other: their thread pools would slow each other down."""
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(OBJECTIVES, parameters)).astype(np.float32)
    matrix += 0.3 * matrix[:1] * rng.normal(size=(OBJECTIVES, 1)).astype(np.float32)  # correlated
    rows = rng.normal(size=(PROBLEMS, OBJECTIVES, 50)).astype(np.float32)
    return {
        **timed(jax_contestants(matrix), rounds),
        **timed(torch_contestants(matrix), rounds),
        **timed(c_contestants(matrix), rounds),
        **timed(small_contestants(rows), rounds, CALLS),
        **timed(many_contestants(rng), rounds),
    }


def measure_on_one_core(parameters: int, rounds: int) -> dict[str, Times]:
    """In a process of its own, so that the threads of all libraries keep to that core."""
    given = ["--parameters", str(parameters), "--rounds", str(rounds)]
    command = [sys.executable, __file__, "--on-one-core", *given]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return {name: Times(*each) for name, each in json.loads(done.stdout).items()}


def compared(seconds: dict[str, Times], one_core: dict[str, Times]) -> dict[str, Any]:
    """The times of each and what they are divided by, in milliseconds and ratios."""
    results = {}
    for name, times in seconds.items():
        limit = f"{name.split(',')[0]}, two plain passes".replace("TorchJD", "torch")
        big = limit in seconds
        peer = "TorchJD, UPGrad" if big and "TorchJD, UPGrad" in seconds else None
        alone = one_core[name].processor
        results[name] = {
            "median seconds": times.median,
            "least seconds": times.least,
            "÷ two plain passes": times.median / seconds[limit].median if big else None,
            "least ÷ least": times.least / seconds[limit].least if big else None,
            "one core, seconds": alone,
            "one core, ÷ two plain passes": alone / one_core[limit].processor if big else None,
            "one core, ÷ UPGrad": alone / one_core[peer].processor if peer else None,
        }
    return results


def show(results: dict[str, Any], parameters: int) -> None:
    """As a table."""
    table = Table(
        title=f"K={OBJECTIVES}, n={parameters:,}, float32; K×K: {PROBLEMS} problems at once"
    )
    for column in ("", *next(iter(results.values()))):
        table.add_column(column, justify="right" if column else "left")
    for name, row in results.items():
        cells = [
            "" if each is None else f"{1e6 * each:,.0f} µs" if "seconds" in key else f"{each:.2f}"
            for key, each in row.items()
        ]
        table.add_row(name, *cells)
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--parameters", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--on-one-core", action="store_true", help="only that part, as JSON")
    options = parser.parse_args()
    if options.on_one_core:
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {0})  # before JAX starts its threads
        print(json.dumps(measure(options.parameters, options.rounds)))
        return
    before = os.getloadavg()
    one_core = measure_on_one_core(options.parameters, options.rounds)
    results = compared(measure(options.parameters, options.rounds), one_core)
    after = os.getloadavg()
    show(results, options.parameters)
    print(f"load before {before[0]:.1f}, after {after[0]:.1f}, {os.cpu_count()} cores")
    if options.json:
        kept = {"load before": before, "load after": after, "cores": os.cpu_count()}
        kept |= {"parameters": options.parameters, "rounds": options.rounds, "results": results}
        options.json.write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
