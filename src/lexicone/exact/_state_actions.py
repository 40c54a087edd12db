"""The state–action pairs of a model that one may use: what all exact solvers work on.

A policy's occupancy is ``x[n]``, the expected discounted number of times that pair n is taken. The occupancies of all
policies are the solutions of ``x ≥ 0, Σ_{n at s} x[n] − Σ_n next[n,s]·x[n] = initial[s]``; then
``V_k = Σ_n x[n]·reward[n,k]``.

With γ=1 some policies never end. To *stay* for ever where it costs nothing is one more pair ``(s, STAY)``, which leads
nowhere; policies that neither end nor stay have no occupancy (see `lexicone.exact._end_components`).
"""

from collections import deque
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse

from lexicone.exact._component_sweep import ComponentSweep, component_sweep
from lexicone.exact._tolerances import NO_CHANCE, NO_VISITS
from lexicone.models._chain import Chain, factorises_well
from lexicone.models._mdp import MDP, decision_states
from lexicone.models._reachability import reachable, without_doubles

__all__ = ["STAY", "StateActions", "all_state_actions"]

STAY = -1
"""The action of a pair that stays for ever."""
_CHAINS = 3  # that are remembered
_FEW_PAIRS = 3  # per state, on average: with more, maxima are taken state by state
_MOST_COLUMNS = 64  # pairs of one state: likewise


@dataclass(frozen=True, eq=False)
class StateActions:
    """N pairs in S states (those that matter; ``states`` are their numbers in the model), sorted by state."""

    states: Int[np.ndarray, " S"]
    offsets: Int[np.ndarray, " S+1"]
    """The pairs of state s are ``offsets[s]:offsets[s+1]``."""
    action: Int[np.ndarray, " N"]
    next: sparse.csr_array
    """``γ·P``, ``[N,S]``; what is missing from a row's sum of 1 ends the episode."""
    reward: Float[np.ndarray, "N K"]
    initial: Float[np.ndarray, " S"]
    gamma: float
    stays_added: bool = False
    """Whether `restrict_to_finite` has added pairs that stay: from then on, no others are."""

    @property
    def num_states(self) -> int:
        """S."""
        return len(self.states)

    @property
    def num_pairs(self) -> int:
        """N."""
        return len(self.action)

    @property
    def num_objectives(self) -> int:
        """K."""
        return self.reward.shape[1]

    @property
    def first(self) -> Int[np.ndarray, " S"]:
        """The first pair of each state."""
        return self.offsets[:-1]

    @cached_property
    def state(self) -> Int[np.ndarray, " N"]:
        """The state of each pair."""
        return np.repeat(np.arange(self.num_states), np.diff(self.offsets))

    @cached_property
    def banded(self) -> bool:
        """Whether the chain of every policy factorises well, as a grid's do and a random graph's do not."""
        return factorises_well(without_doubles(self.graph(np.ones(self.num_pairs, dtype=bool))))

    @cached_property
    def component_sweep(self) -> ComponentSweep | None:
        """Value iteration in the order of the strong components; None where that order does not help."""
        whole = np.ones(self.num_pairs, dtype=bool)
        return component_sweep(self.graph(whole), self.next, self.offsets)

    @cached_property
    def pairs_per_state(self) -> int:
        """If it is the same in all states; otherwise 0."""
        count = np.diff(self.offsets)
        return int(count[0]) if len(count) and (count == count[0]).all() else 0

    @cached_property
    def _columns(self) -> tuple[Int[np.ndarray, " N"], list[int], Int[np.ndarray, " S"]] | None:
        """The pairs sorted by their place in their state: all first ones, all second ones, and so on; those of states
        with more pairs before the others. How many there are of each, and each state's place. None if there are many.
        """
        count = np.diff(self.offsets)
        few = 0 < self.num_pairs <= _FEW_PAIRS * self.num_states
        if not few or count.max() > _MOST_COLUMNS:
            return None
        states = np.argsort(-count, kind="stable")
        sizes = np.searchsorted(-count[states], -np.arange(count.max(initial=0)))
        pairs = [self.first[states[:size]] + column for column, size in enumerate(sizes)]
        place = np.empty(len(states), dtype=np.int64)
        place[states] = np.arange(len(states))
        return np.concatenate(pairs), sizes.tolist(), place

    def highest_by_state(self, score: Float[np.ndarray, " N"]) -> Float[np.ndarray, " S"]:
        """The highest score of each state's pairs."""
        if not self.pairs_per_state:
            if self._columns is None:
                return np.maximum.reduceat(score, self.first) if self.num_states else score
            order, sizes, place = self._columns
            score, done = score[order], self.num_states
            highest = score[:done]
            for size in sizes[1:]:
                np.maximum(highest[:size], score[done : done + size], out=highest[:size])
                done += size
            return highest[place]
        highest = score[:: self.pairs_per_state].copy()
        # a few long passes: quicker than many short ones
        for column in range(1, self.pairs_per_state):
            np.maximum(highest, score[column :: self.pairs_per_state], out=highest)
        return highest

    def best_by_state(self, score: Float[np.ndarray, " N"]) -> Int[np.ndarray, " S"]:
        """The pair with the highest score of each state; the first of them."""
        highest = self.highest_by_state(score)
        if not self.pairs_per_state:
            hit = np.flatnonzero(score == highest[self.state])
            state = self.state[hit]
            return hit[np.concatenate([[True], state[1:] != state[:-1]])[: len(hit)]]
        place = np.zeros(self.num_states, dtype=np.int64)
        for column in range(self.pairs_per_state - 1, 0, -1):
            place[score[column :: self.pairs_per_state] == highest] = column
        place[score[:: self.pairs_per_state] == highest] = 0
        return place + self.first

    def chain(self, policy: Int[np.ndarray, " S"]) -> Chain:
        """The chain of a deterministic policy; the last few are remembered with their factors (γ=1)."""
        if self.gamma < 1:
            return Chain(self.next[policy], self.banded)
        for known, chain in self._recent_chains:
            if np.array_equal(known, policy):
                return chain
        chain = Chain(self.next[policy], ordered=True)
        chain.direct = chain.direct or (chain.places is None and self.banded)
        self._recent_chains.append((policy.copy(), chain))
        return chain

    @cached_property
    def _recent_chains(self) -> deque[tuple[np.ndarray, Chain]]:
        return deque(maxlen=_CHAINS)

    def keep(
        self, pairs: Bool[np.ndarray, " N"], states: Bool[np.ndarray, " S"] | None = None
    ) -> tuple["StateActions", Int[np.ndarray, " M"]]:
        """Only those pairs in those states (all by default), and their numbers in the old table.

        Every kept pair must lead to kept states only; every kept state needs a kept pair.
        """
        if states is None:
            states = np.ones(self.num_states, dtype=bool)
        rows = np.flatnonzero(pairs & states[self.state])
        count = np.bincount(self.state[rows], minlength=self.num_states)[states]
        assert (count > 0).all()
        return StateActions(
            self.states[states],
            np.concatenate([[0], np.cumsum(count)]),
            self.action[rows],
            sparse.csr_array(self.next[rows][:, np.flatnonzero(states)]),
            self.reward[rows],
            self.initial[states],
            self.gamma,
            self.stays_added,
        ), rows

    @cached_property
    def can_end(self) -> Bool[np.ndarray, " N"]:
        """Whether the episode may end with this pair (with γ<1: every pair)."""
        return self.next @ np.ones(self.num_states) < 1 - NO_CHANCE

    def numbers_of(self, actions: Int[np.ndarray, " S"]) -> Int[np.ndarray, " S"]:
        """The pair of each state with that action; −1 where there is none."""
        width = 2 + max(int(actions.max(initial=0)), int(self.action.max(initial=0)))
        number = np.full((self.num_states, width), -1)
        number[self.state, self.action + 1] = np.arange(self.num_pairs)
        return number[np.arange(self.num_states), actions + 1]

    def reached(self, pairs: Bool[np.ndarray, " N"]) -> Bool[np.ndarray, " S"]:
        """The states that those pairs lead to from the start."""
        return self.closure(pairs, self.initial > 0, forward=True)

    def has_lone_loops(self, occupancy: Float[np.ndarray, " N"]) -> bool:
        """Whether it uses pairs that it does not come to from the start: possible with γ=1 alone."""
        reached = self.reached(occupancy > NO_VISITS)
        return bool((occupancy[~reached[self.state]] > NO_VISITS).any())

    def closure(
        self, pairs: Bool[np.ndarray, " N"], marked: Bool[np.ndarray, " S"], forward: bool
    ) -> Bool[np.ndarray, " S"]:
        """Marked states and all that are reached from them along the pairs, or back from them."""
        return reachable(self.graph(pairs), marked, backward=not forward)

    def graph(self, pairs: Bool[np.ndarray, " N"]) -> sparse.csr_array:
        """Which state the pairs lead to from which, ``[S,S]``; an edge of several pairs is there several times."""
        table, edges = self.next, self.next.indptr[self.offsets]
        data, targets = table.data, table.indices
        if not pairs.all():
            kept = np.repeat(pairs, np.diff(table.indptr))
            data, targets = data[kept], targets[kept]
            edges = np.concatenate([[0], np.cumsum(kept)])[edges]
        shape = (self.num_states, self.num_states)
        return sparse.csr_array((data, targets, edges.astype(np.int32)), shape=shape)


def all_state_actions(
    mdp: MDP, gamma: float, scale: Float[np.ndarray, " K"] | float = 1.0
) -> StateActions:
    """Every action of every state that can be reached, without terminal states: they are the end.

    Rewards are divided by ``scale``.
    """
    matters, rows = decision_states(mdp), mdp.rows
    states = np.flatnonzero(matters)
    place = np.full(mdp.num_states, -1, dtype=np.int32)
    place[states] = np.arange(len(states))
    choices = matters[rows.state]
    entries = choices[rows.choice] & (place[rows.next_state] >= 0) & (rows.probability > 0)
    number = np.cumsum(choices) - 1
    count = np.bincount(number[rows.choice[entries]], minlength=choices.sum())
    table = sparse.csr_array(
        (
            gamma * rows.probability[entries],
            place[rows.next_state[entries]],
            np.concatenate([[0], np.cumsum(count)]).astype(np.int32),
        ),
        shape=(len(count), len(states)),
    )
    table.sum_duplicates()
    return StateActions(
        states,
        np.concatenate([[0], np.cumsum(np.diff(rows.offsets)[states])]),
        rows.action[choices].astype(np.int64),
        table,
        rows.expected_reward[choices] / scale,
        mdp.initial[states],
        gamma,
    )
