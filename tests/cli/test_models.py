import dataclasses
import importlib
import json
import sys
import time

import numpy as np
import pytest

from lexicone import MDP, tasks
from lexicone.cli import _models as cli_models
from lexicone.cli._task_text import describe
from lexicone.exact._solve import Status
from tests.helpers.commands import modules_after, run

EXTENDED = ["solve", "maze:extended", "--set", "objectives=path", "--thresholds", "-3"]


def test_the_model_side_imports_no_jax():
    use = "import lexicone as lx; lx.MDP, lx.tasks.maze, lx.solve, lx.pareto, lx.evaluate"
    assert modules_after(use) == "False False"


def test_tasks_lists_all(capsys):
    code, out, _ = run(["tasks"], capsys)
    assert code == 0
    for name in tasks.TASKS:
        assert f"{name}: " in out
        assert f"│ {name} " in out  # not cut off
    assert "0.88" in out
    assert "50 50" in out


def test_tasks_tells_about_one(capsys):
    code, out, _ = run(["tasks", "maze"], capsys)
    assert code == 0
    for option in ("objectives", "high_penalty", "slip"):
        assert option in out
    assert "small, extended, concave, early-late" in out
    assert "lexicone solve maze:small --thresholds 1" in out
    assert "--gamma 0.99" in run(["tasks", "garnet"], capsys)[1]
    code, _, err = run(["tasks", "labyrinth"], capsys)
    assert (code, len(err.splitlines())) == (2, 1)


@pytest.mark.parametrize("name", tasks.TASKS)
def test_every_task_is_described_with_all_its_options(name):
    task = tasks.TASKS[name]
    described = describe(task)
    assert task.description in described
    assert task.objectives in described
    for option, default in task.options.items():
        assert f"{option} " in described + " "
        assert default is None or repr(default) in described


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


class TestWhyItFlipsACoin:
    def text(self, task, capsys):
        return " ".join(run(["solve", *task], capsys)[1].split())

    def coins(self, states, dead):
        """A coin at the start, some states behind it, and states that cannot be reached."""
        total = states + dead + 1
        following = np.minimum(np.arange(total) + 1, total - 1)[:, None, None].repeat(2, axis=1)
        following[states - 1] = total - 1
        reward = np.zeros((total, 2, 1, 2))
        reward[0, 0, 0], reward[0, 1, 0] = (1, 0), (0, 1)
        return MDP(
            next_state=following,
            probability=np.ones(following.shape),
            reward=reward,
            initial=np.eye(total)[0],
            terminal=np.arange(total) == total - 1,
        )

    def test_only_states_that_matter_count(self, tmp_path, capsys):
        limit = cli_models._MAX_SEARCHED_STATES
        for states, dead, searched in ((limit, 30, True), (limit + 1, 0, False), (401, 0, False)):
            path = str(tmp_path / "model.npz")
            self.coins(states, dead).save(path)
            told = self.text([path, "--thresholds", "0.5"], capsys)
            assert "It has (0.5, 0.5)" in told
            assert ("the best policy that never flips a coin has (1, 0)" in told) == searched
            offered = not searched and states <= 400  # above, it would refuse
            assert ("--policies deterministic searches" in told) == offered

    def test_a_search_that_takes_long_is_given_up(self, monkeypatch, capsys):
        module = importlib.import_module("lexicone.exact._solve")

        def slow(*args, time_limit=np.inf, **options):
            found = solve(*args, **options)
            if options.get("policies") != "deterministic":
                return found
            time.sleep(time_limit)
            return dataclasses.replace(found, status=Status.LIMIT)

        solve = module.solve
        monkeypatch.setattr(module, "solve", slow)
        monkeypatch.setattr(cli_models, "_SEARCH_SECONDS", 0.05)
        told = self.text(EXTENDED[1:], capsys)
        assert "It has (-3, -5.2); --policies deterministic searches" in told
        assert "(not found within 0.05 seconds)" in told

    def test_without_a_proof_only_what_is_known_is_said(self, monkeypatch, capsys):
        module = importlib.import_module("lexicone.exact._solve")

        def limited(*args, **options):
            found = solve(*args, **options)
            if options.get("policies") != "deterministic":
                return found
            return dataclasses.replace(found, status=Status.LIMIT, message="it was cut short")

        solve = module.solve
        monkeypatch.setattr(module, "solve", limited)
        told = self.text(EXTENDED[1:], capsys)
        assert "only this is known: it was cut short." in told
        assert "(-3, -8)" not in told


def test_solve_json(capsys):
    found = json.loads(run([*EXTENDED, "--json"], capsys)[1])
    assert found["values"] == pytest.approx([-3, -5.2])
    assert found["satisfied"] == [True]
    assert found["key"] == pytest.approx([-3, -5.2])
    assert found["action_names"] == ["Up", "Down", "Left", "Right"]
    assert found["state_names"]["16"] == "(0,0)"
    assert set(found["state_names"]) == set(found["policy"])
    assert "stay" not in found
    fixed = json.loads(run([*EXTENDED, "--policies", "deterministic", "--json"], capsys)[1])
    assert fixed["values"] == pytest.approx([-3, -8])
    best = json.loads(run([*EXTENDED[:-1], "inf", "--json"], capsys)[1])
    assert best["thresholds"] == ["inf"]
    assert best["values"] == pytest.approx([1, -10])


def test_solve_json_tells_where_to_stay(tmp_path, capsys):
    mdp = MDP(
        next_state=[[[0], [1]], [[1], [1]]],
        probability=np.ones((2, 2, 1)),
        reward=[[[[0, 0]], [[-10, 5]]], [[[0, 0]], [[0, 0]]]],
        initial=[1, 0],
        terminal=[False, True],
    )
    mdp.save(tmp_path / "wait.npz")
    arguments = ["solve", str(tmp_path / "wait.npz"), "--thresholds", "-5", "--json"]
    found = json.loads(run(arguments, capsys)[1])
    assert found["status"] == "needs memory"
    assert found["stay"] == {"0": pytest.approx(0.5)}
    assert not {"state_names", "action_names"} & set(found)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["solve", "labyrinth", "--thresholds", "1"], "there is no task 'labyrinth'"),
        (
            ["solve", "maze", "--thresholds", "1", "2"],
            "maze takes 1 threshold (goal), and none for its last objective (tiles); got 2",
        ),
        (
            ["solve", "grid", "--thresholds", "1"],
            "grid takes 2 thresholds (hazard 1, hazard 2), and none for its last objective (time)",
        ),
        (["solve", "garnet:abc", "--thresholds", "1"], "garnet takes a whole number after the"),
        (
            ["solve", "maze", "--thresholds", "1", "--set", "slip=abc"],
            "--set: slip takes a number, got 'abc'",
        ),
        (
            ["show", "grid", "--set", "seed=1.5"],
            "--set: seed takes a whole number, got '1.5'",
        ),
        (["show", "space-traders", "--set", "a=1"], "space_traders has no option 'a'; it has none"),
        (["show", "nowhere.npz", "--set", "a=b"], "--set: a saved model has no options, got 'a=b'"),
        (["solve", "maze", "--thresholds", "nan"], "is NaN"),
        (["solve", "maze", "--thresholds", "1", "--gamma", "2"], "gamma: must be"),
        (["solve", "maze", "--thresholds", "1", "--set", "slip"], "--set: expected NAME=VALUE"),
        (
            ["solve", "maze", "--thresholds", "1", "--set", "slip=2.0"],
            "slip: must be a probability",
        ),
        (
            ["solve", "maze", "--thresholds", "1", "--set", "wings=2"],
            "--set: maze has no option 'wings'; it has objectives, high_penalty",
        ),
        (["show", "maze:nowhere.txt"], "maze: cannot read 'nowhere.txt': No such file"),
        (["show", "nowhere.npz"], "path: there is no file 'nowhere.npz'"),
        (["show", "maze:giant"], "no maze is called 'giant'"),
    ],
)
def test_mistakes_get_one_line(arguments, message, capsys):
    code, _, err = run(arguments, capsys)
    assert code == 2
    assert message in err
    assert len(err.splitlines()) == 1


def test_junk_files_get_one_line(tmp_path, capsys):
    junk, drawing = tmp_path / "junk.npz", tmp_path / "drawing.txt"
    junk.write_bytes(b"\x80\x04junk")
    drawing.write_bytes(b"\xff\xfe\x00")
    for task, message in ((str(junk), "is not a saved MDP"), (f"maze:{drawing}", "is not a text")):
        code, _, err = run(["show", task], capsys)
        assert (code, len(err.splitlines())) == (2, 1)
        assert message in err
        assert "pickle" not in err


def test_a_task_whose_extra_is_missing_has_no_size(monkeypatch):
    monkeypatch.setitem(sys.modules, "mo_gymnasium.envs.fruit_tree.fruit_tree", None)
    assert "size        needs lexicone[gym]\n" in describe(tasks.TASKS["fruit_tree"])
