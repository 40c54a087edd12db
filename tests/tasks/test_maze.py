import jaxtyping
import numpy as np
import pytest
from hypothesis import given, strategies as st

from lexicone.models._evaluation import evaluate
from lexicone.tasks import (
    maze,
    parse_maze,
)
from tests.helpers.names import action_number, state_name, state_number
from tests.helpers.paths import front, path_front, policy_along, simple_paths


@pytest.mark.parametrize(
    ("name", "rows", "start", "goal"),
    [
        ("small", (".G.", "HH.", ".S."), "(1,0)", "(1,2)"),
        ("extended", (".G..", ".hhh", "....", "HHH.", "S..."), "(0,0)", "(1,4)"),
        ("concave", (".G.", ".hh", "...", "HH.", "S.."), "(0,0)", "(1,4)"),
        (
            "early-late",
            (".G.", "HH.", "...", ".hh", "...", "...", "...", ".hh", "...", "HH.", ".S."),
            "(1,0)",
            "(1,10)",
        ),
    ],
)
def test_the_mazes_of_the_paper(name, rows, start, goal):
    mdp = maze(name)
    assert parse_maze(name) == rows
    assert state_name(mdp, int(np.argmax(mdp.initial))) == start
    assert [state_name(mdp, int(s)) for s in np.flatnonzero(mdp.terminal)] == [goal]
    np.testing.assert_array_equal(maze("\n".join(rows)).reward, mdp.reward)


def test_the_front_of_experiment_1():
    mdp = maze("extended", objectives="path")
    paths = list(simple_paths(mdp))
    assert front(total for total, _, _ in paths) == [(-4, -4), (-3, -8), (1, -10)]
    assert path_front(mdp) == [(-4, -4), (-3, -8), (1, -10)]
    for total, seen, actions in paths[::50]:
        np.testing.assert_allclose(evaluate(mdp, policy_along(mdp, seen, actions), 1.0), total)
    milder = maze("extended", objectives="path", high_penalty=-0.5)
    assert front(total for total, _, _ in simple_paths(milder)) != [(-4, -4), (-3, -8), (1, -10)]


def test_a_coin_flip_beats_every_path_of_experiment_1_in_expectation():
    mdp = maze("extended", objectives="path")
    paths = {tuple(total.tolist()): (seen, actions) for total, seen, actions in simple_paths(mdp)}
    policy = np.eye(4)[policy_along(mdp, *paths[1.0, -10.0])]
    start, up = int(np.argmax(mdp.initial)), action_number(mdp, "Up")
    policy[state_number(mdp, "(0,1)")] = np.eye(4)[up]  # the short way joins the long one
    policy[start] = 0.2 * policy[start] + 0.8 * np.eye(4)[up]
    np.testing.assert_allclose(evaluate(mdp, policy, 1.0), [-3, -5.2])
    assert max(time for tiles, time in paths if tiles >= -3) == -8


def test_the_path_that_the_paper_wants_in_the_small_maze():
    mdp = maze("small", objectives="endpoint")
    wanted = ["(1,0)", "(2,0)", "(2,1)", "(2,2)", "(1,2)"]
    found = {
        tuple(state_name(mdp, s) for s in seen): tuple(total)
        for total, seen, _ in simple_paths(mdp)
    }
    assert found[tuple(wanted)] == (1, 0)
    assert found["(1,0)", "(1,1)", "(1,2)"] == (1, -5)


def test_what_detours_cost_in_the_early_late_maze():
    mdp = maze("early-late", objectives=("tiles", "time"))
    # through all bad tiles; through both hh (the natural policy); through one HH; past them all
    assert path_front(mdp) == [(-18, -9), (-8, -11), (-5, -13), (0, -15)]
    even = maze("early-late", objectives=("tiles", "time"), high_penalty=0.0, low_penalty=0.0)
    assert path_front(even) == [(0, -9)]


def test_reward_variants_in_any_order():
    both = maze("extended", objectives="path")
    turned = maze("extended", objectives=("time", "tiles+goal"))
    np.testing.assert_array_equal(both.reward[..., ::-1], turned.reward)
    parts = maze("extended", objectives=["tiles", "goal", "time"], goal_reward=3.0)
    assert parts.objective_names == ("tiles", "goal", "time")
    assert parts.reward[..., 1].max() == 3
    variant = maze("small", objectives="endpoint-time")
    assert variant.objective_names == ("time", "tiles")
    assert set(variant.reward[~variant.terminal][..., 0].ravel()) == {0.0, -1.0}


def test_a_users_function_is_an_objective():
    def leftward(before, action, after):
        assert action in ("Up", "Down", "Left", "Right")
        return float(before.x - after.x) + (after.kind == "G")

    mdp = maze("small", objectives={"tiles": "tiles", "left": leftward})
    assert mdp.objective_names == ("tiles", "left")
    for total, seen, actions in simple_paths(mdp):
        steps = actions.count(2) - actions.count(3)
        assert total[1] == steps + 1, seen
    assert maze("small", objectives=[leftward]).objective_names == ("leftward",)


def test_moves_off_the_grid_and_into_walls_stay_and_pay_again():
    mdp = maze("GhS\n..#", objectives=("tiles", "time"))
    here = state_number(mdp, "(2,1)")
    assert mdp.num_states == 5
    assert [mdp.next_state[here, a, 0] == here for a in range(4)] == [True, True, False, True]
    bad = state_number(mdp, "(1,1)")
    assert mdp.reward[bad, 0, 0].tolist() == [-4, -1]
    assert mdp.reward[state_number(mdp, "(1,0)"), 2, 0].tolist() == [0, -1]


@given(st.floats(0.01, 1))
def test_slip_goes_to_the_sides(slip):
    sure, slippery = maze("extended").to_dense(), maze("extended", slip=slip).to_dense()
    sides = {0: (2, 3), 1: (2, 3), 2: (0, 1), 3: (0, 1)}
    for a, (one, other) in sides.items():
        mixed = (1 - slip) * sure.transition[:, a]
        mixed = mixed + slip / 2 * (sure.transition[:, one] + sure.transition[:, other])
        np.testing.assert_allclose(slippery.transition[:, a], mixed, atol=1e-12)


@pytest.mark.parametrize(
    ("drawing", "message"),
    [
        ("SG\n.x", r"row 2, column 2: 'x' is not a tile"),
        ("|S_|G_|\n|__|hH|", r"row 2, column 2: 'hH' is not a tile"),
        ("|S_|G_|\n|__|", r"row 2 has 1 columns, the first row has 2"),
        ("SG\n...", r"row 2 has 3 columns"),
        ("S.\n..", r"has no goal G"),
        ("G.\n..", r"has no start S"),
        ("S#G", r"no way leads from S at row 1, column 1 to a G"),
        ("SG\nS.\n##\nS#", r"from S at row 4, column 1"),
        ("", r"is empty"),
        ("extendet", r"no maze is called 'extendet'; there are small, extended"),
        ("|S_|G_|\nhello", r"after row 1: 'hello' is not a row"),
    ],
)
def test_a_bad_drawing_is_named_by_row_and_column(drawing, message):
    with pytest.raises(ValueError, match=r"^drawing: .*" + message):
        maze(drawing)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objectives": "paths"}, r"^objectives: expected one of endpoint, path"),
        ({"objectives": ["gold"]}, r"^objectives\['gold'\]"),
        ({"objectives": []}, r"^objectives: need at least one"),
        ({"objectives": ["time", "time"]}, r"^objectives: .*not all different"),
        ({"slip": 1.5}, r"^slip: must be a probability"),
        ({"slip": "a"}, r"^slip: must be a probability, got a"),
        ({"low_penalty": np.nan}, r"^low_penalty: must be .*, got nan"),
    ],
)
def test_bad_options_of_a_maze(options, message, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(ValueError, match=message):
        maze("extended", **options)
