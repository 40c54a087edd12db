"""Which learner succeeds where, and how dependably: learner × task over many seeds.

All learners but the paper's own have the same number of episodes and one configuration for all tasks. A cell that
is finished is kept in the results file and read from there as long as its settings are the same.
"""

import dataclasses
import itertools
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from lexicone import __version__
from lexicone._base.checks import check_range
from lexicone._base.text import plain_numbers
from lexicone.learning._learner import with_cap
from lexicone.learning._result_model import Trained
from lexicone.learning._train import train_many
from lexicone.learning.algos._a2c import A2C
from lexicone.learning.algos._ppo import PPO
from lexicone.studies.learners.judge import Judged, judge, rate_interval
from lexicone.studies.learners.tasks import LEARNING_TASKS, LearningGoal, LearningTask, find
from lexicone.studies.results import OneFile, read
from lexicone.studies.sweeps.cells import Computed
from lexicone.studies.sweeps.study import run_groups

__all__ = ["LEARNER_RECIPES", "Study", "all_cells", "cells_of", "in_order", "run"]

_TOGETHER = 128  # runs in one program, as far as memory is concerned
_SNAPSHOTS = 40
_LEFT_OUT = ("fruit-tree-6", "fruit-tree-7")  # only when asked for
_FOR_SEGMENTS = (
    "copies",
    "last_log_std",
    "memory",
    "length",
    "minibatches",
    "max_gradient",
    "target_kl",
    "first_log_std",
    "normalise",
    "margin",
    "pace",
)
_CONES = ("ppo", "a2c")  # those for which the task ``delta`` means something


@dataclass(frozen=True)
class Study:
    """What to run."""

    tasks: tuple[str, ...] = tuple(name for name in LEARNING_TASKS if name not in _LEFT_OUT)
    learners: tuple[str, ...] = (
        "reinforce",
        "a2c",
        "ppo",
        "half-space",
        "lagrangian",
        "linear",
        "penalty",
    )
    seeds: int = 10
    episodes: int | None = None
    """That every run learns from; the task's own number if not given."""
    evaluation: int = 1000
    """Episodes by which a policy is judged, actions sampled."""
    leaves: int = 20
    """Desired leaves of each fruit tree."""
    ratios: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0, 10.0)
    """The sweep of linear scalarisation: objective k weighs ratio^k; the best ratio for each goal counts."""
    key: int = 0

    def check(self) -> None:
        """Raise a ValueError for a setting that makes no sense."""
        for name in ("seeds", "episodes", "evaluation", "leaves"):
            value = getattr(self, name)
            if value is not None:
                check_range(name, value, 1, whole=True)
        for name, known in (("tasks", LEARNING_TASKS), ("learners", LEARNER_RECIPES)):
            given = getattr(self, name)
            wrong = [each for each in given if each not in known]
            if wrong or not given:
                missing = f"there is no {wrong[0]!r}; " if wrong else ""
                raise ValueError(f"{name}: {missing}there are {', '.join(known)}")
        if not self.ratios or min(self.ratios) <= 0:
            raise ValueError(f"ratios: expected positive numbers, got {self.ratios}")

    def cells(self) -> list[tuple[str, str]]:
        """(task, learner) in order; without those in which nothing could be seen."""
        return [
            (task, learner)
            for task in dict.fromkeys(self.tasks)
            for learner in dict.fromkeys(self.learners)
            if task != "delta" or learner in _CONES
        ]


Variants = list[tuple[str, Any]]
"""Learners with a label each; the best for a goal counts."""


def _linear(task: LearningTask, study: Study) -> Variants:
    exponents = range(task.mdp.num_objectives)
    return [
        (f"ratio {r:g}", _ours(PPO, task, rule="linear", weights=tuple(r**k for k in exponents)))
        for r in study.ratios
    ]


def _ours(kind: Callable[..., Any], task: LearningTask, **settings: Any) -> Any:
    learner = kind(criterion=task.criterion, **settings)
    return _within(learner, task)


def _single(kind: Callable[..., Any], task: LearningTask, _: Study, **settings: Any) -> Variants:
    return [("", _ours(kind, task, **settings))]


def _literal(task: LearningTask, _: Study) -> Variants:
    return [("", _within(task.literal, task))]


def _within(learner: Any, task: LearningTask) -> Any:
    """The learner with a cap on episodes that are no longer than the task's."""
    learner = with_cap(learner)
    return dataclasses.replace(learner, max_steps=min(learner.max_steps, task.longest or 10**9))


LEARNER_RECIPES: dict[str, Callable[[LearningTask, Study], Variants]] = {
    "reinforce": _literal,
    "a2c": partial(_single, A2C),
    "ppo": partial(_single, PPO),
    "half-space": partial(_single, PPO, rule="half_space"),
    "lagrangian": partial(_single, PPO, rule="lagrangian"),
    "linear": _linear,
    "penalty": partial(_single, PPO, rule="penalty"),
}
"""How each is made for a task; all but the first two are PPO with one of the rules of `lexicone.learning.algos`."""


def cells_of(study: Study) -> list[Computed]:
    """What there is to compute; what is not installed is missed now."""
    study.check()
    built = {name: find(name, study.leaves) for name in dict.fromkeys(study.tasks)}
    return [
        Computed(
            task_name=task,
            learner_name=learner,
            settings=_settings(built[task], learner, study),
            compute=partial(_run_cell, task, learner, study),
        )
        for task, learner in study.cells()
    ]


def run(study: Study, out: Path, *, console: Console | None = None) -> dict[str, Any]:
    """Run the cells that ``out/results.json`` does not have yet with these settings.

    The file is written after each. Returns the cells of this study, by ``"task/learner"``.
    """
    cells = cells_of(study)
    kept = OneFile(out / "results.json", cells)
    run_groups([[cell] for cell in cells], kept, progress=True, console=console)
    return {cell.name: kept.parts[cell.name] for cell in cells}


def all_cells(out: Path) -> dict[str, Any]:
    """All cells of ``out/results.json``, in the order of tasks and learners."""
    cells = read(out / "results.json")
    if not cells:
        raise ValueError(f"out: there is no results.json with cells in {out}")
    return in_order(cells)


def in_order(cells: dict[str, Any]) -> dict[str, Any]:
    """Cells by the sequence of tasks and learners."""
    place = {
        f"{t}/{name}": i
        for i, (t, name) in enumerate(itertools.product(LEARNING_TASKS, LEARNER_RECIPES))
    }
    return dict(sorted(cells.items(), key=lambda item: place.get(item[0], len(place))))


def _run_cell(name: str, learner: str, study: Study) -> dict[str, Any]:
    task = find(name, study.leaves)
    variants = LEARNER_RECIPES[learner](task, study)
    begin = time.perf_counter()
    tried: list[list[Judged]] = [[] for _ in task.goals]
    for label, settings in variants:
        for group in _groups(len(task.goals), study.seeds):
            goals = [task.goals[i] for i in group]
            all_runs = _train(task, goals, settings, learner, study)
            for i, goal, trained in zip(group, goals, all_runs, strict=True):
                tried[i].append(judge(task, goal, label, trained, study.evaluation))
    best = [max(each, key=lambda j: (j.success.sum(), j.share.mean())) for each in tried]
    success = np.stack([each.success for each in best])
    rate, low, high, method = rate_interval(success)
    gaps = np.stack([each.gap for each in best])
    gap_mean, gap_median = _six_digits([gaps.mean(), np.median(gaps)])
    found = {
        "task": name,
        "learner": learner,
        "title": task.title,
        "criterion": task.criterion,
        "seeds": study.seeds,
        "rate": rate,
        "interval": [low, high],
        "interval_method": method,
        "gap_mean": gap_mean,
        "gap_median": gap_median,
        "episodes": _episodes(task, learner, study),
        "steps": float(np.mean([each.steps for each in best])),
        "seconds": round(time.perf_counter() - begin, 1),
        "goals": [
            {
                "label": goal.label,
                "delta_deg": None if goal.delta is None else float(np.degrees(goal.delta)),
                "best": _six_digits(goal.best),
                "won": int(each.success.sum()),
                "share": each.share.round(4).tolist(),
                "gap": _six_digits(each.gap),
                "variant": each.variant,
            }
            for goal, each in zip(task.goals, best, strict=True)
        ],
    }
    curve = best[0].curve
    return found if curve is None else {**found, "curve": curve}


def _train(
    task: LearningTask, goals: list[LearningGoal], settings: Any, learner: str, study: Study
) -> list[Trained]:
    own = task.literal_order if learner == "reinforce" else None
    return train_many(
        task.mdp,
        [
            (
                own or goal.order,
                settings if goal.delta is None else dataclasses.replace(settings, delta=goal.delta),
            )
            for goal in goals
        ],
        seeds=study.seeds,
        episodes=_episodes(task, learner, study),
        seed=study.key,
        snapshots=_SNAPSHOTS if task.curves else 0,
    )


def _episodes(task: LearningTask, learner: str, study: Study) -> int:
    own = task.literal_episodes if learner == "reinforce" else task.episodes
    return study.episodes or own


def _groups(goals: int, seeds: int) -> list[range]:
    """Goals that run together: as many as memory allows, all groups of one size, so that one program serves all."""
    fits = [size for size in range(1, goals + 1) if goals % size == 0 and size * seeds <= _TOGETHER]
    size = max(fits, default=1)
    return [range(begin, begin + size) for begin in range(0, goals, size)]


def _settings(task: LearningTask, learner: str, study: Study) -> Any:
    """All that decides a cell's numbers, as JSON holds it."""
    variants, own = LEARNER_RECIPES[learner](task, study), task.literal_order
    decisive = {
        "version": __version__,
        "study": {name: getattr(study, name) for name in ("seeds", "evaluation", "key")},
        "episodes": _episodes(task, learner, study),
        "learner": [[label, _on_models(each)] for label, each in variants],
        "goals": [
            [goal.label, *map(str, (goal.order.thresholds, goal.best, goal.needs, goal.delta))]
            for goal in task.goals
        ],
        "scale": None if task.scale is None else list(task.scale),
        "literal_order": list(own.thresholds) if own and learner == "reinforce" else None,
    }
    return json.loads(json.dumps(decisive))


def _on_models(learner: Any) -> dict[str, Any]:
    """A learner's settings, without those that do nothing on models."""
    return {k: v for k, v in dataclasses.asdict(learner).items() if k not in _FOR_SEGMENTS}


def _six_digits(values: Iterable[Any]) -> list[float | str]:
    return plain_numbers(float(f"{value:.6g}") for value in values)
