"""What a study found: how many seeds of each cell hold their thresholds, and who is better, by the order itself."""

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from lexicone.studies.sweeps.pruning import placed
from lexicone.studies.sweeps.statistics import (
    Interval,
    better_share,
    difference,
    holm,
    interquartile_mean,
    same_chance,
    share,
)

__all__ = ["CellSummary", "Comparison", "StudyResult"]

_SURE = 0.05  # p below which two learners are said to differ
_ALL_PAIRS = 20  # learners on one task: from more of them not all pairs are compared
_DRAWN = 30  # learners on one task, in a figure
_NAMED = 8  # in a sentence


class CellSummary(NamedTuple):
    """One learner on one task."""

    task: str
    learner: str
    seeds: int
    held: Interval
    """The share of seeds for which all thresholds hold."""
    last: Interval
    """The interquartile mean of the last objective."""
    values: np.ndarray
    """The mean of all seeds, objective by objective."""
    exact: np.ndarray | None
    """The optimum, where it is known."""
    steps: float
    seconds: float


class Comparison(NamedTuple):
    """Two learners on one task, seed against seed, by the order."""

    task: str
    learner: str
    other: str
    better: Interval
    """The probability that a seed of ``learner`` is better than one of ``other``."""
    last: Interval
    """By how much its last objective is larger, seeds compared in pairs."""
    chance: float
    """p of Mann and Whitney's test, corrected for all pairs on that task (Holm)."""


@dataclass(frozen=True, eq=False, repr=False)
class StudyResult:
    """Cells with their seeds, and what follows from them."""

    cells: list[dict[str, Any]]
    """As they are stored: ``task``, ``learner``, ``values`` and ``held`` of each seed, and more."""
    missing: int = 0
    """Cells that are not done."""
    given_up: int = 0
    """Settings that were given up on the way, since most others were better."""

    def __repr__(self) -> str:
        tail = f", {self.missing} missing" if self.missing else ""
        return f"<study of {len(self.cells)} cells{tail}>\n{self.table()}"

    @cached_property
    def summaries(self) -> list[CellSummary]:
        """One for each cell."""
        return [_summary(cell) for cell in self.cells]

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """Every pair of learners on every task; where there are more than 20, the best with each of the others."""
        found: list[Comparison] = []
        for task, cells in self._by_task().items():
            places = self._places[task]
            pairs = _pairs(places)
            chances = holm([same_chance(places[i], places[j]) for i, j in pairs])
            for (i, j), chance in zip(pairs, chances, strict=True):
                names = cells[i]["learner"], cells[j]["learner"]
                better = better_share(places[i], places[j])
                ours, theirs = (np.array(cells[k]["values"], float)[:, -1] for k in (i, j))
                apart = difference(ours, theirs)
                found.append(Comparison(cells[0]["task"], *names, better, apart, chance))
        return found

    def best(self, task: str | None = None) -> str:
        """The learner whose seeds are best on a task, on average over pairs of seeds; of the first task by default."""
        cells = self._by_task()
        if task is None:
            task = next(iter(cells))
        if not isinstance(task, str) or task not in cells:
            raise ValueError(f"task: there is no {task!r}; there are {', '.join(cells)}")
        return cells[task][_best(self._places[task])]["learner"]

    def verdict(self) -> str:
        """In words: who is best on each task, and whether that is sure."""
        lines = []
        for task, cells in self._by_task().items():
            best = self.best(task)
            held = next(s.held for s in self.summaries if (s.task, s.learner) == (task, best))
            line = f"{task}: {best} holds all thresholds for {_percent(held)} of seeds"
            worse, unsure = [], []
            for pair in self.comparisons:
                if pair.task == task and best in (pair.learner, pair.other):
                    other = pair.other if pair.learner == best else pair.learner
                    (worse if pair.chance < _SURE else unsure).append(other)
            if worse:
                line += f"; better than {_named(worse)} (p < {_SURE:g}, corrected for {len(cells)} learners)"
            if unsure:
                line += f"; no sure difference from {_named(unsure)}"
            lines.append(line + ".")
        if self.given_up:
            lines.append(
                f"{self.given_up} settings were given up on the way: most others were better."
            )
        return "\n".join(lines)

    def rows(self) -> list[tuple[str, ...]]:
        """The table as words, its heading first."""
        head = ("task", "learner", "hold", "95 %", "last objective", "95 %", "optimum", "steps")
        body = [
            (
                s.task,
                s.learner,
                f"{round(s.held.value * s.seeds)} of {s.seeds}",
                f"{100 * s.held.low:.0f}–{s.held.high:.0%}",
                f"{s.last.value:.4g}",
                f"{s.last.low:.3g} to {s.last.high:.3g}",
                "" if s.exact is None else f"{s.exact[-1]:.4g}",
                f"{s.steps / 1000:,.0f}k",
            )
            for s in self.summaries
        ]
        return [head, *body]

    def table(self) -> str:
        """As aligned text."""
        rows = self.rows()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        )

    def comparison_rows(self) -> list[tuple[str, ...]]:
        """Every pair that is compared, as words, the heading first."""
        head = ("task", "a seed of", "than", "is better in", "95 %", "last objective", "95 %", "p")
        body = [
            (
                pair.task,
                pair.learner,
                pair.other,
                f"{pair.better.value:.0%}",
                f"{100 * pair.better.low:.0f}–{pair.better.high:.0%}",
                f"{pair.last.value:+.3g}",
                f"{pair.last.low:+.3g} to {pair.last.high:+.3g}",
                f"{pair.chance:.2g}",
            )
            for pair in self.comparisons
        ]
        return [head, *body]

    def latex(self) -> str:
        """The table as a ``tabular`` of LaTeX with booktabs' lines."""
        return _tabular(self.rows(), 2)

    def comparison_latex(self) -> str:
        """Pairs of learners likewise; p is corrected for all pairs on a task."""
        return _tabular(self.comparison_rows(), 3)

    def figure(self) -> Figure:
        """For each task: the share of seeds that hold all thresholds, and the last objective beside the optimum.

        Where there are more than 30 learners, the best 30 are drawn.
        """
        from lexicone.plots._comparison import compare_seeds

        return compare_seeds(
            {
                task: {
                    cell["learner"]: (
                        share(_all_held(cell)),
                        np.array(cell["values"], float)[:, -1],
                        None if "exact" not in cell else float(cell["exact"][-1]),
                        cell["objectives"][-1],
                    )
                    for cell in self._best_few(task, cells)
                }
                for task, cells in self._by_task().items()
            }
        )

    def _best_few(self, task: str, cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if len(cells) <= _DRAWN:
            return cells
        places = [part.mean() for part in self._places[task]]
        chosen = sorted(np.argsort(places, kind="stable")[-_DRAWN:])
        return [cells[i] for i in chosen]

    @cached_property
    def _places(self) -> dict[str, list[np.ndarray]]:
        """For each task the ranks of all seeds of all cells, by the order."""
        return {task: placed(cells) for task, cells in self._by_task().items()}

    def _by_task(self) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = {}
        for cell in self.cells:
            found.setdefault(cell["task"], []).append(cell)
        if not found:
            raise ValueError("cells: the study has no results yet")
        return found


def _summary(cell: dict[str, Any]) -> CellSummary:
    values = np.array(cell["values"], float)
    return CellSummary(
        cell["task"],
        cell["learner"],
        cell["seeds"],
        share(_all_held(cell)),
        interquartile_mean(values[:, -1]),
        values.mean(axis=0),
        np.array(cell["exact"], float) if "exact" in cell else None,
        cell["steps"],
        cell["seconds"],
    )


def _all_held(cell: dict[str, Any]) -> np.ndarray:
    return np.all(np.array(cell["held"], bool).reshape(cell["seeds"], -1), axis=1)


def _best(places: list[np.ndarray]) -> int:
    return int(np.argmax([part.mean() for part in places]))


def _pairs(places: list[np.ndarray]) -> list[tuple[int, int]]:
    """All of them, or where that would be many, the best with each of the others."""
    count = len(places)
    if count <= _ALL_PAIRS:
        return list(itertools.combinations(range(count), 2))
    best = _best(places)
    return [(best, other) for other in range(count) if other != best]


def _named(learners: list[str]) -> str:
    """Their names, or how many there are."""
    return ", ".join(learners) if len(learners) <= _NAMED else f"{len(learners)} others"


def _percent(held: Interval) -> str:
    return f"{held.value:.0%} ({held.low:.0%} to {held.high:.0%})"


def _tabular(rows: list[tuple[str, ...]], words: int) -> str:
    """Rows for LaTeX, so many columns of words first."""
    head, *body = ([_escape(word) for word in row] for row in rows)
    form = "l" * words + "r" * (len(head) - words)
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{form}}}",
            r"\toprule",
            " & ".join(head) + r" \\",
            r"\midrule",
            *(" & ".join(row) + r" \\" for row in body),
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def _escape(word: str) -> str:
    for mark in "&%$#_{}":
        word = word.replace(mark, "\\" + mark)
    return word
