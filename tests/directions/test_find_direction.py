"""FindDirection: which objective, with which constraints, in every array library."""

import inspect
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

from lexicone import Reason, find_direction
from lexicone.directions._find_direction import DirectionMethod
from tests.helpers.cones import Rows, improve_last, unit
from tests.helpers.strategies import DELTAS, gradient_matrices

find_compiled = jax.jit(find_direction, static_argnames=("active_constraints", "method"))

pytestmark = pytest.mark.usefixtures("compile_quickly")


@pytest.mark.float32
def test_which_objective():
    gram = np.eye(3)
    thresholds = [0.0, 0.0]
    for values, objective in (([-1, -1, 0], 0), ([0, -1, 0], 1), ([1, 1, 0], 2)):
        direction = find_direction(gram, values, thresholds, method="exact")
        assert direction.objective == objective
        assert direction.found
        assert direction.reason == Reason.FOUND
    assert find_direction(gram, [0, 0, 0], [math.inf, 0]).objective == 0
    assert find_direction(gram, [-9, 0, 0], [-math.inf, 0]).objective == 2


def test_the_first_objective_is_followed_as_it_is():
    rows = np.random.default_rng(0).normal(size=(3, 4))
    for method in ("sequential", "exact", "halfspace"):
        direction = find_direction(rows @ rows.T, [-1, 0, 0], [0, 0], method=method)
        np.testing.assert_allclose(direction.weights, [1.0, 0.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("method", ["sequential", "exact"])
def test_active_constraints_ignore_objectives_with_room(method: DirectionMethod):
    gram = np.array([[1.0, -0.9], [-0.9, 1.0]])
    options = {"delta": 0.1, "active_constraints": True, "method": method}
    free = find_direction(gram, [0.3, 0.0], [0.0], buffer=0.2, **options)
    tight = find_direction(gram, [0.1, 0.0], [0.0], buffer=0.2, **options)
    np.testing.assert_allclose(free.weights, [0.0, 1.0])
    assert tight.weights[0] > 0.5


def test_per_objective_deltas():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3, 5))
    delta = np.array([0.05, 0.3, 0.0])
    direction = improve_last(rows, delta)
    assert direction.found
    u = unit(direction.weights @ rows)
    assert np.all(unit(rows) @ u >= np.sin(delta) - 1e-12)
    assert not np.all(
        unit(rows) @ unit(improve_last(rows, 0.05).weights @ rows) >= np.sin(delta) - 1e-12
    )


@pytest.mark.parametrize("method", ["sequential", "exact", "halfspace"])
def test_zero_gradients(method: DirectionMethod):
    rows = np.array([[0.0, 0.0], [-1.0, 0.5]])
    found = improve_last(rows, 0.1, method=method)
    np.testing.assert_allclose(found.weights, [0.0, 1.0])
    lost = improve_last(rows[::-1], 0.1, method=method)
    assert not lost.found
    assert lost.reason == Reason.ZERO_GRADIENT


@pytest.mark.float32
def test_reasons():
    opposite = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert improve_last(opposite, 0.1).reason == Reason.STATIONARY
    assert improve_last(opposite, 0.1, method="sequential").reason == Reason.MISSED
    nan = jax.jit(find_direction)(jnp.full((2, 2), jnp.nan), jnp.zeros(2), jnp.zeros(1))
    assert nan.reason == Reason.NOT_FINITE
    assert not nan.found
    assert not nan.weights.any()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["sequential", "exact", "halfspace"])
@given(rows=gradient_matrices(max_size=20), delta=DELTAS, seed=st.integers(0, 99))
def test_libraries_agree(method: DirectionMethod, rows: Rows, delta: float, seed: int):
    rows = unit(rows)
    size = len(rows)
    values = np.random.default_rng(seed).normal(size=size)
    gram, thresholds = rows @ rows.T, np.zeros(size - 1)
    options = {"delta": delta, "active_constraints": True, "buffer": 0.1, "method": method}
    expected = find_direction(gram, values, thresholds, **options)
    as_torch = find_direction(
        torch.asarray(gram), torch.asarray(values), torch.asarray(thresholds), **options
    )
    as_jax = find_compiled(jnp.asarray(gram), jnp.asarray(values), thresholds, **options)
    for found in (as_torch, as_jax):
        assert bool(found.found) == bool(expected.found)
        assert int(found.objective) == int(expected.objective)
        np.testing.assert_allclose(
            np.asarray(found.weights) @ rows, expected.weights @ rows, atol=1e-10
        )


@pytest.mark.parametrize("method", ["sequential", "exact"])
def test_jit_vmap_and_leading_axes_agree(method: DirectionMethod):
    rows = np.random.default_rng(0).normal(size=(50, 4, 6))
    gram = rows @ np.swapaxes(rows, -1, -2)
    values = np.random.default_rng(1).normal(size=(50, 4))
    thresholds = np.zeros(3)

    def one(gram, values):
        return find_direction(gram, values, thresholds, delta=0.1, method=method)

    batched = find_direction(gram, values, thresholds, delta=0.1, method=method)
    mapped = jax.jit(jax.vmap(one))(jnp.asarray(gram), jnp.asarray(values))
    np.testing.assert_array_equal(mapped.found, batched.found)
    np.testing.assert_allclose(mapped.weights, batched.weights, atol=1e-10)
    for i in range(0, 50, 7):
        alone = one(gram[i], values[i])
        np.testing.assert_allclose(alone.weights, batched.weights[i], atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("argument", ["delta", "thresholds", "values", "buffer", "gram"])
def test_vmap_over_each_argument_alone(argument: str):
    rows = np.random.default_rng(0).normal(size=(3, 5))
    fixed = {
        "gram": jnp.asarray(rows @ rows.T),
        "values": jnp.full(3, 0.1),
        "thresholds": jnp.zeros(2),
        "delta": jnp.asarray(0.1),
        "buffer": jnp.asarray(0.05),
    }
    moved = jnp.stack([fixed[argument], fixed[argument] * 1.5])

    def one(value):
        given = {**fixed, argument: value}
        return find_direction(**given, active_constraints=True, method="exact").weights

    for mapped in (jax.vmap(one)(moved), jax.jit(jax.vmap(one))(moved)):
        np.testing.assert_allclose(mapped[1], one(moved[1]), atol=1e-12)


@pytest.mark.float32
def test_sweeps_over_delta_compile_once():
    traces = []

    @jax.jit
    def find(gram, delta, thresholds):
        traces.append(None)
        return find_direction(gram, jnp.zeros(3), thresholds, delta=delta, method="exact").found

    for delta in (0.0, 0.1, 0.2):
        find(jnp.eye(3), delta, jnp.full(2, delta))
    assert len(traces) == 1


@pytest.mark.slow
@pytest.mark.parametrize("method", ["sequential", "exact", "halfspace"])
@pytest.mark.parametrize(
    "rows",
    [
        np.zeros((3, 2)),
        np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]),
        np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]),
        np.array([[1.0, 0.0], [0.5, 1.0], [-1.0, 0.2]]),
    ],
)
def test_derivatives_are_finite(method: DirectionMethod, rows: Rows):
    def total(rows):
        direction = find_direction(
            rows @ rows.T, jnp.zeros(3), jnp.zeros(2), delta=0.1, method=method
        )
        return jnp.sum(direction.weights)

    assert bool(jnp.all(jnp.isfinite(jax.jit(jax.grad(total))(jnp.asarray(rows)))))


@given(gradient_matrices(max_size=20), DELTAS)
def test_single_precision_behaves(rows: Rows, delta: float):
    rows = unit(rows)
    for method in ("sequential", "exact"):
        gram = (rows @ rows.T).astype(np.float32)
        size = len(rows)
        zeros = np.zeros(size, np.float32)
        direction = find_direction(gram, zeros, zeros[1:], delta=delta, method=method)
        assert direction.weights.dtype == np.float32
        assert np.all(np.isfinite(direction.weights))
        if direction.found:
            u = direction.weights.astype(float) @ rows
            cosines = rows @ unit(u)
            assert np.all((cosines > math.sin(delta) - 0.02) | ~rows.any(axis=-1))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gram": np.ones((2, 3))}, "gram: expected inner products"),
        ({"gram": [[1, 2], [3]]}, "gram: expected real numbers"),
        ({"gram": np.full((2, 2), math.nan)}, "gram: contains NaN"),
        ({"gram": [[1.0, 5.0], [5.0, 1.0]]}, "gram: an inner product exceeds"),
        ({"gram": [[1.0, 0.5], [0.1, 1.0]]}, "gram: must be symmetric"),
        ({"gram": [[-1.0, 0.0], [0.0, 1.0]]}, "gram: has a negative square"),
        ({"values": [1.0]}, "values: the Gram matrix has 2 objectives"),
        ({"values": [math.nan, 0.0]}, "values: contains NaN"),
        ({"thresholds": [0.0, 1.0]}, "thresholds: 2 objectives take 1"),
        ({"thresholds": [math.nan]}, "thresholds: contains NaN"),
        ({"delta": -0.1}, "delta: must be at least 0"),
        ({"delta": 1.6}, "delta: must be at least 0"),
        ({"delta": [0.1, 0.2, 0.3]}, "delta: give one number, or one for each of 2"),
        ({"buffer": -1.0}, "buffer: must be at least 0"),
        ({"buffer": [0.1, 0.2]}, "buffer: give one number, or one for each of 1"),
        ({"method": "newton"}, "method: expected one of"),
        ({"values": np.zeros((3, 2)), "gram": np.ones((2, 2, 2))}, "leading axes do not fit"),
    ],
)
def test_mistakes_are_named(changes: dict[str, Any], message: str):
    arguments = {"gram": np.eye(2), "values": [0.0, 0.0], "thresholds": [0.0], **changes}
    with pytest.raises(ValueError, match=message):
        inspect.unwrap(find_direction)(**arguments)  # past the type checker of the tests
