"""What `solve` claims about any model, against linear programs written here (scipy) and against itself.

Nothing here uses the solver's own programs: the occupancy program is built from the dense tables.
"""

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from lexicone.exact._solution import Status
from lexicone.models._evaluation import evaluate
from lexicone.order import Order


def occupancy_maximum(mdp, gamma, objective, floors):
    """The values of a policy that maximises V_i with ``V_j ≥ floor_j``; None if there is none, or it never ends.

    The program is only as exact as its tolerances, but its policy is evaluated on its own, by a dense system: what it
    has is possible.
    """
    dense = mdp.to_dense()
    alive = np.flatnonzero(~mdp.terminal)
    states, actions = len(alive), mdp.num_actions
    move = gamma * dense.transition[alive][:, :, alive].reshape(states * actions, states)
    flow = np.repeat(np.eye(states), actions, axis=0) - move
    paid = mdp.expected_reward[alive].reshape(states * actions, -1)
    size = np.abs(paid).max(axis=0)
    size[size == 0] = 1.0
    kept = list(floors)
    found = linprog(
        -paid[:, objective] / size[objective],
        A_ub=-(paid / size)[:, kept].T if kept else None,
        b_ub=[-floors[j] / size[j] for j in kept] if kept else None,
        A_eq=sparse.csr_array(flow.T),
        b_eq=mdp.initial[alive],
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.status != 0:
        return None
    visits = np.maximum(found.x.reshape(states, actions), 0.0)
    visits[visits.sum(axis=1) == 0, 0] = 1.0
    policy = visits / visits.sum(axis=1, keepdims=True)
    chain = np.einsum("sa,sat->st", policy, move.reshape(states, actions, states))
    income = np.einsum("sa,sak->sk", policy, paid.reshape(states, actions, -1))
    try:
        totals = np.linalg.solve(np.eye(states) - chain, np.column_stack([income, np.ones(states)]))
    except np.linalg.LinAlgError:
        return None
    if (
        not (totals[:, -1] > 0.5).all() or totals[:, -1].max() > 1e9
    ):  # steps to the end: the system is singular
        return None
    return mdp.initial[alive] @ totals[:, :-1]


def thresholds_for(rng, mdp, maximum):
    """An order whose thresholds are ∞, at a maximum, just below or above it, or well inside; objectives in order."""
    thresholds, floors = [], {}
    for i in range(mdp.num_objectives - 1):
        best = maximum(i, floors)
        if best is None:
            thresholds.append(float(rng.choice([0.0, -1.0, np.inf])))
            continue
        size = max(abs(best), 1e-3)
        off = rng.choice([0.0, 1e-12, 1e-10, 1e-9, 1e-7, 1e-6, 1e-3, 0.1, 0.5])
        threshold = rng.choice(
            [np.inf, best, best - off * size, best - off * size, best + off * size, best - size]
        )
        thresholds.append(float(threshold))
        floors[i] = min(threshold, best) - 1e-9 * size
    return Order(thresholds)


def check_claims(mdp, order, gamma, solution, *, reference=True, tolerance=1e-6):
    """An optimal solution is one: values are its policy's, thresholds met as said, the bound a bound, nothing better.

    True if the reference could be asked.
    """
    assert solution.status in (Status.OPTIMAL, Status.NEEDS_MEMORY), (
        solution.status,
        solution.message,
    )
    values, key = solution.values, np.asarray(Order(order.thresholds).key(solution.values))
    gross = np.abs(values)
    if np.isfinite(solution.occupancy).all():
        gross = np.einsum("sa,sak->k", solution.occupancy, np.abs(mdp.expected_reward))
    size = np.maximum(np.abs(np.where(np.isfinite(key), key, 0)), 1e-3 * gross)
    largest = np.abs(mdp.expected_reward[~mdp.terminal]).max(axis=(0, 1))
    size = np.maximum(size, 0.3 * largest)
    if solution.stay is None:
        again = evaluate(mdp, solution.policy, gamma)
        np.testing.assert_allclose(again, values, rtol=1e-7, atol=1e-9 * max(1, gross.max()))
    assert (key >= solution.bound - 2 * tolerance * size).all(), (key, solution.bound)
    for k, threshold in enumerate(order.thresholds):
        if solution.satisfied[k]:
            room = tolerance * max(gross[k], abs(threshold), 1e-6 * largest[k])
            assert values[k] >= threshold - 2 * room
        elif np.isfinite(threshold):
            assert values[k] < threshold
    if not reference or not np.isfinite(values).all():
        return False
    floors, told = {}, True
    for i, threshold in enumerate([*order.thresholds, np.inf]):
        if threshold == -np.inf:
            continue
        for slack in (4e-12, 1e-9):
            # with slack, so that what the program finds keeps the floors in spite of its own tolerance; and by more
            # than 2e-12, since a threshold that near to a maximum is taken for it
            raised = {j: f + slack * max(abs(f), largest[j]) for j, f in floors.items()}
            theirs = occupancy_maximum(mdp, gamma, i, raised)
            if theirs is None or any(theirs[j] < f + 3e-12 * abs(f) for j, f in floors.items()):
                told = False
                continue
            best, allowed = min(theirs[i], threshold), 3 * tolerance * size[i]
            assert best <= key[i] + allowed, f"objective {i + 1}: {theirs} is possible, not {key}"
            assert best <= solution.bound[i] + allowed, f"bound {solution.bound[i]}, but {theirs}"
        floors[i] = max(key[i], min(solution.bound[i], threshold))
    return told
