import json
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest
import tyro
from hypothesis import given, settings, strategies as st
from rich.console import Console
from tyro.conf import OmitArgPrefixes

from lexicone import __version__
from lexicone.cli._compare import Augment, Compare
from lexicone.cli._models import Solve
from lexicone.criteria._compare import compare
from lexicone.exact._solve import solve
from lexicone.models._mdp import MDP
from lexicone.order import Order
from lexicone.plots._side_by_side import Panel, beside
from lexicone.tasks import deep_sea_treasure, grid, maze, road_trip, space_traders
from tests.helpers.small_models import deterministic_values, draw_order, random_model

EXTENDED = ["maze:extended", "--set", "objectives=path", "--thresholds", "-3"]


def run(command, arguments, capsys):
    """What the subcommand prints."""
    tyro.cli(OmitArgPrefixes[command], args=arguments).run(Console(width=120))
    return " ".join(capsys.readouterr().out.split())


def test_the_papers_maze(tmp_path, capsys):
    out = run(Compare, [*EXTENDED, "--out", str(tmp_path)], capsys)
    assert "┃ expected ┃ episode ┃ deterministic ┃" in out
    assert "│ tiles+goal │ -3 │ -3 │ -3 │" in out
    assert "│ time │ -5.2 │ -8 │ -8 │" in out
    assert "│ P(tiles+goal ≥ -3) │ 0.2 │ 1 │ 1 │" in out
    assert "expected: (-3, -5.2); 20 % of episodes meet the thresholds" in out
    assert "expected: (-3, -5.2) episode: (-3, -8) deterministic: (-3, -8)" in out
    assert (tmp_path / "compare.png").stat().st_size > 10_000


def test_chances_are_a_fourth_column(capsys):
    out = run(Compare, [*EXTENDED, "--chances", "0.9"], capsys)
    assert "┃ expected ┃ episode ┃ deterministic ┃ chance ┃" in out
    assert "│ time │ -5.2 │ -8 │ -8 │ -7.6 │" in out
    assert "│ P(tiles+goal ≥ -3) │ 0.2 │ 1 │ 1 │ 0.9 │" in out
    too_many = ["road-trip", "--thresholds", "-10", "--max-states", "20", "--chances", "0.5"]
    assert "chance: —; max_states: more than 20" in run(Compare, too_many, capsys)


def test_solve_by_chance(tmp_path, capsys):
    arguments = ["road-trip", "--thresholds", "at-most:10", "--chances", "0.95"]
    out = run(Solve, [*arguments, "--out", str(tmp_path)], capsys)
    assert "│ toll │ ≤ 10 in 95 % │ 9.3 │ 95 % │ met │" in out
    assert (tmp_path / "policy.csv").read_text().startswith("state,state_name,action")
    tyro.cli(OmitArgPrefixes[Solve], args=[*arguments, "--json"]).run(Console())
    found = json.loads(capsys.readouterr().out)
    assert found["key"] == pytest.approx([0.95, 5.2])
    with pytest.raises(ValueError, match=r"^--criterion: chance needs --chances"):
        run(Solve, ["road-trip", "--thresholds", "-10", "--criterion", "chance"], capsys)
    with pytest.raises(ValueError, match=r"^--chances: one threshold takes one"):
        run(Solve, [*arguments, "0.9"], capsys)


def test_json(capsys):
    tyro.cli(OmitArgPrefixes[Compare], args=[*EXTENDED, "--json"]).run(Console())
    rows = {row["criterion"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["expected"]["values"] == pytest.approx([-3, -5.2])
    assert rows["expected"]["chances"] == pytest.approx([0.2])
    assert rows["episode"]["values"] == pytest.approx([-3, -8])
    assert rows["episode"]["memory"]
    assert not any(row["sampled"] for row in rows.values())
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


@pytest.mark.slow
def test_what_cannot_be_had_says_why(capsys, monkeypatch):
    """Too many budgets: chances are sampled, and marked."""
    monkeypatch.setattr("lexicone.criteria._compare.EPISODES", 500)
    arguments = ["road-trip", "--thresholds", "-10", "--max-states", "20"]
    out = run(Compare, arguments, capsys)
    assert "episode: —; max_states: more than 20" in out
    sampled = re.findall(r"≈(\S+) % of 500 sampled episodes", out)
    assert len(sampled) == 2
    assert 0 < float(sampled[0]) < 100
    assert f"≈{float(sampled[0]) / 100:.4g} │ — │ ≈1" in out
    tyro.cli(OmitArgPrefixes[Compare], args=[*arguments, "--json"]).run(Console())
    rows = json.loads(capsys.readouterr().out)
    assert [row["sampled"] for row in rows] == [True, False, True]


def test_too_many_states_for_branch_and_bound():
    rows = list(compare(grid(21, num_objectives=2), Order([-1e9]), gamma=0.5))
    assert rows[2].policy is None
    assert "up to 400 states" in rows[2].message


@pytest.mark.slow
@settings(max_examples=settings().max_examples // 2)
@given(st.data(), st.integers(0, 2**32 - 1), st.sampled_from([1.0, 0.9]))
def test_without_chance_the_best_episode_is_the_best_deterministic_policy(data, seed, gamma):
    """Against every deterministic policy; where the best episode needs memory, branch and bound has to find it."""
    chance = random_model(seed, 4, 2, 2, "costs", True)
    likeliest = chance.probability.argmax(axis=2)[..., None]
    mdp = MDP(
        next_state=np.take_along_axis(chance.next_state, likeliest, axis=2),
        probability=np.ones(likeliest.shape),
        reward=np.take_along_axis(chance.reward, likeliest[..., None], axis=2),
        initial=np.eye(4)[0],
        terminal=chance.terminal,
    )
    rows = deterministic_values(mdp, gamma)
    order = draw_order(data.draw, rows)
    *_, found = compare(mdp, order, gamma=gamma)
    best = max(tuple(np.round(key, 8)) for key in np.asarray(order.key(rows)))
    if np.isfinite(best).all():
        np.testing.assert_allclose(order.key(found.values), best, atol=1e-6)


def test_deep_sea_treasure_takes_no_search():
    expected, episode, fixed = compare(deep_sea_treasure(), Order([24.0]), seconds=1e-9)
    np.testing.assert_allclose(fixed.values, [24.0, -13.0], atol=1e-9)
    assert fixed.message == "optimal"
    assert episode.memory
    assert not fixed.memory
    assert expected.values[1] > -13


def test_a_search_that_is_cut_short_starts_from_the_best_episode(capsys):
    """Space Traders: certain success is stationary; the search would find something faster, given time."""
    *_, cut = compare(space_traders(), Order([0.88]), seconds=1e-9)
    np.testing.assert_allclose(cut.values, [1.0, -22.0], atol=1e-9)
    assert "cut short" in cut.message
    out = run(Compare, ["space-traders", "--thresholds", "0.88", "--seconds", "1e-9"], capsys)
    assert (
        "deterministic: (1, -22); 100 % of episodes meet the thresholds; the search was cut" in out
    )


def test_rows_come_one_by_one(monkeypatch):
    """The first is there before the search for a deterministic policy begins."""

    class Begun(Exception):
        pass

    def begins(*arguments, policies="stochastic", **options):
        if policies == "deterministic":
            raise Begun
        return solve(*arguments, **options)

    monkeypatch.setattr("lexicone.criteria._compare.solve", begins)
    coming = compare(space_traders(), Order([0.88]))
    assert next(coming).name == "expected"
    assert next(coming).name == "episode"
    with pytest.raises(Begun):
        next(coming)


def test_eighty_columns_are_enough(capsys):
    arguments = ["fruit-tree", "--thresholds", *["3"] * 5]
    tyro.cli(OmitArgPrefixes[Compare], args=arguments).run(Console(width=80))
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out
    for word in ("deterministic ┃", "│ P(minerals ≥ 3) │", "│ P(all) "):
        assert word in out


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
        (Compare, ["maze", "--thresholds", "1", "--max-states", "0"], "max_states: must be"),
        (Compare, ["maze", "--thresholds", "1", "--seconds", "0"], "seconds: must be positive"),
        (Augment, ["none", "--thresholds", "1", "--save", "no/such/x.npz"], "--save: cannot write"),
        (Augment, ["maze:extended", "--thresholds", "1", "--rewards", "endpoint"], "paid before"),
        (Augment, ["road-trip", "--thresholds", "-9", "--max-states", "5"], "more than 5 states"),
    ],
)
def test_mistakes(command, arguments, message, capsys):
    with pytest.raises(ValueError, match=message):
        run(command, arguments, capsys)


@pytest.mark.parametrize("command", [Compare, Augment])
def test_the_examples_of_the_help_are_what_a_shell_takes(command):
    lines = re.findall(r"^ +lexicone \w+ (.*)$", command.__doc__, re.MULTILINE)
    assert len(lines) == 3
    for line in lines:
        bare = re.sub(r"\"[^\"]*\"", "", line)
        assert not set(bare) & set("()'")  # which a shell would not pass on
        assert tyro.cli(OmitArgPrefixes[command], args=shlex.split(line)).thresholds


def test_the_package_runs():
    done = subprocess.run(
        [sys.executable, "-m", "lexicone", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"lexicone {__version__}\n"


def test_roads_from_other_programs(tmp_path):
    """A byte-order mark is no part of the first column's name; what is no text is told by its file's name."""
    marked, binary = tmp_path / "marked.csv", tmp_path / "binary.csv"
    marked.write_text("from,to,toll,pleasure\nA,B,1,2\n", encoding="utf-8-sig")
    assert road_trip(marked).state_names == ("A", "B")
    for content in (b"\xff\xfe\x00\x81", b"from,to\0,toll"):
        binary.write_bytes(content)
        with pytest.raises(ValueError, match=r"roads: binary\.csv: is not a text"):
            road_trip(binary)


def test_one_name_is_not_a_list_of_letters(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text(
        "from,to,toll,hours\nHome,Town,1,2\nHome,Coast,3,1\nTown,Coast,1,1\nCoast,Home,1,1\n"
    )
    one, two = (
        road_trip(path, destinations=d, costs=c)
        for d, c in ((["Town"], ["hours"]), ("Town", "hours"))
    )
    assert two.objective_names == ("hours", "pleasure")
    assert two.terminal.tolist() == one.terminal.tolist() == [False, True, False]


def test_panels_stand_side_by_side():
    mdp = maze("small")
    policy = np.full((9, 4), 0.25)
    one, two = (beside(mdp, [Panel("a", policy, policy)] * n) for n in (1, 2))
    assert two.get_figwidth() == pytest.approx(2 * one.get_figwidth())
    assert beside(road_trip(), [Panel("b", np.full((9, 3), 1 / 3), np.ones((9, 3)))])
    with pytest.raises(ValueError, match="panels: need at least one"):
        beside(mdp, [])
