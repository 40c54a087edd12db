"""A stage of a linear–quadratic model as a semidefinite program, solved by clarabel (the extra ``continuous``).

    min ⟨M_j, S⟩   subject to   S ⪰ 0,   S_xx = (1−γ)X₀ + γ([A B] S [A B]ᵀ + W),   ⟨M_i, S⟩ ≤ b_i

Every policy's second moments satisfy this, and every solution is attained by ``u = Kx + η`` with ``K = S_ux S_xx⁺`` and
``E[ηηᵀ] = S_uu − K S_xu``. Independent of the Riccati equation: the second opinion on `_riccati_dual`.
"""

# pyright: reportAttributeAccessIssue=false
# (clarabel is a compiled module without stubs)

import numpy as np
from jaxtyping import Float
from scipy import sparse

from lexicone.exact._riccati_dual import StageOptimum
from lexicone.models._linear_quadratic import LinearQuadratic

__all__ = ["solve_program"]

_FREE = (
    1e-6  # of the largest: an eigenvalue of R below this is none, to an interior point's accuracy
)


def solve_program(
    model: LinearQuadratic,
    cost: Float[np.ndarray, "nm nm"],
    limited: Float[np.ndarray, "limits nm nm"],
    limits: Float[np.ndarray, " limits"],
    reference: Float[np.ndarray, "nm nm"],
) -> StageOptimum | None:
    """One stage, in coordinates in which the second moments ``reference`` are the unit matrix; None if it fails.

    Solved in the form of its dual, which has few variables, P and the prices λ ≥ 0, and no equations:

        max ⟨P, (1−γ)X₀ + γW⟩ − λ·b   subject to   M_j + Σ λ_i M_i + γ[A B]ᵀP[A B] − [P 0; 0 0] ⪰ 0;

    S is the multiplier of the matrix inequality.
    """
    import clarabel

    n, size = model.num_states, len(reference)
    base = np.linalg.cholesky(reference + 1e-10 * np.trace(reference) / size * np.eye(size))
    inside = np.linalg.inv(base[:n, :n])
    transition = inside @ np.hstack([model.A, model.B]) @ base
    arrives = inside @ ((1 - model.gamma) * model.initial + model.gamma * model.noise) @ inside.T
    rows, columns = np.tril_indices(size)  # the upper triangle, column by column
    stretch = np.where(rows == columns, 1.0, np.sqrt(2.0))

    def flat(matrix: np.ndarray) -> np.ndarray:
        return matrix[rows, columns] * stretch

    blocks, worth = [], []
    for i, j in zip(*np.tril_indices(n), strict=True):
        change = np.zeros((n, n))
        change[i, j] = change[j, i] = 1.0
        block = model.gamma * transition.T @ change @ transition
        block[:n, :n] -= change
        blocks.append(flat(block))
        worth.append(np.sum(change * arrives))
    blocks += [flat(base.T @ m @ base) for m in limited]
    matrix = np.vstack([np.array(blocks).T, -np.eye(len(blocks))[len(worth) :]])
    matrix[: len(rows)] *= -1.0
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    settings.equilibrate_enable = False  # the coordinates are chosen already
    settings.static_regularization_constant = 1e-7
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix((len(blocks), len(blocks))),
        np.append(-np.array(worth), limits),
        sparse.csc_matrix(matrix),
        np.append(flat(base.T @ cost @ base), np.zeros(len(limits))),
        [clarabel.PSDTriangleConeT(size), clarabel.NonnegativeConeT(len(limits))],
        settings,
    ).solve()
    if str(solution.status) not in ("Solved", "AlmostSolved", "InsufficientProgress"):
        return None

    def matrix_of(triangle: np.ndarray) -> np.ndarray:
        full = np.zeros((size, size))
        full[rows, columns] = triangle[: len(rows)] / stretch
        return full + np.tril(full, -1).T

    moments = base @ matrix_of(np.asarray(solution.z)) @ base.T
    gain, noise = _policy_of_moments(moments, n)
    weights = matrix_of(np.asarray(solution.s))[n:, n:]
    values, vectors = np.linalg.eigh(weights)
    free = base[n:, n:] @ vectors[:, values <= _FREE * values[-1]]
    return StageOptimum(
        gain=gain,
        noise=noise,
        free=np.linalg.qr(free)[0],
        bound=-float(solution.obj_val),
        prices=np.asarray(solution.x)[len(worth) :],
    )


def _policy_of_moments(
    moments: Float[np.ndarray, "nm nm"], n: int
) -> tuple[Float[np.ndarray, "m n"], Float[np.ndarray, "m m"]]:
    """Gain and noise of ``u = Kx + η`` with these second moments."""
    states, cross = moments[:n, :n], moments[n:, :n]
    gain = cross @ np.linalg.pinv(states, rcond=1e-9, hermitian=True)
    left = moments[n:, n:] - gain @ states @ gain.T
    values, vectors = np.linalg.eigh((left + left.T) / 2)
    return gain, (vectors * np.maximum(values, 0.0)) @ vectors.T
