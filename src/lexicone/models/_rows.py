"""A model as rows: what can be chosen in each state, and what may follow each choice. Only what exists is stored.

Choices are sorted by state; those of state s are ``offsets[s]:offsets[s+1]``. What may follow choice c are the entries
``ends[c]:ends[c+1]``: a state, its probability and K rewards. Terminal states have no choices. Successor tables
``[S,A,B]`` hold the same, filled up to the most actions and the most successors that any state has.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse

__all__ = ["Rows", "Tables", "rows_of_tables", "tables_of_rows"]


class Tables(NamedTuple):
    """Successor tables, read-only."""

    next_state: Int[np.ndarray, "S A B"]
    probability: Float[np.ndarray, "S A B"]
    reward: Float[np.ndarray, "S A B K"]


class Rows:
    """C choices of S states, with E entries. Arrays are read-only."""

    def __init__(
        self,
        *,
        offsets: Int[np.ndarray, " _"],
        action: Int[np.ndarray, " C"],
        ends: Int[np.ndarray, " _"],
        next_state: Int[np.ndarray, " E"],
        probability: Float[np.ndarray, " E"],
        reward: Float[np.ndarray, "E K"],
    ) -> None:
        self.offsets = _frozen(offsets, np.int64)
        self.action = _frozen(action, np.int32)
        self.ends = _frozen(ends, np.int64)
        self.next_state = _frozen(next_state, np.int32)
        self.probability = _frozen(probability, np.float64)
        self.reward = _frozen(reward, np.float64)

    @property
    def num_states(self) -> int:
        """S."""
        return len(self.offsets) - 1

    @property
    def num_choices(self) -> int:
        """C."""
        return len(self.action)

    @property
    def num_objectives(self) -> int:
        """K."""
        return self.reward.shape[1]

    @property
    def most_successors(self) -> int:
        """B: the most entries of any choice, at least 1."""
        return int(np.diff(self.ends).max(initial=1))

    @cached_property
    def state(self) -> Int[np.ndarray, " C"]:
        """The state of each choice."""
        return np.repeat(np.arange(self.num_states, dtype=np.int32), np.diff(self.offsets))

    @cached_property
    def choice(self) -> Int[np.ndarray, " E"]:
        """The choice of each entry."""
        return np.repeat(np.arange(self.num_choices, dtype=np.int32), np.diff(self.ends))

    @cached_property
    def transition(self) -> sparse.csr_array:
        """Probabilities ``[C,S]``; entries for the same successor are kept apart."""
        shape = (self.num_choices, self.num_states)
        return sparse.csr_array((self.probability, self.next_state, self.ends), shape=shape)

    @cached_property
    def expected_reward(self) -> Float[np.ndarray, "C K"]:
        """``Σ_e p(e)·r(e)`` of each choice."""
        paid = sparse.csr_array(
            (self.probability, np.arange(len(self.probability)), self.ends),
            shape=(self.num_choices, len(self.probability)),
        )
        table = np.asarray(paid @ self.reward)
        table.flags.writeable = False
        return table

    @cached_property
    def graph(self) -> sparse.csr_array:
        """Which state can lead to which in one step, under some action: boolean ``[S,S]``."""
        possible = self.probability > 0
        source = self.state[self.choice[possible]]
        entries = (np.ones(len(source), dtype=bool), (source, self.next_state[possible]))
        return sparse.csr_array(entries, shape=(self.num_states, self.num_states))

    def scaled(self) -> "Rows":
        """The same, with probabilities that sum to 1 exactly where the input was rounded."""
        sums = np.asarray(self.transition.sum(axis=1)).ravel()[self.choice]
        probability = self.probability / np.where(np.abs(sums - 1) > 1e-14, sums, 1.0)
        return self.with_entries(probability=probability)

    def with_entries(
        self, *, probability: np.ndarray | None = None, reward: np.ndarray | None = None
    ) -> "Rows":
        """The same choices and successors with other numbers."""
        return Rows(
            offsets=self.offsets,
            action=self.action,
            ends=self.ends,
            next_state=self.next_state,
            probability=self.probability if probability is None else probability,
            reward=self.reward if reward is None else reward,
        )


def rows_of_tables(
    tables: Tables, available: Bool[np.ndarray, "S A"], terminal: Bool[np.ndarray, " S"]
) -> Rows:
    """The same model without what fills tables up."""
    offered = available & ~terminal[:, None]
    action = np.broadcast_to(np.arange(offered.shape[1]), offered.shape)[offered]
    possible = tables.probability[offered] > 0
    return Rows(
        offsets=_sums(offered.sum(axis=1)),
        action=action,
        ends=_sums(possible.sum(axis=1)),
        next_state=tables.next_state[offered][possible],
        probability=tables.probability[offered][possible],
        reward=tables.reward[offered][possible],
    )


def tables_of_rows(rows: Rows, num_actions: int) -> Tables:
    """Successor tables; where there is no choice, or no successor, they loop with probability 0, in ends with 1."""
    states, width = rows.num_states, rows.most_successors
    next_state = np.broadcast_to(
        np.arange(states, dtype=np.int32)[:, None, None], (states, num_actions, width)
    ).copy()
    probability = np.zeros(next_state.shape)
    reward = np.zeros((*next_state.shape, rows.num_objectives))
    probability[np.diff(rows.offsets) == 0, :, 0] = 1.0
    slot = np.arange(len(rows.choice)) - rows.ends[rows.choice]
    place = rows.state[rows.choice], rows.action[rows.choice], slot
    next_state[place], probability[place] = rows.next_state, rows.probability
    reward[place] = rows.reward
    for table in (next_state, probability, reward):
        table.flags.writeable = False
    return Tables(next_state, probability, reward)


def _sums(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)])


def _frozen(array: np.ndarray, dtype: type) -> np.ndarray:
    fixed = np.array(array, dtype=dtype, order="C", copy=None)
    fixed.flags.writeable = False
    return fixed
