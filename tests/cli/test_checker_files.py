"""The command line on files of model checkers."""

import importlib.util
import json

import pytest

from tests.helpers.checker_files import HOME, ROBOT, ROBOT_PROGRAM, TIME, drn
from tests.helpers.commands import run

SOLVE = ["solve", str(ROBOT), "--objectives", HOME, TIME, "--thresholds"]
WITHOUT_STORM = importlib.util.find_spec("stormpy") is None


def test_thresholds_and_values_are_in_the_terms_of_properties(tmp_path, capsys):
    code, out, _ = run([*SOLVE, "0.85", "--out", str(tmp_path)], capsys)
    assert code == 0
    text = " ".join(out.split())
    assert "0.85 │ 0.85 │ met" in text
    assert "lowest │ 6.1875" in text
    assert "the best policy that never flips a coin has (0.9, 7.75)" in text
    assert (tmp_path / "policy.csv").is_file()
    assert json.loads((tmp_path / "scheduler.json").read_text())[0]["s"] == 0
    given = ["verify", str(ROBOT), str(tmp_path), "--objectives", HOME, TIME]
    code, out, _ = run(given, capsys)
    assert code == 0
    assert "optimal: verified" in out


def test_a_cost_comes_first(capsys):
    given = ["solve", str(ROBOT), "--objectives", TIME, HOME, "--thresholds", "7.75", "--json"]
    code, out, _ = run(given, capsys)
    assert code == 0
    shown = json.loads(out)
    assert shown["values_in_units"] == pytest.approx([7.75, 0.9])
    assert shown["satisfied"] == [True]


def test_properties_bring_their_own_thresholds(capsys):
    given = ["solve", str(ROBOT), "--objectives", 'P>=0.85 [F "home"]', TIME, "--json"]
    code, out, _ = run(given, capsys)
    assert code == 0
    assert json.loads(out)["values_in_units"] == pytest.approx([0.85, 6.1875])


def test_a_front_is_shown_in_the_terms_of_properties(tmp_path, capsys):
    given = ["pareto", str(ROBOT), "--objectives", HOME, TIME, "--points", "2"]
    code, out, _ = run([*given, "--out", str(tmp_path)], capsys)
    assert code == 0
    assert "│ 11.25 │" in " ".join(out.split())
    shown = json.loads(run([*given, "--json"], capsys)[1])
    assert shown["values_in_units"][-1] == pytest.approx([1, 11.25])
    assert shown["values"][-1] == pytest.approx([1, -11.25])


def test_with_a_discount(capsys):
    given = ["solve", str(ROBOT), "--objectives", "Rmin=? [C]", "--gamma", "0.5", "--json"]
    code, out, _ = run(given, capsys)
    assert code == 0
    assert json.loads(out)["values_in_units"] == pytest.approx([1 + 0.45 + 0.45**2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*SOLVE[:-1]], '--thresholds: these objectives take 1 (Pmax=? [F "home"])'),
        ([*SOLVE, "1", "2"], "--thresholds: these objectives take 1"),
        ([*SOLVE, "at-most:1"], "thresholds[0]: ≤ 1 does not suit"),
        (["solve", str(ROBOT)], "--objectives:"),
        (["solve", str(ROBOT), "--objectives", "Pmax=? [F home]"], "at character 11 (home)"),
        (["solve", str(ROBOT), "--objectives", 'Pmax=? [F "hme"]'], 'there is no label "hme"'),
        (["solve", str(ROBOT), "--objectives", HOME, "--const", "N=2"], "--const: "),
        (["solve", "none.drn", "--objectives", HOME], "path: there is no file 'none.drn'"),
        (["solve", "maze:small", "--thresholds", "1", "--const", "N=2"], "--const: is for PRISM"),
        (["solve", str(ROBOT_PROGRAM), "--objectives", HOME, "--const", "N"], "--const: expected"),
    ],
)
def test_mistakes_are_one_line(arguments, message, capsys):
    code, _, err = run(arguments, capsys)
    assert (code, len(err.splitlines())) == (2, 1)
    assert message in err


def test_bad_files_are_one_line(tmp_path, capsys):
    path = tmp_path / "bad.drn"
    path.write_text(drn(("init", 1, [("a", -2, {1: 1})]), ("", 0, [("b", 1, {0: 1})])))
    code, _, err = run(["solve", str(path), "--objectives", "Rmax=? [C]"], capsys)
    assert (code, len(err.splitlines())) == (2, 1)
    assert "have both signs" in err
    path.write_text(drn(("init", 1, [("a", 2, {1: 1})]), ("", 0, [])))
    code, _, err = run(["solve", str(path), "--objectives", "Rmax=? [C]"], capsys)
    assert (code, len(err.splitlines())) == (2, 1)
    assert "state 1 has no choice, a deadlock" in err


@pytest.mark.skipif(not WITHOUT_STORM, reason="Storm is installed: nothing is missing")
def test_without_storm_the_extra_is_named(capsys):
    given = ["solve", str(ROBOT_PROGRAM), "--objectives", HOME, "--const", "N=3"]
    code, _, err = run(given, capsys)
    assert (code, len(err.splitlines())) == (2, 1)
    assert "pip install 'lexicone[storm]'" in err


@pytest.mark.skipif(WITHOUT_STORM, reason="Storm is not installed; pip install 'lexicone[storm]'")
def test_a_program(capsys):
    given = ["solve", str(ROBOT_PROGRAM), "--const", "N=3", *SOLVE[2:], "0.85"]
    code, out, _ = run(given, capsys)
    assert code == 0
    assert "6.1875" in out
    assert "broken=0,room=0" in out
