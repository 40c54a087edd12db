"""The flow of many objectives: the same as looking at all sets, as an independent solver, in all libraries."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from lexicone import Reason, find_direction
from lexicone._base.arrays import namespace
from lexicone.directions import _flow_many
from lexicone.directions._flow import flow_multipliers
from lexicone.directions._flow_many import flow_multipliers_of_many
from tests.helpers.cones import Rows, flow_with_clarabel, unit

pytestmark = pytest.mark.usefixtures("compile_quickly", "without_shape_checks")


def multipliers(method: Any, rows: Rows, rates: Rows, price: float) -> Any:
    axes = unit(rows)
    prices = np.full(len(rates), price)
    return method(namespace(rows), axes @ axes.T, rates, prices, axes[:-1].any(axis=-1))


def along(multipliers: Rows, rows: Rows) -> Rows:
    """d of the derivation."""
    return multipliers @ unit(rows)[:-1] + unit(rows)[-1]


def random_problem(rng: np.random.Generator, size: int, width: int) -> tuple[Rows, Rows]:
    shared = rng.choice([0.0, 0.5, 1.0]) * rng.normal(size=(1, width))
    rates = rng.choice([0.0, 0.3, 1.5]) * rng.normal(size=size - 1)
    return rng.normal(size=(size, width)) + shared, np.clip(rates, -1, 3)


def test_the_path_ends_where_looking_at_all_sets_does():
    rng = np.random.default_rng(0)
    for trial in range(300):
        rows, rates = random_problem(rng, int(rng.integers(2, 8)), int(rng.integers(1, 12)))
        if trial % 5 == 0:
            rows[0] = -2 * rows[len(rows) // 2]
        if trial % 7 == 0:
            rows, rates = np.round(rows), np.round(rates)  # ties, and gradients of 0
        price = float(rng.choice([0.5, 2.0, 10.0, 100.0]))
        ours, ended = multipliers(flow_multipliers_of_many, rows, rates, price)
        assert ended
        assert (ours >= 0).all()
        expected = multipliers(flow_multipliers, rows, rates, price)
        np.testing.assert_allclose(along(ours, rows), along(expected, rows), atol=1e-7)


@pytest.mark.parametrize(("size", "width"), [(12, 30), (20, 8), (40, 60)])
def test_agrees_with_an_independent_solver(size: int, width: int):
    for seed in range(3):
        rows, rates = random_problem(np.random.default_rng(seed), size, width)
        ours, _ = multipliers(flow_multipliers_of_many, rows, rates, 10.0)
        expected = flow_with_clarabel(rows, rates, np.full(size - 1, 10.0))
        assert expected is not None
        np.testing.assert_allclose(along(ours, rows), expected, atol=1e-5)


def test_the_conditions_of_the_optimum_hold_for_128():
    """Independent gradients and no limit on prices: all rates are granted, λ > 0 only where one is just reached."""
    rng = np.random.default_rng(1)
    rows, rates = rng.normal(size=(128, 400)), rng.uniform(-0.2, 0.2, size=127)
    ours, ended = multipliers(flow_multipliers_of_many, rows, rates, np.inf)
    slack = unit(rows)[:-1] @ along(ours, rows) - rates
    assert ended
    assert slack.min() > -1e-12
    assert np.minimum(slack, ours).max() < 1e-12
    assert 20 < np.sum(ours > 0) < 120


def test_the_greater_is_granted_in_full_where_all_cannot_be():
    """Two nearly opposed rates before many others, prices without limit: a long d, and exactly what was asked."""
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(12, 3))
    rows[1] = -rows[0] + 1e-3 * rng.normal(size=3)
    rates = np.full(11, 0.3)
    ours, _ = multipliers(flow_multipliers_of_many, rows, rates, np.inf)
    np.testing.assert_allclose((unit(rows) @ along(ours, rows))[:2], 0.3, atol=1e-7)


def test_all_libraries_and_batches_give_the_same():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(4, 20, 30)) + 0.2 * rng.normal(size=(4, 1, 30))
    gram, values = rows @ np.swapaxes(rows, 1, 2), rng.normal(size=(4, 20))
    values[2] += 5.0  # all rates are there already
    expected = find_direction(gram, values, np.zeros(19), method="flow")
    assert expected.found.all()

    def in_jax(gram, values):
        return find_direction(gram, values, jnp.zeros(19), method="flow")

    compiled = jax.jit(jax.vmap(in_jax))(jnp.asarray(gram), jnp.asarray(values))
    in_torch = find_direction(
        torch.from_numpy(gram), torch.from_numpy(values), torch.zeros(19).double(), method="flow"
    )
    for other in (compiled, in_torch):
        np.testing.assert_allclose(other.weights, expected.weights, atol=1e-10)
    for i in range(4):
        alone = find_direction(gram[i], values[i], np.zeros(19), method="flow")
        np.testing.assert_allclose(alone.weights, expected.weights[i], atol=1e-12)


def test_single_precision():
    rows, rates = random_problem(np.random.default_rng(4), 64, 100)
    values = np.append(-rates, 0.0)
    wide, narrow = (
        find_direction(gram, values.astype(gram.dtype), np.zeros(63, gram.dtype), method="flow")
        for gram in (rows @ rows.T, (rows @ rows.T).astype(np.float32))
    )
    assert narrow.weights.dtype == np.float32
    np.testing.assert_allclose(narrow.weights, wide.weights, atol=1e-3 * wide.weights.max())


def test_derivatives_are_those_of_finite_differences():
    rng = np.random.default_rng(5)
    rows, turn = rng.normal(size=(10, 14)), rng.normal(size=(10, 14))

    def length(step):
        moved = jnp.asarray(rows) + step * jnp.asarray(turn)
        zeros = jnp.zeros(10)
        found = find_direction(moved @ moved.T, zeros, zeros[1:], method="flow")
        return jnp.sum((found.weights @ moved) ** 2)

    compiled, step = jax.jit(length), 1e-5
    slope = (compiled(step) - compiled(-step)) / (2 * step)
    np.testing.assert_allclose(jax.jit(jax.grad(length))(0.0), slope, rtol=1e-6)


def test_a_search_that_is_cut_short_claims_nothing(monkeypatch: pytest.MonkeyPatch):
    rows = np.random.default_rng(7).normal(size=(40, 50))
    given = (rows @ rows.T, np.zeros(40), np.zeros(39))
    assert find_direction(*given, method="flow").found
    whole = _flow_many.repeat_until_done
    monkeypatch.setattr(
        _flow_many, "repeat_until_done", lambda step, state, done, _: whole(step, state, done, 3)
    )
    cut = find_direction(*given, method="flow")
    assert cut.reason == Reason.MISSED
    assert not cut.weights.any()
