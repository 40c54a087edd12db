"""Environments and wrappers that several test files share."""

import copy

import gymnasium
import numpy as np
from gymnasium import spaces


class FreshInfo(gymnasium.Wrapper):
    """MO-Gymnasium's `LinearReward` reuses its weights in every info, which the checker refuses."""

    def step(self, action):
        *rest, info = self.env.step(action)
        return (*rest, copy.deepcopy(info))


class Wager(gymnasium.Env):
    """One bet. Betting wins 1 of the second objective; with x > ½ it wins 2, but also costs 1 of the first."""

    observation_space = spaces.Box(0.0, 1.0, (1,), np.float32)
    action_space = spaces.Discrete(2, start=3)  # 3 passes, 4 bets

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = self.np_random.random()
        return np.array([self.x], np.float32), {}

    def step(self, action):
        assert self.action_space.contains(action)
        risky = self.x > 0.5
        reward = np.array([-1.0, 2.0]) if risky else np.array([0.0, 1.0])
        return np.array([self.x], np.float32), reward * (action == 4), True, False, {}


def altered(**changes):
    """A `Wager` with other attributes; functions become its methods."""
    return type("Altered", (Wager,), changes)


def wide(observation):
    return 4 * observation - 2
