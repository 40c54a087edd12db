"""Experiment 1 of the paper: the extended maze, bad tiles (a path objective) first, then time.

The paper gives no thresholds, discount, Δ, learning rate or cap. With τ₁=0, γ=0.91, Δ=10°, Adam with 10⁻² and 200 steps
its algorithm succeeds on about half of all seeds. γ is delicate: 0.92 is much worse and 0.95 fails; so does τ₁=1.
"""

import math

from lexicone.learning.algos._reinforce import Reinforce
from lexicone.order import Order
from lexicone.studies.policy_gradient import BEST, Experiment, Part
from lexicone.tasks import maze

__all__ = ["experiment"]

_NAMES = ("tiles+goal", "time")
_SOON = 15
"""Steps that count as fast: one and a half times those of the shortest clean path."""


def experiment() -> Experiment:
    """The task, the two ways to train, and what counts as success."""
    return Experiment(
        name="exp1",
        title="Experiment 1: extended maze, path objective first, then time",
        mdp=maze("extended", objectives="path"),
        paper="7 of 10",
        checks={
            "at the goal without a bad tile": lambda returns: returns[..., 0] > 0.5,
            f"ends within {_SOON} steps": lambda returns: returns[..., 1] > -_SOON,
        },
        success=lambda returns: returns[..., 0] > 0.5,
        success_text="the goal is reached without a bad tile (a primary return of 1)",
        parts=(
            Part(
                "literal",
                "literal",
                Reinforce(gamma=0.91, delta=math.radians(10), max_steps=200),
                Order([0.0], names=_NAMES),
                4000,
            ),
            Part("best", "batched", BEST, Order([0.5], names=_NAMES), 4000),
        ),
    )
