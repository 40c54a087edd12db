"""A study as data: tasks with their orders, learners with settings or ranges of them, seeds and a budget.

From it follow *cells*: one learner with one setting on one task, all seeds. A cell has a digest of all that decides its
numbers, by which its result is found again, whoever computed it.
"""

import dataclasses
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

from lexicone import __version__
from lexicone._base import checkpoint
from lexicone._base.checks import check_kind, check_seed, check_whole, is_number
from lexicone.learning._learner import check_learner
from lexicone.learning._named_worlds import NamedWorld
from lexicone.models._mdp import MDP
from lexicone.models._saved_models import TABLES
from lexicone.order import Order, OrderLike, as_order
from lexicone.studies.sweeps.cells import AnyCell
from lexicone.studies.sweeps.pruning import final
from lexicone.studies.sweeps.ranges import TUNED, Search, check_ranges, in_words, vary
from lexicone.studies.sweeps.store import Store
from lexicone.tasks._world import World

__all__ = ["Cell", "Study", "cell_of"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Cell(AnyCell):
    """One learner on one task."""

    task: Any
    order: Order
    learner: Any
    study: "Study"
    rivals: tuple[list[dict[str, Any]], ...] = ()
    """For each look at a training under way: what earlier settings had reached by then (`pruning`)."""

    def found(self, store: Store) -> dict[str, Any] | None:
        """Its end, or where it was given up; None if it is not done."""
        return final(store.get(self.digest), self.rivals)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """All that decides the numbers, as JSON holds it."""
        study, order = self.study, self.order
        looks = {"prune": study.prune} if study.prune else {}
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
                    **looks,
                },
                default=str,
            )
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Study:
    """What to run; see `lexicone.study`."""

    tasks: Mapping[str, tuple[Any, OrderLike]]
    learners: Mapping[str, Any]
    vary: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    search: Search = "grid"
    samples: int = 10
    at_once: int = 4
    prune: Sequence[float] = ()
    seeds: int = 10
    seed: int = 0
    steps: int | None = None
    episodes: int | None = None
    evaluation: int = 1000

    def __post_init__(self) -> None:
        check_whole(
            seeds=self.seeds,
            evaluation=self.evaluation,
            samples=self.samples,
            at_once=self.at_once,
        )
        check_seed(self.seed)
        check_kind("search", self.search, get_args(Search))
        self._check_prune()
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
            check_ranges(name, self.learners[name], ranges, self.search)

    def _check_prune(self) -> None:
        shares = self.prune
        if not isinstance(shares, list | tuple) or not all(
            is_number(share) and 0 < share < 1 for share in shares
        ):
            raise ValueError(
                f"prune: expected shares of the budget such as [0.25, 0.5], got {shares!r}"
            )
        if any(a >= b for a, b in itertools.pairwise(shares)):
            raise ValueError(f"prune: expected rising shares, got {shares!r}")
        if shares and self.search not in TUNED:
            raise ValueError(
                f"prune: is for a search that goes on from what it found: {', '.join(TUNED)}"
            )

    @property
    def budget(self) -> dict[str, int]:
        """As `train` takes it; its own if nothing is said."""
        given = {"steps": self.steps, "episodes": self.episodes}
        return {name: int(count) for name, count in given.items() if count is not None}

    @cached_property
    def identities(self) -> dict[str, Any]:
        """What each task is, for digests."""
        return {name: _identity(name, task) for name, (task, _) in self.tasks.items()}

    @property
    def tuned(self) -> tuple[str, ...]:
        """Learners whose settings follow from what was tried before."""
        return tuple(name for name in self.vary if self.search in TUNED and self.vary[name])

    @cached_property
    def cells(self) -> list[Cell]:
        """Task by task, learner by learner; without those of learners that are `tuned`."""
        learners = [(name, pair) for name in self.learners for pair in self._variants(name)]
        return [
            cell_of(self, task, name, settings)
            for task in self.tasks
            for name, settings in learners
        ]

    def _variants(self, name: str) -> Iterator[dict[str, Any]]:
        """The settings of a learner, if they are known beforehand."""
        if name in self.tuned:
            return
        ranges = self.vary.get(name)
        yield from vary(ranges, self.search, self.samples, self.seed) if ranges else ({},)


def cell_of(
    study: Study,
    task: str,
    learner: str,
    settings: Mapping[str, Any],
    rivals: tuple[list[dict[str, Any]], ...] = (),
) -> Cell:
    """One learner of a study with these settings on one of its tasks."""
    own = study.learners[learner]
    return Cell(
        task_name=task,
        learner_name=f"{learner} {in_words(settings)}" if settings else learner,
        task=study.tasks[task][0],
        order=as_order(study.tasks[task][1]),
        learner=dataclasses.replace(own, **settings) if settings else own,
        study=study,
        rivals=rivals,
    )


def _check_mapping(name: str, given: Any) -> None:
    if not isinstance(given, Mapping) or not given:
        raise ValueError(f"{name}: expected a mapping from names, got {given!r}")
    for key in given:
        if not isinstance(key, str) or not key:
            raise ValueError(f"{name}: names must be words, got {key!r}")


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
