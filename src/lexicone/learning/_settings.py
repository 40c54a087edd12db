"""Settings of learners: fields of a dataclass, each with its range beside it, checked when a learner is made."""

import dataclasses
import math
from typing import Any, Literal, get_args, get_origin, get_type_hints

from lexicone._base.checks import check_kind, check_range, check_whole, is_number

__all__ = ["by_task", "check_settings", "in_segments", "number"]

_RANGE = "range"


class _Float(float):
    segments: Any


class _Int(int):
    segments: Any


class _Text(str):
    segments: Any


class _Tuple(tuple[Any, ...]):
    segments: Any


_BY_TASK: dict[type, Any] = {float: _Float, int: _Int, str: _Text, tuple: _Tuple}


def by_task(on_models: Any, in_segments: Any) -> Any:
    """A default that depends on the task: the first on models, the second where one learns from segments.

    It is the first, and remembers the second until someone sets the field: what a person writes counts everywhere.
    """
    value = _BY_TASK[type(on_models)](on_models)
    value.segments = in_segments
    return value


def in_segments(learner: Any, **settings: Any) -> Any:
    """The same learner with the defaults for segments, and with these settings."""
    again = object.__new__(type(learner))
    for field in dataclasses.fields(learner):
        value = getattr(learner, field.name)
        value = value.segments if type(value) in _BY_TASK.values() else value
        object.__setattr__(again, field.name, settings.get(field.name, value))
    return again


def number(
    default: float,
    low: float | int = 0,
    high: float | int = math.inf,
    *,
    above: bool = False,
    below: bool = False,
) -> Any:
    """A field for numbers from ``low`` to ``high``; with ``above`` and ``below`` without these ends. Never infinite.

    >>> gamma: float = number(0.99, 0, 1)
    """
    limits = {"low": low, "high": high, "above": above, "below": below or high == math.inf}
    return dataclasses.field(default=default, metadata={_RANGE: limits})


def check_settings(learner: Any) -> None:
    """A ValueError for the first setting of the wrong type or out of its range; for a learner's ``__post_init__``.

    Types are those of the fields: numbers, switches, words of a ``Literal``, tuples of numbers, or None where that is
    allowed. Whole numbers are counts, of at least 1. What is almost a number or a tuple becomes one: a list, a
    number of NumPy, and where no whole number is needed an array without axes.
    """
    kinds = get_type_hints(type(learner))
    for field in dataclasses.fields(learner):
        given = getattr(learner, field.name)
        value = _settle(field.name, kinds[field.name], given)
        value = given if type(given) in _BY_TASK.values() else value
        object.__setattr__(learner, field.name, value)  # it is frozen
        if _RANGE in field.metadata:
            check_range(field.name, value, **field.metadata[_RANGE])


def _settle(name: str, kind: Any, value: Any) -> Any:
    """A setting of this type as a plain number, switch, word or tuple."""
    if kind is bool:
        if not isinstance(value, bool):
            raise ValueError(f"{name}: must be True or False, got {value!r}")
    elif kind is int:
        check_whole(**{name: value})
        return int(value)
    elif kind is float:
        if not is_number(value):
            raise ValueError(f"{name}: must be a number, got {value!r}")
        return float(value)
    elif get_origin(kind) is Literal:
        check_kind(name, value, get_args(kind))
    elif get_origin(kind) is tuple:
        if not isinstance(value, list | tuple):
            raise ValueError(f"{name}: must be a tuple of numbers, got {value!r}")
        one = get_args(kind)[0]
        value = tuple(_settle(f"{name}[{i}]", one, entry) for i, entry in enumerate(value))
        if not all(map(math.isfinite, value)):
            raise ValueError(f"{name}: must be finite, got {value}")
    elif value is not None and type(None) in get_args(kind):
        return _settle(name, get_args(kind)[0], value)
    return value
