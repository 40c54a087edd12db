"""Wrappers of environments that several test files share."""

import copy
from typing import Any

import gymnasium


class FreshInfo(gymnasium.Wrapper[Any, Any, Any, Any]):
    """MO-Gymnasium's `LinearReward` reuses its weights in every info, which the checker refuses."""

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, reward, terminated, truncated, copy.deepcopy(info)
