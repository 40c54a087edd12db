"""Models and policies as files for others."""

import csv
import json

import numpy as np
import pytest

import lexicone as lx
from tests.helpers.checker_files import HOME, ROBOT, TIME, write_drn

pytestmark = pytest.mark.usefixtures("without_shape_checks")
OBJECTIVES = {"home": HOME, "time": TIME}


@pytest.fixture(scope="module")
def robot():
    return lx.MDP.from_drn(ROBOT, OBJECTIVES)


@pytest.fixture(scope="module")
def solved(robot):
    return lx.solve(robot, lx.order_of(OBJECTIVES, [0.85]))


def test_a_model_comes_back_as_it_was(tmp_path, robot, solved):
    robot.to_drn(tmp_path / "robot.drn")
    again = ['R{"home"}max=? [C]', 'R{"time"}min=? [C]']
    mdp = lx.MDP.from_drn(tmp_path / "robot.drn", again)
    assert mdp.action_names == ("run", "walk", "end")
    found = lx.solve(mdp, lx.order_of(again, [0.85]))
    np.testing.assert_allclose(found.values, solved.values)


def test_any_model_can_be_written(tmp_path):
    mdp = lx.tasks.space_traders()
    two = lx.MDP(
        **{
            name: getattr(mdp, name) for name in ("next_state", "probability", "reward", "terminal")
        },
        initial=[0.25, 0.75, 0, 0],
    )
    two.to_drn(tmp_path / "two.drn")
    text = (tmp_path / "two.drn").read_text()
    assert text.count("init") == 1
    assert "\t\t0 : 0.25\n\t\t1 : 0.75" in text
    again = ['R{"objective_1"}max=? [C]', 'R{"objective_2"}min=? [C]']
    found = lx.solve(lx.MDP.from_drn(tmp_path / "two.drn", again), lx.order_of(again, [0.88]))
    np.testing.assert_allclose(found.values, lx.solve(two, [0.88]).values, atol=1e-9)


def test_the_chain_of_a_policy(tmp_path, robot, solved):
    robot.to_drn(tmp_path / "chain.drn", solved)
    assert "@type: DTMC" in (tmp_path / "chain.drn").read_text()
    for asked, value in zip(
        ['R{"home"}max=? [C]', 'R{"time"}max=? [C]'], (0.85, 6.1875), strict=True
    ):
        chain = lx.MDP.from_drn(tmp_path / "chain.drn", [asked])
        assert chain.num_actions <= 2
        np.testing.assert_allclose(lx.evaluate(chain, chain.available.argmax(axis=1)), [value])


def test_tables_of_a_policy(tmp_path, robot, solved):
    robot.write_policy(tmp_path / "policy.csv", solved)
    with open(tmp_path / "policy.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    table = np.zeros_like(solved.policy)
    for row in rows:
        table[int(row["state"]), int(row["action"])] = float(row["probability"])
        assert row["action_name"] == robot.action_names[int(row["action"])]
    np.testing.assert_array_equal(table[:-1], solved.policy[:-1])
    robot.write_policy(tmp_path / "policy.json", solved.policy)
    listed = json.loads((tmp_path / "policy.json").read_text())
    assert [entry["state"] for entry in listed] == [0, 1, 2]
    assert sum(a["probability"] for a in listed[0]["actions"]) == pytest.approx(1)


def test_a_scheduler_has_the_choices_of_the_file(tmp_path, robot):
    solved = lx.solve(robot, lx.order_of(OBJECTIVES, [1]))
    robot.write_policy(tmp_path / "scheduler.json", solved, "storm")
    listed = json.loads((tmp_path / "scheduler.json").read_text())
    assert listed == [
        {"s": s, "c": [{"index": 2 * s + 1, "labels": ["walk"], "prob": 1.0}]} for s in range(3)
    ]


def test_a_scheduler_says_what_has_to_be_remembered(tmp_path):
    path = write_drn(
        tmp_path / "rooms.drn",
        ("init", 0, [("left", 1, {1: 1}), ("right", 1, {2: 1})]),
        ("left", 0, [("back", 0, {0: 1})]),
        ("right", 0, [("back", 0, {0: 1})]),
    )
    both = ['Pmax=? [F "left"]', 'Pmax=? [F "right"]']
    mdp = lx.MDP.from_drn(path, both)
    mdp.write_policy(tmp_path / "s.json", lx.solve(mdp, lx.order_of(both, [1])), "storm")
    entries = {(e["s"], e["m"]): e for e in json.loads((tmp_path / "s.json").read_text())}
    state, memory, seen = 0, 0, []
    while (state, memory) in entries:  # the walk that it describes comes to both rooms
        entry = entries[state, memory]
        (done,) = entry["c"]
        seen.append(done["labels"][0])
        state = {0: 1, 1: 2, 2: 0, 3: 0}[done["index"]]
        memory = {u["s"]: u["m"] for u in entry["memory-updates"]}.get(state, -1)
    assert sorted(seen) == ["back", "left", "right"]


def test_what_cannot_be_written(tmp_path, robot, solved):
    with pytest.raises(ValueError, match=r"^path: .* ends with neither"):
        robot.write_policy(tmp_path / "policy.txt", solved)
    with pytest.raises(ValueError, match=r"^form: expected one of csv, json, storm"):
        robot.write_policy(tmp_path / "policy.csv", solved, "xml")
    with pytest.raises(ValueError, match=r"^policy: "):
        robot.write_policy(tmp_path / "policy.csv", [1, 2])
    mdp = lx.tasks.space_traders()
    with pytest.raises(ValueError, match=r"^form: a scheduler needs the model as it was read"):
        mdp.write_policy(tmp_path / "policy.json", np.zeros(4, dtype=int), "storm")
    with pytest.raises(ValueError, match=r"^path: expected"):
        robot.to_drn(3)
    assert list(tmp_path.iterdir()) == []


def test_a_saved_solution_keeps_its_units(tmp_path, solved):
    solved.save(tmp_path / "solution.safetensors")
    again = lx.Solution.load(tmp_path / "solution.safetensors")
    assert again.order == solved.order
    assert str(again) == str(solved)
