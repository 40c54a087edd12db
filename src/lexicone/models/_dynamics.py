"""What follows from a model's rows: which states can be reached, and the Markov chain of a policy."""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy import sparse

from lexicone.models._reachability import reachable
from lexicone.models._rows import Rows

__all__ = ["Dynamics"]


class Dynamics(ABC):
    """The part of an `MDP` that reads its rows."""

    initial: Float[np.ndarray, " S"]
    terminal: Bool[np.ndarray, " S"]
    available: Bool[np.ndarray, "S A"]

    @cached_property
    @abstractmethod
    def rows(self) -> Rows:
        """What can be chosen, without what fills tables up."""

    @abstractmethod
    def policy_table(self, policy: Any) -> Float[np.ndarray, "S A"]:
        """A policy as probabilities."""

    @cached_property
    def expected_reward(self) -> Float[np.ndarray, "S A K"]:
        """``Σ_b p(b|s,a)·r(s,a,b)``; 0 where the action is not available."""
        table = np.zeros((*self.available.shape, self.rows.num_objectives))
        table[self.rows.state, self.rows.action] = self.rows.expected_reward
        table.flags.writeable = False
        return table

    @cached_property
    def graph(self) -> sparse.csr_array:
        """Which state can lead to which in one step, under some action: boolean ``[S,S]``."""
        return sparse.csr_array(self.rows.graph + sparse.diags_array(self.terminal, dtype=bool))

    def reachable(self) -> Bool[np.ndarray, " S"]:
        """The states that some policy visits with positive probability."""
        return self._reached.copy()

    @cached_property
    def _reached(self) -> Bool[np.ndarray, " S"]:
        return reachable(self.graph, self.initial > 0)

    def can_terminate(self) -> Bool[np.ndarray, " S"]:
        """The states from which some policy can reach a terminal state (terminal ones included)."""
        return reachable(self.graph, self.terminal, backward=True)

    def chain(self, policy: Any) -> sparse.csr_array:
        """The policy's Markov chain, ``P[s,t] = Σ_a π(a|s) p(t|s,a)``: sparse ``[S,S]``."""
        rows, weights = self.rows, self._shares(policy)
        taken = weights[rows.choice] * rows.probability
        keep = taken > 0
        ends = np.flatnonzero(self.terminal)
        source = np.concatenate([rows.state[rows.choice[keep]], ends])
        target = np.concatenate([rows.next_state[keep], ends])
        entries = (np.concatenate([taken[keep], np.ones(len(ends))]), (source, target))
        matrix = sparse.csr_array(entries, shape=(len(self.initial), len(self.initial)))
        matrix.sum_duplicates()
        return matrix

    def policy_reward(self, policy: Any) -> Float[np.ndarray, "S K"]:
        """``Σ_a π(a|s) r(s,a)``: the expected reward of one step."""
        rows = self.rows
        paid = self._shares(policy)[:, None] * rows.expected_reward
        return np.stack(
            [np.bincount(rows.state, column, len(self.initial)) for column in paid.T], 1
        )

    def _shares(self, policy: Any) -> Float[np.ndarray, " C"]:
        """How likely the policy takes each choice."""
        return self.policy_table(policy)[self.rows.state, self.rows.action]
