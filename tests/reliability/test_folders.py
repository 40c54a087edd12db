"""Full disks, folders that cannot be written to, drafts that a kill left, and two writers of one folder."""

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from lexicone._base.files import check_writable, hold_folder, release_folders, write_atomically
from lexicone.learning._saved import load
from lexicone.models._mdp import MDP
from tests.helpers.commands import run
from tests.helpers.tables import TWO_STATES, random_mdp

SOLVE = ["solve", "maze:extended", "--set", "objectives=path", "--thresholds", "-3"]
TRAINING = Path(__file__).parents[1] / "data" / "0.1.0" / "ppo.safetensors"


@contextmanager
def child(program: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has said that it is ready, and is killed at the end."""
    code = f"import time\nfrom lexicone._base.files import *\n{program}"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as made:
        assert made.stdout is not None
        try:
            assert made.stdout.readline() == "ready\n"
            yield made
        finally:
            made.kill()


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """No file may become larger than that, as on a disk with so much room."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_leaves_the_old_file_and_no_draft(tmp_path, capsys):
    path, other = tmp_path / "model.npz", tmp_path / "run.safetensors"
    mdp = MDP(**TWO_STATES)
    mdp.save(path)
    before, trained = path.read_bytes(), load(TRAINING)
    trained.save(other)
    saved = other.read_bytes()
    large = MDP(**TWO_STATES, state_names=("α" * 500, "β" * 600))
    with full_disk(900):
        for write in (lambda: large.save(path), lambda: trained.save(other)):
            with pytest.raises(OSError, match="File too large"):
                write()
    assert (path.read_bytes(), other.read_bytes()) == (before, saved)
    with full_disk(900):
        code, _, err = run([*SOLVE, "--out", str(tmp_path / "out")], capsys)
    assert (code, err) == (2, "lexicone: [Errno 27] File too large\n")
    assert sorted(os.listdir(tmp_path)) == ["model.npz", "out", "run.safetensors"]
    assert not any(name.endswith(".partial") for name in os.listdir(tmp_path / "out"))


@pytest.mark.parametrize("where", ["/proc/lexicone", "file/below"])
def test_a_folder_that_cannot_be_made_is_refused_before_any_work(where, tmp_path, capsys):
    (tmp_path / "file").touch()
    for command in (SOLVE, ["train", "maze", "--thresholds", "1"], ["reproduce", "lpa"]):
        code, out, err = run([*command, "--out", str(tmp_path / where)], capsys)
        assert (code, out) == (2, "")
        assert err.startswith("lexicone: --out: cannot write to ")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_the_right_to_write_is_refused(tmp_path, capsys):
    tmp_path.chmod(0o500)
    code, out, err = run([*SOLVE, "--out", str(tmp_path)], capsys)
    assert (code, out) == (2, "")
    assert "cannot write to" in err


def test_drafts_of_killed_writers_are_removed_and_those_of_living_ones_kept(tmp_path):
    target = tmp_path / "a[1]*.npz"
    write = f"""
def wait(file):
    print("ready", flush=True)
    time.sleep(60)
write_atomically({str(target)!r}, wait)
"""
    with child(write) as writer:
        living = set(os.listdir(tmp_path))
        assert len(living) == 1
        assert living.pop().endswith(".partial")
        write_atomically(target, lambda file: file.write(b"mine"))
        assert len(os.listdir(tmp_path)) == 2
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        other = tmp_path / ".other.npz.01234567.partial"
        other.touch()
        check_writable("path", target)
    assert sorted(os.listdir(tmp_path)) == [other.name, target.name]
    assert target.read_bytes() == b"mine"


def test_two_commands_do_not_write_to_one_folder(tmp_path, capsys):
    hold = f"""
from pathlib import Path
hold_folder("--out", Path({str(tmp_path)!r}))
print("ready", flush=True)
time.sleep(60)
"""
    with child(hold) as writer:
        code, out, err = run([*SOLVE, "--out", str(tmp_path)], capsys)
        assert (code, out) == (2, "")
        assert err.startswith("lexicone: --out: another process is writing to ")
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        for _ in range(2):  # the lock ended with the process, and ours with the command
            assert run([*SOLVE, "--out", str(tmp_path)], capsys)[0] == 0
    hold_folder("--out", tmp_path)
    hold_folder("--out", tmp_path)
    release_folders()


def test_a_model_is_the_same_after_all_this(tmp_path):
    """The control: nothing above is in the way of an ordinary save."""
    path = tmp_path / "model.npz"
    random_mdp(0).save(path)
    np.testing.assert_array_equal(MDP.load(path).reward, random_mdp(0).reward)
    assert os.listdir(tmp_path) == ["model.npz"]
