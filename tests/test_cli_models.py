import json

import pytest

from lexicone import tasks
from test_cli import modules_after, run

EXTENDED = ["solve", "maze:extended", "--set", "objectives=path", "--thresholds", "-3"]


def test_the_model_side_imports_no_jax():
    use = "import lexicone.mdp, lexicone.tasks, lexicone.solve, lexicone.front, lexicone.evaluation"
    assert modules_after(use) == "False False"


def test_tasks_lists_all(capsys):
    code, out, _ = run(["tasks"], capsys)
    assert code == 0
    for name in tasks.TASKS:
        assert f"{name}: " in out


def test_show(tmp_path, capsys):
    code, out, _ = run(["show", "maze:small", "--out", str(tmp_path)], capsys)
    assert code == 0
    assert "9 states, 4 actions" in out
    assert (tmp_path / "model.png").is_file()
    drawing = tmp_path / "mine.txt"
    drawing.write_text("S.G\n.h.\n")
    assert "6 states" in run(["show", f"maze:{drawing}"], capsys)[1]
    saved = tmp_path / "model.npz"
    tasks.space_traders().save(saved)
    assert "4 states" in run(["show", str(saved)], capsys)[1]


def test_solve_explains_the_coin(tmp_path, capsys):
    code, out, _ = run([*EXTENDED, "--out", str(tmp_path)], capsys)
    text = " ".join(out.split())
    assert code == 0
    assert "Up 0.8, Right 0.2" in text
    assert "It has (-3, -5.2); the best policy that never flips a coin has (-3, -8)" in text
    assert (tmp_path / "policy.svg").is_file()


def test_solve_json(capsys):
    found = json.loads(run([*EXTENDED, "--json"], capsys)[1])
    assert found["values"] == pytest.approx([-3, -5.2])
    assert found["satisfied"] == [True]
    fixed = json.loads(run([*EXTENDED, "--policies", "deterministic", "--json"], capsys)[1])
    assert fixed["values"] == pytest.approx([-3, -8])
    best = json.loads(run([*EXTENDED[:-1], "inf", "--json"], capsys)[1])
    assert best["thresholds"] == ["inf"]
    assert best["values"] == pytest.approx([1, -10])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["solve", "labyrinth", "--thresholds", "1"], "there is no task 'labyrinth'"),
        (["solve", "maze", "--thresholds", "1", "2"], "names: 2 thresholds make 3 objectives"),
        (["solve", "maze", "--thresholds", "nan"], "is NaN"),
        (["solve", "maze", "--thresholds", "1", "--gamma", "2"], "gamma: must be"),
        (["solve", "maze", "--thresholds", "1", "--set", "slip"], "--set: expected NAME=VALUE"),
        (
            ["solve", "maze", "--thresholds", "1", "--set", "slip=2.0"],
            "slip: must be a probability",
        ),
        (["solve", "maze", "--thresholds", "1", "--set", "wings=2"], "--set: "),
        (["show", "maze:nowhere.txt"], "nowhere.txt"),
        (["show", "nowhere.npz"], "nowhere.npz"),
        (["show", "maze:giant"], "no maze is called 'giant'"),
    ],
)
def test_mistakes_get_one_line(arguments, message, capsys):
    code, _, err = run(arguments, capsys)
    assert code == 2
    assert message in err
    assert len(err.splitlines()) == 1
