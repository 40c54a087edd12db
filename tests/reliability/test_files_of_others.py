"""Files that are damaged or made to do harm: refused in one line, before memory is taken or a module imported."""

import csv
import io
import json
import os
import sys
import zipfile
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from lexicone._base import checkpoint
from lexicone._base.text import read_assignment
from lexicone.exact._solution import Solution
from lexicone.learning._policy_file import load_policy
from lexicone.learning._result_env import TrainedEnv
from lexicone.learning._saved import load
from lexicone.learning.algos._ppo import PPO
from lexicone.models import _npz
from lexicone.models._evaluation import evaluate
from lexicone.models._mdp import MDP
from lexicone.studies import results
from lexicone.tasks import road_trip
from tests.helpers.bets import BETS, LEARNER, Wager
from tests.helpers.commands import run as command
from tests.helpers.tables import TWO_STATES
from tests.reliability.damage import flip_both


def test_five_hundred_flipped_bits_are_each_refused_or_harmless(tmp_path):
    for found in flip_both(tmp_path, 500).values():
        assert found.total() == 500
        assert set(found) <= {"refused", "harmless"}
        assert found["refused"] > 350  # of a zip, times and the like may change


def test_models_of_the_first_format_have_no_digest_and_load(tmp_path):
    path = tmp_path / "old.npz"
    tables = {name: np.array(table) for name, table in TWO_STATES.items()}
    np.savez(path, allow_pickle=False, format=np.array("lexicone-mdp-1"), **tables)
    assert MDP.load(path).num_states == 2
    np.savez(path, allow_pickle=False, format=np.array("lexicone-mdp-2"), **tables)
    with pytest.raises(ValueError, match=r"^path: .* has no digest$"):
        MDP.load(path)
    digest = np.array(checkpoint.digest(tables, "lexicone-mdp-2"))
    changed = {**tables, "reward": 2 * np.array(tables["reward"], float)}
    np.savez(path, allow_pickle=False, format=np.array("lexicone-mdp-2"), digest=digest, **changed)
    with pytest.raises(ValueError, match=r"^path: .* was changed after it was written$"):
        MDP.load(path)


def npy(array, **header):
    """An array's file, with parts of its header replaced by others."""
    said = {"descr": array.dtype.str, "fortran_order": False, "shape": array.shape, **header}
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, said)
    return file.getvalue() + array.tobytes()


FORMAT = npy(np.array("lexicone-mdp-1"))
HUGE = 10**12


@pytest.mark.parametrize(
    "members",
    [
        {"format": FORMAT, "next_state": npy(np.zeros(1, np.int32), shape=(HUGE, 4, 1))},
        {"format": npy(np.array("x"), shape=(HUGE,))},
        {"format": FORMAT, "next_state": b"\x93NUMPY\x01\x00\x40\x00" + b"{" * 64},
        {"format": FORMAT, "next_state": b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 65535},
        {"format": FORMAT, "next_state": npy(np.zeros(1), descr="|O")},
        {"format": FORMAT, "next_state": b"\x93NUMPY\x03\x00"},
    ],
    ids=["table", "text", "open brace", "depth", "objects", "version"],
)
@pytest.mark.parametrize("how", [zipfile.ZIP_STORED, zipfile.ZIP_LZMA], ids=["stored", "lzma"])
def test_what_an_array_says_of_itself_is_not_believed(members, how, tmp_path):
    path = tmp_path / "crafted.npz"
    with zipfile.ZipFile(path, "w", how) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    with pytest.raises(ValueError, match=r"^path: .* is not a saved MDP"):
        MDP.load(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:40] + bytes(255 - b for b in whole[40:60]) + whole[60:])
    with pytest.raises(ValueError, match=r"^path: .* is not a saved MDP"):
        MDP.load(path)


@pytest.mark.parametrize("read", [MDP.load, Solution.load, load, load_policy])
def test_what_is_no_file_is_not_waited_for(read, tmp_path):
    """Nobody writes to the pipe, and the device has no end."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises((ValueError, FileNotFoundError), match=r"^path: "):
            read(path)


def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    """80 MB of zeros in 80 kB, in a field that no model has, and then in tables that do not fit together."""
    path, zeros = tmp_path / "bomb.npz", np.zeros(10**7)
    read = []
    own = _npz.npy.read_array
    monkeypatch.setattr(
        _npz.npy, "read_array", lambda file, **o: read.append(file.name) or own(file, **o)
    )
    np.savez_compressed(path, allow_pickle=False, format=np.array("lexicone-mdp-1"), bomb=zeros)
    assert path.stat().st_size < 10**5
    with pytest.raises(ValueError, match=r"has no next_state"):
        MDP.load(path)
    tables = {**{name: np.array(table) for name, table in TWO_STATES.items()}, "reward": zeros}
    np.savez_compressed(path, allow_pickle=False, format=np.array("lexicone-mdp-1"), **tables)
    with pytest.raises(ValueError, match=r"its tables do not fit together"):
        MDP.load(path)
    assert set(read) == {"format.npy"}
    monkeypatch.setattr("lexicone._base.memory.available_bytes", lambda: 100)
    MDP(**TWO_STATES).save(path)
    with pytest.raises(ValueError, match=r"^path: what .* would take about .* of memory"):
        MDP.load(path)


def crafted(path, **facts):
    """The training in a file with other facts, and the digest that belongs to them."""
    arrays, known = checkpoint.read(path)
    checkpoint.write(path, arrays, {**known, **facts})


@pytest.fixture(params=["episodes", pytest.param("segments", marks=pytest.mark.slow)])
def saved(tmp_path, request):
    from lexicone.learning._train import train

    path = tmp_path / "run.safetensors"
    learner: Any = LEARNER if request.param == "episodes" else PPO(hidden=(), length=8)
    train(Wager, BETS, learner, seeds=1, updates=1).save(path)
    return path


def test_a_file_cannot_have_a_module_imported(saved, tmp_path, monkeypatch, capsys):
    (tmp_path / "evil_module.py").write_text(
        "import gymnasium\nfrom tests.helpers.bets import Wager\n"
        "gymnasium.register('Wager-v0', entry_point=Wager)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    name = "evil_module:Wager-v0"
    crafted(saved, environment=name, environment_id=name)
    bare = load(saved)
    assert bare.history["update"].tolist() == [1]
    for use in (bare.evaluate, bare.policy) if isinstance(bare, TrainedEnv) else (bare.evaluate,):
        with pytest.raises(
            ValueError, match=r"^task: the file names .*'evil_module:Wager-v0', for w"
        ):
            use()
    code, _, err = command(["evaluate", str(saved)], capsys)
    assert (code, "may not ask for that" in err) == (2, True)
    assert sys.modules.pop("evil_module", None) is None
    assert load(saved, task=name).evaluate(2).returns.shape == (1, 2, 2)  # when one says so
    assert command(["evaluate", str(saved), "--task", name, "--episodes=2"], capsys)[0] == 0
    assert sys.modules.pop("evil_module") is not None
    gymnasium.registry.pop("Wager-v0")


@pytest.mark.parametrize(
    "facts",
    [{"seeds": 10**12}, {"seeds": 10**18}, {"settings": {"hidden": [10**12], "batch": 64}}],
    ids=["seeds", "more seeds", "hidden"],
)
def test_a_training_that_claims_to_be_huge_is_refused(saved, facts):
    crafted(saved, **facts)
    with pytest.raises(ValueError, match=r"^path: "):
        load(saved)


def test_text_that_is_nested_too_deeply_is_refused(saved, tmp_path):
    deep = "[" * 100_000
    with safe_open(saved, "numpy") as file:
        arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        header = json.loads(file.metadata()["lexicone-1"])
    save_file(arrays, saved, {"lexicone-1": f'{{"facts": {deep}, "digest": "{header["digest"]}"}}'})
    with pytest.raises(ValueError, match=r"^path: .* was changed after it was written"):
        load(saved)
    assert read_assignment(f"name={deep}") == ("name", deep)
    assert read_assignment("name={[]: 1}") == ("name", "{[]: 1}")
    path = tmp_path / "results.json"
    path.write_text(deep)
    with pytest.raises(ValueError, match=r"cannot be read"):
        results.read(path)


def test_a_table_of_roads_with_an_endless_field_is_refused(tmp_path):
    path = tmp_path / "roads.csv"
    path.write_text('from,to,toll\nA,"' + "B" * (csv.field_size_limit() + 1) + '",1\n')
    with pytest.raises(ValueError, match=r"^roads: roads.csv: is no table"):
        road_trip(path)


def test_an_exit_too_rare_for_64_bits_is_said():
    """1 − 10⁻¹⁷ is 1: the state loops on itself, and still has a way out."""
    mdp = MDP(
        next_state=[[[0, 1]], [[1, 1]]],
        probability=[[[1 - 1e-17, 1e-17]], [[1.0, 0.0]]],
        reward=[[[[1.0], [1.0]]], [[[0.0], [0.0]]]],
        initial=[1.0, 0.0],
        terminal=[False, True],
    )
    with pytest.raises(
        ValueError, match=r"^mdp: there are states that a policy leaves with so small"
    ):
        evaluate(mdp, [0, 0])


def test_a_path_that_is_a_folder_or_not_there(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match=r"^path: there is no file"):
        MDP.load(tmp_path / "none.npz")
    with pytest.raises(ValueError, match=r"^path: .* is a folder"):
        MDP.load(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "facts",
    [{"layers": 10**12}, {"layers": 0}, {"activation": "exec"}, {"actions": {"sizes": [9]}}],
)
def test_a_policy_that_is_none_is_refused(facts, tmp_path):
    from lexicone.learning._train import train

    path = tmp_path / "policy.safetensors"
    train(Wager, BETS, PPO(hidden=(), length=8), seeds=1, updates=1).export(path)
    assert load_policy(path).act([0.5]) in (3, 4)
    crafted(path, **facts)
    with pytest.raises(ValueError, match=r"^path: .* has a policy that cannot be read: "):
        load_policy(path)
