"""What callers hand over, checked before any work: a ValueError that starts with the argument's name."""

import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

__all__ = [
    "LARGEST_GAMMA",
    "check_gamma",
    "check_kind",
    "check_probability",
    "check_range",
    "check_seed",
    "check_whole",
    "find_places",
    "is_number",
]

LARGEST_GAMMA = 1 - 1e-9
"""Below 1."""


def is_number(value: Any) -> bool:
    """A real number, or an array of NumPy or JAX without axes that holds one; True and False are none."""
    if isinstance(value, bool):
        return False
    return isinstance(value, Real) or _kind_of_scalar(value) in ("i", "u", "f")


def check_kind(name: str, given: Any, kinds: Iterable[str]) -> None:
    """A ValueError unless it is one of these words."""
    kinds = tuple(kinds)
    if not isinstance(given, str) or given not in kinds:
        raise ValueError(f"{name}: expected one of {', '.join(kinds)}, got {given!r}")


def check_whole(least: int = 1, /, **numbers: Any) -> None:
    """A ValueError for the first that is not a whole number of at least ``least``."""
    for name, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, Integral) or int(number) < least:
            raise ValueError(f"{name}: must be a whole number of at least {least}, got {number!r}")


def check_probability(name: str, value: Any) -> None:
    """A ValueError unless it is a number from 0 to 1."""
    if not is_number(value) or not 0 <= value <= 1:
        raise ValueError(f"{name}: must be a probability, got {value}")


def check_gamma(gamma: Any, *, above: bool = False) -> None:
    """A ValueError unless it is a discount: from 0 (with ``above`` not 0) to `LARGEST_GAMMA`, or 1.

    Between them 1 − γ is as small as the error of a linear program, and a sum over 1/(1 − γ) steps loses its digits.
    """
    check_range("gamma", gamma, 0, 1, above=above)
    if LARGEST_GAMMA < gamma < 1:
        raise ValueError(
            f"gamma: {float(gamma)!r} is too near to 1; the largest below 1 that is served is {LARGEST_GAMMA!r}"
        )


def check_seed(seed: Any) -> None:
    """A ValueError unless it is a whole number of 32 bits."""
    check_range("seed", seed, whole=True)
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed: must be at least 0 and below 2³², got {seed}")


def check_range(
    name: str,
    value: Any,
    low: float | int = -math.inf,
    high: float | int = math.inf,
    *,
    above: bool = False,
    below: bool = False,
    whole: bool = False,
) -> None:
    """A ValueError unless ``low ≤ value ≤ high``; with ``above`` and ``below`` the ends are not allowed. NaN never is.

    With ``whole`` it must be a whole number. Arrays of NumPy or JAX without axes are numbers; True and False are none.
    ``high=math.inf, below=True`` asks for a finite number.
    """
    if not (_is_whole(value) if whole else is_number(value)):
        raise ValueError(f"{name}: must be a {'whole ' if whole else ''}number, got {value!r}")
    fits = (low < value if above else low <= value) and (value < high if below else value <= high)
    if not fits:
        raise ValueError(f"{name}: must be {_range_in_words(low, high, above, below)}, got {value}")


def _is_whole(value: Any) -> bool:
    whole = isinstance(value, Integral) or _kind_of_scalar(value) in ("i", "u")
    return whole and not isinstance(value, bool)


def _kind_of_scalar(value: Any) -> str | None:
    """NumPy's letter for what an array without axes holds; None for all else."""
    return value.dtype.kind if getattr(value, "ndim", None) == 0 else None


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


def find_places(
    objectives: Any, names: Sequence[str] | None, count: int, name: str = "objectives"
) -> list[int]:
    """The numbers, from 0, of objectives given by name or number; each at most once, at least one."""
    if isinstance(objectives, str | bytes) or not isinstance(objectives, Iterable):
        raise ValueError(f"{name}: expected a list of names or numbers, got {objectives!r}")
    places = []
    for given in objectives:
        if isinstance(given, str) and given in (names or ()):
            places.append(tuple(names or ()).index(given))
        elif (
            isinstance(given, Integral) and not isinstance(given, bool) and 0 <= int(given) < count
        ):
            places.append(int(given))
        else:
            known = f"{', '.join(names)}, or 0 to {count - 1}" if names else f"0 to {count - 1}"
            raise ValueError(f"{name}: there is no {given!r}; there are {known}")
    if not places or len(set(places)) != len(places):
        raise ValueError(f"{name}: expected at least one, each once, got {list(objectives)!r}")
    return places
