"""A sweep of value iteration through the strong components, last ones first (γ=1).

What a state is worth depends on the states that its pairs lead to. If these come first, one pass settles all that does
not go in circles, where sweeps over all states at once need as many as the longest way has steps. Components are taken
level by level: those of a level lead to lower levels only, and are swept together; several times, if there are circles.

    v(s) ← max_n (reward[n] + Σ_{t≠s} next[n,t]·v(t)) / (1 − next[n,s])

From values that some policy has, values only rise, and never above the best.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse

from lexicone.models._reachability import strong_components

__all__ = ["ComponentSweep", "component_sweep"]

_STATES_PER_LEVEL = 20  # on average, at least: else the passes are too short to be quick
_MOST_IN_CIRCLES = 0.9  # of all entries: then components do not help
_ENOUGH = 1e-12  # of the largest value: sweeps of a level that change less are the last


class _Level(NamedTuple):
    states: slice
    pairs: slice
    first: Int[np.ndarray, " _"]
    """The first pair of each state, within the level."""
    pair: Int[np.ndarray, " _"]
    """Of each entry, within the level."""
    entries: slice
    circles: sparse.csr_array | None
    """The rows, where some component has several states."""


class ComponentSweep:
    """The pairs in the order of the levels; computed once for all rewards."""

    def __init__(
        self,
        next_state: sparse.csr_array,
        offsets: Int[np.ndarray, " _"],
        level: Int[np.ndarray, " S"],
        in_circle: Bool[np.ndarray, " S"],
    ) -> None:
        size, count = len(level), np.diff(offsets)
        order = np.argsort(level, kind="stable")
        self.place = np.empty(size, dtype=np.int32)
        """Of each state in that order."""
        self.place[order] = np.arange(size)
        ends = np.concatenate([[0], np.cumsum(count[order])])
        self.rows = np.repeat(offsets[:-1][order] - ends[:-1], count[order]) + np.arange(ends[-1])
        """The pairs in that order."""
        table = sparse.csr_array(next_state[self.rows])
        self.data, self.target = table.data, self.place[table.indices]
        pair = np.repeat(np.arange(len(self.rows)), np.diff(table.indptr))
        own = self.target == np.repeat(np.arange(size), count[order])[pair]
        repeats = np.bincount(pair[own], self.data[own], len(self.rows))
        self.data[own] = 0.0
        with np.errstate(divide="ignore"):
            self.visits = np.where(repeats < 1, 1 / (1 - repeats), 0.0)
        """How often a pair is taken until it leads elsewhere; 0 if it never does."""
        bounds = np.concatenate([[0], np.cumsum(np.bincount(level))])
        circles = np.bincount(level, in_circle) > 0
        self.levels = [
            self._level(table.indptr, ends, pair, slice(start, stop), bool(round_))
            for start, stop, round_ in zip(bounds[:-1], bounds[1:], circles, strict=True)
        ]

    def _level(
        self, indptr: np.ndarray, ends: np.ndarray, pair: np.ndarray, states: slice, circles: bool
    ) -> _Level:
        pairs = slice(ends[states.start], ends[states.stop])
        entries = slice(indptr[pairs.start], indptr[pairs.stop])
        first = ends[states] - pairs.start
        rows = None
        if circles:
            own = indptr[pairs.start : pairs.stop + 1] - indptr[pairs.start]
            block = self.data[entries], self.target[entries], own
            rows = sparse.csr_array(block, shape=(len(own) - 1, len(self.place)))
        return _Level(states, pairs, first, pair[entries] - pairs.start, entries, rows)

    def run(
        self, reward: Float[np.ndarray, " N"], values: Float[np.ndarray, " S"], most: int
    ) -> Float[np.ndarray, " S"]:
        """Better values than these; levels with circles are swept at most so often."""
        improved = np.empty_like(values)
        improved[self.place] = values
        reward = reward[self.rows] * self.visits
        reward[self.visits == 0] = -np.inf
        for level in self.levels:
            for _ in range(most if level.circles is not None else 1):
                if level.circles is not None:
                    ahead = level.circles @ improved
                else:
                    weights = self.data[level.entries] * improved[self.target[level.entries]]
                    ahead = np.bincount(level.pair, weights, level.pairs.stop - level.pairs.start)
                score = reward[level.pairs] + ahead * self.visits[level.pairs]
                before = improved[level.states]
                best = np.maximum(before, np.maximum.reduceat(score, level.first))
                change = np.abs(best - before).max()
                improved[level.states] = best
                if change <= _ENOUGH * np.abs(best).max():
                    break
        return improved[self.place]


def component_sweep(
    graph: sparse.csr_array, next_state: sparse.csr_array, offsets: Int[np.ndarray, " _"]
) -> ComponentSweep | None:
    """None if there are too many levels, or nearly everything is one component."""
    component, _ = strong_components(graph)
    in_circle = (np.bincount(component) > 1)[component]
    entries = np.diff(graph.indptr)
    if entries[in_circle].sum() > _MOST_IN_CIRCLES * entries.sum():
        return None
    level = _levels(graph, component, len(component) // _STATES_PER_LEVEL)
    return None if level is None else ComponentSweep(next_state, offsets, level, in_circle)


def _levels(
    graph: sparse.csr_array, component: Int[np.ndarray, " S"], most: int
) -> Int[np.ndarray, " S"] | None:
    """The longest way from each state's component, counted in components; None if there are too many."""
    source, target = (component[end] for end in graph.tocoo().coords)
    between = source != target
    edges = (np.ones(int(between.sum())), (target[between], source[between]))
    count = int(component.max()) + 1
    into = sparse.csr_array(edges, shape=(count, count))
    waiting = np.bincount(into.indices, minlength=count)
    """How many components each leads to that have no level yet."""
    level, incoming = np.zeros(count, dtype=np.int64), np.diff(into.indptr)
    ready, number = np.flatnonzero(waiting == 0), 0
    while len(ready):
        if number >= most:
            return None
        level[ready] = number
        first, size = into.indptr[ready], incoming[ready]
        ends = np.cumsum(size)
        before = into.indices[np.repeat(first + size - ends, size) + np.arange(ends[-1])]
        np.subtract.at(waiting, before, 1)
        ready = np.sort(before[waiting[before] == 0])
        ready = ready[np.diff(ready, prepend=-1) > 0]
        number += 1
    return level[component]
