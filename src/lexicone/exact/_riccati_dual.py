"""A stage of a linear–quadratic model by its dual: prices for limited costs, one Riccati equation per step.

    max_{λ≥0} g(λ),     g(λ) = min_S ⟨M_j + Σ λ_i M_i, S⟩ − Σ λ_i b_i

g is concave. Its slope is what the best gain for these prices exceeds the limits by, ``⟨M_i,S⟩ − b_i`` (one Lyapunov
equation), its second derivative ``−2⟨E_i, R⁻¹E_kS_xx⟩`` with ``E_i = M_i,uuK + M_i,ux + γBᵀP_i(A+BK)``. Newton's
method, with steps to the best prices λ ≥ 0 of the quadratic model, shortened until g rises.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.optimize import nnls

from lexicone.exact._riccati import BestGain, best_gain, cost_to_go
from lexicone.models._linear_quadratic import LinearQuadratic

__all__ = ["StageOptimum", "best_under_limits"]

_STEPS = 200
_LEAST_PRICES = (1e-10, 1e-8)
_KEPT = 1e-10  # in the costs' scale: an excess that rounding explains
_EXACT = 1e-13  # of costs in their scale: what may be missing or wasted at the optimum


@dataclass(frozen=True)
class StageOptimum:
    """The least cost under limits: the policy ``u = gain·x + η``, and the proof from the dual."""

    gain: Float[np.ndarray, "m n"]
    noise: Float[np.ndarray, "m m"]
    """E[ηηᵀ]."""
    free: Float[np.ndarray, "m f"]
    """Inputs, as columns, that may be added without loss."""
    bound: float
    """g(λ): no policy within the limits costs less."""
    prices: Float[np.ndarray, " limits"]


@dataclass(frozen=True)
class _Point:
    """The dual at some prices."""

    prices: np.ndarray
    best: BestGain
    moments: np.ndarray
    value: float
    slope: np.ndarray


def best_under_limits(
    model: LinearQuadratic,
    cost: Float[np.ndarray, "nm nm"],
    limited: Float[np.ndarray, "limits nm nm"],
    limits: Float[np.ndarray, " limits"],
    start: Float[np.ndarray, "m n"],
) -> StageOptimum:
    """min ⟨cost,S⟩ subject to ⟨limited_i,S⟩ ≤ limits_i; ``start`` has finite second moments. Costs are of size 1."""

    def at(prices: np.ndarray, gain: np.ndarray) -> _Point:
        weighed = cost + np.tensordot(prices, limited, axes=1)
        best = best_gain(model, weighed / (1 + prices.sum()), gain)
        moments = model.moments(best.gain)
        spent = np.einsum("kij,ij->k", limited, moments)
        # the dual's value from P, not from S: what a certificate compares with
        arrives = (1 - model.gamma) * model.initial + model.gamma * model.noise
        total = (1 + prices.sum()) * float(np.sum(best.cost_to_go * arrives))
        return _Point(prices, best, moments, total - prices @ limits, spent - limits)

    point = _climb(model, limited, at, np.zeros(len(limits)), start)
    # Where several gains are equally good, only some of them keep the limits: those that come out at tiny prices.
    # Without these the free inputs, which stay as they are, are free again.
    for least in _LEAST_PRICES if len(limits) else ():
        if point.slope.max() <= _KEPT:
            break
        near = _climb(model, limited, at, np.full(len(limits), least), point.best.gain)
        other = at(np.where(near.prices > 2 * least, near.prices, 0.0), near.best.gain)
        point = other if other.slope.max() < point.slope.max() else point
    still = np.zeros((model.num_inputs, model.num_inputs))
    return StageOptimum(point.best.gain, still, point.best.free, point.value, point.prices)


def _climb(
    model: LinearQuadratic,
    limited: Float[np.ndarray, "limits nm nm"],
    at: Callable[[np.ndarray, np.ndarray], _Point],
    least: Float[np.ndarray, " limits"],
    start: Float[np.ndarray, "m n"],
) -> _Point:
    """Newton's method from the least prices."""
    point = at(least, start)
    for _ in range(_STEPS if len(least) else 0):
        if _is_optimal(point, least):
            break
        target = _newton_target(model, point, limited, least)
        step, moved = 1.0, None
        rise = float(point.slope @ (target - point.prices))
        while step > 1e-12:
            moved = at(point.prices + step * (target - point.prices), point.best.gain)
            if moved.value >= point.value + 1e-4 * step * rise - 1e-16 * abs(point.value):
                break
            step /= 4
        if moved is None or step <= 1e-12 or np.array_equal(moved.prices, point.prices):
            break
        point = moved
    return point


def _is_optimal(point: _Point, least: Float[np.ndarray, " limits"]) -> bool:
    """Within the limits, and no price above the least for what is not used up."""
    wasted = abs(float((point.prices - least) @ point.slope))
    return bool(point.slope.max() <= _EXACT and wasted <= _EXACT * (1 + point.prices.sum()))


def _newton_target(
    model: LinearQuadratic,
    point: _Point,
    limited: Float[np.ndarray, "limits nm nm"],
    least: Float[np.ndarray, " limits"],
) -> Float[np.ndarray, " limits"]:
    """The prices, none below the least, that maximise the quadratic model of g."""
    n, gain = model.num_states, point.best.gain
    closed = model.A + model.B @ gain
    errors = [
        m[n:, n:] @ gain + m[n:, :n] + model.gamma * model.B.T @ cost_to_go(model, m, gain) @ closed
        for m in limited
    ]
    inverse = point.best.inverse / (1 + point.prices.sum())
    states = point.moments[:n, :n]
    curvature = np.array([[2 * np.sum(a * (inverse @ b @ states)) for b in errors] for a in errors])
    curvature = (curvature + curvature.T) / 2
    scale = np.sqrt(np.maximum(np.diagonal(curvature), 1e-30))
    scaled = curvature / scale[:, None] / scale[None, :] + 1e-14 * np.eye(len(scale))
    values, vectors = np.linalg.eigh(scaled)
    values = np.maximum(values, 1e-14)
    root = (vectors * np.sqrt(values)).T  # rootᵀ·root = scaled
    right = root @ (scale * (point.prices - least)) + (vectors / np.sqrt(values)).T @ (
        point.slope / scale
    )
    return least + nnls(root, right, maxiter=1000)[0] / scale
