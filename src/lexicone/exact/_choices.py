"""The choices of a model, the state–action pairs one may use: what all exact solvers work on.

A policy's occupancy is ``x[n]``, how often choice n is expected to be taken, discounted. The occupancies of all
policies are the solutions of ``x ≥ 0, Σ_{n at s} x[n] − Σ_n next[n,s]·x[n] = initial[s]``; then
``V_k = Σ_n x[n]·reward[n,k]``.

With γ=1 some policies never end. To *stay* for ever where it costs nothing is one more choice, which leads nowhere;
policies that neither end nor stay have no occupancy (see `lexicone.endings`).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse
from scipy.sparse import csgraph

from lexicone.models._mdp import MDP
from lexicone.models._reachability import reachable

__all__ = ["STAY", "Choices", "all_choices"]

STAY = -1
"""The action of a choice that stays for ever."""
END_TOLERANCE = 1e-12
"""A choice can end the episode if it does so with a larger probability than this; what is smaller is rounding."""


@dataclass(frozen=True, eq=False)
class Choices:
    """N choices in S states (those that matter; ``states`` are their numbers in the model), sorted by state."""

    states: Int[np.ndarray, " S"]
    start: Int[np.ndarray, " S+1"]
    """The choices of state s are ``start[s]:start[s+1]``."""
    action: Int[np.ndarray, " N"]
    next: sparse.csr_array
    """``γ·P``, ``[N,S]``; what is missing from a row's sum of 1 ends the episode."""
    reward: Float[np.ndarray, "N K"]
    initial: Float[np.ndarray, " S"]
    gamma: float
    settled: bool = False
    """Whether `settle` has been here: from then on, staying is allowed only where it still is a choice."""

    @property
    def num_states(self) -> int:
        """S."""
        return len(self.states)

    @property
    def num_choices(self) -> int:
        """N."""
        return len(self.action)

    @property
    def num_objectives(self) -> int:
        """K."""
        return self.reward.shape[1]

    @cached_property
    def state(self) -> Int[np.ndarray, " N"]:
        """The state of each choice."""
        return np.repeat(np.arange(self.num_states), np.diff(self.start))

    @cached_property
    def can_end(self) -> Bool[np.ndarray, " N"]:
        """Whether a choice ends the episode with positive probability (for γ<1 all do)."""
        return np.asarray(self.next.sum(axis=1)).ravel() < 1 - END_TOLERANCE

    @cached_property
    def narrow(self) -> bool:
        """Whether the graph is like a grid's, which factorises well, and not like a random one's.

        By its bandwidth after Cuthill–McKee ordering: at most 4√S. Not for more than 200,000 states.
        """
        if self.num_states > 200_000:
            return False
        graph = self.graph(np.ones(self.num_choices, dtype=bool))
        order = csgraph.reverse_cuthill_mckee(graph)
        place = np.empty(self.num_states, dtype=np.int64)
        place[order] = np.arange(self.num_states)
        source, target = graph.tocoo().coords
        width = np.abs(place[source] - place[target]).max(initial=0)
        return bool(width <= 4 * np.sqrt(self.num_states))

    @cached_property
    def width(self) -> int:
        """How many choices every state has, if all have the same number; otherwise 0."""
        count = np.diff(self.start)
        return int(count[0]) if len(count) and (count == count[0]).all() else 0

    def top(self, score: Float[np.ndarray, " N"]) -> Float[np.ndarray, " S"]:
        """For each state the highest score of its choices."""
        if not self.width:
            return np.maximum.reduceat(score, self.start[:-1]) if self.num_states else score
        highest = score[:: self.width].copy()
        for column in range(1, self.width):  # a few long passes: quicker than many short ones
            np.maximum(highest, score[column :: self.width], out=highest)
        return highest

    def best(self, score: Float[np.ndarray, " N"]) -> Int[np.ndarray, " S"]:
        """For each state its (first) choice with the highest score."""
        top = self.top(score)
        if not self.width:
            hit = np.flatnonzero(score == top[self.state])
            return hit[np.unique(self.state[hit], return_index=True)[1]]
        choice = np.zeros(self.num_states, dtype=np.int64)
        for column in range(self.width - 1, 0, -1):
            choice[score[column :: self.width] == top] = column
        choice[score[:: self.width] == top] = 0
        return choice + self.start[:-1]

    def keep(
        self, choices: Bool[np.ndarray, " N"], states: Bool[np.ndarray, " S"] | None = None
    ) -> tuple["Choices", Int[np.ndarray, " M"]]:
        """Only those choices in those states (all by default), and their numbers here.

        Every kept choice must lead to kept states only; every kept state needs a kept choice.
        """
        if states is None:
            states = np.ones(self.num_states, dtype=bool)
        rows = np.flatnonzero(choices & states[self.state])
        count = np.bincount(self.state[rows], minlength=self.num_states)[states]
        assert (count > 0).all()
        return Choices(
            self.states[states],
            np.concatenate([[0], np.cumsum(count)]),
            self.action[rows],
            sparse.csr_array(self.next[rows][:, np.flatnonzero(states)]),
            self.reward[rows],
            self.initial[states],
            self.gamma,
            self.settled,
        ), rows

    def reached(self, choices: Bool[np.ndarray, " N"]) -> Bool[np.ndarray, " S"]:
        """The states that those choices lead to from the start."""
        return self.closure(choices, self.initial > 0, forward=True)

    def closure(
        self, choices: Bool[np.ndarray, " N"], marked: Bool[np.ndarray, " S"], forward: bool
    ) -> Bool[np.ndarray, " S"]:
        """Marked states and all that are reached from them along the choices, or back from them."""
        return reachable(self.graph(choices), marked, backward=not forward)

    def graph(self, choices: Bool[np.ndarray, " N"]) -> sparse.csr_array:
        """Which state the choices lead to from which, ``[S,S]``."""
        edges = self.next[np.flatnonzero(choices)].tocoo()
        source = self.state[choices][edges.coords[0]]
        data = (np.ones(len(source), dtype=np.int8), (source, edges.coords[1]))
        graph = sparse.csr_array(data, shape=(self.num_states, self.num_states))
        graph.data[:] = 1
        return graph


def all_choices(mdp: MDP, gamma: float, scale: Float[np.ndarray, " K"] | float = 1.0) -> Choices:
    """Every action of every state that can be reached, without terminal states: they are the end.

    Rewards are divided by ``scale``.
    """
    states = np.flatnonzero(mdp.reachable() & ~mdp.terminal)
    place = np.full(mdp.num_states, -1)
    place[states] = np.arange(len(states))
    actions, width = mdp.num_actions, mdp.num_successors
    target = place[mdp.next_state[states]].reshape(-1, width)
    weight = gamma * mdp.probability[states].reshape(-1, width)
    keep = (weight > 0) & (target >= 0)
    ends = np.concatenate([[0], np.cumsum(keep.sum(axis=1))])
    table = sparse.csr_array(
        (weight[keep], target[keep].astype(np.int32), ends.astype(np.int32)),
        shape=(len(states) * actions, len(states)),
    )
    table.sum_duplicates()
    return Choices(
        states,
        np.arange(len(states) + 1) * actions,
        np.tile(np.arange(actions), len(states)),
        table,
        mdp.expected_reward[states].reshape(len(states) * actions, mdp.num_objectives) / scale,
        mdp.initial[states],
        gamma,
    )
