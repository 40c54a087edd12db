"""An environment of one bet, whose optimum one finds by hand, and a learner for it."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from lexicone.learning._result_env import TrainedEnv
from lexicone.learning._train import train
from lexicone.learning.algos._reinforce import Reinforce
from lexicone.order import Order

BETS, UPDATES = Order([-0.25]), 50
LEARNER = Reinforce(
    hidden=(),
    batch=64,
    max_steps=2,
    dropout=0.0,
    temperature=1.0,
    learning_rate=0.15,
    credit="normalized",
    active_constraints=True,
)


class Wager(gymnasium.Env[np.ndarray, int]):
    """One bet. Betting wins 1 of the second objective; with x > ½ it wins 2, but also costs 1 of the first."""

    observation_space = spaces.Box(0.0, 1.0, (1,), np.float32)
    action_space: Any = spaces.Discrete(2, start=3)  # 3 passes, 4 bets

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.x = self.np_random.random()
        return np.array([self.x], np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, Any, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action)
        risky = self.x > 0.5
        reward = np.array([-1.0, 2.0]) if risky else np.array([0.0, 1.0])
        return np.array([self.x], np.float32), reward * (action == 4), True, False, {}


def altered(**changes: Any) -> type[Wager]:
    """A `Wager` with other attributes; functions become its methods."""
    return type("Altered", (Wager,), changes)


def wide(observation: np.ndarray) -> np.ndarray:
    return 4 * observation - 2


def bet(
    learner: Any = LEARNER, order: Order = BETS, task: Any = Wager, **options: Any
) -> TrainedEnv:
    given = {"seeds": 2, "updates": UPDATES, "features": wide, **options}
    return train(task, order, learner, **given)
