import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from lexicone.exact import _deterministic as deterministic
from lexicone.exact._highs import Outcome
from lexicone.exact._solution import Status
from lexicone.exact._solve import solve
from lexicone.exact._state_actions import all_state_actions
from lexicone.models._evaluation import evaluate
from lexicone.order import Order
from lexicone.tasks import garnet
from tests.helpers.small_models import deterministic_values, draw_order, random_model, small_models


def best_key(order, rows):
    """By brute force; digits beyond rounding are dropped so that near ties are ties."""
    return np.array(max(tuple(np.round(key, 8)) for key in np.asarray(order.key(rows))))


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.data(), small_models(("ties", "costs", "any"), 3, 5), st.sampled_from([0.0, 0.5, 0.9, 0.99])
)
def test_discounted(data, recipe, gamma):
    mdp = random_model(*recipe)
    rows = deterministic_values(mdp, gamma)
    order = draw_order(data.draw, rows)
    found = solve(mdp, order, gamma=gamma, policies="deterministic")
    assert found.status is Status.OPTIMAL
    assert np.isin(found.policy, [0, 1]).all()
    np.testing.assert_allclose(evaluate(mdp, found.policy, gamma), found.values, atol=1e-9)
    np.testing.assert_allclose(found.key, best_key(order, rows), atol=1e-6, rtol=1e-6)
    assert (found.gap <= 1e-6 * np.maximum(1, np.abs(found.bound))).all()


@settings(deadline=None)
@given(st.data(), small_models(("costs", "some costs", "gains", "one sign each"), 3, 4))
def test_undiscounted(data, recipe):
    mdp = random_model(*recipe)
    rows = deterministic_values(mdp, 1.0)
    order = draw_order(data.draw, rows)
    best = best_key(order, rows)
    found = solve(mdp, order, gamma=1.0, policies="deterministic")
    np.testing.assert_allclose(evaluate(mdp, found.policy, 1.0), found.values)
    counts = np.array([t > -np.inf for t in order.thresholds] + [True])
    endless = np.flatnonzero(counts & ~np.isfinite(best))
    if not len(endless):
        assert found.status is Status.OPTIMAL
        np.testing.assert_allclose(found.key, best, atol=1e-6, rtol=1e-6)
    else:
        expected = Status.UNBOUNDED if best[endless[0]] > 0 else Status.DIVERGENT
        assert found.status is expected
        assert f"objective {endless[0] + 1}" in found.message


def test_a_mixture_may_be_better():
    mdp = garnet(30, 3, 3, 2, seed=3)
    best = solve(mdp, Order([np.inf]), gamma=0.9).values[0]
    order = Order([0.9 * best])
    pure = solve(mdp, order, gamma=0.9, policies="deterministic")
    mixed = solve(mdp, order, gamma=0.9)
    assert pure.satisfied[0]
    assert mixed.satisfied[0]
    assert pure.values[1] < mixed.values[1]
    assert pure.randomises == []


def test_a_search_that_is_cut_short_says_so(monkeypatch):
    monkeypatch.setattr(deterministic, "_MAX_NODES", 1)
    mdp = garnet(30, 3, 3, 2, seed=3)
    best = solve(mdp, Order([np.inf]), gamma=0.9).values[0]
    found = solve(mdp, Order([0.9 * best]), gamma=0.9, policies="deterministic")
    assert found.status is Status.LIMIT
    assert (found.bound[1] > found.values[1]) or np.isinf(found.bound[1])


def test_a_search_without_time_keeps_what_it_starts_from():
    mdp = garnet(30, 3, 3, 2, seed=3)
    pairs = all_state_actions(mdp, 0.9)

    def values_of(policy):
        return evaluate(mdp, pairs.action[policy], 0.9)

    best = solve(mdp, Order([np.inf]), gamma=0.9, policies="deterministic")
    first = pairs.first + best.policy.argmax(axis=1)
    limits = np.array([0.9 * best.values[0], np.inf])
    for deadline, outcome in ((-np.inf, Outcome.TIME_LIMIT), (np.inf, Outcome.OPTIMAL)):
        found = deterministic.solve_deterministic(
            pairs, limits, values_of, starts=[first], deadline=deadline
        )
        assert found.outcome is outcome
        assert (found.policy == first).all() == (deadline < 0)
        assert values_of(found.policy)[1] >= values_of(first)[1]


def test_too_large():
    with pytest.raises(ValueError, match=r"^policies: .* up to 400 states .* has 500"):
        solve(garnet(500), Order([1.0, 1.0]), gamma=0.9, policies="deterministic")
