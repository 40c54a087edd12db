"""What a worker can be asked, by name: each takes what the browser sent and gives what JSON can hold."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from lexicone._base.checks import check_range
from lexicone._base.text import plain_numbers
from lexicone.criteria._compare import compare
from lexicone.exact._front import pareto, sensitivity
from lexicone.exact._one_more import one_more
from lexicone.exact._solution import Solution, Status
from lexicone.models._mdp import decision_states
from lexicone.order import Order
from lexicone.tasks._registry import TASKS, find
from lexicone.web._answers import describe, policy_rows, solution_answer
from lexicone.web._coins import explain_coins
from lexicone.web._conflicts import find_conflicts
from lexicone.web._episodes import play
from lexicone.web._questions import Known, Loaded, Question
from lexicone.web._script import script
from lexicone.web._solving import MAX_BUDGET_STATES, Progress, best_policy, solve_expected
from lexicone.web._sources import Opened
from lexicone.web._training import Training

__all__ = ["JOBS", "Context"]

_STEPS = 100  # of a slider
_BEYOND = 0.1  # of an objective's range that sliders go too far, to see what cannot be had
_POINTS = {2: 33, 3: 6}
_DETERMINISTIC_STATES = 60  # up to which fronts without coins are looked for
_REACHED = (Status.OPTIMAL, Status.NEEDS_MEMORY, Status.SUPREMUM)


@dataclass
class Context:
    """What a job works with."""

    known: Known
    opened: Opened
    training: Training
    seconds: float
    """That it may take."""
    progress: Progress
    """To be called now and then; it raises an exception if nobody waits any more."""


def model(context: Context, data: Any) -> dict[str, Any]:
    """A model to draw, with thresholds to begin with."""
    source = data.get("source")
    loaded = context.known.model(source)
    found = describe(loaded.mdp, loaded.labels)
    limits, gamma, name = None, 1.0, ""
    if isinstance(source, dict) and isinstance(source.get("task"), str):
        name = find(source["task"].partition(":")[0]).name
        limits = TASKS[name].thresholds
        fits = name != "maze" and len(limits) == loaded.mdp.num_objectives - 1
        limits = list(limits) if fits else None
        found["description"] = TASKS[name].description
    if isinstance(source, dict) and "opened" in source and context.opened.kind == "run":
        limits = plain_numbers(context.training.order().thresholds)
    if found["endless"]:
        gamma = 0.99
    return found | {"thresholds": limits, "gamma": gamma, "task": name}


def extremes(context: Context, data: Any) -> dict[str, Any]:
    """The ranges of sliders: what each objective has at best, and what it has if only the last one counts."""
    loaded = context.known.model(data.get("source"))
    gamma, last, count = data.get("gamma", 1.0), data.get("last"), loaded.mdp.num_objectives
    check_range("gamma", gamma, 0, 1, above=True)
    check_range("last", last, 0, count - 1, whole=True)

    def highest(k: int) -> float:
        return _corner(context, loaded, (k,), gamma)[0]

    best = [loaded.remember(("highest", gamma, k), partial(highest, k)) for k in range(count)]
    sequence = (last, *(k for k in range(count) if k != last))
    corner = loaded.remember(
        ("corner", gamma, last), lambda: _corner(context, loaded, sequence, gamma)
    )
    free = dict(zip(sequence, corner, strict=True))
    return {"ranges": [_range(free[k], best[k]) for k in range(count)]}


def _corner(
    context: Context, loaded: Loaded, sequence: tuple[int, ...], gamma: float
) -> list[float]:
    """What these objectives have if each is maximised after the ones before; NaN where that has no end."""
    from lexicone.exact._solve import solve

    best = solve(
        loaded.mdp.reorder(list(sequence)),
        Order([math.inf] * (len(sequence) - 1)),
        gamma=gamma,
        time_limit=context.seconds / 8,
        progress=context.progress,
    )
    reached = best.status in _REACHED
    return best.values.tolist() if reached else [math.nan] * len(sequence)


def _range(low: float, high: float) -> dict[str, Any] | None:
    """A slider's ends and step, on round numbers; None where nothing finite is known."""
    if not math.isfinite(low):
        low = high
    if not math.isfinite(high):
        return None
    low = min(low, high)
    span = high - low
    if span < 1e-9 * max(1.0, abs(high)):
        span = max(1.0, abs(high))
    step = _round_up(span / _STEPS)
    return {
        "low": low,
        "high": high,
        "min": math.floor((min(low, high - span) - _BEYOND * span) / step + 1e-9) * step,
        "max": math.ceil((high + _BEYOND * span) / step - 1e-9) * step,
        "step": step,
    }


def _round_up(number: float) -> float:
    """The next of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(number))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= number * (1 - 1e-9))


def solve(context: Context, data: Any) -> dict[str, Any]:
    """The best policy for the question's criterion."""
    begin, busy = time.monotonic(), time.process_time()
    question = context.known.question(data)
    best = best_policy(question, 0.9 * context.seconds, context.progress)
    if best.solution is not None:
        found = solution_answer(question.mdp, best.solution)
        if question.criterion == "deterministic":
            found["prices"] = None
    else:
        found = _episode_answer(question, best.lifted)
    took = {"seconds": time.monotonic() - begin, "processor": time.process_time() - busy}
    return found | {"criterion": question.criterion, **took}


def _episode_answer(question: Question, found: Any) -> dict[str, Any]:
    policy, occupancy = found.policy.shadow
    chances = found.policy.chances
    return {
        "status": str(found.status),
        "message": found.message,
        "method": f"{found.augmented.mdp.num_states} states with budgets",
        "values": plain_numbers(found.values),
        "thresholds": plain_numbers(question.order.thresholds),
        "satisfied": [bool(s) for s in found.satisfied],
        "prices": None,
        "chances": [*plain_numbers(chances.rates), *plain_numbers([chances.overall])],
        "bound": None,
        "coins": [],
        "stays": False,
        "rows": policy_rows(question.mdp, policy, occupancy),
    }


def why(context: Context, data: Any) -> dict[str, Any]:
    """Why the policy flips its coins, why thresholds are missed, and what more of those that are just met costs."""
    question = context.known.question(data)
    best = best_policy(question, 0.5 * context.seconds, context.progress).solution
    if best is None:
        return {"coins": [], "without": None, "conflicts": [], "prices": []}
    found = explain_coins(question, best, context.seconds, context.progress)
    each = 0.3 * context.seconds / len(question.order) ** 2
    found["conflicts"] = find_conflicts(question, best, each, context.progress)
    expected = question.criterion == "expected"
    found["prices"] = _prices(context, question, best, each) if expected else []
    return found


def _prices(
    context: Context, question: Question, best: Solution, seconds: float
) -> list[dict[str, Any] | None]:
    """What more of each threshold costs, where it is just met."""

    def again(order: Order) -> Solution:
        return solve_expected(replace(question, order=order), seconds, context.progress)

    told: list[dict[str, Any] | None] = []
    for j in range(len(question.order) - 1):
        more = one_more(question.mdp, best, j, again, time_limit=seconds, progress=context.progress)
        if more is None:
            told.append(None)
            continue
        costs, (most,) = plain_numbers(more.costs), plain_numbers([more.most])
        told.append({"most": most, "unit": more.unit, "costs": costs})
    return told


def front(context: Context, data: Any) -> dict[str, Any]:
    """What can be had of two or three objectives together; of more than two, the optimum as one threshold moves."""
    question = context.known.question(data)
    mdp, gamma, count = question.mdp, question.gamma, question.mdp.num_objectives
    if count == 1:
        raise ValueError("front: a single objective has none")
    curve = _along(context, question, data.get("along", 0)) if count > 2 else []
    if count > 3:
        return {"points": [], "fixed": [], "curve": curve, "message": ""}

    def find() -> dict[str, Any]:
        half = 0.3 * context.seconds
        found = pareto(
            mdp, gamma=gamma, points=_POINTS[count], time_limit=half, progress=context.progress
        )
        fixed, message = [], found.message
        if count == 2 and decision_states(mdp).sum() <= _DETERMINISTIC_STATES:
            try:
                sure = pareto(
                    mdp,
                    gamma=gamma,
                    policies="deterministic",
                    points=200,
                    time_limit=min(half, 5.0),
                    progress=context.progress,
                )
                fixed = [plain_numbers(row) for row in sure.values]
            except ValueError as error:
                message = f"{message} without coins: {error}".strip()
        points = [plain_numbers(row) for row in found.values]
        return {"points": points, "fixed": fixed, "message": message}

    return question.loaded.remember(("front", gamma), find) | {"curve": curve}


def _along(context: Context, question: Question, objective: Any) -> list[list[Any]]:
    """Optima as the threshold of that objective moves and the others stay."""
    if type(objective) is not int or not 0 <= objective < question.mdp.num_objectives - 1:
        raise ValueError("along: expected the number of an objective with a threshold")
    found = sensitivity(
        question.mdp,
        question.order,
        objective,
        gamma=question.gamma,
        points=17,
        progress=context.progress,
    )
    return [plain_numbers(row) for row in found.values]


def criteria(context: Context, data: Any) -> dict[str, Any]:
    """Expected, episode and deterministic beside each other."""
    question = context.known.question(data)
    rows = []
    coming = compare(
        question.mdp,
        question.order,
        gamma=question.gamma,
        max_states=MAX_BUDGET_STATES,
        seconds=max(0.5, min(10.0, 0.3 * context.seconds)),
    )
    for row in coming:
        context.progress(row.name)
        found = {
            "name": row.name,
            "message": row.message,
            "values": plain_numbers(row.values),
            "chances": plain_numbers(row.chances),
            "sampled": row.sampled,
            "memory": row.memory,
            "rows": None,
        }
        if row.policy is not None and row.occupancy is not None:
            found["rows"] = policy_rows(question.mdp, row.policy, row.occupancy)
        rows.append(found)
    return {"criteria": rows}


def episodes(context: Context, data: Any) -> dict[str, Any]:
    """Some episodes of the best policy, step by step."""
    question = context.known.question(data)
    best = best_policy(question, 0.8 * context.seconds, context.progress)
    return play(question, best, data.get("seed", 0), context.progress)


def lines(context: Context, data: Any) -> dict[str, Any]:
    """Python that reproduces what is shown."""
    return {"script": script(context.known.question(data), context.opened)}


def training(context: Context, data: Any) -> dict[str, Any]:
    """The training that was opened, as it is now."""
    return context.training.show(data.get("seen"), context)


def snapshot(context: Context, data: Any) -> dict[str, Any]:
    """The policy of one seed at one of the times that were kept, or now."""
    return context.training.snapshot(data.get("run"), data.get("at"))


JOBS: dict[str, Callable[[Context, Any], dict[str, Any]]] = {
    job.__name__: job
    for job in (
        model,
        extremes,
        solve,
        why,
        front,
        criteria,
        episodes,
        lines,
        training,
        snapshot,
    )
}
"""Those that the page may ask."""
