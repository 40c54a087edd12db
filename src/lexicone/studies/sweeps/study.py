"""`study` and `compare`: run what is missing of a study, and say what it found."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from lexicone._base.checks import check_flags
from lexicone._base.files import write_text
from lexicone.learning.algos._ppo import PPO
from lexicone.order import OrderLike
from lexicone.studies.sweeps.design import Search, Study
from lexicone.studies.sweeps.outcome import StudyResult
from lexicone.studies.sweeps.running import groups_of, run_here
from lexicone.studies.sweeps.store import Store

__all__ = ["compare", "results_of", "run_study", "study"]


def study(
    tasks: Mapping[str, tuple[Any, OrderLike]],
    learners: Mapping[str, Any] | None = None,
    *,
    vary: Mapping[str, Mapping[str, Any]] | None = None,
    search: Search = "grid",
    samples: int = 10,
    seeds: int = 10,
    seed: int = 0,
    steps: int | None = None,
    episodes: int | None = None,
    evaluation: int = 1000,
    out: str | os.PathLike[str] | None = None,
    ray: bool | str = False,
    progress: bool = False,
) -> StudyResult:
    """Learners × settings × tasks over many seeds; what is done already is not done again.

    Args:
        tasks: by name, each a pair of a task and an order, as `train` takes them.
        learners: by name; `PPO` with its own settings by default.
        vary: for some of the learners, settings with a list of values each; or with ranges ``{"low": a, "high": b,
            "log": True}`` that are drawn from.
        search: all combinations of the values (``"grid"``), or ``samples`` drawn at random (``"random"``).
        samples: how many are drawn.
        seeds: independent runs of each cell.
        seed: where all randomness comes from.
        steps, episodes: how long each run learns, as in `train`.
        evaluation: fresh episodes by which each seed is judged.
        out: a folder in which results are kept, one file for each cell: a study that is started again, here or on
            another machine that shares the folder, goes on with what is missing.
        ray: run on a Ray cluster (extra ``cluster``): True for one on this machine, or its address.
        progress: show a progress bar.
    """
    plan = Study(
        tasks=tasks,
        learners={"PPO": PPO()} if learners is None else learners,
        vary=vary or {},
        search=search,
        samples=samples,
        seeds=seeds,
        seed=seed,
        steps=steps,
        episodes=episodes,
        evaluation=evaluation,
    )
    check_flags(progress=progress)
    return run_study(plan, out, ray=ray, progress=progress)


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
    progress: bool = False,
    console: Console | None = None,
) -> StudyResult:
    """Run what is missing, here or on a cluster."""
    cells = plan.cells
    if len({(cell.task_name, cell.learner_name) for cell in cells}) < len(cells):
        raise ValueError("vary: two settings of a learner are called the same")
    store = Store(out)
    groups = groups_of(cells)
    if out is not None:
        listed = {"cells": [[c.task_name, c.learner_name, c.digest] for c in cells]}
        write_text(Path(out) / "study.json", json.dumps(listed, indent=1) + "\n")
    if ray is False:
        run_here(groups, store, progress=progress, console=console)
    else:
        from lexicone.studies.sweeps.cluster import run_on_ray

        run_on_ray(groups, store, ray, progress=progress, console=console)
    return results_of(plan, store)


def results_of(plan: Study, store: Store) -> StudyResult:
    """What the store has of a study by now; names are the study's own."""
    found: list[dict[str, Any]] = []
    for cell in plan.cells:
        kept = store.get(cell.digest)
        if kept is not None:
            found.append({**kept, "task": cell.task_name, "learner": cell.learner_name})
    return StudyResult(found, len(plan.cells) - len(found))
