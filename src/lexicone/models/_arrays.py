"""Arrays as callers hand them over: checked, made read-only, and distributions that sum to 1."""

from typing import Any

import numpy as np

__all__ = ["NEVER", "SUM_TOLERANCE", "as_array", "read_only", "scale_to_one"]

SUM_TOLERANCE = 1e-6
"""How far a distribution's sum may be from 1 (what float32 tables need); it is then scaled to 1."""
NEVER = 1e-9
"""The share of a policy's choice below which it is rounding, and shown as never made."""
_EXACT_SUM = 1e-14  # a sum nearer to 1 is left as it is


def as_array(name: str, data: Any, dtype: type | None = None) -> np.ndarray:
    """An array; what does not make one raises a ValueError with the argument's name."""
    try:
        return np.asarray(data, dtype=dtype)
    except (ValueError, TypeError, OverflowError, RuntimeError):
        what = "a regular array" if dtype is None else "a regular array of numbers"
        raise ValueError(f"{name}: expected {what}") from None


def read_only(name: str, data: Any, dtype: type) -> np.ndarray:
    """A read-only array of that type; a copy, unless nobody can write to the original."""
    given = as_array(name, data)
    kinds, wanted = {
        np.int32: ("iu", "whole numbers"),
        np.bool_: ("b", "True or False"),
        np.float64: ("fiub", "numbers"),
    }[dtype]
    if given.dtype.kind not in kinds:
        raise ValueError(f"{name}: expected {wanted}, got {given.dtype}")
    if dtype is np.int32 and given.size:
        limits = np.iinfo(np.int32)
        for extreme in (int(given.min()), int(given.max())):
            if not limits.min <= extreme <= limits.max:
                raise ValueError(f"{name}: {extreme} does not fit into 32 bits")
    array = np.array(given, dtype=dtype, order="C", copy=None if _is_frozen(given) else True)
    array.flags.writeable = False
    return array


def _is_frozen(array: np.ndarray) -> bool:
    """Whether nobody can write to its memory: neither to it nor to an array that it is a view of."""
    while not array.flags.writeable:
        if array.base is None:
            return True
        if not isinstance(array.base, np.ndarray):
            return False  # memory of another library
        array = array.base
    return False


def scale_to_one(table: np.ndarray) -> np.ndarray:
    """Distributions on the last axis, scaled to sum to 1 where the input was rounded."""
    sums = table.sum(axis=-1, keepdims=True)
    if (abs(sums - 1) <= _EXACT_SUM).all():
        return table
    table = table / np.where(abs(sums - 1) > _EXACT_SUM, sums, 1.0)
    table.flags.writeable = False
    return table
