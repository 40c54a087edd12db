"""Kills while a study runs on a Ray cluster of two nodes: ``python -m tests.studies.kills 20``.

A driver, a worker or a whole node is killed at a random moment while a group is trained, and the study started again;
one that is done nevertheless is begun anew, until so many kills are done. All cells of all rounds must then have the
numbers of a study that nobody disturbed.
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
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
Start = Callable[[Path, str], subprocess.Popen[bytes]]
WAITING = 6  # cells of the short test
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
    """Processes of a cluster that this one has started which run a group just now."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cmdline").read_bytes().startswith(b"ray::_work"):
                found.append(int(entry.name))
        except OSError:
            continue
    return [pid for pid in found if is_ours(pid)]


def is_ours(pid: int) -> bool:
    """Whether a process descends from this one."""
    while pid > 1 and pid != os.getpid():
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            return False
    return pid == os.getpid()


class Disturbed:
    """A study on a cluster of two nodes; killed here and there, started again, and repeated when it is done."""

    def __init__(self, start: Start, folder: Path, cluster: Any, rng: random.Random) -> None:
        self.start, self.folder, self.cluster, self.rng = start, folder, cluster, rng
        self.latest = 6.0
        self.second = cluster.add_node(num_cpus=1)
        self.kills = {"worker": 0, "driver": 0, "node": 0}
        self.outs: list[Path] = []
        self._next_round()

    def _next_round(self) -> None:
        self.outs.append(self.folder / f"disturbed-{len(self.outs)}")
        self._start()

    def _start(self) -> None:
        self.driver = self.start(self.outs[-1], self.cluster.address)

    def kill(self, kind: str) -> None:
        """One of them, as soon as there is one; the study goes on."""
        while self.driver.poll() is None and not workers():
            time.sleep(0.2)
        if self.driver.poll() is None:
            time.sleep(self.rng.uniform(0, self.latest))
        while kind == "worker" and self.driver.poll() is None and not workers():
            time.sleep(0.1)
        if self.driver.poll() == 0:
            self._next_round()
            return
        if kind == "worker" and (running := workers()):
            os.kill(self.rng.choice(running), signal.SIGKILL)
            self.kills[kind] += 1
        elif kind == "node":
            self.cluster.remove_node(self.second, allow_graceful=False)
            self.second = self.cluster.add_node(num_cpus=1)
            self.kills[kind] += 1
        elif kind == "driver" and self.driver.poll() is None:
            self.driver.send_signal(signal.SIGKILL)
            self.driver.wait()
            self.kills[kind] += 1
        if self.driver.poll() is not None:
            self._start()

    def finish(self) -> int:
        """Until the last round is done; what its driver returned."""
        for _ in range(3):
            if self.driver.wait(1200) == 0:
                break
            self._start()
        return self.driver.wait(1200)


def start_cluster() -> Any:
    """With one node, on this machine."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray.cluster_utils  # pyright: ignore[reportMissingImports]: an extra

    return ray.cluster_utils.Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )


def short(folder: Path) -> dict[str, Any]:
    """One kill of each kind in a few seconds: cells that wait and compute next to nothing."""
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    cluster = start_cluster()
    try:
        disturbed = Disturbed(start_waiting, folder, cluster, random.Random(0))
        disturbed.latest = 0.5
        for kind in disturbed.kills:
            disturbed.kill(kind)
        code = disturbed.finish()
    finally:
        cluster.shutdown()
    out = disturbed.outs[-1]
    found = sorted(json.loads(f.read_text())["square"] for f in out.glob("cells/??/*.json"))
    begun = len((out / "begun").read_text().split())
    return {"kills": disturbed.kills, "exit": code, "found": found, "begun": begun}


def start_waiting(out: Path, address: str) -> subprocess.Popen[bytes]:
    """A driver of such cells."""
    command = [sys.executable, "-m", "tests.studies.kills", "--driver", address, "--out", str(out)]
    return subprocess.Popen(command, cwd=ROOT)


def drive(address: str, out: Path) -> None:
    """What that driver does."""
    from lexicone.studies.sweeps.cells import Computed
    from lexicone.studies.sweeps.cluster import run_on_ray
    from lexicone.studies.sweeps.store import Store

    out.mkdir(parents=True, exist_ok=True)
    cells = [
        Computed(task_name=str(n), settings={"n": n}, compute=partial(square, n, out / "begun"))
        for n in range(WAITING)
    ]
    run_on_ray([[cell] for cell in cells], Store(out), address)


def square(n: int, begun: Path) -> dict[str, Any]:
    """After a second; says in a file that it has begun."""
    with begun.open("a") as file:
        file.write(f"{n}\n")
    time.sleep(1)
    return {"square": n * n}


def disturb(kills: int, folder: Path, seed: int = 0, study: str = STUDY) -> dict[str, Any]:
    """Run undisturbed once, then with kills; returns what happened."""
    began, rng, file = time.monotonic(), random.Random(seed), folder / "study.toml"
    quick = "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
    os.environ |= {"PYTHONPATH": str(ROOT / "src"), "XLA_FLAGS": quick}  # for all processes alike
    os.environ |= {"LEXICONE_CACHE": str(folder / "programs")}
    os.environ.pop("JAX_ENABLE_X64", None)
    file.write_text(study)
    assert start_driver(file, folder / "calm", None).wait(1200) == 0
    cluster = start_cluster()
    try:
        disturbed = Disturbed(partial(start_driver, file), folder, cluster, rng)
        kinds = list(disturbed.kills)
        while sum(disturbed.kills.values()) < kills:
            disturbed.kill(rng.choice(kinds))
        code = disturbed.finish()
    finally:
        cluster.shutdown()
    calm = cells(folder / "calm")
    same = [cells(out) == calm for out in disturbed.outs]
    return {
        "kills": disturbed.kills,
        "exit": code,
        "cells": len(calm),
        "rounds": len(same),
        "same": all(same),
        "seconds": round(time.monotonic() - began),
    }


def main() -> int:
    """Kill as often as asked, print and write what happened."""
    parser = argparse.ArgumentParser(prog="python -m tests.studies.kills", description=__doc__)
    parser.add_argument("kills", type=int, nargs="?", default=20)
    parser.add_argument("--out", type=Path, help="a JSON file for what happened")
    parser.add_argument("--short", action="store_true", help="three kills in a few seconds")
    parser.add_argument("--driver", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.driver:
        drive(given.driver, given.out)
        return 0
    if given.short:
        with tempfile.TemporaryDirectory(prefix="lexicone-kills-") as folder:
            print(json.dumps(short(Path(folder))))
        return 0
    with tempfile.TemporaryDirectory(prefix="lexicone-kills-") as folder:
        found = disturb(given.kills, Path(folder))
    print(json.dumps(found))
    if given.out:
        given.out.write_text(json.dumps(found) + "\n")
    return 0 if found["same"] and found["exit"] == 0 else 1


if __name__ == "__main__":
    raise SystemExit(main())
