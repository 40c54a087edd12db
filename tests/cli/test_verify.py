"""``lexicone solve --out`` and ``lexicone verify``."""

import json

import pytest

import lexicone as lx
from lexicone.cli import main


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("solved")
    main(["solve", "space-traders", "--thresholds", "0.88", "--out", str(folder), "--json"])
    return folder


def test_what_solve_wrote_is_verified(solved, capsys):
    main(["verify", "space-traders", str(solved)])
    shown = capsys.readouterr().out
    assert "optimal: verified" in " ".join(shown.split())
    assert "NOT PROVEN" not in shown
    main(["verify", "space-traders", str(solved / "solution.safetensors"), "--exact", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] is True
    assert found["exact"] is True
    assert {claim["name"] for claim in found["claims"]} >= {"policy", "value of time"}


def test_a_solution_of_another_model_exits_with_1(solved, tmp_path, capsys):
    mdp = lx.tasks.space_traders()
    changed = lx.MDP(
        next_state=mdp.next_state,
        probability=mdp.probability,
        reward=mdp.reward * 1.5,
        initial=mdp.initial,
        terminal=mdp.terminal,
        objective_names=["price [/day]", "time"],
    )
    changed.save(tmp_path / "model.npz")
    with pytest.raises(SystemExit) as end:
        main(["verify", str(tmp_path / "model.npz"), str(solved)])
    assert end.value.code == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "not verified" in shown
    assert "[/day]" in shown
    with pytest.raises(SystemExit) as end:
        main(["verify", "maze", str(solved)])
    assert end.value.code == 1


def test_files_that_cannot_be_read_exit_with_2(solved, tmp_path, capsys):
    damaged = tmp_path / "damaged"
    damaged.write_bytes((solved / "solution.safetensors").read_bytes()[:-3])
    for path in (tmp_path, tmp_path / "none", damaged):
        with pytest.raises(SystemExit) as end:
            main(["verify", "space-traders", str(path)])
        assert end.value.code == 2
        assert "path: " in capsys.readouterr().err
