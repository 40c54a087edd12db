"""Projection onto many hypercones: the same as looking at all sets, as an independent solver, and with a proof."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from hypothesis import assume, given

from lexicone import Reason, find_direction, is_stationary
from lexicone._base.arrays import namespace
from lexicone.directions._cone import project_onto_all
from lexicone.directions._cone_many import project_onto_many
from tests.helpers.cones import Rows, improve_last, project_with_clarabel, unit
from tests.helpers.strategies import DELTAS, gradient_matrices


def project(method, rows: Rows, delta: float):
    """Weights of unit gradients, whether found, and the certificate, for the last of the rows."""
    rows = unit(rows)
    sin, last = np.full(len(rows), math.sin(delta)), np.arange(len(rows)) == len(rows) - 1
    given = (rows @ rows.T, sin, ~last & rows.any(axis=-1), last)
    return method(namespace(rows), *given)


@given(gradient_matrices(), DELTAS)
def test_the_search_ends_where_looking_at_all_sets_does(rows: Rows, delta: float):
    assume(rows[-1].any() and len(rows) > 1)
    weights, found, proof = project(project_onto_many, rows, delta)
    all_weights, all_found, all_proof = project(project_onto_all, rows, delta)
    margin = abs(proof.primal - math.sin(delta))
    assert bool(found) == bool(all_found) or margin < 1e-6 or proof.primal < 1e-6
    if found and all_found and proof.primal > 1e-3:
        np.testing.assert_allclose(weights @ unit(rows), all_weights @ unit(rows), atol=1e-7)
        assert abs(proof.primal - all_proof.primal) < 1e-9


def test_exact_to_rounding_where_both_run():
    rng = np.random.default_rng(0)
    for trial in range(300):
        size, width = int(rng.integers(2, 9)), int(rng.integers(1, 12))
        rows = rng.normal(size=(size, width)) + (trial % 2) * rng.normal(size=(1, width))
        delta = (0.0, 0.02, 0.1, 0.3)[trial % 4]
        weights, found, proof = project(project_onto_many, rows, delta)
        all_weights, all_found, all_proof = project(project_onto_all, rows, delta)
        assert bool(found) == bool(all_found)
        assert proof.difference < 1e-10
        if found:
            np.testing.assert_allclose(
                weights @ unit(rows), all_weights @ unit(rows), atol=1e-11, rtol=1e-11
            )
            assert all_proof.difference < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "width", "delta"),
    [(12, 12, 0.1), (17, 9, 0.02), (32, 64, 0.02), (64, 40, 0.0), (64, 128, 0.02), (128, 128, 0.0)],
)
def test_agrees_with_an_independent_solver(size: int, width: int, delta: float):
    for seed, shift in ((0, 0.0), (1, 0.3)):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(size, width)) + shift * rng.normal(size=(1, width))
        direction = improve_last(rows, delta)
        proof = direction.certificate
        assert proof is not None
        assert proof.difference < 1e-12
        if size <= 64:
            expected = project_with_clarabel(rows, delta)
            assert expected is not None
            assert abs(np.linalg.norm(expected) - proof.primal) < 1e-6
        u = direction.weights @ rows / np.linalg.norm(rows[-1])
        if direction.found:
            assert abs(np.linalg.norm(u) - proof.primal) < 1e-9
            slack = unit(rows[:-1]) @ unit(u) - math.sin(delta)
            assert slack.min() > -1e-9
            assert np.all((direction.weights[:-1] < 1e-12) | (np.abs(slack) < 1e-9))
        else:
            assert direction.reason == Reason.STATIONARY
            assert proof.dual <= math.sin(delta) + 1e-6


def test_twins_and_opposites():
    """Cones that depend on each other: the same twice, and two that have nothing in common but 0."""
    rows = np.random.default_rng(2).normal(size=(20, 30))
    once = improve_last(rows, 0.05)
    rows[3] = rows[5]
    assert improve_last(rows, 0.05).found == once.found
    twice = np.vstack([rows[:-1], rows])
    np.testing.assert_allclose(
        improve_last(twice, 0.05).weights @ twice,
        improve_last(rows, 0.05).weights @ rows,
        atol=1e-9,
    )
    rows[7] = -rows[5]
    none = improve_last(rows, 0.05)
    assert none.reason == Reason.STATIONARY
    assert none.certificate is not None
    assert none.certificate.dual == 0


def test_one_gradient_that_cannot_be_bettered():
    """All at right angles, Δ=0: nothing is in the way, and the bound is the gradient's own length."""
    found = improve_last(np.eye(100), 0.0)
    np.testing.assert_array_equal(found.weights, np.eye(100)[-1])
    assert found.certificate is not None
    assert found.certificate.primal == found.certificate.dual == 1


@pytest.mark.slow
def test_all_libraries_and_batches_give_the_same():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(4, 12, 20)) + 0.2 * rng.normal(size=(4, 1, 20))
    gram = rows @ np.swapaxes(rows, 1, 2)
    values = np.zeros((4, 12))
    values[2, 5] = -1.0  # in the middle: those after it wait
    options = {"delta": 0.03, "method": "exact"}
    expected = find_direction(gram, values, np.zeros(11), **options)
    assert expected.objective.tolist() == [11, 11, 5, 11]

    def in_jax(gram, values):
        return find_direction(gram, values, jnp.zeros(11), **options)

    compiled = jax.jit(jax.vmap(in_jax))(jnp.asarray(gram), jnp.asarray(values))
    in_torch = find_direction(
        torch.from_numpy(gram), torch.from_numpy(values), torch.zeros(11).double(), **options
    )
    assert expected.certificate is not None
    for other in (compiled, in_torch):
        assert other.certificate is not None
        np.testing.assert_allclose(other.weights, expected.weights, atol=1e-12)
        np.testing.assert_array_equal(other.found, expected.found)
        np.testing.assert_allclose(other.certificate.dual, expected.certificate.dual, atol=1e-12)
    for i in range(4):
        alone = find_direction(gram[i], values[i], np.zeros(11), **options)
        np.testing.assert_allclose(alone.weights, expected.weights[i], atol=1e-13)


def test_single_precision():
    rows = np.random.default_rng(4).normal(size=(40, 60))
    wide, narrow = improve_last(rows, 0.02), improve_last(rows.astype(np.float32), 0.02)
    assert narrow.weights.dtype == np.float32
    assert narrow.certificate is not None
    assert narrow.certificate.difference < 1e-5
    np.testing.assert_allclose(narrow.weights, wide.weights, atol=2e-4)


@pytest.mark.slow
def test_derivatives_are_those_of_finite_differences():
    rng = np.random.default_rng(5)
    rows, turn = rng.normal(size=(10, 14)), rng.normal(size=(10, 14))

    def length(step):
        moved = jnp.asarray(rows) + step * jnp.asarray(turn)
        zeros = jnp.zeros(10)
        found = find_direction(moved @ moved.T, zeros, zeros[1:], delta=0.05, method="exact")
        return jnp.sum((found.weights @ moved) ** 2)

    step = 1e-5
    compiled = jax.jit(length)
    slope = (compiled(step) - compiled(-step)) / (2 * step)
    np.testing.assert_allclose(jax.jit(jax.grad(length))(0.0), slope, rtol=1e-6)


def test_stationarity_of_many():
    rows = np.random.default_rng(6).normal(size=(30, 40))
    assert not is_stationary(rows @ rows.T, 0.01)
    rows[-1] = -rows[:-1].sum(axis=0)
    assert is_stationary(rows @ rows.T, 0.01)


def test_a_search_that_is_cut_short_claims_nothing(monkeypatch: pytest.MonkeyPatch):
    """Weights only where all cones are kept; the bound still holds; and the point is not called stationary."""
    from lexicone.directions import _cone_many

    rows = np.random.default_rng(7).normal(size=(40, 50))
    true = improve_last(rows, 0.02)
    assert true.found
    whole = _cone_many.repeat_until_done
    monkeypatch.setattr(
        _cone_many, "repeat_until_done", lambda step, state, done, _: whole(step, state, done, 3)
    )
    cut = improve_last(rows, 0.02)
    assert cut.reason == Reason.MISSED
    assert not cut.weights.any()
    assert cut.certificate is not None
    assert true.certificate is not None
    assert cut.certificate.dual >= true.certificate.primal
