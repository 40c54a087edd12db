"""The best policy for one weighted sum of objectives: policy iteration with sparse linear systems.

Policies are deterministic here: one pair per state. Here γ<1; see `lexicone.pricing_total` for γ=1.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse
from scipy.linalg import get_blas_funcs
from scipy.sparse import linalg as sparse_linalg

from lexicone.exact._state_actions import StateActions

__all__ = ["Best", "Chain", "best_policy"]

_FEW = 1.25  # successors per state: without chance, factors are as sparse as the chain itself
_DIRECT_SIZE = 300  # states; larger systems are first tried with an iterative method
_SWEEPS = 10  # of value iteration between two evaluations
_axpy: Any = get_blas_funcs("axpy", dtype=np.float64)  # y += a·x, in place


class Chain:
    """A policy's Markov chain M, with ends: solves ``(I − M) v = right`` and ``(I − M)ᵀ x = right``.

    Large systems are solved iteratively, as ``(I − N) D v = right`` with the diagonal D of I − M and
    ``N = M_off·D⁻¹``; if that stalls, for small ones, and if ``direct``, I − M is factorised.
    """

    def __init__(self, matrix: sparse.csr_array, direct: bool = False) -> None:
        self.matrix = sparse.csr_array(matrix)
        size = len(self.matrix.indptr)
        self.direct = direct or size <= _DIRECT_SIZE or self.matrix.nnz <= _FEW * size
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
        if self.factors is None and not self.direct:
            start = np.zeros(size) if guess is None else guess
            found = _iterate(matrix, right, start, goal)
            if found is not None:
                return found
        if self.factors is None:
            self.factors = _factorise(self.matrix)
        solution = self.factors.solve(right, trans=side)
        residual = right - (solution - matrix @ solution)
        return solution + self.factors.solve(residual, trans=side)


def _factorise(matrix: sparse.csr_array) -> Any:
    """LU factors of ``I − M``, whose rows the diagonal dominates: no pivots need to be sought."""
    size = len(matrix.indptr) - 1
    return sparse_linalg.splu(
        sparse.csc_array(sparse.eye_array(size) - matrix),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )


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
    for _ in range(20):
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
    rho = right @ residual
    for _ in range(limit):
        np.subtract(direction, matrix @ direction, out=moved)
        scale = right @ moved
        if scale == 0 or rho == 0:
            break
        alpha = rho / scale
        _axpy(direction, solution, a=alpha)
        _axpy(moved, residual, a=-alpha)
        np.subtract(residual, matrix @ residual, out=image)
        length = image @ image
        if length == 0:
            break
        omega = (image @ residual) / length
        _axpy(residual, solution, a=omega)
        _axpy(image, residual, a=-omega)
        if omega == 0:
            break
        if residual @ residual <= enough and np.abs(residual, out=spare).max() <= goal:
            break
        new = right @ residual
        _axpy(moved, direction, a=-omega)
        np.multiply(direction, (new / rho) * (alpha / omega), out=direction)
        np.add(direction, residual, out=direction)
        rho = new
    return solution


class Best(NamedTuple):
    """A policy that is best for a weighted sum, or the loop that shows that there is none."""

    policy: Int[np.ndarray, " S"]
    """The number of the pair in each state."""
    values: Float[np.ndarray, " S"]
    """Of the weighted sum; of the last policy that ends, if the sum is unbounded."""
    slack: float
    """How much one step can still improve: 0 up to rounding."""
    loop: Bool[np.ndarray, " S"] | None
    """The states of a loop that pays for ever, if the sum is unbounded."""


def best_policy(
    pairs: StateActions,
    reward: Float[np.ndarray, " N"],
    policy: Int[np.ndarray, " S"],
    guess: Float[np.ndarray, " S"] | None = None,
    accuracy: float = 0.0,
    max_steps: int = 1000,
) -> Best:
    """Maximise the expected discounted sum of ``reward`` by modified policy iteration from ``policy`` (γ<1).

    A few sweeps of value iteration follow each improvement; the first evaluations are rough, they stop at a
    hundredth of the improvement that the last step promised, and the last ones where the sum is known up to
    ``accuracy``. Pairs must beat the policy's own by more than rounding, so that ties keep the policy.
    """
    steps_ahead = 1 / (1 - pairs.gamma)
    size = np.abs(reward).max(initial=0.0)
    finest = 0.1 * accuracy * (1 - pairs.gamma)
    goal = max(1e-3 * size, finest)
    values = np.zeros(pairs.num_states) if guess is None else guess
    slack = 0.0
    for _ in range(max_steps):
        values = Chain(pairs.next[policy]).values(reward[policy], values, goal)
        score = reward + pairs.next @ values
        best = pairs.best_by_state(score)
        noise = 4e-15 * max(size * steps_ahead, np.abs(values).max(initial=0.0))
        noise = max(noise, 3 * finest)
        gain = score[best] - score[policy]
        slack = float((score[best] - values).max(initial=0.0))
        better = gain > noise
        if not better.any():
            if goal <= finest:
                break
            goal = finest
            continue
        if goal > finest:
            goal = finest if slack < 1e-6 * size else max(finest, 0.01 * slack)
        policy = np.where(better, best, policy)
        for _ in range(_SWEEPS):
            values = pairs.highest_by_state(score)
            score = reward + pairs.next @ values
        best = pairs.best_by_state(score)
        policy = np.where(score[best] - score[policy] > noise, best, policy)
    return Best(policy, values, slack, None)
