"""What callers hand over, checked before any work: a ValueError that starts with the argument's name."""

import math
from collections.abc import Iterable
from numbers import Integral
from typing import Any

__all__ = ["check_kind", "check_range", "check_whole"]


def check_kind(name: str, given: Any, kinds: Iterable[str]) -> None:
    """A ValueError unless it is one of these words."""
    kinds = tuple(kinds)
    if given not in kinds:
        raise ValueError(f"{name}: expected one of {kinds}, got {given!r}")


def check_whole(least: int = 1, /, **numbers: Any) -> None:
    """A ValueError for the first that is not a whole number of at least ``least``."""
    for name, number in numbers.items():
        if not isinstance(number, Integral) or int(number) < least:
            raise ValueError(f"{name}: must be a whole number of at least {least}, got {number!r}")


def check_range(
    name: str,
    value: float | int,
    low: float | int = -math.inf,
    high: float | int = math.inf,
    *,
    above: bool = False,
    below: bool = False,
) -> None:
    """A ValueError unless ``low ≤ value ≤ high``; with ``above`` and ``below`` the ends are not allowed. NaN never is.

    ``high=math.inf, below=True`` asks for a finite number.
    """
    fits = (low < value if above else low <= value) and (value < high if below else value <= high)
    if not fits:
        raise ValueError(f"{name}: must be {_range_in_words(low, high, above, below)}, got {value}")


def _range_in_words(low: float | int, high: float | int, above: bool, below: bool) -> str:
    least, most = (f"{end}" if isinstance(end, int) else f"{end:.5g}" for end in (low, high))
    if low > -math.inf and high < math.inf and not above and not below:
        return f"between {least} and {most}"
    words = []
    if above and low == 0 and high == math.inf:
        words.append("positive")
    elif low > -math.inf:
        words.append(f"above {least}" if above else f"at least {least}")
    if high < math.inf:
        words.append(f"below {most}" if below else f"at most {most}")
    elif below:
        words.append("finite")
    return " and ".join(words) if words else "a number"
