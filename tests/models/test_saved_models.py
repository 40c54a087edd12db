"""Models in files: what is written is read again, and other files are refused."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lexicone.models._layout import Layout
from lexicone.models._mdp import MDP
from tests.helpers.tables import TWO_STATES, random_mdp


def test_save_and_load(tmp_path: Path) -> None:
    layout = Layout(("S#",), np.array([(0, 0), (-1, -1)]), ("home", ""))
    mdp = MDP(**TWO_STATES, state_names=("α", "end"), objective_names=("gain",), layout=layout)
    path = tmp_path / "model.npz"
    path.write_text("an older file")
    mdp.save(path)
    again = MDP.load(path)
    for name in ("next_state", "probability", "reward", "initial", "terminal"):
        np.testing.assert_array_equal(getattr(again, name), getattr(mdp, name))
    assert (again.state_names, again.action_names) == (("α", "end"), None)
    assert again.objective_names == ("gain",)
    assert again.layout is not None
    assert again.layout.rows == ("S#",)
    assert again.layout.labels == ("home", "")
    assert os.listdir(tmp_path) == ["model.npz"]  # no draft is left behind


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.npz"
    MDP(**TWO_STATES).save(path)
    before = path.read_bytes()

    def fail(*args: Any, **kwargs: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(OSError, match="disk full"):
        random_mdp(0).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.npz"]


def test_load_refuses_other_files(tmp_path: Path) -> None:
    text, other, pickled = (tmp_path / name for name in ("a.npz", "b.npz", "c.npz"))
    text.write_text("hello")
    np.savez(other, x=np.zeros(3))
    np.savez(
        pickled, allow_pickle=True, format=np.array("lexicone-mdp-1"), reward=np.array([None, {}])
    )
    empty, array, cut = (tmp_path / name for name in ("d.npz", "e.npz", "f.npz"))
    empty.write_bytes(b"")
    with array.open("wb") as file:
        np.save(file, np.zeros(3))
    MDP(**TWO_STATES).save(cut)
    cut.write_bytes(cut.read_bytes()[:-60])
    for path in (text, other, pickled, empty, array, cut):
        with pytest.raises(ValueError, match=r"^path: .*is not a saved MDP") as caught:
            MDP.load(path)
        assert "pickle" not in str(caught.value)
        assert "\n" not in str(caught.value)
    np.savez(other, format=np.array("lexicone-mdp-1"), reward=np.zeros(3))
    with pytest.raises(ValueError, match=r"has no next_state, probability, initial, terminal"):
        MDP.load(other)
    arrays = {name: np.array(table) for name, table in TWO_STATES.items()}
    arrays["format"] = np.array("lexicone-mdp-1")
    np.savez(other, allow_pickle=False, **arrays)
    MDP.load(other)
    np.savez(other, allow_pickle=False, **arrays, discount=np.array(0.9), horizon=np.array(3))
    with pytest.raises(ValueError, match=r"has fields that no MDP has: discount, horizon$"):
        MDP.load(other)
    np.savez(other, allow_pickle=False, **arrays, layout_rows=np.array(["S."]))
    with pytest.raises(ValueError, match=r"has no layout_positions$"):
        MDP.load(other)
