"""Budgets in the observation of a Gymnasium environment with vector rewards (MO-Gymnasium's conventions).

See `lexicone.criteria.with_budgets` for what the budgets are and what clipped rewards mean.
"""

from typing import Any, Literal, get_args

import numpy as np

from lexicone._base.checks import check_kind, check_range, check_type
from lexicone.models._matching import names_of_rewards
from lexicone.order import OrderLike, as_order, match_names

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.utils import RecordConstructorArgs
except ImportError as error:
    raise ImportError(
        f"lexicone.gym needs Gymnasium: pip install 'lexicone[gym]' ({error})"
    ) from error

__all__ = ["BudgetObservation"]

Rewards = Literal["original", "clipped"]


class BudgetObservation(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Appends what is left of each budget, ``c_j = Σ r_j − τ_j``, to the observation.

    A flat box of numbers becomes a longer one; any other observation a dict of ``"observation"`` and
    ``"budget"`` (`gymnasium.wrappers.FlattenObservation` makes one vector of it). ``info["budget"]`` has the
    budgets too. Objectives with an infinite threshold have none. ``rewards="clipped"`` pays the
    change of ``min(Σ r_j, τ_j)`` instead of r_j.

    >>> from lexicone.gym import make_env
    >>> env = BudgetObservation(make_env("maze:concave"), [0.5])
    >>> env.reset(seed=0)[1]["budget"].tolist()
    [-0.5]

    Args:
        env: with a ``reward_space`` of one number for each objective.
        order: its finite thresholds are the budgets. Where it and the environment (``reward_names``) have names, they
            are matched, and rewards are paid in the order's sequence.
        gamma: the discount of returns, by which budgets grow at every step.
        rewards: ``"original"`` or ``"clipped"``.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        order: OrderLike,
        *,
        gamma: float = 1.0,
        rewards: Rewards = "original",
    ) -> None:
        check_type("env", env, gymnasium.Env, "a Gymnasium environment")
        order = as_order(order)
        check_range("gamma", gamma, 0, 1, above=True)
        check_kind("rewards", rewards, get_args(Rewards))
        RecordConstructorArgs.__init__(self, order=order, gamma=gamma, rewards=rewards)
        gymnasium.Wrapper.__init__(self, env)
        space = getattr(env.unwrapped, "reward_space", None)
        if space is None or space.shape != (len(order),):
            found = "no reward_space" if space is None else f"rewards of shape {space.shape}"
            raise ValueError(f"env: expected vector rewards of shape ({len(order)},), got {found}")
        names = names_of_rewards(env)
        self._places = match_names(order, names, "the environment")
        self.reward_names = order.names or names
        self.reward_space = spaces.Box(
            space.low[self._places], space.high[self._places], dtype=space.dtype
        )
        order = order.at_gamma(gamma)
        self.order, self.gamma, self.rewards = order, gamma, rewards
        limits = np.array(order.thresholds, dtype=float)
        self._tracked = np.flatnonzero(np.isfinite(limits))
        self._first = -limits[self._tracked]
        self.budget = self._first.copy()
        own = env.observation_space
        size = len(self._tracked)
        self._flat = False
        if isinstance(own, spaces.Box) and len(own.shape) == 1:
            self._flat = True
            dtype: Any = np.result_type(own.dtype, np.float32)
            self.observation_space = spaces.Box(
                np.concatenate([own.low, np.full(size, -np.inf)]).astype(dtype),
                np.concatenate([own.high, np.full(size, np.inf)]).astype(dtype),
                dtype=dtype,
            )
        else:
            left = spaces.Box(-np.inf, np.inf, (size,), dtype=np.float32)
            self.observation_space = spaces.Dict({"observation": own, "budget": left})

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode with full budgets."""
        observation, info = self.env.reset(seed=seed, options=options)
        self.budget = self._first.copy()
        return self._joined(observation), {**info, "budget": self.budget.copy()}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take an action, and its rewards from the budgets."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        reward = np.asarray(reward)[self._places]
        spent = self.budget + reward[self._tracked]
        if self.rewards == "clipped":
            reward = reward.astype(np.result_type(reward, np.float32))
            reward[self._tracked] = np.minimum(spent, 0.0) - np.minimum(self.budget, 0.0)
        self.budget = spent / self.gamma
        info = {**info, "budget": self.budget.copy()}
        return self._joined(observation), reward, terminated, truncated, info

    def _joined(self, observation: Any) -> Any:
        if self._flat:
            joined = np.concatenate([observation, self.budget])
            return joined.astype(self.observation_space.dtype)
        return {"observation": observation, "budget": self.budget.astype(np.float32)}
