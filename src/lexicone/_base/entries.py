"""What may stand in an order, read: numbers, levels, None, and the functions for open ends themselves."""

from collections.abc import Mapping, Sequence
from typing import Any

from lexicone._base.checks import is_listing
from lexicone._base.levels import Level, as_level

__all__ = ["OpenEnds", "as_levels", "read_entry", "split_mapping"]

OpenEnds = tuple[tuple[Any, Level], ...]
"""Functions that stand for a level when they are not called."""


def split_mapping(
    mapping: Mapping[Any, Any], open_ends: OpenEnds
) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """The names and entries of a mapping whose last objective is open-ended."""
    names, thresholds = tuple(mapping.keys()), tuple(mapping.values())
    if not names:
        raise ValueError("thresholds: the mapping is empty; name at least one objective")
    last = thresholds[-1]
    if (
        last is not None
        and read_entry(f"thresholds[{names[-1]!r}]", last, open_ends).amount is not None
    ):
        raise ValueError(
            f"thresholds: the last objective {names[-1]!r} is open-ended and takes None, highest or lowest, "
            f"got {last!r}"
        )
    return names, thresholds


def read_entry(where: str, entry: Any, open_ends: OpenEnds) -> Level:
    """Also `lowest` and `highest` themselves, not called."""
    for function, level in open_ends:
        if entry is function:
            return level
    return Level(None) if entry is None else as_level(where, entry)


def as_levels(
    thresholds: Any, names: Sequence[str] | None, open_ends: OpenEnds
) -> tuple[Level, ...]:
    """One for each objective; the open-ended last one may be spelled out."""
    try:
        if not is_listing(thresholds):
            raise TypeError
        entries = list(thresholds)
    except TypeError:
        raise ValueError(f"thresholds: expected a sequence, got {thresholds!r}") from None
    last, levels = Level(None), []
    for i, entry in enumerate(entries):
        where = f"thresholds[{names[i]!r}]" if names and i < len(names) else f"thresholds[{i}]"
        final = i == len(entries) - 1
        if entry is None and not final:
            raise ValueError(f"{where}: only the last objective goes without a threshold")
        level = read_entry(where, entry, open_ends)
        if final and level.amount is None and (names is None or len(names) == len(entries)):
            last = level
        else:
            levels.append(level)
    return (*levels, last)
