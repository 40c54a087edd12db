"""States that are tuples of numbers, such as (stock, wear): what heat maps and tables show of them."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from lexicone._base.checks import check_type, is_number
from lexicone.models._layout import Layout

__all__ = ["Factors", "check_parts", "find_factors"]


class Factors(NamedTuple):
    """F numbers that make up each state."""

    names: tuple[str, ...]
    values: Float[np.ndarray, "S F"]
    """NaN in states that have none, as the end of an episode."""


def check_parts(layout: Any, factors: Any) -> None:
    """A ValueError unless what a model has besides its tables is what it should be, or None."""
    if layout is not None:
        check_type("layout", layout, Layout, "a Layout")
    if factors is not None:
        check_type("factors", factors, Factors, "Factors")


def find_factors(states: list[Any]) -> Factors | None:
    """Of states that are all numbers, or all tuples of as many numbers; () has none. None for others."""
    rows = [state if isinstance(state, tuple) else (state,) for state in states]
    sizes = {len(row) for row in rows if row}
    if len(sizes) != 1 or not all(
        is_number(part) or isinstance(part, bool) for row in rows for part in row
    ):
        return None
    (size,) = sizes
    values = np.array([row or (np.nan,) * size for row in rows], dtype=float)
    values.flags.writeable = False
    first = next(row for row in rows if row)
    names = getattr(first, "_fields", None) or tuple(f"factor {i + 1}" for i in range(size))
    return Factors(tuple(names), values)
