"""Δ-Pareto-stationary points."""

import math

import numpy as np
import pytest
from hypothesis import assume, given

from lexicone import ascent_bound, is_stationary
from tests.helpers.cones import Rows, unit
from tests.helpers.strategies import DELTAS, gradient_matrices


@given(gradient_matrices(max_size=6), DELTAS)
def test_means_that_no_direction_suits_all(rows: Rows, delta: float):
    """No random direction, and none of the gradients' sums, lies in the cones of a stationary point."""
    assume(delta > 0)
    rows = unit(rows)
    if not is_stationary(rows @ rows.T, delta):
        assert rows.any(axis=-1).all()
        return
    if rows.any(axis=-1).all():
        rng = np.random.default_rng(0)
        tries = np.vstack(
            [
                rng.normal(size=(200, rows.shape[1])),
                rng.dirichlet(np.ones(len(rows)), 200) @ rows,
            ]
        )
        assert not np.any(np.all(rows @ unit(tries).T >= math.sin(delta) + 1e-6, axis=0))


def test_opposite_gradients():
    gram = np.array([[[1.0, -1.0], [-1.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]])
    assert is_stationary(gram, 0.1).tolist() == [True, False]
    assert bool(is_stationary([[0.0]], 0.1))


def test_ascent_bound():
    """F_j = −½μ‖x−c_j‖²: at a Δ-stationary point no longer step is an ascent for both."""
    mu, delta = 2.0, math.radians(10)
    centres = np.array([[1.0, 0.02], [-1.0, 0.0]])
    rows = mu * centres  # gradients at the origin
    assert bool(is_stationary(rows @ rows.T, delta))
    bound = float(ascent_bound(rows @ rows.T, delta, mu))
    assert bound == pytest.approx(2 * math.sin(delta) / mu * np.linalg.norm(rows, axis=1).max())
    steps = np.random.default_rng(0).normal(size=(2000, 2))
    steps *= np.random.default_rng(1).uniform(bound, 3 * bound, size=(2000, 1)) / np.linalg.norm(
        steps, axis=1, keepdims=True
    )
    values = -0.5 * mu * np.sum((steps[:, None] - centres) ** 2, axis=-1)
    start = -0.5 * mu * np.sum(centres**2, axis=-1)
    assert not np.any(np.all(values >= start, axis=1))
    with pytest.raises(ValueError, match="strong_concavity: must be positive"):
        ascent_bound(rows @ rows.T, delta, 0.0)
    for bad in ([[math.nan]], np.ones((2, 3)), [1.0]):
        with pytest.raises(ValueError, match="gram: "):
            ascent_bound(bad, delta, mu)
        with pytest.raises(ValueError, match="gram: "):
            is_stationary(bad, delta)
