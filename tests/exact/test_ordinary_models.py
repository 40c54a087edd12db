"""`solve` on models as people bring them: it never fails, and nothing is called what it is not."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from lexicone.criteria._search import search
from lexicone.exact._front import pareto
from lexicone.exact._solution import Status
from lexicone.exact._solve import solve
from lexicone.order import Order
from tests.helpers.claims import check_claims, occupancy_maximum, thresholds_for
from tests.helpers.ordinary_models import DISCOUNTED, UNDISCOUNTED, a_model, inventory
from tests.helpers.small_models import (
    assert_not_better,
    deterministic_values,
    random_model,
    without_signs,
)
from tests.helpers.solutions import close

SOLVED = {Status.OPTIMAL, Status.NEEDS_MEMORY}
TOO_LONG = 5e7  # steps: the arithmetic may give up from here on, if it says so


def order_for(rng, mdp, gamma):
    """Thresholds at, just below or just above what can be had."""

    def maximum(objective, floors):
        found = occupancy_maximum(mdp, gamma, objective, floors)
        return None if found is None else found[objective]

    return thresholds_for(rng, mdp, maximum)


@pytest.mark.slow
class TestNothingFails:
    @settings(deadline=None)
    @given(
        st.integers(0, 2**32 - 1),
        st.sampled_from(DISCOUNTED),
        st.sampled_from([0.9, 0.99, 0.999]),
        st.sampled_from(["lp", "columns"]),
    )
    def test_discounted(self, seed, family, gamma, method):
        rng = np.random.default_rng(seed)
        mdp = a_model(rng, family)
        order = order_for(rng, mdp, gamma)
        check_claims(mdp, order, gamma, solve(mdp, order, gamma=gamma, method=method))

    @settings(deadline=None)
    @given(
        st.integers(0, 2**32 - 1),
        st.sampled_from(UNDISCOUNTED),
        st.sampled_from(["lp", "columns"]),
    )
    def test_undiscounted(self, seed, family, method):
        rng = np.random.default_rng(seed)
        mdp = a_model(rng, family)
        order = order_for(rng, mdp, 1.0)
        found = solve(mdp, order, gamma=1.0, method=method)
        if found.status is Status.FAILED:
            assert "steps" in found.message
            assert found.occupancy.sum() > TOO_LONG
        else:
            check_claims(mdp, order, 1.0, found)


@pytest.mark.slow
@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_loops_that_pay_or_cost(seed, random):
    """γ=1: both methods and all searches say the same, and no deterministic policy is better."""
    rng = np.random.default_rng(seed)
    mdp = random_model(seed, 3, 2, 2, "ties", True) if random else a_model(rng, "toll")
    rows = deterministic_values(mdp, 1.0) if mdp.num_states <= 4 else np.zeros((0, 2))
    counts = (
        rows[np.isfinite(deterministic_values(without_signs(mdp), 1.0)).all(axis=1)]
        if len(rows)
        else rows
    )
    levels = [0.0, 1.0, -1.0, -0.5, np.inf]
    if len(counts):
        best = float(counts[:, 0].max())
        levels += [best, best - 1e-12, best + 1e-12, best - 1e-9]
    order = Order([float(rng.choice(levels)) for _ in range(mdp.num_objectives - 1)])
    found = {method: solve(mdp, order, gamma=1.0, method=method) for method in ("lp", "columns")}
    asked = {strategy: search(mdp, order, strategy) for strategy in ("binary", "one_by_one")}
    statuses = {str(s.status) for s in (*found.values(), *asked.values())}
    if statuses <= {str(s) for s in SOLVED}:
        for other in (*found.values(), *asked.values()):
            assert close(other.key, found["lp"].key, 2e-6)
        if len(counts):
            assert_not_better(order, counts, found["lp"].key)
    else:
        assert len(statuses) == 1
        assert "failed" not in statuses


@pytest.mark.parametrize("method", ["lp", "columns"])
def test_a_maximum_that_is_nothing_but_rounding(method):
    """Nearly all demand can be served: the largest value of objective 1 is −1e-11, of rewards up to 4."""
    mdp = inventory(24, 4, 2.0)
    order = Order([np.inf, -200.0])
    found = solve(mdp, order, gamma=0.99, method=method)
    assert found.status is Status.OPTIMAL
    assert found.values[0] > -1e-7
    assert found.values[1] >= -200
    near = solve(mdp, Order([-1e-6, -200.0]), gamma=0.99, method=method)
    assert found.values[2] <= near.values[2] + 1e-6


def test_the_other_points_of_a_front_are_given():
    front = pareto(inventory(24, 4, 2.0), gamma=0.99, points=2)
    assert len(front.values) >= 2
    assert np.isfinite(front.values).all()
