"""How good is good enough, in the user's words: costs that should be small, amounts per step.

Inside, larger is better and values are totals. A `Level` keeps the unit in which its user speaks: a sign (costs are
minus the value) and the number of steps over which a total is spread.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

from lexicone._base.checks import check_range, is_number
from lexicone._base.html import block, table

__all__ = [
    "Level",
    "as_level",
    "check_chance",
    "level_for_file",
    "level_from_file",
    "level_from_text",
    "make_level",
    "order_html",
]


@dataclass(frozen=True)
class Level:
    """One entry of an `Order`, as `at_least`, `at_most`, `highest` and `lowest` make it."""

    amount: float | None
    """In the user's unit; None where there is no threshold: as good as possible."""
    sign: int = 1
    """−1 for a cost: minus the value is said and shown."""
    per_step: bool = False
    horizon: float | int | None = None
    """How many steps an episode has, where it is not the discount that says it."""
    steps: float | int | None = None
    """The discounted number of steps that a total is of, once γ is known."""
    chance: float | None = None
    """The share of episodes whose return shall meet the threshold; None where the mean return shall."""
    worst: float | None = None
    """The share of episodes, the worst ones, whose mean return is meant instead of that of all."""

    def at_gamma(self, gamma: float) -> "Level":
        """With the number of steps for this γ: ``Σ_{t<H} γ^t``, H the horizon or ∞."""
        if not self.per_step:
            return self
        if gamma < 1:
            ahead = 0.0 if self.horizon is None else gamma**self.horizon
            return replace(self, steps=(1 - ahead) / (1 - gamma))
        return replace(self, steps=self.horizon)

    def spread(self, whose: str) -> float:
        """The number of steps in a total, 1 for what is no amount per step; ``whose`` it is, for the message."""
        steps = self.steps or self.horizon if self.per_step else 1.0
        if steps is None:
            raise ValueError(
                f"order: {whose} is said per step, and without a discount (gamma below 1) nothing says how many steps "
                f"there are; give horizon= to {repr(self).partition('(')[0]}"
            )
        return float(steps)

    def threshold(self, whose: str) -> float:
        """On the total, larger is better; +∞ without an amount."""
        return math.inf if self.amount is None else self.sign * self.amount * self.spread(whose)

    def moved(self, threshold: float, whose: str) -> "Level":
        """The same unit with another threshold on the total."""
        return replace(self, amount=self.sign * float(threshold) / self.spread(whose) + 0.0)

    @property
    def plain(self) -> bool:
        """Whether a number says it all: a total, larger is better, for the mean."""
        return self.sign == 1 and not self.per_step and not self.by_distribution

    @property
    def by_distribution(self) -> bool:
        """Whether it is about a share of episodes instead of the mean return."""
        return self.chance is not None or self.worst is not None

    @property
    def unit(self) -> str:
        """What follows a number."""
        return " per step" if self.per_step else ""

    @property
    def bound(self) -> str:
        """What follows a name: "≥ -3", "≤ 200"."""
        return (
            f"{'≥' if self.sign == 1 else '≤'} {self.amount:g}{self.unit}"
            if self.amount is not None
            else str(self)
        )

    def __str__(self) -> str:
        share = "" if self.chance is None else f" in {100 * self.chance:g} %"
        share += "" if self.worst is None else f", worst {100 * self.worst:g} %"
        if self.amount is None:
            return ("highest" if self.sign == 1 else "lowest") + self.unit + share
        own_unit = self.sign == 1 and not self.per_step
        return (f"{self.amount:g}" if own_unit else self.bound) + share

    def __repr__(self) -> str:
        options = [f"{self.amount!r}"] if self.amount is not None else []
        options += ["per_step=True"] if self.per_step else []
        options += [f"horizon={self.horizon!r}"] if self.horizon is not None else []
        options += [f"chance={self.chance!r}"] if self.chance is not None else []
        options += [f"worst={self.worst!r}"] if self.worst is not None else []
        if self.amount is None:
            name = "highest" if self.sign == 1 else "lowest"
        else:
            name = "at_least" if self.sign == 1 else "at_most"
        return f"{name}({', '.join(options)})"


def make_level(
    amount: Any, sign: int, per_step: Any, horizon: Any, chance: Any = None, worst: Any = None
) -> Level:
    """A level from what its user gave, checked; None as the amount is none."""
    if amount is not None:
        check_range("amount", amount)
        amount = float(amount)
    if not isinstance(per_step, bool):
        raise ValueError(f"per_step: must be True or False, got {per_step!r}")
    if horizon is not None:
        if not per_step:
            raise ValueError("horizon: is for amounts per step; say per_step=True")
        check_range("horizon", horizon, 0, math.inf, above=True, below=True)
    if worst is not None:
        check_range("worst", worst, 0, 1, above=True)
        if chance is not None:
            raise ValueError("worst: is another meaning than chance; give one of them")
        worst = float(worst)
    chance = check_chance("chance", chance)
    return Level(amount, sign, per_step, horizon, chance=chance, worst=worst)


def check_chance(name: str, chance: Any) -> float | None:
    """A share of episodes, from 0 to 1, or None."""
    if chance is None:
        return None
    check_range(name, chance, 0, 1)
    return float(chance)


def as_level(where: str, entry: Any) -> Level:
    """An entry of an order: a number or a level."""
    if isinstance(entry, Level):
        if entry.amount is not None and math.isnan(entry.amount):
            raise ValueError(f"{where}: is NaN")
        return entry
    try:
        if isinstance(entry, str | bytes) or not (is_number(entry) or hasattr(entry, "__float__")):
            raise TypeError
        value = float(entry)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{where}: expected a number, got {entry!r}") from None
    if math.isnan(value):
        raise ValueError(f"{where}: is NaN")
    return Level(value)


def level_from_text(text: str) -> Level:
    """From the command line: ``-3``, ``at-most:200``, ``at-least:0.95/step``, ``0.95/step``, ``lowest``."""
    amount, slash, step = text.partition("/")
    word, colon, number = amount.rpartition(":")
    sign = {"at-most": -1, "at-least": 1, "": 1}.get(word) if colon or not word else None
    if amount in ("lowest", "highest"):
        sign, number = (-1 if amount == "lowest" else 1), None
    if sign is None or (slash and step != "step") or (colon and not word):
        raise ValueError(f"expected a number, at-least:NUMBER or at-most:NUMBER, got {text!r}")
    try:
        return Level(None if number is None else float(number), sign, bool(slash))
    except ValueError:
        raise ValueError(f"expected a number, got {text!r}") from None


def order_html(order: Any) -> str:
    """An order for notebooks: its objectives, most important first, and how good is good enough."""
    rows = []
    for k, (label, level) in enumerate(zip(order.labels, order.levels, strict=True)):
        last = k == len(order.levels) - 1
        goal = "highest" if last and level.plain else level.bound
        rows.append((k + 1, label, f"{level}" if level.by_distribution else goal))
    return block("Order", table(("", "objective", "good enough"), rows))


def level_for_file(level: Level) -> list[Any]:
    """As JSON can hold it, which has no infinity."""
    amount = None if level.amount is None else str(level.amount)
    facts = [amount, level.sign, level.per_step, level.horizon, level.steps]
    return [*facts, level.chance, level.worst] if level.by_distribution else facts


def level_from_file(entry: Any) -> Level:
    """What `level_for_file` made."""
    amount, sign, per_step, horizon, steps, *shares = entry
    amount = None if amount is None else float(amount)
    level = make_level(amount, int(sign), per_step, horizon, *shares)
    return replace(level, steps=steps)
