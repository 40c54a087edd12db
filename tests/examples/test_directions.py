"""Ordered objectives, a direction that respects them, and ascent along it."""

import jax.numpy as jnp
import numpy as np
import pytest

import lexicone as lx

pytestmark = pytest.mark.float32


def test_an_order_says_what_is_better():
    order = lx.Order({"safety": -0.5, "speed": None})  # a safety of −0.5 is good enough
    assert order.better([-0.5, 3.0], [-0.1, 2.0])  # both are safe enough: the faster one
    assert not order.better([-0.9, 3.0], [-0.1, 2.0])  # the first is not
    assert order.satisfied([-0.4, 3.0]).tolist() == [True]
    assert order.argmax([[-0.9, 3.0], [-0.1, 1.0], [-0.5, 2.0]]) == 2


def test_a_direction_improves_one_objective_and_keeps_those_above_it():
    gradients = np.array([[1.0, 0.0], [-1.0, 1.0]])  # they conflict
    gram = gradients @ gradients.T
    found = lx.find_direction(gram, values=[1.0, 0.0], thresholds=[0.5], delta=0.1)
    direction = found.weights @ gradients
    assert found.objective == 1  # the first has met its threshold
    assert (gradients @ direction > 0).all()


def test_opposite_gradients_leave_no_direction():
    gram = [[1.0, -1.0], [-1.0, 1.0]]
    assert lx.is_stationary(gram)
    found = lx.find_direction(gram, [1.0, 0.0], [0.5], method="exact")
    assert not found.found
    assert lx.Reason(int(found.reason)) is lx.Reason.STATIONARY


def test_a_gradient_is_projected_onto_the_cone_of_another():
    projected = lx.project_cone([1.0, -1.0], axis=[0.0, 1.0], delta=0.0)
    np.testing.assert_allclose(projected, [1.0, 0.0], atol=1e-6)


def test_maximize_in_order_of_importance():
    def fun(x):
        risk = 4 * x[0] ** 2 + x[1] ** 2 + x[0] * x[1]
        return jnp.stack([-risk, -((x[0] - 1) ** 2) - (x[1] - 0.5) ** 2])

    order = lx.Order({"safety": -0.5, "speed": None})
    found = lx.maximize(
        fun, [1.5, 1.5], order, method="exact", step="safe", active_constraints=True
    )
    assert found.status == "optimal"
    np.testing.assert_allclose(found.values, [-0.5, -0.5503], atol=1e-3)
