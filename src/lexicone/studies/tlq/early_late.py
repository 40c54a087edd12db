"""Claim 4: no preset avoids HH and ignores hh (appendix "Failure to Sacrifice Early and Late").

The natural policy takes 12 steps and the penalties −8. It is looked for in three tasks in which the goal comes first,
as in the paper, and in a fourth one in which the tiles do.
"""

from functools import cache
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
from lexicone.studies.tlq.settings import Tlq
from lexicone.tasks import Tile, maze

__all__ = [
    "NATURAL",
    "PRESET_NAMES",
    "Attempt",
    "OrderedMaze",
    "attempt",
    "claim_early_late",
    "drawn_maze",
    "drawn_policies",
    "example",
    "is_natural",
    "ordered_mazes",
]

PRESET_NAMES = ("gabor", "unclipped", "urban", "relative", "sarsa", "cyclic", "informed")

_TILES_FIRST = "tiles, time"
NATURAL = (-8.0, -11.0)
"""The penalties of the natural policy, and its steps but the last, which enters G."""


class OrderedMaze(NamedTuple):
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


def _goal_first(label: str, second: Any) -> OrderedMaze:
    gamma = 0.9
    thresholds = tuple(gamma ** (k / 2) for k in range(16, 33))
    objectives = {"goal": "goal", label.split(", ")[1]: second}
    mdp = maze("early-late", objectives)
    return OrderedMaze(
        label, mdp, gamma, gamma**11, gamma * (1 - gamma**2), 1 - gamma**2, thresholds
    )


@cache
def _tiles_and_steps() -> MDP:
    """The maze as the natural policy is recognised: penalties, and −1 for each step but the last."""
    return maze("early-late", ("tiles", "time"))


@cache
def ordered_mazes() -> tuple[OrderedMaze, ...]:
    """Goal first as in the paper; the same with a second objective that ends episodes; time first; tiles first."""
    return (
        _goal_first("goal, tiles", "tiles"),
        drawn_maze(),
        OrderedMaze(
            "time, tiles",
            maze("early-late", ("time", "tiles")),
            gamma=1.0,
            threshold=-11.0,
            slack=2.0,
            ratio=1.0,
            thresholds=tuple(-k / 2 for k in range(16, 33)),
        ),
        OrderedMaze(
            _TILES_FIRST,
            _tiles_and_steps(),
            gamma=1.0,
            threshold=-8.0,
            slack=4.0,
            ratio=1.0,
            thresholds=tuple(float(-k) for k in range(19)),
        ),
    )


@cache
def drawn_maze() -> OrderedMaze:
    """The one of the figure."""
    return _goal_first("goal, tiles and time", _tiles_and_time)


def example(task: OrderedMaze, name: str) -> tuple[Rule, str]:
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


def claim_early_late(config: Tlq, watch: Watch) -> Finding:
    """What each preset does with the numbers of the natural policy, and a sweep around it."""
    attempts = {
        (task.label, name): attempt(task, name)
        for task in watch(ordered_mazes(), "claim 4: early and late")
        for name in PRESET_NAMES
    }
    first = [each for (label, _), each in attempts.items() if label != _TILES_FIRST]
    natural, tried = sum(each.natural for each in first), sum(each.tried for each in first)
    able = [name for name in PRESET_NAMES if attempts[_TILES_FIRST, name].natural]
    return Finding(
        tuple(each.cell for each in attempts.values()),
        f"With the goal or time first the natural policy appears in {natural} of {tried} settings. It is a matter of "
        f"what comes first: with the tiles first it is within reach of {', '.join(able) or 'none'}.",
        drawn_policies({name: attempts[drawn_maze().label, name].found for name in PRESET_NAMES}),
    )


def drawn_policies(found: dict[str, Iteration]) -> dict[str, Any]:
    """What the figure draws of the optimum and of each preset: actions, the way from the start, what comes of it."""
    task = drawn_maze()
    best = solve(
        task.mdp, Order([task.threshold]), gamma=task.gamma, policies="deterministic"
    ).policy
    return {
        "optimum": _panel(best, ""),
        "policies": {
            name: _panel(each.policy, example(task, name)[1]) for name, each in found.items()
        },
    }


def _panel(policy: np.ndarray, numbers: str) -> dict[str, Any]:
    actions = actions_of(policy)
    way = walk(drawn_maze().mdp, actions)
    outcome = "never arrives"
    if way.ends == "goal":
        tiles, time = evaluate(_tiles_and_steps(), policy)
        outcome = f"tiles {tiles:g}\n{1 - time:g} steps"
    return {
        "numbers": numbers,
        "outcome": outcome,
        "policy": actions.tolist(),
        "states": list(way.states),
    }


def attempt(task: OrderedMaze, name: str) -> Attempt:
    """A preset with the numbers that the natural policy asks for, and a sweep around them.

    A cycle counts as natural if it comes by that policy at all.
    """
    rule, numbers = example(task, name)
    order = Order([task.threshold])
    best = solve(task.mdp, order, gamma=task.gamma).values
    found = tlq_iterate(task.mdp, order, rule, gamma=task.gamma, max_sweeps=1000)
    settings, natural = _settings(task, name), 0
    for limits, changed in settings:
        run = tlq_iterate(task.mdp, limits, changed, gamma=task.gamma, max_sweeps=1000)
        choices = [actions_of(policy) for policy in run.cycle] or list(policies_of(run))
        natural += any(is_natural(actions) for actions in choices)
    row = _cell(task, name, numbers, found, best, len(settings), natural)
    return Attempt(row, found, len(settings), natural)


def _settings(task: OrderedMaze, name: str) -> list[tuple[Order, Rule]]:
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
    way = walk(_tiles_and_steps(), actions)
    if way.ends != "goal":
        return False
    steps = zip(way.states, way.states[1:], strict=False)
    reward = _tiles_and_steps().reward
    total = np.sum([reward[s, actions[s], 0] for s, _ in steps], axis=0)
    return bool(np.allclose(total, NATURAL))


def _cell(
    task: OrderedMaze,
    name: str,
    numbers: str,
    found: Iteration,
    best: Any,
    tried: int,
    natural: int,
) -> Cell:
    way = walk(task.mdp, actions_of(found.policy))
    costs = evaluate(_tiles_and_steps(), found.policy)
    if found.status == "cycle":
        outcome = f"cycle of {found.period} sweeps"
    elif way.ends == "goal":
        outcome = f"tiles {costs[0]:g} in {1 - costs[1]:g} steps"
    else:
        outcome = f"never arrives, from {names(task.mdp, way.states[-1:])[0]} on"
    return Cell(
        name,
        f"{task.label}: {numbers}, γ={task.gamma:g}",
        outcome,
        names(task.mdp, way.states),
        tuple(found.values.tolist()),
        tuple(best.tolist()),
        natural == 0,
        f"{natural} of {tried} settings",
        "the penalties themselves have the threshold"
        if natural and task.label == _TILES_FIRST
        else "",
    )
