"""A model as the verifier reads it: one row of probabilities and rewards per choice, with bounds on rounding.

Only the rows of the `MDP` are read. Distributions count as scaled to a sum of exactly 1. An expected reward
that is 0 up to the rounding of its own sum is 0.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse
from scipy.sparse import csgraph

from lexicone.models._mdp import MDP

__all__ = ["Rows", "decided_states", "policy_rows", "read_rows"]

_ROUNDING = 2.0**-52


@dataclass(frozen=True, eq=False)
class Rows:
    """N choices in S states, sorted by state; terminal states are left out: they are the end."""

    states: Int[np.ndarray, " S"]
    """Their numbers in the model."""
    state: Int[np.ndarray, " N"]
    action: Int[np.ndarray, " N"]
    """Their numbers in the model; 0 for the row of a policy."""
    matrix: sparse.csr_array
    """P, ``[N,S]``; what is missing from a row's sum of 1 ends the episode."""
    reward: Float[np.ndarray, "N K"]
    size: Float[np.ndarray, "N K"]
    """``Σ p·|r|``, which the rounding of a reward is relative to."""
    ends: Bool[np.ndarray, " N"]
    """Whether the episode may end with the choice."""
    initial: Float[np.ndarray, " S"]
    gamma: float
    terms: int
    """How many roundings an entry of the tables has gone through, at most."""

    @property
    def num_states(self) -> int:
        """S."""
        return len(self.states)

    @cached_property
    def nothing(self) -> Bool[np.ndarray, "N K"]:
        """Where a reward is 0 up to rounding."""
        return np.abs(self.reward) <= self.terms * _ROUNDING * self.size

    @cached_property
    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """The choice and the successor of each entry."""
        choice, target = self.matrix.tocoo().coords
        return choice, target

    @cached_property
    def rounding(self) -> Float[np.ndarray, " N"]:
        """Of a sum over a row, relative to the sum of its terms' sizes."""
        entries = np.diff(self.matrix.indptr) + self.reward.shape[1]
        return _ROUNDING * (entries + self.terms + 4.0)

    def excess(
        self, weights: Float[np.ndarray, " K"], values: Float[np.ndarray, " S"]
    ) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
        """``w·r + γ P h − h`` for each choice, and how far rounding may have moved it."""
        own = values[self.state]
        excess = self.reward @ weights + self.gamma * (self.matrix @ values) - own
        terms = self.size @ np.abs(weights) + self.gamma * (self.matrix @ np.abs(values))
        return excess, self.rounding * (terms + np.abs(own))

    def total(self, values: Float[np.ndarray, " S"]) -> tuple[float, float]:
        """``Σ initial·h`` and how far rounding may have moved it."""
        error = (self.num_states + self.terms) * _ROUNDING * float(self.initial @ np.abs(values))
        return float(self.initial @ values), error

    def graph(self, among: Bool[np.ndarray, " N"]) -> sparse.csr_array:
        """Which state those choices lead to from which, ``[S,S]``."""
        choice, target = self.edges
        kept = among[choice]
        data = np.ones(int(kept.sum()), dtype=np.int8)
        shape = (self.num_states, self.num_states)
        graph = sparse.csr_array((data, (self.state[choice[kept]], target[kept])), shape=shape)
        graph.data[:] = 1
        return graph

    def reached(self, among: Bool[np.ndarray, " N"]) -> Bool[np.ndarray, " S"]:
        """The states that those choices lead to from the start."""
        return search(self.graph(among), self.initial > 0)


def decided_states(mdp: MDP) -> Int[np.ndarray, " S"]:
    """The states that can be reached and do not end the episode."""
    return np.flatnonzero(mdp.reachable() & ~mdp.terminal)


def read_rows(mdp: MDP, gamma: float) -> Rows:
    """Every choice of every state that can be reached."""
    states, model = decided_states(mdp), mdp.rows
    place = np.full(mdp.num_states, -1)
    place[states] = np.arange(len(states))
    kept = place[model.state] >= 0
    of_kept = kept[model.choice]
    target, paid = place[model.next_state[of_kept]], model.reward[of_kept]
    counts = np.diff(model.ends)[kept]
    choice = np.repeat(np.arange(len(counts)), counts)
    weight = model.probability[of_kept]
    weight = weight / np.bincount(choice, weight, len(counts))[choice]
    inside = target >= 0
    shape, first = (len(counts), len(states)), np.concatenate([[0], np.cumsum(counts)])
    stays = np.concatenate([[0], np.cumsum(inside)])[first]
    matrix = sparse.csr_array((weight[inside], target[inside], stays), shape=shape)
    matrix.sum_duplicates()
    mean = sparse.csr_array((weight, np.arange(len(weight)), first), (len(counts), len(weight)))
    return Rows(
        states=states,
        state=place[model.state[kept]],
        action=model.action[kept],
        matrix=matrix,
        reward=np.asarray(mean @ paid),
        size=np.asarray(mean @ np.abs(paid)),
        ends=np.bincount(choice[~inside], minlength=len(counts)) > 0,
        initial=mdp.initial[states] / mdp.initial.sum(),
        gamma=float(gamma),
        terms=2 * model.most_successors + 4,
    )


def policy_rows(
    rows: Rows, policy: Float[np.ndarray, "S A"], stay: Float[np.ndarray, " S"] | None
) -> Rows:
    """The one row per state of a policy of those states; with probability ``stay`` it ends there, unpaid."""
    count, actions = policy.shape
    shares = policy[rows.state, rows.action]
    shares = shares / np.bincount(rows.state, shares, count)[rows.state]
    if stay is not None:
        shares = shares * (1 - stay)[rows.state]
    taken = np.flatnonzero(shares)
    pick = sparse.csr_array(
        (shares[taken], (rows.state[taken], taken)), shape=(count, len(rows.state))
    )
    matrix = sparse.csr_array(pick @ rows.matrix)
    ends = np.asarray(pick @ rows.ends.astype(float)) > 0
    if stay is not None:
        ends = ends | (stay > 0)
    return Rows(
        states=rows.states,
        state=np.arange(count),
        action=np.zeros(count, dtype=np.int32),
        matrix=matrix,
        reward=pick @ rows.reward,
        size=pick @ rows.size,
        ends=ends,
        initial=rows.initial,
        gamma=rows.gamma,
        terms=rows.terms + 2 * actions + 4,
    )


def search(graph: sparse.csr_array, marked: Bool[np.ndarray, " S"]) -> Bool[np.ndarray, " S"]:
    """The marked states and all that they lead to."""
    found, fresh = marked.copy(), marked
    if len(marked) > 200:
        count = len(marked)
        start = sparse.csr_array(marked[None].astype(np.int8))
        no_edges = sparse.csr_array((count + 1, 1), dtype=np.int8)
        joined = sparse.csr_array(sparse.hstack([sparse.vstack([graph, start]), no_edges]))
        found = np.zeros(count + 1, dtype=bool)
        found[csgraph.breadth_first_order(joined, count, return_predecessors=False)] = True
        return found[:-1]
    back = sparse.csr_array(graph.T)
    while fresh.any():
        fresh = (np.asarray(back @ fresh.astype(np.int64)) > 0) & ~found
        found |= fresh
    return found
