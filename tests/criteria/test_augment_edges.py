"""Budgets at their edges: infinite thresholds, loops, starts at the end, rounding."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from lexicone.criteria._augment import augment, augmentation
from lexicone.exact._solve import solve
from lexicone.models._evaluation import evaluate
from lexicone.models._mdp import MDP
from lexicone.order import Order
from lexicone.tasks import deep_sea_treasure, maze
from tests.helpers.small_models import drawn, random_model


def test_budgets_that_never_bind_cost_nothing():
    mdp = maze("small", objectives=("goal", "time"))
    order = Order([-1.0])  # nothing can fall below it
    found = augmentation(mdp, order)
    assert found.mdp.num_states == mdp.reachable().sum() + 1  # and the start's copy
    assert solve(found.mdp, order).values[1] == solve(mdp, Order([-np.inf])).values[1]
    assert augment(mdp, Order([-np.inf])).num_states == mdp.reachable().sum()


@pytest.mark.parametrize("threshold", [-1000.0, 1000.0])
def test_thresholds_below_the_worst_and_above_the_best(threshold):
    mdp, order = deep_sea_treasure(), Order([threshold])
    found = solve(augment(mdp, order), order)
    if threshold > 0:
        np.testing.assert_allclose(found.values, [124.0, -19.0], atol=1e-9)
        assert not found.satisfied[0]
    else:
        np.testing.assert_allclose(found.values, [-1000.0, -1.0], atol=1e-9)
        assert found.satisfied[0]


def test_infinite_thresholds():
    mdp = maze("extended", objectives="path")
    for threshold, best in ((np.inf, [1, -10]), (-np.inf, [-4, -4])):
        order = Order([threshold])
        found = augmentation(mdp, order)
        np.testing.assert_allclose(solve(found.mdp, order).values, best, atol=1e-9)
        assert np.isnan(found.budget).all()
        rates = found.chances(solve(found.mdp, order).policy).rates
        np.testing.assert_array_equal(rates, [float(threshold < 0)])


def test_zero_reward_loops_keep_what_was_spent():
    """Waiting for ever is free, but does not undo the toll that led there; ending costs more."""
    edges = {0: [(1, [-2.0, 0.0])], 1: [(1, [0.0, 0.0]), (2, [-3.0, 5.0])]}
    mdp = drawn(3, edges, terminal=(2,))
    for threshold, best in ((-2.0, [-2, 0]), (-5.0, [-5, 5]), (-1.0, [-2, 0])):
        order = Order([threshold])
        found = solve(augment(mdp, order), order)
        np.testing.assert_allclose(found.values, best, atol=1e-9)


def test_no_terminal_state_at_all():
    """A loop that pays nothing beside one that costs; no episode ends."""
    mdp = drawn(2, {0: [(0, [-1.0, 1.0]), (1, [0.0, 0.0])], 1: [(1, [0.0, 0.0])]})
    order = Order([-3.0])
    found = solve(augment(mdp, order), order)
    np.testing.assert_allclose(found.values, [-3.0, 3.0], atol=1e-9)
    assert not mdp.terminal.any()


def test_unreachable_terminals():
    mdp = drawn(3, {0: [(0, [0.0, 0.0]), (1, [-1.0, 2.0])], 1: [(1, [0.0, 0.0])]}, (2,))
    order = Order([-1.0])
    found = augmentation(mdp, order)
    assert not found.mdp.terminal.any()
    np.testing.assert_allclose(solve(found.mdp, order).values, [-1.0, 2.0], atol=1e-9)


def test_an_episode_that_starts_at_its_end():
    """Half the episodes are over at once; their surplus must not pay for the others' misses."""
    tables = drawn(2, {0: [(1, [-4.0, 1.0]), (1, [-2.0, 0.0])]}, terminal=(1,))
    mdp = MDP(
        next_state=tables.next_state,
        probability=tables.probability,
        reward=tables.reward,
        initial=[0.5, 0.5],
        terminal=tables.terminal,
    )
    order = Order([-2.0])
    found = augmentation(mdp, order)
    best = solve(found.mdp, order)
    np.testing.assert_allclose(best.values, [-2.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(found.lift(best.policy).values, [-1.0, 0.0], atol=1e-9)
    assert found.chances(best.policy).overall == 1.0


def test_tenths_add_up():
    """0.1 + 0.2 is not 0.3 in floating point, but it is one budget; a fixed tolerance of 0 would miss it."""
    edges = {
        0: [(1, [-0.1, 0.0]), (1, [-0.2, 0.0])],
        1: [(2, [-0.2, 0.0]), (2, [-0.1, 0.0])],
        2: [(3, [-0.3, 1.0]), (3, [0.0, 0.0])],
    }
    mdp = drawn(4, edges, terminal=(3,))
    order = Order([-0.6])
    found = augmentation(mdp, order)
    assert solve(found.mdp, order).values[1] == 1.0
    assert len(np.unique(found.budget[found.state == 2])) <= 3


@pytest.mark.parametrize("gamma", [0.5, 0.9])
def test_discounted_loops(gamma):
    """A loop that costs 1 a step: how often it fits into the discounted budget, by hand."""
    mdp = drawn(2, {0: [(0, [-1.0, 1.0]), (1, [0.0, 0.0])]}, terminal=(1,))
    times = 3
    spent = sum(gamma**t for t in range(times))
    order = Order([-spent])
    found = solve(augment(mdp, order, gamma=gamma), order, gamma=gamma)
    np.testing.assert_allclose(found.values, [-spent, spent], atol=1e-6)
    less = Order([-spent + 1e-3])
    found = solve(augment(mdp, less, gamma=gamma), less, gamma=gamma)
    np.testing.assert_allclose(found.values[1], spent - gamma ** (times - 1), atol=1e-6)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["costs", "gains"]))
def test_loops_of_one_sign_stay_finite(seed, kind):
    mdp = random_model(seed, 4, 2, 2, kind, True)
    order = Order([-3.0 if kind == "costs" else 3.0])
    found = augmentation(mdp, order)
    assert found.mdp.num_states <= 4 * 7 + 4
    policy = np.full((found.mdp.num_states, 2), 0.5)
    inside = evaluate(found.mdp, policy)
    if np.isfinite(found.lift(policy).values[0]):
        assert inside[0] <= min(order.thresholds[0], found.lift(policy).values[0]) + 1e-9
