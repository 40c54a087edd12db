"""Projection onto the intersection of many hypercones: an active-set method on their inner products.

The problem is that of `project_onto_all`, max ⟨g,u⟩ with ‖u‖ ≤ 1 and ⟨a_j,u⟩ ≥ s_j. Its dual is

    min h(λ) = ‖g + Σ λ_j a_j‖ − Σ s_j λ_j   over   λ ≥ 0,        u = (g + Σ λ_j a_j)/‖…‖.

As in Lawson & Hanson's non-negative least squares, h is minimised over one face {λ_j = 0 : j∉I} after the other, and
never rises: a cone that u violates joins I, one whose multiplier would become negative leaves. The least h of a face
is read from the table of inner products pivoted on I, so that a change of I costs O(K²). Any λ ≥ 0 bounds the length of
the projection from above: primal, dual and their difference are a certificate. Free of branches on data.
"""

import math
from typing import Any, NamedTuple

from lexicone._base.arrays import repeat_until_done, without_derivative
from lexicone.directions._checks import diagonal, safe_sqrt
from lexicone.directions._cone import Certificate, inner_products, tolerances

__all__ = ["exchange", "one_hot", "project_onto_many"]


class _Search(NamedTuple):
    """Where the search is. Leading axes are problems."""

    table: Any
    """``[…,m+2,m+2]``, pivoted on the touching cones."""
    touching: Any
    """I, ``[…,m]``."""
    multipliers: Any
    """λ ≥ 0, ``[…,m]``."""
    barred: Any
    """Cones that left without a gain since h last fell, ``[…,m]``."""
    joins: Any
    """A cone that must join next, in place of one that it depends on, ``[…,m]``."""
    least: Any
    """h of the last face whose minimum was accepted."""
    optimal: Any
    impossible: Any
    """No direction lies in all cones."""


def project_onto_many(
    xp: Any, cosines: Any, sin: Any, constrains: Any, current: Any
) -> tuple[Any, Any, Certificate]:
    """Weights of unit gradients as from `project_onto_all`, whether they make a direction, and the proof."""
    tiny, tolerance = tolerances(xp, cosines)
    m = sin.shape[-1] - 1
    products = inner_products(xp, cosines, sin, constrains, current)
    table = without_derivative(products)
    zeros = table[..., 0, :m] * 0.0
    never = zeros > 0
    least = table[..., m, m] + math.inf
    over = least < 0
    start = _Search(table, never, zeros, never, never, least, over, over)
    bounds = constrains[..., :m]
    end = repeat_until_done(
        lambda search: _Search(*_step(xp, search, bounds, tiny)),
        start,
        lambda search: search.optimal | search.impossible,
        8 * m + 32,
    )

    # The last face anew from the products: two corrections remove what pivoting has rounded, and carry derivatives.
    both = end.touching[..., :, None] & end.touching[..., None, :]
    inverse = xp.where(both, -end.table[..., :m, :m], 0.0)
    axes = xp.where(both, products[..., :m, :m], 0.0)
    right = xp.where(end.touching[..., None], products[..., :m, m:], 0.0)
    solved = xp.where(end.touching[..., None], end.table[..., :m, m:], 0.0)
    for _ in range(2):
        solved = without_derivative(solved)
        solved = solved + xp.matmul(inverse, right - xp.matmul(axes, solved))
    along_g, along_e = solved[..., 0], solved[..., 1]
    square = 1.0 - xp.sum(right[..., 0] * along_g, axis=-1)
    noise = tiny * (1.0 + xp.sum(along_g * along_g, axis=-1))
    nu = safe_sqrt(xp, xp.where(square > noise, square, 0.0))
    rho = safe_sqrt(xp, 1.0 - xp.sum(right[..., 1] * along_e, axis=-1))
    norm = nu / xp.where(rho > 0, rho, 1.0)
    exact = xp.where(end.touching, norm[..., None] * along_e - along_g, 0.0)
    kept = xp.where(end.optimal[..., None], exact, end.multipliers)
    kept = xp.where(kept > 0, kept, 0.0)
    moved = products[..., :m, m] + xp.sum(products[..., :m, :m] * kept[..., None, :], axis=-1)
    to_g = 1.0 + xp.sum(products[..., :m, m] * kept, axis=-1)
    square = to_g + xp.sum(moved * kept, axis=-1)
    norm = xp.where(end.optimal, norm, safe_sqrt(xp, square))
    positive = norm > math.sqrt(tiny)
    norm = xp.where(positive, norm, 1.0)
    short = xp.where(bounds, products[..., :m, m + 1] - moved / norm[..., None], 0.0)
    short = xp.max(xp.concat([short, 0.0 * short[..., :1]], axis=-1), axis=-1)
    inside = positive & ~end.impossible & (short <= math.sqrt(tiny))

    length = to_g / norm
    dual = xp.where(positive, norm, 0.0) - xp.sum(products[..., :m, m + 1] * kept, axis=-1)
    dual = xp.where(end.impossible | (dual < 0), 0.0, dual)
    primal = xp.where(inside & (length > 0), length, 0.0)
    proof = Certificate(primal, dual, xp.abs(dual - primal))
    own = xp.sum(xp.where(current, sin, 0.0), axis=-1)
    found = inside & (length >= own - tolerance) & (length > math.sqrt(tiny))
    stretch = length / norm
    weights = xp.concat([kept, 0.0 * kept[..., :1]], axis=-1) * stretch[..., None]
    return weights + xp.where(current, stretch[..., None], 0.0), found, proof


def _step(xp: Any, search: _Search, bounds: Any, tiny: float) -> tuple[Any, ...]:
    """One cone joins or leaves, unless the search is over."""
    table, touching, multipliers, barred, joins, least, optimal, impossible = search
    m = bounds.shape[-1]
    to_g, to_e, corner = table[..., :m, m], table[..., :m, m + 1], table[..., m:, m:]
    noise_g, noise_e = (
        tiny * (1.0 + xp.sum(xp.where(touching, a * a, 0.0), axis=-1)) for a in (to_g, to_e)
    )
    ray = (
        corner[..., 1, 1] <= noise_e
    )  # the touching cones have no unit vector in common: h falls for ever along A⁺s
    nu = safe_sqrt(xp, xp.where(corner[..., 0, 0] > noise_g, corner[..., 0, 0], 0.0))
    rho = safe_sqrt(xp, xp.where(ray, 1.0, corner[..., 1, 1]))
    goal = xp.where(touching, (nu / rho)[..., None] * to_e - to_g, 0.0)
    value = rho * nu - corner[..., 0, 1]

    # To the least h of this face, or to where the first multiplier vanishes.
    way = xp.where(ray[..., None], xp.where(touching, to_e, 0.0), goal - multipliers)
    falls = touching & xp.where(ray[..., None], way < 0, goal <= 0)
    far, first = _first_to_vanish(xp, multipliers, -way, falls)
    stopped = xp.any(falls, axis=-1)
    arrived = ~stopped & ~ray
    better = arrived & (value < least - tiny)
    barred = barred & ~better[..., None]
    least = xp.where(better, value, least)

    # There, the cone that is violated most.
    violation = nu[..., None] * to_e - rho[..., None] * to_g
    violation = xp.where(bounds & ~touching & ~barred, violation / rho[..., None], -math.inf)
    worst = one_hot(xp, violation)
    outside = xp.max(violation, axis=-1) > 16 * tiny * xp.where(nu > tiny, nu, 1.0)
    outside = outside & (nu > math.sqrt(tiny))
    pivots = diagonal(xp, table[..., :m, :m])
    dependent = xp.sum(xp.where(worst, pivots, 0.0), axis=-1) <= 64 * tiny
    column = xp.sum(xp.where(worst[..., None, :], table[..., :m, :m], 0.0), axis=-1)
    column = xp.where(touching, column, 0.0)
    swaps = column > math.sqrt(tiny)
    turn, leaves = _first_to_vanish(xp, multipliers, column, swaps)

    forced = xp.any(joins, axis=-1)
    active = ~optimal & ~impossible
    swap = active & ~forced & arrived & outside & dependent
    blocked = ~xp.any(swaps, axis=-1)
    join = active & ~forced & arrived & outside & ~dependent
    leave = active & ~forced & stopped
    impossible = impossible | (swap & blocked) | (active & ~forced & ray & ~stopped)
    optimal = optimal | (active & ~forced & arrived & ~outside)
    swap = swap & ~blocked

    reached = xp.where(stopped[..., None], multipliers + far[..., None] * way, goal)
    reached = xp.where((forced | (ray & ~stopped))[..., None], multipliers, reached)
    reached = xp.where(leave[..., None] & first, 0.0, reached)
    turned = goal + turn[..., None] * (xp.astype(worst, goal.dtype) - column)
    reached = xp.where(swap[..., None], xp.where(leaves, 0.0, turned), reached)
    multipliers = xp.where(active[..., None], xp.where(reached > 0, reached, 0.0), multipliers)
    barred = barred | (leave & (far <= 0))[..., None] & first

    changes = xp.where(forced[..., None], joins, False)
    changes = changes | (join[..., None] & worst) | (leave[..., None] & first)
    changes = (changes | (swap[..., None] & leaves)) & active[..., None]
    joins = swap[..., None] & worst
    table = exchange(xp, table, changes, touching)
    touching = touching ^ changes
    return table, touching, multipliers, barred, joins, least, optimal, impossible


def _first_to_vanish(xp: Any, multipliers: Any, loss: Any, among: Any) -> tuple[Any, Any]:
    """How far one can go while ``multipliers − far·loss`` stays non-negative, and which vanishes first."""
    safe = xp.where(among, loss, 1.0)
    far = xp.where(among, multipliers / xp.where(safe > 0, safe, 1.0), math.inf)
    far = xp.where(among & (loss <= 0), 0.0, far)
    nearest = xp.min(far, axis=-1)
    return xp.where(nearest < math.inf, nearest, 0.0), one_hot(xp, -far)


def one_hot(xp: Any, numbers: Any) -> Any:
    """Marks the largest, the first of several."""
    index = xp.broadcast_to(xp.arange(numbers.shape[-1]), numbers.shape)
    return index == xp.argmax(numbers, axis=-1)[..., None]


def exchange(xp: Any, table: Any, changes: Any, touching: Any) -> Any:
    """Pivot on the one index that is marked, in or out; if none is, the table stays as it is."""
    pad = xp.zeros_like(table[..., 0, changes.shape[-1] :], dtype=xp.bool)
    mark = xp.concat([changes, pad], axis=-1)
    column = xp.sum(xp.where(mark[..., None, :], table, 0.0), axis=-1)
    one = xp.ones_like(column)
    sign = xp.where(xp.concat([touching, pad], axis=-1), -one, one)
    pivot = xp.sum(xp.where(mark, column, 0.0), axis=-1)
    vector = xp.where(mark, -sign, column)
    pivot = xp.where(pivot == 0, 1.0, pivot)[..., None, None]
    rest = xp.where(mark[..., :, None] | mark[..., None, :], 0.0, table)
    return rest - vector[..., :, None] * (vector[..., None, :] / pivot)
