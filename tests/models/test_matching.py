"""Names in an order decide: everywhere an order meets a task they are matched with the task's own."""

from typing import Any

import numpy as np
import pytest

import lexicone as lx
from lexicone.criteria._compare import compare
from lexicone.models._matching import match_order
from tests.helpers.trainings import Still

MAZE = lx.tasks.maze("extended", objectives="path")  # tiles+goal, time
TURNED = MAZE.reorder(["time", "tiles+goal"])
NAMED = {"time": -6.0, "tiles+goal": None}
OTHER = lx.Order({"time": -6.0, "tiles": None})


def test_reorder_moves_rewards_and_names():
    assert TURNED.objective_names == ("time", "tiles+goal")
    np.testing.assert_array_equal(TURNED.reward, MAZE.reward[..., ::-1])
    np.testing.assert_array_equal(MAZE.reorder([1, 0]).reward, TURNED.reward)
    assert TURNED.state_names == MAZE.state_names
    assert TURNED.layout is MAZE.layout


def test_reorder_leaves_out_what_is_not_listed():
    alone = MAZE.reorder(["time"])
    assert (alone.num_objectives, alone.objective_names) == (1, ("time",))
    np.testing.assert_array_equal(alone.reward[..., 0], MAZE.reward[..., 1])


@pytest.mark.parametrize(
    ("objectives", "message"),
    [
        (
            ["time", "tiles"],
            r"^objectives: there is no 'tiles'; there are tiles\+goal, time, or 0 to 1",
        ),
        ([2], r"^objectives: there is no 2"),
        ([True], r"^objectives: there is no True"),
        ([0, "tiles+goal"], r"^objectives: expected at least one, each once"),
        ([], r"^objectives: expected at least one"),
        ("time", r"^objectives: expected a list of names or numbers, got 'time'"),
    ],
)
def test_reorder_names_mistakes(objectives, message):
    with pytest.raises(ValueError, match=message):
        MAZE.reorder(objectives)


def test_where_one_has_no_names_nothing_is_matched():
    nameless = lx.MDP.from_dense(*MAZE.to_dense())
    assert match_order(nameless, NAMED)[0] is nameless
    assert match_order(MAZE, [-6.0])[0] is MAZE


def test_solve_puts_the_threshold_where_its_name_is():
    found, turned = lx.solve(MAZE, NAMED), lx.solve(TURNED, [-6.0])
    np.testing.assert_array_equal(found.values, turned.values)
    np.testing.assert_allclose(lx.evaluate(MAZE, found.policy), found.values[::-1])
    assert found.order.names == ("time", "tiles+goal")
    assert not np.allclose(lx.solve(MAZE, [-6.0]).values, found.values)  # what was done before
    again = lx.solve(MAZE, {"tiles+goal": -3.0, "time": None}, start=found)
    np.testing.assert_allclose(again.values, lx.solve(MAZE, [-3.0]).values)


def _rows(mdp, order):
    return [row.values for row in compare(mdp, order)][:2]


CALLS = {
    "solve": lambda mdp, order: lx.solve(mdp, order).values,
    "sensitivity": lambda mdp, order: lx.sensitivity(mdp, order, 0, points=3).values,
    "search": lambda mdp, order: lx.search(mdp, order).values,
    "augment": lambda mdp, order: lx.augment(mdp, order).reward.sum(axis=(0, 1, 2)),
    "augmentation": lambda mdp, order: lx.augmentation(mdp, order).budget,
    "compare": _rows,
    "tlq_iterate": lambda mdp, order: lx.tlq_iterate(mdp, order, gamma=0.9).values,
    "tlq": lambda mdp, order: lx.tlq(mdp, order, gamma=0.9, seeds=1, steps=200).q,
    "classify": lambda mdp, order: [kind.best_endless for kind in lx.classify(mdp, order)],
    "predict": lambda mdp, order: [k.worst_ending for k in lx.predict(mdp, order).kinds],
    "train": lambda mdp, order: lx.train(mdp, order, Still(), seeds=1, updates=1).values(),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_function_matches_names(name):
    call = CALLS[name]
    expected = call(TURNED, [-6.0])
    for order in (NAMED, lx.Order(NAMED)):
        np.testing.assert_allclose(call(MAZE, order), expected)
    with pytest.raises(
        ValueError,
        match=r"^order: has the objectives time, tiles, but the model has tiles\+goal, time$",
    ):
        call(MAZE, OTHER)


def test_lvi_takes_named_slacks():
    found = lx.lvi(MAZE, {"time": 0.5, "tiles+goal": None}, gamma=0.9)
    np.testing.assert_allclose(found.values, lx.lvi(TURNED, [0.5], gamma=0.9).values)
    with pytest.raises(ValueError, match=r"^slacks: has the objectives time, tiles, but"):
        lx.lvi(MAZE, {"time": 0.5, "tiles": None}, gamma=0.9)


def test_sensitivity_takes_a_name():
    found = lx.sensitivity(MAZE, NAMED, "time", thresholds=[-6.0])
    np.testing.assert_allclose(found.values[0], lx.solve(TURNED, [-6.0]).values)
    with pytest.raises(ValueError, match=r"^objective: there is no 'tiles\+goal'; there are time"):
        lx.sensitivity(MAZE, NAMED, "tiles+goal")


def test_satisfaction_matches_named_columns():
    returns = np.array([[-4.0, -5.0], [-4.0, -7.0]])  # tiles+goal, time
    assert lx.satisfaction(returns, NAMED, names=MAZE.objective_names).overall == 0.5
    assert lx.satisfaction(returns, NAMED).overall == 1.0
    with pytest.raises(ValueError, match=r"^order: has the objectives time, tiles, but names has"):
        lx.satisfaction(returns, OTHER, names=MAZE.objective_names)
    with pytest.raises(ValueError, match=r"^names: returns have 2 columns, got 1 names"):
        lx.satisfaction(returns, NAMED, names=["time"])


def test_variants_share_one_sequence():
    learner = Still()
    first, second = lx.train_many(
        MAZE, [(NAMED, learner), ({**NAMED, "time": -8.0}, learner)], seeds=1, updates=1
    )
    assert first.mdp.objective_names == second.mdp.objective_names == ("time", "tiles+goal")
    with pytest.raises(ValueError, match=r"^variants: one program has one sequence"):
        lx.train_many(
            MAZE, [(NAMED, learner), (lx.Order([-3], names=MAZE.objective_names), learner)]
        )


def test_the_gap_to_a_solution_of_another_sequence():
    trained = lx.train(MAZE, NAMED, Still(), seeds=1, updates=1)
    same, turned = lx.solve(MAZE, NAMED), lx.solve(MAZE, {"tiles+goal": -np.inf, "time": None})
    np.testing.assert_allclose(trained.gap(turned), trained.gap(turned.values[::-1]))
    np.testing.assert_allclose(trained.gap(same), trained.gap(same.values))


POSITIONAL: dict[str, tuple[Any, ...]] = {
    "solve": ([-3.0],),
    "pareto": (),
    "sensitivity": ([-3.0], 0),
    "lvi": ([0.1],),
    "tlq_iterate": ([-3.0], "gabor"),
    "tlq": ([-3.0], "gabor"),
    "classify": ([-3.0],),
    "predict": ([-3.0],),
    "search": ([-3.0], "binary", "exact"),
    "augment": ([-3.0], "vector"),
    "augmentation": ([-3.0], "vector"),
    "state_values": (np.zeros(MAZE.num_states, int),),
}


@pytest.mark.parametrize("name", POSITIONAL)
def test_gamma_is_given_by_name(name):
    with pytest.raises(TypeError, match=r"positional argument"):
        getattr(lx, name)(MAZE, *POSITIONAL[name], 0.9)
