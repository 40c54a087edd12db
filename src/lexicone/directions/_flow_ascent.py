"""The flow without noise, for `maximize`: true lengths instead of unit gradients, and one objective after the other.

Objective o is improved once those before it have reached their thresholds; from then on the flow holds them there:

    min ½‖d − ∇F_o‖²   subject to   ∇F_j·d ≥ (τ_j − F_j)/α   (j < o)

A step αd makes up what is missing, and spends what is to spare, to first order: the linearised thresholds hold after
it. So the scale on which values count, σ_j = α‖∇F_j‖·max_i‖∇F_i‖, is what a step can change. d is the gradient of the
Lagrangian Σ wᵢFᵢ and vanishes exactly where the conditions of Karush, Kuhn and Tucker hold, with prices w_j/w_o.
"""

import array_api_compat
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from lexicone.directions._checks import diagonal, safe_sqrt
from lexicone.directions._cone import tolerances
from lexicone.directions._find_direction import Direction, Reason
from lexicone.directions._flow import flow_multipliers, flow_rates

__all__ = ["flow_direction", "lost_in_rounding"]

_DIGITS = 16  # in units of the last digit: what a value may be off


def lost_in_rounding(weights: Float[Array, " K"], values: Float[Array, " K"]) -> Float[Array, ""]:
    """What a step may seem to gain or lose of the Lagrangian by rounding alone."""
    return _DIGITS * jnp.finfo(values.dtype).eps * (weights @ jnp.abs(values))


def flow_direction(
    products: Float[Array, "K K"],
    values: Float[Array, " K"],
    thresholds: Float[Array, " K-1"],
    objective: Int[Array, ""],
    step_size: Float[Array, ""],
) -> Direction:
    """The direction that improves this objective, or the first below its threshold if that comes later.

    So an objective has had its turn once it and all before it have reached their thresholds. The flow aims at
    ``τ + √ε·max(1,|τ|)``, with ε the precision, so that rounding leaves thresholds met. It is at rest where these
    are met and a step would gain less than rounding hides.
    """
    xp = array_api_compat.array_namespace(products)
    size = values.shape[0]
    index = jnp.arange(size)
    first_below = jnp.argmax(jnp.append(values[:-1] < thresholds, True))
    objective = jnp.maximum(objective, first_below)
    norms = safe_sqrt(xp, diagonal(xp, products))
    longest = jnp.max(norms)
    inverse = jnp.where(norms > 0, 1.0 / jnp.where(norms > 0, norms, 1.0), 0.0)
    units = jnp.where(longest > 0, inverse * longest, 0.0)
    cosines = products * inverse[:, None] * inverse[None, :]
    own = norms[objective] / jnp.where(longest > 0, longest, 1.0)
    # the last place of the matrix is that of the objective to improve, at its length
    last = (cosines[:, objective] * own).at[-1].set(own * own)
    matrix = cosines.at[:, -1].set(last).at[-1, :].set(last)

    room = float(jnp.finfo(values.dtype).eps) ** 0.5
    finite = jnp.isfinite(thresholds)
    aims = thresholds + jnp.where(finite, room * jnp.maximum(1.0, jnp.abs(thresholds)), 0.0)
    spread = step_size * norms[:-1] * longest
    one = jnp.ones_like(spread)
    rates, asks = flow_rates(xp, values, aims, spread, 0.0 * one, one)
    held = asks & (norms[:-1] > 0) & (index[:-1] < objective)
    multipliers = flow_multipliers(xp, matrix, rates, jnp.inf * one, held)
    multipliers = jnp.where(held, multipliers, 0.0)

    weights = jnp.append(multipliers, 0.0) * units + (index == objective)
    square = weights @ products @ weights
    tiny, _ = tolerances(xp, cosines)
    moves = square > tiny * jnp.sum(weights * norms) ** 2
    moves = moves & (step_size * square > 2 * lost_in_rounding(weights, values))
    moves = (moves | jnp.any(held & (values[:-1] < thresholds))) & (square > 0)
    reason = jnp.where(moves, int(Reason.FOUND), int(Reason.STATIONARY))
    return Direction(jnp.where(moves, weights, 0.0), objective, moves, reason)
