"""Policies that never end (γ=1): where they may stay, and what leads where no total is finite.

What a policy does for ever is an *end component*: choices that never lead out of a set of states which all lead to each
other. To stay there is allowed if each objective that counts is paid nothing at all there, or gains
on average; then the total is 0 or +∞. A policy that pays for ever, or whose rewards cancel for ever, with any
positive probability, has no total and is left out of account.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse
from scipy.optimize import linprog
from scipy.sparse import csgraph

from lexicone.proofs._rows import Rows, search

__all__ = ["Usable", "end_components", "usable_choices"]


class Usable(NamedTuple):
    """What policies with totals may do."""

    choices: Bool[np.ndarray, " N"]
    stay: Bool[np.ndarray, " S"]
    """Where one may stay for ever."""
    safe: Bool[np.ndarray, " S"]
    """The states from which some policy has a total."""


def end_components(
    rows: Rows, among: Bool[np.ndarray, " N"]
) -> tuple[Int[np.ndarray, " S"], Bool[np.ndarray, " N"]]:
    """The largest end components of some choices: each state's number, −1 outside, and the choices inside."""
    inside = among & ~rows.ends
    choice, target = rows.edges
    number = np.full(rows.num_states, -1)
    while inside.any():
        _, part = csgraph.connected_components(rows.graph(inside), connection="strong")
        open_states = np.zeros(rows.num_states, dtype=bool)
        open_states[rows.state[inside]] = True
        leads_out = (part[rows.state[choice]] != part[target]) | ~open_states[target]
        outside = np.zeros(len(inside), dtype=bool)
        outside[choice[leads_out]] = True
        if not (inside & outside).any():
            members = np.unique(rows.state[inside])
            number[members] = np.unique(part[members], return_inverse=True)[1]
            break
        inside = inside & ~outside
    return number, inside


def usable_choices(
    rows: Rows,
    relevant: Bool[np.ndarray, " K"],
    among: Bool[np.ndarray, " N"] | None = None,
    stays: Bool[np.ndarray, " S"] | None = None,
) -> Usable:
    """The choices of the policies whose relevant objectives all have totals; for γ<1 all.

    With ``among`` policies may use only those choices, with ``stays`` stay only there.
    """
    usable = np.ones(len(rows.state), dtype=bool) if among is None else among
    if rows.gamma < 1:
        nowhere = np.zeros(rows.num_states, dtype=bool)
        return Usable(usable, nowhere, ~nowhere)
    stay = _stay_regions(rows, relevant, usable) >= 0
    if stays is not None:
        stay = stay & stays
    choice, target = rows.edges
    while True:
        goal = stay.copy()
        goal[rows.state[usable & rows.ends]] = True
        safe = search(sparse.csr_array(rows.graph(usable).T), goal)
        lost = ~safe[rows.state]
        lost[choice[~safe[target]]] = True
        if not (usable & lost).any():
            return Usable(usable, stay & safe, safe)
        usable = usable & ~lost


def _stay_regions(
    rows: Rows, relevant: np.ndarray, inside: Bool[np.ndarray, " N"]
) -> Int[np.ndarray, " S"]:
    reward = np.where(rows.nothing, 0.0, rows.reward)[:, relevant]
    while True:
        number, inside = end_components(rows, inside)
        if not inside.any():
            return number
        place = number[rows.state]
        count = number.max() + 1
        gains, costs = np.zeros((2, count, reward.shape[1]), dtype=bool)
        for k in range(reward.shape[1]):
            gains[place[inside & (reward[:, k] > 0)], k] = True
            costs[place[inside & (reward[:, k] < 0)], k] = True
        drop = np.zeros(len(inside), dtype=bool)
        for region in range(count):
            members = np.flatnonzero(inside & (place == region))
            can_gain = gains[region]
            if (gains[region] & costs[region]).any():
                can_gain = _joint_gains(rows, members, reward[members])
            drop[members[(reward[members][:, ~can_gain] != 0).any(axis=1)]] = True
        if not drop.any():
            return number
        inside = inside & ~drop


def _joint_gains(
    rows: Rows, members: Int[np.ndarray, " M"], reward: Float[np.ndarray, "M J"]
) -> Bool[np.ndarray, " J"]:
    """Which objectives gain on average under walks for ever on which none loses; all, if that cannot be told.

    max Σ t_j   s.t.   z ≥ 0 circulates,  Σ z·r_j ≥ t_j,  0 ≤ t_j ≤ 1
    """
    states, column = np.unique(rows.state[members], return_inverse=True)
    size = np.abs(reward).max(axis=0)
    reward = reward / np.where(size > 0, size, 1.0)
    own = sparse.csr_array((np.ones(len(members)), (column, np.arange(len(members)))))
    flow = own - rows.matrix[members][:, states].T
    count = reward.shape[1]
    found = linprog(
        np.concatenate([np.zeros(len(members)), -np.ones(count)]),
        A_ub=sparse.hstack([sparse.csr_array(-reward.T), sparse.eye_array(count)]),
        b_ub=np.zeros(count),
        A_eq=sparse.hstack([flow, sparse.csr_array((len(states), count))]),
        b_eq=np.zeros(len(states)),
        bounds=[(0, None)] * len(members) + [(0, 1)] * count,
    )
    if found.status != 0:
        return np.ones(count, dtype=bool)
    return found.x[len(members) :] > 0.5
