"""Trainings that are killed at random moments, again and again, and resumed: they end with the same bits.

``python -m tests.reliability.kills 100`` kills the command ``lexicone train`` a hundred times with SIGKILL, and writes
what came of it to ``kills.json`` beside this file.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lexicone._base import checkpoint

RESULTS = Path(__file__).with_name("kills.json")
CALL = ["maze:small", "--set", "objectives=path", "--thresholds", "-4", "--seeds", "2", "--json"]
LENGTH = ["--settings", "hidden=(8,)", "batch=8", "max_steps=20", "--episodes", "8000"]
_OFTEN = "from lexicone.learning import _outer_loop as o; o._SAVE_SECONDS = o._PIECE_SECONDS = 0.1"


def start(folder: Path) -> subprocess.Popen[bytes]:
    """``lexicone train --resume``, which saves ten times a second."""
    program = f"import sys; {_OFTEN}; from lexicone.cli import main; main(sys.argv[1:])"
    call = ["train", *CALL, *LENGTH, "--out", str(folder), "--resume"]
    compiled = {  # once for all
        "JAX_COMPILATION_CACHE_DIR": str(folder.parent / "compiled"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    return subprocess.Popen(
        [sys.executable, "-c", program, *call],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **compiled},
    )


def fingerprint(folder: Path) -> str:
    """Of all that a training has kept; a ValueError where its file is damaged."""
    return checkpoint.digest(*checkpoint.read(folder / "training.safetensors"))


def kill_and_resume(folder: Path, kills: int, rng: random.Random) -> tuple[int, int, int]:
    """Kill a training so many times, then let it end: (kills, those with a checkpoint to go on from, drafts left)."""
    done = kept = 0
    file = folder / "training.safetensors"
    while done < kills:
        running, before = start(folder), _saved(file)
        early = (
            rng.random() < 0.2
        )  # some while they still import, others when they have saved once more
        while not early and running.poll() is None and _saved(file) == before:
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.3))
        if running.poll() is not None:
            break  # it has come to its end
        running.kill()
        running.wait()
        done, kept = done + 1, kept + file.exists()
        if file.exists():
            fingerprint(folder)  # whole, at whatever moment it was
    assert start(folder).wait() == 0
    return done, kept, sum(name.endswith(".partial") for name in os.listdir(folder))


def _saved(file: Path) -> int:
    """When it was written last."""
    return file.stat().st_mtime_ns if file.exists() else 0


def main(kills: int, each: int = 5) -> None:
    """Kill trainings, five times each, and write what came of it."""
    rng, found = (
        random.Random(0),
        {"kills": 0, "resumed": 0, "trainings": 0, "same": 0, "drafts": 0},
    )
    with tempfile.TemporaryDirectory() as name:
        whole = Path(name) / "whole"
        assert start(whole).wait() == 0
        expected = fingerprint(whole)
        while found["kills"] < kills:
            folder = Path(name) / str(found["trainings"])
            done, kept, drafts = kill_and_resume(folder, each, rng)
            found["kills"] += done
            found["resumed"] += kept
            found["trainings"] += 1
            found["drafts"] += drafts
            found["same"] += fingerprint(folder) == expected
            print(found, flush=True)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))
