"""How a wild call may end: with a result, or with a ValueError that begins with the name of an argument."""

import os
import re
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, NamedTuple

import numpy as np

from tests.fuzz.calls import Call, apply
from tests.fuzz.mutations import mutate
from tests.fuzz.public import message_names
from tests.fuzz.registry import registry

RETURNED, REFUSED, SIGNATURE, OWN = "returned", "refused", "signature", "own"
FINE = (RETURNED, REFUSED, SIGNATURE, OWN)
"""A result; a ValueError with a name; Python's TypeError; what a function that was handed over, or the guard of the
folder, raises itself."""
UNNAMED, ESCAPED, SLOW, CRASHED = "unnamed", "escaped", "slow", "crashed"
_PYTHON = re.compile(
    r"(unexpected keyword argument|missing \d+ required|multiple values for|positional argument)"
)


class Outcome(NamedTuple):
    """What became of one call."""

    name: str
    kind: str
    detail: str = ""


def draw_call(seed: int, number: int) -> tuple[Call, np.random.Generator]:
    """Case ``number`` of a run: the same for the same seed. The first ones go through all calls of the registry."""
    calls = registry()
    rng = np.random.default_rng([seed, number])
    if number < len(calls):
        return calls[number], rng
    weights = np.array([call.weight for call in calls])
    return calls[rng.choice(len(calls), p=weights / weights.sum())], rng


def run_case(seed: int, number: int) -> Outcome:
    """Make a wild call, and judge how it ends."""
    call, rng = draw_call(seed, number)
    function, given = call.make()
    wild = mutate(call, given, function, rng)
    try:
        with _quiet():
            apply(function, wild)
    except Exception as error:
        kind = judge(error, function, call.words)
        detail = "" if kind in FINE else _describe(error, given, wild)
        return Outcome(call.name, kind, detail)
    return Outcome(call.name, RETURNED)


def judge(error: Exception, function: Any, words: tuple[str, ...]) -> str:
    """Whether the exception is one that the rule allows."""
    last = traceback.extract_tb(error.__traceback__)[-1].filename
    if "/tests/fuzz/calls_" in last or last.endswith("/tests/fuzz/guard.py"):
        return OWN
    if isinstance(error, TypeError) and _PYTHON.search(str(error)) and _at_the_door(error):
        return SIGNATURE
    if not isinstance(
        error, ValueError | OSError
    ):  # the system's own refusals of files are OSErrors
        return ESCAPED
    names = "|".join(map(re.escape, message_names(function) | set(words)))
    fits = re.match(rf"({names})(?!\w)[^\n]*:", str(error)) if names else None
    return REFUSED if fits else UNNAMED


def _at_the_door(error: Exception) -> bool:
    """Whether Python refused the call itself: nothing of the package, or of one of its own calls on, was run."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if "/lexicone/" in frame.filename]
    return len(inside) <= 3


def _describe(error: Exception, given: dict[str, Any], wild: dict[str, Any]) -> str:
    changed = [f"{k}={_short(v)}" for k, v in wild.items() if k not in given or v is not given[k]]
    changed += [f"without {k}" for k in given if k not in wild]
    place = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if "/lexicone/" in frame.filename:
            place = f"{frame.filename.rpartition('/lexicone/')[2]}:{frame.lineno}"
    said = str(error).split("\n")[0][:160]
    return f"{', '.join(changed)} -> {type(error).__name__}: {said} [{place}]"


def _short(value: Any) -> str:
    try:
        return repr(value).replace("\n", " ")[:120]
    except Exception:
        return type(value).__name__


@contextmanager
def _quiet() -> Iterator[None]:
    """No warnings, and nothing printed."""
    with warnings.catch_warnings(), np.errstate(all="ignore"), open(os.devnull, "w") as nowhere:
        warnings.simplefilter("ignore")
        with redirect_stdout(nowhere), redirect_stderr(nowhere):
            yield
