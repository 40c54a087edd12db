"""The values of one policy, as intervals that are proven.

Its chain has one row per state, so ``V = r + γ P V`` is bounded from both sides: with any values v and any e ≥ 0 with
``|r + γ P v − v| + γ P e ≤ e`` the true values lie within ``v ± e``. With γ=1 that holds on the states which
the policy leaves; what it does for ever pays nothing, or decides the sign of an infinite value.
"""

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool
from scipy import sparse
from scipy.sparse import csgraph

from lexicone.proofs._best_total import chain_solver, time_shares
from lexicone.proofs._bounds import Arithmetic
from lexicone.proofs._rows import Rows, search

__all__ = ["Interval", "policy_values"]

_ATTEMPTS = 4


class Interval(NamedTuple):
    """Where a value lies; from −∞ to ∞ if nothing is proven."""

    low: float | Fraction
    high: float | Fraction
    note: str = ""
    """Why nothing is."""

    @property
    def known(self) -> bool:
        """Whether anything is proven."""
        return not self.note


def policy_values(arithmetic: Arithmetic) -> list[Interval]:
    """The K values of a policy, given as an arithmetic of one row per state."""
    chain = arithmetic.rows
    reached = chain.reached(np.ones(chain.num_states, dtype=bool))
    leaves = np.ones(chain.num_states, dtype=bool)
    if chain.gamma == 1:
        leaves = search(sparse.csr_array(chain.graph(reached).T), _exits(chain, reached))
    passing = reached & leaves
    solve = chain_solver(_inner(chain, passing))
    objectives = chain.reward.shape[1]
    found = []
    for k in range(objectives):
        paid_for_ever = reached & ~leaves & ~chain.nothing[:, k]
        if paid_for_ever.any():
            found.append(_for_ever(chain, reached & ~leaves, passing, solve, k))
        else:
            found.append(_interval(arithmetic, passing, solve, k))
    return found


def _exits(chain: Rows, reached: Bool[np.ndarray, " S"]) -> Bool[np.ndarray, " S"]:
    """The states of components that the chain leaves: their closure is what it passes through."""
    graph = chain.graph(reached)
    count, part = csgraph.connected_components(graph, connection="strong")
    source, target = graph.tocoo().coords
    left = np.zeros(count, dtype=bool)
    left[part[source[part[source] != part[target]]]] = True
    left[part[chain.ends & reached]] = True
    return left[part] & reached


def _inner(chain: Rows, passing: np.ndarray) -> sparse.csr_array:
    members = np.flatnonzero(passing)
    return sparse.csr_array(chain.gamma * chain.matrix[members][:, members])


def _interval(arithmetic: Arithmetic, passing: np.ndarray, solve: Any, k: int) -> Interval:
    chain = arithmetic.rows
    weights = [1.0 if j == k else 0.0 for j in range(chain.reward.shape[1])]

    def fill(values: np.ndarray) -> np.ndarray:
        whole = np.zeros(chain.num_states)
        whole[passing] = values
        return whole

    first = fill(solve(chain.reward[passing, k]))
    if not np.isfinite(first).all():
        return _unknown("its episodes are too long for floating point")
    values = arithmetic.lift(first)
    for _ in range(arithmetic.refinements):
        excess, _ = arithmetic.excess(weights, values)
        values = arithmetic.add(values, fill(solve(excess[passing])))
    excess, error = arithmetic.excess(weights, values)
    slip = (np.abs(excess) + error)[passing] * (1 + 1e-12)
    largest = float(slip.max(initial=0.0))
    if largest == 0:
        total = arithmetic.at_start(values)
        return Interval(total, total)
    nothing = [0.0] * len(weights)
    for attempt in range(_ATTEMPTS):
        extra = largest * 4.0**attempt * 1e-2
        length = fill(solve(slip + extra))
        if not np.isfinite(length).all() or (length < 0).any():
            break
        room = arithmetic.lift(length)
        grows, rounding = arithmetic.excess(nothing, room)
        if ((grows + rounding)[passing] + slip <= 0).all():
            spread = arithmetic.at_start(room)
            top = arithmetic.at_start(values)
            bottom = -arithmetic.at_start(arithmetic.lift(-arithmetic.floats(values)))
            if arithmetic.exact:
                bottom = top
            return Interval(bottom - spread, top + spread)
    return _unknown("its episodes are too long for the arithmetic")


def _for_ever(
    chain: Rows, for_ever: np.ndarray, passing: np.ndarray, solve: Any, k: int
) -> Interval:
    """±∞ by the sign of what is paid for ever, netted over all starts; unknown where it cancels."""
    members = np.flatnonzero(for_ever)
    inner = sparse.csr_array(chain.matrix[members][:, members])
    count, part = csgraph.connected_components(inner, connection="strong")
    gain = np.zeros(chain.num_states)
    for c in range(count):
        own = np.flatnonzero(part == c)
        paid = np.where(chain.nothing[members[own], k], 0.0, chain.reward[members[own], k])
        gain[members[own]] = time_shares(sparse.csr_array(inner[own][:, own])) @ paid
    size = float(np.abs(chain.reward[:, k]).max(initial=0.0))
    gain[passing] = solve(np.asarray(chain.matrix[np.flatnonzero(passing)] @ gain))
    net = float(chain.initial @ gain)
    if not np.isfinite(net) or abs(net) <= 1e-11 * size:
        return _unknown("what it is paid for ever cancels")
    return Interval(np.copysign(np.inf, net), np.copysign(np.inf, net))


def _unknown(note: str) -> Interval:
    return Interval(-np.inf, np.inf, note)
