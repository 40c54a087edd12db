"""The compiled loop behind `maximize`: one step after the other until none is possible.

A step is plain (`_fixed_step`: the paper's, or any optimiser's) or safe (`_safe_step`: it keeps the proposition;
`_searched_flow_step`: it is as short as the flow needs).
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PyTree

from lexicone.directions._find_direction import Direction, DirectionMethod, Reason, find_direction
from lexicone.directions._flow_ascent import flow_direction, lost_in_rounding
from lexicone.directions._gradients import combine, gram, values_and_gradients

__all__ = [
    "AscentParameters",
    "AscentSettings",
    "AscentState",
    "StepRule",
    "ascend",
    "begin",
    "evaluate_at",
    "record",
]

StepRule = Literal["fixed", "safe"]

_ARMIJO = 1e-4  # share of the linear prediction that a safe step must gain
_CREEP = 64  # a safe step so many times shorter than the longest one means that Δ is in the way


class AscentSettings(NamedTuple):
    """What the compiled program depends on."""

    fun: Callable[[Any], Any]
    method: DirectionMethod
    active_constraints: bool
    step: StepRule
    optimizer: optax.GradientTransformation


class AscentParameters(NamedTuple):
    """What may change without compiling again."""

    thresholds: Float[Array, " K-1"]
    delta: Float[Array, " K"]
    buffer: Float[Array, " K-1"]
    step_size: Float[Array, ""]
    tolerance: Float[Array, ""]


class AscentState(NamedTuple):
    """Where an ascent is."""

    x: PyTree
    previous: PyTree
    """x before the last step."""
    optimizer: PyTree
    step: Int[Array, ""]
    step_size: Float[Array, ""]
    """The longest safe step so far: one that was cut short at a threshold says nothing about the next."""
    caution: Float[Array, ""]
    """The share of Δ and of the buffer that a safe ascent still uses."""
    stopped: Bool[Array, ""]
    outcome: Int[Array, ""]
    """A `Reason`; FOUND if no step is safe, or while running."""
    objective: Int[Array, ""]
    history: Float[Array, "steps K"]
    path: PyTree | None


def begin(
    settings: AscentSettings,
    parameters: AscentParameters,
    x: PyTree,
    dtype: Any,
    max_steps: int,
    record_path: bool,
) -> AscentState:
    """The state before the first step."""
    rows = max_steps + 1
    size = parameters.delta.shape[0]
    return AscentState(
        x=x,
        previous=x,
        optimizer=settings.optimizer.init(x),
        step=jnp.int32(0),
        step_size=parameters.step_size,
        caution=jnp.ones_like(parameters.step_size),
        stopped=jnp.bool_(False),
        outcome=jnp.int32(Reason.FOUND),
        objective=jnp.int32(0),
        history=jnp.zeros((rows, size), dtype),
        path=jax.tree.map(lambda leaf: jnp.zeros((rows, *leaf.shape), leaf.dtype), x)
        if record_path
        else None,
    )


def evaluate_at(fun: Callable[[Any], Any], x: PyTree) -> Array:
    """F(x) as one array; the function may return a list of numbers."""
    out = fun(x)
    out = jnp.stack(out) if isinstance(out, list | tuple) else jnp.asarray(out)
    out = out[None] if out.ndim == 0 else out  # one objective may be a number
    return out.astype(jnp.result_type(out.dtype, *jax.tree.leaves(x)))


@partial(jax.jit, static_argnums=0)
def ascend(
    settings: AscentSettings,
    parameters: AscentParameters,
    state: AscentState,
    until: Int[Array, ""] | int,
) -> AscentState:
    """Steps until one is impossible or ``state.step`` reaches ``until``."""
    move = _fixed_step
    if settings.step == "safe":
        move = _searched_flow_step if settings.method == "flow" else _safe_step

    def body(state: AscentState) -> AscentState:
        values, gradients = values_and_gradients(partial(evaluate_at, settings.fun), state.x)
        products = gram(gradients)
        state = record(state, values)
        if settings.method == "flow":
            direction = flow_direction(
                products, values, parameters.thresholds, state.objective, state.step_size
            )
        else:
            direction = _direction(settings, parameters, products, values, state.caution)
        moved = move(settings, parameters, state, values, gradients, products, direction)
        own = jnp.sqrt(products[direction.objective, direction.objective])
        finite = jnp.all(jnp.isfinite(values)) & jnp.all(jnp.isfinite(products))
        outcome = jnp.where(own <= parameters.tolerance, Reason.ZERO_GRADIENT, moved.outcome)
        outcome = jnp.where(finite, outcome, Reason.NOT_FINITE)
        stopped = moved.stopped | (outcome != Reason.FOUND)
        moved = jax.tree.map(partial(jnp.where, stopped), state, moved)
        return moved._replace(
            previous=jax.tree.map(partial(jnp.where, stopped), state.previous, state.x),
            stopped=stopped,
            outcome=outcome.astype(jnp.int32),
            objective=direction.objective.astype(jnp.int32),
        )

    state = jax.lax.while_loop(lambda s: ~s.stopped & (s.step < until), body, state)
    back = state.outcome == Reason.NOT_FINITE
    return state._replace(
        x=jax.tree.map(partial(jnp.where, back), state.previous, state.x),
        step=jnp.where(back, jnp.maximum(state.step - 1, 0), state.step),
    )


def record(state: AscentState, values: Array) -> AscentState:
    """Notes x and its values in the history."""
    path = state.path
    if path is not None:
        path = jax.tree.map(lambda p, leaf: p.at[state.step].set(leaf), path, state.x)
    return state._replace(history=state.history.at[state.step].set(values), path=path)


def _direction(
    settings: AscentSettings,
    parameters: AscentParameters,
    products: Array,
    values: Array,
    caution: Array,
    active: Array | None = None,
) -> Direction:
    buffer = parameters.buffer * caution if active is None else jnp.where(active, jnp.inf, 0.0)
    return find_direction(
        products,
        values,
        parameters.thresholds,
        delta=parameters.delta * caution,
        active_constraints=settings.active_constraints,
        buffer=buffer,
        method=settings.method,
    )


def _fixed_step(
    settings: AscentSettings,
    parameters: AscentParameters,
    state: AscentState,
    values: Array,
    gradients: PyTree,
    products: Array,
    direction: Direction,
) -> AscentState:
    """``x + α·direction``, or whatever the optimiser makes of the direction."""
    descent = jax.tree.map(jnp.negative, combine(direction.weights, gradients))
    updates, optimizer = settings.optimizer.update(descent, state.optimizer, state.x)
    move = partial(_add_scaled, parameters.step_size)
    x = jax.tree.map(move, state.x, updates)
    return state._replace(
        x=x,
        optimizer=optimizer,
        step=state.step + 1,
        outcome=direction.reason.astype(jnp.int32),
    )


def _add_scaled(scale: Array, x: Array, update: Array) -> Array:
    return (x + scale * update).astype(x.dtype)


def _safe_step(
    settings: AscentSettings,
    parameters: AscentParameters,
    state: AscentState,
    values: Array,
    gradients: PyTree,
    products: Array,
    direction: Direction,
) -> AscentState:
    """The best step that keeps the satisfied objectives, over growing sets of constrained objectives.

    The first round constrains what `find_direction` does. With active constraints, objectives that would
    fall below their thresholds in a step just longer are constrained too in the next round, and so on.
    """
    objective, thresholds = direction.objective, parameters.thresholds
    above = jnp.arange(thresholds.shape[0]) < objective
    keep = thresholds if settings.active_constraints else values[:-1]
    active = values[:-1] <= thresholds + parameters.buffer * state.caution
    longest = jnp.maximum(parameters.step_size, 2 * state.step_size)

    def reach(weights: Array) -> tuple[Array, Array]:
        """The values after a step, and whether it changes x at all."""
        x = jax.tree.map(jnp.add, state.x, combine(weights, gradients))
        changes = [
            jnp.any(a != b) for a, b in zip(*map(jax.tree.leaves, (x, state.x)), strict=True)
        ]
        return evaluate_at(settings.fun, x), jnp.any(jnp.stack(changes))

    def attempt(direction: Direction) -> tuple[Array, Array, Array]:
        """The longest safe step, what it gains (0 if there is none), and the values after the next longer one."""
        slope = direction.weights @ products[objective]

        def gain(size: Array, reached: Array) -> Array:
            more = reached[objective] - values[objective]
            kept = jnp.all((reached[:-1] >= keep) | ~above)
            safe = kept & (more > 0) & (more >= _ARMIJO * size * slope) & direction.found
            return jnp.where(safe, more, 0.0)

        def go_on(search: tuple[Array, Array, Array, Array]) -> Array:
            size, reached, changed, _ = search
            return (gain(size, reached) == 0) & changed & direction.found

        def shorten(search: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
            size, reached, _, _ = search
            return size / 2, *reach(size / 2 * direction.weights), reached

        begin = (longest, *reach(longest * direction.weights), values)
        size, reached, _, beyond = jax.lax.while_loop(go_on, shorten, begin)
        return size, gain(size, reached), beyond

    size, gain, beyond = attempt(direction)
    weights, wanting = direction.weights, ~direction.found
    for _ in range(thresholds.shape[0] if settings.active_constraints else 0):
        active = active | (above & ~(beyond[:-1] >= thresholds))
        direction = _direction(settings, parameters, products, values, state.caution, active)
        next_size, next_gain, beyond = attempt(direction)
        better = next_gain > gain
        weights = jnp.where(better, direction.weights, weights)
        size, gain = jnp.where(better, next_size, size), jnp.maximum(next_gain, gain)
        wanting = wanting | ~direction.found

    stuck = gain == 0
    step = combine(jnp.where(stuck, 0.0, size * weights), gradients)
    creeping = wanting & (size < longest / _CREEP)
    caution = jnp.where(creeping | stuck, state.caution / 2, state.caution)
    # Where even the longest step is lost in rounding, the next search begins with a longer one.
    lost = stuck & ~reach(longest * weights)[1]
    huge = jnp.finfo(size.dtype).max ** 0.5
    grown = jnp.minimum(longest * 2.0**10, jnp.maximum(longest, huge))
    return state._replace(
        x=jax.tree.map(partial(_add_scaled, jnp.ones_like(size)), state.x, step),
        step=state.step + ~stuck,
        step_size=jnp.where(lost, grown, jnp.maximum(size, state.step_size)),
        caution=caution,
        stopped=stuck & (caution < jnp.finfo(size.dtype).eps ** (2 / 3)),
    )


def _searched_flow_step(
    settings: AscentSettings,
    parameters: AscentParameters,
    state: AscentState,
    values: Array,
    gradients: PyTree,
    products: Array,
    direction: Direction,
) -> AscentState:
    """The longest of 2α, α, α/2, … that gains half of what the gradient of the Lagrangian promises: α‖d‖²/2.

    Then α is at most one over the Lagrangian's curvature along d. What is lost in rounding counts as gained.
    """

    def reach(size: Array) -> tuple[Array, Direction, PyTree, Array]:
        found = flow_direction(products, values, parameters.thresholds, direction.objective, size)
        x = jax.tree.map(
            lambda x, d: (x + size * d).astype(x.dtype), state.x, combine(found.weights, gradients)
        )
        return size, found, x, evaluate_at(settings.fun, x)

    def wanting(search: tuple[Array, Direction, PyTree, Array]) -> Array:
        """How much the gain falls short of half of the promise; NaN where a value is."""
        size, found, _, reached = search
        promised = size * (found.weights @ products @ found.weights)
        return promised / 2 - found.weights @ (reached - values)

    def go_on(search: tuple[Array, Direction, PyTree, Array]) -> Array:
        _, found, x, _ = search
        changed = [
            jnp.any(a != b) for a, b in zip(*map(jax.tree.leaves, (x, state.x)), strict=True)
        ]
        hidden = lost_in_rounding(found.weights, values)
        return ~(wanting(search) <= hidden) & jnp.any(jnp.stack(changed))

    search = jax.lax.while_loop(
        go_on, lambda search: reach(search[0] / 2), reach(2 * state.step_size)
    )
    size, found, x, reached = search
    # a gain that rounding hides says nothing about longer steps
    size = jnp.where(wanting(search) <= 0, size, jnp.minimum(size, state.step_size))
    usable = jnp.all(jnp.isfinite(reached))
    return state._replace(
        x=jax.tree.map(partial(jnp.where, usable), x, state.x),
        step=state.step + usable,
        step_size=jnp.where(usable, size, state.step_size),
        outcome=jnp.where(found.found, direction.reason, found.reason).astype(jnp.int32),
        stopped=~usable,
    )
