"""`solve` on random small models, against every deterministic policy and every mixture of them."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from lexicone.exact._solution import Status
from lexicone.exact._solve import solve
from lexicone.models._evaluation import evaluate
from lexicone.order import Order
from tests.helpers.small_models import (
    assert_no_mixture_is_better,
    assert_not_better,
    deterministic_values,
    draw_order,
    many,
    random_model,
    small_models,
    without_signs,
)
from tests.helpers.solutions import check_optimal, close

ONE_SIGN = ("costs", "some costs", "gains", "one sign each")


class TestRandomModels:
    @pytest.mark.slow
    @many
    @given(st.data(), small_models(), st.sampled_from([0.0, 0.5, 0.9, 0.99, 0.999]))
    def test_discounted(self, data, recipe, gamma):
        mdp = random_model(*recipe)
        rows = deterministic_values(mdp, gamma)
        order = draw_order(data.draw, rows)
        found = {m: solve(mdp, order, gamma=gamma, method=m) for m in ("lp", "columns")}
        for solution in found.values():
            assert solution.status is Status.OPTIMAL
            check_optimal(solution, mdp, order, gamma)
            assert_not_better(order, rows, solution.key)
            assert_no_mixture_is_better(rows, order, solution.key)
        assert close(found["lp"].key, found["columns"].key)

    @pytest.mark.slow
    @many
    @given(st.data(), small_models(ONE_SIGN))
    def test_undiscounted_costs_and_gains(self, data, recipe):
        mdp = random_model(*recipe)
        rows = deterministic_values(mdp, 1.0)
        order = draw_order(data.draw, rows)
        found = {m: solve(mdp, order, gamma=1.0, method=m) for m in ("lp", "columns")}
        assert found["lp"].status is found["columns"].status
        for solution in found.values():
            if solution.status is Status.OPTIMAL:
                check_optimal(solution, mdp, order, 1.0)
                assert_not_better(order, rows, solution.key)
                assert_no_mixture_is_better(rows, order, solution.key, attained=False)
            else:
                assert solution.message
        if found["lp"].status is Status.OPTIMAL:
            assert close(found["lp"].key, found["columns"].key)

    @pytest.mark.slow
    @many
    @given(st.data(), small_models(("costs", "some costs")))
    def test_undiscounted_costs_are_mixtures(self, data, recipe):
        """Without gains, loops help nobody: the optimum is that of mixtures of deterministic policies."""
        mdp = random_model(*recipe)
        rows = deterministic_values(mdp, 1.0)
        order = draw_order(data.draw, rows)
        found = solve(mdp, order, gamma=1.0)
        if found.status in (Status.OPTIMAL, Status.NEEDS_MEMORY):
            assert_no_mixture_is_better(rows, order, found.key)
        else:
            assert found.status is Status.DIVERGENT
            counts = np.array([t > -np.inf for t in order.thresholds] + [True])
            ends = (rows[:, counts] > -np.inf).all(axis=1)
            if ends.any():  # some policies have totals, but lose something more important
                best = max(map(tuple, np.asarray(order.key(rows[ends]))))
                assert_not_better(order, np.array([best]), found.key)

    @pytest.mark.slow
    @many
    @given(st.data(), small_models(("ties", "any")))
    def test_undiscounted_any_signs(self, data, recipe):
        mdp = random_model(*recipe)
        rows = deterministic_values(mdp, 1.0)
        total = np.isfinite(deterministic_values(without_signs(mdp), 1.0)).all(axis=1)
        order = draw_order(data.draw, rows)
        found = {m: solve(mdp, order, gamma=1.0, method=m) for m in ("lp", "columns")}
        solved = {Status.OPTIMAL, Status.NEEDS_MEMORY}
        statuses = {solution.status for solution in found.values()}
        assert len(statuses - solved) + bool(statuses & solved) == 1
        if statuses <= solved:
            assert close(found["lp"].key, found["columns"].key)
            for solution in found.values():
                if solution.status is Status.OPTIMAL:
                    assert close(evaluate(mdp, solution.policy, 1.0), solution.values)
                if total.any():
                    assert_not_better(order, rows[total], solution.key)

    @pytest.mark.slow
    @many
    @given(st.data(), small_models(("any",), max_objectives=3), st.sampled_from([0.5, 0.9]))
    def test_break_ties(self, data, recipe, gamma):
        mdp = random_model(*recipe)
        rows = deterministic_values(mdp, gamma)
        order = Order(draw_order(data.draw, rows).thresholds, break_ties=True)
        found = solve(mdp, order, gamma=gamma)
        assert found.status is Status.OPTIMAL
        assert_not_better(order, rows, found.key)
