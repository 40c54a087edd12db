"""The exact optimum of linear–quadratic models, by Riccati equations and by semidefinite programs."""

import importlib.util
from typing import Any

import numpy as np
import pytest
from scipy.linalg import solve_discrete_are

from benchmarks.linear_quadratic import (
    KINDS,
    differences,
    open_objectives,
    random_system,
    thresholds_of,
)
from lexicone import LinearQuadratic, Order, solve
from lexicone.tasks import suspension

ORDER = Order({"grip": -12, "comfort": -70, "force": None})


def quarter_car() -> LinearQuadratic:
    return suspension().model


class TestTheQuarterCar:
    def test_passive(self):
        passive = quarter_car().evaluate(np.zeros((1, 4)))
        np.testing.assert_allclose(passive, [-13.18, -80.26, 0.0], atol=0.01)

    @pytest.mark.parametrize("method", ["riccati", "sdp"])
    def test_known_optimum(self, method):
        found = solve(quarter_car(), ORDER, method=method)
        assert found.status == "optimal"
        np.testing.assert_allclose(found.values, [-12, -70, -0.300212], atol=1e-6)
        np.testing.assert_allclose(found.gain, [[3.826, -0.3125, -4.309, 0.1008]], rtol=1e-3)
        np.testing.assert_allclose(found.prices[:, 2], [0.4957, 0.0292], rtol=2e-3)
        assert found.satisfied.all()
        assert np.abs(found.gap).max() < 1e-8
        assert ORDER.satisfied(found.values).all() or method == "sdp"
        assert np.abs(found.noise).max() < 1e-6
        assert (found.method, found.gamma, found.criterion) == (method, 0.99, "expected")

    def test_two_methods_agree(self):
        first, second = (solve(quarter_car(), ORDER, method=m) for m in ("riccati", "sdp"))
        np.testing.assert_allclose(first.values, second.values, atol=1e-8)

    def test_prices_are_what_a_threshold_costs(self):
        model, step = quarter_car(), 1e-3
        found = solve(model, ORDER)
        for j in range(2):
            thresholds = np.array(ORDER.thresholds)
            thresholds[j] += step
            more = solve(model, Order(thresholds))
            cost = (found.values[2] - more.values[2]) / step
            np.testing.assert_allclose(cost, found.prices[j, 2], rtol=1e-3)

    def test_ten_thousand_episodes(self):
        model = quarter_car()
        found = solve(model, ORDER)
        returns = model.simulate(found.gain, found.noise, episodes=10_000, seed=0)
        error = returns.std(axis=0) / 100
        assert np.all(np.abs(returns.mean(axis=0) - found.values) < 3 * error)

    def test_no_gain_nearby_is_better(self):
        """Negative control of optimality: gains nearby miss a threshold or need more force."""
        model = quarter_car()
        found = solve(model, ORDER)
        rng = np.random.default_rng(0)
        for _ in range(50):
            other = model.evaluate(found.gain * (1 + 0.05 * rng.normal(size=4)))
            assert not ORDER.better(other + 1e-9, found.values)

    def test_names_are_matched(self):
        """An order that names grip last solves the model with grip last; other names are refused."""
        found = solve(quarter_car(), {"comfort": -70, "force": -1, "grip": None})
        again = solve(quarter_car().reorder([1, 2, 0]), [-70, -1])
        np.testing.assert_allclose(found.values, again.values)
        assert found.values[2] > -13
        with pytest.raises(ValueError, match="order: has the objectives grip, comfort, noise"):
            solve(quarter_car(), {"grip": -12, "comfort": -70, "noise": None})

    def test_out_of_reach(self):
        """Comfort of −50 cannot be had with that grip: it is as good as can be, and force is what that takes."""
        found = solve(quarter_car(), Order([-12, -50]))
        assert found.status == "optimal"
        assert found.satisfied.tolist() == [True, False]
        np.testing.assert_allclose(found.values[:2], [-12, -56.5332286736], atol=1e-8)
        assert not found.prices[1].any()
        best_grip = solve(quarter_car(), Order([np.inf, -70]))
        np.testing.assert_allclose(best_grip.values[0], -8.0270706333, atol=1e-8)

    def test_at_the_attainable(self):
        """A threshold equal to the best grip leaves nothing to choose."""
        best = solve(quarter_car(), Order([np.inf, -70]))
        same = solve(quarter_car(), Order([best.values[0], -70]))
        np.testing.assert_allclose(same.values, best.values, rtol=1e-9)
        assert same.satisfied[0]

    def test_thresholds_that_never_matter(self):
        found = solve(quarter_car(), Order([-np.inf, -np.inf]))
        np.testing.assert_allclose(found.values[2], 0.0, atol=1e-12)
        assert found.satisfied.all()
        assert not found.prices.any()


@pytest.mark.parametrize("seed", range(12))
def test_random_systems(seed: int):
    """The first of the two hundred of benchmarks/linear_quadratic.py."""
    model = random_system(seed)
    order = Order(thresholds_of(model, KINDS[seed % 3], seed))
    found, other = (solve(model, order, method=m) for m in ("riccati", "sdp"))
    assert found.status == other.status == "optimal"
    count = min(open_objectives(s) for s in (found, other))
    assert differences(model, found, other)[:count].max() < 1e-8
    assert np.all(np.abs(found.gap) < 1e-7 * np.maximum(1.0, np.abs(found.key)))


@pytest.mark.parametrize("seed", [73, 135])
def test_what_is_free_is_still_free_if_few_gains_keep_the_limits(seed: int):
    """The third cost is at its best with many gains, of which only some keep the first two; the fourth decides."""
    model = random_system(seed)
    order = Order(thresholds_of(model, KINDS[seed % 3], seed))
    found, other = (solve(model, order, method=m) for m in ("riccati", "sdp"))
    assert open_objectives(found) == 3
    assert differences(model, found, other).max() < 1e-5
    assert found.satisfied.all()


def test_one_cost_is_the_riccati_equation():
    rng = np.random.default_rng(0)
    a, b = 1.5 * rng.normal(size=(3, 3)), rng.normal(size=(3, 2))
    model = LinearQuadratic(a, b, np.eye(3), costs=[np.eye(5)], gamma=0.9, initial=2 * np.eye(3))
    p = solve_discrete_are(np.sqrt(0.9) * a, np.sqrt(0.9) * b, np.eye(3), np.eye(2))
    expected = -2 * np.trace(p) - 9 * np.trace(p)
    np.testing.assert_allclose(solve(model, Order([])).values, [expected], rtol=1e-10)


def test_what_is_free_is_decided_by_the_next():
    """The first cost does not see the second input, nor the second state: those are left for the second cost."""
    model = LinearQuadratic(
        np.diag([0.9, 0.8]),
        np.eye(2),
        np.eye(2),
        costs=[np.diag([1.0, 0, 0, 0]), np.diag([0, 1.0, 0, 1.0])],
        gamma=0.95,
    )
    found = solve(model, Order([np.inf]))
    alone = LinearQuadratic([[0.8]], [[1.0]], [[1.0]], costs=[np.eye(2)], gamma=0.95)
    np.testing.assert_allclose(found.values[0], -19.0)  # the shock of each step is gone in the next
    np.testing.assert_allclose(found.values[1], solve(alone, Order([])).values[0], rtol=1e-9)
    np.testing.assert_allclose(found.gain[0], [-0.9, 0.0], atol=1e-12)


def test_acting():
    found = solve(quarter_car(), ORDER)
    state = np.array([0.01, 0.1, 0.002, 0.5])
    np.testing.assert_allclose(found.act(state), found.gain @ state)
    drawn = found.act(state, np.random.default_rng(0))
    np.testing.assert_allclose(drawn, found.gain @ state, atol=1e-6)


class TestRefusals:
    def test_what_no_input_reaches(self):
        model = LinearQuadratic(
            np.diag([1.2, 0.5]), [[0.0], [1.0]], np.eye(2), costs=[np.eye(3)], gamma=0.99
        )
        with pytest.raises(
            ValueError, match=r"A, B: no input reaches the mode with eigenvalue 1\.2"
        ):
            solve(model, Order([]))
        short = LinearQuadratic(
            np.diag([1.2, 0.5]), [[0.0], [1.0]], np.eye(2), costs=[np.eye(3)], gamma=0.5
        )
        assert solve(short, Order([])).status == "optimal"  # episodes end sooner than it grows

    def test_names_of_arguments(self):
        model = quarter_car()
        cases: list[tuple[dict[str, Any], str]] = [
            ({"gamma": 0.9}, "gamma: does not go with"),
            ({"policies": "deterministic"}, "policies: does not go with"),
            ({"method": "lp"}, "method: expected one of auto, riccati, sdp"),
            ({"tolerance": 0.0}, "tolerance: must be positive"),
        ]
        for options, message in cases:
            with pytest.raises(ValueError, match=message):
                solve(model, ORDER, **options)
        with pytest.raises(ValueError, match="order: has 2 objectives"):
            solve(model, Order([-12]))

    def test_without_clarabel(self, monkeypatch):
        find = importlib.util.find_spec
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda name: None if name == "clarabel" else find(name)
        )
        with pytest.raises(ValueError, match='method: "sdp" needs clarabel'):
            solve(quarter_car(), ORDER, method="sdp")
        assert solve(quarter_car(), ORDER).status == "optimal"


def test_equally_good_gains_that_keep_the_limits():
    """Any gain is equally good for the second cost, which only sees what no input changes; few keep the first."""
    model = LinearQuadratic(
        np.diag([0.9, 0.8]),
        [[1.0], [0.0]],
        np.eye(2),
        costs=[np.diag([1.0, 0, 0]), np.diag([0, 1.0, 0])],
        gamma=0.95,
    )
    found = solve(model, Order([-25.0]))
    assert found.status == "optimal"
    assert found.satisfied.all()
    assert model.evaluate([[0.0, 0.0]])[0] < -25  # the gain to start from does not
