"""Running the cells of a study, in groups that one compiled program serves; and what is kept of each."""

import math
import tempfile
import time
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

import jax
import numpy as np
from rich.console import Console

from lexicone._base.progress import progress_bars
from lexicone._base.text import plain_numbers
from lexicone.exact._solve import solve
from lexicone.learning._learner import with_cap
from lexicone.learning._result import TrainingResult, uninterrupted
from lexicone.learning._result_model import Trained
from lexicone.learning._result_segments import TrainedSegments
from lexicone.learning._train import train, train_many
from lexicone.models._matching import match_order
from lexicone.models._mdp import MDP
from lexicone.order import Order
from lexicone.studies.sweeps.cells import AnyCell, Computed
from lexicone.studies.sweeps.design import Cell
from lexicone.studies.sweeps.pruning import is_behind
from lexicone.studies.sweeps.store import Store
from lexicone.tasks._worlds import best_values, is_world

__all__ = ["REACHED", "groups_of", "run_group", "run_here"]

REACHED = 0.95
"""With whole episodes a threshold holds for a seed if that share of its evaluation episodes reaches it."""
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
        alone = cell.study.prune or not isinstance(cell.task, MDP)
        if started[-1] and (full or alone):
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
    groups: Iterable[Sequence[AnyCell]],
    store: Store,
    *,
    progress: bool = False,
    console: Console | None = None,
) -> None:
    """One group after another, in this process."""
    missing = [group for group in groups if any(cell.found(store) is None for cell in group)]
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


def run_group(group: Sequence[AnyCell], store: Store) -> None:
    """Compute and keep the cells of one group that are missing."""
    first = group[0]
    if isinstance(first, Computed):
        store.put(first.digest, {**first.compute(), "settings": first.facts})
        return
    cells = cast(Sequence[Cell], group)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what environments say about themselves, in every cell
        if cells[0].study.prune:
            _train_with_looks(cells[0], store)
        else:
            _train(cells, store)


def _options(cell: Cell) -> dict[str, Any]:
    return {"seeds": cell.study.seeds, "seed": cell.study.seed, **cell.study.budget}


def _train(group: Sequence[Cell], store: Store) -> None:
    """Train, judge and keep those cells of one group that are missing."""
    begin, first = time.perf_counter(), group[0]
    if len(group) > 1:
        pairs = [(cell.order, cell.learner) for cell in group]
        trainings: list[Any] = list(train_many(first.task, pairs, **_options(first)))
    else:
        path = store.checkpoint(first.digest)
        kept = {} if path is None else {"checkpoint": path, "resume": True}
        trained = train(first.task, first.order, first.learner, **_options(first), **kept)
        trainings = [uninterrupted(trained)]
    seconds = (time.perf_counter() - begin) / len(group)
    for cell, trained in zip(group, trainings, strict=True):
        if cell.found(store) is None:
            store.put(cell.digest, {**judge(cell, trained), "seconds": round(seconds, 2)})


def _train_with_looks(cell: Cell, store: Store) -> None:
    """The same for one cell, with looks on the way (`pruning`), at which it may be given up."""
    begin = time.perf_counter()
    course: list[dict[str, Any]] = list((store.get(cell.digest) or {}).get("course", []))
    with tempfile.TemporaryDirectory() as own:
        path = store.checkpoint(cell.digest) or Path(own) / "training.safetensors"
        for look, share in enumerate(cell.study.prune):
            if look >= len(course):
                course.append(judge(cell, _train_until(cell, path, share), optimum=False))
                course[-1]["seconds"] = round(time.perf_counter() - begin, 2)
                store.put(cell.digest, {"course": course}, done=False)
            if is_behind(course[look], cell.rivals[look]):
                store.put(cell.digest, {"course": course})
                return
        trained = uninterrupted(
            train(
                cell.task, cell.order, cell.learner, **_options(cell), checkpoint=path, resume=True
            )
        )
        seconds = round(time.perf_counter() - begin, 2)
        store.put(cell.digest, {**judge(cell, trained), "course": course, "seconds": seconds})


def _train_until(cell: Cell, path: Path, share: float) -> TrainingResult:
    """The training as it is after that share of its updates; its checkpoint is of then."""

    def reached(row: dict[str, Any]) -> bool:
        return row["update"] >= share * row["updates"]

    for _ in range(2):
        trained: TrainingResult = uninterrupted(
            train(
                cell.task, cell.order, cell.learner, **_options(cell), checkpoint=path, resume=True,
                callback=reached,
            )
        )  # fmt: skip
        rows = math.ceil(math.ceil(share * trained.updates) / trained.every)
        if int(trained.run.update) == min(rows * trained.every, trained.updates):
            return trained
        path.unlink()  # it was killed just here, after the training and before what it reached was kept
    raise AssertionError("a training from its beginning has ended elsewhere")


def judge(cell: Cell, trained: Any, *, optimum: bool = True) -> dict[str, Any]:
    """What fresh episodes of every seed's policy say, as JSON holds it; beside the optimum where it is known."""
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
        if optimum:
            solution = solve(trained.mdp, order)
            exact = solution.values if np.isfinite(solution.values).all() else None
    elif (
        optimum and isinstance(trained, TrainedSegments) and is_world(trained.facts.environment_id)
    ):
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
