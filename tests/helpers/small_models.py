"""Random models that are small enough to enumerate, and models drawn by hand, for tests of exact solvers."""

import itertools

import numpy as np
from hypothesis import settings, strategies as st
from scipy.optimize import linprog

from lexicone.models._evaluation import evaluate
from lexicone.models._mdp import MDP
from lexicone.order import Order

many = settings(max_examples=max(40, settings().max_examples), deadline=None)
"""At least a hundred examples, more with a thorough profile."""

KINDS = ("ties", "costs", "some costs", "gains", "one sign each", "any")


def random_model(seed, states, actions, objectives, kind, ends):
    """Few successors, so that loops, traps and unreachable states occur; ``ends``: the last state is terminal."""
    rng = np.random.default_rng(seed)
    transition = np.zeros((states, actions, states))
    for s, a in np.ndindex(states, actions):
        chosen = rng.choice(states, rng.integers(1, min(states, 3) + 1), replace=False)
        weight = rng.random(len(chosen)) + 0.05 if rng.random() < 0.6 else np.ones(len(chosen))
        transition[s, a, chosen] = weight / weight.sum()
    shape = (states, actions, objectives)
    whole = rng.integers(0, 3, shape).astype(float)
    reward = {
        "ties": rng.integers(-2, 3, shape).astype(float),
        "costs": -whole,
        "some costs": -rng.random(shape) * (rng.random(shape) < 0.6),
        "gains": whole,
        "one sign each": whole * rng.choice([-1, 1], objectives),
        "any": rng.normal(size=shape) * (rng.random(shape) < 0.8),
    }[kind]
    terminal = np.zeros(states, dtype=bool)
    terminal[-1] = ends and states > 1
    transition[terminal], reward[terminal] = 0.0, 0.0
    initial = rng.random(states) * (rng.random(states) < 0.6)
    initial[0] += 0.1
    return MDP.from_dense(transition, reward, initial / initial.sum(), terminal)


def small_models(kinds=KINDS, max_objectives=4, max_states=4):
    """Arguments of `random_model` for at most 81 deterministic policies."""
    return st.tuples(
        st.integers(0, 2**32 - 1),
        st.integers(1, max_states),
        st.integers(1, 3),
        st.integers(1, max_objectives),
        st.sampled_from(kinds),
        st.booleans(),
    )


def draw_order(draw, rows):
    """Thresholds that bind, do not bind, are met exactly or cannot be met, given values of policies ``[N,K]``."""
    finite = rows[np.isfinite(rows).all(axis=1)]
    if not len(finite):
        finite = np.zeros((1, rows.shape[1]))
    thresholds = []
    for column in finite.T[:-1]:
        share = draw(st.floats(0, 1))
        inside = column.min() + share * np.ptp(column)
        outside = [column.max() + 1, column.min() - 1, np.inf, -np.inf]
        exact = draw(st.sampled_from(sorted(set(column.tolist()))))
        thresholds.append(draw(st.sampled_from([inside, inside, inside, exact, *outside])))
    return Order(thresholds)


def deterministic_values(mdp, gamma):
    """The values of every deterministic policy, ``[N,K]``."""
    actions = [range(1 if end else mdp.num_actions) for end in mdp.terminal]
    return np.array([evaluate(mdp, np.array(p), gamma) for p in itertools.product(*actions)])


def without_signs(mdp):
    """The same model with |reward|: its values are finite where totals converge, and loops do not just cancel."""
    return MDP.from_dense(
        mdp.to_dense().transition, np.abs(mdp.expected_reward), mdp.initial, mdp.terminal
    )


def assert_no_mixture_is_better(rows, order, key, *, attained=True):
    """Stage by stage: no mixture of the rows that keeps the key so far has more (linear program over all rows).

    Floors get a slack of 1e-9; what it may be worth, by the program's own duals, is allowed for. ``attained``:
    the key belongs to such a mixture, so one must exist.
    """
    thresholds = np.array([*order.thresholds, np.inf])
    marked = []
    for i in np.flatnonzero(thresholds > -np.inf):
        floors = list(marked)
        marked.append(i)
        usable = rows[(rows[:, marked] > -np.inf).all(axis=1)]
        if not len(usable):
            assert not attained
            return
        if (usable[:, marked] == np.inf).any():
            return  # mixtures of these have infinite values; other tests look at them
        for slack in (1e-9, 1e-7):
            room = slack * np.maximum(1.0, np.abs(key[floors]))
            found = linprog(
                -usable[:, i],
                A_ub=-usable[:, floors].T if floors else None,
                b_ub=room - key[floors] if floors else None,
                A_eq=np.ones((1, len(usable))),
                b_eq=[1.0],
            )
            if found.status == 0:
                break
        if found.status != 0:
            assert not attained, "the key is not a mixture's"
            return
        worth = float(np.abs(found.ineqlin.marginals) @ room) if floors else 0.0
        best = min(-found.fun, thresholds[i])
        assert best <= key[i] + 1e-6 * max(1.0, abs(key[i])) + 2 * worth


def assert_not_better(order, rows, key):
    """No row has a better key, beyond 1e-6."""
    for row in np.asarray(order.key(rows)):
        for theirs, ours in zip(row, key, strict=True):
            room = 1e-6 * max(1.0, abs(ours)) if np.isfinite(ours) else 0.0
            assert not theirs > ours + room, f"{row} is better than {key}"
            if theirs != ours and not abs(theirs - ours) <= room:
                break


def drawn(count, edges, terminal=()):
    """A deterministic model that starts in state 0: ``edges[s]`` lists (next state, rewards) for each action."""
    actions = max(len(moves) for moves in edges.values())
    objectives = len(next(iter(edges.values()))[0][1])
    transition = np.zeros((count, actions, count))
    reward = np.zeros((count, actions, objectives))
    for s, a in np.ndindex(count, actions):
        moves = edges.get(s, [(s, np.zeros(objectives))])
        target, paid = moves[min(a, len(moves) - 1)]
        transition[s, a, target], reward[s, a] = 1.0, paid
    ends = np.isin(np.arange(count), terminal)
    return MDP.from_dense(transition, reward, np.eye(count)[0], ends)


def fork():
    """A step that pays nothing, then the choice of (1, 0), (0.8, 1) or (0.3, 2)."""
    choice = [(2, (1, 0)), (2, (0.8, 1)), (2, (0.3, 2))]
    return drawn(3, {0: [(1, (0, 0))] * 3, 1: choice}, [2])
