import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st

from lexicone.learning._returns import (
    advantages,
    allow_rounding,
    discounted_sums,
    make_goal,
    normalized,
)

sums = jax.jit(discounted_sums)
aims = jax.jit(make_goal, static_argnames="criterion")


def by_recursion(terms, factor):
    total, sums = np.zeros_like(terms[0]), []
    for x in terms[::-1]:
        total = x + factor * total
        sums.append(total)
    return np.stack(sums[::-1])


@pytest.mark.parametrize("length", [1, 2, 3, 7, 8, 9, 40])
def test_discounted_sums_follow_the_recursion(length):
    terms = np.random.default_rng(length).normal(size=(length, 3, 2))
    for factor in (0.0, 0.3, 0.99, 1.0):
        found = np.asarray(sums(jnp.asarray(terms), factor))
        np.testing.assert_allclose(found, by_recursion(terms, factor), atol=1e-12)


def test_the_factor_matters():
    terms = jnp.ones((4, 1, 1))
    assert discounted_sums(terms, 0.5)[0, 0, 0] == 1.875
    assert discounted_sums(terms, 1.0)[0, 0, 0] == 4


def short_episodes():
    """Two episodes of 2 and 3 steps with two objectives, padded to 4."""
    alive = jnp.array([[1, 1], [1, 1], [0, 1], [0, 0]], bool)
    reward = jnp.where(alive[..., None], jnp.arange(16.0).reshape(4, 2, 2), 0.0)
    value = jnp.where(alive[..., None], 0.1 * jnp.arange(16.0).reshape(4, 2, 2) ** 2, 7.0)
    return reward, value, alive


def test_full_decay_is_the_return_less_the_baseline():
    reward, value, alive = short_episodes()
    found = advantages(reward, value, jnp.zeros((2, 2)), alive, 0.9, 1.0)
    expected = np.where(alive[..., None], by_recursion(np.asarray(reward), 0.9) - value, 0.0)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_no_decay_is_one_step_of_the_error():
    reward, value, alive = short_episodes()
    found = advantages(reward, value, jnp.zeros((2, 2)), alive, 0.9, 0.0)
    assert found[0, 1, 0] == pytest.approx(2 + 0.9 * float(value[1, 1, 0]) - float(value[0, 1, 0]))
    assert found[1, 0, 0] == pytest.approx(4 - float(value[1, 0, 0]))  # its last step


def test_a_truncated_episode_is_worth_more_than_a_terminated_one():
    reward, value, alive = short_episodes()
    last = jnp.array([[10.0, 20.0], [0.0, 0.0]])  # the first was cut off
    cut = advantages(reward, value, last, alive, 0.5, 1.0)
    ended = advantages(reward, value, 0 * last, alive, 0.5, 1.0)
    np.testing.assert_allclose((cut - ended)[:, 0, 0], [2.5, 5.0, 0.0, 0.0])
    np.testing.assert_allclose((cut - ended)[:, 0, 1], [5.0, 10.0, 0.0, 0.0])
    assert not np.any((cut - ended)[:, 1])


def test_normalized_has_mean_0_and_deviation_1_over_steps_taken():
    reward, _, alive = short_episodes()
    found = np.asarray(normalized(reward, alive))
    taken = found[np.asarray(alive)]
    np.testing.assert_allclose(taken.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(taken.std(axis=0), 1)
    assert not found[~np.asarray(alive)].any()
    centred = np.asarray(normalized(reward, alive, scale=False))[np.asarray(alive)]
    np.testing.assert_allclose(centred.mean(axis=0), 0, atol=1e-12)
    assert centred.std() > 1.5


def test_constant_credit_normalizes_to_nothing():
    alive = jnp.ones((3, 2), bool)
    assert not np.any(normalized(jnp.full((3, 2, 2), 0.1), alive))


def test_expected_thresholds_leave_rewards_alone():
    reward, _, _ = short_episodes()
    aim = make_goal(reward, jnp.array([5.0]))
    np.testing.assert_array_equal(aim.reward, reward)
    np.testing.assert_array_equal(aim.values, reward.sum(axis=0).mean(axis=0))
    np.testing.assert_allclose(aim.limits, [5.0], rtol=1e-5)


@pytest.mark.parametrize("criterion", ["expected", "episode"])
def test_rounding_does_not_miss_a_threshold(criterion):
    reward = jnp.full((3, 1, 2), -0.1)
    aim = make_goal(reward, jnp.array([-0.3]), criterion, 1.0)
    assert reward.sum(axis=0)[0, 0] < -0.3
    assert aim.values[0] >= aim.limits[0]
    higher = make_goal(reward, jnp.array([-0.29]), criterion, 1.0)
    assert higher.values[0] < higher.limits[0]


def test_a_tolerance_leaves_infinity_alone():
    ends = jnp.array([-math.inf, math.inf])
    np.testing.assert_array_equal(allow_rounding(ends), ends)


@given(st.integers(0, 2**32 - 1), st.sampled_from([-3.0, -0.5, 0.0, 1.0, 4.0]))
def test_episode_thresholds_pay_the_clipped_return(seed, threshold):
    reward = np.random.default_rng(seed).integers(-3, 4, size=(6, 5, 2)).astype(float)
    aim = aims(jnp.asarray(reward), jnp.array([threshold]), "episode", 0.8)
    total = reward.sum(axis=0)
    np.testing.assert_allclose(
        aim.reward.sum(axis=0)[:, 0], np.minimum(total[:, 0], threshold) - min(0.0, threshold)
    )
    np.testing.assert_array_equal(aim.reward[..., 1], reward[..., 1])
    assert aim.values[0] == pytest.approx(np.mean(total[:, 0] >= threshold))
    assert aim.values[1] == pytest.approx(total[:, 1].mean())
    assert float(aim.limits[0]) == 0.8


def test_episode_thresholds_may_be_infinite():
    reward, _, _ = short_episodes()
    never = make_goal(reward, jnp.array([math.inf]), "episode")
    np.testing.assert_allclose(never.reward, reward)
    assert never.values[0] == 0
    always = make_goal(reward, jnp.array([-math.inf]), "episode")
    assert not np.any(always.reward[..., 0])
    assert always.values[0] == 1
