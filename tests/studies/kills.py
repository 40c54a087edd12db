"""Kills while a study runs on a Ray cluster of two nodes: ``python -m tests.studies.kills 20``.

A driver, a worker or a whole node is killed at a random moment, and the study started again, until so many kills are
done; then it runs to its end. All cells must then have the numbers of a study that nobody disturbed.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
STUDY = """
seeds = 2
episodes = 4000
evaluation = 50
[tasks.traders]
task = "space-traders"
thresholds = [0.88]
[tasks.maze]
task = "maze:small"
thresholds = [1]
[learners.ours]
learner = "a2c"
batch = 8
hidden = [8]
[learners.theirs]
learner = "a2c"
rule = "penalty"
batch = 8
hidden = [8]
"""


def start_driver(file: Path, out: Path, address: str | None) -> subprocess.Popen[bytes]:
    """The command that runs the study, on a cluster if there is one."""
    command = [sys.executable, "-m", "lexicone", "study", str(file), "--out", str(out), "--json"]
    command += [] if address is None else ["--ray", address]
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=out.parent
    )


def cells(out: Path) -> dict[str, Any]:
    """What is kept, but for times."""
    kept = [json.loads(file.read_text()) for file in sorted(out.glob("cells/??/*.json"))]
    return {f"{c['task']}/{c['learner']}": {k: c[k] for k in c if k != "seconds"} for c in kept}


def workers() -> list[int]:
    """Processes of Ray that run a group just now."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if b"ray::_work" in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def disturb(kills: int, folder: Path, seed: int = 0) -> dict[str, Any]:
    """Run undisturbed once, then with kills; returns what happened."""
    import ray.cluster_utils  # pyright: ignore[reportMissingImports]: an extra

    rng, file = random.Random(seed), folder / "study.toml"
    quick = "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
    os.environ |= {"PYTHONPATH": str(ROOT / "src"), "XLA_FLAGS": quick}  # for all processes alike
    os.environ.pop("JAX_ENABLE_X64", None)
    file.write_text(STUDY)
    assert start_driver(file, folder / "calm", None).wait(1200) == 0
    cluster = ray.cluster_utils.Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    second = cluster.add_node(num_cpus=1)
    done: dict[str, int] = {"driver": 0, "worker": 0, "node": 0}
    out = folder / "disturbed"
    try:
        driver = start_driver(file, out, cluster.address)
        for number in range(kills):
            time.sleep(rng.uniform(1, 15))
            kind = ("worker", "driver", "node")[number % 3]
            if kind == "driver" and driver.poll() is None:
                driver.send_signal(signal.SIGKILL)
                driver.wait()
                done[kind] += 1
            elif kind == "worker" and (running := workers()):
                os.kill(rng.choice(running), signal.SIGKILL)
                done[kind] += 1
            elif kind == "node":
                cluster.remove_node(second, allow_graceful=False)
                second = cluster.add_node(num_cpus=1)
                done[kind] += 1
            if driver.poll() is not None:
                driver = start_driver(file, out, cluster.address)
        code = driver.wait(1200)
        if code != 0:
            code = start_driver(file, out, cluster.address).wait(1200)
    finally:
        cluster.shutdown()
    calm, disturbed = cells(folder / "calm"), cells(out)
    return {"kills": done, "exit": code, "cells": len(calm), "same": calm == disturbed}


def main() -> int:
    """Kill as often as asked, print and write what happened."""
    parser = argparse.ArgumentParser(prog="python -m tests.studies.kills", description=__doc__)
    parser.add_argument("kills", type=int, nargs="?", default=20)
    parser.add_argument("--out", type=Path, help="a JSON file for what happened")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lexicone-kills-") as folder:
        found = disturb(given.kills, Path(folder))
    print(json.dumps(found))
    if given.out:
        given.out.write_text(json.dumps(found) + "\n")
    return 0 if found["same"] and found["exit"] == 0 else 1


if __name__ == "__main__":
    raise SystemExit(main())
