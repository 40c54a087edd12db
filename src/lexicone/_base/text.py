"""Numbers and settings as text: in tables, on the command line and in JSON."""

import ast
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import numpy as np

__all__ = ["as_typed", "guess", "plain_numbers", "read_assignment", "vector_text"]


def vector_text(values: Iterable[Any], digits: int = 4, *, brackets: bool = True) -> str:
    """``(1, 0.5, inf)``: numbers with so many digits, words as they are; zero has no sign."""
    listed = ", ".join(v if isinstance(v, str) else f"{v + 0.0:.{digits}g}" for v in values)
    return f"({listed})" if brackets else listed


def plain_numbers(numbers: Iterable[Any]) -> list[float | str]:
    """JSON has no infinity: those, and NaN, become text."""
    return [float(v) if np.isfinite(v) else str(float(v)) for v in numbers]


def read_assignment(given: str) -> tuple[str, Any] | None:
    """``"tie-break=0.5"`` as ``("tie_break", 0.5)``; None if it is not NAME=VALUE.

    What is no number, tuple or other literal of Python stays text.
    """
    name, equals, text = given.partition("=")
    if not equals or not name:
        return None
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        value = text
    return name.replace("-", "_"), value


def guess(given: str, known: Iterable[str]) -> str:
    """ " (did you mean …?)" if one of the known words is near to what was given, else nothing."""
    near = get_close_matches(given.lower(), list(known), 1)
    return f" (did you mean {near[0]}?)" if near else ""


def as_typed(text: str) -> str:
    """An argument of the command line for a figure: in a C locale Python has bytes in it that are no letters yet."""
    return text.encode(errors="surrogateescape").decode(errors="replace")
