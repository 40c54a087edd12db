"""What the NumPy, JAX and PyTorch sides of the code share: one namespace, checks that jit survives."""

from collections.abc import Callable
from typing import Any

import array_api_compat
import numpy as np

__all__ = [
    "as_floats",
    "as_numbers",
    "broadcast_leading",
    "is_true",
    "namespace",
    "plain",
    "repeat_until_done",
    "without_derivative",
]

_NUMPY = array_api_compat.array_namespace(np.zeros(()))


def namespace(*arrays: Any) -> Any:
    """The array library of the arguments; NumPy for lists and numbers, and where it meets another library."""
    if all(type(a) is np.ndarray for a in arrays):  # the tests below take longer than small sums
        return _NUMPY
    own = [a for a in arrays if array_api_compat.is_array_api_obj(a)]
    others = [a for a in own if not array_api_compat.is_numpy_array(a)]
    return array_api_compat.array_namespace(*others) if others else _NUMPY


def as_floats(xp: Any, name: str, data: Any, like: Any = None) -> Any:
    """``data`` as a floating-point array of ``xp``, with the dtype and device of ``like`` if given.

    ``name`` is the argument that an error message blames.
    """
    try:
        # JAX places traced data itself
        if like is not None and array_api_compat.is_jax_array(like):
            return xp.asarray(data, dtype=like.dtype)
        if like is not None:
            return xp.asarray(data, dtype=like.dtype, device=array_api_compat.device(like))
        own = array_api_compat.is_array_api_obj(data) and namespace(data) is xp
        array: Any = data if own else xp.asarray(data)
        if xp.isdtype(array.dtype, "real floating"):
            return array
        if xp.isdtype(array.dtype, ("integral", "bool")):
            return xp.astype(array, xp.zeros(()).dtype)
    except (TypeError, ValueError, OverflowError, RuntimeError, AttributeError):
        pass
    raise ValueError(f"{name}: expected real numbers in a regular array, got {data!r}")


def as_numbers(
    name: str, data: Any, shape: tuple[int | None, ...] | None = None, *, finite: bool = False
) -> np.ndarray:
    """A NumPy array of real numbers in 64 bits; a ValueError with the argument's name for anything else.

    ``shape`` has None for axes of any length but 0. ``finite`` refuses NaN and infinity.
    """
    try:
        array = np.asarray(data)
        if array.dtype.kind not in "fiub":
            raise TypeError
        array = array.astype(float)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        raise ValueError(f"{name}: expected numbers in a regular array, got {data!r}") from None
    if shape is not None:
        same = array.ndim == len(shape) and all(
            own > 0 if wanted is None else own == wanted
            for own, wanted in zip(array.shape, shape, strict=True)
        )
        if not same:
            told = ", ".join("N" if size is None else str(size) for size in shape)
            raise ValueError(f"{name}: expected shape [{told}], got {array.shape}")
    if finite and not np.isfinite(array).all():
        raise ValueError(f"{name}: contains NaN or infinity")
    return array


def is_true(flag: Any) -> bool:
    """``bool(flag)``, or False while JAX or PyTorch trace and the value is not known yet."""
    try:
        return bool(flag)
    except (TypeError, RuntimeError):
        return False


def repeat_until_done(
    step: Callable[[Any], Any], state: Any, done: Callable[[Any], Any], limit: int
) -> Any:
    """``step`` at most ``limit`` times, until ``done(state)`` is true everywhere; ``state`` is a tuple of arrays.

    In JAX one compiled loop, elsewhere a loop of Python's.
    """
    if array_api_compat.is_jax_array(state[0]):
        import jax

        def more(counted: Any) -> Any:
            return (counted[0] < limit) & ~done(counted[1]).all()

        return jax.lax.while_loop(more, lambda c: (c[0] + 1, step(c[1])), (0, state))[1]
    for _ in range(limit):
        if is_true(done(state).all()):
            break
        state = step(state)
    return state


def without_derivative(array: Any) -> Any:
    """The same numbers, of which automatic differentiation knows nothing."""
    if array_api_compat.is_jax_array(array):
        import jax

        return jax.lax.stop_gradient(array)
    return array.detach() if array_api_compat.is_torch_array(array) else array


def plain(array: Any) -> Any:
    """A Python number instead of a NumPy array without axes; anything else unchanged."""
    return array.item() if isinstance(array, np.generic | np.ndarray) and array.ndim == 0 else array


def broadcast_leading(xp: Any, names: str, first: Any, second: Any) -> tuple[Any, Any]:
    """Both with the same leading axes; a ValueError with their names if these do not fit."""
    try:
        np.broadcast_shapes(tuple(first.shape), tuple(second.shape))
    except ValueError:
        shapes = f"{tuple(first.shape)} and {tuple(second.shape)}"
        raise ValueError(f"{names}: leading axes do not fit each other: {shapes}") from None
    first, second = xp.asarray(first), xp.asarray(second)
    rank = max(first.ndim, second.ndim)
    first, second = (xp.reshape(a, (1,) * (rank - a.ndim) + a.shape) for a in (first, second))
    return tuple(xp.broadcast_arrays(first, second))
