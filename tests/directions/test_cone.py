import inspect
import math

import clarabel
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse

from lexicone import Reason, ascent_bound, find_direction, is_stationary, project_cone
from tests.helpers.strategies import DELTAS, gradient_matrices


def unit(rows):
    norms = np.linalg.norm(rows, axis=-1, keepdims=True)
    return rows / np.where(norms > 0, norms, 1.0)


def exact(rows, delta, **options):
    """The direction that improves the last objective and keeps all others."""
    size = len(rows)
    options = {"method": "exact", **options}
    return find_direction(rows @ rows.T, np.zeros(size), np.zeros(size - 1), delta=delta, **options)


def project_with_clarabel(rows, delta):
    """The same projection as a second-order cone program; None where the solver does not finish."""
    axes, g = unit(rows[:-1]), rows[-1] / np.linalg.norm(rows[-1])
    axes = axes[np.any(axes != 0, axis=-1)]
    n, sin = len(g), math.sin(delta)
    if len(axes) == 0:
        return g
    blocks, cones = [], []
    for axis in axes:  # (⟨a,u⟩, sinΔ·u) lies in the second-order cone
        blocks.append(-np.vstack([axis, sin * np.eye(n)]) if sin > 0 else -axis[None])
        cones.append(clarabel.SecondOrderConeT(n + 1) if sin > 0 else clarabel.NonnegativeConeT(1))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    matrix = sparse.csc_matrix(np.vstack(blocks))
    zero = np.zeros(matrix.shape[0])
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(sparse.eye_array(n)), -g, matrix, zero, cones, settings
    ).solve()
    return np.asarray(solution.x) if str(solution.status) == "Solved" else None


find_compiled = jax.jit(find_direction, static_argnames=("active_constraints", "method"))


class TestProjectCone:
    @given(gradient_matrices(max_objectives=2, min_objectives=2), DELTAS)
    def test_is_the_nearest_point_of_the_cone(self, rows, delta):
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
    def test_agrees_with_an_independent_solver(self, rows, delta):
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
    def test_scales_with_g_and_ignores_the_length_of_the_axis(self, rows, delta, first, second):
        g, axis = rows
        expected = project_cone(g, axis, delta) * 2.0**first
        found = project_cone(g * 2.0**first, axis * 2.0**second, delta)
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11 * abs(expected).max())

    def test_apex_and_antiparallel(self):
        axis = np.array([0.0, 1.0])
        delta = math.radians(10)
        assert project_cone([0.0, -1.0], axis, delta).tolist() == [0.0, 0.0]
        assert project_cone([1e-9, -1.0], axis, delta).tolist() == [0.0, 0.0]
        assert project_cone([0.0, 0.0], axis, delta).tolist() == [0.0, 0.0]
        assert project_cone([1.0, 2.0], [0.0, 0.0], delta).tolist() == [1.0, 2.0]
        np.testing.assert_allclose(project_cone([1.0, -1.0], axis, 0.0), [1.0, 0.0])
        # Hand-computed: a vector across the axis goes to its edge, ‖p‖ = cosΔ.
        p = project_cone([1.0, 0.0], axis, delta)
        np.testing.assert_allclose(
            p, math.cos(delta) * np.array([math.cos(delta), math.sin(delta)])
        )

    def test_the_papers_formula_outside_of_the_polar_cone(self):
        rng = np.random.default_rng(0)
        g, a, delta = rng.normal(size=3), rng.normal(size=3), math.radians(12)
        g = g - a * (g @ a + 0.3) / (a @ a)  # φ somewhat above π/2
        phi = math.acos(g @ a / np.linalg.norm(g) / np.linalg.norm(a))
        ratio = np.linalg.norm(g) / np.linalg.norm(a)
        direction = g + a * ratio * (math.sin(phi) * math.tan(delta) - math.cos(phi))
        printed = math.cos(delta) / math.sin(phi) * math.sin(delta + phi) * direction
        np.testing.assert_allclose(project_cone(g, a, delta), printed)

    def test_batches_dtypes_and_libraries(self):
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
    def test_derivatives_are_finite(self, g, axis):
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
    def test_mistakes_are_named(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            project_cone(*arguments)


class TestExact:
    @given(gradient_matrices(), DELTAS)
    def test_optimality_conditions(self, rows, delta):
        """u lies in every cone and ⟨g,u⟩=‖u‖², and g−u is a sum of vectors in the polar cones.

        The last is shown by u's own form: weights of the touching gradients are not negative, others are 0.
        """
        direction = exact(rows, delta)
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
    def test_agrees_with_an_independent_solver(self, rows, delta):
        assume(rows[-1].any())
        expected = project_with_clarabel(rows, delta)
        assume(expected is not None)
        length = np.linalg.norm(expected)
        direction = exact(rows, delta)
        # An interior point is off by the root of its tolerance where the projection vanishes.
        assume(abs(length - math.sin(delta)) > 1e-5)
        assume(length > 1e-3 or length < 1e-8)
        assert bool(direction.found) == (length >= math.sin(delta) and length > 1e-3)
        if direction.found:
            g = unit(rows)[-1]
            found = direction.weights @ rows / np.linalg.norm(rows[-1])
            assert -1e-4 < np.linalg.norm(found - g) - np.linalg.norm(expected - g) < 1e-7

    @given(gradient_matrices(min_objectives=2), DELTAS)
    def test_finds_whatever_the_pass_finds_and_gains_no_less(self, rows, delta):
        ours, passed = exact(rows, delta), exact(rows, delta, method="sequential")
        if passed.found:
            assert ours.found
            gains = [unit(d.weights @ rows) @ rows[-1] for d in (ours, passed)]
            assert gains[0] >= gains[1] - 1e-7 * np.linalg.norm(rows[-1])

    @given(gradient_matrices(min_objectives=2, max_objectives=2), DELTAS)
    def test_is_project_cone_for_two_objectives(self, rows, delta):
        expected = project_cone(rows[1], rows[0], delta)
        direction = exact(rows, delta)
        if direction.found:
            scale = np.linalg.norm(rows[1])
            np.testing.assert_allclose(
                direction.weights @ rows / scale, expected / scale, atol=1e-7
            )
        else:
            assert np.linalg.norm(expected) <= math.sin(delta) * np.linalg.norm(rows[1]) + 1e-6

    def test_one_pass_misses_directions_that_exist(self):
        """The share of "false None" among random gradients grows with the number of cones."""
        rng = np.random.default_rng(0)
        missed = []
        for size in (3, 4, 5):
            rows = rng.normal(size=(2000, size, 8))
            gram = rows @ np.swapaxes(rows, -1, -2)
            zeros = np.zeros((2000, size))
            options = {"delta": math.radians(5)}
            true = find_direction(gram, zeros, zeros[:, 1:], method="exact", **options).found
            passed = find_direction(gram, zeros, zeros[:, 1:], **options).found
            assert not np.any(passed & ~true)
            missed.append(np.mean(~passed[true]))
        assert 0.1 < missed[0] < 0.35
        assert missed[0] < missed[1] < missed[2]

    def test_too_many_objectives(self):
        with pytest.raises(ValueError, match=r"method: .* K ≤ 16"):
            exact(np.eye(17), 0.1)


class TestSequential:
    @given(gradient_matrices(), DELTAS)
    def test_is_the_papers_algorithm_in_vector_space(self, rows, delta):
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
                (np.abs(cosines - math.sin(delta)) < 1e-12)
                | (np.abs(cosines - math.sin(delta)) > 1e-6)
            )
        )
        expected = length > 0 and bool(np.all(cosines >= math.sin(delta) - 1e-9))
        assume(delta > 0 or abs(cosines[-1]) > 1e-6)
        direction = exact(rows, delta, method="sequential")
        assert bool(direction.found) == expected
        if expected:
            np.testing.assert_allclose(direction.weights @ rows, u, atol=1e-7)

    def test_halfspace_is_delta_zero(self):
        rows = np.random.default_rng(3).normal(size=(3, 6))
        half = exact(rows, 0.3, method="halfspace")
        zero = exact(rows, 0.0, method="sequential")
        np.testing.assert_array_equal(half.weights, zero.weights)

    def test_two_objectives_part_at_pi_minus_two_delta(self):
        """Cones of half-angle π/2−Δ around both gradients meet exactly while φ ≤ π−2Δ."""
        for degrees, exists in ((150, True), (159.9, True), (160.1, False), (175, False)):
            phi = math.radians(degrees)
            rows = np.array([[1.0, 0.0], [math.cos(phi), math.sin(phi)]])
            for method in ("sequential", "exact"):
                assert bool(exact(rows, math.radians(10), method=method).found) == exists, degrees


class TestFindDirection:
    def test_which_objective(self):
        gram = np.eye(3)
        thresholds = [0.0, 0.0]
        for values, objective in (([-1, -1, 0], 0), ([0, -1, 0], 1), ([1, 1, 0], 2)):
            direction = find_direction(gram, values, thresholds, method="exact")
            assert direction.objective == objective
            assert direction.found
            assert direction.reason == Reason.FOUND
        assert find_direction(gram, [0, 0, 0], [math.inf, 0]).objective == 0
        assert find_direction(gram, [-9, 0, 0], [-math.inf, 0]).objective == 2

    def test_the_first_objective_is_followed_as_it_is(self):
        rows = np.random.default_rng(0).normal(size=(3, 4))
        for method in ("sequential", "exact", "halfspace"):
            direction = find_direction(rows @ rows.T, [-1, 0, 0], [0, 0], method=method)
            np.testing.assert_allclose(direction.weights, [1.0, 0.0, 0.0], atol=1e-12)

    @pytest.mark.parametrize("method", ["sequential", "exact"])
    def test_active_constraints_ignore_objectives_with_room(self, method):
        gram = np.array([[1.0, -0.9], [-0.9, 1.0]])
        options = {"delta": 0.1, "active_constraints": True, "method": method}
        free = find_direction(gram, [0.3, 0.0], [0.0], buffer=0.2, **options)
        tight = find_direction(gram, [0.1, 0.0], [0.0], buffer=0.2, **options)
        np.testing.assert_allclose(free.weights, [0.0, 1.0])
        assert tight.weights[0] > 0.5

    def test_per_objective_deltas(self):
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(3, 5))
        delta = np.array([0.05, 0.3, 0.0])
        direction = exact(rows, delta)
        assert direction.found
        u = unit(direction.weights @ rows)
        assert np.all(unit(rows) @ u >= np.sin(delta) - 1e-12)
        assert not np.all(
            unit(rows) @ unit(exact(rows, 0.05).weights @ rows) >= np.sin(delta) - 1e-12
        )

    @pytest.mark.parametrize("method", ["sequential", "exact", "halfspace"])
    def test_zero_gradients(self, method):
        rows = np.array([[0.0, 0.0], [-1.0, 0.5]])
        found = exact(rows, 0.1, method=method)
        np.testing.assert_allclose(found.weights, [0.0, 1.0])
        lost = exact(rows[::-1], 0.1, method=method)
        assert not lost.found
        assert lost.reason == Reason.ZERO_GRADIENT

    def test_reasons(self):
        opposite = np.array([[1.0, 0.0], [-1.0, 0.0]])
        assert exact(opposite, 0.1).reason == Reason.STATIONARY
        assert exact(opposite, 0.1, method="sequential").reason == Reason.MISSED
        nan = jax.jit(find_direction)(jnp.full((2, 2), jnp.nan), jnp.zeros(2), jnp.zeros(1))
        assert nan.reason == Reason.NOT_FINITE
        assert not nan.found
        assert not nan.weights.any()

    @pytest.mark.parametrize("method", ["sequential", "exact", "halfspace"])
    @given(rows=gradient_matrices(max_size=20), delta=DELTAS, seed=st.integers(0, 99))
    def test_libraries_agree(self, method, rows, delta, seed):
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
    def test_jit_vmap_and_leading_axes_agree(self, method):
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

    @pytest.mark.parametrize("argument", ["delta", "thresholds", "values", "buffer", "gram"])
    def test_vmap_over_each_argument_alone(self, argument):
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

    def test_sweeps_over_delta_compile_once(self):
        traces = []

        @jax.jit
        def find(gram, delta, thresholds):
            traces.append(None)
            return find_direction(gram, jnp.zeros(3), thresholds, delta=delta, method="exact").found

        for delta in (0.0, 0.1, 0.2):
            find(jnp.eye(3), delta, jnp.full(2, delta))
        assert len(traces) == 1

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
    def test_derivatives_are_finite(self, method, rows):
        def total(rows):
            direction = find_direction(
                rows @ rows.T, jnp.zeros(3), jnp.zeros(2), delta=0.1, method=method
            )
            return jnp.sum(direction.weights)

        assert bool(jnp.all(jnp.isfinite(jax.jit(jax.grad(total))(jnp.asarray(rows)))))

    @given(gradient_matrices(max_size=20), DELTAS)
    def test_single_precision_behaves(self, rows, delta):
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
    def test_mistakes_are_named(self, changes, message):
        arguments = {"gram": np.eye(2), "values": [0.0, 0.0], "thresholds": [0.0], **changes}
        with pytest.raises(ValueError, match=message):
            inspect.unwrap(find_direction)(**arguments)  # past the type checker of the tests


class TestStationarity:
    @given(gradient_matrices(max_size=6), DELTAS)
    def test_means_that_no_direction_suits_all(self, rows, delta):
        """No random direction, and none of the gradients' sums, lies in the cones of a stationary point."""
        assume(delta > 0)
        rows = unit(rows)
        if not is_stationary(rows @ rows.T, delta):
            assert rows.any(axis=-1).all()
            return
        if rows.any(axis=-1).all():
            rng = np.random.default_rng(0)
            tries = np.vstack(
                [
                    rng.normal(size=(200, rows.shape[1])),
                    rng.dirichlet(np.ones(len(rows)), 200) @ rows,
                ]
            )
            assert not np.any(np.all(rows @ unit(tries).T >= math.sin(delta) + 1e-6, axis=0))

    def test_opposite_gradients(self):
        gram = np.array([[[1.0, -1.0], [-1.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]])
        assert is_stationary(gram, 0.1).tolist() == [True, False]
        assert bool(is_stationary([[0.0]], 0.1))

    def test_ascent_bound(self):
        """F_j = −½μ‖x−c_j‖²: at a Δ-stationary point no longer step is an ascent for both."""
        mu, delta = 2.0, math.radians(10)
        centres = np.array([[1.0, 0.02], [-1.0, 0.0]])
        rows = mu * centres  # gradients at the origin
        assert bool(is_stationary(rows @ rows.T, delta))
        bound = float(ascent_bound(rows @ rows.T, delta, mu))
        assert bound == pytest.approx(2 * math.sin(delta) / mu * np.linalg.norm(rows, axis=1).max())
        steps = np.random.default_rng(0).normal(size=(2000, 2))
        steps *= np.random.default_rng(1).uniform(
            bound, 3 * bound, size=(2000, 1)
        ) / np.linalg.norm(steps, axis=1, keepdims=True)
        values = -0.5 * mu * np.sum((steps[:, None] - centres) ** 2, axis=-1)
        start = -0.5 * mu * np.sum(centres**2, axis=-1)
        assert not np.any(np.all(values >= start, axis=1))
        with pytest.raises(ValueError, match="strong_concavity: must be positive"):
            ascent_bound(rows @ rows.T, delta, 0.0)
        for bad in ([[math.nan]], np.ones((2, 3)), [1.0]):
            with pytest.raises(ValueError, match="gram: "):
                ascent_bound(bad, delta, mu)
            with pytest.raises(ValueError, match="gram: "):
                is_stationary(bad, delta)
