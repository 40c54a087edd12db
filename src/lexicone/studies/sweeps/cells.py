"""What all studies consist of: cells, each with a digest of all that decides its numbers, by which it is found."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lexicone._base import checkpoint
from lexicone.studies.sweeps.store import Store

__all__ = ["AnyCell", "Computed", "digest_of"]


def digest_of(facts: Any) -> str:
    """By which a result is found."""
    return checkpoint.digest({}, facts)[:32]


@dataclass(frozen=True, eq=False, kw_only=True)
class AnyCell:
    """One entry of a study's table."""

    task_name: str
    learner_name: str

    @property
    def name(self) -> str:
        """In files that hold several."""
        return "/".join(filter(None, (self.task_name, self.learner_name)))

    @cached_property
    def facts(self) -> dict[str, Any]:
        """All that decides the numbers, as JSON holds it."""
        raise NotImplementedError

    @cached_property
    def digest(self) -> str:
        """By which its result is found."""
        return digest_of(self.facts)

    def found(self, store: Store) -> dict[str, Any] | None:
        """Its result, or None if it is not done."""
        return store.get(self.digest)


@dataclass(frozen=True, eq=False, kw_only=True)
class Computed(AnyCell):
    """A cell that a function of its own computes: learners of the paper's study, claims, parts of experiments."""

    settings: dict[str, Any]
    compute: Callable[[], dict[str, Any]]
    learner_name: str = ""

    @cached_property
    def facts(self) -> dict[str, Any]:
        """As given."""
        return self.settings
