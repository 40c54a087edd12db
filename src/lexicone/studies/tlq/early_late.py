"""Claim 4: no preset avoids HH and ignores hh (appendix "Failure to Sacrifice Early and Late").

The natural policy takes 12 steps and the penalties −8. It is looked for in three tasks in which the goal comes first,
as in the paper, and in a fourth one in which the tiles do.
"""

from itertools import product
from typing import Any, NamedTuple

import numpy as np

from lexicone.exact._solve import solve
from lexicone.models._evaluation import evaluate
from lexicone.models._mdp import MDP
from lexicone.order import Order
from lexicone.qlearning._iterate import Iteration, tlq_iterate
from lexicone.qlearning._parts import absolute_slack, optimal, relative_slack
from lexicone.qlearning._rules import PRESETS, Rule, preset
from lexicone.studies.tlq.cells import (
    Cell,
    Finding,
    Watch,
    acceptance_levels,
    actions_of,
    names,
    policies_of,
    slack_rules,
    walk,
)
from lexicone.tasks import Tile, maze

__all__ = [
    "DRAWN",
    "NATURAL",
    "PRESET_NAMES",
    "TASKS",
    "Attempt",
    "Task",
    "attempt",
    "claim_early_late",
    "example",
    "is_natural",
]

PRESET_NAMES = ("gabor", "unclipped", "urban", "relative", "sarsa", "cyclic", "informed")

NATURAL = (-8.0, -11.0)
"""The penalties of the natural policy, and its steps but the last, which enters G."""
_COSTS = maze("early-late", ("tiles", "time"))


class Task(NamedTuple):
    """The maze with two objectives, and what the natural policy has of the first."""

    label: str
    mdp: MDP
    gamma: float
    threshold: float
    slack: float
    """What the detour around the last HH costs, and the paper would allow."""
    ratio: float
    thresholds: tuple[float, ...]
    """Those that are tried."""


def _tiles_and_time(_: Tile, __: str, to: Tile) -> float:
    """Penalties, and a little for each step: the second objective now pushes to an end."""
    return {"h": -4.0, "H": -5.0}.get(to.kind, 0.0) - (0.0 if to.kind == "G" else 0.1)


def _goal_first(label: str, second: Any) -> Task:
    gamma = 0.9
    thresholds = tuple(gamma ** (k / 2) for k in range(16, 33))
    objectives = {"goal": "goal", label.split(", ")[1]: second}
    mdp = maze("early-late", objectives)
    return Task(label, mdp, gamma, gamma**11, gamma * (1 - gamma**2), 1 - gamma**2, thresholds)


TASKS = (
    _goal_first("goal, tiles", "tiles"),
    _goal_first("goal, tiles and time", _tiles_and_time),
    Task(
        "time, tiles",
        maze("early-late", ("time", "tiles")),
        1.0,
        -11.0,
        2.0,
        1.0,
        tuple(-k / 2 for k in range(16, 33)),
    ),
    Task(
        "tiles, time",
        _COSTS,
        1.0,
        -8.0,
        4.0,
        1.0,
        tuple(float(-k) for k in range(19)),
    ),
)
"""Goal first as in the paper; the same with a second objective that ends episodes; time first; tiles first."""
DRAWN = TASKS[1]
"""The task of the figure."""


def example(task: Task, name: str) -> tuple[Rule, str]:
    """A preset with the numbers that the natural policy asks for, and these numbers in words."""
    limit, slack = f"τ={task.threshold:.4g}", f"δ={task.slack:.4g}"
    if name == "urban":
        return preset(name, accept=absolute_slack(task.slack)), slack
    if name == "relative":
        return preset(name, accept=relative_slack(task.ratio)), f"η={task.ratio:.4g}"
    if name == "cyclic":
        return preset(name, accept=absolute_slack([task.slack, 1.0])), f"{slack}, 1"
    if name == "unclipped":
        return preset("gabor", update=optimal), limit
    return PRESETS[name], limit


class Attempt(NamedTuple):
    """A preset on a task."""

    cell: Cell
    found: Iteration
    """The run with the numbers of `example`."""
    tried: int
    """Settings in the sweep around it."""
    natural: int
    """Those that leave the natural policy open."""


def claim_early_late(config: Any, watch: Watch) -> Finding:
    """What each preset does with the numbers of the natural policy, and a sweep around it."""
    attempts = {
        (task.label, name): attempt(task, name)
        for task in watch(TASKS, "claim 4: early and late")
        for name in PRESET_NAMES
    }
    last = TASKS[-1].label
    first = [each for (label, _), each in attempts.items() if label != last]
    natural, tried = sum(each.natural for each in first), sum(each.tried for each in first)
    able = [name for name in PRESET_NAMES if attempts[last, name].natural]
    return Finding(
        tuple(each.cell for each in attempts.values()),
        f"With the goal or time first the natural policy appears in {natural} of {tried} settings. It is a matter of "
        f"what comes first: with the tiles first it is within reach of {', '.join(able) or 'none'}.",
        {
            "policies": {
                name: {
                    "policy": actions_of(attempts[DRAWN.label, name].found.policy).tolist(),
                    "numbers": example(DRAWN, name)[1],
                }
                for name in PRESET_NAMES
            }
        },
    )


def attempt(task: Task, name: str) -> Attempt:
    """A preset with the numbers that the natural policy asks for, and a sweep around them.

    A cycle counts as natural if it comes by that policy at all.
    """
    rule, numbers = example(task, name)
    order = Order([task.threshold])
    best = solve(task.mdp, order, task.gamma).values
    found = tlq_iterate(task.mdp, order, rule, task.gamma, max_sweeps=1000)
    settings, natural = _settings(task, name), 0
    for limits, changed in settings:
        run = tlq_iterate(task.mdp, limits, changed, task.gamma, max_sweeps=1000)
        choices = [actions_of(policy) for policy in run.cycle] or list(policies_of(run))
        natural += any(is_natural(actions) for actions in choices)
    told = _cell(task, name, numbers, found, best, len(settings), natural)
    return Attempt(told, found, len(settings), natural)


def _settings(task: Task, name: str) -> list[tuple[Order, Rule]]:
    rule, _ = example(task, name)
    order = Order([task.threshold])
    if name in ("urban", "relative"):
        kind = "slack" if name == "urban" else "ratio"
        levels = acceptance_levels(task.mdp, task.gamma, kind)
        return [(order, changed) for changed in slack_rules(rule, levels, kind)]
    if name == "cyclic":
        slacks = product(acceptance_levels(task.mdp, task.gamma, "slack")[:8], (0, 0.1, 1, 4, 5))
        return [(order, preset(name, accept=absolute_slack(list(pair)))) for pair in slacks]
    return [(Order([t]), rule) for t in task.thresholds]


def is_natural(actions: np.ndarray) -> bool:
    """Whether the policy arrives with the penalties and the time of the natural one."""
    way = walk(_COSTS, actions)
    if way.ends != "goal":
        return False
    steps = zip(way.states, way.states[1:], strict=False)
    total = np.sum([_COSTS.reward[s, actions[s], 0] for s, _ in steps], axis=0)
    return bool(np.allclose(total, NATURAL))


def _cell(
    task: Task,
    name: str,
    numbers: str,
    found: Iteration,
    best: Any,
    tried: int,
    natural: int,
) -> Cell:
    way = walk(task.mdp, actions_of(found.policy))
    costs = evaluate(_COSTS, found.policy)
    if found.status == "cycle":
        told = f"cycle of {found.period} sweeps"
    elif way.ends == "goal":
        told = f"tiles {costs[0]:g} in {1 - costs[1]:g} steps"
    else:
        told = f"never arrives, from {names(task.mdp, way.states[-1:])[0]} on"
    return Cell(
        name,
        f"{task.label}: {numbers}, γ={task.gamma:g}",
        told,
        names(task.mdp, way.states),
        tuple(found.values.tolist()),
        tuple(best.tolist()),
        natural == 0,
        f"{natural} of {tried} settings",
        "the penalties themselves have the threshold" if natural and task is TASKS[-1] else "",
    )
