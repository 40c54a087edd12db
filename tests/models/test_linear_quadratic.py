"""Linear–quadratic models: what is refused, what a policy is worth, and that episodes agree with it."""

import inspect
from typing import Any

import numpy as np
import pytest
from scipy.linalg import solve_discrete_lyapunov

from lexicone import LinearQuadratic

COSTS = [np.diag([1.0, 0.0]), np.diag([0.0, 1.0])]


def scalar(**changes: Any) -> LinearQuadratic:
    arguments = {"A": [[1.0]], "B": [[1.0]], "noise": [[1.0]], "costs": COSTS, "gamma": 0.9}
    return LinearQuadratic(**{**arguments, **changes})


def test_by_hand():
    """u = −x/2 from x₀=2: x_t = 2^{1−t}, so x² sums to 4/(1−γ/4) and u² to a quarter of that."""
    model = scalar(noise=[[0.0]], initial=[[4.0]])
    expected = 4 / (1 - 0.9 / 4)
    np.testing.assert_allclose(model.evaluate([[-0.5]]), [-expected, -expected / 4])
    assert (model.num_states, model.num_inputs, model.num_objectives) == (1, 1, 2)


def test_moments_solve_their_equation():
    rng = np.random.default_rng(0)
    a, b = 0.5 * rng.normal(size=(4, 4)), rng.normal(size=(4, 2))
    shocks, first, noise = (m @ m.T for m in (rng.normal(size=(k, k)) for k in (4, 4, 2)))
    model = LinearQuadratic(a, b, shocks, costs=[np.eye(6)], gamma=0.95, initial=first)
    gain = 0.1 * rng.normal(size=(2, 4))
    s = model.moments(gain, noise)
    transition = np.hstack([a, b])
    right = 0.05 * first + 0.95 * (transition @ s @ transition.T + shocks)
    np.testing.assert_allclose(s[:4, :4], right, rtol=1e-11)
    closed = np.sqrt(0.95) * (a + b @ gain)
    arrives = 0.05 * first + 0.95 * (shocks + b @ noise @ b.T)
    np.testing.assert_allclose(s[:4, :4], solve_discrete_lyapunov(closed, arrives), rtol=1e-9)


def test_a_state_that_explodes_is_worth_nothing():
    model = scalar(A=[[1.1]])
    np.testing.assert_array_equal(model.evaluate([[0.0]]), [-np.inf, -np.inf])
    assert np.isfinite(model.evaluate([[-0.5]])).all()


def test_episodes_agree():
    rng = np.random.default_rng(1)
    a = rng.normal(size=(3, 3))
    a *= 0.9 / np.abs(np.linalg.eigvals(a)).max()
    model = LinearQuadratic(
        a,
        rng.normal(size=(3, 1)),
        0.1 * np.eye(3),
        costs=[np.eye(4), np.diag([1.0, 0, 0, 0])],
        gamma=0.95,
        initial=np.eye(3),
    )
    gain, noise = np.array([[0.1, -0.1, 0.05]]), [[0.3]]
    returns = model.simulate(gain, noise, episodes=10_000, seed=3)
    error = returns.std(axis=0) / 100
    assert np.all(np.abs(returns.mean(axis=0) - model.evaluate(gain, noise)) < 3 * error)
    assert np.all(np.abs(returns.mean(axis=0) - model.evaluate(gain)) > 3 * error)  # noise counts
    again = model.simulate(gain, noise, episodes=50, seed=3)
    np.testing.assert_array_equal(again, model.simulate(gain, noise, episodes=50, seed=3))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"A": [[1.0, 2.0]]}, "A: expected a square matrix"),
        ({"A": "x"}, "A: expected numbers in a regular array"),
        ({"A": [[np.nan]]}, "A: contains NaN"),
        ({"B": [[1.0], [2.0]]}, "B: expected 1 rows"),
        ({"B": [1.0]}, "B: expected a matrix, got shape"),
        ({"noise": [[-1.0]]}, "noise: must be positive semidefinite"),
        ({"noise": np.eye(2)}, "noise: expected shape"),
        ({"initial": [[-1.0]]}, "initial: must be positive semidefinite"),
        ({"costs": []}, "costs: expected at least one"),
        ({"costs": 3}, "costs: expected a list"),
        ({"costs": [np.eye(3)]}, r"costs\[0\]: expected shape"),
        ({"costs": [np.eye(2), [[1.0, 2.0], [0.0, 1.0]]]}, r"costs\[1\]: must be symmetric"),
        ({"costs": [-np.eye(2)]}, r"costs\[0\]: must be positive semidefinite"),
        ({"gamma": 1.0}, "gamma: must be above 0 and below 1"),
        ({"gamma": 0.0}, "gamma: must be above 0 and below 1"),
        ({"objective_names": ["one"]}, "objective_names: 2 costs take 2 names"),
    ],
)
def test_mistakes_are_named(changes: dict[str, Any], message: str):
    arguments = {"A": [[1.0]], "B": [[1.0]], "noise": [[1.0]], "costs": COSTS, "gamma": 0.9}
    with pytest.raises(ValueError, match=message):
        inspect.unwrap(LinearQuadratic)(**{**arguments, **changes})


def test_policies_that_do_not_fit_are_refused():
    model = scalar()
    with pytest.raises(ValueError, match="gain: expected shape"):
        model.evaluate([[1.0, 2.0]])
    with pytest.raises(ValueError, match="noise: must be positive"):
        model.evaluate([[0.0]], [[-1.0]])
    with pytest.raises(ValueError, match="episodes: must be a whole number"):
        model.simulate([[0.0]], episodes=0)
