"""`solve` with γ=1 where policies may go on for ever."""

import numpy as np
import pytest

from lexicone.exact._solution import Status
from lexicone.exact._solve import solve
from lexicone.models._evaluation import evaluate
from lexicone.order import Order
from tests.helpers.small_models import drawn


@pytest.mark.parametrize("method", ["lp", "columns"])
class TestForEver:
    """γ=1: loops that pay nothing, gains, costs, and those that no stationary policy can use well."""

    def test_staying_where_nothing_is_paid(self, method):
        mdp = drawn(2, {0: [(0, (0, 0)), (1, (-10, 5))]}, [1])
        found = solve(mdp, Order([0.0]), gamma=1.0, method=method)
        assert found.status is Status.OPTIMAL
        np.testing.assert_allclose(found.values, [0, 0], atol=1e-12)

    def test_staying_with_probability_one_half_needs_memory(self, method):
        mdp = drawn(2, {0: [(0, (0, 0)), (1, (-10, 5))]}, [1])
        found = solve(mdp, Order([-5.0]), gamma=1.0, method=method)
        assert found.status is Status.NEEDS_MEMORY
        np.testing.assert_allclose(found.values, [-5, 2.5], atol=1e-9)
        assert found.stay is not None
        np.testing.assert_allclose(found.stay, [0.5, 0], atol=1e-9)

    def test_staying_elsewhere_needs_none(self, method):
        mdp = drawn(3, {0: [(1, (0, 0)), (2, (-10, 5))], 1: [(1, (0, 0)), (0, (0, 0))]}, [2])
        found = solve(mdp, Order([-5.0]), gamma=1.0, method=method)
        assert found.status is Status.OPTIMAL
        assert found.stay is None
        np.testing.assert_allclose(evaluate(mdp, found.policy, 1.0), [-5, 2.5], atol=1e-9)
        assert found.randomises == [0]

    def test_a_loop_that_costs_a_later_objective(self, method):
        mdp = drawn(2, {0: [(0, (0, -1)), (1, (-1, -3))]}, [1])
        stuck = solve(mdp, Order([0.0]), gamma=1.0, method=method)
        assert stuck.status is Status.DIVERGENT
        assert "objective 2" in stuck.message
        np.testing.assert_allclose(stuck.values, [0, -np.inf])
        leaves = solve(mdp, Order([-1.0]), gamma=1.0, method=method)
        assert leaves.status is Status.OPTIMAL
        np.testing.assert_allclose(leaves.values, [-1, -3])

    def test_an_unreachable_goal(self, method):
        mdp = drawn(3, {0: [(1, (0, -1))], 1: [(0, (0, -1))]}, [2])
        found = solve(mdp, Order([0.0]), gamma=1.0, method=method)
        assert found.status is Status.DIVERGENT
        assert "objective 2" in found.message

    def test_unbounded_objectives_are_named(self, method):
        mdp = drawn(2, {0: [(0, (0, 1)), (1, (0, 0))]}, [1])
        found = solve(mdp, Order({"safety": 0.0, "profit": None}), gamma=1.0, method=method)
        assert found.status is Status.UNBOUNDED
        assert "objective 2 (profit)" in found.message
        first = drawn(2, {0: [(0, (1, -1)), (1, (0, 0))]}, [1])
        found = solve(first, Order([np.inf]), gamma=1.0, method=method)
        assert found.status is Status.UNBOUNDED
        assert "objective 1" in found.message

    def test_going_round_until_the_threshold_is_met(self, method):
        mdp = drawn(2, {0: [(0, (1, -1)), (1, (0, 0))]}, [1])
        found = solve(mdp, Order([5.0]), gamma=1.0, method=method)
        assert found.status is Status.OPTIMAL
        np.testing.assert_allclose(evaluate(mdp, found.policy, 1.0), [5, -5], atol=1e-8)

    def test_gains_for_ever_meet_any_threshold(self, method):
        mdp = drawn(1, {0: [(0, (1, 0, 0)), (0, (0, 1, 0))]})
        found = solve(mdp, Order([5.0, 7.0]), gamma=1.0, method=method)
        assert found.status is Status.OPTIMAL
        np.testing.assert_allclose(found.values, [np.inf, np.inf, 0])
        assert found.satisfied.all()

    def test_gains_with_costs_in_between(self, method):
        mdp = drawn(2, {0: [(1, (2, 0))], 1: [(0, (-1, 0))]})
        found = solve(mdp, Order([5.0]), gamma=1.0, method=method)
        assert found.status is Status.OPTIMAL
        np.testing.assert_allclose(found.values, [np.inf, 0])
        assert solve(mdp, Order([np.inf]), gamma=1.0, method=method).status is Status.UNBOUNDED

    def test_a_gain_that_costs_more_important_things_is_not_unbounded(self, method):
        mdp = drawn(3, {0: [(2, (0, 0)), (1, (-1, 0))], 1: [(1, (0, 1)), (2, (0, 0))]}, [2])
        found = solve(mdp, Order([0.0]), gamma=1.0, method=method)
        assert found.status is Status.OPTIMAL
        np.testing.assert_allclose(found.values, [0, 0], atol=1e-9)
        assert solve(mdp, Order([-0.5]), gamma=1.0, method=method).status is Status.UNBOUNDED

    def test_a_supremum_that_no_policy_attains(self, method):
        mdp = drawn(3, {0: [(2, (0, 10)), (1, (0, 0))], 1: [(1, (1, 0)), (2, (0, 0))]}, [2])
        found = solve(mdp, Order([5.0]), gamma=1.0, method=method)
        assert found.status is Status.SUPREMUM
        assert "objective 2" in found.message
        np.testing.assert_allclose(found.bound, [5, 10])
        values = evaluate(mdp, found.policy, 1.0)
        np.testing.assert_allclose(values, found.values, atol=1e-7)
        assert values[0] >= 5 - 1e-6
        assert 9.99 < values[1] < 10

    def test_loops_whose_rewards_cancel_have_no_total(self, method):
        mdp = drawn(2, {0: [(1, (1, 0))], 1: [(0, (-1, 0))]})
        found = solve(mdp, Order([0.2]), gamma=1.0, method=method)
        assert found.status is Status.DIVERGENT
        assert "cancel" in found.message
