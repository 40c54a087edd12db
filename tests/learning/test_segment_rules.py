"""Weights of objectives on segments, by hand."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from lexicone.learning._distributions import beyond
from lexicone.learning._spaces import read_actions
from lexicone.learning.algos._ppo import PPO
from lexicone.learning.algos._segment_rules import Verdict, raise_missed, weigh

PRODUCTS = jnp.array([[1.0, -0.5], [-0.5, 1.0]])  # unit gradients, 120° apart
LEARNER = PPO(rule="flow", margin=0.2, buffer=0.0)


def verdict_of(
    value: float, error: float = 0.0, margin: float = 0.2, known: bool = True
) -> Verdict:
    """Of two objectives, the first with threshold 0 and deviation 1."""
    return Verdict(
        jnp.array([value, 0.0]),
        jnp.zeros(1),
        jnp.ones(2),
        jnp.array([error, error]),
        jnp.array(known),
        jnp.zeros(1),
        jnp.array([margin]),
    )


def weights(
    value: float,
    error: float = 0.0,
    learner: PPO = LEARNER,
    *,
    raised: float = 0.0,
    **verdict: Any,
) -> np.ndarray:
    """Of two objectives; the last one's is 1."""
    judged = verdict_of(value, error, **verdict)
    found = weigh(learner, PRODUCTS, judged, jnp.zeros(1), jnp.array([raised]))
    found = np.asarray(found.weights)
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
    np.testing.assert_allclose(weights(0.7, raised=0.5), weights(0.2), atol=1e-6)


def test_the_more_is_missing_the_harder_a_threshold_pulls_but_the_last_objective_is_always_heard():
    """c = 8x + 128x² of what is missing, up to 8, and λ = c + ½."""
    np.testing.assert_allclose(weights(0.0, margin=0.0), [0.5, 1.0], atol=1e-6)
    np.testing.assert_allclose(weights(-0.05, margin=0.0), [0.4 + 0.32 + 0.5, 1.0], atol=1e-5)
    np.testing.assert_allclose(weights(-9.0, margin=0.0), [8.5, 1.0], atol=1e-5)
    np.testing.assert_allclose(weights(9.0, margin=0.0, known=False), [8.5, 1.0], atol=1e-5)


def test_what_stays_missing_raises_its_threshold_until_it_is_met():
    raised = jnp.zeros(1)
    for _ in range(10):
        raised = raise_missed(LEARNER, raised, verdict_of(-0.1))
    np.testing.assert_allclose(raised, [10 * LEARNER.correction * 0.1], rtol=1e-5)
    same = raise_missed(LEARNER, raised, verdict_of(-7.0))  # who is far away is on the way
    np.testing.assert_allclose(same, raised)
    raised = raise_missed(
        LEARNER, raised, verdict_of(7.0)
    )  # three times as fast, half a deviation at most
    np.testing.assert_allclose(raised, [0.0], atol=1e-7)
    for _ in range(100):
        raised = raise_missed(LEARNER, raised, verdict_of(-0.4))
    np.testing.assert_allclose(raised, [0.5])
    np.testing.assert_allclose(raise_missed(LEARNER, raised, verdict_of(7.0, known=False)), [0.5])


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
