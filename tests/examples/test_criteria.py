"""What a threshold means: on average over episodes, or in every single one."""

import numpy as np
import pytest

import lexicone as lx

pytestmark = pytest.mark.float32

ORDER = lx.Order([-10.0])  # tolls of at most 10, then a pleasant end


def test_on_average_an_episode_may_spend_more():
    trip = lx.tasks.road_trip()
    found = lx.solve(trip, ORDER)
    episodes = lx.simulate(trip, found.policy, episodes=500)
    assert found.values[0] >= -10 - 1e-6
    assert episodes.returns[:, 0].min() < -10


def test_budgets_in_the_state_hold_in_every_episode():
    trip = lx.tasks.road_trip()
    model = lx.augment(trip, ORDER)
    assert model.num_states > trip.num_states
    np.testing.assert_allclose(lx.solve(model, ORDER).values, [-10.0, 5.0], atol=1e-5)


def test_search_brings_the_policy_back_to_the_model():
    found = lx.search(lx.tasks.road_trip(), ORDER, criterion="episode")
    policy = found.policy  # it has memory: what is left of the budget
    np.testing.assert_allclose(policy.values, [-8.0, 5.0], atol=1e-5)
    assert policy.chances.overall == pytest.approx(1.0)
    assert policy.simulate(500).returns[:, 0].min() >= -10
