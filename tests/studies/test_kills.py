"""A worker, the driver and a node are killed while a study runs on a Ray cluster; `kills` has the long version."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra cluster: pip install ray")
def test_whoever_is_killed_the_study_ends_alike():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.studies.kills", "--short"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["kills"] == {"worker": 1, "driver": 1, "node": 1}
    assert told["exit"] == 0
    assert told["found"] == [0, 1, 4, 9, 16, 25]
    assert told["begun"] > 6  # some were begun again, so that the kills hit something
