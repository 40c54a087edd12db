"""Worlds that end episodes by chance, and say with which: lengths are expected, not waited for."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lexicone as lx
from lexicone.learning._segments import Segment, follow, no_standing, start_lanes, take_stock
from lexicone.learning._worlds_jax import begin_places, open_jax_world, run_segment
from lexicone.tasks import WORLDS, world as world_of

SURVIVAL = 0.9


def step(key: Any, state: Any, action: Any, *, survival: Any = SURVIVAL) -> tuple[Any, ...]:
    """Each step pays 1 and −2, and ends the episode with a chance of 0.1."""
    over = ~jax.random.bernoulli(key, SURVIVAL)
    info = {} if survival is None else {"survival": survival}
    return state, state, jnp.array([1.0, -2.0]), over, jnp.asarray(False), info


def segment_of(pair: Any, length: int = 100, cap: int = 1000) -> Segment:
    world = open_jax_world(pair, lx.Order([0.0]), actions=2)
    places = begin_places(world, jax.random.key(0), 50)

    def act(rows: Any, key: Any) -> Any:
        return jnp.zeros((rows.shape[0], 1), jnp.int32)

    return run_segment(world, act, places, jax.random.key(1), length, cap)[1]


def reset(key: Any) -> tuple[Any, Any]:
    return jnp.zeros(1), jnp.zeros(1)


def silent(key: Any, state: Any, action: Any) -> tuple[Any, ...]:
    return step(key, state, action, survival=None)


def standing(segment: Segment, times: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Mean returns and their deviations, the segment seen ``times`` times."""
    thresholds, found = jnp.zeros(1), no_standing(2, segment.reward.dtype)
    for _ in range(times):
        _, summary = follow(start_lanes(50, 2, segment.reward.dtype), segment, 1.0)
        found = take_stock(found, segment, summary, thresholds, 1e6)
    return np.asarray(found.returns.mean), np.sqrt(np.asarray(found.returns.square))


def test_lengths_are_no_noise_where_the_chance_is_known():
    """Returns deviate as much as they are large; what is left of that is the error of the first look."""
    mean, deviation = standing(segment_of((reset, step)), times=20)
    np.testing.assert_allclose(mean, [10.0, -20.0], rtol=0.05)
    assert deviation[0] < 3.0
    mean, deviation = standing(segment_of((reset, silent)), times=20)
    np.testing.assert_allclose(mean, [10.0, -20.0], rtol=0.15)
    assert deviation[0] > 7.0


def test_episodes_that_are_cut_off_or_end_surely_are_counted_as_they_are():
    """A cut after 5 steps counts as sure: ``Σ (1 − s_t)`` is 1 on average again, and the mean is Σ_{t<5} 0.9ᵗ."""
    segment = segment_of((reset, step), length=1000, cap=5)
    _, summary = follow(start_lanes(50, 2, segment.reward.dtype), segment, 1.0)
    ended = np.asarray(segment.ended)
    np.testing.assert_allclose(np.asarray(summary.due)[ended].mean(), 1.0, atol=0.01)
    mean, _ = standing(segment)
    np.testing.assert_allclose(mean[0], sum(SURVIVAL**t for t in range(5)), rtol=0.01)
    surely = segment_of((reset, silent))
    _, summary = follow(start_lanes(50, 2, surely.reward.dtype), surely, 1.0)
    np.testing.assert_array_equal(np.asarray(summary.due)[np.asarray(surely.ended)], 1.0)


def test_what_goes_on_is_what_the_world_says():
    segment = segment_of((reset, step))
    np.testing.assert_allclose(segment.going_on, SURVIVAL)
    silenced = segment_of((reset, silent))
    np.testing.assert_array_equal(silenced.going_on, 1.0 - np.asarray(silenced.terminated))


def test_worlds_with_a_known_optimum_say_it():
    for name in WORLDS:
        world = world_of(name)
        first, other = jax.random.split(jax.random.key(2))
        _, state = world.reset(first)
        action = jnp.zeros(len(world.actions[0]))
        info = world.step(other, state, action)[5]
        np.testing.assert_allclose(info["survival"], world.gamma)


def test_a_survival_of_several_numbers_is_refused():
    def many(key: Any, state: Any, action: Any) -> tuple[Any, ...]:
        return step(key, state, action, survival=jnp.ones(3))

    with pytest.raises(
        ValueError, match=r"^task: .* survival of shape \(3,\), expected one number"
    ):
        segment_of((reset, many))
