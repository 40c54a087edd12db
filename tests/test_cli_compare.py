import json

import numpy as np
import pytest
import tyro
from rich.console import Console
from tyro.conf import OmitArgPrefixes

from lexicone.cli_compare import Augment, Compare, compare
from lexicone.mdp import MDP
from lexicone.order import Order
from lexicone.plots_compare import Panel, beside
from lexicone.tasks import grid, maze, road_trip, space_traders

EXTENDED = ["maze:extended", "--set", "objectives=path", "--thresholds", "-3"]


def run(command, arguments, capsys):
    """What the subcommand prints."""
    tyro.cli(OmitArgPrefixes[command], args=arguments).run(Console(width=120))
    return " ".join(capsys.readouterr().out.split())


def test_the_papers_maze(tmp_path, capsys):
    out = run(Compare, [*EXTENDED, "--out", str(tmp_path)], capsys)
    assert "expected │ -3 │ -5.2 │ 0.2" in out
    assert "episode │ -3 │ -8 │ 1" in out
    assert "deterministic │ -3 │ -8 │ 1" in out
    assert "expected: (-3, -5.2) episode: (-3, -8) deterministic: (-3, -8)" in out
    assert (tmp_path / "compare.png").stat().st_size > 10_000


def test_json(capsys):
    tyro.cli(OmitArgPrefixes[Compare], args=[*EXTENDED, "--json"]).run(Console())
    rows = {row["criterion"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["expected"]["values"] == pytest.approx([-3, -5.2])
    assert rows["expected"]["chances"] == pytest.approx([0.2])
    assert rows["episode"]["values"] == pytest.approx([-3, -8])
    assert rows["episode"]["memory"]
    assert rows["deterministic"]["chance_of_all"] == pytest.approx(1.0)


def test_three_criteria_three_answers():
    """Space Traders: a mixture, certainty, and the best of nine deterministic policies (values by hand)."""
    expected, episode, fixed = compare(space_traders(), Order([0.88]))
    np.testing.assert_allclose(episode.values, [1.0, -22.0], atol=1e-9)
    np.testing.assert_allclose(fixed.values, [0.9, -14.5], atol=1e-9)
    np.testing.assert_allclose(expected.values[0], 0.88, atol=1e-9)
    assert expected.values[1] > -14.5
    chances = [row.chances[-1] for row in (expected, episode, fixed)]
    np.testing.assert_allclose(chances, [0.88, 1.0, 0.9], atol=1e-9)


def test_several_thresholds_show_all_together(capsys):
    arguments = ["road-trip", "--set", "costs=('toll','hours')", "--thresholds", "-10", "-6"]
    out = run(Compare, arguments, capsys)
    assert "P(toll ≥ -10)" in out
    assert "P(all)" in out
    assert "Ashford: road" in out


def test_what_cannot_be_had_says_why(capsys):
    """Too many budgets, or too many states for the search over deterministic policies."""
    rows = compare(grid(4, num_objectives=2), Order([-1.0]), max_states=30)
    assert rows[1].policy is None
    assert "max_states: more than 30" in rows[1].message
    assert 0 < rows[0].chances[-1] < 1  # sampled instead
    arguments = ["grid:21", "--thresholds", "-9", "inf", "--gamma", "0.9", "--max-states", "99"]
    out = run(Compare, arguments, capsys)
    assert "deterministic │ — │ —" in out
    assert "up to 400 states" in out


def test_augment_the_road_trip(tmp_path, capsys):
    saved = tmp_path / "trip.npz"
    arguments = ["road-trip", "--thresholds", "-11", "--save", str(saved)]
    out = run(Augment, arguments, capsys)
    assert "9 states, with budgets" in out
    assert "optimal: (-11, 9)" in out
    assert "meets all thresholds with probability 1" in out
    steps = ["Ashford | 11, start", "Cold Harbour | 10", "Elm Springs | 8", "Granite Pass | 6"]
    assert all(step in out for step in steps)
    assert out.index("Granite Pass | 6") < out.index("Ivory Beach | plenty")
    assert MDP.load(saved).num_objectives == 2


def test_augment_says_its_constants(capsys):
    arguments = ["road-trip", "--thresholds", "-11", "--rewards", "penalty"]
    assert "λ = 18, C = 9" in run(Augment, arguments, capsys)


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        (Compare, ["maze", "--thresholds", "1", "2"], "maze takes 1 threshold"),
        (Compare, ["maze", "--thresholds", "1", "--gamma", "0"], "gamma: must be above 0"),
        (Augment, ["maze:extended", "--thresholds", "1", "--rewards", "endpoint"], "paid before"),
        (Augment, ["road-trip", "--thresholds", "-9", "--max-states", "5"], "more than 5 states"),
    ],
)
def test_mistakes(command, arguments, message, capsys):
    with pytest.raises(ValueError, match=message):
        run(command, arguments, capsys)


def test_help_has_examples(capsys):
    for command in (Compare, Augment):
        assert "Examples:" in command.__doc__


def test_panels_stand_side_by_side():
    mdp = maze("small")
    policy = np.full((9, 4), 0.25)
    one, two = (beside(mdp, [Panel("a", policy, policy)] * n) for n in (1, 2))
    assert two.get_figwidth() == pytest.approx(2 * one.get_figwidth())
    assert beside(road_trip(), [Panel("b", np.full((9, 3), 1 / 3), np.ones((9, 3)))])
    with pytest.raises(ValueError, match="panels: need at least one"):
        beside(mdp, [])
