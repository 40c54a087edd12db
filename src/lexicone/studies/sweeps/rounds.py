"""The cells of a study, round by round: all at once if they are known, else those that follow from what came out."""

from collections.abc import Callable, Iterator
from typing import Any

from lexicone.studies.sweeps.design import Cell, Study, cell_of
from lexicone.studies.sweeps.pruning import standings
from lexicone.studies.sweeps.tuning import Tuner

__all__ = ["rounds"]


class _Search:
    """For the best settings of one learner on one task."""

    def __init__(self, study: Study, task: str, learner: str, place: int) -> None:
        self._study, self._task, self._learner = study, task, learner
        self._tuner = Tuner(study.search, study.vary[learner], (study.seed + place) % 2**32)
        self._tried: list[dict[str, Any]] = []
        self._asked: list[Cell] = []

    def ask(self, count: int) -> list[Cell]:
        """The next cells."""
        looks = len(self._study.prune)
        courses = [each.get("course", []) for each in self._tried]
        rivals = tuple([c[look] for c in courses if len(c) > look] for look in range(looks))
        self._asked = [
            cell_of(self._study, self._task, self._learner, settings, rivals)
            for settings in self._tuner.ask(count)
        ]
        return self._asked

    def tell(self, found: Callable[[Cell], dict[str, Any] | None]) -> None:
        """What came out; all of them must be done."""
        for cell in self._asked:
            result = found(cell)
            assert result is not None
            self._tried.append(result)
        self._tuner.tell(standings(self._tried))


def rounds(study: Study, found: Callable[[Cell], dict[str, Any] | None]) -> Iterator[list[Cell]]:
    """Lists of cells to run; before the next is asked for, ``found`` must know all of the last, or that is the end."""
    searches = [
        _Search(study, task, learner, place)
        for place, (task, learner) in enumerate((t, n) for t in study.tasks for n in study.tuned)
    ]
    if study.cells:
        yield study.cells
    left = study.samples if searches else 0
    seen: set[str] = {cell.digest for cell in study.cells}
    while left > 0:
        count = min(left, study.at_once)
        left -= count
        asked = [cell for search in searches for cell in search.ask(count)]
        new = {c.digest: c for c in asked if c.digest not in seen or found(c) is None}
        seen |= set(new)
        if new:
            yield list(new.values())
        if any(found(cell) is None for cell in asked):
            return
        for search in searches:
            search.tell(found)
