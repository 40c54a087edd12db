"""The flow of many objectives: the stages of `_flow`, each followed along its path instead of looked up among all sets.

Stage j raises λ_j from 0. All before it stay optimal: with I the rates that are held with equality,

    λ_I = A_I⁻¹(b_I − a_I·a_j λ_j)  and  slack_i = a_i·d − t_i  (i∉I),        b = t − a·ĝ_K,

are linear in λ_j, and read from the table of inner products of (a₁…a_m; b) pivoted on I. At a corner of the path a rate
joins I (its slack ends) or leaves it (its multiplier ends): one pivot, O(K²). The path ends where the rate c_j is
reached, or the price, or where nothing more can be had; then j joins I with what it was granted. Stages whose rate is
there already cost nothing. Free of branches on data; a search that is cut short says so.
"""

import math
from typing import Any, NamedTuple

from lexicone._base.arrays import repeat_until_done, without_derivative
from lexicone.directions._checks import diagonal
from lexicone.directions._cone import tolerances
from lexicone.directions._cone_many import exchange, one_hot

__all__ = ["flow_multipliers_of_many"]


class _Path(NamedTuple):
    """Where the search is. Leading axes are problems."""

    table: Any
    """``[…,m+1,m+1]``, pivoted on the rates that are held."""
    held: Any
    """I, ``[…,m]``."""
    stage: Any
    """Marks j, ``[…,m]``."""
    pull: Any
    """λ_j, ``[…]``."""
    barred: Any
    """Rates that left I since λ_j last rose, ``[…,m]``."""
    joins: Any
    """j must join I next, in place of a rate that it depends on, ``[…]``."""
    short: Any
    """How much less than c_j was granted, ``[…,m]``."""
    done: Any


def flow_multipliers_of_many(
    xp: Any, cosines: Any, rates: Any, prices: Any, constrains: Any
) -> tuple[Any, Any]:
    """λ ≥ 0 as from `flow_multipliers`, ``[…,K−1]``, and whether the search came to its end.

    Derivatives take rates that were granted in part for constants.
    """
    tiny, _ = tolerances(xp, cosines)
    batch, m = rates.shape[:-1], rates.shape[-1]
    free = ~constrains
    eye = xp.broadcast_to(xp.eye(m, dtype=cosines.dtype), (*batch, m, m))
    apart = free[..., :, None] | free[..., None, :] | (eye > 0)
    axes = xp.where(apart, eye, cosines[..., :m, :m])
    missing = xp.where(free, 0.0, rates - cosines[..., :m, m])
    right = without_derivative(missing)[..., None]
    below = xp.concat([xp.matrix_transpose(right), 0.0 * right[..., :1, :]], axis=-1)
    table = xp.concat([without_derivative(axes), right], axis=-1)
    table = xp.concat([table, below], axis=-2)
    zeros = 0.0 * right[..., 0]
    never = zeros > 0
    stage, done = _next_stage(xp, table, never, ~never, tiny)
    none = never[..., 0]
    start = _Path(table, never, stage, zeros[..., 0], never, none, zeros, done)
    end = repeat_until_done(
        lambda path: _Path(*_corner(xp, path, prices, tiny)),
        start,
        lambda path: path.done,
        16 * m + 32,
    )

    # The last set anew from the products: two corrections remove what pivoting has rounded, and carry derivatives.
    both = end.held[..., :, None] & end.held[..., None, :]
    inverse = xp.where(both, -end.table[..., :m, :m], 0.0)
    axes = xp.where(both, axes, 0.0)
    right = xp.where(end.held, missing - end.short, 0.0)[..., None]
    solved = xp.where(end.held[..., None], end.table[..., :m, m:], 0.0)
    for _ in range(2):
        solved = without_derivative(solved)
        solved = solved + xp.matmul(inverse, right - xp.matmul(axes, solved))
    solved = solved[..., 0]
    return xp.where(end.held & (solved > 0), solved, 0.0), end.done


def _next_stage(xp: Any, table: Any, held: Any, after: Any, tiny: float) -> tuple[Any, Any]:
    """Marks the first of the rates ``after`` that is missed, and whether there is none."""
    missing = table[..., :-1, -1]
    noise = tiny * (1.0 + xp.sum(xp.where(held, xp.abs(missing), 0.0), axis=-1))
    missed = after & ~held & (missing > noise[..., None])
    return one_hot(xp, xp.astype(missed, table.dtype)) & missed, ~xp.any(missed, axis=-1)


def _corner(xp: Any, path: _Path, prices: Any, tiny: float) -> tuple[Any, ...]:
    """To the next corner of the path, or to its end."""
    table, held, stage, pull, barred, joins, short, done = path
    m = held.shape[-1]
    index = xp.broadcast_to(xp.arange(m), held.shape)
    at = xp.sum(xp.where(stage, index, 0), axis=-1)[..., None]
    before, after = index < at, index > at
    small = math.sqrt(tiny)
    column = xp.sum(xp.where(stage[..., None, :], table[..., :m, :m], 0.0), axis=-1)
    missing = table[..., :m, m]
    own, wanted = (xp.sum(xp.where(stage, a, 0.0), axis=-1) for a in (column, missing))
    price = xp.sum(xp.where(stage, prices, 0.0), axis=-1)
    noise = tiny * (
        1.0 + xp.sum(xp.where(held[..., None, :], table[..., :m, :m] ** 2, 0.0), axis=-1)
    )
    own_noise = xp.sum(xp.where(stage, noise, 0.0), axis=-1)
    independent = own > 64 * own_noise

    # Where multipliers of I end, where slacks of the others do, where the rate or its price is reached.
    squares = diagonal(xp, table[..., :m, :m])
    ends = held & (column > small)
    falls = column < -xp.sqrt(noise * own_noise[..., None])
    touches = before & ~held & ~barred & falls & (squares > 64 * noise) & independent[..., None]
    corner = ends | touches
    where = xp.where(corner, missing / xp.where(corner, column, 1.0), math.inf)
    where = xp.where(where > pull[..., None], where, pull[..., None])
    where = xp.where(corner, where, math.inf)
    first = one_hot(xp, -where)
    nearest = xp.min(where, axis=-1)
    enough = xp.where(independent, wanted / xp.where(independent, own, 1.0), math.inf)
    enough = xp.where(enough > pull, enough, pull)

    active = ~done
    turns = active & ~joins & (nearest < enough) & (nearest < price)
    arrives = active & ~joins & ~turns & independent
    stuck = active & ~joins & ~turns & ~independent
    reached = xp.where(arrives, xp.minimum(enough, price), pull)

    # A rate that depends on I changes nothing but the weights: the least of it that leaves λ_I ≥ 0.
    back = held & (column < -small)
    least = xp.where(back, missing / xp.where(back, column, 1.0), 0.0)
    replaced = one_hot(xp, least)
    least = xp.max(xp.concat([least, 0.0 * least[..., :1]], axis=-1), axis=-1)
    least = xp.minimum(least, reached)
    swaps = stuck & (least > 0)
    ends_here = (arrives | stuck | (active & joins)) & ~swaps

    lacking = xp.where(arrives | stuck, wanted - own * reached, 0.0)
    lacking = xp.where(lacking > tiny, lacking, 0.0)
    granted = xp.where(stage, lacking[..., None], 0.0)
    short = short + granted
    lower = xp.concat([granted, 0.0 * granted[..., :1]], axis=-1)
    last = xp.broadcast_to(xp.arange(m + 1) == m, lower.shape)
    table = table - xp.where(last[..., None, :], lower[..., :, None], 0.0)
    table = table - xp.where(last[..., :, None], lower[..., None, :], 0.0)

    moved = turns & (nearest > pull + tiny)
    barred = barred & ~moved[..., None]
    leaves = first & held
    changes = turns[..., None] & first
    changes = changes | ((arrives | (active & joins))[..., None] & stage)
    changes = changes | (swaps[..., None] & replaced)
    barred = barred | (turns[..., None] & leaves)
    table = exchange(xp, table, changes, held)
    held = held ^ changes
    pull = xp.where(turns, nearest, xp.where(swaps, least, reached))

    stage_next, none = _next_stage(xp, table, held, after, tiny)
    stage = xp.where(ends_here[..., None], stage_next, stage)
    pull = xp.where(ends_here, 0.0, pull)
    barred = barred & ~ends_here[..., None]
    done = done | (ends_here & none)
    return table, held, stage, pull, barred, swaps, short, done
