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
from lexicone._base.checks import check_kind
from lexicone.directions._checks import check_problem, diagonal, safe_sqrt
from lexicone.directions._cone import project_in_turn, project_onto_all

__all__ = ["DEFAULT_DELTA", "Direction", "DirectionMethod", "Reason", "find_direction"]

DirectionMethod = Literal["sequential", "exact", "halfspace"]

DEFAULT_DELTA = math.pi / 90
"""The conservativeness Δ of the paper's optimisation experiment: 2°."""

_EXACT_LIMIT = 16  # objectives; `exact` looks at 2^(K−1) sets of touching cones


class Reason(IntEnum):
    """Why `find_direction` has, or has not, found a direction."""

    FOUND = 0
    ZERO_GRADIENT = 1
    """The gradient of the objective to improve vanishes."""
    STATIONARY = 2
    """No direction lies within π/2−Δ of all gradients: the point is Δ-Pareto-stationary."""
    MISSED = 3
    """One pass over the cones ended outside of one; a direction may exist (`method="exact"` knows)."""
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


def find_direction(
    gram: Any,
    values: Any,
    thresholds: Any,
    *,
    delta: Any = DEFAULT_DELTA,
    active_constraints: bool = False,
    buffer: Any = 0.0,
    method: DirectionMethod = "sequential",
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
            finds a direction whenever one exists. ``"halfspace"`` is sequential with Δ=0, the projection of
            Uchibe & Doya (2008) in order of importance.

    A zero gradient constrains nothing. Where no direction is found all weights are 0, and `Direction.reason`
    says why. Maximisation: for losses, negate the result, not the Gram matrix.
    """
    check_kind("method", method, get_args(DirectionMethod))
    xp = namespace(gram, values, thresholds, delta, buffer)
    gram, values, thresholds, sin, slack = check_problem(
        xp, gram, values, thresholds, delta, buffer
    )
    size, batch = values.shape[-1], values.shape[:-1]
    if method == "exact" and size > _EXACT_LIMIT:
        raise ValueError(
            f'method: "exact" looks at 2^(K−1) sets of cones and serves K ≤ {_EXACT_LIMIT}; '
            f'got K={size}, use "sequential"'
        )
    if method == "halfspace":
        sin = xp.zeros_like(sin)

    below = xp.concat(
        [values[..., : size - 1] < thresholds, xp.ones_like(values[..., :1], dtype=xp.bool)],
        axis=-1,
    )
    objective = xp.argmax(xp.astype(below, xp.int32), axis=-1)
    index = xp.broadcast_to(xp.arange(size), (*batch, size))
    current = index == objective[..., None]

    squares = diagonal(xp, gram)
    norms = safe_sqrt(xp, squares)
    inverse = xp.where(norms > 0, 1.0 / xp.where(norms > 0, norms, 1.0), 0.0)
    cosines = gram * inverse[..., :, None] * inverse[..., None, :]
    constrains = (index < objective[..., None]) & (norms > 0)
    if active_constraints:
        roomy = values[..., : size - 1] > thresholds + slack
        constrains = constrains & xp.concat(
            [~roomy, xp.ones_like(roomy[..., :1])] if size > 1 else [~below[..., :0], below],
            axis=-1,
        )

    project = project_onto_all if method == "exact" else project_in_turn
    weights, found = project(xp, cosines, sin, constrains, current)

    length = xp.sum(xp.where(current, norms, 0.0), axis=-1)
    finite = xp.all(xp.all(xp.isfinite(gram), axis=-1), axis=-1) & ~xp.any(
        xp.isnan(values), axis=-1
    )
    lost = Reason.STATIONARY if method == "exact" else Reason.MISSED
    reason = xp.where(found, int(Reason.FOUND), int(lost))
    reason = xp.where(length > 0, reason, int(Reason.ZERO_GRADIENT))
    reason = xp.where(finite, reason, int(Reason.NOT_FINITE))
    found = reason == int(Reason.FOUND)
    weights = xp.where(found[..., None], weights * inverse * length[..., None], 0.0)
    return Direction(weights, objective, found, reason)
