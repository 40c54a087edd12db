"""Worlds in JAX whose optimum, or whose values, one finds by hand; and environments like them."""

from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces


class Bets:
    """One bet, as in `Wager`: it wins 1 of the second objective; with x > ½ it wins 2, but costs 1 of the first."""

    actions = 2

    def reset(self, key: Any) -> tuple[Any, Any]:
        x = jax.random.uniform(key)
        return x[None], x

    def step(self, key: Any, state: Any, action: Any) -> tuple[Any, ...]:
        paid = jnp.where(state > 0.5, jnp.array([-1.0, 2.0]), jnp.array([0.0, 1.0]))
        return state[None], state, paid * (action == 1), jnp.array(True), jnp.array(False), {}


class Walk(NamedTuple):
    kind: Any
    time: Any


class EndsOrIsCut:
    """Pays 1 at every step; an episode of kind 0 terminates after its first step, one of kind 1 is cut off there."""

    actions = 2

    def reset(self, key: Any) -> tuple[Any, Any]:
        kind = jax.random.bernoulli(key).astype(jnp.int32)
        return self.see(kind), Walk(kind, jnp.int32(0))

    def see(self, kind: Any) -> Any:
        return kind.astype(float)[None]

    def step(self, key: Any, state: Walk, action: Any) -> tuple[Any, ...]:
        after = Walk(state.kind, state.time + 1)
        reward = jnp.ones(2)
        return self.see(state.kind), after, reward, state.kind == 0, state.kind == 1, {}


class Lasting:
    """Episodes of 2 to 11 steps, as chance has it at their beginning; pays the choice, and 1 for every step."""

    actions = 2

    def reset(self, key: Any) -> tuple[Any, Any]:
        last = jax.random.randint(key, (), 2, 12)
        return jnp.zeros(1), Walk(last, jnp.int32(0))

    def step(self, key: Any, state: Walk, action: Any) -> tuple[Any, ...]:
        after = Walk(state.kind, state.time + 1)
        over = after.time >= state.kind
        return jnp.zeros(1), after, jnp.stack([1.0 * action, 1.0]), over, jnp.array(False), {}


def aim() -> tuple[Any, Any]:
    """A pair of functions: one number in [−2, 2]; the objectives are −(a−1)² and −(a+1)²."""

    def reset(key: Any) -> tuple[Any, Any]:
        return jnp.zeros(1), jnp.zeros(())

    def step(key: Any, state: Any, action: Any) -> tuple[Any, ...]:
        reward = jnp.concatenate([-((action - 1) ** 2), -((action + 1) ** 2)])
        return jnp.zeros(1), state, reward, jnp.array(True), jnp.array(False), {}

    return reset, step


class Counter(gymnasium.Env[np.ndarray, Any]):
    """Shows (episode's seed, time); pays (time, action); ends after 3 steps, cut off where the seed is even."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)
    reward_space = spaces.Box(-9.0, 9.0, (2,), np.float64)
    action_space: Any = spaces.Box(-1.0, 3.0, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        super().reset(seed=seed)
        self.seed, self.time = int(self.np_random.integers(1000)), 0
        return self.shown(), {}

    def shown(self) -> np.ndarray:
        return np.array([self.seed, self.time], float)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action)
        self.time += 1
        end, odd = self.time == 3, self.seed % 2 == 1
        reward = np.array([float(self.time), float(np.ravel(action)[0])])
        return self.shown(), reward, end and odd, end and not odd, {}
