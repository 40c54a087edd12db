"""Objectives as PRISM writes them, and the order that they make.

    property   = "P" question "[" path "]"  |  "R" [ "{" label "}" ] question "[" ( "F" formula | "C" ) "]"
    question   = ("max" | "min") "=?"  |  (">=" | "<=") number
    path       = "F" formula  |  "G" formula  |  formula "U" formula
    formula    = conjunction { "|" conjunction }
    conjunction = atom { "&" atom }
    atom       = label  |  "true"  |  "false"  |  "!" atom  |  "(" formula ")"

Labels are in double quotes. ``P>=0.9 [ … ]`` is ``Pmax=? [ … ]`` with a threshold.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
from jaxtyping import Bool

from lexicone._base.checks import is_listing, is_number
from lexicone._base.levels import Level
from lexicone.order import Order

__all__ = ["Formula", "Property", "order_of", "read_properties", "read_property"]

Labels = Mapping[str, Bool[np.ndarray, " S"]]
Formula = Callable[[Labels], Bool[np.ndarray, " S"]]
"""Where it holds, of where each label does. A label that there is not is a KeyError."""


@dataclass(frozen=True)
class Property:
    """One objective."""

    text: str
    where: str
    """How messages call it."""
    kind: Literal["P", "R"]
    maximise: bool
    bound: float | None
    """The threshold that it brings, if any."""
    path: Literal["F", "G", "U", "C"]
    left: Formula | None = None
    """Of U alone: what has to hold on the way."""
    right: Formula | None = None
    reward: str | None = None
    """The name of the rewards; None: the only ones that there are."""

    @property
    def sign(self) -> int:
        """What turns its values into those of which larger is better."""
        return 1 if self.maximise else -1


def read_properties(objectives: Any) -> dict[str, Property]:
    """Names and properties, from a list of texts, which are then the names too, or a mapping from names to texts."""
    if isinstance(objectives, str | bytes) or not isinstance(objectives, Sequence | Mapping):
        raise ValueError(
            "objectives: expected a list of properties such as 'Pmax=? [F \"goal\"]', or a mapping from names to "
            f"them, got {objectives!r}"
        )
    if not objectives:
        raise ValueError("objectives: there must be at least one property")
    named = isinstance(objectives, Mapping)
    listed = list(objectives.items()) if named else [(text, text) for text in objectives]
    found: dict[str, Property] = {}
    for number, (name, text) in enumerate(listed):
        where = f"objectives[{name!r}]" if named else f"objectives[{number}]"
        read = read_property(text, where)
        key = str(name) if named else read.text
        if key in found:
            raise ValueError(f"{where}: {key} is listed twice")
        found[key] = read
    if len(found) > _MOST:
        raise ValueError(f"objectives: at most {_MOST} can be served at once, got {len(found)}")
    return found


def order_of(objectives: Any, thresholds: Any = ()) -> Order:
    """The order of objectives given as PRISM properties, with thresholds in the properties' own terms.

    >>> order_of(['Pmax=? [F "done"]', 'R{"cost"}min=? [F "done"]'], [0.9])
    Order({'Pmax=? [F "done"]': 0.9, 'R{"cost"}min=? [F "done"]': lowest()})
    >>> order_of({"cost": 'R{"cost"}<=10 [F "done"]', "chance": 'Pmax=? [F "done"]'}).thresholds
    (-10.0,)

    Args:
        objectives: as in `MDP.from_drn`: a list of properties, or a mapping from names to them, most important first.
        thresholds: one for each but the last: at least so much for a max, at most so much for a min. None, or no
            entry at all, for a property that brings its own, as ``P>=0.9 [F "done"]`` does; ``highest`` and ``lowest``
            for one that has none.
    """
    properties = read_properties(objectives)
    given = list(_as_entries(thresholds))
    *limited, _ = properties.values()
    if not given:
        given = [None] * len(limited)
    if len(given) != len(limited):
        raise ValueError(
            f"thresholds: {len(properties)} objectives take {len(limited)}, got {len(given)}"
        )
    levels = [_level(p, t, n) for n, (p, t) in enumerate(zip(limited, given, strict=True))]
    last = list(properties.values())[-1]
    if last.bound is not None:
        raise ValueError(
            f"{last.where}: the last objective has no threshold; write max=? or min=?, got {last.text}"
        )
    return Order([*levels, Level(None, last.sign)], names=tuple(properties))


def _as_entries(thresholds: Any) -> Sequence[Any]:
    if not is_listing(thresholds) or isinstance(thresholds, Mapping):
        raise ValueError(f"thresholds: expected a list of numbers, got {thresholds!r}")
    return list(thresholds)


def _level(asked: Property, threshold: Any, number: int) -> Level:
    """A threshold in the property's own terms."""
    where = f"thresholds[{number}]"
    if threshold is None:
        if asked.bound is None:
            raise ValueError(f"{where}: {asked.text} needs one")
        return Level(asked.bound, asked.sign)
    if asked.bound is not None:
        raise ValueError(f"{where}: {asked.text} brings its own; write max=? or min=?")
    if callable(threshold) and not isinstance(threshold, Level):
        threshold = threshold()
    if isinstance(threshold, Level):
        if threshold.sign != asked.sign and (threshold.sign < 0 or threshold.amount is None):
            raise ValueError(f"{where}: {threshold} does not suit {asked.text}")
        if threshold.per_step:
            raise ValueError(f"{where}: {asked.text} is a total, not an amount per step")
        return Level(threshold.amount, asked.sign)
    if not is_number(threshold) or math.isnan(threshold):
        raise ValueError(f"{where}: expected a number, got {threshold!r}")
    return Level(float(threshold), asked.sign)


def read_property(text: Any, where: str = "objectives") -> Property:
    """One property; a ValueError says what cannot be read, and where."""
    if not isinstance(text, str):
        raise ValueError(f"{where}: expected a property as text, got {text!r}")
    return _Reader(text.strip(), where).property()


class _Token(NamedTuple):
    kind: str
    text: str
    place: int


_MOST = 16
_TOKENS = re.compile(
    r"""\s*(?:(?P<label>"[^"]*")|(?P<number>-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"""
    r"""|(?P<word>[A-Za-z_]\w*)|(?P<sign>>=|<=|=\?|=>|[][{}()&|!<>=?])|(?P<end>$)|(?P<other>.))"""
)
_UNSERVED = {
    "X": "the next step",
    "W": "weak until",
    "S": "the long run",
    "LRA": "the long run",
    "I": "one moment",
}


class _Reader:
    """Reads from left to right, one token ahead."""

    def __init__(self, text: str, where: str) -> None:
        self.text, self.where, self.next = text, where, 0
        self.tokens = [
            _Token(kind, found.group(kind), found.start(kind))
            for found in _TOKENS.finditer(text)
            for kind in [found.lastgroup or "end"]
        ]

    @property
    def token(self) -> _Token:
        return self.tokens[self.next]

    def failure(self, why: str) -> ValueError:
        kind, text, place = self.token
        here = "at its end" if kind == "end" else f"at character {place + 1} ({text})"
        return ValueError(f"{self.where}: cannot read {self.text!r} {here}: {why}")

    def fail(self, why: str) -> NoReturn:
        raise self.failure(why)

    def take(self, *texts: str) -> str | None:
        """The token, if it is one of these."""
        if self.token.kind == "label" or self.token.text not in texts:
            return None
        self.next += 1
        return self.tokens[self.next - 1].text

    def need(self, text: str) -> None:
        if self.take(text) is None:
            self.fail(f"expected {text}")

    def property(self) -> Property:
        kind, maximise = self.kind()
        reward = None
        if kind == "R" and maximise is None and self.take("{"):
            if self.token.kind != "label":
                self.fail('expected the name of rewards in quotes, as in R{"cost"}')
            reward = self.token.text[1:-1]
            self.next += 1
            self.need("}")
        bound = None
        if maximise is None:
            maximise, bound = self.question()
        else:
            self.need("=?")
        self.need("[")
        path, left, right = self.rewards() if kind == "R" else self.path()
        self.need("]")
        if self.token.kind != "end":
            self.fail("expected nothing more")
        return Property(self.text, self.where, kind, maximise, bound, path, left, right, reward)

    def kind(self) -> tuple[Literal["P", "R"], bool | None]:
        """Also ``Pmax``, which is one word."""
        word = self.token.text
        if word not in ("P", "Pmax", "Pmin", "R", "Rmax", "Rmin"):
            self.fail('expected P or R, as in Pmax=? [F "goal"] or R{"cost"}min=? [F "goal"]')
        self.next += 1
        return ("P" if word[0] == "P" else "R"), (None if len(word) == 1 else word[1:] == "max")

    def question(self) -> tuple[bool, float | None]:
        word = self.take("max", "min")
        if word is not None:
            self.need("=?")
            return word == "max", None
        sign = self.take(">=", "<=")
        if sign is None:
            if self.token.text in ("<", ">"):
                self.fail("thresholds are met by equality too: write >= or <=")
            self.fail("expected max=?, min=?, >= or <=")
        if self.token.kind != "number":
            self.fail("expected a number")
        bound = float(self.token.text)
        self.next += 1
        return sign == ">=", bound

    def rewards(self) -> tuple[Literal["F", "C"], None, Formula | None]:
        if self.take("C"):
            self.unbounded()
            return "C", None, None
        self.refuse_unserved()
        if not self.take("F"):
            self.fail("expected F (until a goal is reached) or C (in total)")
        self.unbounded()
        return "F", None, self.formula()

    def path(self) -> tuple[Literal["F", "G", "U"], Formula | None, Formula]:
        for operator in ("F", "G"):
            if self.take(operator):
                self.unbounded()
                return operator, None, self.formula()  # type: ignore[return-value]
        self.refuse_unserved()
        left = self.formula()
        self.refuse_unserved()
        if not self.take("U"):
            self.fail("expected U; a path is F …, G …, or … U …")
        self.unbounded()
        return "U", left, self.formula()

    def unbounded(self) -> None:
        if self.token.text in ("<", "<=", ">", ">=", "=", "{") and self.token.kind == "sign":
            self.fail("bounds on steps or rewards are not served")

    def refuse_unserved(self) -> None:
        if self.token.kind == "word" and self.token.text in _UNSERVED:
            self.fail(f"{_UNSERVED[self.token.text]} is not served; F, G, U and C are")

    def formula(self) -> Formula:
        """Disjunctions of conjunctions."""
        found = self.conjunction()
        while self.take("|"):
            found = _either(found, self.conjunction())
        return found

    def conjunction(self) -> Formula:
        found = self.atom()
        while self.take("&"):
            found = _both(found, self.atom())
        return found

    def atom(self) -> Formula:
        if self.take("!"):
            return _negation(self.atom())
        if self.take("("):
            found = self.formula()
            self.need(")")
            return found
        word = self.take("true", "false")
        if word is not None:
            return _constant(word == "true")
        if self.token.kind == "label":
            name = self.token.text[1:-1]
            self.next += 1
            return _label(name)
        if self.token.kind == "word" and self.token.text not in ("F", "G", "U", "C"):
            self.fail(f'labels are in quotes: "{self.token.text}"')
        raise self.failure("expected a label in quotes, true, false, ! or (")


def _label(name: str) -> Formula:
    return lambda labels: labels[name]


def _negation(inner: Formula) -> Formula:
    return lambda labels: ~inner(labels)


def _both(left: Formula, right: Formula) -> Formula:
    return lambda labels: left(labels) & right(labels)


def _either(left: Formula, right: Formula) -> Formula:
    return lambda labels: left(labels) | right(labels)


def _constant(holds: bool) -> Formula:
    return lambda labels: np.full(len(next(iter(labels.values()))), holds)
