"""Projection onto hypercones (section "Policy Gradient Approach for TLO"): one, several in turn, or their intersection.

A hypercone ``C_a = {x : ⟨a,x⟩ ≥ sinΔ·‖a‖‖x‖}`` holds the vectors within ``π/2−Δ`` of its axis. All code here is free of
branches on data and serves NumPy, JAX (jit, vmap, grad) and PyTorch.
"""

import math
from typing import Any, NamedTuple

from jaxtyping import Float

from lexicone._base.arrays import as_floats, namespace
from lexicone.directions._checks import check_delta, check_finite, common_shape, safe_sqrt

__all__ = [
    "Certificate",
    "certify",
    "inner_products",
    "pivot_or_not",
    "project_cone",
    "project_in_turn",
    "project_onto_all",
    "tolerances",
    "unit_vector",
]


class Certificate(NamedTuple):
    """How long the projection of the unit gradient onto the cones is: 0 where no direction lies in all of them."""

    primal: Float[Any, "*batch"]
    """The length that was reached."""
    dual: Float[Any, "*batch"]
    """No direction reaches more: ``‖ĝ + Σ λ_j â_j‖ − Σ sinΔ_j·λ_j`` for multipliers λ ≥ 0."""
    difference: Float[Any, "*batch"]
    """Of the two: rounding, unless a search was cut short."""


def project_cone(g: Any, axis: Any, delta: Any) -> Float[Any, "*batch n"]:
    """The point of the hypercone around ``axis`` that is nearest to ``g``. ``[…,n], […,n] → […,n]``.

    With ``t=⟨â,g⟩, w=g−tâ, r=‖w‖``: ``g`` itself inside (``t·cosΔ ≥ r·sinΔ``), 0 in the polar cone
    (``t·sinΔ + r·cosΔ ≤ 0``), else ``(t·sinΔ + r·cosΔ)(sinΔ·â + cosΔ·w/r)``: the paper's formula, right at the
    apex as well. ``delta`` in [0, π/2), a number or one per leading index. A zero axis constrains nothing.
    """
    xp = namespace(g, axis)
    g = as_floats(xp, "g", g)
    axis = as_floats(xp, "axis", axis, like=g)
    if g.ndim == 0 or axis.ndim == 0 or g.shape[-1] != axis.shape[-1] or g.shape[-1] == 0:
        raise ValueError(f"axis: must have the last dimension of g, got {axis.shape} and {g.shape}")
    check_finite(xp, g=g, axis=axis)
    delta = check_delta(xp, delta, g)
    shape = common_shape(g.shape[:-1], axis.shape[:-1], delta.shape)
    g, axis = (xp.broadcast_to(a, (*shape, g.shape[-1])) for a in (g, axis))
    sin, cos = (xp.broadcast_to(f(delta), shape)[..., None] for f in (xp.sin, xp.cos))

    scale = xp.max(xp.abs(g), axis=-1, keepdims=True)
    unit = g / xp.where(scale > 0, scale, 1.0)  # squares neither overflow nor vanish
    length = xp.max(xp.abs(axis), axis=-1, keepdims=True)
    axis = axis / xp.where(length > 0, length, 1.0)
    norm = safe_sqrt(xp, xp.sum(axis * axis, axis=-1, keepdims=True))
    axis = axis / xp.where(norm > 0, norm, 1.0)

    t = xp.sum(axis * unit, axis=-1, keepdims=True)
    w = unit - t * axis
    r = safe_sqrt(xp, xp.sum(w * w, axis=-1, keepdims=True))
    height = t * sin + r * cos
    inside = (t * cos >= r * sin) | (norm == 0)
    edge = height * (sin * axis + cos * w / xp.where(r > 0, r, 1.0)) * scale
    return xp.where(inside, g, xp.where(height > 0, edge, 0.0))


def project_in_turn(
    xp: Any, cosines: Any, sin: Any, constrains: Any, current: Any
) -> tuple[Any, Any]:
    """The paper's pass: project onto one cone after the other, then check every cone and the gradient itself.

    Vectors are weights of *unit* gradients, so that ``⟨ĝ_j,u⟩ = (cosines·w)_j`` and ``‖u‖² = w·cosines·w``.
    """
    tiny, tolerance = tolerances(xp, cosines)
    cos = xp.sqrt(1.0 - sin * sin)
    weights = xp.astype(current, cosines.dtype)
    for j in range(sin.shape[-1] - 1):
        along = xp.sum(cosines * weights[..., None, :], axis=-1)
        square = xp.sum(along * weights, axis=-1)
        t, s, c = along[..., j], sin[..., j], cos[..., j]
        across = square - t * t
        away = across > tiny * square
        r = safe_sqrt(xp, xp.where(away, across, 0.0))
        height = t * s + r * c
        stretch = xp.where(away, height * c / xp.where(away, r, 1.0), 0.0)
        tilt = height * s - stretch * t
        turned = weights * stretch[..., None] + unit_vector(xp, weights, j) * tilt[..., None]
        turned = xp.where(((height > 0) & away)[..., None], turned, 0.0)
        keep = (t * c >= r * s) | ~constrains[..., j]
        weights = xp.where(keep[..., None], weights, turned)

    along = xp.sum(cosines * weights[..., None, :], axis=-1)
    square = xp.sum(along * weights, axis=-1)
    # A cosine that projection has made equal to sinΔ may be short by rounding. For Δ=0 the objective to improve
    # must still gain.
    least = xp.where(current & (sin < tolerance), tolerance, sin - tolerance)
    enough = along >= least * safe_sqrt(xp, square)[..., None]
    within = xp.all(enough | ~(constrains | current), axis=-1)
    return weights, within & (square > tiny)


def project_onto_all(
    xp: Any, cosines: Any, sin: Any, constrains: Any, current: Any
) -> tuple[Any, Any, Certificate]:
    """The true projection onto the intersection of the cones, in finitely many operations.

    On the unit sphere the cones are half-spaces, so ``P(g) = ⟨g,u⟩u`` where ``u`` solves

        max ⟨g,u⟩  subject to  ‖u‖ ≤ 1,  ⟨a_j,u⟩ ≥ s_j       (a_j unit axes, s_j = sinΔ_j).

    If the cones of a set I touch ``u``, then with ``N`` the projection onto the complement of span{a_i : i∈I}

        u = A⁺s + (ρ/ν)·Ng,   ν = ‖Ng‖,   ρ² = 1 − ‖A⁺s‖².

    Pivoting the table of inner products of (a₁…a_m, g, e), where ``⟨a_j,e⟩ = s_j``, on the indices of I
    leaves in its last two columns all that u needs. With ``q = ρ·(column g) − ν·(column e)`` optimality reads
    ``q_j ≥ 0`` for j∉I (u lies in the cone) and ``q_j ≤ 0`` for j∈I (the multiplier has the right sign). Each
    pivot doubles the list of tables, so that it ends with all 2^m sets; the best one is taken.
    """
    tiny, tolerance = tolerances(xp, cosines)
    batch, m = sin.shape[:-1], sin.shape[-1] - 1
    table = inner_products(xp, cosines, sin, constrains, current)[..., None]  # […, m+2, m+2, sets]
    usable = table[..., 0, 0, :] == table[..., 0, 0, :]

    for k in range(m):
        table, usable = pivot_or_not(xp, table, usable, k, tiny)

    touching = (xp.arange(2**m)[None, :] >> xp.arange(m)[:, None]) % 2 == 1
    touching = xp.broadcast_to(touching, (*batch, m, 2**m))
    to_g, to_e = table[..., 0, :], table[..., 1, :]
    nu_square, rho_square = to_g[..., m, :], to_e[..., m + 1, :]
    noise_g, noise_e = (tiny * (1.0 + xp.sum(a * a, axis=-2)) for a in (to_g, to_e))
    usable = usable & (nu_square > noise_g) & (rho_square > -noise_e)
    nu = safe_sqrt(xp, xp.where(usable, nu_square, 1.0))
    rho = safe_sqrt(xp, xp.where(usable, rho_square, 1.0))
    q = rho[..., None, :] * to_g[..., :m, :] - nu[..., None, :] * to_e[..., :m, :]
    value = rho * nu - to_e[..., m, :]
    scale = xp.where(touching, -(rho + nu)[..., None, :], nu[..., None, :])
    none = xp.zeros_like(value)[..., None, :]
    violation = xp.max(xp.concat([-q / scale, none], axis=-2), axis=-2)
    violation = xp.where(usable & (value > 0), violation, math.inf)
    # Sets that are equally right up to rounding describe the same u: take the first, which has fewer cones.
    choice = xp.argmin(xp.where(violation < tiny, 0.0, violation), axis=-1)[..., None]

    chosen = xp.broadcast_to(xp.arange(2**m), (*batch, 2**m)) == choice
    stretch = xp.where(chosen, value / nu, 0.0)
    weights = xp.sum(xp.where(touching, -q * stretch[..., None, :], 0.0), axis=-1)
    weights = xp.concat([weights, none[..., 0]], axis=-1)
    weights = weights + xp.where(current, xp.sum(stretch * rho, axis=-1)[..., None], 0.0)
    length = xp.sum(xp.where(chosen, value, 0.0), axis=-1)
    own = xp.sum(xp.where(current, sin, 0.0), axis=-1)
    exists = xp.min(violation, axis=-1) <= math.sqrt(tiny)
    proof = certify(xp, cosines, sin, constrains, current, weights, exists)
    return weights, exists & (length >= own - tolerance) & (length > math.sqrt(tiny)), proof


def certify(
    xp: Any, cosines: Any, sin: Any, constrains: Any, current: Any, weights: Any, exists: Any
) -> Certificate:
    """Primal and dual from the weights of unit gradients, in which the multipliers are; 0 where nothing exists."""
    kept = xp.where(constrains & (weights > 0), weights, 0.0)
    scale = xp.sum(xp.where(current, weights, 0.0), axis=-1)
    exists = exists & (scale > 0)
    scale = xp.where(exists, scale, 1.0)
    along = xp.sum(cosines * weights[..., None, :], axis=-1)
    norm = safe_sqrt(xp, xp.sum(along * weights, axis=-1))
    primal = xp.sum(xp.where(current, along, 0.0), axis=-1) / xp.where(norm > 0, norm, 1.0)
    whole = kept + xp.where(current, weights, 0.0)
    square = xp.sum(whole * xp.sum(cosines * whole[..., None, :], axis=-1), axis=-1)
    dual = (safe_sqrt(xp, square) - xp.sum(sin * kept, axis=-1)) / scale
    primal, dual = (xp.where(exists & (a > 0), a, 0.0) for a in (primal, dual))
    return Certificate(primal, dual, xp.abs(dual - primal))


def inner_products(xp: Any, cosines: Any, sin: Any, constrains: Any, current: Any) -> Any:
    """Those of (a₁…a_m, g, e), ``[…,m+2,m+2]``; a cone that does not constrain is at right angles to all others."""
    batch, m = sin.shape[:-1], sin.shape[-1] - 1
    unit_g = xp.sum(xp.where(current[..., None, :], cosines, 0.0), axis=-1)[..., :m]
    free = ~constrains[..., :m]
    apart = free[..., :, None] | free[..., None, :]
    eye = xp.broadcast_to(xp.eye(m, dtype=cosines.dtype), (*batch, m, m))
    axes = xp.where(apart | (eye > 0), eye, cosines[..., :m, :m])
    right = xp.stack([unit_g, sin[..., :m]], axis=-1)
    right = xp.where(free[..., None], 0.0, right)
    corner = xp.broadcast_to(xp.eye(2, dtype=cosines.dtype), (*batch, 2, 2))
    above = xp.concat([axes, right], axis=-1)
    below = xp.concat([xp.matrix_transpose(right), corner], axis=-1)
    return xp.concat([above, below], axis=-2)


def pivot_or_not(xp: Any, table: Any, usable: Any, k: int, tiny: float) -> tuple[Any, Any]:
    """All tables as they are, then all pivoted on index k: ``[…,rows,columns,sets] → […,rows,columns−1,2·sets]``.

    The first column is that of k and needed no more. A set whose axes depend on each other is not usable.
    """
    row, column, rest = table[..., k, 1:, :], table[..., :, 0, :], table[..., :, 1:, :]
    pivot = column[..., k, :]
    independent = pivot > tiny
    row = row / xp.where(independent, pivot, 1.0)[..., None, :]
    column = column - unit_vector(xp, column[..., 0], k)[..., None]
    pivoted = rest - column[..., :, None, :] * row[..., None, :, :]
    return xp.concat([rest, pivoted], axis=-1), xp.concat([usable, usable & independent], axis=-1)


def tolerances(xp: Any, cosines: Any) -> tuple[float, float]:
    """Rounding in a square of unit vectors, and in a cosine that was just made equal to sinΔ."""
    eps = float(xp.finfo(cosines.dtype).eps)
    return 4 * cosines.shape[-1] * eps, eps**0.6


def unit_vector(xp: Any, like: Any, j: int) -> Any:
    """The j-th unit vector, in the shape of ``like``."""
    index = xp.arange(like.shape[-1]) == j
    return xp.astype(xp.broadcast_to(index, like.shape), like.dtype)
