"""One small training that many tests share, and the comparison of two."""

import jax
import numpy as np

from lexicone.learning._train import train
from lexicone.learning.algos._reinforce import Reinforce
from lexicone.order import Order
from lexicone.tasks import maze

MAZE = maze("small", objectives="path")

ORDER = Order([-4.0], names=["tiles", "time"])

LEARNER = Reinforce(max_steps=12, hidden=(6,), batch=2, temperature=1.0)

UPDATES = 60


def run(learner=LEARNER, order=ORDER, seeds=3, **options):
    """Of one shape, so that most tests share one compiled program."""
    length = {} if "episodes" in options else {"updates": UPDATES}
    return train(MAZE, order, learner, seeds=seeds, **{**length, "snapshots": 4, **options})


def other_maze():
    return maze("small", objectives="path", high_penalty=-6.0)


def assert_same(first, second):
    """Bit for bit."""
    for ours, theirs in zip(jax.tree.leaves(first.run), jax.tree.leaves(second.run), strict=True):
        np.testing.assert_array_equal(ours, theirs)
