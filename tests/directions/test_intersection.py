"""Projection onto the intersection of hypercones, and the paper's pass over them one by one."""

import math

import numpy as np
from hypothesis import assume, given

from lexicone import find_direction, project_cone
from tests.helpers.cones import Rows, improve_last, project_with_clarabel, unit
from tests.helpers.strategies import DELTAS, gradient_matrices


@given(gradient_matrices(), DELTAS)
def test_optimality_conditions(rows: Rows, delta: float):
    """u lies in every cone and ⟨g,u⟩=‖u‖², and g−u is a sum of vectors in the polar cones.

    The last is shown by u's own form: weights of the touching gradients are not negative, others are 0.
    """
    direction = improve_last(rows, delta)
    if not direction.found:
        assert not direction.weights.any()
        return
    u = direction.weights @ rows
    g = rows[-1]
    u, scale = u / np.linalg.norm(g), np.linalg.norm(u)
    axes = unit(rows[:-1])
    slack = axes @ u / np.linalg.norm(u) - math.sin(delta)
    assert np.all((slack > -1e-7) | ~rows[:-1].any(axis=-1))
    assert abs(unit(rows)[-1] @ u - u @ u) < 1e-9
    weights = direction.weights[:-1] * np.linalg.norm(rows[:-1], axis=-1) / scale
    assert np.all(weights >= -1e-7)
    assert np.all((np.abs(slack) < 1e-6) | (weights < 1e-6))
    assert np.linalg.norm(u) >= math.sin(delta) - 1e-9


@given(gradient_matrices(max_size=30), DELTAS)
def test_agrees_with_an_independent_solver(rows: Rows, delta: float):
    assume(rows[-1].any())
    expected = project_with_clarabel(rows, delta)
    assume(expected is not None)
    assert expected is not None
    length = np.linalg.norm(expected)
    direction = improve_last(rows, delta)
    # An interior point is off by the root of its tolerance where the projection vanishes.
    assume(abs(length - math.sin(delta)) > 1e-5)
    assume(length > 1e-3 or length < 1e-8)
    assert bool(direction.found) == (length >= math.sin(delta) and length > 1e-3)
    if direction.found:
        g = unit(rows)[-1]
        found = direction.weights @ rows / np.linalg.norm(rows[-1])
        assert -1e-4 < np.linalg.norm(found - g) - np.linalg.norm(expected - g) < 1e-7


@given(gradient_matrices(min_objectives=2), DELTAS)
def test_finds_whatever_the_pass_finds_and_gains_no_less(rows: Rows, delta: float):
    ours, passed = improve_last(rows, delta), improve_last(rows, delta, method="sequential")
    if passed.found:
        assert ours.found
        gains = [unit(d.weights @ rows) @ rows[-1] for d in (ours, passed)]
        assert gains[0] >= gains[1] - 1e-7 * np.linalg.norm(rows[-1])


@given(gradient_matrices(min_objectives=2, max_objectives=2), DELTAS)
def test_is_project_cone_for_two_objectives(rows: Rows, delta: float):
    expected = project_cone(rows[1], rows[0], delta)
    direction = improve_last(rows, delta)
    if direction.found:
        scale = np.linalg.norm(rows[1])
        np.testing.assert_allclose(direction.weights @ rows / scale, expected / scale, atol=1e-7)
    else:
        assert np.linalg.norm(expected) <= math.sin(delta) * np.linalg.norm(rows[1]) + 1e-6


def test_one_pass_misses_directions_that_exist():
    """The share of "false None" among random gradients grows with the number of cones."""
    rng = np.random.default_rng(0)
    missed = []
    for size in (3, 4, 5):
        rows = rng.normal(size=(2000, size, 8))
        gram = rows @ np.swapaxes(rows, -1, -2)
        zeros = np.zeros((2000, size))
        delta = math.radians(5)
        true = find_direction(gram, zeros, zeros[:, 1:], method="exact", delta=delta).found
        passed = find_direction(gram, zeros, zeros[:, 1:], delta=delta).found
        assert not np.any(passed & ~true)
        missed.append(np.mean(~passed[true]))
    assert 0.1 < missed[0] < 0.35
    assert missed[0] < missed[1] < missed[2]


@given(gradient_matrices(), DELTAS)
def test_is_the_papers_algorithm_in_vector_space(rows: Rows, delta: float):
    """FindDirection with vectors, `project_cone` and a tolerance on the final check."""
    assume(rows[-1].any())
    rows = unit(rows)
    u = rows[-1]
    for axis in rows[:-1]:
        u = project_cone(u, axis, delta)
    length = np.linalg.norm(u)
    assume(length > 1e-6 or length == 0)
    cosines = rows @ u / max(length, 1e-300)
    cosines = cosines[rows.any(axis=-1)]
    assume(
        np.all(
            (np.abs(cosines - math.sin(delta)) < 1e-12) | (np.abs(cosines - math.sin(delta)) > 1e-6)
        )
    )
    expected = length > 0 and bool(np.all(cosines >= math.sin(delta) - 1e-9))
    assume(delta > 0 or abs(cosines[-1]) > 1e-6)
    direction = improve_last(rows, delta, method="sequential")
    assert bool(direction.found) == expected
    if expected:
        np.testing.assert_allclose(direction.weights @ rows, u, atol=1e-7)


def test_halfspace_is_delta_zero():
    rows = np.random.default_rng(3).normal(size=(3, 6))
    half = improve_last(rows, 0.3, method="halfspace")
    zero = improve_last(rows, 0.0, method="sequential")
    np.testing.assert_array_equal(half.weights, zero.weights)


def test_two_objectives_part_at_pi_minus_two_delta():
    """Cones of half-angle π/2−Δ around both gradients meet exactly while φ ≤ π−2Δ."""
    for degrees, exists in ((150, True), (159.9, True), (160.1, False), (175, False)):
        phi = math.radians(degrees)
        rows = np.array([[1.0, 0.0], [math.cos(phi), math.sin(phi)]])
        for method in ("sequential", "exact"):
            assert bool(improve_last(rows, math.radians(10), method=method).found) == exists, (
                degrees
            )
