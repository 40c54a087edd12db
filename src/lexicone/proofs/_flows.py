"""Flows, found by linear programs: policies and loops that are looked for as witnesses, and then checked.

A flow ``y ≥ 0`` over the usable choices and choices to stay has ``Σ_{n at s} y_n − Σ_n P(s|n) y_n = share·initial(s)``.
A little of the even walk over all choices is added: so everything that a flow uses is reached.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy import sparse
from scipy.optimize import linprog

from lexicone.proofs._best_total import chain_solver
from lexicone.proofs._regions import Usable, end_components
from lexicone.proofs._rows import Rows

__all__ = ["Flow", "Walk", "best_flow", "even_walk", "flow_policy"]


class Walk(NamedTuple):
    """How often the even walk takes each usable choice, and stays, before it ends."""

    choices: Float[np.ndarray, " N"]
    stays: Float[np.ndarray, " S"]
    reached: Bool[np.ndarray, " S"]


class Flow(NamedTuple):
    """What a linear program found."""

    value: float
    choices: Float[np.ndarray, " N"]
    stays: Float[np.ndarray, " S"]
    prices: dict[int, float]
    """Of the floors."""
    loop: Float[np.ndarray, " N"] | None
    """A circulation that pays, if one was asked for."""


def even_walk(rows: Rows, usable: Usable) -> Walk | None:
    """Every usable choice of a state with the same probability, and to stay where one may (γ=1)."""
    reached = rows.reached(usable.choices) & usable.safe
    used = usable.choices & reached[rows.state]
    stays = usable.stay & reached
    count = np.bincount(rows.state[used], minlength=rows.num_states) + stays
    if (count[reached] == 0).any():
        return None
    share = 1.0 / np.maximum(count, 1)
    members = np.flatnonzero(reached)
    pick = sparse.csr_array(
        (share[rows.state[used]], (rows.state[used], np.flatnonzero(used))),
        shape=(rows.num_states, len(rows.state)),
    )
    chain = sparse.csr_array(rows.gamma * (pick @ rows.matrix))[members][:, members]
    visits = np.zeros(rows.num_states)
    visits[members] = chain_solver(sparse.csr_array(chain.T))(rows.initial[members])
    if not np.isfinite(visits).all():
        return None
    taken = np.where(used, (visits * share)[rows.state], 0.0)
    return Walk(taken, np.where(stays, visits * share, 0.0), reached)


def best_flow(
    rows: Rows,
    walk: Walk,
    part: float,
    objective: int | None,
    floors: dict[int, float],
    with_loop: bool = False,
) -> Flow | None:
    """The flow with most of an objective that keeps floors, ``part`` of it the even walk.

    Without an objective: with the least that is missing to the worst of the floors. With a loop: also a circulation
    that pays 1 of the objective and costs none of the floors. None if there is none.
    """
    used, stays = np.flatnonzero(walk.choices > 0), np.flatnonzero(walk.stays > 0)
    members = np.flatnonzero(walk.reached)
    number = np.full(rows.num_states, -1)
    number[members] = np.arange(len(members))
    size = np.abs(rows.reward).max(axis=0, initial=0.0)
    reward = rows.reward[used] / np.where(size > 0, size, 1.0)
    scale = np.where(size > 0, size, 1.0)
    moves = _flow_table(rows, used, members, number)
    out = sparse.csr_array(
        (np.ones(len(stays)), (number[stays], np.arange(len(stays)))),
        shape=(len(members), len(stays)),
    )
    extra = len(used) if with_loop else 0
    missing = 1 if objective is None else 0
    width = len(used) + len(stays) + extra + missing
    table = sparse.hstack([moves, out, sparse.csr_array((len(members), extra + missing))])
    right = (1 - part) * rows.initial[members]
    base = part * (walk.choices[used] @ reward)
    if with_loop:
        blank = sparse.csr_array((len(members), len(used) + len(stays)))
        table = sparse.vstack([table, sparse.hstack([blank, moves])])
        right = np.concatenate([right, np.zeros(len(members))])
    upper, limits = [], []
    for j, floor in floors.items():
        row = np.zeros(width)
        row[: len(used)] = -reward[:, j]
        if missing:
            row[-1] = -1.0
        upper.append(row)
        limits.append(base[j] - floor / scale[j])
        if with_loop:
            row = np.zeros(width)
            row[len(used) + len(stays) :] = -reward[:, j]
            upper.append(row)
            limits.append(0.0)
    cost = np.zeros(width)
    if objective is None:
        cost[-1] = 1.0
    elif with_loop:
        row = np.zeros(width)
        row[len(used) + len(stays) :] = -reward[:, objective]
        upper.append(row)
        limits.append(-1.0)
        cost[:] = 1e-6  # few rounds
    else:
        cost[: len(used)] = -reward[:, objective]
    most = np.full(width, np.inf)
    if (
        with_loop
    ):  # what goes round for ever never leaves, not even by a chance that is lost in tolerances
        _, lasting = end_components(rows, walk.choices > 0)
        most[len(used) + len(stays) :][~lasting[used]] = 0.0
    found = linprog(
        cost,
        A_ub=sparse.csr_array(np.array(upper)) if upper else None,
        b_ub=np.array(limits) if upper else None,
        A_eq=sparse.csr_array(table),
        b_eq=right,
        bounds=np.column_stack([np.zeros(width), most]),
    )
    if found.status != 0:
        return None
    choices, staying = part * walk.choices, part * walk.stays
    choices[used] += found.x[: len(used)]
    staying[stays] += found.x[len(used) : len(used) + len(stays)]
    prices = {}
    if upper and not with_loop:
        marginals = np.maximum(-np.asarray(found.ineqlin.marginals), 0.0)
        unit = scale[objective] if objective is not None else 1.0
        prices = {j: m * unit / scale[j] for j, m in zip(floors, marginals, strict=True)}
    loop = None
    if with_loop:
        loop = np.zeros(len(rows.state))
        loop[used] = found.x[len(used) + len(stays) :]
    value = found.fun if objective is None else float(choices @ rows.reward[:, objective])
    return Flow(float(value), choices, staying, prices, loop)


def _flow_table(
    rows: Rows, used: np.ndarray, members: np.ndarray, number: np.ndarray
) -> sparse.csr_array:
    own = sparse.csr_array(
        (np.ones(len(used)), (number[rows.state[used]], np.arange(len(used)))),
        shape=(len(members), len(used)),
    )
    return sparse.csr_array(own - rows.gamma * rows.matrix[used][:, members].T)


def flow_policy(
    rows: Rows, flow: Flow, actions: int
) -> tuple[Float[np.ndarray, "S A"], Float[np.ndarray, " S"]]:
    """The stationary policy of a flow, and the probability with which it stays."""
    taken = np.zeros((rows.num_states, actions))
    taken[rows.state, rows.action] = flow.choices
    total = taken.sum(axis=1) + flow.stays
    stay = np.where(total > 0, flow.stays / np.where(total > 0, total, 1.0), 0.0)
    policy = np.where(taken.sum(axis=1, keepdims=True) > 0, taken, 1.0)
    return policy / policy.sum(axis=1, keepdims=True), np.clip(stay, 0.0, 1.0)
