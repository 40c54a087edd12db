"""Settings that vary: lists of values and ranges, all combinations of them, or drawn at random.

A range is ``{"low": a, "high": b}``, with ``"log": True`` where the logarithm is drawn evenly; whole numbers are drawn
where both ends are such.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args

import numpy as np

from lexicone._base.checks import is_number

__all__ = ["TUNED", "Search", "check_ranges", "in_words", "rounded", "vary"]

Search = Literal["grid", "random", "tune", "tpe", "gp", "qmc", "nsga2"]
TUNED = tuple(name for name in get_args(Search) if name not in ("grid", "random"))
"""Those that learn from what was tried before (`tuning`)."""


def vary(
    ranges: Mapping[str, Any], search: Search, samples: int, seed: int
) -> Iterator[dict[str, Any]]:
    """All combinations of lists of values; or ``samples`` drawn from lists and ranges."""
    if search == "grid":
        for values in itertools.product(*ranges.values()):
            yield dict(zip(ranges, values, strict=True))
        return
    rng = np.random.default_rng(seed)
    for _ in range(samples):
        yield {name: _draw(choice, rng) for name, choice in ranges.items()}


def _draw(choice: Any, rng: np.random.Generator) -> Any:
    if not isinstance(choice, Mapping):
        return choice[int(rng.integers(len(choice)))]
    low, high = choice["low"], choice["high"]
    if choice.get("log"):
        return rounded(math.exp(rng.uniform(math.log(low), math.log(high))), choice)
    return rounded(rng.uniform(low, high), choice)


def rounded(number: float, choice: Mapping[str, Any]) -> float | int:
    """A number of a range: whole if both its ends are, else with four digits, which are easier to repeat."""
    low, high = choice["low"], choice["high"]
    if is_whole(choice):
        return round(number)
    return min(max(float(f"{number:.4g}"), float(low)), float(high))


def is_whole(choice: Mapping[str, Any]) -> bool:
    """Whether a range is one of whole numbers."""
    return isinstance(choice["low"], int) and isinstance(choice["high"], int)


def in_words(settings: Mapping[str, Any]) -> str:
    """Settings as part of a learner's name."""
    return " ".join(f"{key}={_short(value)}" for key, value in settings.items())


def _short(value: Any) -> str:
    return f"{value:g}" if is_number(value) else str(value)


def check_ranges(name: str, learner: Any, ranges: Any, search: str) -> None:
    """Each setting exists, and every value that may come is one that the learner takes."""
    known = {field.name for field in dataclasses.fields(learner)}
    if not isinstance(ranges, Mapping):
        raise ValueError(f"vary: of {name!r}: expected settings with their values, got {ranges!r}")
    for setting, choice in ranges.items():
        where = f"vary: {setting!r} of {name!r}"
        if setting not in known:
            raise ValueError(
                f"{where}: there is no such setting; there are {', '.join(sorted(known))}"
            )
        for value in _ends(where, choice, search):
            try:
                dataclasses.replace(learner, **{setting: value})
            except ValueError as error:
                raise ValueError(f"{where}: {error}") from None


def _ends(where: str, choice: Any, search: str) -> list[Any]:
    """All values of a list, the ends of a range."""
    if isinstance(choice, Mapping):
        low: Any = choice.get("low")
        high: Any = choice.get("high")
        extra = set(choice) - {"low", "high", "log"}
        if search == "grid" or extra or not (is_number(low) and is_number(high)):
            raise ValueError(
                f"{where}: expected a list of values"
                + ("" if search == "grid" else " or {low, high, log}")
            )
        if not low < high or (choice.get("log") and not low > 0):
            raise ValueError(f"{where}: expected low < high, and above 0 with log")
        return [low, high]
    if isinstance(choice, list | tuple) and choice:
        return list(choice)
    raise ValueError(f"{where}: expected a list of values, got {choice!r}")
