"""What the page is told, asked without a server: against values worked out by hand and other functions."""

import json
import math
from contextlib import suppress

import numpy as np
import pytest

from lexicone.exact import solve
from lexicone.learning import load
from lexicone.models import MDP
from lexicone.order import Order
from lexicone.tasks import maze
from lexicone.web._jobs import JOBS, Context
from lexicone.web._questions import Known
from lexicone.web._sources import MAX_TILES, Opened, SourceReader
from lexicone.web._training import Training
from tests.helpers.saved_runs import ENVIRONMENT_RUN, PPO_RUN

EXTENDED = {"task": "maze:extended", "options": {"objectives": "path"}}
COIN = {"source": EXTENDED, "thresholds": [-3]}


@pytest.fixture
def ask(tmp_path):
    def ask(job, data, opened=None, progress=lambda _: None):
        opened = opened or Opened()
        known = Known(SourceReader(tmp_path, opened))
        path = opened.path if opened.kind == "run" else ""
        context = Context(known, opened, Training(path), 30.0, progress)
        found = JOBS[job](context, data)
        json.dumps(found, allow_nan=False)  # it fits into JSON
        return found

    return ask


def test_the_extended_maze_flips_a_coin_and_its_threshold_has_a_price(ask):
    found = ask("solve", COIN)
    np.testing.assert_allclose(found["values"], [-3, -5.2], atol=1e-9)
    assert found["satisfied"] == [True]
    assert found["coins"] == [16]
    shares = {state: dict(map(tuple, actions)) for state, _, actions in found["rows"]}
    assert shares[16][0] == pytest.approx(0.8)  # Up
    assert shares[16][3] == pytest.approx(0.2)  # Right
    dearer = ask("solve", COIN | {"thresholds": [-2]})
    paid = found["values"][1] - dearer["values"][1]
    assert found["prices"][0][1] == pytest.approx(paid) == pytest.approx(1.2)


def test_why_compares_both_sides_of_the_coin(ask):
    found = ask("why", COIN)
    (coin,) = found["coins"]
    sides = {side["action"]: side["values"] for side in coin["sides"]}
    assert sides == {"Up": [-4, -4], "Right": [1, -10]}  # through one H; around all
    assert found["without"] == pytest.approx([-3, -8])  # through one h
    sure = ask("why", COIN | {"thresholds": [-4]})
    assert (sure["coins"], sure["without"], sure["conflicts"]) == ([], None, [])


@pytest.mark.parametrize("limit", [-4, -3, 0.5])
def test_what_more_of_a_threshold_costs_is_a_difference_of_two_optima(ask, limit):
    """At −4 the front has a corner: the slope to its left is another one."""
    question = COIN | {"thresholds": [limit]}
    (price,) = ask("why", question)["prices"]
    now, then = (
        ask("solve", COIN | {"thresholds": [t]})["values"][1]
        for t in (limit, limit + price["unit"])
    )
    assert price["unit"] == (1 if limit < 0 else 0.1)
    assert price["costs"] == pytest.approx([0, now - then])
    assert now - then == pytest.approx(1.2 * price["unit"])
    assert price["most"] == pytest.approx(1)


def test_more_of_a_threshold_may_not_be_had_because_of_what_comes_first(ask):
    source = {"task": "maze:extended", "options": {"objectives": ["time", "tiles", "goal"]}}
    first, second = ask("why", {"source": source, "thresholds": [-4, -5]})["prices"]
    assert (first["unit"], second["unit"]) == (0, 0)
    assert second["most"] == pytest.approx(-5)  # in four steps; without that threshold 0
    assert ask("why", {"source": source, "thresholds": [-4, -6]})["prices"][1] is None


@pytest.mark.parametrize(
    ("limits", "missed", "against"),
    [([-4, 0], 1, [0]), ([2, -9], 0, [])],
    ids=["two in each other's way", "out of reach"],
)
def test_a_missed_threshold_says_what_is_in_its_way(ask, limits, missed, against):
    options = {"objectives": ["time", "tiles", "goal"]}
    source = {"task": "maze:extended", "options": options}
    question = {"source": source, "thresholds": limits}
    assert ask("solve", question)["satisfied"][missed] is False
    conflict = {c["objective"]: c for c in ask("why", question)["conflicts"]}[missed]
    assert conflict["against"] == against
    assert conflict["reached"] < limits[missed]
    assert (conflict["alone"] >= limits[missed]) == bool(against)


def test_sliders_reach_from_what_does_not_count_to_the_best(ask):
    first, last = ask("extremes", {"source": EXTENDED, "last": 1})["ranges"]
    assert (first["low"], first["high"]) == (-4, 1)
    assert first["min"] <= -4 < 1 <= first["max"]
    assert (first["max"] - first["min"]) / first["step"] < 200
    assert last["high"] == -4


def test_another_sequence_is_the_same_model(ask):
    found = ask("solve", COIN | {"order": [1, 0], "thresholds": [-8]})
    best = solve(maze("extended", objectives="path").reorder([1, 0]), [-8])
    np.testing.assert_allclose(found["values"], best.values, atol=1e-9)


@pytest.mark.parametrize("criterion", ["expected", "episode", "deterministic"])
def test_the_lines_of_python_reproduce_what_is_shown(ask, criterion, capsys):
    drawing = {"drawing": [".G.", "HH.", ".S."], "options": {"objectives": "path", "slip": 0.1}}
    question = {"source": drawing, "thresholds": [-4.5], "criterion": criterion}
    names: dict = {}
    exec(ask("lines", question)["script"], names)
    shown = ask("solve", question)
    np.testing.assert_allclose(names["found"].values, shown["values"], atol=1e-6)
    assert capsys.readouterr().out


def test_lines_of_objectives_without_names(ask):
    question = {"source": {"task": "garnet:100"}, "order": [2, 0, 1], "thresholds": [50, "-inf"]}
    names: dict = {}
    script = ask("lines", question | {"gamma": 0.9})["script"]
    exec("\n".join(line for line in script.splitlines() if "pareto" not in line), names)
    shown = ask("solve", question | {"gamma": 0.9})
    np.testing.assert_allclose(names["found"].values, shown["values"], atol=1e-6)


def test_the_front_has_the_corners_and_the_best_without_coins(ask):
    found = ask("front", COIN)
    np.testing.assert_allclose(found["points"][0], [-4, -4], atol=1e-6)
    np.testing.assert_allclose(found["points"][-1], [1, -10], atol=1e-6)
    np.testing.assert_allclose(found["fixed"], [[-4, -4], [-3, -8], [1, -10]], atol=1e-6)


def test_with_more_objectives_a_threshold_moves_along_a_curve(ask):
    source = {"task": "maze:extended", "options": {"objectives": ["goal", "tiles", "time"]}}
    found = ask("front", {"source": source, "thresholds": [1, -4], "along": 1})
    tiles, time = np.array(found["curve"])[:, 1:].T
    assert (np.diff(tiles) >= -1e-9).all()
    assert (np.diff(time) <= 1e-9).all()
    with pytest.raises(ValueError, match="along"):
        ask("front", {"source": source, "thresholds": [1, -4], "along": 2})


def test_three_meanings_beside_each_other(ask):
    rows = {row["name"]: row for row in ask("criteria", COIN)["criteria"]}
    np.testing.assert_allclose(rows["expected"]["values"], [-3, -5.2], atol=1e-9)
    np.testing.assert_allclose(rows["episode"]["values"], [-3, -8], atol=1e-9)
    np.testing.assert_allclose(rows["deterministic"]["values"], [-3, -8], atol=1e-9)
    assert [rows[name]["chances"][0] for name in rows] == pytest.approx([0.2, 1, 1])


@pytest.mark.parametrize("criterion", ["expected", "episode"])
def test_episodes_add_up(ask, criterion):
    found = ask("episodes", COIN | {"criterion": criterion, "seed": 3})["episodes"]
    assert found == ask("episodes", COIN | {"criterion": criterion, "seed": 3})["episodes"]
    for episode in found:
        paid = np.sum([step[2] for step in episode["steps"]], axis=0)
        np.testing.assert_allclose(paid, episode["total"], atol=1e-9)
        assert episode["met"] == [bool(paid[0] >= -3)]
        assert episode["ending"] == "ends"
    met = {episode["met"][0] for episode in found}
    assert met == ({True} if criterion == "episode" else {True, False})


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"task": "maze:/etc/passwd"}, "task"),
        ({"task": "maze:secret.txt"}, "task"),
        ({"task": "road_trip:roads.csv"}, "task"),
        ({"task": "garnet:1000000000"}, "task"),
        ({"task": "no such"}, "name"),
        ({"task": "grid:10", "options": {"rows": 9}}, "options"),
        ({"task": "maze", "options": {"objectives": "__import__('os')"}}, "objectives"),
        ({"task": "maze", "options": {"slip": 2}}, "slip"),
        ({"task": "maze", "options": {"slip": "0.1"}}, "slip"),
        ({"task": "maze", "drawing": ["SG"]}, "source"),
        ({"drawing": ["S"] * (MAX_TILES + 1)}, "drawing"),
        ({"drawing": ["S" * (MAX_TILES + 1)]}, "drawing"),
        ({"drawing": ["S.x", "..G"]}, "drawing"),
        ({"drawing": ["S..", "..."]}, "drawing"),
        ({"drawing": "extended"}, "drawing"),
        ({"drawing": ["extended"]}, "drawing"),
        ({"file": "../../etc/passwd"}, "file"),
        ({"file": "0" * 63}, "file"),
        ({"opened": True}, "opened"),
        ({"path": "/etc/passwd"}, "source"),
        ("maze", "source"),
        (None, "source"),
    ],
    ids=str,
)
def test_nothing_is_read_that_is_not_on_a_list(ask, source, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        ask("model", {"source": source})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"thresholds": [float("nan")]}, "thresholds"),
        ({"thresholds": ["1+1"]}, "thresholds"),
        ({"thresholds": [True]}, "thresholds"),
        ({"thresholds": []}, "thresholds"),
        ({"gamma": 0}, "gamma"),
        ({"gamma": "1"}, "gamma"),
        ({"criterion": "best"}, "criterion"),
        ({"order": [0, 0]}, "order"),
        ({"order": [0, 1, 2]}, "order"),
        ({"order": "01"}, "order"),
    ],
    ids=str,
)
def test_a_question_that_is_none_is_refused(ask, change, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        ask("solve", COIN | change)


ODD = [
    None,
    True,
    -1,
    2,
    1.5,
    10**400,
    float("inf"),
    float("nan"),
    "",
    "x",
    "\0",
    [],
    [[]],
    {},
    {"a": 1},
]


@pytest.mark.parametrize(
    ("job", "names"),
    [
        ("model", ["source"]),
        ("solve", ["order", "thresholds", "gamma", "criterion"]),
        ("extremes", ["gamma", "last"]),
        ("episodes", ["seed"]),
        ("snapshot", ["run", "at"]),
        ("training", ["seen"]),
    ],
)
def test_whatever_is_sent_is_answered_or_refused_in_words(tmp_path, job, names):
    opened = Opened("run", str(PPO_RUN), "runs/train")
    known = Known(SourceReader(tmp_path, opened))
    context = Context(known, opened, Training(opened.path), 30.0, lambda _: None)
    whole = COIN | {"last": 1, "run": 0, "at": 0}
    for name in names:
        for odd in ODD:
            for value in (odd, [odd]) if name == "thresholds" else (odd,):
                with suppress(ValueError):
                    JOBS[job](context, whole | {name: value})


def test_a_question_that_nobody_waits_for_stops_at_the_next_look(ask):
    def stop(_):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        ask("front", COIN, progress=stop)


def test_a_model_without_a_map_has_its_factors(ask, tmp_path):
    def step(state, action):
        stock, day = state
        sold = min(stock, 1)
        return [(1.0, (max(0, min(3, stock - 1 + action)), day + 1), [-action, sold])]

    mdp = MDP.from_function((2, 0), lambda s: [0, 1] if s[1] < 4 else [], step)
    mdp.save(tmp_path / "shop.npz")
    opened = Opened("model", str(tmp_path / "shop.npz"), "shop.npz", ("mdp = shop",))
    found = ask("model", {"source": {"opened": True}}, opened)
    assert found["layout"] is None
    assert len(found["factors"]["values"]) == found["states"] == mdp.num_states
    assert (
        "mdp = shop"
        in ask("lines", {"source": {"opened": True}, "thresholds": [-2]}, opened)["script"]
    )


@pytest.mark.slow
def test_a_training_is_shown_and_looked_at_again_only_when_it_changed(ask):
    trained = load(PPO_RUN)
    opened = Opened("run", str(PPO_RUN), "runs/train")
    found = ask("training", {}, opened)
    assert (found["done"], found["updates"], found["seeds"]) == (30, 30, 2)
    returns = np.array(found["returns"])  # objective, seed, point
    np.testing.assert_allclose(returns, np.moveaxis(trained.history["returns"], 2, 0), rtol=1e-5)
    best = solve(trained.mdp, trained.order)
    np.testing.assert_allclose(found["exact"], best.values, atol=1e-9)
    assert np.sum(found["improved"], axis=0).max() <= 1 + 1e-9
    assert found["snapshots"] == trained.snapshots[0].tolist()
    again = ask("training", {"seen": found["stamp"]}, opened)
    assert again == {"stamp": found["stamp"], "unchanged": True}
    last = ask("snapshot", {"run": 1, "at": 1}, opened)
    np.testing.assert_allclose(last["values"], trained.values()[1], atol=0.2)
    now = ask("snapshot", {"run": 1, "at": None}, opened)
    assert last["values"] == pytest.approx(now["values"], abs=1e-4)
    assert [row[0] for row in last["rows"]] == [row[0] for row in now["rows"]]
    assert ask("model", {"source": {"opened": True}}, opened)["thresholds"] == [-0.5]
    for wrong in ({"run": 2, "at": None}, {"run": 0, "at": 2}):
        with pytest.raises(ValueError, match=r"^(run|at)\b"):
            ask("snapshot", wrong, opened)


@pytest.mark.slow
def test_a_training_in_an_environment_has_curves_but_no_model(ask):
    opened = Opened("run", str(ENVIRONMENT_RUN), "runs/train")
    found = ask("training", {}, opened)
    assert (found["done"], found["updates"], found["exact"]) == (2, 6, None)
    assert (found["has_model"], found["snapshots"]) == (False, [])
    assert np.shape(found["returns"]) == (2, 2, 2)
    for job, data in (("model", {"source": {"opened": True}}), ("snapshot", {"run": 0})):
        with pytest.raises(ValueError, match="environment"):
            ask(job, data, opened)


def test_thresholds_without_an_end_are_said_in_words(ask):
    found = ask("solve", COIN | {"thresholds": ["inf"]})
    assert found["thresholds"] == ["inf"]
    assert found["values"] == [1, -10]
    order = Order([math.inf])
    best = solve(maze("extended", objectives="path"), order)
    np.testing.assert_allclose(found["values"], best.values, atol=1e-9)
