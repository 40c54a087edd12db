"""What a study costs beside its trainings: the store, Ray, and ten thousand cells at once.

Cells here compute next to nothing, so that what is measured is all overhead; what a cell leaves has the size of a real
one with 10 seeds. Run it on a quiet machine: ``python benchmarks/studies.py --json benchmarks/results/studies.json``.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import lexicone as lx
from lexicone.studies.sweeps.cells import Computed
from lexicone.studies.sweeps.design import Study
from lexicone.studies.sweeps.running import run_here
from lexicone.studies.sweeps.store import Store
from lexicone.studies.sweeps.study import results_of

MINUTE = 60.0


def nothing(number: int) -> dict[str, Any]:
    """What a cell leaves, without the work."""
    values = [[0.88 + ((number * 7 + i) % 11 - 5) / 1000, -11.0 - i / 100] for i in range(10)]
    return {
        "task": "traders", "learner": f"n={number}", "objectives": ["success", "time"],
        "thresholds": [0.88], "criterion": "expected", "seeds": 10, "evaluation": 1000,
        "values": values, "deviation": values, "satisfied": [[0.5]] * 10, "success": [0.5] * 10,
        "held": [[v[0] >= 0.88] for v in values], "steps": 1e4, "seconds": 60.0,
    }  # fmt: skip


def cells(count: int) -> list[Computed]:
    return [
        Computed(task_name=str(n), settings={"n": n}, compute=partial(nothing, n))
        for n in range(count)
    ]


def megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def store(count: int, folder: Path) -> dict[str, Any]:
    """Cells one after another in this process, and again when all are there."""
    made, kept = cells(count), Store(folder)
    groups = [[cell] for cell in made]
    before, begin, cpu = megabytes(), time.perf_counter(), time.process_time()
    run_here(groups, kept)
    once, cpu_once = time.perf_counter() - begin, time.process_time() - cpu
    cpu = time.process_time()
    run_here(groups, kept)
    return {
        "milliseconds_each": round(1e3 * once / count, 3),
        "of_processor": round(1e3 * cpu_once / count, 3),
        "of_processor_when_done": round(1e3 * (time.process_time() - cpu) / count, 3),
        "share_of_a_minute": once / count / MINUTE,
        "megabytes_more": round(megabytes() - before, 1),
    }


def on_ray(count: int, folder: Path) -> dict[str, Any]:
    """The same on a Ray cluster on this machine, whose workers have started."""
    import ray  # pyright: ignore[reportMissingImports]: an extra

    from lexicone.studies.sweeps.cluster import run_on_ray

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    begin = time.perf_counter()
    run_on_ray([[cell] for cell in cells(8)], Store(folder / "first"), True)
    start = time.perf_counter() - begin
    made = [[cell] for cell in cells(count)]
    before, begin = megabytes(), time.perf_counter()
    run_on_ray(made, Store(folder / "all"), True)
    each = (time.perf_counter() - begin) / count
    cpus = ray.cluster_resources()["CPU"]
    ray.shutdown()
    return {
        "seconds_to_start": round(start, 1),
        "cpus": cpus,
        "milliseconds_each": round(1e3 * each, 2),
        "share_of_a_minute": each * cpus / MINUTE,
        "megabytes_more": round(megabytes() - before, 1),
    }


def plan(count: int, folder: Path) -> dict[str, Any]:
    """A study with so many settings, in seconds of the processor: its cells, what is read of them, what is said."""
    rates = [1e-4 + 1e-7 * i for i in range(count)]
    before, begin = megabytes(), time.process_time()
    study = Study(
        tasks={"traders": (lx.tasks.space_traders(), [0.88])},
        learners={"ours": lx.PPO()},
        vary={"ours": {"learning_rate": rates}},
    )
    digests = [cell.digest for cell in study.cells]
    planned = time.process_time() - begin
    kept = Store(folder)
    for number, (cell, digest) in enumerate(zip(study.cells, digests, strict=True)):
        kept.put(digest, {**nothing(number), "facts": cell.facts})
    begin = time.process_time()
    found = results_of(study, kept)
    read = time.process_time() - begin
    begin = time.process_time()
    assert len(found.rows()) == count + 1
    found.verdict()
    said = time.process_time() - begin
    return {
        "seconds_to_plan": round(planned, 1),
        "seconds_to_read": round(read, 1),
        "seconds_to_say": round(said, 1),
        "megabytes_more": round(megabytes() - before, 1),
        "bytes_each": sum(f.stat().st_size for f in folder.rglob("*.json")) // count,
    }


MEASURES = {"store": store, "plan": plan, "ray": on_ray}


def apart(name: str, count: int) -> dict[str, Any]:
    """In a process of its own, so that peaks of memory are its own."""
    command = [sys.executable, "-W", "ignore", __file__, "--cells", str(count), "--only", name]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(told.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=10_000)
    parser.add_argument("--only", choices=MEASURES, help="this one, in this process")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.only:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(MEASURES[given.only](given.cells, Path(folder))))
        return
    found: dict[str, Any] = {"cells": given.cells, "load_before": round(os.getloadavg()[0], 1)}
    for name in MEASURES:
        found[name] = apart(name, given.cells)
        print(name, json.dumps(found[name]), flush=True)
    found["load_after"] = round(os.getloadavg()[0], 1)
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
