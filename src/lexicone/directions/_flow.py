"""Flow: a direction along which objectives rise towards their thresholds at a rate, or spend what they have to spare.

With unit gradients ``ĝ_j`` each threshold asks for a rate ``c_j ∈ [−1,1]`` (`flow_rates`): positive where something
is missing, negative where there is room. One after the other, most important first, they are granted as far as can
be, and among the directions left the nearest to the last gradient is taken. Stage j, with t_i granted before, solves

    min ½‖d − ĝ_K‖² + M_j·max(0, c_j − ĝ_j·d)   subject to   ĝ_i·d ≥ t_i  (i < j),      t_j = min(c_j, ĝ_j·d).

So a lesser threshold never takes from a greater one, and d stays bounded: ``‖d‖ ≤ 1 + ΣM_j``. Where all rates can be
had at these prices, d is the projection of ĝ_K onto ``{ĝ_j·d ≥ c_j}``: the safe gradient flow of Allibhoy & Cortés
(2024), and for c=0 the projection onto half-spaces.

Exact, in finitely many operations, from the Gram matrix alone; free of branches on data.
"""

import math
from typing import Any

from lexicone.directions._cone import pivot_or_not, tolerances, unit_vector

__all__ = ["flow_multipliers", "flow_rates"]


def flow_rates(
    xp: Any, values: Any, thresholds: Any, spread: Any, margin: Any, rate: Any, fastest: Any = 1.0
) -> tuple[Any, Any]:
    """``c_j = clip(κ·((τ_j − F_j)/σ_j + margin), −1, fastest)``, and whether threshold j asks at all: not if it is −∞.

    Where σ_j = 0 (no noise) any shortfall asks for 1, any room gives −1.
    """
    asks = thresholds > -math.inf
    missing = xp.where(asks, thresholds, 0.0) - values[..., :-1]
    noisy = spread > 0
    without = xp.sign(missing) * (2.0 / rate + xp.abs(margin))  # more than enough for 1 or −1
    relative = xp.where(noisy, missing / xp.where(noisy, spread, 1.0), without)
    asked = rate * (relative + margin)
    asked = xp.where(asked > -1.0, asked, -1.0)
    return xp.where(asked < fastest, asked, fastest), asks


def flow_multipliers(xp: Any, cosines: Any, rates: Any, prices: Any, constrains: Any) -> Any:
    """λ ≥ 0 with ``d = ĝ_K + Σ_j λ_j ĝ_j``. ``[…,K,K], […,K−1] × 3 → […,K−1]``.

    If the rates of a set I ⊆ {1…j−1} are held with equality, λ_I and all slacks are linear in λ_j, with coefficients
    from the table of inner products of (a₁…a_m; ĝ_K, e), ``⟨a_j,e⟩ = t_j``, pivoted on I: λ_j goes up until the rate
    is reached or its price is. Stage j looks at all 2^(j−1) sets, takes the one with the least violation of the
    optimality conditions, then pivots every table on j, so that the list doubles.
    """
    tiny, _ = tolerances(xp, cosines)
    batch, m = rates.shape[:-1], rates.shape[-1]
    if m == 0:
        return rates
    free = ~constrains
    eye = xp.broadcast_to(xp.eye(m, dtype=cosines.dtype), (*batch, m, m))
    apart = free[..., :, None] | free[..., None, :] | (eye > 0)
    axes = xp.where(apart, eye, cosines[..., :m, :m])
    to_last = xp.where(free, 0.0, cosines[..., :m, m])
    granted = xp.where(free, 0.0, rates)
    table = xp.concat([axes, to_last[..., None], granted[..., None]], axis=-1)[..., None]
    usable = table[..., 0, 0, :] == table[..., 0, 0, :]
    multipliers = granted

    for j in range(m):
        sets, here = 2**j, xp.arange(m) == j
        column, to_g, to_e = (table[..., :, k, :] for k in (0, -2, -1))
        pivot, missing = column[..., j, :], (to_e - to_g)[..., j, :]
        price, one = xp.broadcast_to(prices[..., j, None], pivot.shape), xp.ones_like(pivot)
        independent = pivot > tiny
        touching = (xp.arange(sets)[None, :] >> xp.arange(m)[:, None]) % 2 == 1
        touching = xp.broadcast_to(touching, (*batch, m, sets))
        base = xp.where(touching, to_e - to_g, 0.0)
        slope = xp.where(touching, column, 0.0)

        # How hard threshold j pulls. Where a_j lies in the span of the touching ones, pulling changes nothing but the
        # weights: then the least that leaves λ_I ≥ 0.
        needed = missing / xp.where(independent, pivot, 1.0)
        opposed = slope < -math.sqrt(tiny)
        least = xp.max(xp.where(opposed, base / xp.where(opposed, slope, 1.0), 0.0), axis=-2)
        most = xp.where(missing > tiny, xp.minimum(price, one / math.sqrt(tiny)), 0.0)
        needed = xp.where(independent, needed, xp.minimum(least, most))
        pull = xp.minimum(xp.maximum(needed, 0.0 * needed), price)
        most = xp.where(independent, pull, most)

        lagrange = base - slope * pull[..., None, :]
        lagrange = lagrange + unit_vector(xp, to_g[..., 0], j)[..., None] * pull[..., None, :]
        slack = xp.matmul(axes, lagrange) + (to_last - granted)[..., None]
        limit = xp.where(xp.broadcast_to(here[:, None], slack.shape), price[..., None, :], math.inf)
        step = xp.maximum(lagrange - slack, 0.0 * slack)
        natural = xp.abs(lagrange - xp.minimum(step, limit))
        natural = xp.where(
            xp.broadcast_to(here[:, None], slack.shape) & ~independent[..., None, :], 0.0, natural
        )
        wrong_sign = xp.maximum(slope * most[..., None, :] - base, 0.0 * base)
        seen = xp.broadcast_to((xp.arange(m) <= j)[:, None], natural.shape)
        worst = xp.max(xp.where(seen, xp.maximum(natural, wrong_sign), 0.0), axis=-2)
        worst = xp.where(usable, worst, math.inf)
        # Sets that are equally right up to rounding describe the same d: take the first, which has fewer touching.
        choice = xp.argmin(xp.where(worst < tiny, 0.0, worst), axis=-1)[..., None]
        chosen = (xp.broadcast_to(xp.arange(sets), (*batch, sets)) == choice)[..., None, :]
        multipliers = xp.sum(xp.where(chosen, lagrange, 0.0), axis=-1)
        slack = xp.sum(xp.where(chosen, slack, 0.0), axis=-1)

        short = xp.where(xp.broadcast_to(here, slack.shape) & (slack < 0), -slack, 0.0)
        granted = granted - short
        if j == m - 1:
            break
        table = xp.concat([table[..., :-1, :], (to_e - short[..., None])[..., None, :]], axis=-2)
        table, usable = pivot_or_not(xp, table, usable, j, tiny)
    return multipliers
