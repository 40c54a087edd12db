"""Searches whose constrained problems are learned from samples."""

import numpy as np
import pytest

from lexicone.criteria import _lagrangian as lagrangian
from lexicone.criteria._constrained_learners import CONSTRAINED_LEARNERS, ConstrainedLearner
from lexicone.criteria._search import search
from lexicone.exact._solve import solve
from lexicone.models._evaluation import evaluate
from lexicone.order import Order
from lexicone.tasks import road_trip
from tests.helpers.small_models import (
    drawn,
)

STRATEGIES = ("one_by_one", "binary", "dynamic")


@pytest.mark.slow
def test_q_learning():
    mdp, order = road_trip(costs=("toll", "hours")), Order([-11.0, -3.0])
    exact = search(mdp, order, criterion="episode")
    learned = search(mdp, order, "binary", "q_learning", criterion="episode", steps=20_000, seeds=4)
    np.testing.assert_allclose(learned.key, exact.key, atol=1e-9)
    assert learned.status == "learned"
    assert "does not prove that there is none" in learned.message
    again = search(mdp, order, "binary", "q_learning", criterion="episode", steps=20_000, seeds=4)
    np.testing.assert_array_equal(learned.policy.table, again.policy.table)


@pytest.mark.slow
def test_q_learning_dynamically():
    mdp, order = road_trip(costs=("toll", "hours")), Order([-11.0, -3.0])
    exact = search(mdp, order, criterion="episode")
    learned = search(
        mdp,
        order,
        "dynamic",
        "q_learning",
        criterion="episode",
        steps=60_000,
        seeds=4,
        rounds=8,
    )
    np.testing.assert_allclose(learned.key, exact.key, atol=1e-9)
    assert learned.subproblems == 8
    assert learned.satisfied.tolist() == [True, False]


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["binary", "dynamic"])
def test_lagrangian(strategy):
    """Three ways from which only a mixture is best; nearly found, and never below the floor."""
    edges = {0: [(1, [0.0, 3.0]), (1, [1.0, 0.0]), (1, [0.4, 1.0])]}
    mdp, order = drawn(2, edges, terminal=(1,)), Order([0.5])
    exact = search(mdp, order)
    np.testing.assert_allclose(exact.values, [0.5, 1.5], atol=1e-9)
    assert solve(mdp, order, policies="deterministic").values[1] == pytest.approx(0.0)
    learned = search(mdp, order, strategy, "lagrangian", steps=200_000, seeds=4, rounds=4)
    assert learned.values[0] >= 0.5 - 0.02
    assert learned.values[1] >= 1.3
    assert "all thresholds are met" in learned.message


def test_a_floor_does_not_sink_with_what_was_found(monkeypatch):
    """Policies at 0.99, 0.975 and 0.9 of τ=1: up to 0.02 only the first meets it, and the message is true."""
    edges = {0: [(1, [0.99, 0.0]), (1, [0.975, 1.0]), (1, [0.9, 2.0])]}
    mdp = drawn(2, edges, terminal=(1,))

    class Given(ConstrainedLearner):
        def learn(self, objective, floors, steps, continues):
            return np.stack([np.eye(3)[[action, 0]] for action in range(3)])

    monkeypatch.setitem(CONSTRAINED_LEARNERS, "lagrangian", Given)
    for threshold, best, message in (
        (1.0, [0.99, 0.0], "all thresholds are met"),
        (1.5, [0.975, 1.0], "no policy that meets objective 1"),
    ):
        for strategy in STRATEGIES:
            found = search(mdp, [threshold], strategy, "lagrangian")
            assert message in found.message
            assert found.satisfied.all() == ("are met" in message)
            np.testing.assert_allclose(found.values, best)


def test_few_steps():
    """A single update: its policy is the average as well."""
    edges = {0: [(1, [0.0, 3.0]), (1, [1.0, 0.0]), (1, [0.4, 1.0])]}
    _, policies = lagrangian.learn(drawn(2, edges, terminal=(1,)), 1, {}, steps=1, seeds=4)
    np.testing.assert_allclose(policies.sum(axis=-1), 1.0)
    np.testing.assert_array_equal(policies[:4], policies[4:8])


def test_without_multipliers_the_floor_is_ignored():
    edges = {0: [(1, [0.0, 3.0]), (1, [1.0, 0.0]), (1, [0.4, 1.0])]}
    mdp = drawn(2, edges, terminal=(1,))
    for rates, low, high in (
        (lagrangian.LagrangianRates(), 0.4, 0.6),
        (lagrangian.LagrangianRates(multiplier=0.0, miss_weight=0.0), 0.0, 0.05),
    ):
        _, policies = lagrangian.learn(mdp, 1, {0: 0.5}, steps=100_000, seeds=4, rates=rates)
        values = [evaluate(mdp, policy)[0] for policy in policies[4:8]]
        assert all(low <= value <= high for value in values), values
