"""Default settings in environments: how many seeds meet their thresholds in fresh episodes.

``python experiments/environments.py mountain-car`` writes ``experiments/environments/mountain-car.json``; without a
name all are run. Returns are means over 100 fresh episodes with sampled actions.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces

import lexicone as lx

OUT = Path(__file__).parent / "environments"


class Body(NamedTuple):
    place: Any
    speed: Any
    goal: Any
    time: Any


class PointMass:
    """A point is pushed past a round hazard to a goal. Objectives: −steps in the hazard, way made, −effort."""

    actions = ((-1.0, -1.0), (1.0, 1.0))
    max_steps = 64

    def see(self, body: Body) -> Any:
        return jnp.concatenate([body.place, body.speed, body.goal])

    def reset(self, key: Any) -> tuple[Any, Body]:
        first, second = jax.random.split(key)
        place = jax.random.uniform(first, (2,), minval=-1.0, maxval=-0.6)
        goal = jax.random.uniform(second, (2,), minval=0.6, maxval=1.0)
        body = Body(place, jnp.zeros(2), goal, jnp.int32(0))
        return self.see(body), body

    def step(self, key: Any, body: Body, action: Any) -> tuple[Any, ...]:
        speed = 0.9 * body.speed + 0.1 * action + 0.01 * jax.random.normal(key, (2,))
        place = jnp.clip(body.place + 0.5 * speed, -1.5, 1.5)
        after = Body(place, speed, body.goal, body.time + 1)
        hazard = -(jnp.sum(place**2) < 0.16).astype(float)
        way = jnp.linalg.norm(body.place - body.goal) - jnp.linalg.norm(place - body.goal)
        reward = jnp.stack([hazard, way, -0.1 * jnp.sum(action**2)])
        return self.see(after), after, reward, jnp.array(False), after.time >= 64, {}


class Cart(gymnasium.Env[np.ndarray, int]):
    """A cart on a line of 4 numbers, 5 pushes, 60 steps. Objectives: −bumps, arrival, −effort."""

    observation_space = spaces.Box(-np.inf, np.inf, (4,), np.float32)
    action_space: Any = spaces.Discrete(5)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.x, self.v, self.time = self.np_random.uniform(-1.0, -0.5), 0.0, 0
        self.goal = self.np_random.uniform(0.3, 0.8)
        return self.shown(), {}

    def shown(self) -> np.ndarray:
        return np.array([self.x, self.v, self.goal, self.time / 60], np.float32)

    def step(self, action: int) -> tuple[np.ndarray, Any, bool, bool, dict[str, Any]]:
        push = (action - 2) / 2
        self.v = 0.9 * self.v + 0.05 * push
        self.x += self.v
        self.time += 1
        bump = abs(self.x) > 1
        self.x = float(np.clip(self.x, -1, 1))
        arrived = abs(self.x - self.goal) < 0.05 and abs(self.v) < 0.05
        reward = np.array([-float(bump), float(arrived), -abs(push)])
        return self.shown(), reward, arrived, self.time >= 60, {}


class Heater(gymnasium.Env[np.ndarray, np.ndarray]):
    """Box actions: keep a room warm for 50 steps. Objectives: −degrees too cold, −energy."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space: Any = spaces.Box(0.0, 5.0, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.inside, self.outside, self.time = 15.0, self.np_random.uniform(-5, 10), 0
        return self.shown(), {}

    def shown(self) -> np.ndarray:
        return np.array([self.inside, self.outside], np.float32)

    def step(self, action: np.ndarray) -> tuple[np.ndarray, Any, bool, bool, dict[str, Any]]:
        power = float(action[0])
        self.inside += 0.1 * (self.outside - self.inside) + power
        self.outside += 0.2 * self.np_random.normal()
        self.time += 1
        reward = np.array([-max(0.0, 20.0 - self.inside), -power])
        return self.shown(), reward, False, self.time >= 50, {}


def bandit_reset(key: Any) -> tuple[Any, Any]:
    x = jax.random.uniform(key, (), minval=-1.0, maxval=1.0)
    return x[None], x


def bandit_step(key: Any, x: Any, action: Any) -> tuple[Any, ...]:
    reward = jnp.concatenate([-((action - x) ** 2), -(action**2)])
    return x[None], x, reward, jnp.array(True), jnp.array(False), {}


def water() -> Any:
    import mo_gymnasium

    return mo_gymnasium.make("water-reservoir-v0", normalized_action=True)


TASKS: dict[str, tuple[Any, list[float], int, dict[str, Any]]] = {
    "pure-functions": ((bandit_reset, bandit_step), [-0.05], 100_000, {"actions": ([-1.0], [1.0])}),
    "point-mass": (PointMass(), [-0.5, 1.5], 800_000, {}),
    "own-cart": (Cart, [-0.5, 0.9], 300_000, {}),
    "own-heater": (Heater, [-60.0], 300_000, {}),
    "mountain-car": ("mo-mountaincar-v0", [-150.0, -60.0], 128_000, {}),
    "minecart": ("minecart-deterministic-v0", [0.5, 0.5], 300_000, {}),
    "water-reservoir": (water, [-150.0], 200_000, {}),
}


def run(name: str, seeds: int = 10) -> dict[str, Any]:
    """Train with default settings, judge in fresh episodes."""
    task, thresholds, steps, options = TASKS[name]
    begin = time.perf_counter()
    trained = lx.train(task, thresholds, seeds=seeds, steps=steps, **options)
    seconds = time.perf_counter() - begin
    found = trained.evaluate(100, seed=1)
    means = found.returns.mean(axis=1)
    met = (means[:, :-1] >= np.array(thresholds)).all(axis=1)
    return {
        "task": name,
        "thresholds": thresholds,
        "steps": steps,
        "seeds": seeds,
        "met": int(met.sum()),
        "returns": means.round(3).tolist(),
        "episodes_that_meet_all": found.success.round(3).tolist(),
        "seconds": round(seconds, 1),
    }


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    for chosen in sys.argv[1:] or TASKS:
        result = run(chosen)
        (OUT / f"{chosen}.json").write_text(json.dumps(result, indent=1) + "\n")
        print(chosen, f"{result['met']} of {result['seeds']}", result["seconds"], "s", result["returns"])
