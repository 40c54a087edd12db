"""Wrappers of environments that several test files share."""

import copy

import gymnasium


class FreshInfo(gymnasium.Wrapper):
    """MO-Gymnasium's `LinearReward` reuses its weights in every info, which the checker refuses."""

    def step(self, action):
        *rest, info = self.env.step(action)
        return (*rest, copy.deepcopy(info))
