"""A program with 10⁸ states, in a process with little memory: one line, and the process goes on."""

import subprocess
import sys

import pytest

CODE = """
import resource
from pathlib import Path
import stormpy
import lexicone as lx
from lexicone.models import MDP
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
most = used + 60_000_000, resource.getrlimit(resource.RLIMIT_AS)[1]
resource.setrlimit(resource.RLIMIT_AS, most)
try:
    MDP.from_prism("large.prism", ['Pmax=? [F "end"]'])
except ValueError as error:
    print(error)
assert resource.getrlimit(resource.RLIMIT_AS) == most
"""
PROGRAM = """mdp
module m
 x:[0..99999999] init 0;
 [] x<99999999 -> 0.5:(x'=x+1)+0.5:(x'=0);
endmodule
label "end" = x=99999999;
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory as on Linux")
def test_too_many_states_for_the_memory_are_one_line(tmp_path):
    pytest.importorskip("stormpy")
    (tmp_path / "large.prism").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("path: 'large.prism' has too many states: to build them Storm")
    assert len(done.stdout.strip().splitlines()) == 1
