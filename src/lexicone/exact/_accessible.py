"""Which pairs policies can come by that keep the floors (γ=1).

An occupancy that solves ``flow(x) = initial`` may go round in loops that nothing leads to. Such *lone loops* are a
limit of policies, which enter the loop more and more rarely and stay the longer, but only if some policy that keeps
the floors enters it at all. Pairs that none can take do not count:

    F = {x ≥ 0, flow(x) = initial, Σ x·r_j ≥ floor_j},   take an x ∈ F that uses as many pairs as any;
    drop all pairs that it does not reach from the start; repeat.

What is left has an x that reaches all its pairs, and with it every y ∈ F is the limit of ``(1−ε)·y + ε·x``: occupancies
of policies that keep the floors. If nothing is left, no policy keeps them.
"""

import time
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse
from scipy.sparse import csgraph

from lexicone.exact._highs import Outcome, build_program, solve_program
from lexicone.exact._state_actions import STAY, StateActions

__all__ = ["Accessible", "accessible_pairs"]

_MOST_STATES = 20_000  # larger models are left as they are
_MOST_SECONDS = 60.0
_SLACKS = (
    1e-12,
    1e-9,
)  # of a floor's size: so much rounding is allowed for, the second if the first is too little


class Accessible(NamedTuple):
    """The pairs that policies can use which keep the floors."""

    outcome: Outcome
    """OPTIMAL; INFEASIBLE: no policy keeps the floors; FAILED or TIME_LIMIT: that cannot be told. Then all pairs."""
    pairs: Bool[np.ndarray, " N"]
    occupancy: Float[np.ndarray, " N"]
    """Of a policy that uses all of them and keeps the floors."""


def accessible_pairs(
    pairs: StateActions,
    floors: dict[int, float],
    deadline: float = np.inf,
    rarest: float = 1e-6,
) -> Accessible:
    """What policies that keep the floors can use at least ``rarest`` times in an episode that comes to its state."""
    everything, nothing = np.ones(pairs.num_pairs, dtype=bool), np.zeros(pairs.num_pairs)
    if pairs.num_states > _MOST_STATES:
        return Accessible(Outcome.FAILED, everything, nothing)
    deadline = min(deadline, time.monotonic() + _MOST_SECONDS)
    outcome = Outcome.INFEASIBLE
    for slack in _SLACKS:
        lowered = {j: f - slack * max(1.0, abs(f)) for j, f in floors.items()}
        allowed = everything
        while True:
            outcome, occupancy = _widest(pairs, allowed, lowered, deadline, rarest)
            if outcome is not Outcome.OPTIMAL:
                break
            used = occupancy > 0
            reached = _with_rare_states(pairs, allowed, used & pairs.reached(used)[pairs.state])
            stays = (pairs.action == STAY) & pairs.reached(reached)[pairs.state]
            if not (used & ~reached).any():
                return Accessible(outcome, reached | stays, occupancy)
            allowed = reached | stays
    return Accessible(outcome, everything, nothing)


def _with_rare_states(
    pairs: StateActions, allowed: Bool[np.ndarray, " N"], used: Bool[np.ndarray, " N"]
) -> Bool[np.ndarray, " N"]:
    """These pairs, and all that are allowed in states which they lead to, but too rarely to count as used."""
    while True:
        has_pair = np.zeros(pairs.num_states, dtype=bool)
        has_pair[pairs.state[used]] = True
        rare = pairs.reached(used) & ~has_pair
        if not rare.any():
            return used
        used = used | (allowed & rare[pairs.state])


def _widest(
    pairs: StateActions,
    allowed: Bool[np.ndarray, " N"],
    floors: dict[int, float],
    deadline: float,
    rarest: float,
) -> tuple[Outcome, Float[np.ndarray, " N"]]:
    """An occupancy, of allowed pairs only, that uses as many of them as any; INFEASIBLE if none keeps the floors.

    With a factor κ, to make up for what is used rarely, and what is natural for each state, ρ:

        max Σ t   s.t.   flow(x) = κ·initial,   Σ x·r_j ≥ κ·floor_j,   x ≥ ρ·t,   0 ≤ t ≤ 1,   1 ≤ κ ≤ 1/rarest

    Pairs that stay cannot be part of a loop, and are used only as far as they have to be.
    """
    rows = np.flatnonzero(allowed)
    count, states = len(rows), pairs.num_states
    own = sparse.csr_array(
        (np.ones(count), (np.arange(count), pairs.state[rows])), shape=(count, states)
    )
    table = pairs.next[rows]
    natural = _natural_visits(pairs, rows)[pairs.state[rows]]
    kept = list(floors)
    level = np.array([floors[j] for j in kept])
    unit = sparse.eye_array(count)
    program = sparse.block_array(
        [
            [sparse.csr_array(own - table).T, None, sparse.csr_array(-pairs.initial[:, None])],
            [
                sparse.csr_array(pairs.reward[rows][:, kept].T),
                None,
                sparse.csr_array(-level[:, None]),
            ]
            if kept
            else [sparse.csr_array((0, count)), None, sparse.csr_array((0, 1))],
            [unit, -sparse.diags_array(natural), sparse.csr_array((count, 1))],
        ]
    )
    lower = np.zeros(states + len(kept) + count)
    upper = np.concatenate([np.zeros(states), np.full(len(kept) + count, np.inf)])
    stays = pairs.action[rows] == STAY
    most = np.concatenate([np.full(count, np.inf), np.where(stays, 0.0, 1.0), [1 / rarest]])
    cost = np.concatenate([np.where(stays, 0.1 * rarest, 0.0), -np.ones(count), [0.0]])
    highs = build_program(cost, program, lower, upper, most)
    highs.changeColBounds(2 * count, 1.0, 1 / rarest)
    if np.isfinite(deadline):
        highs.setOptionValue("time_limit", max(0.0, deadline - time.monotonic()))
    outcome, occupancy = solve_program(highs), np.zeros(pairs.num_pairs)
    if outcome is not Outcome.OPTIMAL:
        return outcome, occupancy
    found = np.array(highs.getSolution().col_value)
    used = (found[count : 2 * count] > 0.5) | stays
    occupancy[rows[used]] = np.maximum(found[:count][used], 0.0) / found[-1]
    return outcome, occupancy


def _natural_visits(
    pairs: StateActions, rows: Int[np.ndarray, " M"], least: float = 1e-4
) -> Float[np.ndarray, " S"]:
    """The probability of the likeliest way from the start to each state, between ``least`` and 1."""
    table = pairs.next[rows].tocoo()
    source, target = pairs.state[rows][table.coords[0]], table.coords[1]
    size = pairs.num_states
    start = np.flatnonzero(pairs.initial > 0)
    source = np.concatenate([source, np.full(len(start), size)])
    target = np.concatenate([target, start])
    chance = np.minimum(np.concatenate([table.data, pairs.initial[start]]), 1.0)
    likeliest = np.lexsort((-chance, target, source))
    _, first = np.unique(source[likeliest] * (size + 1) + target[likeliest], return_index=True)
    edges = likeliest[first]
    distance = 1e-12 - np.log(chance[edges])  # an edge of length 0 would be none
    graph = sparse.csr_array((distance, (source[edges], target[edges])), shape=(size + 1, size + 1))
    far = csgraph.dijkstra(graph, indices=size)[:size]
    return np.clip(np.exp(-far), least, 1.0)
