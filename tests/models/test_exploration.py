from typing import Any, NamedTuple

import numpy as np
import pytest

import lexicone as lx


def gamble(money, action):
    stake = min(action, money)
    return [(0.4, money + stake, [stake, -1]), (0.6, money - stake, [-stake, -1])]


def bets(money):
    return [1, 2] if 0 < money < 4 else []


def test_states_are_explored_and_named():
    mdp: Any = lx.MDP.from_function(2, bets, gamble, objective_names=("money", "time"))
    assert mdp.is_sparse
    assert set(mdp.state_names) == {"0", "1", "2", "3", "4", "5"}
    assert mdp.action_names == ("1", "2")
    assert mdp.terminal.tolist() == [name in "045" for name in mdp.state_names]
    # by hand: bold play from 2 ends at once, at 4 with probability .4, at 0 with .6
    bold = np.where(mdp.terminal, 0, 1)
    assert lx.evaluate(mdp, bold) == pytest.approx([0.4 * 2 - 0.6 * 2, -1])


def test_actions_that_a_state_lacks_are_not_available():
    mdp: Any = lx.MDP.from_function(
        1,
        lambda s: ["left", "right"] if s == 1 else ["right"] if s == 2 else [],
        lambda s, a: (1.0, s + 1 if a == "right" else s - 1, [-1.0]),
    )
    place = mdp.state_names.index("2")
    assert mdp.available[place].tolist() == [False, True]
    assert lx.solve(mdp, lx.Order([])).values == pytest.approx([-1])


def test_none_is_the_end():
    mdp: Any = lx.MDP.from_function("on", ["stop"], lambda s, a: (1, None, 7))
    assert mdp.state_names == ("on", "end")
    assert lx.evaluate(mdp, [0, 0]) == pytest.approx([7])


@pytest.mark.parametrize(
    ("starts", "expected"),
    [
        (2, {"2": 1}),
        ([1, 2, 2, 3], {"1": 0.25, "2": 0.5, "3": 0.25}),
        ({1: 0.9, 3: 0.1}, {"1": 0.9, "3": 0.1}),
    ],
)
def test_starts(starts, expected):
    mdp: Any = lx.MDP.from_function(starts, bets, gamble)
    found = {mdp.state_names[s]: mdp.initial[s] for s in np.flatnonzero(mdp.initial)}
    assert found == pytest.approx(expected)


class Machine(NamedTuple):
    stock: int
    wear: int


def test_factors_of_tuples_are_remembered():
    def step(state, action):
        return (
            1.0,
            Machine(state.stock - 1, state.wear + action) if state.stock else None,
            [state.wear],
        )

    mdp: Any = lx.MDP.from_function(Machine(2, 0), [0, 1], step)
    assert mdp.factors.names == ("stock", "wear")
    assert mdp.state_names[0] == "Machine(stock=2,wear=0)"
    assert mdp.factors.values[0].tolist() == [2, 0]
    assert np.isnan(mdp.factors.values[mdp.state_names.index("end")]).all()
    assert lx.MDP.from_function("a", ["x"], lambda s, a: (1, None, 0)).factors is None


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"step": lambda s, a: 5}, r"step\(2, 1\): expected \(probability, next state, rewards\)"),
        ({"step": lambda s, a: []}, r"step\(2, 1\): expected \(probability"),
        (
            {"step": lambda s, a: (1.0, 3, "much")},
            r"step\(2, 1\): rewards must be numbers, got 'much'",
        ),
        ({"step": lambda s, a: (1.0, [3], 1)}, r"step: states must be hashable, got \[3\]"),
        (
            {"step": lambda s, a: (0.5, 0, 1)},
            r"probability \(state 0 '2', action 0 '1'\): sums to 0.5, not 1",
        ),
        ({"step": lambda s, a: (1.0, 0, [1] * a)}, "step: rewards have different lengths"),
        ({"step": "no"}, "step: expected a function"),
        (
            {"actions": 3},
            "actions: expected a function of a state, or a list for all states, got 3",
        ),
        ({"actions": lambda s: []}, "step: no state has an action"),
        ({"starts": []}, "starts: there must be at least one"),
        ({"starts": {2: "all"}}, r"starts\[2\]: a probability must be a number"),
        ({"starts": {2: 0.5}}, "initial: sums to 0.5, not 1"),
        (
            {"step": lambda s, a: (1.0, s + 1, 0), "actions": ["on"], "max_states": 50},
            "max_states: more than 50 states",
        ),
        ({"max_states": 0}, "max_states: must be a whole number"),
        ({"terminal": 5}, "terminal: expected a function of a state"),
    ],
)
def test_mistakes_are_named(change, match):
    arguments = {"starts": 2, "actions": bets, "step": gamble} | change
    with pytest.raises(ValueError, match=match):
        lx.MDP.from_function(**arguments)


ROWS = [
    ("home", "car", 0.9, "work", -5.0, -1.0),
    ("home", "car", 0.1, "stuck", -5.0, -1.0),
    ("home", "bike", 1.0, "work", -8.0, 0.0),
    ("stuck", "wait", 1.0, "work", -9.0, -1.0),
]


def as_csv(tmp_path, rows=ROWS):
    path = tmp_path / "ways.csv"
    lines = [
        "state,action,probability,next_state,time,fuel",
        *(",".join(map(str, row)) for row in rows),
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


class Frame:
    """What is needed of a data frame."""

    columns = ("next_state", "time", "fuel", "state", "action", "probability")

    def itertuples(self, index, name):
        assert index is False
        assert name is None
        return iter([(to, time, fuel, s, a, p) for s, a, p, to, time, fuel in ROWS])


@pytest.mark.parametrize("kind", ["tuples", "frame", "csv"])
def test_transitions(kind, tmp_path):
    given = {"tuples": ROWS, "frame": Frame(), "csv": as_csv(tmp_path)}[kind]
    mdp: Any = lx.MDP.from_transitions(given)
    assert mdp.objective_names == (None if kind == "tuples" else ("time", "fuel"))
    assert mdp.state_names[:1] == ("home",)
    assert mdp.action_names == ("car", "bike", "wait")
    assert lx.solve(mdp, lx.Order([-8.5])).values == pytest.approx([-8, 0])
    fast = [{"home": 0, "work": 0, "stuck": 2}[name] for name in mdp.state_names]
    assert lx.evaluate(mdp, fast) == pytest.approx([-5.9, -1.1])


def test_rewards_may_be_one_list():
    listed = [(*row[:4], row[4:]) for row in ROWS]
    first, second = lx.MDP.from_transitions(ROWS), lx.MDP.from_transitions(listed)
    assert (first.reward == second.reward).all()
    with pytest.raises(ValueError, match="rows: rewards have different lengths"):
        lx.MDP.from_transitions([*listed[:1], ("work", "wait", 1.0, "end", [1.0])])


def test_without_a_column_of_probabilities_they_are_1(tmp_path):
    path = tmp_path / "sure.csv"
    path.write_text("state,action,next_state,time\na,go,b,-3\n")
    assert lx.evaluate(lx.MDP.from_transitions(path), [0, 0]) == pytest.approx([-3])


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "rows: the file .* is empty"),
        ("state,action,time\n", "rows: there is no column 'next_state' among state, action, time"),
        ("state,action,next_state\n", "rows: there is no column of rewards"),
        ("state,action,next_state,time\na,b,c\n", r"rows\[0\]: has 3 entries, the heading 4"),
        ("state,action,next_state,time\na,b,c,long\n", r"rows\[0\]: rewards must be numbers"),
        (
            "state,action,next_state,time,probability\na,b,c,1,often\n",
            r"rows\[0\]: a probability must be a number",
        ),
        ("state,action,next_state,time\n", "rows: there are none"),
        (
            "state,action,next_state,time,probability\na,b,c,1,.3\n",
            r"probability \(state 0 'a', action 0 'b'\): sums to 0.3",
        ),
    ],
)
def test_bad_files_are_named(text, match, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=match):
        lx.MDP.from_transitions(path)


def test_bad_rows_and_starts_are_named():
    with pytest.raises(
        ValueError, match=r"rows\[0\]: expected \(state, action, probability, next state, reward"
    ):
        lx.MDP.from_transitions([(1, 2, 3)])
    with pytest.raises(ValueError, match="rows: expected tuples, a data frame or the path"):
        lx.MDP.from_transitions(5)
    with pytest.raises(ValueError, match="starts: 'moon' is a state of no row"):
        lx.MDP.from_transitions(ROWS, starts="moon")
    assert lx.MDP.from_transitions(ROWS, starts="stuck").initial.tolist() == [1, 0, 0]
