"""Many cases in a process of their own, with limits on memory and on the time of each; another one goes on after it."""

import json
import os
import resource
import select
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.fuzz.outcomes import CRASHED, SLOW, Outcome, draw_call

MEMORY = 12 * 2**30  # bytes of addresses; JAX reserves many
SECONDS = 20.0  # a call may take this long, compilation included
_RECYCLE = 10_000  # cases of one process: compiled programs pile up


def run_cases(
    seed: int, numbers: range, each: Callable[[int, Outcome], object] = lambda number, outcome: None
) -> list[Outcome]:
    """All outcomes; ``each`` is told of every case that is done, with its number."""
    outcomes: list[Outcome] = []
    place = numbers.start
    while place < numbers.stop:
        stop = min(numbers.stop, place + _RECYCLE)
        with tempfile.TemporaryDirectory(prefix="lexicone-fuzz-") as folder:
            for number, outcome in _one_process(seed, place, stop, folder):
                outcomes.append(outcome)
                place = number + 1
                each(number, outcome)
    return outcomes


def _one_process(seed: int, start: int, stop: int, folder: str) -> Iterator[tuple[int, Outcome]]:
    """Until all are done, one takes too long, or the process dies; the last of these is an outcome too."""
    here = Path(__file__).parents[2]
    paths = [str(here), str(here / "src"), os.environ.get("PYTHONPATH", "")]
    command = [sys.executable, "-m", "tests.fuzz.worker", str(seed), str(start), str(stop)]
    quick = "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
    own = {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "MPLBACKEND": "agg",
        "TMPDIR": folder,
        "XLA_FLAGS": quick,
    }
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=folder,  # from the start: a relative path of a wild call never leaves it
        env={**os.environ, **own},
    )
    assert process.stdout is not None
    place, patience, began = start, 120.0, SECONDS  # the first has to import everything
    try:
        while place < stop:
            ready, _, _ = select.select([process.stdout], [], [], patience)
            line = process.stdout.readline() if ready else b""
            if line:
                yield place, Outcome(*json.loads(line))
                place, patience, began = place + 1, SECONDS, _seconds_of(process.pid)
                continue
            if not ready and _seconds_of(process.pid) - began < SECONDS and patience < 600:
                patience *= 2  # the machine is busy with other things
                continue
            name = draw_call(seed, place)[0].name
            yield place, Outcome(name, CRASHED if ready else SLOW, f"case {place} of seed {seed}")
            return
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _seconds_of(process: int) -> float:
    """The time that a processor has spent on it."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def limit_memory() -> None:
    """Of this process."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
