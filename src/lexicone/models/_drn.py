"""Models in Storm's explicit text format, ``.drn``.

    @type: MDP
    @reward_models
    cost time
    @nr_states
    2
    @model
    state 0 [1, 0] init
        action go [0, 2]
            1 : 0.5
            0 : 0.5

Rewards in brackets are those of the state, then of the action, one for each reward model.
"""

import os
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from lexicone.models._explicit import Explicit, Rewards, check_size, only_initial

__all__ = ["read_drn"]

_SERVED = ("MDP", "DTMC")
_NO_NAME = ("__NOLABEL__",)


def read_drn(path: str | os.PathLike[str]) -> Explicit:
    """The model in a file; a ValueError gives the line of what cannot be read."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return _Reader(os.fspath(path), file).model()


class _Reader:
    """Reads line by line; numbers are collected in lists."""

    def __init__(self, name: str, lines: Any) -> None:
        self.name, self.line = name, 0
        self.lines = self._meaningful(lines)
        self.labels: dict[str, list[int]] = {}
        self.names: dict[str, int] = {}
        self.offsets, self.ends = [0], [0]
        self.named: list[int] = []
        self.next: list[int] = []
        self.probability: list[float] = []
        self.open = False

    def _meaningful(self, lines: Any) -> Iterator[str]:
        for number, line in enumerate(lines, 1):
            self.line = number
            text = line.strip()
            if text and not text.startswith("//"):
                yield text

    def failure(self, why: str) -> ValueError:
        return ValueError(f"path: {self.name!r}, line {self.line}: {why}")

    def fail(self, why: str) -> NoReturn:
        raise self.failure(why)

    def model(self) -> Explicit:
        models, states, choices = self.header()
        check_size(states, choices or states, choices or states)
        self.state_rewards: list[list[float]] = [[] for _ in models]
        self.choice_rewards: list[list[float]] = [[] for _ in models]
        for text in self.lines:
            word, _, rest = text.partition(" ")
            if word == "state":
                self.state(rest, len(models))
            elif word == "action":
                self.action(rest, len(models))
            else:
                self.branch(text)
        self._close()
        found = len(self.offsets) - 1
        if found != states:
            self.fail(f"{found} states are listed, but nr_states is {states}")
        marks = {name: _mark(places, found) for name, places in self.labels.items()}
        marks.setdefault("init", np.zeros(found, dtype=bool))
        return Explicit(
            offsets=np.array(self.offsets),
            ends=np.array(self.ends),
            next_state=np.array(self.next, dtype=np.int64),
            probability=np.array(self.probability, dtype=float),
            initial=only_initial(marks["init"]),
            labels=marks,
            rewards={
                name: Rewards(np.array(of_state), np.array(of_choice))
                for name, of_state, of_choice in zip(
                    models, self.state_rewards, self.choice_rewards, strict=True
                )
            },
            choice_names=tuple(self.names) or None,
            choice_name=np.array(self.named) if self.names else None,
        )

    def header(self) -> tuple[list[str], int, int | None]:
        """Reward models, states and, where it is said, choices."""
        models: list[str] = []
        states = choices = None
        section = ""
        for text in self.lines:
            if text == "@model":
                if states is None:
                    self.fail("@nr_states has to come before @model")
                return models, states, choices
            if text.startswith("@type:"):
                kind = text.removeprefix("@type:").strip()
                if kind.upper() not in _SERVED:
                    self.fail(
                        f"a model of the type {kind} cannot be read, only {' and '.join(_SERVED)}"
                    )
            elif text.startswith("@value_type:"):
                if "interval" in text or "parametric" in text:
                    self.fail("probabilities must be numbers, not intervals or functions")
            elif text.startswith("@"):
                section = text
            elif text.startswith("state "):
                break
            elif section == "@reward_models":
                models += text.split()
            elif section == "@nr_states":
                states = self.whole(text)
            elif section == "@nr_choices":
                choices = self.whole(text)
            elif section == "@parameters":
                self.fail(f"it has parameters ({text}); give them values first")
        raise self.failure("there is no @model before the states; it is no .drn file")

    def state(self, text: str, models: int) -> None:
        self._close(first=True)
        number = len(self.offsets) - 1
        name, rewards, rest = self.bracket(text)
        if name != str(number):
            self.fail(f"expected state {number}, got {name or text!r}")
        if rest.startswith(("!", "{")):
            self.fail("rates and observations cannot be read")
        self.collect(self.state_rewards, rewards, models)
        for label in rest.split():
            self.labels.setdefault(label.strip('"'), []).append(number)
        self.open = True

    def _close(self, first: bool = False) -> None:
        """The state at hand is complete."""
        if self.open:
            self._close_choice()
            if len(self.named) == self.offsets[-1]:
                self.fail(
                    f"state {len(self.offsets) - 1} has no choice, a deadlock; let it loop if that is meant"
                )
            self.offsets.append(len(self.named))
        elif not first:
            self.fail("there is no state")

    def _close_choice(self) -> None:
        if len(self.ends) <= len(self.named):
            if len(self.next) == self.ends[-1]:
                self.fail("an action leads nowhere")
            self.ends.append(len(self.next))

    def action(self, text: str, models: int) -> None:
        if not self.open:
            self.fail("an action before any state")
        self._close_choice()
        name, rewards, rest = self.bracket(text)
        if rest:
            self.fail(f"cannot read {rest!r} after an action")
        name = "" if name in _NO_NAME else name
        self.named.append(self.names.setdefault(name, len(self.names)))
        self.collect(self.choice_rewards, rewards, models)

    def branch(self, text: str) -> None:
        target, colon, chance = text.partition(":")
        if not colon or not self.open or len(self.ends) > len(self.named):
            self.fail(f"cannot read {text!r}")
        probability = self.number(chance)
        if probability > 0:
            self.next.append(self.whole(target))
            self.probability.append(probability)
        elif probability < 0:
            self.fail(f"{probability} is no probability")

    def bracket(self, text: str) -> tuple[str, list[float], str]:
        """``name [1, 2] rest``."""
        name, _, rest = text.strip().partition(" ")
        rest = rest.strip()
        if not rest.startswith("["):
            return name, [], rest
        inside, closed, rest = rest[1:].partition("]")
        if not closed:
            self.fail("a bracket is not closed")
        return name, [self.number(part) for part in inside.split(",") if part.strip()], rest.strip()

    def collect(self, lists: list[list[float]], rewards: list[float], models: int) -> None:
        if rewards and len(rewards) != models:
            self.fail(f"has {len(rewards)} rewards for {models} reward models")
        for place, values in enumerate(lists):
            values.append(rewards[place] if rewards else 0.0)

    def number(self, text: str) -> float:
        try:
            return float(text) if "/" not in text else float(Fraction(text.strip()))
        except (ValueError, ZeroDivisionError):
            self.fail(f"{text.strip()!r} is no number")

    def whole(self, text: str) -> int:
        try:
            return int(text)
        except ValueError:
            self.fail(f"{text.strip()!r} is no whole number")


def _mark(places: list[int], count: int) -> np.ndarray:
    found = np.zeros(count, dtype=bool)
    found[places] = True
    return found
