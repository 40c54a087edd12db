import math
from functools import cache, partial
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lexicone.directions._find_direction import Reason, find_direction
from lexicone.learning.algos._gradient_rules import (
    direction_by_rule,
    start_multipliers,
    update_multipliers,
)

ROWS = np.array([[2.0, 0.0, 0.0], [-1.0, 1.0, 0.0], [0.5, -1.0, 2.0]])
GRAM = ROWS @ ROWS.T


def settings(rule, **changes):
    given = {
        "rule": rule,
        "delta": math.radians(20),
        "active_constraints": True,
        "buffer": 1.0,
        "method": "exact",
        "on_none": "skip",
        "weights": (),
        "penalty": 10.0,
    }
    return SimpleNamespace(**{**given, **changes})


compiled = cache(lambda *items: jax.jit(partial(direction_by_rule, SimpleNamespace(**dict(items)))))


def decide(learner, gram, values, limits, error=0.1, multipliers=None):
    count = len(values)
    multipliers = np.zeros(count - 1) if multipliers is None else np.array(multipliers, float)
    return compiled(*vars(learner).items())(
        jnp.asarray(gram),
        jnp.asarray(values, float),
        jnp.asarray(limits, float),
        jnp.full(count, error),
        jnp.asarray(multipliers),
    )


def test_linear_is_a_fixed_sum():
    fixed = settings("linear", weights=(3.0, 0.5, 1.0))
    for values in ([0, 0, 0], [9, 9, 9]):
        assert decide(fixed, GRAM, values, [1, 1]).weights.tolist() == [3, 0.5, 1]
    assert decide(settings("linear"), GRAM, [0, 0, 0], [1, 1]).weights.tolist() == [1, 1, 1]


def test_penalty_charges_what_is_below():
    learner = settings("penalty", penalty=7.0)
    assert decide(learner, GRAM, [0, 0, 0], [1, 1]).weights.tolist() == [7, 7, 1]
    assert decide(learner, GRAM, [2, 0, 0], [1, 1]).weights.tolist() == [0, 7, 1]
    assert decide(learner, GRAM, [2, 1, 0], [1, 1]).weights.tolist() == [0, 0, 1]
    assert decide(learner, GRAM, [2, 0, 0], [1, 1]).objective == 1


def test_lagrangian_weighs_by_hand():
    """Scales 1, ½, ¼. Objective 1 is missed: its own 1, and λ₁=2 for those after it, ½+¼; λ₂=3 for the last, ¼."""
    learner = settings("lagrangian")
    found = decide(learner, GRAM, [0, 2, 0], [1, 1], multipliers=[2, 3])
    np.testing.assert_allclose(found.weights, [1 + 2 * 0.75, 3 * 0.25, 0.25])
    met = decide(learner, GRAM, [2, 2, 0], [1, 1], multipliers=[0, 0])
    np.testing.assert_allclose(met.weights, [0, 0, 0.25])
    missed = decide(learner, GRAM, [0, 0, 0], [1, 1])
    np.testing.assert_allclose(missed.weights, [1, 0.5, 0.25])


def test_multipliers_rise_and_fall():
    limits = jnp.array([1.0, -2.0])
    low, high = jnp.array([0.0, -5.0, 0.0]), jnp.array([3.0, -1.0, 0.0])
    duals = start_multipliers(3, jnp.float64)
    assert duals.tolist() == [0, 0]
    duals = update_multipliers(duals, low, limits, 0.5)
    np.testing.assert_allclose(duals, [0.5, 1.5])
    duals = update_multipliers(duals, low, limits, 0.5)
    np.testing.assert_allclose(duals, [1.0, 3.0])
    duals = update_multipliers(duals, high, limits, 0.5)
    np.testing.assert_allclose(duals, [0.0, 2.5])  # and never below 0
    np.testing.assert_allclose(update_multipliers(duals, high, limits, 0.0), duals)
    for _ in range(300):
        duals = update_multipliers(duals, low, limits, 0.5)
    assert duals.tolist() == [100, 100]
    free = update_multipliers(duals, low, jnp.array([-jnp.inf, jnp.inf]), 0.5)
    assert free.tolist() == [100, 100]  # what is never or always missed has no price


def test_halfspace_is_the_cone_of_delta_zero():
    rng = np.random.default_rng(0)
    rule = jax.jit(partial(direction_by_rule, settings("half_space", buffer=0.3)))
    turned = 0
    for _ in range(40):
        rows = rng.normal(size=(3, 5))
        gram, values, limits = rows @ rows.T, rng.normal(size=3), rng.normal(size=2)
        found = rule(gram, values, limits, np.ones(3), np.zeros(2))
        exact = find_direction(
            gram, values, limits, delta=0.0, active_constraints=True, buffer=0.3, method="exact"
        )
        np.testing.assert_allclose(found.weights, exact.weights, atol=1e-9)
        assert (bool(found.found), int(found.objective)) == (exact.found, exact.objective)
        wide = find_direction(
            gram, values, limits, delta=0.35, active_constraints=True, buffer=0.3, method="exact"
        )
        turned += not np.allclose(found.weights, wide.weights)
    assert turned > 2  # a wider cone makes a difference


def test_halfspace_by_hand():
    """The first threshold is met and binds: what opposes its gradient is taken out, −g₁·g₂/g₁·g₁ of it."""
    two = GRAM[:2, :2]
    bound = decide(settings("half_space"), two, [1.05, 0], [1])
    np.testing.assert_allclose(bound.weights, [0.5, 1], atol=1e-9)
    assert (ROWS[:2].T @ bound.weights)[0] == pytest.approx(0)
    roomy = decide(settings("half_space"), two, [1.15, 0], [1])  # more than one standard error
    np.testing.assert_allclose(roomy.weights, [0, 1], atol=1e-9)
    kept = decide(settings("half_space", active_constraints=False), two, [1.15, 0], [1])
    np.testing.assert_allclose(kept.weights, [0.5, 1], atol=1e-9)


def at_angle(degrees):
    turn = math.cos(math.radians(degrees))
    return np.array([[1.0, turn], [turn, 1.0]])


def test_cone_tries_a_smaller_angle():
    """A direction for both exists as long as their angle is at most 180°−2Δ: 140° for Δ=20°, 175° for an eighth."""
    learner = settings("cone")
    for degrees, there in ((130, True), (165, True), (178, False)):
        found = decide(learner, at_angle(degrees), [1.0, 0], [1])
        assert bool(found.found) == there
        own = find_direction(
            at_angle(degrees), np.array([1.0, 0]), [1.0], delta=learner.delta, method="exact"
        )
        assert bool(own.found) == (degrees == 130)


@pytest.mark.parametrize("rule", ["cone", "half_space", "lagrangian", "linear", "penalty"])
def test_no_gradient_is_no_direction(rule):
    still = decide(settings(rule), np.zeros((2, 2)), [0, 0], [1])
    assert not bool(still.found)
    assert still.reason == Reason.ZERO_GRADIENT
    moving = decide(settings(rule), np.eye(2), [0, 0], [1])
    assert bool(moving.found)
    assert moving.objective == 0


@pytest.mark.parametrize("on_none", ["skip", "gradient", "first"])
def test_a_smaller_delta_comes_before_what_to_do_without_a_direction(on_none):
    """Gradients at 150°: Δ=20° reaches to 140°, and Δ/8 to 175°. At 178° neither does."""

    def at(degrees):
        cosine = math.cos(math.radians(degrees))
        gram = np.array([[1.0, cosine], [cosine, 1.0]])
        return decide(settings("cone", on_none=on_none), gram, [0.0, 0.0], [0.0])

    gram = np.array([[1.0, math.cos(math.radians(150))], [math.cos(math.radians(150)), 1.0]])
    finer = find_direction(
        gram, [0.0, 0.0], [0.0], delta=math.radians(2.5), active_constraints=True, method="exact"
    )
    assert at(150).found
    np.testing.assert_allclose(at(150).weights, finer.weights, atol=1e-9)
    instead = {"skip": [0, 0], "gradient": [0, 1], "first": [1, 0]}[on_none]
    assert at(178).found == (on_none != "skip")
    np.testing.assert_allclose(at(178).weights, instead, atol=1e-9)
