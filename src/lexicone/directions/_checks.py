"""What every function of directions asks of its arguments: a Gram matrix, values, thresholds, Δ; as arrays that fit.

Checks look at numbers where these are known; inside ``jax.jit`` only shapes are.
"""

import math
from typing import Any

import numpy as np

from lexicone._base.arrays import as_floats, is_true

__all__ = [
    "check_delta",
    "check_finite",
    "check_flow",
    "check_gram",
    "check_problem",
    "common_shape",
    "diagonal",
    "per_objective",
    "safe_sqrt",
]


def check_problem(
    xp: Any, gram: Any, values: Any, thresholds: Any, delta: Any, buffer: Any
) -> tuple[Any, Any, Any, Any, Any]:
    """Gram matrix, values, thresholds, sinΔ and buffer, checked and broadcast to their common leading axes."""
    gram, values = check_gram(xp, gram), as_floats(xp, "values", values)
    thresholds = as_floats(xp, "thresholds", thresholds, like=values)
    size = gram.shape[-1]
    if values.ndim == 0 or values.shape[-1] != size:
        raise ValueError(
            f"values: the Gram matrix has {size} objectives, got shape {tuple(values.shape)}"
        )
    if thresholds.ndim == 0 or thresholds.shape[-1] != size - 1:
        raise ValueError(
            f"thresholds: {size} objectives take {size - 1} thresholds, "
            f"got shape {tuple(thresholds.shape)}"
        )
    if is_true(xp.any(xp.isnan(values))):
        raise ValueError("values: contains NaN")
    if is_true(xp.any(xp.isnan(thresholds))):
        raise ValueError("thresholds: contains NaN")
    buffer = as_floats(xp, "buffer", buffer, like=values)
    if is_true(xp.any(~(buffer >= 0))):
        raise ValueError(f"buffer: must be at least 0, got {buffer}")
    delta = check_delta(xp, delta, gram)
    batch = common_shape(
        gram.shape[:-2],
        values.shape[:-1],
        thresholds.shape[:-1],
        delta.shape[:-1],
        buffer.shape[:-1],
    )
    delta = per_objective(xp, "delta", delta, (*batch, size))
    return (
        xp.broadcast_to(gram, (*batch, size, size)),
        xp.broadcast_to(values, (*batch, size)),
        xp.broadcast_to(thresholds, (*batch, size - 1)),
        xp.sin(delta),
        per_objective(xp, "buffer", buffer, (*batch, size - 1)),
    )


def check_flow(
    xp: Any, values: Any, spread: Any, margin: Any, rate: Any, prices: Any, fastest: Any
) -> tuple[Any, Any, Any, Any, Any]:
    """What `find_direction` asks of the flow's numbers: one per threshold, on common leading axes."""
    numbers = {
        name: as_floats(xp, name, number, like=values)
        for name, number in zip(
            ("spread", "margin", "rate", "prices", "fastest"),
            (spread, margin, rate, prices, fastest),
            strict=True,
        )
    }
    unbounded = ("prices", "fastest")
    check_finite(xp, **{name: a for name, a in numbers.items() if name not in unbounded})
    if is_true(xp.any(numbers["spread"] < 0)):
        raise ValueError(f"spread: must be at least 0, got {spread}")
    for name in ("rate", *unbounded):
        if is_true(xp.any(~(numbers[name] > 0))):
            raise ValueError(f"{name}: must be positive, got {numbers[name]}")
    batch = common_shape(values.shape[:-1], *(a.shape[:-1] for a in numbers.values()))
    shape = (*batch, values.shape[-1] - 1)
    spread, margin, rate, prices, fastest = (
        per_objective(xp, name, a, shape) for name, a in numbers.items()
    )
    return spread, margin, rate, prices, fastest


def check_gram(xp: Any, gram: Any) -> Any:
    gram = as_floats(xp, "gram", gram)
    if gram.ndim < 2 or gram.shape[-1] != gram.shape[-2] or gram.shape[-1] == 0:
        raise ValueError(
            f"gram: expected inner products of K gradients, shape […,K,K], got {tuple(gram.shape)}"
        )
    check_finite(xp, gram=gram)
    squares = diagonal(xp, gram)
    if is_true(xp.any(squares < 0)):
        raise ValueError("gram: has a negative square on its diagonal")
    slack = 1e3 * float(xp.finfo(gram.dtype).eps)
    norms = safe_sqrt(xp, squares)
    limits = norms[..., :, None] * norms[..., None, :] * (1.0 + slack)
    if is_true(xp.any(xp.abs(gram) > limits)):
        raise ValueError("gram: an inner product exceeds the product of its norms")
    if is_true(xp.any(xp.abs(gram - xp.matrix_transpose(gram)) > slack * limits)):
        raise ValueError("gram: must be symmetric")
    return gram


def check_delta(xp: Any, delta: Any, like: Any) -> Any:
    delta = as_floats(xp, "delta", delta, like=like)
    if is_true(xp.any(~((delta >= 0) & (delta < math.pi / 2)))):
        raise ValueError(f"delta: must be at least 0 and below π/2 (radians), got {delta}")
    return delta


def check_finite(xp: Any, **arrays: Any) -> None:
    for name, array in arrays.items():
        if is_true(xp.any(~xp.isfinite(array))):
            raise ValueError(f"{name}: contains NaN or infinity")


def per_objective(xp: Any, name: str, array: Any, shape: tuple[int, ...]) -> Any:
    if array.ndim > 0 and array.shape[-1] not in (1, shape[-1]):
        raise ValueError(
            f"{name}: give one number, or one for each of {shape[-1]}, got shape {tuple(array.shape)}"
        )
    try:
        return xp.broadcast_to(array, shape)
    except (ValueError, RuntimeError):
        raise ValueError(f"{name}: shape {tuple(array.shape)} does not fit {shape}") from None


def common_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*(tuple(s) for s in shapes))
    except ValueError:
        listed = ", ".join(str(tuple(s)) for s in shapes)
        raise ValueError(f"gram, values, …: leading axes do not fit each other: {listed}") from None


def safe_sqrt(xp: Any, square: Any) -> Any:
    """√max(x,0), with derivative 0 where x ≤ 0."""
    positive = square > 0
    return xp.where(positive, xp.sqrt(xp.where(positive, square, 1.0)), 0.0)


def diagonal(xp: Any, matrix: Any) -> Any:
    on = xp.broadcast_to(xp.eye(matrix.shape[-1], dtype=matrix.dtype) > 0, matrix.shape)
    return xp.sum(xp.where(on, matrix, 0.0), axis=-1)
