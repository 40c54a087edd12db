"""Ordered losses in JAX: minimised, with upper bounds, and running means that decide which bounds are met."""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from lexicone import (
    Order,
    Reason,
    at_least,
    at_most,
    find_direction,
    highest,
    lowest,
    ordered_gradient,
)
from lexicone.directions import OrderedGradient, OrderedState

pytestmark = pytest.mark.usefixtures("compile_quickly", "without_shape_checks")

CENTRES = jnp.array([[0.0, 0.0], [2.0, 0.0], [0.0, 3.0]])


def distances(x, shift=0.0):
    """Three squared distances, from the origin, (2, 0) and (0, 3)."""
    return jnp.sum((x[None] + shift - CENTRES) ** 2, axis=1)


def updated(descent: OrderedGradient, x, *args, state=None):
    """One compiled update, the first if there is no state yet."""
    return jax.jit(descent.update)(x, descent.init(x) if state is None else state, *args)


def train(descent: OrderedGradient, x, steps: int, optimizer=None, **given):
    optimizer = optax.sgd(0.05) if optimizer is None else optimizer

    def step(carry, _):
        x, state, memory = carry
        gradient, state = descent.update(x, state, **given)
        updates, memory = optimizer.update(gradient, memory, x)
        return (optax.apply_updates(x, updates), state, memory), state.losses.mean

    start = (x, descent.init(x), optimizer.init(x))
    (x, state, _), means = jax.jit(lambda c: jax.lax.scan(step, c, None, length=steps))(start)
    return x, state, means


def test_is_find_direction_with_the_signs_of_losses():
    x = jnp.array([0.5, 1.5])
    descent = ordered_gradient(distances, [3.0, 0.5], smoothing=0.0, method="exact", delta=0.1)
    gradient, state = updated(descent, x)
    rows = np.asarray(2 * (x[None] - CENTRES))
    losses = np.asarray(distances(x))
    expected = find_direction(
        rows @ rows.T, -losses, np.array([-3.0, -0.5]), delta=0.1, method="exact"
    )
    np.testing.assert_allclose(gradient, expected.weights @ rows, rtol=1e-6)
    assert state.direction.objective == 1
    assert state.met.tolist() == [True, False]
    np.testing.assert_allclose(state.losses.mean, losses)


@pytest.mark.parametrize(
    "optimizer", [optax.sgd(0.02), optax.adam(0.02), optax.sgd(0.005, momentum=0.9)]
)
def test_an_optimiser_goes_where_the_bounds_say(optimizer):
    """At most 1 from the origin, then as near to (2, 0) as that allows: (1, 0). Without the bound all the way.

    With momentum too, and a memory of ten batches: a flow that asked the running means would swing about the bound.
    """
    for bound, where in ((1.0, [1.0, 0.0]), (np.inf, [2.0, 0.0])):
        descent = ordered_gradient(lambda x: distances(x)[:2], [bound])
        x, _, _ = train(descent, jnp.array([0.3, 0.9]), 600, optimizer)
        np.testing.assert_allclose(x, where, atol=2e-3)


def test_the_switch_of_the_paper_flaps_where_the_flow_holds_still():
    """Steps of a fixed length around the bound: the flow comes to rest at it, the switch goes back and forth."""
    far = {}
    settings: dict[str, Any] = {"flow": {}, "exact": {"active_constraints": True}}
    for method, options in settings.items():
        options |= {"method": method, "smoothing": 0.0}
        descent = ordered_gradient(lambda x: distances(x)[:2], [1.0], **options)
        _, _, means = train(descent, jnp.array([0.3, 0.9]), 600, optax.sgd(0.02))
        far[method] = np.abs(means[-50:, 0] - 1.0).max()
    assert far["flow"] < 1e-3
    assert far["exact"] > 0.02


def test_vmap_is_a_loop():
    descent = ordered_gradient(distances, [1.0, 4.0])
    starts = jnp.array([[0.1, 0.2], [1.5, 1.0], [-1.0, 3.0]])
    together = jax.jit(jax.vmap(lambda x: descent.update(x, descent.init(x))))(starts)
    for i, x in enumerate(starts):
        alone = updated(descent, x)
        one = jax.tree.map(lambda leaf, i=i: leaf[i], together)
        jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-6), one, alone)


def test_one_loss_is_plain_descent():
    x = jnp.array([1.0, 2.0])
    for order in ([], Order([])):
        for losses in (lambda x: [x @ x], lambda x: x @ x):
            descent = ordered_gradient(losses, order)
            gradient, state = updated(descent, x)
            np.testing.assert_allclose(gradient, 2 * x, rtol=1e-6)
            assert state.met.shape == (0,)


def test_one_lucky_batch_decides_nothing():
    """Mean 2 with one batch of .5: still not within 1. With a memory of nothing it is."""
    x = jnp.zeros(2)
    for smoothing, met in ((0.9, False), (0.0, True)):
        descent = ordered_gradient(
            lambda x, v: jnp.stack([v + x @ x, x @ x]), [1.0], smoothing=smoothing
        )
        state, update = descent.init(x), jax.jit(descent.update)
        for value in (2.0, 2.0, 2.0, 0.5):
            _, state = update(x + 1e-3, state, value)
        assert bool(state.met[0]) is met


def test_running_means_are_those_of_weights_that_fade():
    descent = ordered_gradient(lambda x, v: jnp.stack([v * x[0]]), [], smoothing=0.8)
    x, values = jnp.ones(1), [1.0, 5.0, 2.0, 4.0]
    state, update = descent.init(x), jax.jit(descent.update)
    for value in values:
        _, state = update(x, state, value)
    fading = 0.8 ** np.arange(3, -1, -1)
    np.testing.assert_allclose(state.losses.mean, [fading @ values / fading.sum()], rtol=1e-6)
    assert float(state.losses.weight) == pytest.approx(1 - 0.8**4, rel=1e-6)


def test_accumulated_microbatches_are_the_whole_batch():
    rng = np.random.default_rng(0)
    inputs, targets = jnp.asarray(rng.normal(size=(12, 3))), jnp.asarray(rng.normal(size=12))

    def losses(w, inputs, targets):
        missed = inputs @ w - targets
        return jnp.stack([jnp.mean(missed**2), jnp.mean(jnp.abs(w)), w @ w])

    descent = ordered_gradient(losses, [2.0, 0.3])
    w = jnp.array([0.5, -0.4, 0.3])
    whole, state = updated(descent, w, inputs, targets)
    part = jax.jit(descent.gradients)
    parts = [part(w, inputs[i : i + 4], targets[i : i + 4]) for i in (0, 4, 8)]
    mean = jax.tree.map(lambda *each: sum(each) / 3, *parts)
    accumulated, after = jax.jit(descent.combine)(*mean, descent.init(w))
    np.testing.assert_allclose(accumulated, whole, rtol=1e-5)
    np.testing.assert_allclose(after.losses.mean, state.losses.mean, rtol=1e-6)


def test_optax_accumulates_what_comes_out():
    """MultiSteps averages two directions: the same as plain descent by half of both."""
    descent = ordered_gradient(distances, [1.0, 4.0])
    every_second = optax.MultiSteps(optax.sgd(0.1), 2)
    x = jnp.array([0.4, 0.7])
    state, memory = descent.init(x), every_second.init(x)
    directions, updates = [], jnp.zeros(2)
    for shift in (0.0, 0.1):
        gradient, state = updated(descent, x, shift, state=state)
        directions.append(gradient)
        moved, memory = every_second.update(gradient, memory, x)
        updates = jnp.asarray(moved)
        if shift == 0.0:
            assert not updates.any()
    np.testing.assert_allclose(updates, -0.05 * sum(directions), rtol=1e-5)


class Normalised(eqx.Module):
    """A model with a state, and with leaves that are no arrays."""

    first: eqx.nn.Linear
    norm: eqx.nn.BatchNorm
    activation: object

    def __init__(self, key):
        self.first = eqx.nn.Linear(3, 2, key=key)
        self.norm = eqx.nn.BatchNorm(2, axis_name="batch", mode="ema")
        self.activation = jax.nn.tanh

    def __call__(self, x, state):
        y, state = self.norm(self.first(x), state)
        return self.activation(y), state  # pyright: ignore[reportCallIssue]


@pytest.mark.slow
def test_an_equinox_model_with_a_mutable_state():
    model, memory = eqx.nn.make_with_state(Normalised)(jax.random.key(0))
    inputs = jax.random.normal(jax.random.key(1), (8, 3))

    def losses(model, memory, inputs):
        out, memory = jax.vmap(model, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(
            inputs, memory
        )
        size = jnp.sum(model.first.weight**2)
        return [jnp.mean((out - 0.5) ** 2), size], memory

    descent = ordered_gradient(losses, [0.3], has_aux=True)
    optimizer = optax.adam(0.05)
    state, moments = descent.init(model), optimizer.init(eqx.filter(model, eqx.is_inexact_array))

    @eqx.filter_jit
    def step(model, memory, state, moments):
        (gradient, memory), state = descent.update(model, state, memory, inputs)
        updates, moments = optimizer.update(
            gradient, moments, eqx.filter(model, eqx.is_inexact_array)
        )
        return eqx.apply_updates(model, updates), memory, state, moments

    started = memory
    for _ in range(60):
        model, memory, state, moments = step(model, memory, state, moments)
    assert float(state.losses.mean[0]) < 0.33
    assert float(state.losses.mean[1]) < 1.0
    counts = [jax.tree.leaves(m)[0] for m in (started, memory)]
    assert not np.array_equal(*counts)  # the model's state has moved on


def test_half_precision_parameters_keep_their_dtype():
    x = jnp.array([0.5, 1.5], jnp.bfloat16)
    descent = ordered_gradient(lambda x: distances(x.astype(jnp.float32)), [3.0, 0.5])
    gradient, state = updated(descent, x)
    assert gradient.dtype == jnp.bfloat16
    assert state.losses.mean.dtype == jnp.float32


def test_a_loss_that_does_not_depend_on_the_parameters():
    """As the last it leaves nothing to improve; above, it constrains nothing."""
    x = jnp.array([0.5, 1.5])
    last = ordered_gradient(lambda x: [x @ x, 7.0], [9.0], method="exact")
    gradient, state = updated(last, x)
    assert not gradient.any()
    assert state.direction.reason == Reason.ZERO_GRADIENT
    above = ordered_gradient(lambda x: [jnp.float64(7.0), x @ x], [9.0], method="exact")
    gradient, _ = updated(above, x)
    np.testing.assert_allclose(gradient, 2 * x, rtol=1e-6)


def test_not_a_number_inside_jit_changes_nothing():
    descent = ordered_gradient(distances, [1.0, 4.0])
    x = jnp.array([0.4, 0.7])
    _, state = updated(descent, x)
    for bad in (jnp.nan, jnp.inf):
        gradient, after = updated(descent, x, bad, state=state)
        assert not gradient.any()
        assert after.direction.reason == Reason.NOT_FINITE
        jax.tree.map(np.testing.assert_array_equal, after.losses, state.losses)


def test_not_a_number_is_refused_where_it_is_seen():
    descent = ordered_gradient(distances, {"origin": 1.0, "right": 4.0, "up": None})
    x = jnp.array([0.4, 0.7])
    with pytest.raises(ValueError, match=r"losses: origin is NaN or infinite"):
        descent.update(x, descent.init(x), jnp.nan)


def test_wrong_number_of_bounds():
    descent = ordered_gradient(distances, [1.0])
    x = jnp.array([0.4, 0.7])
    with pytest.raises(ValueError, match=r"losses: the order has 2 losses .* got shape \(3,\)"):
        descent.update(x, descent.init(x))


def test_the_state_of_another_order():
    x = jnp.array([0.4, 0.7])
    state = ordered_gradient(distances, [1.0, 4.0]).init(x)
    descent = ordered_gradient(lambda x: [x @ x, x.sum()], [1.0])
    with pytest.raises(ValueError, match=r"state: is of 3 losses, and the order has 2"):
        descent.update(x, state)


def test_derivatives_of_a_step_take_the_weights_for_constants():
    """Whoever learns through the step gets Σ wᵢ ∇²lossᵢ, and no NaN: here each ∇² is 2·1."""
    descent = ordered_gradient(distances, [1.0, 4.0])
    x = jnp.array([0.4, 0.7])
    step = jax.jit(lambda x: descent.update(x, descent.init(x)))
    _, state = step(x)
    slopes = jax.jacobian(lambda x: step(x)[0])(x)
    expected = 2.0 * float(state.direction.weights.sum()) * np.eye(2)
    np.testing.assert_allclose(slopes, expected, rtol=1e-5, atol=1e-6)


def test_nothing_is_met_before_a_batch_that_counts():
    descent = ordered_gradient(distances, [1.0, 4.0])
    x = jnp.array([0.4, 0.7])
    assert not descent.init(x).met.any()
    _, state = updated(descent, x, jnp.nan)
    assert not state.met.any()


def test_a_gradient_that_is_not_finite():
    """The loss is finite and its gradient is not."""
    descent = ordered_gradient(lambda x: [jnp.sqrt(x[0]), x @ x], {"root": 1.0, "size": None})
    x = jnp.zeros(2)
    with pytest.raises(ValueError, match=r"losses: the gradient of root, .* is NaN or infinite"):
        descent.update(x, descent.init(x))
    gradient, state = updated(descent, x)
    assert not gradient.any()
    assert state.direction.reason == Reason.NOT_FINITE
    assert not state.losses.weight.any()  # and no note is taken
    assert not state.met.any()


def test_losses_with_names_come_in_any_sequence():
    x, order = jnp.array([0.5, 1.5]), {"size": 1.0, "sum": None}
    plain, _ = updated(ordered_gradient(lambda x: [x @ x, x.sum()], order), x)
    named, _ = updated(ordered_gradient(lambda x: {"sum": x.sum(), "size": x @ x}, order), x)
    np.testing.assert_array_equal(named, plain)
    wrong = ordered_gradient(lambda x: {"sum": x.sum(), "length": x @ x}, order)
    with pytest.raises(ValueError, match=r"order: has the objectives size, sum, but losses has"):
        wrong.update(x, wrong.init(x))


def test_bounds_may_be_said_in_words():
    """As costs are said elsewhere; what asks for more of a loss, or for amounts per step, does not fit."""
    for order in ({"size": at_most(1.0), "sum": lowest}, Order([at_most(1.0)]), [at_most(1.0)]):
        assert ordered_gradient(distances, order).settings.order.thresholds == (1.0,)
    for wrong in ([at_least(1.0)], {"size": 1.0, "sum": highest}, [at_most(1.0), highest()]):
        with pytest.raises(ValueError, match=r"order: losses are minimised and have upper bounds"):
            ordered_gradient(distances, wrong)
    for wrong in ([-np.inf], [lowest(), 1.0], {"size": lowest, "sum": None}):
        with pytest.raises(ValueError, match=r"order: .* has no upper bound that can be met"):
            ordered_gradient(distances, wrong)
    with pytest.raises(ValueError, match=r"order: objective 1 is said per step"):
        ordered_gradient(distances, [at_most(1.0, per_step=True)])


@pytest.mark.parametrize(
    ("losses", "options"),
    [
        (lambda x: [x, x.sum()], {}),
        (lambda x: ["one", x.sum()], {}),
        (lambda x: [1, 2], {}),
        (lambda x: jnp.stack([x @ x, x.sum()]) * 1j, {}),
        (lambda x: ([x @ x, x.sum()], {"more": 1}), {}),
        (lambda x: jnp.stack([x @ x, x.sum(), x.sum()]), {"has_aux": True}),
    ],
)
def test_what_losses_return_is_looked_at(losses, options):
    descent = ordered_gradient(losses, [1.0], **options)
    x = jnp.ones(2)
    with pytest.raises(ValueError, match=r"losses: .* has_aux=True"):
        descent.update(x, descent.init(x))


@pytest.mark.parametrize("params", [{}, None, jnp.arange(3), {"name": "net"}, jnp.zeros(0)])
def test_nothing_to_train(params):
    descent = ordered_gradient(distances, [1.0, 4.0])
    with pytest.raises(ValueError, match=r"params: has no floating-point numbers"):
        descent.init(params)
    x = jnp.zeros(2)
    with pytest.raises(ValueError, match=r"params: has no floating-point numbers"):
        descent.update(params, descent.init(x))


def test_masked_arrays_have_to_be_filled():
    descent = ordered_gradient(distances, [1.0, 4.0])
    masked = np.ma.masked_array([1.0, 2.0], [True, False])
    with pytest.raises(ValueError, match=r"^params: has a masked array"):
        descent.update(masked, descent.init(jnp.zeros(2)))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"losses": 3.0}, "losses: expected a function"),
        ({"order": "0.1"}, "order: expected an Order or a list of upper bounds"),
        ({"order": 0.1}, "order: expected an Order or a list of upper bounds"),
        ({"has_aux": np.array([])}, "has_aux: must be True or False"),
        ({"smoothing": 1.0}, "smoothing: must be at least 0 and below 1"),
        ({"method": "newton"}, "method: expected one of"),
        ({"delta": 2.0}, "delta: must be at least 0 and below"),
    ],
)
def test_refusals(wrong, message):
    given = {"losses": distances, "order": [1.0, 4.0], **wrong}
    with pytest.raises(ValueError, match=message):
        ordered_gradient(given.pop("losses"), given.pop("order"), **given)


def test_there_is_a_gradient_for_each_loss():
    descent = ordered_gradient(distances, [1.0, 4.0])
    state = descent.init(jnp.zeros(2))
    with pytest.raises(ValueError, match=r"^gradients: expected 3 rows, as losses, got 1"):
        descent.combine(jnp.ones(3), jnp.ones((1, 3, 2)), state)


def test_the_state_is_a_pytree_of_arrays():
    state = ordered_gradient(distances, [1.0, 4.0]).init(jnp.zeros(2))
    assert isinstance(state, OrderedState)
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(state))
