"""`study` and `compare`: run what is missing of a study, and say what it found."""

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from lexicone._base.checks import check_flags, check_range
from lexicone._base.files import write_text
from lexicone.learning.algos._ppo import PPO
from lexicone.order import OrderLike
from lexicone.studies.sweeps.cells import AnyCell
from lexicone.studies.sweeps.design import Cell, Study
from lexicone.studies.sweeps.outcome import StudyResult
from lexicone.studies.sweeps.ranges import Search
from lexicone.studies.sweeps.rounds import rounds
from lexicone.studies.sweeps.running import groups_of, run_here
from lexicone.studies.sweeps.store import Store

__all__ = ["compare", "results_of", "run_groups", "run_study", "study"]


def study(
    tasks: Mapping[str, tuple[Any, OrderLike]],
    learners: Mapping[str, Any] | None = None,
    *,
    vary: Mapping[str, Mapping[str, Any]] | None = None,
    search: Search = "grid",
    samples: int = 10,
    at_once: int = 4,
    prune: Sequence[float] = (),
    seeds: int = 10,
    seed: int = 0,
    steps: int | None = None,
    episodes: int | None = None,
    evaluation: int = 1000,
    out: str | os.PathLike[str] | None = None,
    ray: bool | str = False,
    cpus: float = 1,
    gpus: float = 0,
    progress: bool = False,
) -> StudyResult:
    """Learners × settings × tasks over many seeds; what is done already is not done again.

    Args:
        tasks: by name, each a pair of a task and an order, as `train` takes them.
        learners: by name; `PPO` with its own settings by default.
        vary: for some of the learners, settings with a list of values each; or with ranges ``{"low": a, "high": b,
            "log": True}`` that are drawn from.
        search: all combinations of the values (``"grid"``), ``samples`` of them drawn at random (``"random"``), or
            ``samples`` that follow from what was tried before, by one of Optuna's samplers (extra ``tune``): ``"tune"``
            or ``"tpe"``, ``"gp"`` (needs torch), ``"qmc"``, ``"nsga2"``. The order itself says which of two is better.
        samples: how many are drawn, for each learner that varies, and with Optuna for each task.
        at_once: with Optuna, how many are asked for before the results of the last are known.
        prune: with Optuna, shares of the budget, such as ``(0.25, 0.5)``, after which settings are given up that are
            worse than most of the earlier ones were then.
        seeds: independent runs of each cell.
        seed: where all randomness comes from.
        steps, episodes: how long each run learns, as in `train`.
        evaluation: fresh episodes by which each seed is judged.
        out: a folder in which results are kept, one file for each cell: a study that is started again, here or on
            another machine that shares the folder, goes on with what is missing.
        ray: run on a Ray cluster (extra ``cluster``): True for one on this machine, or its address.
        cpus, gpus: that Ray gives to each group of cells which one program serves.
        progress: show a progress bar.
    """
    plan = Study(
        tasks=tasks,
        learners={"PPO": PPO()} if learners is None else learners,
        vary=vary or {},
        search=search,
        samples=samples,
        at_once=at_once,
        prune=prune,
        seeds=seeds,
        seed=seed,
        steps=steps,
        episodes=episodes,
        evaluation=evaluation,
    )
    check_flags(progress=progress)
    check_range("cpus", cpus, 0, math.inf, above=True, below=True)
    check_range("gpus", gpus, 0, math.inf, below=True)
    return run_study(plan, out, ray=ray, cpus=cpus, gpus=gpus, progress=progress)


def compare(
    task: Any,
    order: OrderLike,
    learners: Mapping[str, Any],
    *,
    seeds: int = 10,
    seed: int = 0,
    steps: int | None = None,
    episodes: int | None = None,
    evaluation: int = 1000,
    out: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> StudyResult:
    """Several learners on one task: a table with intervals over seeds, a figure and a verdict.

    >>> import lexicone as lx
    >>> found = compare(lx.tasks.space_traders(), [0.88], {"mine": lx.PPO(batch=8), "theirs": lx.A2C(batch=8)},
    ...                 seeds=2, episodes=16, evaluation=10)
    >>> [cell.learner for cell in found.summaries]
    ['mine', 'theirs']

    Args:
        task: as `train` takes it: a model, an environment, a world in JAX.
        order: of its objectives, with thresholds.
        learners: by name.
        seeds: independent runs of each.
        seed: where all randomness comes from.
        steps, episodes: how long each run learns, as in `train`.
        evaluation: fresh episodes by which each seed is judged.
        out: a folder in which results are kept, so that one that was interrupted goes on.
        progress: show a progress bar.
    """
    name = task if isinstance(task, str) else getattr(task, "name", None)
    tasks = {name if isinstance(name, str) and name else "task": (task, order)}
    return study(
        tasks,
        learners,
        seeds=seeds,
        seed=seed,
        steps=steps,
        episodes=episodes,
        evaluation=evaluation,
        out=out,
        progress=progress,
    )


def run_study(
    plan: Study,
    out: str | os.PathLike[str] | None,
    *,
    ray: bool | str = False,
    cpus: float = 1,
    gpus: float = 0,
    progress: bool = False,
    console: Console | None = None,
) -> StudyResult:
    """Run what is missing, here or on a cluster."""
    store, asked = Store(out), list[Cell]()
    for cells in rounds(plan, lambda cell: cell.found(store)):
        asked += cells
        if len({(cell.task_name, cell.learner_name) for cell in asked}) < len(asked):
            raise ValueError("vary: two settings of a learner are called the same")
        if out is not None:
            listed = {"cells": [[c.task_name, c.learner_name, c.digest] for c in asked]}
            write_text(Path(out) / "study.json", json.dumps(listed, indent=1) + "\n")
        run_groups(groups_of(cells), store, ray, cpus, gpus, progress=progress, console=console)
    return results_of(plan, store)


def run_groups(
    groups: Sequence[Sequence[AnyCell]],
    store: Store,
    ray: bool | str = False,
    cpus: float = 1,
    gpus: float = 0,
    *,
    progress: bool = False,
    console: Console | None = None,
) -> None:
    """All groups that are missing, here or on a cluster: every study of this library comes through here."""
    if ray is False:
        run_here(groups, store, progress=progress, console=console)
        return
    from lexicone.studies.sweeps.cluster import run_on_ray

    run_on_ray(groups, store, ray, cpus=cpus, gpus=gpus, progress=progress, console=console)


def results_of(plan: Study, store: Store) -> StudyResult:
    """What the store has of a study by now; names are the study's own."""
    found: list[dict[str, Any]] = []
    given_up = 0
    planned = len(plan.cells) + plan.samples * len(plan.tuned) * len(plan.tasks)
    for cells in rounds(plan, lambda cell: cell.found(store)):
        missing = 0
        for cell in cells:
            kept = cell.found(store)
            if kept is None:
                missing += 1
            elif "look" in kept:
                given_up += 1
            else:
                found.append({**kept, "task": cell.task_name, "learner": cell.learner_name})
        if missing:
            return StudyResult(found, planned - len(found) - given_up, given_up)
    return StudyResult(found, 0, given_up)
