"""What docs/directions.md derives of the flow: how far below a threshold curvature and noise can bring an objective."""

import math
from typing import Any

import numpy as np
import pytest

from lexicone import find_direction


def flow_step(gradients: Any, values: Any, threshold: float, **options: Any) -> Any:
    """d in unit gradients, for many points at once: ``[…,K,n], […,K] → […,n]``."""
    products = gradients @ np.swapaxes(gradients, -1, -2)
    found = find_direction(products, values, [threshold], method="flow", **options)
    norms = np.linalg.norm(gradients, axis=-1)
    length = np.take_along_axis(norms, found.objective[..., None], axis=-1)
    return np.einsum("...k,...kn->...n", found.weights, gradients) / length


@pytest.mark.parametrize("margin", [0.0, 0.2])
@pytest.mark.parametrize("a", [0.1, 1.0])
def test_noise_moves_an_objective_as_far_as_derived(a, margin):
    """F₁ = x ≥ 0 while F₂ = −x pulls it down; returns have deviation 1, and 25 of them are seen each time."""
    rng = np.random.default_rng(0)
    chains, episodes, sigma = 4000, 25, 1.0
    x = np.full(chains, margin)
    gradients = np.broadcast_to(np.array([[1.0], [-1.0]]), (chains, 2, 1))
    for _ in range(int(8 / a)):
        seen = x + rng.normal(scale=sigma / math.sqrt(episodes), size=chains)
        values = np.stack([seen, -seen], axis=1)
        x = x + a * sigma * flow_step(gradients, values, 0.0, spread=sigma, margin=margin)[:, 0]
    deviation = sigma / math.sqrt(episodes) * math.sqrt(a / (2 - a))
    assert abs(x.mean() - margin * sigma) < 5 * deviation / math.sqrt(chains)
    np.testing.assert_allclose(x.std(), deviation, rtol=0.06)
    away = margin * math.sqrt(episodes * (2 - a) / a)
    below = np.mean(x < 0)
    expected = 0.5 * math.erfc(away / math.sqrt(2))
    assert abs(below - expected) < 0.03


def test_curvature_brings_an_objective_no_lower_than_derived():
    """F₁ = −|x|² ≥ −1, with F₂ along the tangent: steps of α leave the circle, and the flow brings them back."""
    x, alpha, curvature, lowest, bound = np.array([1.0, 0.0]), 0.05, 2.0, 0.0, math.inf
    for step in range(400):
        gradients = np.stack([-2 * x, np.array([-x[1], x[0]])])
        shortfall = 1 - x @ x
        d = flow_step(gradients, np.array([-x @ x, 0.0]), -1.0, spread=0.5)
        if step >= 200:
            lowest = min(lowest, shortfall)
            norm = np.linalg.norm(gradients[0])
            bound = min(bound, -0.5 * curvature * alpha * (d @ d) / (2 * norm))
        x = x + alpha * d
    assert lowest < -1e-3  # it does fall below
    assert lowest >= 1.05 * bound


def test_a_threshold_that_costs_more_than_its_price_is_met_in_part():
    """The second is almost opposite to the first: a rate for it needs a multiplier of some thirty."""
    gradients = np.array([[1.0, 0.0], [-0.97, 0.2431], [0.0, -1.0]])
    values = np.array([0.0, -0.5, 0.0])
    reached = {}
    for price in (2.0, 10.0, math.inf):
        found = find_direction(
            gradients @ gradients.T, values, [0.0, 0.0], method="flow", prices=price
        )
        norms = np.linalg.norm(gradients, axis=1)
        d = found.weights @ gradients / norms[found.objective]
        assert gradients[0] @ d >= -1e-9
        assert np.linalg.norm(d) <= 1 + 2 * price
        reached[price] = gradients[1] @ d / norms[1]
    assert reached[2.0] < reached[10.0] < reached[math.inf] - 0.01
    assert reached[math.inf] == pytest.approx(0.5)
