"""Hypercone projection and the Lexicographic Projection Algorithm (section "Policy Gradient Approach for TLO").

A hypercone ``C_a = {x : ⟨a,x⟩ ≥ sinΔ·‖a‖‖x‖}`` holds the vectors within ``π/2−Δ`` of its axis. To improve one
objective without losing those above it, its gradient is projected onto the cones of their gradients. Every
such direction is ``Σ wᵢ gᵢ``, so K weights are decided from the K×K Gram matrix ``gᵢ·gⱼ`` alone. All code here is
free of branches on data and serves NumPy, JAX (jit, vmap, grad) and PyTorch.
"""

import math
from enum import IntEnum
from typing import Any, Literal, NamedTuple, get_args

from jaxtyping import Bool, Float, Int

from lexicone._base.arrays import as_floats, is_true, namespace

__all__ = [
    "DEFAULT_DELTA",
    "Direction",
    "Method",
    "Reason",
    "ascent_bound",
    "find_direction",
    "is_stationary",
    "project_cone",
]

Method = Literal["sequential", "exact", "halfspace"]

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
    _check_finite(xp, g=g, axis=axis)
    delta = _check_delta(xp, delta, g)
    shape = _common_shape(g.shape[:-1], axis.shape[:-1], delta.shape)
    g, axis = (xp.broadcast_to(a, (*shape, g.shape[-1])) for a in (g, axis))
    sin, cos = (xp.broadcast_to(f(delta), shape)[..., None] for f in (xp.sin, xp.cos))

    scale = xp.max(xp.abs(g), axis=-1, keepdims=True)
    unit = g / xp.where(scale > 0, scale, 1.0)  # squares neither overflow nor vanish
    length = xp.max(xp.abs(axis), axis=-1, keepdims=True)
    axis = axis / xp.where(length > 0, length, 1.0)
    norm = _safe_sqrt(xp, xp.sum(axis * axis, axis=-1, keepdims=True))
    axis = axis / xp.where(norm > 0, norm, 1.0)

    t = xp.sum(axis * unit, axis=-1, keepdims=True)
    w = unit - t * axis
    r = _safe_sqrt(xp, xp.sum(w * w, axis=-1, keepdims=True))
    height = t * sin + r * cos
    inside = (t * cos >= r * sin) | (norm == 0)
    edge = height * (sin * axis + cos * w / xp.where(r > 0, r, 1.0)) * scale
    return xp.where(inside, g, xp.where(height > 0, edge, 0.0))


def find_direction(
    gram: Any,
    values: Any,
    thresholds: Any,
    *,
    delta: Any = DEFAULT_DELTA,
    active_constraints: bool = False,
    buffer: Any = 0.0,
    method: Method = "sequential",
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
    if method not in get_args(Method):
        raise ValueError(f"method: expected one of {get_args(Method)}, got {method!r}")
    xp = namespace(gram, values, thresholds, delta, buffer)
    gram, values, thresholds, sin, slack = _check_problem(
        xp, gram, values, thresholds, delta, buffer, method
    )
    size, batch = values.shape[-1], values.shape[:-1]

    below = xp.concat(
        [values[..., : size - 1] < thresholds, xp.ones_like(values[..., :1], dtype=xp.bool)],
        axis=-1,
    )
    objective = xp.argmax(xp.astype(below, xp.int32), axis=-1)
    index = xp.broadcast_to(xp.arange(size), (*batch, size))
    current = index == objective[..., None]

    squares = _diagonal(xp, gram)
    norms = _safe_sqrt(xp, squares)
    inverse = xp.where(norms > 0, 1.0 / xp.where(norms > 0, norms, 1.0), 0.0)
    cosines = gram * inverse[..., :, None] * inverse[..., None, :]
    constrains = (index < objective[..., None]) & (norms > 0)
    if active_constraints:
        roomy = values[..., : size - 1] > thresholds + slack
        constrains = constrains & xp.concat(
            [~roomy, xp.ones_like(roomy[..., :1])] if size > 1 else [~below[..., :0], below],
            axis=-1,
        )

    project = _project_exact if method == "exact" else _project_in_turn
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


def is_stationary(gram: Any, delta: Any = DEFAULT_DELTA) -> Bool[Any, "*batch"]:
    """Whether a point is Δ-Pareto-stationary, from the Gram matrix of its gradients. ``[…,K,K] → […]``.

    That is: no ascent direction makes an angle of at most ``π/2−Δ`` with every gradient. A zero gradient cannot
    be ascended, so it makes the point stationary. For Δ=0 the direction must ascend the last objective.
    """
    xp = namespace(gram, delta)
    gram = _check_gram(xp, gram)
    zeros = gram[..., 0] * 0.0
    found = find_direction(gram, zeros, zeros[..., 1:], delta=delta, method="exact").found
    return ~found | xp.any(_diagonal(xp, gram) <= 0, axis=-1)


def ascent_bound(gram: Any, delta: Any, strong_concavity: Any) -> Float[Any, "*batch"]:
    """At a Δ-Pareto-stationary point of μ-strongly concave objectives: how long a common ascent step can be.

    The paper's remark: a step that lowers no objective is no longer than ``(2·sinΔ/μ)·max_j ‖∇F_j‖``.
    """
    xp = namespace(gram, delta)
    gram = _check_gram(xp, gram)
    if is_true(~(as_floats(xp, "strong_concavity", strong_concavity) > 0)):
        raise ValueError(f"strong_concavity: must be positive, got {strong_concavity}")
    squares = _diagonal(xp, gram)
    sin = xp.sin(_per_objective(xp, "delta", _check_delta(xp, delta, gram), squares.shape))
    return 2 / strong_concavity * xp.max(sin * _safe_sqrt(xp, squares), axis=-1)


def _project_in_turn(
    xp: Any, cosines: Any, sin: Any, constrains: Any, current: Any
) -> tuple[Any, Any]:
    """The paper's pass: project onto one cone after the other, then check every cone and the gradient itself.

    Vectors are weights of *unit* gradients, so that ``⟨ĝ_j,u⟩ = (cosines·w)_j`` and ``‖u‖² = w·cosines·w``.
    """
    tiny, tolerance = _tolerances(xp, cosines)
    cos = xp.sqrt(1.0 - sin * sin)
    weights = xp.astype(current, cosines.dtype)
    for j in range(sin.shape[-1] - 1):
        along = xp.sum(cosines * weights[..., None, :], axis=-1)
        square = xp.sum(along * weights, axis=-1)
        t, s, c = along[..., j], sin[..., j], cos[..., j]
        across = square - t * t
        away = across > tiny * square
        r = _safe_sqrt(xp, xp.where(away, across, 0.0))
        height = t * s + r * c
        stretch = xp.where(away, height * c / xp.where(away, r, 1.0), 0.0)
        tilt = height * s - stretch * t
        turned = weights * stretch[..., None] + _unit(xp, weights, j) * tilt[..., None]
        turned = xp.where(((height > 0) & away)[..., None], turned, 0.0)
        keep = (t * c >= r * s) | ~constrains[..., j]
        weights = xp.where(keep[..., None], weights, turned)

    along = xp.sum(cosines * weights[..., None, :], axis=-1)
    square = xp.sum(along * weights, axis=-1)
    # A cosine that projection has made equal to sinΔ may be short by rounding. For Δ=0 the objective to improve
    # must still gain.
    least = xp.where(current & (sin < tolerance), tolerance, sin - tolerance)
    enough = along >= least * _safe_sqrt(xp, square)[..., None]
    within = xp.all(enough | ~(constrains | current), axis=-1)
    return weights, within & (square > tiny)


def _project_exact(
    xp: Any, cosines: Any, sin: Any, constrains: Any, current: Any
) -> tuple[Any, Any]:
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
    tiny, tolerance = _tolerances(xp, cosines)
    batch, m = sin.shape[:-1], sin.shape[-1] - 1
    unit_g = xp.sum(xp.where(current[..., None, :], cosines, 0.0), axis=-1)[..., :m]
    free = ~constrains[..., :m]
    apart = free[..., :, None] | free[..., None, :]
    eye = xp.broadcast_to(xp.eye(m, dtype=cosines.dtype), (*batch, m, m))
    axes = xp.where(apart | (eye > 0), eye, cosines[..., :m, :m])
    right = xp.stack([unit_g, sin[..., :m]], axis=-1)
    right = xp.where(free[..., None], 0.0, right)
    corner = xp.broadcast_to(xp.eye(2, dtype=cosines.dtype), (*batch, 2, 2))
    table = xp.concat([axes, right], axis=-1)
    below = xp.concat([xp.matrix_transpose(right), corner], axis=-1)
    table = xp.concat([table, below], axis=-2)[..., None]  # […, m+2, m+2, sets]
    usable = table[..., 0, 0, :] == table[..., 0, 0, :]

    for k in range(m):
        row, column, rest = table[..., k, 1:, :], table[..., :, 0, :], table[..., :, 1:, :]
        pivot = column[..., k, :]
        independent = pivot > tiny
        row = row / xp.where(independent, pivot, 1.0)[..., None, :]
        column = column - _unit(xp, column[..., 0], k)[..., None]
        pivoted = rest - column[..., :, None, :] * row[..., None, :, :]
        table = xp.concat([rest, pivoted], axis=-1)
        usable = xp.concat([usable, usable & independent], axis=-1)

    touching = (xp.arange(2**m)[None, :] >> xp.arange(m)[:, None]) % 2 == 1
    touching = xp.broadcast_to(touching, (*batch, m, 2**m))
    to_g, to_e = table[..., 0, :], table[..., 1, :]
    nu_square, rho_square = to_g[..., m, :], to_e[..., m + 1, :]
    noise_g, noise_e = (tiny * (1.0 + xp.sum(a * a, axis=-2)) for a in (to_g, to_e))
    usable = usable & (nu_square > noise_g) & (rho_square > -noise_e)
    nu = _safe_sqrt(xp, xp.where(usable, nu_square, 1.0))
    rho = _safe_sqrt(xp, xp.where(usable, rho_square, 1.0))
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
    return weights, exists & (length >= own - tolerance) & (length > math.sqrt(tiny))


def _tolerances(xp: Any, cosines: Any) -> tuple[float, float]:
    """Rounding in a square of unit vectors, and in a cosine that was just made equal to sinΔ."""
    eps = float(xp.finfo(cosines.dtype).eps)
    return 4 * cosines.shape[-1] * eps, eps**0.6


def _safe_sqrt(xp: Any, square: Any) -> Any:
    """√max(x,0), with derivative 0 where x ≤ 0."""
    positive = square > 0
    return xp.where(positive, xp.sqrt(xp.where(positive, square, 1.0)), 0.0)


def _unit(xp: Any, like: Any, j: int) -> Any:
    """The j-th unit vector, in the shape of ``like``."""
    index = xp.arange(like.shape[-1]) == j
    return xp.astype(xp.broadcast_to(index, like.shape), like.dtype)


def _diagonal(xp: Any, matrix: Any) -> Any:
    on = xp.broadcast_to(xp.eye(matrix.shape[-1], dtype=matrix.dtype) > 0, matrix.shape)
    return xp.sum(xp.where(on, matrix, 0.0), axis=-1)


def _check_problem(
    xp: Any, gram: Any, values: Any, thresholds: Any, delta: Any, buffer: Any, method: Method
) -> tuple[Any, Any, Any, Any, Any]:
    """Shapes, ranges and NaN; everything broadcast to the common leading axes."""
    gram, values = _check_gram(xp, gram), as_floats(xp, "values", values)
    thresholds = as_floats(xp, "thresholds", thresholds, like=values)
    size = gram.shape[-1]
    if values.ndim == 0 or values.shape[-1] != size:
        raise ValueError(
            f"values: the Gram matrix has {size} objectives, got shape {tuple(values.shape)}"
        )
    if thresholds.ndim == 0 or thresholds.shape[-1] != size - 1:
        raise ValueError(
            f"thresholds: {size} objectives take {size - 1} thresholds, "
            f"got shape {tuple(thresholds.shape)}"
        )
    if method == "exact" and size > _EXACT_LIMIT:
        raise ValueError(
            f'method: "exact" looks at 2^(K−1) sets of cones and serves K ≤ {_EXACT_LIMIT}; '
            f'got K={size}, use "sequential"'
        )
    if is_true(xp.any(xp.isnan(values))):
        raise ValueError("values: contains NaN")
    if is_true(xp.any(xp.isnan(thresholds))):
        raise ValueError("thresholds: contains NaN")
    buffer = as_floats(xp, "buffer", buffer, like=values)
    if is_true(xp.any(~(buffer >= 0))):
        raise ValueError(f"buffer: must be at least 0, got {buffer}")
    delta = _check_delta(xp, delta, gram)
    batch = _common_shape(
        gram.shape[:-2],
        values.shape[:-1],
        thresholds.shape[:-1],
        delta.shape[:-1],
        buffer.shape[:-1],
    )
    delta = _per_objective(xp, "delta", delta, (*batch, size))
    sin = xp.sin(delta) * (method != "halfspace")
    return (
        xp.broadcast_to(gram, (*batch, size, size)),
        xp.broadcast_to(values, (*batch, size)),
        xp.broadcast_to(thresholds, (*batch, size - 1)),
        sin,
        _per_objective(xp, "buffer", buffer, (*batch, size - 1)),
    )


def _check_gram(xp: Any, gram: Any) -> Any:
    gram = as_floats(xp, "gram", gram)
    if gram.ndim < 2 or gram.shape[-1] != gram.shape[-2] or gram.shape[-1] == 0:
        raise ValueError(
            f"gram: expected inner products of K gradients, shape […,K,K], got {tuple(gram.shape)}"
        )
    _check_finite(xp, gram=gram)
    squares = _diagonal(xp, gram)
    if is_true(xp.any(squares < 0)):
        raise ValueError("gram: has a negative square on its diagonal")
    slack = 1e3 * float(xp.finfo(gram.dtype).eps)
    norms = _safe_sqrt(xp, squares)
    limits = norms[..., :, None] * norms[..., None, :] * (1.0 + slack)
    if is_true(xp.any(xp.abs(gram) > limits)):
        raise ValueError("gram: an inner product exceeds the product of its norms")
    if is_true(xp.any(xp.abs(gram - xp.matrix_transpose(gram)) > slack * limits)):
        raise ValueError("gram: must be symmetric")
    return gram


def _check_delta(xp: Any, delta: Any, like: Any) -> Any:
    delta = as_floats(xp, "delta", delta, like=like)
    if is_true(xp.any(~((delta >= 0) & (delta < math.pi / 2)))):
        raise ValueError(f"delta: must be at least 0 and below π/2 (radians), got {delta}")
    return delta


def _check_finite(xp: Any, **arrays: Any) -> None:
    for name, array in arrays.items():
        if is_true(xp.any(~xp.isfinite(array))):
            raise ValueError(f"{name}: contains NaN or infinity")


def _per_objective(xp: Any, name: str, array: Any, shape: tuple[int, ...]) -> Any:
    if array.ndim > 0 and array.shape[-1] not in (1, shape[-1]):
        raise ValueError(
            f"{name}: give one number, or one for each of {shape[-1]}, got shape {tuple(array.shape)}"
        )
    return xp.broadcast_to(array, shape)


def _common_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    import numpy as np

    try:
        return np.broadcast_shapes(*(tuple(s) for s in shapes))
    except ValueError:
        listed = ", ".join(str(tuple(s)) for s in shapes)
        raise ValueError(f"gram, values, …: leading axes do not fit each other: {listed}") from None
