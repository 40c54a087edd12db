import inspect
import math

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import minimize

from lexicone import Order, find_direction, is_stationary, maximize
from lexicone.directions._cone import project_cone
from lexicone.directions._gradients import gram, values_and_gradients
from lexicone.studies import lpa

pytestmark = pytest.mark.usefixtures("compile_quickly")


def quadratics(x):
    """K concave quadratics ``−(x−c_k)ᵀA_k(x−c_k)``; the problem is part of x, so that it compiles once."""
    matrices, centres = jax.lax.stop_gradient((x["matrices"], x["centres"]))
    away = x["point"][None] - centres
    return -jnp.einsum("ki,kij,kj->k", away, matrices, away)


def random_quadratics(rng, size, n):
    roots = rng.normal(size=(size, n, n))
    matrices = roots @ np.swapaxes(roots, 1, 2) + 0.1 * np.eye(n)
    return matrices, rng.normal(size=(size, n))


def smoothness(matrices):
    return 2 * np.linalg.eigvalsh(matrices).max()


class TestThePapersBenchmark:
    def test_final_values_of_the_paper(self):
        plain, active = lpa.ascend(**lpa.PLAIN), lpa.ascend(**lpa.ACTIVE)
        assert plain.values.round(3).tolist() == [-0.450, -0.580]
        assert active.values.round(3).tolist() == [-0.496, -0.554]
        assert (plain.steps, active.steps) == (66, 77)
        assert plain.status == active.status == "stationary"

    def test_the_printed_function_does_not_give_them(self):
        """Negative control: with the misprinted +xy the same settings end elsewhere."""

        def printed(x):
            a, b = x
            return jnp.stack([-4 * a**2 - b**2 + a * b, -((a - 1) ** 2) - (b - 0.5) ** 2])

        result = maximize(printed, lpa.START, lpa.ORDER, **lpa.PLAIN)
        assert result.values.round(3).tolist() != [-0.450, -0.580]

    def test_true_optimum(self):
        point, values = lpa.true_optimum()
        np.testing.assert_allclose(point, [0.2936200, 0.2735499], atol=1e-6)
        np.testing.assert_allclose(values, [-0.5, -0.5502523991], atol=1e-9)

    @pytest.mark.slow
    @pytest.mark.parametrize("buffer", [0.0, 0.01])
    def test_safe_exact_active_reaches_the_optimum_from_everywhere(self, buffer):
        rng = np.random.default_rng(0)
        for start in rng.uniform(-5, 5, size=(30, 2)):
            result = lpa.ascend(start, **{**lpa.SAFE, "buffer": buffer})
            assert result.status == "optimal"
            assert result.values[0] >= -0.5
            assert abs(result.values[1] - -0.5502523991) < 1e-4

    def test_the_papers_ascent_stops_short(self):
        """Negative control for the test above."""
        assert -0.5502523991 - lpa.ascend(**lpa.ACTIVE).values[1] > 3e-3


class TestProposition:
    """Satisfied objectives do not fall and the current one rises, for concave L-smooth functions."""

    @given(seed=st.integers(0, 10_000), size=st.integers(2, 4))
    def test_bounds_of_one_step(self, seed, size):
        """With u=P(g): F_o gains ≥ α(1−Lα/2)‖u‖²; F_j keeps its value if α ≤ 2·sinΔ‖g_j‖/(L‖u‖)."""
        rng = np.random.default_rng(seed)
        n, delta = 5, math.radians(5)
        matrices, centres = random_quadratics(rng, size, n)
        point = rng.normal(size=n)

        def values(x):
            return -np.einsum("ki,kij,kj->k", x - centres, matrices, x - centres)

        rows = -2 * np.einsum("kij,kj->ki", matrices, point - centres)
        direction = find_direction(
            rows @ rows.T, values(point), values(point)[:-1], delta=delta, method="exact"
        )
        if not direction.found:
            return
        u = direction.weights @ rows
        lipschitz = smoothness(matrices)
        norms = np.linalg.norm(rows[:-1], axis=1)
        largest = 2 * math.sin(delta) * norms.min() / (lipschitz * np.linalg.norm(u))
        alpha = min(largest, 1 / lipschitz)
        change = values(point + alpha * u) - values(point)
        assert np.all(change[:-1] >= -1e-12)
        assert change[-1] >= alpha * (1 - lipschitz * alpha / 2) * (u @ u) - 1e-12
        assert change[-1] > 0

    @given(seed=st.integers(0, 10_000))
    def test_corrected_bounds_for_two_objectives(self, seed):
        rng = np.random.default_rng(seed)
        matrices, centres = random_quadratics(rng, 2, 4)
        point, delta = rng.normal(size=4), math.radians(7)

        def values(x):
            return -np.einsum("ki,kij,kj->k", x - centres, matrices, x - centres)

        g1, g2 = -2 * np.einsum("kij,kj->ki", matrices, point - centres)
        norm1, norm2 = np.linalg.norm(g1), np.linalg.norm(g2)
        phi = math.acos(np.clip(g1 @ g2 / norm1 / norm2, -1, 1))
        if not math.pi / 2 - delta < phi < math.pi - delta:
            return  # nothing is projected, or the projection is 0
        u = project_cone(g2, g1, delta)
        lipschitz = smoothness(matrices)
        sine = math.sin(delta + phi)
        for alpha in (0.1 / lipschitz, 1 / lipschitz):
            first, second = values(point + alpha * u) - values(point)
            bracket = math.sin(delta) * norm1 - lipschitz * alpha / 2 * sine * norm2
            assert first >= alpha * sine * norm2 * bracket - 1e-10
            assert second >= alpha * (1 - lipschitz * alpha / 2) * sine**2 * norm2**2 - 1e-10

    def test_the_halfspace_breaks_it(self):
        """Negative control: the same step with Δ=0 lowers the satisfied objective."""
        rng = np.random.default_rng(0)
        fell = {0.0: 0, math.radians(5): 0}
        projected = 0
        for _ in range(50):
            matrices, centres = random_quadratics(rng, 2, 5)
            point = rng.normal(size=5)
            rows = -2 * np.einsum("kij,kj->ki", matrices, point - centres)
            if rows[0] @ rows[1] >= 0:
                continue
            projected += 1
            for delta in fell:
                u = project_cone(rows[1], rows[0], delta)
                wide = np.linalg.norm(project_cone(rows[1], rows[0], math.radians(5)))
                if wide == 0:
                    continue
                alpha = (
                    math.sin(math.radians(5))
                    * np.linalg.norm(rows[0])
                    / smoothness(matrices)
                    / wide
                )
                away = [p - centres[0] for p in (point, point + alpha * u)]
                before, after = (-a @ matrices[0] @ a for a in away)
                fell[delta] += after < before
        assert projected > 10
        assert fell[math.radians(5)] == 0
        assert fell[0.0] > projected / 2

    @settings(max_examples=6)
    @given(
        seed=st.integers(0, 10_000),
        size=st.integers(2, 4),
        active=st.booleans(),
        method=st.sampled_from(["sequential", "exact"]),
    )
    @pytest.mark.slow
    def test_safe_steps_keep_it_along_the_whole_path(self, seed, size, active, method):
        rng = np.random.default_rng(seed)
        matrices, centres = random_quadratics(rng, size, 4)
        start = {"matrices": matrices, "centres": centres, "point": 3 * rng.normal(size=4)}
        middle = {**start, "point": centres.mean(axis=0)}
        order = Order(np.asarray(quadratics(middle))[:-1])
        result = maximize(
            quadratics,
            start,
            order,
            method=method,
            step="safe",
            active_constraints=active,
            max_steps=200,
        )
        current = [int(np.argmax([*~order.satisfied(v), True])) for v in result.history]
        assert result.steps > 0
        for before, after, o in zip(result.history, result.history[1:], current, strict=False):
            assert after[o] > before[o]
            kept = np.array(order.thresholds) if active else before[:-1]
            assert np.all(after[:o] >= kept[:o])

    @pytest.mark.slow
    @settings(max_examples=6)
    @given(seed=st.integers(0, 10_000), size=st.integers(2, 4))
    def test_safe_exact_active_finds_the_constrained_optimum(self, seed, size):
        rng = np.random.default_rng(seed)
        matrices, centres = random_quadratics(rng, size, 4)
        inside = centres.mean(axis=0) + 0.3 * rng.normal(size=4)

        def values(x):
            return -np.einsum("ki,kij,kj->k", x - centres, matrices, x - centres)

        def slopes(x):
            return -2 * np.einsum("kij,kj->ki", matrices, x - centres)

        thresholds = values(inside)[:-1]
        best = minimize(
            lambda x: -values(x)[-1],
            inside,
            jac=lambda x: -slopes(x)[-1],
            constraints={
                "type": "ineq",
                "fun": lambda x: values(x)[:-1] - thresholds,
                "jac": lambda x: slopes(x)[:-1],
            },
            method="SLSQP",
            options={"ftol": 1e-13, "maxiter": 500},
        )
        start = {"matrices": matrices, "centres": centres, "point": 2 * rng.normal(size=4)}
        options = {"method": "exact", "step": "safe", "active_constraints": True}
        result = maximize(quadratics, start, thresholds, max_steps=5000, **options)
        assert result.status == "optimal"
        assert np.all(result.values[:-1] >= thresholds)
        assert result.values[-1] >= -best.fun - 1e-5 * (1 + abs(best.fun))


class TestStatus:
    def test_optimal_where_the_gradient_vanishes(self):
        result = maximize(
            lambda x: jnp.stack([-jnp.sum((x - 2) ** 2)]), [0.0, 1.0], Order([]), step_size=0.3
        )
        assert result.status == "optimal"
        np.testing.assert_allclose(result.x, [2.0, 2.0], atol=1e-6)

    def test_unreachable_threshold_ends_at_the_maximum_of_that_objective(self):
        result = maximize(lpa.objectives, [1.0, 1.0], Order([5.0]), step_size=0.1, max_steps=5000)
        assert (result.status, result.objective) == ("stationary", 0)
        assert "later objectives were not improved" in result.reason
        np.testing.assert_allclose(result.values[0], 0.0, atol=1e-12)

    @pytest.mark.slow
    def test_stationary_points_are_stationary(self):
        result = maximize(lpa.objectives, [1.5, 1.5], lpa.ORDER, method="exact", delta=0.2)
        assert result.status == "stationary"
        _, gradients = values_and_gradients(lpa.objectives, result.x)
        assert bool(is_stationary(gram(gradients), 0.2))
        assert "objective" in result.reason or "F₂" in result.reason

    def test_safe_results_are_stationary_for_the_given_delta_too(self):
        result = lpa.ascend(**lpa.SAFE)
        _, gradients = values_and_gradients(lpa.objectives, result.x)
        assert bool(is_stationary(gram(gradients), lpa.DELTA))

    def test_max_steps(self):
        result = maximize(lpa.objectives, [1.5, 1.5], lpa.ORDER, max_steps=5)
        assert (result.status, result.steps) == ("max_steps", 5)
        assert result.history.shape == (6, 2)
        np.testing.assert_allclose(result.history[-1], lpa.objectives(result.x))
        assert maximize(lpa.objectives, [1.5, 1.5], lpa.ORDER, max_steps=0).steps == 0

    @pytest.mark.slow
    @pytest.mark.parametrize("max_steps", [4, 100])
    def test_not_finite_returns_the_last_finite_point(self, max_steps):
        def cliff(x):
            return jnp.stack([jnp.where(x[0] > 1, jnp.nan, x[0])])

        result = maximize(cliff, [0.0], Order([]), step_size=0.3, max_steps=max_steps)
        assert result.status == "not_finite"
        np.testing.assert_allclose(result.x, [0.9])
        np.testing.assert_allclose(result.values, [0.9])
        assert result.steps == 3
        safe = maximize(cliff, [0.0], Order([]), step="safe", step_size=0.3)
        assert safe.values[0] > 0.99

    def test_not_finite_at_the_start(self):
        result = maximize(lambda x: jnp.stack([jnp.log(x[0])]), [-1.0], Order([]))
        assert (result.status, result.steps) == ("not_finite", 0)


class TestScale:
    """Units of x, of the values and of the step do not decide what is optimal."""

    @pytest.mark.slow
    @pytest.mark.float32
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3, 1e4])
    def test_units_of_x(self, dtype, scale):
        unit = dtype(scale)
        start = np.array(lpa.START, dtype) * unit
        result = maximize(lambda x: lpa.objectives(x / unit), start, lpa.ORDER, **lpa.SAFE)
        assert result.status == "optimal"
        assert result.values[0] >= -0.5
        assert abs(result.values[1] - -0.5502523991) < 1e-4

    @pytest.mark.parametrize("step_size", [1e-12, 1e6, 1e30])
    def test_first_step_to_try(self, step_size):
        result = lpa.ascend(**{**lpa.SAFE, "step_size": step_size})
        assert result.status == "optimal"
        assert abs(result.values[1] - -0.5502523991) < 1e-4


class TestInputs:
    def test_one_objective_may_be_a_number(self):
        result = maximize(lambda x: -jnp.sum((x - 2) ** 2), [0.0], Order([]), step_size=0.3)
        assert result.status == "optimal"

    def test_mixed_dtypes_stay(self):
        start = {"a": np.ones(1, np.float32), "b": np.ones(1)}
        result = maximize(
            lambda x: jnp.stack([-jnp.sum(x["a"] ** 2) - jnp.sum(x["b"] ** 2)]), start, Order([])
        )
        assert result.x["a"].dtype == np.float32
        assert result.x["b"].dtype == np.float64

    def test_pytrees(self):
        def fun(x):
            flat = jnp.concatenate([x["a"], x["b"].ravel()])
            return [-jnp.sum(flat**2), -jnp.sum((flat - 1) ** 2)]

        start = {"a": np.zeros(2), "b": np.zeros((1, 2))}
        result = maximize(fun, start, [-1.0], method="exact", max_steps=50)
        assert result.x["b"].shape == (1, 2)
        assert result.path is not None
        assert result.path["b"].shape == (result.steps + 1, 1, 2)
        flat = maximize(
            lambda v: jnp.stack([-jnp.sum(v**2), -jnp.sum((v - 1) ** 2)]),
            np.zeros(4),
            [-1.0],
            method="exact",
            max_steps=50,
        )
        np.testing.assert_allclose(result.values, flat.values)

    def test_optax_optimisers(self):
        result = maximize(
            lpa.objectives, [1.5, 1.5], lpa.ORDER, optimizer=optax.adam(0.05), max_steps=400
        )
        assert result.values[0] >= -0.51
        sgd = maximize(lpa.objectives, [1.5, 1.5], lpa.ORDER, optimizer=optax.sgd(0.02))
        np.testing.assert_allclose(sgd.values, lpa.ascend(**lpa.PLAIN).values)

    def test_path_is_optional_and_progress_changes_nothing(self):
        with_path = lpa.ascend(**lpa.PLAIN)
        assert with_path.path is not None
        assert with_path.path.shape == (67, 2)
        np.testing.assert_allclose(with_path.path[-1], with_path.x)
        np.testing.assert_allclose(
            with_path.history, jax.vmap(lpa.objectives)(jnp.asarray(with_path.path))
        )
        without = lpa.ascend(**lpa.PLAIN, record_path=False, progress=True)
        assert without.path is None
        np.testing.assert_array_equal(without.history, with_path.history)

    def test_compiles_once(self):
        traces = []

        def fun(x):
            traces.append(None)
            return lpa.objectives(x)

        maximize(fun, [1.5, 1.5], lpa.ORDER, delta=0.1)
        before = len(traces)
        for delta, start in ((0.2, [1.0, 1.0]), (0.3, [0.0, 2.0])):
            maximize(fun, start, Order([-0.7]), delta=delta, step_size=0.01)
        # Each call traces the function once more to check its shape, and for the last value if it runs out.
        assert len(traces) - before <= 4

    @pytest.mark.float32
    def test_single_precision_stays(self):
        result = maximize(lpa.objectives, np.array([1.5, 1.5], np.float32), lpa.ORDER)
        assert result.x.dtype == np.float32
        np.testing.assert_allclose(result.values, [-0.44953, -0.58031], atol=1e-4)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"order": [0.0, 0.0]}, "fun: must return 3 values"),
            ({"fun": lambda x: np.sin(x)}, "fun: must be made of JAX operations"),
            ({"fun": lambda x: x[0]}, r"fun: must return 2 values .*shape \(1,\)"),
            ({"x0": [math.nan, 1.0]}, "x0: contains NaN"),
            ({"x0": "abc"}, "x0: expected arrays of numbers"),
            ({"x0": []}, "x0: expected at least one"),
            ({"order": [math.nan]}, r"thresholds\[0\]: is NaN"),
            ({"delta": 1.6}, "delta: must be at least 0"),
            ({"delta": [0.1, 0.1, 0.1]}, "delta: give one number"),
            ({"buffer": -0.1}, "buffer: must be at least 0"),
            ({"step": "long"}, "step: expected one of"),
            ({"method": "newton"}, "method: expected one of"),
            ({"step_size": 0.0}, "step_size: must be positive"),
            ({"step_size": math.nan}, "step_size: must be positive"),
            ({"max_steps": -1}, "max_steps: expected a whole number"),
            ({"max_steps": 3.0}, "max_steps: expected a whole number"),
            ({"max_steps": 10**12}, "max_steps: expected a whole number"),
            ({"step_size": "x"}, "step_size: expected a number"),
            ({"optimizer": "adam"}, "optimizer: expected an optax optimiser"),
            ({"buffer": math.inf}, "buffer: must be finite"),
            ({"tolerance": -1.0}, "tolerance: must be at least 0"),
            ({"optimizer": optax.sgd(0.1), "step_size": 0.1}, "optimizer: replaces step_size"),
        ],
    )
    def test_mistakes_are_named(self, changes, message):
        arguments = {"fun": lpa.objectives, "x0": [1.5, 1.5], "order": [-0.5], **changes}
        with pytest.raises(ValueError, match=message):
            inspect.unwrap(maximize)(**arguments)  # past the type checker of the tests
