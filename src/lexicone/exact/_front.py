"""What thresholds cost: the Pareto front by moving them, and values as a function of one of them."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from lexicone._base.checks import check_function, check_kind, check_range, check_whole, find_places
from lexicone._base.memory import check_memory
from lexicone.exact._careful_maximum import Question, careful_maximum
from lexicone.exact._column_generation import ColumnGeneration
from lexicone.exact._highs import Outcome
from lexicone.exact._maximizer import Maximizer, StageMaximum
from lexicone.exact._prepared import Prepared
from lexicone.exact._report import reward_scale
from lexicone.exact._solution import Policies, Solution, Status
from lexicone.exact._solve import solve
from lexicone.exact._solve_model import solve_finite
from lexicone.exact._solver import Solver
from lexicone.exact._tables import sensitivity_table
from lexicone.exact._tolerances import KEPT_FLOOR
from lexicone.models._arrays import as_array
from lexicone.models._matching import match_order
from lexicone.models._mdp import MDP, check_model
from lexicone.order import Level, Order, OrderLike

__all__ = ["Front", "Sensitivity", "pareto", "sensitivity"]

_SAME_POINT = 1e-8  # of an objective's range on the front: points that differ by less are one


@dataclass(frozen=True, eq=False)
class Front:
    """Points of the Pareto front: no policy is better in one objective and as good in the others."""

    values: Float[np.ndarray, "N K"]
    """Sorted by the first objective, best last."""
    gamma: float
    policies: Policies
    complete: bool
    """Whether every point of the front is here; else they are samples of it."""
    message: str = ""
    """What is missing, if the time was over or a part of the front could not be computed."""


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """The optimum as a function of one threshold."""

    objective: int
    thresholds: Float[np.ndarray, " N"]
    values: Float[np.ndarray, "N K"]
    prices: Float[np.ndarray, "N K"]
    """What one more unit of the threshold costs of each later objective (0 where it is not met)."""
    satisfied: Bool[np.ndarray, " N"]
    """Whether the threshold is met."""
    statuses: tuple[Status, ...]
    order: Order
    """As it was given, in its units; numbers above are totals, larger is better."""

    def __str__(self) -> str:
        """A table in the order's units."""
        return sensitivity_table(self)


def pareto(
    mdp: MDP,
    *,
    gamma: float = 1.0,
    policies: Policies = "stochastic",
    points: int = 25,
    time_limit: float = np.inf,
    progress: Callable[[str], None] | None = None,
) -> Front:
    """The front of two or three objectives, by maximising the last above moving thresholds on the others.

    Args:
        mdp: a model with two or three objectives.
        gamma: the discount, in [0, 1].
        policies: ``"stochastic"``, or ``"deterministic"`` (two objectives only).
        points: how many thresholds for each objective but the last, or how many points at most.
        time_limit: in seconds; after that, at the end of the step at hand, the points found so far are the result,
            and `Front.message` says so.
        progress: called with a line of text now and then.

    Stochastic policies: ``points`` thresholds for each objective but the last, evenly spaced between its
    best value and the least it needs to have, with columns shared between all of them. Points that others
    dominate are left out. Deterministic policies (two objectives): every point of the front, one after the other;
    ``points`` limits how many, and the search may be cut short (see `Front.complete`). With γ=1 policies that pay
    for any objective for ever are not on the front; an objective that is unbounded raises a ValueError that names it.
    """
    check_model(mdp, gamma)
    check_function("progress", progress, optional=True)
    count = mdp.num_objectives
    if count not in (2, 3):
        raise ValueError(f"mdp: the front is for two or three objectives, this model has {count}")
    check_kind("policies", policies, ("stochastic", "deterministic"))
    _check_points(points, count)
    check_range("time_limit", time_limit, 0, above=True)
    deadline = time.monotonic() + time_limit
    if policies == "deterministic":
        if count != 2:
            raise ValueError("policies: the deterministic front is for two objectives only")
        return _one_by_one(mdp, gamma, points, deadline, progress)
    return _above_thresholds(mdp, gamma, points, deadline, progress)


def _above_thresholds(
    mdp: MDP,
    gamma: float,
    points: int,
    deadline: float,
    progress: Callable[[str], None] | None,
) -> Front:
    """The corners, each the best of one objective and then of the others; then the last above a grid of the others."""
    count = mdp.num_objectives
    model = Prepared(mdp, gamma)
    scale, known = model.scale, model.known(model.scale)
    pairs = known.finite(known.pairs, np.ones(count, dtype=bool))
    if pairs is None:
        raise ValueError("mdp: with gamma=1 every policy pays for some objective for ever")
    if not pairs.num_states:
        return Front(np.zeros((1, count)), gamma, "stochastic", True)
    columns = known.maximizer("columns", pairs, lambda: ColumnGeneration(pairs, deadline))
    method: Maximizer = columns
    found: list[np.ndarray] = []
    missing: list[str] = []

    def maximum(i: int, floors: dict[int, float], reached: bool) -> StageMaximum:
        nonlocal method
        if method.pairs is not pairs or method.is_vertex:
            method = columns  # with all policies that it has found so far
        question = Question(i, floors, np.ones(count, dtype=bool), reached=reached)
        method, best = careful_maximum(method, question, deadline)
        return best

    for first in range(count):
        floors: dict[int, float] = {}
        for i in [first, *(k for k in range(count) if k != first)]:
            stage = maximum(i, floors, reached=True)
            if stage.outcome is Outcome.UNBOUNDED:
                raise ValueError(f"mdp: {mdp.objective_labels[i]} is unbounded with gamma={gamma}")
            if stage.outcome is not Outcome.OPTIMAL:
                why = f"{mdp.objective_labels[i]}: {stage.outcome}"
                missing.append(f"the corner of {mdp.objective_labels[first]} ({why})")
                if stage.outcome is Outcome.TIME_LIMIT and np.isfinite(stage.value):
                    found.append(method.occupancy() @ method.pairs.reward)
                break
            found.append(method.occupancy() @ method.pairs.reward)
            floors[i] = stage.value - KEPT_FLOOR * max(1.0, abs(stage.value))
        else:
            del found[-count:-1]  # only the last stage's policy is on the front
    if not found:
        raise ValueError(f"mdp: no point of the front could be computed: {'; '.join(missing)}")
    low, high = np.min(found, axis=0), np.max(found, axis=0)
    grid = [np.linspace(low[j], high[j], points) for j in range(count - 1)]
    for number, levels in enumerate(product(*grid)):
        if time.monotonic() > deadline:
            missing.append(
                f"{points ** (count - 1) - number} of {points ** (count - 1)} thresholds"
            )
            break
        if progress is not None:
            progress(f"point {number + 1} of {points ** (count - 1)}")
        stage = maximum(count - 1, dict(enumerate(levels)), reached=False)
        if stage.outcome is Outcome.OPTIMAL:  # else no policy reaches these thresholds together
            found.append(method.occupancy() @ method.pairs.reward)
    late = " (the time was over)" if time.monotonic() > deadline else ""
    message = f"without {'; '.join(missing)}{late}" if missing else ""
    values = _efficient(np.array(found), high - low) * scale
    return Front(values, gamma, "stochastic", False, message)


def _one_by_one(
    mdp: MDP,
    gamma: float,
    points: int,
    deadline: float,
    progress: Callable[[str], None] | None,
) -> Front:
    """From the best last objective on, each time with a threshold just above the last point's first objective."""
    found: list[np.ndarray] = []
    least = reward_scale(mdp)[0]
    threshold, step, complete, message = -np.inf, 0.0, False, ""

    def report(line: str) -> None:
        if progress is not None:
            progress(f"{len(found)} points; {line}")

    while len(found) < points:
        if found and time.monotonic() > deadline:
            message = "cut short: the time was over"
            break
        best = solve_finite(mdp, Order([threshold], break_ties=True), gamma, deadline, report)
        if best.status is Status.LIMIT:
            message = f"cut short: {best.message}"
            late = time.monotonic() > deadline
            if not found and late and np.isfinite(best.values).all():
                found.append(best.values)
            if not found:
                raise ValueError(
                    f"policies: too many deterministic ones to search ({best.message})"
                )
            break
        if best.status is not Status.OPTIMAL:
            raise ValueError(f"mdp: no front of finite values ({best.message})")
        complete = bool(found) and not best.values[0] > threshold - 0.5 * step
        if complete:
            break
        found.append(best.values)
        step = 3e-6 * max(1e-2 * least, abs(best.values[0]))
        threshold = best.values[0] + step
    return Front(np.array(found), gamma, "deterministic", complete, message)


def _efficient(rows: np.ndarray, span: np.ndarray) -> np.ndarray:
    """Rows that no other dominates, each once, sorted; differences below rounding do not count."""
    width = np.where(span > 0, span, 1.0) * _SAME_POINT
    rows = rows[np.lexsort(rows.T[::-1])]
    kept: list[np.ndarray] = []
    for i, row in enumerate(rows):
        others = np.delete(rows, i, axis=0)
        better = (others >= row - width).all(axis=1) & (others > row + 10 * width).any(axis=1)
        new = not any((np.abs(row - other) <= 10 * width).all() for other in kept)
        if new and not better.any():
            kept.append(row)
    return np.array(kept)


def sensitivity(
    mdp: MDP,
    order: OrderLike,
    objective: int | str,
    *,
    gamma: float = 1.0,
    thresholds: Sequence[float | int | Level] | np.ndarray | None = None,
    points: int = 21,
    policies: Policies = "stochastic",
    progress: Callable[[str], None] | None = None,
) -> Sensitivity:
    """Solve for several thresholds of one objective; the others stay as in ``order``.

    Args:
        mdp: the model.
        order: the thresholds; that of ``objective`` is moved. Results have its sequence, as in `solve`.
        objective: whose threshold moves, by name or number (from 0 in the order's sequence); not the last.
        gamma: the discount, in [0, 1].
        thresholds: the values that it takes; numbers are totals, `at_least` and `at_most` are as in an order.
        points: how many, if ``thresholds`` is left out.
        policies: as in `solve`.
        progress: called with a line of text now and then.

    By default ``points`` of them, evenly spaced from the value that the objective has if it does not
    matter to the largest that it can have.
    """
    check_model(mdp, gamma)
    check_function("progress", progress, optional=True)
    mdp, order = match_order(mdp, order, gamma=gamma)
    names = order.names or mdp.objective_names
    [objective] = find_places([objective], names and names[:-1], len(order) - 1, "objective")
    if thresholds is None:
        _check_points(points, len(order))

    solver = Solver(mdp, gamma) if policies == "stochastic" else None

    def at(threshold: float, break_ties: bool = order.break_ties) -> Solution:
        moved = order.moved(objective, threshold)
        changed = Order(moved.levels, names=order.names, break_ties=break_ties)
        if solver is not None:
            return solver.solve(changed)
        return solve(mdp, changed, gamma=gamma, policies=policies)

    if thresholds is None:
        ends = [at(t, break_ties=True).values[objective] for t in (-np.inf, np.inf)]
        if not np.isfinite(ends).all():
            raise ValueError(
                f"thresholds: give them, since objective {objective + 1} runs from {ends[0]} to {ends[1]}"
            )
        levels = np.linspace(ends[0], ends[1], points)
    else:
        levels = as_array("thresholds", _totals(thresholds, order, objective), float)
        if levels.ndim != 1 or not len(levels) or np.isnan(levels).any():
            raise ValueError("thresholds: expected a list of numbers")
    found = []
    for number, level in enumerate(levels):
        if progress is not None:
            progress(f"threshold {number + 1} of {len(levels)}")
        found.append(at(float(level)))
    return Sensitivity(
        objective,
        levels,
        np.array([s.values for s in found]),
        np.array([s.prices[objective] for s in found]),
        np.array([s.satisfied[objective] for s in found]),
        tuple(s.status for s in found),
        order,
    )


def _totals(thresholds: Any, order: Order, objective: int) -> Any:
    """What was said in another unit, as totals."""
    if isinstance(thresholds, str) or not isinstance(thresholds, Sequence):
        return thresholds
    steps = order.levels[objective].steps
    return [
        replace(t, steps=steps).threshold("thresholds") if isinstance(t, Level) else t
        for t in thresholds
    ]


def _check_points(points: int, objectives: int) -> None:
    """Before any of them is computed: what they and their values would take."""
    check_whole(2, points=points)
    check_memory("points", 16 * float(points) * objectives, "so many thresholds and their values")
