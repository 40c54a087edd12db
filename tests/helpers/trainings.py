"""One small training that many tests share, and the comparison of two."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from lexicone.learning._learner import Learner
from lexicone.learning._result import TrainingResult
from lexicone.learning._result_model import Trained
from lexicone.learning._train import train
from lexicone.learning.algos._reinforce import Reinforce
from lexicone.models._mdp import MDP
from lexicone.order import Order
from lexicone.tasks import maze

MAZE = maze("small", objectives="path")
ORDER = Order([-4.0], names=["tiles+goal", "time"])
LEARNER = Reinforce(max_steps=12, hidden=(6,), batch=2, temperature=1.0)
UPDATES = 60


def run(
    learner: Learner = LEARNER, order: Order = ORDER, seeds: int = 3, **options: Any
) -> Trained:
    """Of one shape, so that most tests share one compiled program."""
    length = {} if "episodes" in options else {"updates": UPDATES}
    return train(MAZE, order, learner, seeds=seeds, **{**length, "snapshots": 4, **options})


def other_maze() -> MDP:
    return maze("small", objectives="path", high_penalty=-6.0)


def programs(function: Any) -> int:
    """How many programs a jitted function was compiled to so far."""
    return function._cache_size()


def assert_same(first: TrainingResult, second: TrainingResult) -> None:
    """Bit for bit."""
    for ours, theirs in zip(jax.tree.leaves(first.run), jax.tree.leaves(second.run), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@dataclass(frozen=True)
class Still:
    """Learns nothing, and reports only how often."""

    batch: int = 1
    max_steps: int = 3
    table: Any = None
    traced: ClassVar[tuple[str, ...]] = ()

    def init(self, problem: Any, key: Any) -> Any:
        return jnp.zeros(problem.env.next_state.shape[:2])

    def log_policy(self, problem: Any, state: Any) -> Any:
        return jax.nn.log_softmax(state)

    def update(self, problem: Any, state: Any, key: Any, share: Any) -> Any:
        return state, {"share": share}
