"""Projection onto one hypercone."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from hypothesis import assume, given, strategies as st

from lexicone import project_cone
from tests.helpers.cones import Rows, project_with_clarabel, unit
from tests.helpers.strategies import DELTAS, gradient_matrices

pytestmark = pytest.mark.usefixtures("compile_quickly")


@given(gradient_matrices(max_objectives=2, min_objectives=2), DELTAS)
def test_is_the_nearest_point_of_the_cone(rows: Rows, delta: float):
    """For a closed convex cone: p∈C, ⟨g−p,p⟩=0, and g−p in the polar cone."""
    axis, g = unit(rows)
    p = project_cone(g, axis, delta)
    rest = g - p
    assert axis @ p >= math.sin(delta) * np.linalg.norm(p) - 1e-12 or not axis.any()
    assert abs(rest @ p) < 1e-12
    if axis.any():  # the polar cone: vectors at least π−Δ away from the axis
        assert axis @ rest <= -math.cos(delta) * np.linalg.norm(rest) + 1e-12
    else:
        np.testing.assert_array_equal(p, g)


@given(gradient_matrices(max_objectives=2, min_objectives=2, max_size=12), DELTAS)
def test_agrees_with_an_independent_solver(rows: Rows, delta: float):
    assume(rows[1].any())
    expected = project_with_clarabel(rows, delta)
    assume(expected is not None)
    g = unit(rows)[1]
    found = project_cone(g, rows[0], delta)
    # Compared by distance: an interior-point solver comes near from inside, never nearer than the nearest.
    assert -1e-4 < np.linalg.norm(found - g) - np.linalg.norm(expected - g) < 1e-7


@given(
    gradient_matrices(max_objectives=2, min_objectives=2, max_size=9),
    DELTAS,
    st.integers(-200, 200),
    st.integers(-200, 200),
)
def test_scales_with_g_and_ignores_the_length_of_the_axis(
    rows: Rows, delta: float, first: int, second: int
):
    g, axis = rows
    expected = project_cone(g, axis, delta) * 2.0**first
    found = project_cone(g * 2.0**first, axis * 2.0**second, delta)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11 * abs(expected).max())


def test_apex_and_antiparallel():
    axis = np.array([0.0, 1.0])
    delta = math.radians(10)
    assert project_cone([0.0, -1.0], axis, delta).tolist() == [0.0, 0.0]
    assert project_cone([1e-9, -1.0], axis, delta).tolist() == [0.0, 0.0]
    assert project_cone([0.0, 0.0], axis, delta).tolist() == [0.0, 0.0]
    assert project_cone([1.0, 2.0], [0.0, 0.0], delta).tolist() == [1.0, 2.0]
    np.testing.assert_allclose(project_cone([1.0, -1.0], axis, 0.0), [1.0, 0.0])
    # Hand-computed: a vector across the axis goes to its edge, ‖p‖ = cosΔ.
    p = project_cone([1.0, 0.0], axis, delta)
    np.testing.assert_allclose(p, math.cos(delta) * np.array([math.cos(delta), math.sin(delta)]))


def test_the_papers_formula_outside_of_the_polar_cone():
    rng = np.random.default_rng(0)
    g, a, delta = rng.normal(size=3), rng.normal(size=3), math.radians(12)
    g = g - a * (g @ a + 0.3) / (a @ a)  # φ somewhat above π/2
    phi = math.acos(g @ a / np.linalg.norm(g) / np.linalg.norm(a))
    ratio = np.linalg.norm(g) / np.linalg.norm(a)
    direction = g + a * ratio * (math.sin(phi) * math.tan(delta) - math.cos(phi))
    printed = math.cos(delta) / math.sin(phi) * math.sin(delta + phi) * direction
    np.testing.assert_allclose(project_cone(g, a, delta), printed)


def test_batches_dtypes_and_libraries():
    rng = np.random.default_rng(2)
    g, axis = rng.normal(size=(4, 3, 5)), rng.normal(size=(3, 5))
    delta = np.array([0.0, 0.1, 0.2])
    found = project_cone(g, axis, delta)
    np.testing.assert_allclose(found[2, 1], project_cone(g[2, 1], axis[1], 0.1))
    as_jax = jax.jit(project_cone)(jnp.asarray(g), jnp.asarray(axis), jnp.asarray(delta))
    np.testing.assert_allclose(as_jax, found, atol=1e-12)
    as_torch = project_cone(torch.asarray(g), torch.asarray(axis), torch.asarray(delta))
    np.testing.assert_allclose(as_torch.numpy(), found, atol=1e-12)
    assert project_cone(g.astype(np.float32), axis, 0.1).dtype == np.float32


@pytest.mark.parametrize(("g", "axis"), [([0.0, 0.0], [0.0, 1.0]), ([0.0, -1.0], [0.0, 1.0])])
def test_derivatives_are_finite(g: list[float], axis: list[float]):
    for argument in (0, 1):
        differentiate = jax.jit(jax.jacobian(project_cone, argument))
        derivative = differentiate(jnp.array(g), jnp.array(axis), 0.1)
        assert bool(jnp.all(jnp.isfinite(derivative)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 2.0], [1.0], 0.1), "axis: must have the last dimension"),
        (([1.0, math.nan], [1.0, 0.0], 0.1), "g: contains NaN"),
        (([1.0, 2.0], [math.inf, 0.0], 0.1), "axis: contains NaN or infinity"),
        (([1.0, 2.0], [1.0, 0.0], -0.1), "delta: must be at least 0"),
        (([1.0, 2.0], [1.0, 0.0], math.pi / 2), "delta: must be at least 0"),
        (([1.0, 2.0], [1.0, 0.0], math.nan), "delta: must be at least 0"),
    ],
)
def test_mistakes_are_named(arguments: tuple[Any, ...], message: str):
    with pytest.raises(ValueError, match=message):
        project_cone(*arguments)
