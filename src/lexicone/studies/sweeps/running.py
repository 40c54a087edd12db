"""Running the cells of a study, in groups that one compiled program serves; and what is kept of each."""

import time
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import jax
import numpy as np
from rich.console import Console

from lexicone._base.progress import progress_bars
from lexicone._base.text import plain_numbers
from lexicone.exact._solve import solve
from lexicone.learning._learner import with_cap
from lexicone.learning._result import uninterrupted
from lexicone.learning._result_model import Trained
from lexicone.learning._result_segments import TrainedSegments
from lexicone.learning._train import train, train_many
from lexicone.models._matching import match_order
from lexicone.models._mdp import MDP
from lexicone.order import Order
from lexicone.studies.learners.judge import REACHED
from lexicone.studies.sweeps.design import Cell
from lexicone.studies.sweeps.store import Store
from lexicone.tasks._worlds import best_values, is_world

__all__ = ["groups_of", "run_group", "run_here"]

_ERRORS = 2.0  # standard errors by which a mean may stay below its threshold
_TOGETHER = 128  # runs in one program, as far as memory is concerned


def groups_of(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Cells that train together: on one model, with learners that differ in traced numbers only.

    Groups follow from the study alone, not from what is done already: the same cell is always computed by the same
    program, so that a study that was interrupted ends with the same numbers.
    """
    groups: dict[Any, list[list[Cell]]] = {}
    for cell in cells:
        kind = _program(cell)
        started = groups.setdefault(kind, [[]])
        full = (len(started[-1]) + 1) * cell.study.seeds > _TOGETHER
        if started[-1] and (full or not isinstance(cell.task, MDP)):
            started.append([])
        started[-1].append(cell)
    return [group for started in groups.values() for group in started]


def _program(cell: Cell) -> Any:
    """What cells must share to train together."""
    if not isinstance(cell.task, MDP):
        return cell.digest
    _, order = match_order(cell.task, cell.order)
    return (cell.task_name, str(jax.tree.structure(with_cap(cell.learner))), order.names)


def run_here(
    groups: Iterable[list[Cell]],
    store: Store,
    *,
    progress: bool = False,
    console: Console | None = None,
) -> None:
    """One group after another, in this process."""
    missing = [group for group in groups if any(store.get(cell.digest) is None for cell in group)]
    if not progress:
        for group in missing:
            run_group(group, store)
        return
    with progress_bars(console) as bars:
        whole = bars.add_task("cells", total=sum(map(len, missing)))
        for group in missing:
            bars.update(whole, description=f"{group[0].task_name}: {group[0].learner_name}")
            run_group(group, store)
            bars.advance(whole, len(group))


def run_group(group: list[Cell], store: Store) -> None:
    """Train, judge and keep the cells of one group that are missing."""
    begin, first = time.perf_counter(), group[0]
    study = first.study
    options: dict[str, Any] = {"seeds": study.seeds, "seed": study.seed, **study.budget}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what environments say about themselves, in every cell
        if len(group) > 1:
            pairs = [(cell.order, cell.learner) for cell in group]
            trainings: list[Any] = list(train_many(first.task, pairs, **options))
        else:
            path = store.checkpoint(first.digest)
            kept = {} if path is None else {"checkpoint": path, "resume": True}
            trained = train(first.task, first.order, first.learner, **options, **kept)
            trainings = [uninterrupted(trained)]
    seconds = (time.perf_counter() - begin) / len(group)
    for cell, trained in zip(group, trainings, strict=True):
        if store.get(cell.digest) is None:
            store.put(cell.digest, {**judge(cell, trained), "seconds": round(seconds, 2)})


def judge(cell: Cell, trained: Any) -> dict[str, Any]:
    """What fresh episodes of every seed's policy say, as JSON holds it."""
    order: Order = trained.order
    found = trained.evaluate(cell.study.evaluation, seed=1)
    means = found.returns.mean(axis=1, dtype=float)
    deviation = found.returns.std(axis=1, dtype=float)
    result: dict[str, Any] = {
        "task": cell.task_name,
        "learner": cell.learner_name,
        "objectives": list(order.labels),
        "thresholds": plain_numbers(order.thresholds),
        "criterion": getattr(trained.learner, "criterion", "expected"),
        "seeds": trained.seeds,
        "evaluation": cell.study.evaluation,
    }
    exact = None
    if isinstance(trained, Trained):
        means = np.asarray(trained.values())
        solution = solve(trained.mdp, order)
        exact = solution.values if np.isfinite(solution.values).all() else None
    elif isinstance(trained, TrainedSegments) and is_world(trained.facts.environment_id):
        exact = best_values(str(trained.facts.environment_id), order)
    if exact is not None:
        result["exact"] = plain_numbers(exact)
    limits = np.array(order.thresholds)
    room = _ERRORS * deviation[:, :-1] / np.sqrt(cell.study.evaluation)
    room = room + 1e-6 * np.maximum(1.0, np.abs(np.where(np.isfinite(limits), limits, 0.0)))
    held = means[:, :-1] >= limits - room
    if result["criterion"] == "episode":
        held = found.satisfied >= REACHED
    return {
        **result,
        "values": [plain_numbers(row) for row in means.round(9)],
        "deviation": [plain_numbers(row) for row in deviation.round(9)],
        "satisfied": found.satisfied.tolist(),
        "success": found.success.tolist(),
        "held": held.tolist(),
        "steps": float(np.asarray(trained.history["steps"])[..., -1].mean()),
        "facts": cell.facts,
    }
