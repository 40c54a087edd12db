"""Budgets on the paper's tasks, whose best policies are known."""

import numpy as np
import pytest

from lexicone.criteria._augment import augment, augmentation
from lexicone.criteria._search import search
from lexicone.exact._solve import solve
from lexicone.models._evaluation import evaluate
from lexicone.order import Order
from lexicone.qlearning._iterate import tlq_iterate
from lexicone.tasks import deep_sea_treasure, maze, road_trip, space_traders

SCALARS = ("endpoint", "accumulated", "penalty")


@pytest.mark.slow
def test_early_and_late_maze_gets_its_natural_policy():
    """Avoid HH, ignore hh: two low penalties and the goal make −7."""
    mdp, order = maze("early-late", objectives="path"), Order([-7.0])
    found = search(mdp, order, criterion="episode")
    np.testing.assert_allclose(found.values, [-7.0, -11.0], atol=1e-9)
    states = found.policy.simulate(1, max_steps=20, record=True).trajectories.states[0]
    assert mdp.layout is not None
    tiles = [mdp.layout.rows[r][c] for r, c in mdp.layout.positions[states]]
    assert "H" not in tiles
    assert tiles.count("h") == 2
    assert "G" in tiles
    scalar = augmentation(mdp, order, "penalty")
    values = scalar.lift(solve(scalar.mdp, Order([])).policy).values
    np.testing.assert_allclose(values, [-7.0, -11.0], atol=1e-9)


@pytest.mark.parametrize("rule", ["gabor", "urban", "relative", "cyclic"])
def test_tlq_does_not_reach_it(rule):
    """Nor do thresholds on values to come; `informed` and `sarsa`, whose values follow the policy, do."""
    mdp, order = maze("early-late", objectives="path"), Order([-7.0])
    for gamma in (0.9, 0.99, 1.0):
        values = evaluate(mdp, tlq_iterate(mdp, order, rule, gamma=gamma).policy)
        np.testing.assert_allclose(values, [1.0, -15.0])


def test_extended_maze():
    mdp, order = maze("extended", objectives="path"), Order([-3.0])
    augmented = augmentation(mdp, order)
    assert augmented.mdp.num_states == 49
    np.testing.assert_allclose(solve(augmented.mdp, order).values, [-3, -8], atol=1e-9)
    mixed = solve(mdp, order).policy
    chances = augmented.chances(augmented.spread(mixed))
    np.testing.assert_allclose(chances.rates, [0.2], atol=1e-9)


@pytest.mark.parametrize("rewards", ["vector", *SCALARS])
def test_road_trip(rewards):
    mdp, order = road_trip(), Order([-11.0])
    found = augmentation(mdp, order, rewards)
    own = order if rewards == "vector" else Order([])
    lifted = found.lift(solve(found.mdp, own).policy)
    np.testing.assert_allclose(lifted.values, [-11.0, 9.0], atol=1e-9)
    less = augment(mdp, Order([-10.0]))
    assert solve(less, Order([-10.0])).values[1] == pytest.approx(5.0)


def test_two_budgets_on_the_road():
    mdp = road_trip(costs=("toll", "hours"))
    for thresholds, best in (
        ([-11, -15], [-11, -15, 9]),
        ([-11, -14], [-11, -14, 5]),
        ([-11, 0], [-11, -5, 5]),
    ):
        order = Order(thresholds)
        np.testing.assert_allclose(solve(augment(mdp, order), order).key, best, atol=1e-9)


def test_deep_sea_treasure():
    mdp = deep_sea_treasure(objectives=("time", "treasure"))
    for budget, treasure in ((1, 1.0), (4, 2.0), (13, 24.0), (19, 124.0)):
        order = Order([-float(budget)])
        assert solve(augment(mdp, order), order).values[1] == pytest.approx(treasure)


def test_space_traders_by_episodes():
    """Expected success of .88 is one thing, success in every episode another."""
    mdp, order = space_traders(), Order([0.88])
    found = search(mdp, order, criterion="episode")
    np.testing.assert_allclose(found.values, [1.0, -22.0], atol=1e-9)
    mixed = solve(mdp, order)
    augmented = augmentation(mdp, order)
    rate = augmented.chances(augmented.spread(mixed.policy)).overall
    assert rate == pytest.approx(0.88)
