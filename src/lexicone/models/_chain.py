"""Markov chains with ends, as sparse linear systems: what is still to come, and how often states are visited.

A chain is a matrix M of discounted probabilities, ``M[s,t] = γ·P[s,t]``; what is missing from a row's sum of 1 ends the
episode. From every state an end must be within reach. Then

    values   v = r + M v,      v = (I − M)⁻¹ r
    visits   x = b + Mᵀ x,     x = (I − M)⁻ᵀ b

and ``b·v = x·r``. Policy iteration, column generation and the evaluation of policies all solve their systems here.
"""

from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse
from scipy.linalg import get_blas_funcs
from scipy.sparse import csgraph, linalg as sparse_linalg

from lexicone._base.threads import one_thread

__all__ = ["Chain", "factorises_well", "shares_of_time"]

_DIRECT_SIZE = 300  # states; larger systems are first tried with an iterative method
_DIRECT_ENTRIES = 1.25  # per state: without chance, factors are as sparse as the chain itself
_SMALLEST_ORDERED = 300  # states; for smaller systems the order of states does not matter
_SMALL_COMPONENT = 100  # states; smaller components are factorised as they are
_MOST_FILL = 100  # entries per state that the factors of all larger components may have
_LARGEST_BANDED = 200_000  # states; of larger graphs the bandwidth is not sought
_RESTARTS = 20
_dot, _add = get_blas_funcs(("dot", "axpy"), dtype=np.float64)


class Chain:
    """Solves ``(I − M) v = right`` and ``(I − M)ᵀ x = right`` for one chain M ``[S,S]``.

    Large systems are solved iteratively, as ``(I − N) D v = right`` with the diagonal D of I − M and
    ``N = M_off·D⁻¹``. If that stalls, for small ones, and if ``direct``, I − M is factorised, once for all right sides.
    With ``ordered``, for chains without discounting, which often run through many small components one after the other,
    these are looked for first.
    """

    def __init__(
        self, matrix: sparse.csr_array, direct: bool = False, ordered: bool = False
    ) -> None:
        self.matrix = sparse.csr_array(matrix)
        self.ordered = ordered
        size = len(self.matrix.indptr)
        few_entries = self.matrix.nnz <= _DIRECT_ENTRIES * size
        self.direct = direct or size <= _DIRECT_SIZE or few_entries
        self.factors: Any = None

    def values(
        self,
        reward: Float[np.ndarray, " S"],
        guess: Float[np.ndarray, " S"] | None = None,
        goal: float = 0.0,
    ) -> Float[np.ndarray, " S"]:
        """What is still to come in each state, with a residual of at most ``goal`` (or rounding)."""
        return self._solve(self.matrix, "N", reward, guess, goal)

    def visits(
        self, initial: Float[np.ndarray, " S"], guess: Float[np.ndarray, " S"] | None = None
    ) -> Float[np.ndarray, " S"]:
        """How often each state is visited, discounted."""
        return self._solve(sparse.csr_array(self.matrix.T), "T", initial, guess, 0.0)

    def value_columns(self, reward: Float[np.ndarray, "S K"]) -> Float[np.ndarray, "S K"]:
        """`values` for each column of rewards."""
        if not reward.size:
            return reward
        return np.stack([self.values(column) for column in reward.T], axis=1)

    @one_thread()
    def _solve(
        self,
        matrix: sparse.csr_array,
        side: str,
        right: np.ndarray,
        guess: np.ndarray | None,
        goal: float,
    ) -> np.ndarray:
        size = len(right)
        if not size:
            return np.zeros(0)
        if self.factors is None and not self.direct and self.places is None:
            start = np.zeros(size) if guess is None else guess
            found = _iterate(matrix, right, start, goal)
            if found is not None:
                return found
        solution = self._by_factors(right, side)
        residual = right - (solution - matrix @ solution)
        return solution + self._by_factors(residual, side)

    def _by_factors(self, right: np.ndarray, side: str) -> np.ndarray:
        places = self.places
        if self.factors is None:
            self.factors = _factorise(self.matrix, places)
        if places is None:
            return self.factors.solve(right, trans=side)
        solution = np.empty_like(right)
        solution[places] = self.factors.solve(right[places], trans=side)
        return solution

    @cached_property
    def places(self) -> Int[np.ndarray, " S"] | None:
        """The states, component after component, if all components are small; else None.

        Strong components are taken in topological order, so that I − M is triangular but for blocks on its diagonal,
        and factors have hardly more entries than M.
        """
        return _triangular_order(self.matrix) if self.ordered else None


def _triangular_order(matrix: sparse.csr_array) -> Int[np.ndarray, " S"] | None:
    """Strong components in topological order, large ones narrow inside (Cuthill–McKee); None if that fills factors.

    A component of n states fills up to n entries for each of the states that it leads to; the other way round, for
    each that leads to it: the order with fewer is taken.
    """
    size = len(matrix.indptr) - 1
    if size < _SMALLEST_ORDERED:
        return None
    _, component = csgraph.connected_components(matrix, connection="strong")
    count = np.bincount(component)
    places = np.argsort(component, kind="stable")
    ends, large = np.cumsum(count), np.flatnonzero(count > _SMALL_COMPONENT)
    room, filled = _MOST_FILL * size, np.zeros(2)
    backward = sparse.csr_array(matrix.T) if len(large) else matrix
    for c in large:
        block = slice(ends[c] - count[c], ends[c])
        states = places[block]
        inner = matrix[states][:, states]
        narrow = csgraph.reverse_cuthill_mckee(sparse.csr_array(inner + inner.T), True)
        place = np.empty(len(states), dtype=np.int64)
        place[narrow] = np.arange(len(states))
        source, target = inner.tocoo().coords
        filled += len(states) * int(np.abs(place[source] - place[target]).max(initial=0))
        for way, table in enumerate((matrix, backward)):
            neighbours = np.unique(table[states].indices)
            filled[way] += len(states) * (len(neighbours) - len(states))
        if filled.min() > room:
            return None
        places[block] = states[narrow]
    return places[::-1] if filled[0] <= filled[1] else places


def factorises_well(graph: sparse.csr_array) -> bool:
    """Whether chains on this graph ``[S,S]`` have sparse factors: it is like a grid, and not like a random graph.

    By its bandwidth after Cuthill–McKee ordering: at most 4√S. False for more than 200,000 states, or none.
    """
    size = len(graph.indptr) - 1
    if not 0 < size <= _LARGEST_BANDED:
        return False
    place = np.empty(size, dtype=np.int64)
    place[csgraph.reverse_cuthill_mckee(graph)] = np.arange(size)
    source, target = graph.tocoo().coords
    width = np.abs(place[source] - place[target]).max(initial=0)
    return bool(width <= 4 * np.sqrt(size))


def shares_of_time(chain: sparse.csr_array) -> Float[np.ndarray, " S"]:
    """How much of its time a chain whose states all lead to each other, and never end, spends in each: sums to 1.

    By the visits between two visits to the first state.
    """
    others = Chain(chain[1:][:, 1:])
    between = np.concatenate([[1.0], others.visits(chain[[0]][:, 1:].toarray()[0])])
    return between / between.sum()


def _factorise(matrix: sparse.csr_array, places: Int[np.ndarray, " S"] | None) -> Any:
    """LU factors of ``I − M``, whose rows the diagonal dominates: no pivots need to be sought."""
    size = len(matrix.indptr) - 1
    try:
        if places is None:
            return sparse_linalg.splu(
                sparse.csc_array(sparse.eye_array(size) - matrix),
                permc_spec="MMD_AT_PLUS_A",
                diag_pivot_thresh=0.0,
                options={"SymmetricMode": True},
            )
        place = np.empty(size, dtype=np.int32)
        place[places] = np.arange(size)
        source = np.repeat(place, np.diff(matrix.indptr))
        rows, columns = np.append(source, place), np.append(place[matrix.indices], place)
        ordered = (np.append(np.negative(matrix.data), np.ones(size)), (rows, columns))
        return sparse_linalg.splu(
            sparse.csc_array(ordered, shape=(size, size)),
            permc_spec="NATURAL",
            diag_pivot_thresh=0.0,
            relax=1,
            panel_size=1,
        )
    except RuntimeError:  # a diagonal of 0: what leaves a state is rounded away
        raise ValueError(
            "mdp: there are states that a policy leaves with so small a probability that 64 bits cannot tell it from "
            "never (below 1e-16 a step); such values are not to be had"
        ) from None


def _iterate(
    matrix: sparse.csr_array, right: np.ndarray, solution: np.ndarray, goal: float
) -> np.ndarray | None:
    """BiCGSTAB on the scaled system, restarted from the true residual; None if it stalls."""
    inverse_diagonal = 1 / (1 - matrix.diagonal())
    rows = np.repeat(np.arange(len(right), dtype=matrix.indices.dtype), np.diff(matrix.indptr))
    weights = np.where(matrix.indices == rows, 0.0, matrix.data * inverse_diagonal[matrix.indices])
    scaled = sparse.csr_array((weights, matrix.indices, matrix.indptr), shape=matrix.shape)
    residual = right - (solution - matrix @ solution)
    size = np.abs(residual).max()
    for _ in range(_RESTARTS):
        largest = max(np.abs(right).max(), np.abs(solution).max())
        if size <= max(goal, 1e-15 * largest):
            return solution
        step = _bicgstab(scaled, residual, max(goal, 1e-15 * largest, 1e-8 * size))
        improved = solution + inverse_diagonal * step
        fresh = right - (improved - matrix @ improved)
        smaller = np.abs(fresh).max()
        if not smaller <= 0.5 * size:
            best = solution if not smaller < size else improved
            return best if min(size, smaller) <= max(goal, 1e-14 * largest) else None
        solution, residual, size = improved, fresh, smaller
    return None


def _bicgstab(
    matrix: sparse.csr_array, right: np.ndarray, goal: float, limit: int = 1000
) -> np.ndarray:
    """``(I − N) y = right`` until the largest residual is below ``goal``, a breakdown, or the limit.

    Vectors are updated in place: allocating them anew would take longer than the arithmetic.
    """
    size = len(right)
    enough = goal * goal * size
    solution, residual, direction = np.zeros(size), right.copy(), right.copy()
    moved, image, spare = np.empty(size), np.empty(size), np.empty(size)
    rho = _dot(right, residual)
    for _ in range(limit):
        np.subtract(direction, matrix @ direction, out=moved)
        scale = _dot(right, moved)
        if scale == 0 or rho == 0:
            break
        alpha = rho / scale
        _add(direction, solution, a=alpha)
        _add(moved, residual, a=-alpha)
        np.subtract(residual, matrix @ residual, out=image)
        length = _dot(image, image)
        if length == 0:
            break
        omega = _dot(image, residual) / length
        _add(residual, solution, a=omega)
        _add(image, residual, a=-omega)
        if omega == 0:
            break
        if _dot(residual, residual) <= enough and np.abs(residual, out=spare).max() <= goal:
            break
        new = _dot(right, residual)
        _add(moved, direction, a=-omega)
        np.multiply(direction, (new / rho) * (alpha / omega), out=direction)
        np.add(direction, residual, out=direction)
        rho = new
    return solution
