"""Weights of objectives on segments, by hand."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from lexicone.learning._distributions import beyond
from lexicone.learning._spaces import read_actions
from lexicone.learning.algos._ppo import PPO
from lexicone.learning.algos._segment_rules import Verdict, weigh

PRODUCTS = jnp.array([[1.0, -0.5], [-0.5, 1.0]])  # unit gradients, 120° apart
LEARNER = PPO(rule="flow", margin=0.2, buffer=0.0)


def weights(value: float, error: float = 0.0, learner: PPO = LEARNER) -> np.ndarray:
    """Of two objectives, the first with threshold 0 and deviation 1; the last one's is 1."""
    verdict = Verdict(
        jnp.array([value, 0.0]),
        jnp.zeros(1),
        jnp.ones(2),
        jnp.array([error, error]),
        jnp.array(True),
        jnp.zeros(1),
    )
    found = np.asarray(weigh(learner, PRODUCTS, verdict, jnp.zeros(1)).weights)
    return found / found[1] if found[1] else found


def test_what_is_to_spare_is_spent_at_less_than_the_pace():
    """ĝ₁·d = −½ + λ ≥ c: with 0.5 to spare c = −0.15 asks for λ = 0.35; at the full pace nothing would be asked."""
    np.testing.assert_allclose(weights(0.7), [0.35, 1.0], atol=1e-6)
    np.testing.assert_allclose(weights(0.2), [0.5, 1.0], atol=1e-6)  # just enough: c = 0
    np.testing.assert_allclose(weights(3.0), [0.0, 1.0], atol=1e-6)  # −½ is within c = −0.84


def test_a_threshold_is_raised_by_the_margin_and_by_standard_errors():
    careful = dataclasses.replace(LEARNER, buffer=2.0)
    np.testing.assert_allclose(weights(0.7, 0.25, careful), weights(0.2), atol=1e-6)
    np.testing.assert_allclose(weights(0.7, 0.25), [0.35, 1.0], atol=1e-6)
    np.testing.assert_array_equal(
        weights(-0.05), [1.0, 0.0]
    )  # a quarter is missing: nothing else is heard


@pytest.mark.parametrize(
    ("bounds", "mean", "expected"),
    [
        (([0.0, 0.0], [5.0, 5.0]), [1.5, -3.0], 0.25 + 4.0),  # a policy's numbers are from −1 to 1
        (([-np.inf, 2.0], [3.0, np.inf]), [4.0, 1.0], 2.0),
        (([-np.inf], [np.inf]), [100.0], 0.0),
    ],
)
def test_how_far_means_are_out_of_bounds(bounds, mean, expected):
    np.testing.assert_allclose(beyond(read_actions(bounds), jnp.array([mean])), [expected])
    np.testing.assert_array_equal(beyond(read_actions(3), jnp.ones((2, 3))), [0.0, 0.0])
