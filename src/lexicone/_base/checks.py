"""What callers hand over, checked before any work: a ValueError that starts with the argument's name."""

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

__all__ = [
    "LARGEST_GAMMA",
    "as_texts",
    "check_flags",
    "check_function",
    "check_gamma",
    "check_index",
    "check_kind",
    "check_mapping",
    "check_path",
    "check_probability",
    "check_range",
    "check_seed",
    "check_text",
    "check_type",
    "check_whole",
    "find_places",
    "is_listing",
    "is_number",
]

LARGEST_GAMMA = 1 - 1e-9
"""Below 1."""


def is_number(value: Any) -> bool:
    """A number that arrays can hold, or an array of NumPy or JAX without axes; True and False are none."""
    if isinstance(value, bool):
        return False
    if isinstance(value, Integral):
        return int(value).bit_length() < 1024  # else it is no float
    return isinstance(value, float) or _kind_of_scalar(value) in ("i", "u", "f")


def is_listing(value: Any) -> bool:
    """Whether one can go through it, one after the other; text and bytes are no lists, nor are arrays without axes."""
    single = isinstance(value, str | bytes) or getattr(value, "ndim", 1) == 0
    return isinstance(value, Iterable) and not single


def check_kind(name: str, given: Any, kinds: Iterable[str]) -> None:
    """A ValueError unless it is one of these words."""
    kinds = tuple(kinds)
    if not isinstance(given, str) or given not in kinds:
        raise ValueError(f"{name}: expected one of {', '.join(kinds)}, got {given!r}")


def check_whole(least: int = 1, /, **numbers: Any) -> None:
    """A ValueError for the first that is not a whole number of at least ``least``."""
    for name, number in numbers.items():
        whole = isinstance(number, Integral) and is_number(number)
        if not whole or int(number) < least:
            raise ValueError(f"{name}: must be a whole number of at least {least}, got {number!r}")


def check_index(name: str, number: Any, count: int) -> None:
    """A ValueError unless it is a whole number from 0 on, below ``count``."""
    if not _is_whole(number) or not 0 <= int(number) < count:
        raise ValueError(f"{name}: expected a whole number from 0 to {count - 1}, got {number!r}")


def check_flags(**flags: Any) -> None:
    """A ValueError for the first that is neither True nor False."""
    for name, flag in flags.items():
        if not isinstance(flag, bool) and _kind_of_scalar(flag) != "b":
            raise ValueError(f"{name}: must be True or False, got {flag!r}")


def check_type(name: str, value: Any, kind: type | tuple[type, ...], words: str) -> None:
    """A ValueError unless it is such a thing; ``words`` say what is expected, as in "an MDP"."""
    if not isinstance(value, kind):
        what = f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
        raise ValueError(f"{name}: expected {words}, got {what}")


def check_function(name: str, value: Any, *, optional: bool = False) -> None:
    """A ValueError unless it can be called, or is None where that is allowed."""
    if not callable(value) and not (optional and value is None):
        raise ValueError(f"{name}: expected a function, got {value!r}")


def check_text(name: str, value: Any, *, optional: bool = False) -> None:
    """A ValueError unless it is text, or None where that is allowed."""
    if not isinstance(value, str) and not (optional and value is None):
        raise ValueError(f"{name}: expected text, got {value!r}")


def check_path(name: str, path: Any) -> None:
    """A ValueError unless it is the name of a file, as text or as a path."""
    given = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(given, str) or not given or "\0" in given:
        raise ValueError(f"{name}: expected a path, got {path!r}")


def check_mapping(name: str, value: Any, words: str) -> None:
    """A ValueError unless it is a mapping from texts, and not empty; ``words`` say from what to what."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{name}: expected a mapping from {words}, got {value!r}")
    if not value:
        raise ValueError(f"{name}: there must be at least one")
    for key in value:
        check_text(name, key)


def as_texts(name: str, given: Any, count: int | None = None) -> tuple[str, ...]:
    """Texts as a tuple, ``count`` of them where that is given. A single text is a list of its letters."""
    if not (isinstance(given, str) or is_listing(given)) or isinstance(given, Mapping):
        raise ValueError(f"{name}: expected a list of names, got {given!r}")
    texts = tuple(given)
    for text in texts:
        if not isinstance(text, str):
            raise ValueError(f"{name}: expected a list of names, got {text!r} among them")
    if count is not None and len(texts) != count:
        raise ValueError(f"{name}: expected {count} names, got {len(texts)}")
    return texts


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
    if not isinstance(seed, Integral) or not is_number(seed):
        raise ValueError(f"seed: must be a whole number, got {seed!r}")
    if not 0 <= int(seed) < 2**32:
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
    return is_number(value) and (
        isinstance(value, Integral) or _kind_of_scalar(value) in ("i", "u")
    )


def _kind_of_scalar(value: Any) -> str | None:
    """NumPy's letter for what an array without axes holds; None for all else."""
    if getattr(value, "ndim", None) != 0:
        return None
    if value.dtype.itemsize > 8:  # NumPy's long ones fit nowhere
        return None
    return getattr(value.dtype, "kind", None)  # a key of JAX's random numbers has none


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
    if not is_listing(objectives):
        raise ValueError(f"{name}: expected a list of names or numbers, got {objectives!r}")
    objectives, places = list(objectives), []
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
        raise ValueError(f"{name}: expected at least one, each once, got {objectives!r}")
    return places
