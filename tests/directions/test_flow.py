"""The flow: rates asked by thresholds, granted in order, nearest to the last gradient."""

import inspect
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from hypothesis import assume, given, strategies as st

from lexicone import Direction, Reason, find_direction
from tests.helpers.cones import Rows, flow_with_clarabel, project_with_clarabel, unit
from tests.helpers.strategies import gradient_matrices

find_compiled = jax.jit(find_direction, static_argnames=("active_constraints", "method"))

pytestmark = pytest.mark.usefixtures("compile_quickly")

MATRICES = gradient_matrices(max_size=12, min_objectives=2)
PRICES = st.sampled_from([2.0, 10.0, 100.0])


def follow(rows: Rows, rates: Any, **options: Any) -> Direction:
    """The flow that is asked for these rates."""
    values = np.append(-np.asarray(rates, float), 0.0)
    return find_direction(
        rows @ rows.T, values, np.zeros(len(rows) - 1), method="flow", rate=1.0, **options
    )


def in_unit_gradients(direction: Direction, rows: Rows) -> Rows:
    """d of the derivation: the direction, divided by the length of the gradient of the objective that is improved."""
    return direction.weights @ rows / np.linalg.norm(rows[direction.objective])


def random_rates(seed: int, rows: Rows) -> Rows:
    rng = np.random.default_rng(seed)
    return np.clip(rng.normal(size=len(rows) - 1) * rng.choice([0.0, 0.3, 1.5]), -1, 1)


@given(MATRICES, st.integers(0, 999), PRICES)
def test_agrees_with_an_independent_solver(rows: Rows, seed: int, price: float):
    rates = random_rates(seed, rows)
    direction = follow(rows, rates, prices=price)
    assume(rows[direction.objective].any())
    expected = flow_with_clarabel(rows, rates, np.full(len(rates), price))
    assume(expected is not None)
    assert expected is not None
    np.testing.assert_allclose(in_unit_gradients(direction, rows), expected, atol=2e-5)


@given(MATRICES, st.integers(0, 999))
def test_optimality_conditions(rows: Rows, seed: int):
    """With prices that are no limit: rates that can be had are granted, λ ≥ 0, and λ_j > 0 only on the rate."""
    rates = random_rates(seed, rows)
    direction = follow(rows, rates, prices=math.inf)
    assume(rows[-1].any() and direction.found)
    granted = np.full(len(rates), -np.inf)
    for j in range(len(rates)):
        shorter = np.vstack([rows[: j + 1], rows[-1:]])
        own = follow(shorter, rates[: j + 1], prices=math.inf)
        granted[j] = min(rates[j], unit(rows)[j] @ in_unit_gradients(own, shorter))
    norms = np.linalg.norm(rows, axis=-1)
    multipliers = (direction.weights * norms / norms[direction.objective])[:-1]
    assume(multipliers.max(initial=0.0) < 1e6)
    slack = unit(rows)[:-1] @ in_unit_gradients(direction, rows) - granted
    slack = slack[norms[:-1] > 0]
    multipliers = multipliers[norms[:-1] > 0]
    assert np.all(slack > -1e-8)
    assert np.all(multipliers > -1e-8)
    assert np.all(np.minimum(slack, multipliers) < 1e-8)


@given(MATRICES)
def test_rates_of_zero_project_onto_half_spaces(rows: Rows):
    assume(rows[-1].any())
    expected = project_with_clarabel(rows, 0.0)
    assume(expected is not None)
    assert expected is not None
    direction = follow(rows, np.zeros(len(rows) - 1), prices=math.inf)
    np.testing.assert_allclose(in_unit_gradients(direction, rows), expected, atol=2e-4)
    passed = find_direction(
        rows @ rows.T, np.zeros(len(rows)), np.zeros(len(rows) - 1), delta=0.0, method="exact"
    )
    if passed.found:
        np.testing.assert_allclose(
            in_unit_gradients(direction, rows), in_unit_gradients(passed, rows), atol=1e-7
        )


def price_falling_with_priority(rows: Rows, rates: Rows) -> Rows:
    """The rule that this one replaces: all shortfalls at once, at prices 20, 5, 1.25 … ; by coordinate descent."""
    axes, d = unit(rows)[:, :-1], unit(rows)[:, -1]
    multipliers = np.zeros_like(rates)
    for _ in range(400):
        for j in range(rates.shape[1]):
            needed = multipliers[:, j] + rates[:, j] - np.sum(axes[:, j] * d, axis=-1)
            step = np.clip(needed, 0.0, 20.0 / 4**j) - multipliers[:, j]
            multipliers[:, j] += step
            d = d + step[:, None] * axes[:, j]
    return d


def granted_in_order(rows: Rows, rates: Rows) -> Rows:
    values = np.concatenate([-rates, np.zeros_like(rates[:, :1])], axis=1)
    found = find_direction(
        rows @ np.swapaxes(rows, 1, 2), values, np.zeros(rates.shape[1]), method="flow", prices=5.0
    )
    length = np.linalg.norm(rows, axis=-1)[np.arange(len(rows)), found.objective]
    return np.einsum("bk,bkn->bn", found.weights, rows) / length[:, None]


@pytest.mark.parametrize("rule", [granted_in_order, price_falling_with_priority])
def test_the_greater_is_never_given_up_for_the_lesser(rule: Any):
    """Threshold j has at least what it would have without the thresholds after it.

    Negative control: penalties that fall with the priority give some up.
    """
    rng = np.random.default_rng(0)
    rows, rates = rng.normal(size=(1000, 6, 4)), rng.uniform(-1, 1, size=(1000, 5))
    lost = np.zeros(1000)
    for j in range(1, 5):
        fewer = np.concatenate([rows[:, :j], rows[:, -1:]], axis=1)
        had, has = (
            np.minimum(rates[:, j - 1], np.sum(unit(rows)[:, j - 1] * d, axis=-1))
            for d in (rule(fewer, rates[:, :j]), rule(rows, rates))
        )
        lost = np.maximum(lost, had - has)
    given_up = np.mean(lost > 1e-3)
    assert given_up == 0 if rule is granted_in_order else given_up > 0.1
    assert lost.max() < 1e-9 or rule is not granted_in_order


@given(MATRICES, st.integers(0, 999), PRICES)
def test_monotone_in_what_is_asked(rows: Rows, seed: int, price: float):
    """Who asks for more gets no less, and nobody above notices."""
    rates = random_rates(seed, rows)
    j = seed % len(rates)
    shorter = np.vstack([rows[: j + 1], rows[-1:]])
    assume(rows[-1].any())
    before = None
    for asked in (-1.0, -0.3, 0.0, 0.2, 0.7, 1.0):
        direction = follow(shorter, [*rates[:j], asked], prices=price)
        along = unit(shorter) @ in_unit_gradients(direction, shorter)
        if before is not None:
            assert along[j] >= before - 1e-7
        before = along[j]
        alone = follow(np.vstack([rows[:j], rows[-1:]]), rates[:j], prices=price)
        for i in range(j):
            held = unit(rows)[i] @ in_unit_gradients(alone, np.vstack([rows[:j], rows[-1:]]))
            if i == j - 1:
                assert along[i] >= min(rates[i], held) - 1e-7


@pytest.mark.parametrize("size", [2, 3, 5, 16])
def test_weights_tend_to_the_prices_of_a_constrained_optimum(size: int):
    """Where ∇F_K = −Σ p_j ∇F_j and all thresholds are met exactly, w_j/w_K = p_j, and d vanishes."""
    rng = np.random.default_rng(size)
    rows = rng.normal(size=(size, 20))
    prices = rng.uniform(0.5, 3.0, size - 1) * (rng.random(size - 1) < 0.7)
    rows[-1] = -prices @ rows[:-1]
    values = np.where(np.append(prices, 1.0) > 0, 0.0, 0.5)
    if size > 2:
        assert np.count_nonzero(prices) > 0
    at_rest = find_direction(rows @ rows.T, values, np.zeros(size - 1), method="flow")
    assert not at_rest.found
    assert at_rest.reason == Reason.STATIONARY
    near = rows + 1e-5 * rng.normal(size=rows.shape)
    direction = find_direction(near @ near.T, values, np.zeros(size - 1), method="flow")
    assert direction.found
    found = direction.weights[:-1] / direction.weights[-1]
    np.testing.assert_allclose(found, prices, atol=1e-3)
    assert np.linalg.norm(direction.weights @ near) < 1e-3 * np.linalg.norm(rows[-1])


@given(MATRICES, st.integers(0, 999), st.integers(0, 999))
def test_units_do_not_matter(rows: Rows, seed: int, scale_seed: int):
    """Scaled gradients, values and spreads give the same direction, longer with the gradient that is improved."""
    rates = random_rates(seed, rows)
    scale = 2.0 ** np.random.default_rng(scale_seed).integers(-20, 20, size=len(rows))
    first = follow(rows, rates)
    larger = rows * scale[:, None]
    second = find_direction(
        larger @ larger.T,
        np.append(-rates, 0.0) * scale,
        np.zeros(len(rates)),
        method="flow",
        spread=scale[:-1],
    )
    assert bool(first.found) == bool(second.found)
    assert first.objective == second.objective
    factor = scale[first.objective]
    size = float(np.linalg.norm(rows[first.objective]))
    np.testing.assert_allclose(
        second.weights @ larger / factor, first.weights @ rows, atol=1e-9 * max(size, 1e-9)
    )


class TestEdges:
    def test_one_objective_is_plain_ascent(self):
        direction = find_direction([[4.0]], [0.0], [], method="flow")
        assert direction.found
        np.testing.assert_array_equal(direction.weights, [1.0])

    def test_with_room_the_last_gradient_is_followed_as_it_is(self):
        rows = np.array([[1.0, 0.0], [-0.5, 2.0]])
        direction = find_direction(rows @ rows.T, [1.0, 0.0], [0.0], method="flow")
        np.testing.assert_allclose(direction.weights, [0.0, 1.0])
        assert direction.objective == 1

    def test_zero_gradients(self):
        """A zero gradient asks for nothing; then the next one that can be improved is, and is reported."""
        rows = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
        direction = find_direction(rows @ rows.T, [-1.0, -1.0, 0.0], [0.0, 0.0], method="flow")
        assert direction.objective == 1
        np.testing.assert_allclose(direction.weights @ rows, [1.0, 1.0])
        last = find_direction(np.diag([1.0, 0.0]), [-1.0, 0.0], [0.0], method="flow")
        np.testing.assert_allclose(last.weights, [1.0, 0.0])
        nothing = find_direction(np.zeros((2, 2)), [-1.0, 0.0], [0.0], method="flow")
        assert nothing.reason == Reason.ZERO_GRADIENT
        done = find_direction(np.diag([1.0, 0.0]), [1.0, 0.0], [0.0], method="flow")
        assert done.reason == Reason.ZERO_GRADIENT

    def test_opposite_gradients(self):
        """Where two thresholds want opposite things the first has its rate, and the last what is left."""
        rows = np.array([[1.0, 0.0], [-3.0, 0.0], [0.0, 1.0]])
        for price in (2.0, 1e6, math.inf):
            direction = follow(rows, [0.4, 1.0], prices=price)
            np.testing.assert_allclose(in_unit_gradients(direction, rows), [0.4, 1.0], atol=1e-12)
            assert direction.weights[1] == 0  # pulling against each other would change nothing

    def test_thresholds_without_end(self):
        rows = np.array([[1.0, 0.0], [0.0, 1.0], [-5.0, -1.0]])
        gram = rows @ rows.T
        never = find_direction(gram, [-9.0, 0.0, 0.0], [-math.inf, -1.0], method="flow")
        np.testing.assert_allclose(never.weights, [0.0, 0.0, 1.0])
        always = find_direction(gram, [1e9, 0.0, 0.0], [math.inf, -1.0], method="flow")
        assert always.objective == 0
        assert unit(rows)[0] @ in_unit_gradients(always, rows) >= 1 - 1e-12

    def test_no_spread_asks_for_all_or_nothing(self):
        rows = np.array([[1.0, 0.0], [-1.0, 1.0]])
        for value, rate in ((-1e-9, 1.0), (0.0, 0.0)):
            d = find_direction(rows @ rows.T, [value, 0.0], [0.0], method="flow", spread=0.0)
            along = unit(rows)[0] @ in_unit_gradients(d, rows)
            np.testing.assert_allclose(along, rate, atol=1e-12)

    def test_the_margin_counts_in_spreads(self):
        rows = np.array([[1.0, 0.0], [-1.0, 1.0]])
        options = {"method": "flow", "spread": 5.0, "rate": 2.0}
        d = find_direction(rows @ rows.T, [0.5, 0.0], [0.0], margin=0.3, **options)
        np.testing.assert_allclose(unit(rows)[0] @ in_unit_gradients(d, rows), 2 * (0.3 - 0.1))
        assert d.objective == 0
        without = find_direction(rows @ rows.T, [0.5, 0.0], [0.0], **options)
        assert without.objective == 1

    def test_the_first_is_always_granted(self):
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(500, 5, 3))
        values = np.append(-np.ones(4), 0.0)
        found = find_direction(
            rows @ np.swapaxes(rows, 1, 2), values, np.zeros(4), method="flow", prices=2.0
        )
        assert found.found.all()
        rates = np.einsum("bn,bkn,bk->b", rows[:, 0], rows, found.weights)
        np.testing.assert_array_less(0.999999, rates / np.sum(rows[:, 0] ** 2, axis=-1))

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"spread": -1.0}, "spread: must be at least 0"),
            ({"spread": [1.0, 2.0]}, "spread: give one number, or one for each of 1"),
            ({"spread": math.nan}, "spread: contains NaN"),
            ({"margin": math.inf}, "margin: contains NaN or infinity"),
            ({"rate": 0.0}, "rate: must be positive"),
            ({"prices": math.nan}, "prices: must be positive"),
            ({"prices": [1.0, 2.0]}, "prices: give one number"),
            ({"values": [math.nan, 0.0]}, "values: contains NaN"),
            ({"gram": np.full((2, 2), math.nan)}, "gram: contains NaN"),
        ],
    )
    def test_mistakes_are_named(self, changes: dict[str, Any], message: str):
        arguments = {"gram": np.eye(2), "values": [0.0, 0.0], "thresholds": [0.0], **changes}
        with pytest.raises(ValueError, match=message):
            inspect.unwrap(find_direction)(**arguments, method="flow")

    def test_nan_inside_jit_is_not_finite(self):
        nan = find_compiled(jnp.full((2, 2), jnp.nan), jnp.zeros(2), jnp.zeros(1), method="flow")
        assert nan.reason == Reason.NOT_FINITE
        assert not nan.weights.any()


class TestLibraries:
    @pytest.mark.slow
    @given(rows=gradient_matrices(max_size=12, max_objectives=4), seed=st.integers(0, 99))
    def test_agree(self, rows: Rows, seed: int):
        rows = unit(rows)
        values = np.append(-random_rates(seed, rows), 0.0)
        gram, thresholds = rows @ rows.T, np.zeros(len(rows) - 1)
        options = {"method": "flow", "margin": 0.1, "spread": 0.5}
        expected = find_direction(gram, values, thresholds, **options)
        as_torch = find_direction(
            *(torch.asarray(a) for a in (gram, values, thresholds)), **options
        )
        as_jax = find_compiled(*(jnp.asarray(a) for a in (gram, values, thresholds)), **options)
        for found in (as_torch, as_jax):
            assert bool(found.found) == bool(expected.found)
            assert int(found.objective) == int(expected.objective)
            np.testing.assert_allclose(
                np.asarray(found.weights) @ rows, expected.weights @ rows, atol=1e-9
            )

    def test_vmap_and_leading_axes_agree(self):
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(20, 4, 6))
        gram = rows @ np.swapaxes(rows, -1, -2)
        values, spread = rng.normal(size=(20, 4)), rng.uniform(0.1, 2.0, size=(20, 3))

        def one(gram, values, spread):
            return find_direction(gram, values, np.zeros(3), method="flow", spread=spread)

        batched = one(gram, values, spread)
        mapped = jax.jit(jax.vmap(one))(*(jnp.asarray(a) for a in (gram, values, spread)))
        np.testing.assert_allclose(mapped.weights, batched.weights, atol=1e-10)
        np.testing.assert_allclose(
            one(gram[3], values[3], spread[3]).weights, batched.weights[3], atol=1e-12
        )
        assert one(gram[0], values[0], spread).weights.shape == (20, 4)
        swept = jax.eval_shape(one, *(jnp.asarray(a) for a in (gram[0], values[0], spread)))
        assert swept.weights.shape == (20, 4)

    @pytest.mark.float32
    def test_single_precision(self):
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(50, 4, 6)).astype(np.float32)
        values = rng.normal(size=(50, 4)).astype(np.float32)
        gram = np.einsum("bij,bkj->bik", rows, rows)
        single = find_direction(gram, values, np.zeros(3, np.float32), method="flow")
        assert single.weights.dtype == np.float32
        double = find_direction(
            gram.astype(float), values.astype(float), np.zeros(3), method="flow"
        )
        np.testing.assert_allclose(single.weights, double.weights, atol=1e-2)

    @pytest.mark.slow
    def test_derivatives_are_finite(self):
        for rows in (
            np.zeros((3, 2)),
            np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]),
            np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]),
        ):

            def total(rows):
                d = find_direction(rows @ rows.T, -jnp.ones(3), jnp.zeros(2), method="flow")
                return jnp.sum(d.weights)

            assert bool(jnp.all(jnp.isfinite(jax.jit(jax.grad(total))(jnp.asarray(rows)))))
