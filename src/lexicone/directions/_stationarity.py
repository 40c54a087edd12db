"""Δ-Pareto-stationarity: where no direction is left, and how far from it one can still be."""

from typing import Any

from jaxtyping import Bool, Float

from lexicone._base.arrays import as_floats, is_true, namespace
from lexicone.directions._checks import (
    check_delta,
    check_gram,
    diagonal,
    per_objective,
    safe_sqrt,
)
from lexicone.directions._find_direction import DEFAULT_DELTA, find_direction

__all__ = ["ascent_bound", "is_stationary"]


def is_stationary(gram: Any, delta: Any = DEFAULT_DELTA) -> Bool[Any, "*batch"]:
    """Whether a point is Δ-Pareto-stationary, from the Gram matrix of its gradients. ``[…,K,K] → […]``.

    That is: no ascent direction makes an angle of at most ``π/2−Δ`` with every gradient. A zero gradient cannot
    be ascended, so it makes the point stationary. For Δ=0 the direction must ascend the last objective.
    """
    xp = namespace(gram, delta)
    gram = check_gram(xp, gram)
    zeros = gram[..., 0] * 0.0
    found = find_direction(gram, zeros, zeros[..., 1:], delta=delta, method="exact").found
    return ~found | xp.any(diagonal(xp, gram) <= 0, axis=-1)


def ascent_bound(gram: Any, delta: Any, strong_concavity: Any) -> Float[Any, "*batch"]:
    """At a Δ-Pareto-stationary point of μ-strongly concave objectives: how long a common ascent step can be.

    The paper's remark: a step that lowers no objective is no longer than ``(2·sinΔ/μ)·max_j ‖∇F_j‖``.
    """
    xp = namespace(gram, delta)
    gram = check_gram(xp, gram)
    squares = diagonal(xp, gram)
    concavity = as_floats(xp, "strong_concavity", strong_concavity, like=gram)
    if is_true(xp.any(~(concavity > 0))):
        raise ValueError(f"strong_concavity: must be positive, got {strong_concavity}")
    concavity = per_objective(xp, "strong_concavity", concavity, squares.shape[:-1] or (1,))
    sin = xp.sin(per_objective(xp, "delta", check_delta(xp, delta, gram), squares.shape))
    found = 2 / concavity * xp.max(sin * safe_sqrt(xp, squares), axis=-1)
    return found if squares.ndim > 1 else found[0]
