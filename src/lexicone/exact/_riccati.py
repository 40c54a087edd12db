"""One linear–quadratic problem with one cost: the best gain, by policy iteration on the Riccati equation.

With Ā=√γA, B̄=√γB and cost ``[x;u]ᵀM[x;u]`` the best policy is ``u = Kx``, where P solves

    P = M_xx + ĀᵀPĀ − (M_xu + ĀᵀPB̄) R⁻¹ (M_ux + B̄ᵀPĀ),     R = M_uu + B̄ᵀPB̄,     K = −R⁻¹(M_ux + B̄ᵀPĀ).

Policy iteration (Hewer 1971) starts from a gain that keeps second moments finite, keeps that, and converges
quadratically from above to the largest P: the best among the policies with finite second moments. M need not weigh
inputs: where R is singular, the inputs in its null space are free.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from scipy.linalg import LinAlgError, solve_discrete_are

from lexicone.models._linear_quadratic import LinearQuadratic, solve_lyapunov

__all__ = ["BestGain", "best_gain", "cost_to_go", "starting_gain"]

_ITERATIONS = 200
_FREE = 1e-11  # of the largest: an eigenvalue of R below this is none


@dataclass(frozen=True)
class BestGain:
    """What the Riccati equation says."""

    gain: Float[np.ndarray, "m n"]
    cost_to_go: Float[np.ndarray, "n n"]
    """P."""
    inverse: Float[np.ndarray, "m m"]
    """R⁺."""
    free: Float[np.ndarray, "m f"]
    """Inputs, as columns, that neither cost nor help: the null space of R."""


def starting_gain(model: LinearQuadratic) -> Float[np.ndarray, "m n"]:
    """A gain with which second moments are finite; a ValueError if there is none, with the reason."""
    root = math.sqrt(model.gamma)
    n, m = model.B.shape
    if np.abs(np.linalg.eigvals(root * model.A)).max() < 1 - 1e-9:
        return np.zeros((m, n))
    for value in np.linalg.eigvals(root * model.A):
        if abs(value) >= 1 - 1e-12:
            reach = np.hstack([root * model.A - value * np.eye(n), root * model.B])
            least = np.linalg.svd(reach, compute_uv=False)[n - 1]
            if least < 1e-9 * max(1.0, np.abs(reach).max()):
                raise ValueError(
                    f"A, B: no input reaches the mode with eigenvalue {value / root:.4g}, whose square grows at least "
                    f"as fast as episodes end (gamma={model.gamma:g}): costs have no finite mean"
                )
    try:
        p = solve_discrete_are(root * model.A, root * model.B, np.eye(n), np.eye(m))
    except LinAlgError as error:
        raise ValueError(f"A, B: no gain was found that keeps costs finite: {error}") from None
    return -np.linalg.solve(
        np.eye(m) + model.gamma * model.B.T @ p @ model.B, model.gamma * model.B.T @ p @ model.A
    )


def cost_to_go(
    model: LinearQuadratic, cost: Float[np.ndarray, "nm nm"], gain: Float[np.ndarray, "m n"]
) -> Float[np.ndarray, "n n"]:
    """P of one policy: ``P = M_K + γ(A+BK)ᵀP(A+BK)``."""
    act = np.vstack([np.eye(model.num_states), gain])
    closed = math.sqrt(model.gamma) * (model.A + model.B @ gain)
    return solve_lyapunov(closed.T, act.T @ cost @ act)


def best_gain(
    model: LinearQuadratic, cost: Float[np.ndarray, "nm nm"], start: Float[np.ndarray, "m n"]
) -> BestGain:
    """Policy iteration from a gain with finite second moments."""
    gain, better, before = start, _improve(model, cost, start), math.inf
    for _ in range(_ITERATIONS):
        change = np.abs(better.gain - gain).max()
        if change <= 1e-15 * max(1.0, np.abs(gain).max()) or (change >= before and change < 1e-9):
            break
        gain, before = better.gain, change
        better = _improve(model, cost, gain)
    return replace(better, gain=gain)


def _improve(
    model: LinearQuadratic, cost: Float[np.ndarray, "nm nm"], gain: Float[np.ndarray, "m n"]
) -> BestGain:
    """P of this gain, and the gain that is best if P follows; free inputs stay as they are."""
    n, gamma = model.num_states, model.gamma
    p = cost_to_go(model, cost, gain)
    values, vectors = np.linalg.eigh(cost[n:, n:] + gamma * model.B.T @ p @ model.B)
    counts = values > _FREE * max(values[-1], 1e-300)
    inverse = (vectors[:, counts] / values[counts]) @ vectors[:, counts].T
    free = vectors[:, ~counts]
    better = -inverse @ (cost[n:, :n] + gamma * model.B.T @ p @ model.A)
    return BestGain(better + free @ (free.T @ gain), p, inverse, free)
