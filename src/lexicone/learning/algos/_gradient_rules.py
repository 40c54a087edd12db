"""Rules that combine K gradients: Gram matrix in, weights out.

- ``cone``: the paper's direction (`lexicone.directions`).
- ``half_space`` (Uchibe & Doya 2007): the gradient of the objective to improve, projected onto the half-spaces of the
  thresholds that bind. The cones with Δ=0.
- ``flow``: each threshold asks for a rate, and there is no switch (`lexicone.directions`).
- ``lagrangian`` (after the lexicographic actor–critic of Skalse et al. 2022): each objective is weighed by itself as
  long as it is below its threshold and, with a multiplier that grows while something is missing, on behalf of all later
  ones. Earlier objectives learn on faster scales.
- ``linear``: a fixed weighted sum.
- ``penalty``: the last objective, and with a fixed weight those below their threshold.

Learners hand in gradients of advantages that have deviation 1 in every objective: weights count in that unit.
"""

from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lexicone.directions._find_direction import Direction, Reason, find_direction
from lexicone.learning._learner import choose_direction

__all__ = ["GradientRule", "direction_by_rule", "start_multipliers", "update_multipliers"]

GradientRule = Literal["cone", "flow", "half_space", "lagrangian", "linear", "penalty"]
_SMALLER_DELTA = 8.0  # where Δ leaves no direction, Δ divided by this may
_LATER_SCALE = 0.5  # how much less each later objective counts in the Lagrangian
_LARGEST_MULTIPLIER = 100.0  # multipliers beyond that only drown the rest


def direction_by_rule(
    learner: Any,
    products: Float[Array, "K K"],
    values: Float[Array, " K"],
    limits: Float[Array, " K-1"],
    error: Float[Array, " K"],
    multipliers: Float[Array, " K-1"],
) -> Direction:
    """The direction by the learner's ``rule``. Its ``buffer`` counts in standard errors of the values."""
    below = values[:-1] < limits
    least = 1e-6 * jnp.maximum(1.0, jnp.abs(values))
    unit = jnp.where(error > least, error, least)
    values, limits = values / unit, limits / unit[:-1]
    if learner.rule == "cone":
        return _cone(learner, products, values, limits)
    if learner.rule == "half_space":
        return find_direction(
            products,
            values,
            limits,
            delta=0.0,
            active_constraints=learner.active_constraints,
            buffer=learner.buffer,
            method="exact",
        )
    if learner.rule == "flow":
        return find_direction(
            products, values, limits, method="flow", margin=learner.margin, rate=learner.pace
        )
    objective = jnp.argmax(jnp.concatenate([below, jnp.ones(1, bool)]))
    dtype = products.dtype
    if learner.rule == "linear":
        given = learner.weights or (1.0,) * values.shape[0]
        weights = jnp.asarray(given, dtype)
    elif learner.rule == "penalty":
        price = jnp.where(below, jnp.asarray(learner.penalty, dtype), 0.0)
        weights = jnp.concatenate([price, jnp.ones(1, dtype)])
    else:
        scale = _LATER_SCALE ** jnp.arange(values.shape[0], dtype=dtype)
        later = jnp.cumsum(scale[::-1])[::-1] - scale
        own = jnp.concatenate([jnp.where(below, scale[:-1], 0.0), scale[-1:]])
        weights = own + jnp.concatenate([multipliers * later[:-1], jnp.zeros(1, dtype)])
    moves = weights @ products @ weights > 0
    reason = jnp.where(moves, int(Reason.FOUND), int(Reason.ZERO_GRADIENT))
    return Direction(weights, objective, moves, reason)


def _cone(
    learner: Any,
    products: Float[Array, "K K"],
    values: Float[Array, " K"],
    limits: Float[Array, " K-1"],
) -> Direction:
    """The paper's direction; where Δ leaves none, that of a smaller Δ, if there is one; else what ``on_none`` says."""
    direction = choose_direction(learner, products, values, limits)
    finer = find_direction(
        products,
        values,
        limits,
        delta=learner.delta / _SMALLER_DELTA,
        active_constraints=learner.active_constraints,
        buffer=learner.buffer,
        method=learner.method,
    )
    use = (direction.reason != int(Reason.FOUND)) & finer.found
    return jax.tree.map(partial(jnp.where, use), finer, direction)


def start_multipliers(objectives: int, dtype: Any) -> Float[Array, " thresholds"]:
    """Before the first update: 0."""
    return jnp.zeros(objectives - 1, dtype)


def update_multipliers(
    multipliers: Float[Array, " thresholds"],
    values: Float[Array, " K"],
    limits: Float[Array, " thresholds"],
    rate: Float[Array, ""] | float,
) -> Float[Array, " thresholds"]:
    """A step of the duals: up while a threshold is missed, down to 0 while it is met."""
    missing = jnp.where(jnp.isfinite(limits), limits - values[:-1], 0.0)
    return jnp.clip(multipliers + rate * missing, 0.0, _LARGEST_MULTIPLIER)
