"""A study as data: tasks with their orders, learners with settings or ranges of them, seeds and a budget.

From it follow *cells*: one learner with one setting on one task, all seeds. A cell has a digest of all that decides its
numbers, by which its result is found again, whoever computed it.
"""

import dataclasses
import itertools
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from lexicone import __version__
from lexicone._base import checkpoint
from lexicone._base.checks import check_kind, check_seed, check_whole, is_number
from lexicone.learning._learner import check_learner
from lexicone.learning._named_worlds import NamedWorld
from lexicone.models._mdp import MDP
from lexicone.models._saved_models import TABLES
from lexicone.order import Order, OrderLike, as_order
from lexicone.tasks._world import World

__all__ = ["Cell", "Study", "vary"]

Search = Literal["grid", "random"]


@dataclass(frozen=True, eq=False)
class Cell:
    """One learner on one task."""

    task_name: str
    task: Any
    order: Order
    learner_name: str
    learner: Any
    study: "Study"

    @cached_property
    def facts(self) -> dict[str, Any]:
        """All that decides the numbers, as JSON holds it."""
        study, order = self.study, self.order
        return json.loads(
            json.dumps(
                {
                    "version": __version__,
                    "task": study.identities[self.task_name],
                    "thresholds": [str(t) for t in order.thresholds],
                    "names": order.names,
                    "learner": type(self.learner).__name__,
                    "settings": dataclasses.asdict(self.learner),
                    "budget": study.budget,
                    "seeds": study.seeds,
                    "seed": study.seed,
                    "evaluation": study.evaluation,
                },
                default=str,
            )
        )

    @cached_property
    def digest(self) -> str:
        """By which its result is found."""
        return checkpoint.digest({}, self.facts)[:32]


@dataclass(frozen=True, eq=False, kw_only=True)
class Study:
    """What to run; see `lexicone.study`."""

    tasks: Mapping[str, tuple[Any, OrderLike]]
    learners: Mapping[str, Any]
    vary: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    search: Search = "grid"
    samples: int = 10
    seeds: int = 10
    seed: int = 0
    steps: int | None = None
    episodes: int | None = None
    evaluation: int = 1000

    def __post_init__(self) -> None:
        check_whole(seeds=self.seeds, evaluation=self.evaluation, samples=self.samples)
        check_seed(self.seed)
        check_kind("search", self.search, ("grid", "random"))
        for name in ("steps", "episodes"):
            if getattr(self, name) is not None:
                check_whole(**{name: getattr(self, name)})
        if self.steps is not None and self.episodes is not None:
            raise ValueError("steps: give steps or episodes, not both")
        _check_mapping("tasks", self.tasks)
        for name, pair in self.tasks.items():
            if not (isinstance(pair, tuple | list) and len(pair) == 2):
                raise ValueError(f"tasks: {name!r} must be a pair (task, order)")
            as_order(pair[1])
        _check_mapping("learners", self.learners)
        for learner in self.learners.values():
            check_learner(learner)
        if not isinstance(self.vary, Mapping):
            raise ValueError(
                f"vary: expected a mapping from learners to settings, got {self.vary!r}"
            )
        for name, ranges in self.vary.items():
            if name not in self.learners:
                raise ValueError(
                    f"vary: there is no learner {name!r}; there are {', '.join(self.learners)}"
                )
            _check_ranges(name, self.learners[name], ranges, self.search)

    @property
    def budget(self) -> dict[str, int]:
        """As `train` takes it; its own if nothing is said."""
        given = {"steps": self.steps, "episodes": self.episodes}
        return {name: int(count) for name, count in given.items() if count is not None}

    @cached_property
    def identities(self) -> dict[str, Any]:
        """What each task is, for digests."""
        return {name: _identity(name, task) for name, (task, _) in self.tasks.items()}

    @cached_property
    def cells(self) -> list[Cell]:
        """Task by task, learner by learner."""
        learners = [pair for name in self.learners for pair in self._variants(name)]
        return [
            Cell(name, task, as_order(order), label, learner, self)
            for name, (task, order) in self.tasks.items()
            for label, learner in learners
        ]

    def _variants(self, name: str) -> Iterator[tuple[str, Any]]:
        """A learner with each of its settings, and what it is called then."""
        learner, ranges = self.learners[name], self.vary.get(name)
        if not ranges:
            yield name, learner
            return
        for settings in vary(ranges, self.search, self.samples, self.seed):
            words = " ".join(f"{key}={_short(value)}" for key, value in settings.items())
            yield f"{name} {words}", dataclasses.replace(learner, **settings)


def vary(
    ranges: Mapping[str, Any], search: Search, samples: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Settings from lists of values, all combinations of them; or ``samples`` drawn from lists and ranges.

    A range is ``{"low": a, "high": b}``, with ``"log": True`` where the logarithm is drawn evenly.
    """
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
        return float(f"{math.exp(rng.uniform(math.log(low), math.log(high))):.4g}")
    drawn = rng.uniform(low, high)
    return round(drawn) if isinstance(low, int) and isinstance(high, int) else float(f"{drawn:.4g}")


def _check_mapping(name: str, given: Any) -> None:
    if not isinstance(given, Mapping) or not given:
        raise ValueError(f"{name}: expected a mapping from names, got {given!r}")
    for key in given:
        if not isinstance(key, str) or not key:
            raise ValueError(f"{name}: names must be words, got {key!r}")


def _check_ranges(name: str, learner: Any, ranges: Any, search: str) -> None:
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
            tried = [low, high]
        elif isinstance(choice, list | tuple) and choice:
            tried = list(choice)
        else:
            raise ValueError(f"{where}: expected a list of values, got {choice!r}")
        for value in tried:
            try:
                dataclasses.replace(learner, **{setting: value})
            except ValueError as error:
                raise ValueError(f"{where}: {error}") from None


def _short(value: Any) -> str:
    return f"{value:g}" if is_number(value) else str(value)


def _identity(name: str, task: Any) -> Any:
    """What a task is, for a digest: a model's tables, a name, or for an object what it is called."""
    if isinstance(task, MDP):
        return checkpoint.digest({table: getattr(task, table) for table in TABLES})
    if isinstance(task, NamedWorld):
        return [task.id, task.options]
    if isinstance(task, World):
        return task.name
    if isinstance(task, str):
        return task
    kind = task if isinstance(task, type) or callable(task) else type(task)
    return [name, getattr(kind, "__module__", ""), getattr(kind, "__qualname__", repr(kind))]
