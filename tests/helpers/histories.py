"""Policies that remember everything, in small models without loops: the tree of all histories, and its program."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import linprog

from lexicone.models import MDP


def layered(
    rng, layers=3, width=2, actions=2, objectives=2, chance=True, choices=(-2, -1, 0, 1, 2)
):
    """A model of so many layers of states, then an end; rewards are whole numbers, some actions are not there."""
    states = layers * width + 1
    successors = 2 if chance else 1
    following = np.full((states, actions, successors), states - 1)
    for s in range((layers - 1) * width):
        first = (s // width + 1) * width
        following[s] = first + rng.integers(width, size=(actions, successors))
    share = rng.choice([0.1, 0.25, 0.5, 0.75], size=(states, actions))
    probability = np.stack([share, 1 - share], 2) if chance else np.ones((states, actions, 1))
    reward = rng.choice(choices, size=(states, actions, successors, objectives)).astype(float)
    available = rng.random((states, actions)) < 0.9
    available[:, 0] |= ~available.any(axis=1)
    terminal = np.arange(states) == states - 1
    reward[terminal], following[terminal] = 0.0, states - 1
    available[terminal] = True
    start = np.zeros(states)
    start[:width] = 1 / width
    return MDP(
        next_state=following,
        probability=probability,
        reward=np.where(available[:, :, None, None], reward, 0.0),
        initial=start,
        terminal=terminal,
        available=available,
    )


class Histories:
    """All histories of a model without loops; a leaf is one that has ended."""

    def __init__(self, mdp: MDP, gamma: float = 1.0) -> None:
        self.rows: list[
            dict[int, float]
        ] = []  # per history: its own actions 1, minus what leads to it
        self.right: list[float] = []
        self.returns: list[np.ndarray] = []
        self.leaves: list[
            tuple[int, float]
        ] = []  # which action variable leads there, and how often
        self.variables = 0
        self.actions_of: list[list[int]] = []
        self.mdp, self.gamma = mdp, gamma
        for s in np.flatnonzero(mdp.initial):
            self._grow(int(s), None, mdp.initial[s], np.zeros(mdp.num_objectives), 1.0)

    def _grow(self, s, parent, weight, total, discount):
        if self.mdp.terminal[s]:
            self.returns.append(total)
            self.leaves.append((parent, weight))
            return
        row = {} if parent is None else {parent: -weight}
        self.right.append(weight if parent is None else 0.0)
        self.rows.append(row)
        own = []
        self.actions_of.append(own)
        for a in np.flatnonzero(self.mdp.available[s]):
            variable = self.variables
            self.variables += 1
            row[variable] = 1.0
            own.append(variable)
            for b in np.flatnonzero(self.mdp.probability[s, a]):
                later = total + discount * self.mdp.reward[s, a, b]
                p = self.mdp.probability[s, a, b]
                self._grow(
                    int(self.mdp.next_state[s, a, b]), variable, p, later, discount * self.gamma
                )

    def scores(self, order) -> np.ndarray:
        """Of each leaf: 1 if the return meets a threshold with a chance, else 0; otherwise the return itself."""
        found = np.array(self.returns)
        for j, (t, p) in enumerate(zip(order.thresholds, order.chances, strict=True)):
            if p is not None:
                found[:, j] = found[:, j] >= t - 1e-9
        return found

    def best_tail_key(self, order, cuts) -> np.ndarray:
        """The same where objective 1 counts by its worst episodes, for the best of these cuts b."""
        share = order.levels[0].worst
        returns, keys = np.array(self.returns), []
        for b in cuts:
            score = returns.copy()
            score[:, 0] = b + (np.minimum(returns[:, 0], b) - b) / share
            keys.append(tuple(np.round(self.best_key(order, score), 7)))
        return np.array(max(keys))

    def best_key(self, order, score=None) -> np.ndarray:
        """The lexicographic optimum over all policies with memory that may flip coins, a linear program each."""
        matrix = np.zeros((len(self.rows), self.variables))
        for i, row in enumerate(self.rows):
            for v, c in row.items():
                matrix[i, v] = c
        score = self.scores(order) if score is None else score
        value = np.zeros((score.shape[1], self.variables))
        for leaf, (v, w) in enumerate(self.leaves):
            value[:, v] += w * score[leaf]
        limits = _limits(order)
        return _lexicographic(value, limits, A_eq=matrix, b_eq=np.array(self.right))

    def pure_values(self, order) -> np.ndarray:
        """The scores of every policy with memory that never flips a coin, ``[P,K]``."""
        score, found = self.scores(order), []
        weights = np.array([w for _, w in self.leaves])
        first = np.array([v for v, _ in self.leaves])
        for choice in product(*self.actions_of):
            x, chosen = np.zeros(self.variables), set(choice)
            for row, right in zip(
                self.rows, self.right, strict=True
            ):  # parents come before children
                inflow = right - sum(c * x[v] for v, c in row.items() if c < 0)
                for v in row:
                    if v in chosen and row[v] == 1.0:
                        x[v] = inflow
            found.append((weights * x[first]) @ score)
        return np.array(found)


def best_mixture(values: np.ndarray, order) -> np.ndarray:
    """The lexicographic optimum over mixtures of policies that are drawn before an episode."""
    ones = np.ones((1, len(values)))
    return _lexicographic(values.T, _limits(order), A_eq=ones, b_eq=np.ones(1))


def _limits(order) -> list[float]:
    shares: Sequence[float | None] = order.chances
    return [t if p is None else p for t, p in zip(order.thresholds, shares, strict=True)] + [np.inf]


def _lexicographic(value, limits, **equal) -> np.ndarray:
    key, rows, least = [], [], []
    for row, limit in zip(value, limits, strict=True):
        upper: dict[str, Any] = (
            {} if not rows else {"A_ub": -np.array(rows), "b_ub": -np.array(least)}
        )
        found = linprog(-row, **equal, **upper)
        assert found.status == 0, found.message
        key.append(min(-found.fun, limit))
        rows.append(row)
        least.append(max(key[-1], -1e9) - 1e-9)
    return np.array(key)
