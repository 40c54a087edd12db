"""The tasks of the study of learners: models, thresholds, and what counts as success on each.

With ``criterion="episode"`` an episode counts if every return reaches what its goal needs; with ``"expected"`` exact
values are compared with the optimum of `solve`.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lexicone.exact._solve import solve
from lexicone.learning.algos._reinforce import Reinforce
from lexicone.models._evaluation import evaluate
from lexicone.models._mdp import MDP
from lexicone.order import Criterion, Order
from lexicone.studies import exp1, exp2
from lexicone.studies.tlq.tasks import shortest_ways
from lexicone.tasks import deep_sea_treasure, fruit_tree, space_traders
from lexicone.tasks._fruit_tree import fruits_of

__all__ = ["LEARNING_TASKS", "LearningGoal", "LearningTask", "find"]

DEGREES = (2.0, 5.0, 10.0, 15.0, 20.0)
"""Δ of the task ``delta``."""
_THRESHOLD_ROOM = 1e-3  # below a fruit's nutrients, for its thresholds


class LearningGoal(NamedTuple):
    """One set of thresholds."""

    label: str
    order: Order
    best: tuple[float, ...]
    """Values of the optimum: among all policies, or with whole episodes among those without chance."""
    needs: tuple[float, ...]
    """What the returns of a successful episode reach."""
    delta: float | None = None
    """In radians, instead of the learner's own."""


@dataclass(frozen=True, eq=False)
class LearningTask:
    """A model and what to do there. A seed has one run for each goal."""

    title: str
    mdp: MDP
    criterion: Criterion
    goals: tuple[LearningGoal, ...]
    literal: Reinforce
    """The paper's learner, with the best that is known here for what the paper does not give."""
    literal_order: Order | None = None
    """The thresholds with which that learner does best, where they are not the goal's."""
    literal_episodes: int = 20_000
    """That a run of it learns from: the paper's number, or as far as its authors' plots go."""
    episodes: int = 19_200
    """That a run of the others learns from. With PPO and whole episodes the mazes' are fewer steps than the paper's
    learner takes there."""
    longest: int | None = None
    """No episode has more steps."""
    scale: tuple[float, ...] | None = None
    """The unit of gaps for each objective; max(1, |optimum|) if not given."""
    curves: bool = False
    """Whether to keep success over training, for the figure."""


def find(name: str, leaves: int) -> LearningTask:
    """The task with that name; ``leaves`` are the desired fruits of each tree."""
    if name not in LEARNING_TASKS:
        raise ValueError(f"tasks: there is no {name!r}; there are {', '.join(LEARNING_TASKS)}")
    return LEARNING_TASKS[name](leaves)


def _maze(
    name: str, threshold: float, criterion: Criterion, needs: tuple[float, ...] | None = None
) -> LearningTask:
    paper = {"exp1": exp1, "exp2": exp2}[name].experiment()
    as_paper = threshold == 0.5 and criterion == "episode"
    literal, order = paper.parts[0], Order([threshold], names=paper.parts[0].order.names)
    policies = "stochastic" if criterion == "expected" else "deterministic"
    best = tuple(solve(paper.mdp, order, policies=policies).values.tolist())
    return LearningTask(
        title=f"{name}, τ₁={threshold:g}",
        mdp=paper.mdp,
        criterion=criterion,
        goals=(LearningGoal(f"τ₁={threshold:g}", order, best, needs or best),),
        literal=literal.learner,
        literal_order=literal.order if as_paper else None,
        literal_episodes=4_000 if name == "exp2" else 20_000,  # 0.2 and 1 million steps
        episodes=9_600 if name == "exp2" else 57_600,
        curves=as_paper,
    )


def _space_traders() -> LearningTask:
    mdp, order = space_traders(), Order([0.88])
    best = tuple(solve(mdp, order).values.tolist())
    choices = [range(1 if end else mdp.num_actions) for end in mdp.terminal]
    values = [evaluate(mdp, np.array(policy)) for policy in itertools.product(*choices)]
    spread = np.ptp(values, axis=0)  # 5 % of 0.88 would let even a policy of pure chance pass
    scale = np.minimum(np.maximum(1.0, np.abs(best)), spread)
    return LearningTask(
        title="Space Traders, τ₁=0.88",
        mdp=mdp,
        criterion="expected",
        goals=(LearningGoal("τ₁=0.88", order, best, best),),
        literal=Reinforce(),
        episodes=384_000,  # of two steps
        longest=2,
        scale=tuple(scale.tolist()),
    )


def _treasure() -> LearningTask:
    mdp = deep_sea_treasure()
    goals = (LearningGoal(f"τ₁={p[0]:g}", Order([p[0]]), p, p) for p in shortest_ways(mdp))
    return LearningTask("deep sea treasure, every τ₁", mdp, "episode", tuple(goals), Reinforce())


def _fruit_tree(depth: int, leaves: int, degrees: Sequence[float | None] = (None,)) -> LearningTask:
    mdp = fruit_tree(depth)
    fruits = fruits_of(mdp)
    orders = [Order(fruit[:-1] - _THRESHOLD_ROOM, names=mdp.objective_names) for fruit in fruits]
    single = [
        leaf
        for leaf, order in enumerate(orders)
        if np.flatnonzero(order.maximizers(fruits)).tolist() == [leaf]
    ]
    chosen = np.linspace(0, len(single) - 1, min(leaves, len(single))).round().astype(int)
    goals = [
        LearningGoal(
            f"leaf {single[i]}" + ("" if degree is None else f", Δ={degree:g}°"),
            orders[single[i]],
            tuple(fruits[single[i]].tolist()),
            tuple(fruits[single[i]].tolist()),
            None if degree is None else math.radians(degree),
        )
        for i in chosen
        for degree in degrees
    ]
    leaf_word = "leaf" if len(chosen) == 1 else "leaves"
    swept = "" if degrees == (None,) else f", Δ {degrees[0]:g}° to {degrees[-1]:g}°"
    return LearningTask(
        title=f"fruit tree {depth}, {len(chosen)} {leaf_word}{swept}",
        mdp=mdp,
        criterion="episode",
        goals=tuple(goals),
        literal=Reinforce(gamma=1.0),
        longest=depth,
    )


_CLEAN = (0.5, -math.inf)  # in experiment 1: the goal without a bad tile, as the paper counts

LEARNING_TASKS: dict[str, Callable[[int], LearningTask]] = {
    "exp1": lambda _: _maze("exp1", 0.5, "episode", _CLEAN),
    "exp1-expected": lambda _: _maze("exp1", 0.5, "expected"),
    "exp1-low": lambda _: _maze("exp1", -3.0, "episode"),
    "exp1-low-expected": lambda _: _maze("exp1", -3.0, "expected"),
    "exp2": lambda _: _maze("exp2", 0.5, "episode"),
    "exp2-expected": lambda _: _maze("exp2", 0.5, "expected"),
    "space-traders": lambda _: _space_traders(),
    "treasure": lambda _: _treasure(),
    "fruit-tree": lambda leaves: _fruit_tree(5, leaves),
    "fruit-tree-6": lambda leaves: _fruit_tree(6, leaves),
    "fruit-tree-7": lambda leaves: _fruit_tree(7, leaves),
    "delta": lambda leaves: _fruit_tree(5, max(1, leaves // 4), DEGREES),
}
"""How to build each, given the number of leaves; ``delta`` takes a quarter of them, each with every Δ."""
