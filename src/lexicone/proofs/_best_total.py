"""The largest total of one reward in a model: policy iteration that looks for what a proof needs.

Nothing here has to be right for a proof to hold: what comes out are numbers that `_bounds` checks.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse
from scipy.sparse import csgraph, linalg as sparse_linalg

from lexicone.proofs._regions import Usable
from lexicone.proofs._rows import Rows, search

__all__ = ["Loop", "Merged", "Search", "best_total", "chain_solver", "merge_states"]

_STAY = -1
_DENSE = 80  # states: up to here systems are solved as full matrices
_DIRECT = 3000  # states: larger systems with discounting are solved by iteration
_MOST_STEPS = 300
_NOISE = 1e-14


@dataclass(frozen=True, eq=False)
class Merged:
    """Usable choices, with the states of each merged region as one; sorted by state."""

    number: Int[np.ndarray, " S"]
    """The merged state of each state; −1 where no policy with a total comes."""
    choice: Int[np.ndarray, " M"]
    """The choice's number in the rows; −1 for a choice to stay for ever, which pays nothing."""
    state: Int[np.ndarray, " M"]
    matrix: sparse.csr_array
    """``γP`` between merged states, ``[M,Q]``."""
    ends: Bool[np.ndarray, " M"]
    gamma: float

    @property
    def num_states(self) -> int:
        """Q."""
        return int(self.number.max(initial=-1)) + 1

    def reward_of(self, reward: Float[np.ndarray, " N"], to_stay: Any = 0.0) -> np.ndarray:
        """A reward of the rows as one of these choices; ``to_stay`` is that of staying, a number or ``[Q]``."""
        stays = np.broadcast_to(np.asarray(to_stay, dtype=float), (self.num_states,))[self.state]
        return np.where(self.choice == _STAY, stays, reward[np.maximum(self.choice, 0)])

    def spread(self, values: Float[np.ndarray, " Q"]) -> Float[np.ndarray, " S"]:
        """The values of merged states for all states; 0 where no policy with a total comes."""
        padded = np.append(values, 0.0)
        return padded[self.number]

    def gather(self, values: Float[np.ndarray, " S"]) -> Float[np.ndarray, " Q"]:
        """The largest value in each merged state."""
        largest = np.full(self.num_states, -np.inf)
        inside = self.number >= 0
        np.maximum.at(largest, self.number[inside], values[inside])
        return largest


@dataclass(frozen=True, eq=False)
class Search:
    """Where policy iteration ended."""

    values: Float[np.ndarray, " Q"]
    policy: Int[np.ndarray, " Q"]
    loop: "Loop | None"
    """A loop that pays on average, if there is one: then no total is the largest."""


class Loop(NamedTuple):
    """Choices that lead to each other for ever, and how much of its time is spent on each."""

    choices: Int[np.ndarray, " L"]
    shares: Float[np.ndarray, " L"]


def merge_states(
    rows: Rows,
    usable: Usable,
    region: Int[np.ndarray, " S"],
    inner: Bool[np.ndarray, " N"],
) -> Merged | None:
    """The usable choices but for the inner ones, which never leave their region; None if a state has no way on."""
    safe = usable.safe
    label = np.where(region >= 0, rows.num_states + region, np.arange(rows.num_states))
    number = np.full(rows.num_states, -1)
    number[safe] = np.unique(label[safe], return_inverse=True)[1]
    count = int(number.max(initial=-1)) + 1
    kept = np.flatnonzero(usable.choices & ~inner)
    staying = np.unique(number[usable.stay & safe])
    choice = np.concatenate([kept, np.full(len(staying), _STAY)])
    state = np.concatenate([number[rows.state[kept]], staying])
    order = np.argsort(state, kind="stable")
    if len(np.unique(state)) < count:
        return None
    inside = np.flatnonzero(safe)
    join = sparse.csr_array(
        (np.ones(len(inside)), (inside, number[inside])), shape=(rows.num_states, count)
    )
    moves = rows.gamma * sparse.csr_array(rows.matrix[kept] @ join)
    nowhere = sparse.csr_array((len(staying), count))
    matrix = sparse.csr_array(sparse.vstack([moves, nowhere]))[order]
    ends = np.concatenate([rows.ends[kept], np.ones(len(staying), dtype=bool)])
    return Merged(
        number, choice[order], state[order], sparse.csr_array(matrix), ends[order], rows.gamma
    )


def best_total(
    merged: Merged,
    reward: Float[np.ndarray, " M"],
    policy: Int[np.ndarray, " Q"] | None = None,
) -> Search:
    """Maximise the total of a reward, from a policy that ends; the nearest way to an end if none is given."""
    if policy is None:
        policy = _first_policy(merged, reward)
    first = np.searchsorted(merged.state, np.arange(merged.num_states))
    values = np.zeros(merged.num_states)
    for _ in range(_MOST_STEPS):
        values = chain_solver(merged.matrix[policy])(reward[policy])
        score = reward + merged.matrix @ values
        highest = np.maximum.reduceat(score, first) if len(score) else score
        noise = _NOISE * max(np.abs(values).max(initial=0.0), np.abs(reward[policy]).max(initial=0))
        better = highest - score[policy] > noise
        if not better.any():
            break
        fresh = np.where(better, _first_of(merged, score >= highest[merged.state]), policy)
        if merged.gamma == 1:
            never = _never_ends(merged, fresh)
            if never.any():
                gain = score - values[merged.state]
                loop = _paying_loop(merged, fresh, never, gain, 10 * noise)
                if loop is not None:
                    return Search(values, fresh, loop)
            while never.any():
                fresh = np.where(never, policy, fresh)
                never = _never_ends(merged, fresh)
        if (fresh == policy).all():
            break
        policy = fresh
    return Search(values, policy, None)


def chain_solver(matrix: sparse.csr_array) -> Any:
    """``r ↦ (I − M)⁻¹ r``, each solution improved once; NaN where that fails."""
    size = len(matrix.indptr) - 1
    if size <= _DENSE:
        whole = np.eye(size) - matrix.toarray()

        def solve(right: np.ndarray) -> np.ndarray:
            try:
                found = np.linalg.solve(whole, right)
                return found + np.linalg.solve(whole, right - whole @ found)
            except np.linalg.LinAlgError:
                return np.full(size, np.nan)

        return solve
    system = sparse.csc_array(sparse.eye_array(size) - matrix)
    if size > _DIRECT and matrix.sum(axis=1).max() < 1 - 1e-6:
        return lambda right: _iterated(system, right)
    try:
        factors = sparse_linalg.splu(
            system,
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except RuntimeError:  # exactly singular
        return lambda right: np.full(size, np.nan)

    def solve_sparse(right: np.ndarray) -> np.ndarray:
        found = factors.solve(right)
        return found + factors.solve(right - system @ found)

    return solve_sparse


def _iterated(system: Any, right: np.ndarray) -> np.ndarray:
    """By BiCGSTAB, improved until nothing changes."""
    found = np.zeros(len(right))
    for _ in range(6):
        left = right - system @ found
        if np.abs(left).max(initial=0.0) <= 1e-15 * np.abs(found).max(initial=0.0):
            break
        step, _ = sparse_linalg.bicgstab(system, left, rtol=1e-9, maxiter=2000)
        found = found + step
    return found


def _first_of(merged: Merged, marked: np.ndarray) -> Int[np.ndarray, " Q"]:
    """The first marked choice of each state; each must have one."""
    hit = np.flatnonzero(marked)
    return hit[np.unique(merged.state[hit], return_index=True)[1]]


def _first_policy(merged: Merged, reward: np.ndarray) -> Int[np.ndarray, " Q"]:
    """The best choice for one step; with γ=1, on towards the nearest end."""
    count = merged.num_states
    if merged.gamma < 1:
        first = np.searchsorted(merged.state, np.arange(count))
        highest = np.maximum.reduceat(reward, first)
        return _first_of(merged, reward >= highest[merged.state])
    choice, target = merged.matrix.tocoo().coords
    distance = np.full(count, count + 1)
    distance[merged.state[merged.ends]] = 0
    goal, near = distance == 0, 0
    back = sparse.csr_array(
        (np.ones(len(choice), dtype=np.int8), (target, merged.state[choice])), shape=(count, count)
    )
    fresh = goal
    while fresh.any():
        near += 1
        fresh = (np.asarray(back.T @ fresh.astype(np.int64)) > 0) & (distance > count)
        distance[fresh] = near
    nearest = np.full(len(merged.state), count + 1)
    np.minimum.at(nearest, choice, distance[target])
    leads = merged.ends | (nearest < distance[merged.state])
    return _first_of(merged, leads)


def _never_ends(merged: Merged, policy: np.ndarray) -> Bool[np.ndarray, " Q"]:
    graph = merged.matrix[policy]
    return ~search(sparse.csr_array(graph.T), merged.ends[policy])


def _paying_loop(
    merged: Merged, policy: np.ndarray, never: np.ndarray, gain: np.ndarray, least: float
) -> Loop | None:
    """A loop that the policy never leaves and on which the gain is above ``least`` on average."""
    members = np.flatnonzero(never)
    inner = merged.matrix[policy[members]][:, members]
    count, part = csgraph.connected_components(inner, connection="strong")
    source, target = inner.tocoo().coords
    closed = np.ones(count, dtype=bool)
    closed[part[source[part[source] != part[target]]]] = False
    for n in np.flatnonzero(closed):
        own = np.flatnonzero(part == n)
        share = time_shares(sparse.csr_array(inner[own][:, own]))
        if share @ gain[policy[members[own]]] > least:
            return Loop(policy[members[own]], share)
    return None


def time_shares(chain: sparse.csr_array) -> Float[np.ndarray, " L"]:
    """How much of its time a chain of states that all lead to each other spends in each."""
    if len(chain.indptr) == 2:
        return np.ones(1)
    others = chain_solver(sparse.csr_array(chain[1:][:, 1:].T))
    between = np.concatenate([[1.0], others(chain[[0]][:, 1:].toarray()[0])])
    return between / between.sum()
