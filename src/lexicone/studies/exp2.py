"""Experiment 2 of the paper: the 3×5 maze, reaching the goal (an endpoint objective) first, then no bad tiles.

The paper gives 4,000 episodes and no thresholds, discount, Δ, learning rate or cap; an earlier text of its author pays
1 at the goal with τ₁=0.5. Its algorithm works with Δ near 20°; with 5° or less, or 30°, it fails on all seeds.
"""

import math

from lexicone.learning.algos._reinforce import Reinforce
from lexicone.order import Order
from lexicone.studies.policy_gradient import BEST, Experiment, Part
from lexicone.tasks import maze

__all__ = ["experiment"]

_NAMES = ("goal", "tiles")


def experiment() -> Experiment:
    """The task, the two ways to train, and what counts as success."""
    return Experiment(
        name="exp2",
        title="Experiment 2: 3×5 maze, reach the goal first, then avoid bad tiles",
        mdp=maze("concave", objectives="endpoint"),
        paper="4 of 10",
        checks={
            "reaches the goal": lambda returns: returns[..., 0] > 0.5,
            "steps on no bad tile": lambda returns: returns[..., 1] > -0.5,
        },
        success=lambda returns: (returns[..., 0] > 0.5) & (returns[..., 1] > -0.5),
        success_text="the goal is reached without a bad tile",
        parts=(
            Part(
                "literal",
                "literal",
                Reinforce(gamma=0.99, delta=math.radians(20), max_steps=200),
                Order([0.5], names=_NAMES),
                4000,
            ),
            Part("best", "batched", BEST, Order([0.9], names=_NAMES), 4000),
        ),
    )
