"""`maximize` with the flow: to the optimum where thresholds can be had, in order where they cannot."""

from decimal import Decimal

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from benchmarks.flow import behind, climb, judge, random_problem
from lexicone import Order, maximize
from lexicone.directions._flow_ascent import flow_direction
from lexicone.studies import lpa

pytestmark = pytest.mark.usefixtures("compile_quickly")

OPTIMUM = -0.5502523991


class TestThePapersBenchmark:
    @pytest.mark.parametrize("options", [{"step_size": 0.02}, {"step_size": 0.2}, {"step": "safe"}])
    def test_reaches_the_optimum(self, options):
        """With the paper's α=0.2 as well, where cones with active constraints go round in a circle."""
        result = lpa.ascend(method="flow", **options)
        assert result.status == "optimal"
        assert result.values[0] >= -0.5
        assert abs(result.values[1] - OPTIMUM) < 1e-7
        assert result.steps < 300

    def test_the_cones_go_round_in_a_circle(self):
        """Negative control for the test above."""
        result = lpa.ascend(**{**lpa.ACTIVE, "step_size": 0.2})
        assert result.status == "max_steps"
        assert np.ptp(result.history[-20:, 0]) > 0.1

    def test_from_everywhere_in_few_steps(self):
        starts = np.random.default_rng(0).uniform(-5, 5, size=(30, 2))
        for start in starts:
            result = lpa.ascend(start, method="flow", step="safe")
            assert result.status == "optimal"
            assert result.values[0] >= -0.5
            assert abs(result.values[1] - OPTIMUM) < 1e-7
            assert result.steps < 40

    def test_prices_at_the_optimum(self):
        """∇F₂ + p∇F₁ = 0 there: the price is what one more unit of F₁ costs of F₂."""
        x, y = lpa.true_optimum()[0]
        rows = np.array([[-8 * x - y, -2 * y - x], [-2 * (x - 1), -2 * (y - 0.5)]])
        weights = jax.jit(flow_direction)(
            jnp.asarray(rows @ rows.T),
            jnp.array([-0.5 + 1e-5, OPTIMUM]),
            jnp.array([-0.5]),
            jnp.int32(0),
            jnp.float64(0.1),
        ).weights
        ends = [lpa.ascend(method="flow", step="safe").values[1]]
        order = Order([-0.499], names=["F₁", "F₂"])
        ends += [maximize(lpa.objectives, lpa.START, order, method="flow", step="safe").values[1]]
        np.testing.assert_allclose(weights[0] / weights[1], (ends[0] - ends[1]) / 1e-3, rtol=1e-2)

    def test_out_of_reach(self):
        for threshold in (5.0, np.inf):
            result = maximize(lpa.objectives, [1.0, 1.0], [threshold], method="flow", step="safe")
            assert (result.status, result.objective) == ("stationary", 0)
            assert "later objectives were not improved" in result.reason
            np.testing.assert_allclose(result.values[0], 0.0, atol=1e-12)

    def test_a_threshold_that_never_matters(self):
        result = maximize(lpa.objectives, [3.0, 3.0], [-np.inf], method="flow", step="safe")
        assert result.status == "optimal"
        np.testing.assert_allclose(result.values[1], 0.0, atol=1e-12)

    def test_optimisers(self):
        result = maximize(
            lpa.objectives,
            [1.5, 1.5],
            lpa.ORDER,
            method="flow",
            optimizer=optax.adam(0.02),
            max_steps=1500,
        )
        np.testing.assert_allclose(result.values, [-0.5, OPTIMUM], atol=0.02)


class TestRandomProblems:
    """The first of the thousand of benchmarks/flow.py, against clarabel."""

    @pytest.mark.parametrize(("size", "n", "count"), [(2, 2, 10), (4, 6, 10)])
    def test_against_an_independent_solver(self, size, n, count):
        ends = set()
        for seed in range(count):
            problem = random_problem(seed, size, n)
            expected = judge(problem)
            if expected is None:
                continue
            best, last = expected
            result = climb(problem)
            assert behind(problem, result.values, best, last) < 1e-5
            assert result.objective == last
            assert result.status == ("optimal" if last == size - 1 else "stationary")
            ends.add(last)
        assert len(ends) > 1

    def test_many_objectives(self):
        def fun(x):
            targets = jnp.linspace(0.0, 3.0, 8)
            return -((x[0] - targets) ** 2) - (x[1] - jnp.sin(targets)) ** 2

        inside = np.asarray(fun(jnp.array([1.5, 0.5])))
        order = Order(inside[:-1] - 0.1)
        result = maximize(
            fun, [0.0, 2.0], order, method="flow", step="safe", max_steps=60, record_path=False
        )
        assert result.status == "optimal"
        assert np.all(order.satisfied(result.values))
        assert result.values[-1] > inside[-1]

    def test_opposite_gradients(self):
        """Three thresholds on a line: the second contradicts the first and gets what is left."""

        def fun(x):
            return jnp.stack([x[0], -x[0], -((x[1] - 1) ** 2), -(x[1] ** 2)])

        result = maximize(fun, [-3.0, 0.0], [1.0, 0.0, -0.25], method="flow", max_steps=2000)
        assert result.objective == 1
        np.testing.assert_allclose(result.values[:2], [1.0, -1.0], atol=1e-6)
        both = maximize(fun, [-3.0, 0.0], [1.0, -1.5, -0.25], method="flow", max_steps=2000)
        np.testing.assert_allclose(both.values[2:], [-0.25, -0.25], atol=1e-6)
        assert both.status == "optimal"
        assert 1.0 <= both.values[0] <= 1.5

    @pytest.mark.float32
    def test_single_precision(self):
        result = maximize(
            lpa.objectives, np.array([1.5, 1.5], np.float32), lpa.ORDER, method="flow", step="safe"
        )
        assert result.status == "optimal"
        assert result.values[0] >= -0.5
        np.testing.assert_allclose(result.values, [-0.5, OPTIMUM], atol=2e-3)


def test_a_buffer_is_of_plain_numbers():
    with pytest.raises(ValueError, match=r"^buffer: expected numbers"):
        maximize(lambda x: x, jnp.zeros(2), [0.5], buffer=Decimal("0.5"), max_steps=1)
