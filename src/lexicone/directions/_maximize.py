"""Lexicographic ascent of differentiable functions with the LPA (section "Policy Gradient Approach for TLO").

Each step improves the first objective that is below its threshold, along a direction that keeps the objectives
above it (`find_direction`). The whole loop is one compiled program.
"""

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from numbers import Real
from typing import Any, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Float, PyTree

from lexicone._base.arrays import as_numbers
from lexicone._base.checks import check_flags, check_kind, check_range
from lexicone._base.html import block, table
from lexicone._base.progress import progress_bars
from lexicone._base.text import vector_text
from lexicone.directions._ascent import (
    AscentParameters,
    AscentSettings,
    AscentState,
    StepRule,
    ascend,
    begin,
    evaluate_at,
    record,
)
from lexicone.directions._find_direction import (
    DEFAULT_DELTA,
    DirectionMethod,
    Reason,
    find_direction,
)
from lexicone.models._matching import check_criterion
from lexicone.order import Order, OrderLike, as_order

__all__ = ["AscentStatus", "Maximum", "maximize"]

_PATH_LIMIT = 64 * 2**20  # bytes of path that are recorded without being asked for
_STEP_LIMIT = 10**7  # the values of every step are kept
_SHOWN = 12  # numbers of x in a notebook
_PLAIN = optax.sgd(1.0)  # one object, so that it compiles once; the step size is applied outside


class AscentStatus(StrEnum):
    """How an ascent ended."""

    OPTIMAL = "optimal"
    STATIONARY = "stationary"
    MAX_STEPS = "max_steps"
    NOT_FINITE = "not_finite"


class Maximum(NamedTuple):
    """The result of `maximize`."""

    x: PyTree
    values: Float[np.ndarray, " K"]
    """F(x)."""
    status: AscentStatus
    reason: str
    """The status in a sentence."""
    objective: int
    """The objective that was being improved at the end, counted from 0."""
    steps: int
    path: PyTree | None
    """x before every step and at the end: leaves ``[steps+1,…]``. None if it was not recorded."""
    history: Float[np.ndarray, "steps+1 K"]
    """F along the path."""

    def __repr__(self) -> str:
        values = vector_text(np.asarray(self.values, dtype=float), 6)
        return f"Maximum({self.status} after {self.steps} steps; values {values})"

    def _repr_html_(self) -> str:
        values = np.asarray(self.values, dtype=float)
        rows = [(f"objective {k + 1}", f"{value:.7g}") for k, value in enumerate(values)]
        if isinstance(self.x, np.ndarray | jax.Array) and self.x.size <= _SHOWN:
            rows.append(("x", vector_text(np.ravel(self.x), 6)))
        rows += [("steps", str(self.steps)), ("status", f"{self.status}: {self.reason}")]
        return block("Maximum", table((), rows))


def maximize(
    fun: Callable[[Any], Any],
    x0: Any,
    order: OrderLike,
    *,
    delta: Any = DEFAULT_DELTA,
    step_size: float | None = None,
    max_steps: int = 1000,
    step: StepRule = "fixed",
    optimizer: optax.GradientTransformation | None = None,
    method: DirectionMethod = "sequential",
    active_constraints: bool = False,
    buffer: Any = 0.0,
    tolerance: float | None = None,
    record_path: bool | None = None,
    progress: bool = False,
) -> Maximum:
    """Maximise K functions in order of importance, each but the last as far as its threshold.

    Args:
        fun: JAX function from x to K values. Compiled once per function: pass the same object again.
        x0: where to start; an array, a list of numbers, or any pytree of arrays.
        order: an `Order`, a list of thresholds, or a mapping from names to them.
        delta, active_constraints, buffer, method: as in `find_direction`. ``method="flow"`` improves one objective
            after the other and holds those that have had their turn: a step makes up what they miss, and may spend
            what they have to spare. Values count on the scale of what a step changes, so it takes no ``spread``.
        step_size: α of ``x + α·direction`` (default 0.02); for ``step="safe"`` the first step to try.
        max_steps: stop after so many steps.
        step: ``"fixed"`` takes every step, as the paper does. ``"safe"`` tries α, α/2, … until the current
            objective rises and no satisfied one falls below the value it must keep: its present value, or, with
            active constraints, its threshold. With active constraints, an objective that would fall below its
            threshold is constrained for that step. Where Δ (or the buffer) leaves no direction, a safe ascent
            halves both and goes on, because the check then carries the guarantee: it ends closer to the optimum.
            With the flow, it tries 2α, α, α/2, … until the step gains half of what its slope promises.
        optimizer: any optax optimiser in place of the plain step; it gets minus the direction as its gradient.
        tolerance: a gradient shorter than this is zero (default: 1.8e-12, in single precision 6.4e-6).
        record_path: keep every x in ``path``; by default if that takes at most 64 MiB.
        progress: show a progress bar.

    Statuses: ``optimal`` (all thresholds are met and the last gradient vanishes, or a safe ascent with exact
    directions and active constraints has no step left even for tiny Δ, or the flow comes to rest: the optimum, if
    the functions are concave), ``stationary`` (nothing is left that improves the current objective and keeps what
    must be kept; objectives after one that cannot reach its threshold are not improved), ``max_steps``,
    ``not_finite`` (NaN or infinity; the last finite x is returned).
    """
    order = as_order(order)
    check_criterion(order, "expected")
    x = _check_start(x0)
    dtype = jnp.result_type(*jax.tree.leaves(x))
    check_flags(active_constraints=active_constraints, progress=progress)
    if record_path is not None:
        check_flags(record_path=record_path)
    check_kind("step", step, get_args(StepRule))
    check_kind("method", method, get_args(DirectionMethod))
    if optimizer is not None and (step == "safe" or step_size is not None):
        raise ValueError('optimizer: replaces step_size and does not go with step="safe"')
    if not isinstance(max_steps, int | np.integer) or not 0 <= max_steps <= _STEP_LIMIT:
        raise ValueError(
            f"max_steps: expected a whole number from 0 to {_STEP_LIMIT}, got {max_steps!r}"
        )
    if not (optimizer is None or isinstance(optimizer, optax.GradientTransformation)):
        raise ValueError(f"optimizer: expected an optax optimiser, got {optimizer!r}")
    step_size = 0.02 if step_size is None else _number("step_size", step_size)
    check_range("step_size", step_size, 0.0, above=True, below=True)
    eps = float(jnp.finfo(dtype).eps)
    tolerance = _number("tolerance", eps**0.75 if tolerance is None else tolerance)
    check_range("tolerance", tolerance, 0.0)
    size = len(order)
    # One call on known numbers checks delta, buffer and the thresholds before anything is compiled.
    find_direction(
        np.eye(size), np.zeros(size), order.thresholds, delta=delta, buffer=buffer, method=method
    )
    delta, buffer = as_numbers("delta", delta), as_numbers("buffer", buffer)
    if not np.all(np.isfinite(buffer)):
        raise ValueError(f"buffer: must be finite, got {buffer}")
    for name, numbers in (("delta", delta), ("buffer", buffer)):
        if np.ndim(numbers) > 1:
            raise ValueError(f"{name}: give one number, or one for each, got {numbers!r}")
    start = _check_function(fun, x, size)

    settings = AscentSettings(fun, method, bool(active_constraints), step, optimizer or _PLAIN)
    scale = step_size if optimizer is None else 1.0
    parameters = AscentParameters(
        jnp.asarray(order.thresholds, dtype),
        jnp.broadcast_to(jnp.asarray(delta, dtype), (size,)),
        jnp.broadcast_to(jnp.asarray(buffer, dtype), (size - 1,)),
        jnp.asarray(scale, dtype),
        jnp.asarray(tolerance, dtype),
    )
    if record_path is None:
        bytes_each = sum(leaf.nbytes for leaf in jax.tree.leaves(x))
        record_path = bytes_each * (max_steps + 1) <= _PATH_LIMIT
    state = begin(settings, parameters, x, start.dtype, max_steps, record_path)
    state = _run(settings, parameters, state, max_steps, progress, order)
    return _result(order, settings, state, max_steps, tolerance)


def _number(name: str, value: Any) -> float:
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}: expected a number, got {value!r}") from None


def _check_start(x0: Any) -> PyTree:
    if isinstance(x0, list | tuple) and all(isinstance(v, Real) for v in x0):
        x0 = np.asarray(x0, float)
    try:
        x = jax.tree.map(jnp.asarray, x0)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"x0: expected arrays of numbers, got {x0!r}") from None
    leaves = jax.tree.leaves(x)
    if not any(leaf.size for leaf in leaves) or any(jnp.iscomplexobj(leaf) for leaf in leaves):
        raise ValueError("x0: expected at least one real number")
    if not all(bool(jnp.all(jnp.isfinite(leaf))) for leaf in leaves):
        raise ValueError("x0: contains NaN or infinity")
    return jax.tree.map(
        lambda leaf: leaf if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf.astype(float), x
    )


def _check_function(fun: Callable[[Any], Any], x: PyTree, size: int) -> jax.ShapeDtypeStruct:
    """Traces ``fun`` without running it, so that a wrong K is found before any work."""
    try:
        out = jax.eval_shape(partial(evaluate_at, fun), x)
    except (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError) as error:
        raise ValueError(f"fun: must be made of JAX operations ({type(error).__name__})") from error
    except Exception as error:
        shapes = jax.tree.map(jnp.shape, x)
        raise ValueError(f"fun: cannot be evaluated at x0 of shape {shapes}: {error}") from error
    if out.shape != (size,):
        raise ValueError(
            f"fun: must return {size} values ({size - 1} thresholds + 1), got shape {out.shape}"
        )
    return out


def _run(
    settings: AscentSettings,
    parameters: AscentParameters,
    state: AscentState,
    max_steps: int,
    progress: bool,
    order: Order,
) -> AscentState:
    """In one piece, or in pieces with a progress bar between them."""
    if not progress:
        return ascend(settings, parameters, state, max_steps)
    with progress_bars() as bar:
        task = bar.add_task("ascent", total=max_steps)
        while not state.stopped and state.step < max_steps:
            until = min(int(state.step) + max(max_steps // 50, 1), max_steps)
            state = ascend(settings, parameters, state, until)
            values = np.asarray(state.history[jnp.maximum(state.step - 1, 0)])
            listed = "  ".join(f"{n} {v:.4g}" for n, v in zip(order.labels, values, strict=True))
            bar.update(task, completed=int(state.step), description=f"ascent  {listed}")
    return state


def _result(
    order: Order, settings: AscentSettings, state: AscentState, max_steps: int, tolerance: float
) -> Maximum:
    if not state.stopped:  # the last x has not been looked at
        last = evaluate_at(settings.fun, state.x)
        state = record(state, last)
        if not bool(jnp.all(jnp.isfinite(last))):
            outcome, stopped = jnp.int32(Reason.NOT_FINITE), jnp.bool_(True)
            before = jnp.maximum(state.step - 1, 0)
            state = state._replace(x=state.previous, step=before, outcome=outcome, stopped=stopped)
    rows = slice(int(state.step) + 1)
    history = np.asarray(state.history[rows])
    status, reason = _explain(order, settings, state, max_steps, tolerance)
    return Maximum(
        x=state.x,
        values=history[-1],
        status=status,
        reason=reason,
        objective=int(state.objective),
        steps=int(state.step),
        path=jax.tree.map(lambda p: np.asarray(p[rows]), state.path),
        history=history,
    )


def _explain(
    order: Order, settings: AscentSettings, state: AscentState, max_steps: int, tolerance: float
) -> tuple[AscentStatus, str]:
    name = order.labels[int(state.objective)]
    outcome = Reason(int(state.outcome))
    if not state.stopped:
        return AscentStatus.MAX_STEPS, f"stopped after max_steps={max_steps} while improving {name}"
    if outcome is Reason.NOT_FINITE:
        return AscentStatus.NOT_FINITE, f"NaN or infinity after {int(state.step)} steps"
    last = int(state.objective) == len(order) - 1
    stuck_below = "" if last else " below its threshold; later objectives were not improved"
    if outcome is Reason.ZERO_GRADIENT:
        status = AscentStatus.OPTIMAL if last else AscentStatus.STATIONARY
        return status, f"the gradient of {name} is shorter than {tolerance:.1e}{stuck_below}"
    if outcome is Reason.STATIONARY and settings.method == "flow":
        status = AscentStatus.OPTIMAL if last else AscentStatus.STATIONARY
        return status, f"nothing improves {name}{stuck_below} and holds those before it"
    if outcome is Reason.STATIONARY:
        return (
            AscentStatus.STATIONARY,
            f"no direction within π/2−Δ of all gradients improves {name}",
        )
    if outcome is Reason.MISSED:
        return (
            AscentStatus.STATIONARY,
            f"projecting in turn leaves no direction that improves {name}",
        )
    # A safe ascent has run out of steps. Where it looked at every direction that the order allows, that is the
    # optimum; where it had to keep more than the thresholds, or might have missed a direction, it need not be.
    complete = settings.active_constraints and settings.method == "exact"
    status = (
        AscentStatus.OPTIMAL if last and (complete or len(order) == 1) else AscentStatus.STATIONARY
    )
    return status, f"no safe step improves {name}{stuck_below}, not even for tiny Δ"
