"""FindDirection of the Lexicographic Projection Algorithm (section "Policy Gradient Approach for TLO").

To improve one objective without losing those above it, its gradient is projected onto the hypercones of their
gradients (`_cone`). Every such direction is ``Σ wᵢ gᵢ``, so K weights are decided from the K×K Gram matrix ``gᵢ·gⱼ``
alone. Free of branches on data: serves NumPy, JAX (jit, vmap, grad) and PyTorch.
"""

import math
from enum import IntEnum
from typing import Any, Literal, NamedTuple, get_args

from jaxtyping import Bool, Float, Int

from lexicone._base.arrays import namespace
from lexicone._base.checks import check_flags, check_kind
from lexicone.directions._checks import check_flow, check_problem, diagonal, safe_sqrt
from lexicone.directions._cone import (
    Certificate,
    project_in_turn,
    project_onto_all,
    tolerances,
)
from lexicone.directions._cone_many import project_onto_many
from lexicone.directions._flow import flow_multipliers, flow_rates
from lexicone.directions._flow_many import flow_multipliers_of_many

__all__ = ["DEFAULT_DELTA", "Direction", "DirectionMethod", "Reason", "find_direction"]

DirectionMethod = Literal["sequential", "exact", "halfspace", "flow"]

DEFAULT_DELTA = math.pi / 90
"""The conservativeness Δ of the paper's optimisation experiment: 2°."""

DEFAULT_PRICES = 10.0
"""How many times harder than the last objective a threshold of the flow may pull."""

_FEW = 8  # objectives up to which looking at all sets, of touching cones or held rates, is faster than a search


class Reason(IntEnum):
    """Why `find_direction` has, or has not, found a direction."""

    FOUND = 0
    ZERO_GRADIENT = 1
    """The gradient of the objective to improve vanishes."""
    STATIONARY = 2
    """No direction lies within π/2−Δ of all gradients: the point is Δ-Pareto-stationary."""
    MISSED = 3
    """One pass over the cones ended outside of one, or a search was cut short; a direction may exist."""
    NOT_FINITE = 4
    """The Gram matrix or the values contain NaN or infinity."""


class Direction(NamedTuple):
    """A direction ``Σ wᵢ gᵢ``. Leading axes are those of the Gram matrix."""

    weights: Float[Any, "*batch K"]
    """K weights; all zero if no direction was found."""
    objective: Int[Any, "*batch"]
    """The objective that is being improved: the first below its threshold, or the last."""
    found: Bool[Any, "*batch"]
    reason: Int[Any, "*batch"]
    """A `Reason`."""
    certificate: Certificate | None = None
    """With ``method="exact"``, the proof."""


def find_direction(
    gram: Any,
    values: Any,
    thresholds: Any,
    *,
    delta: Any = DEFAULT_DELTA,
    active_constraints: bool = False,
    buffer: Any = 0.0,
    method: DirectionMethod = "sequential",
    spread: Any = 1.0,
    margin: Any = 0.0,
    rate: Any = 1.0,
    prices: Any = DEFAULT_PRICES,
    fastest: Any = 1.0,
) -> Direction:
    """FindDirection, the paper's Algorithm: improve the first objective below its threshold, keep those above it.

    Args:
        gram: inner products of the K gradients, ``[…,K,K]``.
        values: current values F, ``[…,K]``.
        thresholds: τ, ``[…,K−1]`` (an `Order` has them as ``order.thresholds``).
        delta: Δ in [0, π/2): a number, or one per objective ``[…,K]``.
        active_constraints: ignore the cones of objectives with ``F_j > τ_j + buffer``.
        buffer: b ≥ 0: a number, or one per threshold ``[…,K−1]``.
        method: ``"sequential"`` projects onto one cone after the other, as the paper does, and then checks all
            of them and the gradient itself. ``"exact"`` projects onto the *intersection* of the cones, and
            finds a direction whenever one exists, with a proof. ``"halfspace"`` is sequential with Δ=0, the
            projection of Uchibe & Doya (2008) in order of importance. ``"flow"`` has no cones and no switch: each
            threshold asks for a rate, and the direction nearest to the last gradient that grants them, the most
            important first, is taken. What is above serves the cones, what is below the flow.
        spread: σ ≥ 0, on which scale values count: the deviation of returns, or what a step can change. A number,
            or one per threshold ``[…,K−1]``, as are the next four.
        margin: how many σ above its threshold an objective is to be held.
        rate: κ > 0. Unit gradients are to rise by ``c_j = clip(κ((τ_j − F_j)/σ_j + margin), −1, fastest)`` along a
            direction of length 1, or may fall so much.
        prices: M > 0: how many times harder than the last objective a threshold may pull; ∞ for as hard as it takes.
        fastest: the largest rate that is asked for. More than 1 where gradients are noisy and promise too much.

    A zero gradient constrains nothing. Where no direction is found all weights are 0, and `Direction.reason`
    says why. Maximisation: for losses, negate the result, not the Gram matrix.
    """
    check_kind("method", method, get_args(DirectionMethod))
    check_flags(active_constraints=active_constraints)
    xp = namespace(gram, values, thresholds, delta, buffer, spread, margin, rate, prices, fastest)
    gram, values, thresholds, sin, slack = check_problem(
        xp, gram, values, thresholds, delta, buffer
    )
    asked = None
    if method == "flow":
        asked = check_flow(xp, values, spread, margin, rate, prices, fastest)
        batch = asked[0].shape[:-1]
        gram, values, thresholds = (
            xp.broadcast_to(a, batch + a.shape[a.ndim - kept :])
            for a, kept in ((gram, 2), (values, 1), (thresholds, 1))
        )
    size = values.shape[-1]
    squares = diagonal(xp, gram)
    norms = safe_sqrt(xp, squares)
    inverse = xp.where(norms > 0, 1.0 / xp.where(norms > 0, norms, 1.0), 0.0)
    cosines = gram * inverse[..., :, None] * inverse[..., None, :]

    proof = ended = None
    if asked is not None:
        weights, found, objective, ended = _flow(xp, cosines, norms, values, thresholds, *asked)
    else:
        slack = slack if active_constraints else None
        sin = xp.zeros_like(sin) if method == "halfspace" else sin
        objective, constrains = _current(xp, norms, values, thresholds, slack)
        cones = (xp, cosines, sin, constrains, _marks(xp, objective, size))
        if method == "exact":
            project = project_onto_all if size <= _FEW else project_onto_many
            weights, found, proof = project(*cones)
        else:
            weights, found = project_in_turn(*cones)

    length = xp.sum(xp.where(_marks(xp, objective, size), norms, 0.0), axis=-1)
    finite = xp.all(xp.all(xp.isfinite(gram), axis=-1), axis=-1) & ~xp.any(
        xp.isnan(values), axis=-1
    )
    reason = xp.where(found, int(Reason.FOUND), int(Reason.MISSED))
    if ended is not None:
        reason = xp.where(~found & ended, int(Reason.STATIONARY), reason)
    if proof is not None:
        own = xp.sum(xp.where(_marks(xp, objective, size), sin, 0.0), axis=-1)
        proved = proof.dual <= own + 2 * math.sqrt(tolerances(xp, cosines)[0])
        reason = xp.where(~found & proved, int(Reason.STATIONARY), reason)
    reason = xp.where(length > 0, reason, int(Reason.ZERO_GRADIENT))
    reason = xp.where(finite, reason, int(Reason.NOT_FINITE))
    found = reason == int(Reason.FOUND)
    weights = xp.where(found[..., None], weights * inverse * length[..., None], 0.0)
    return Direction(weights, objective, found, reason, proof)


def _marks(xp: Any, objective: Any, size: int) -> Any:
    """True at the objective, ``[…] → […,K]``."""
    index = xp.broadcast_to(xp.arange(size), (*objective.shape, size))
    return index == objective[..., None]


def _current(
    xp: Any, norms: Any, values: Any, thresholds: Any, slack: Any | None
) -> tuple[Any, Any]:
    """The first objective below its threshold, or the last; and which objectives before it are to be kept.

    Not those with a zero gradient nor, where ``slack`` is given, those that are above by more than that.
    """
    size, batch = values.shape[-1], values.shape[:-1]
    below = xp.concat(
        [values[..., : size - 1] < thresholds, xp.ones_like(values[..., :1], dtype=xp.bool)],
        axis=-1,
    )
    objective = xp.argmax(xp.astype(below, xp.int32), axis=-1)
    index = xp.broadcast_to(xp.arange(size), (*batch, size))
    constrains = (index < objective[..., None]) & (norms > 0)
    if slack is not None:
        roomy = values[..., : size - 1] > thresholds + slack
        constrains = constrains & xp.concat(
            [~roomy, xp.ones_like(roomy[..., :1])] if size > 1 else [~below[..., :0], below],
            axis=-1,
        )
    return objective, constrains


def _flow(
    xp: Any,
    cosines: Any,
    norms: Any,
    values: Any,
    thresholds: Any,
    spread: Any,
    margin: Any,
    rate: Any,
    prices: Any,
    fastest: Any,
) -> tuple[Any, Any, Any, Any]:
    """Weights of unit gradients, whether they make a direction, which objective is the first that is asked to rise, and
    whether the search came to its end."""
    rates, asks = flow_rates(xp, values, thresholds, spread, margin, rate, fastest)
    asks = asks & (norms[..., :-1] > 0)
    if norms.shape[-1] <= _FEW:
        multipliers, ended = flow_multipliers(xp, cosines, rates, prices, asks), norms[..., -1] >= 0
    else:
        multipliers, ended = flow_multipliers_of_many(xp, cosines, rates, prices, asks)
    last = xp.ones_like(norms[..., -1:])
    weights = xp.concat([multipliers, last], axis=-1)
    rising = xp.concat([asks & (rates > 0), last > 0], axis=-1)
    objective = xp.argmax(xp.astype(rising, xp.int32), axis=-1)
    square = xp.sum(weights * xp.sum(cosines * weights[..., None, :], axis=-1), axis=-1)
    tiny, _ = tolerances(xp, cosines)
    found = ended & (square > tiny * xp.sum(weights, axis=-1) ** 2)
    return weights, found, objective, ended
