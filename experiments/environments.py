"""Default settings in environments: how many seeds meet their thresholds in fresh episodes.

``python experiments/environments.py mountain-car`` writes ``experiments/environments/mountain-car.json``; without a
name all are run. Returns are means over fresh episodes with sampled actions. The key is 0; settings were compared
on others (but see docs/environments.md).
"""

import importlib
import json
import sys
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces

import lexicone as lx

OUT = Path(__file__).parent / "environments"
EPISODES = 200  # fresh ones of each seed


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
        place = jax.random.uniform(first, (2,), minval=-1.0, maxval=-0.8)
        goal = jax.random.uniform(second, (2,), minval=0.8, maxval=1.0)
        body = Body(place, jnp.zeros(2), goal, jnp.int32(0))
        return self.see(body), body

    def step(self, key: Any, body: Body, action: Any) -> tuple[Any, ...]:
        speed = 0.9 * body.speed + 0.1 * action + 0.01 * jax.random.normal(key, (2,))
        place = jnp.clip(body.place + 0.5 * speed, -1.5, 1.5)
        speed = jnp.where(jnp.abs(place) < 1.5, speed, 0.0)  # walls stop it
        after = Body(place, speed, body.goal, body.time + 1)
        hazard = -(jnp.sum(place**2) < 0.16).astype(float)
        way = jnp.linalg.norm(body.place - body.goal) - jnp.linalg.norm(place - body.goal)
        reward = jnp.stack([hazard, way, -0.1 * jnp.sum(action**2)])
        return self.see(after), after, reward, jnp.array(False), after.time >= 64, {}


class Cart(gymnasium.Env[np.ndarray, int]):
    """A cart on a line of 4 numbers, 5 pushes, 60 steps. Objectives: −bumps, arrival, −effort."""

    observation_space = spaces.Box(-np.inf, np.inf, (4,), np.float32)
    action_space: Any = spaces.Discrete(5)

    def reset(
        self, *, seed: int | None = None, options: Any = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
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

    def reset(
        self, *, seed: int | None = None, options: Any = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
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


def named(name: str, **options: Any) -> Any:
    """A function that makes this environment of MO-Gymnasium."""

    def make() -> Any:
        import mo_gymnasium

        return mo_gymnasium.make(name, **options)

    return make


def in_gymnax(name: str) -> Any:
    """A world of gymnax with its parameters."""
    return importlib.import_module("gymnax").make(name)


def upright_and_centred(before: Any, action: Any, after: Any) -> list[Any]:
    """Two objectives for CartPole, whose own reward is 1 for every step."""
    return [jnp.ones(()), -jnp.abs(after.x)]


class Study(NamedTuple):
    """A task with the thresholds that are asked for."""

    world: Any
    thresholds: list[float]
    steps: int
    options: dict[str, Any]
    seeds: int
    objectives: str
    why: str
    """Where the thresholds come from."""


TASKS: dict[str, Study] = {
    "pure-functions": Study(
        (bandit_reset, bandit_step),
        [-0.05],
        100_000,
        {"actions": ([-1.0], [1.0])},
        10,
        "−distance², −action²",
        "the best is (−0.05, −0.125), by hand",
    ),
    "point-mass": Study(
        PointMass(),
        [-0.5, 2.3],
        400_000,
        {},
        10,
        "−steps in the hazard, way made, −effort",
        "nine tenths of the way, which is 2.55 on average, and half a step in the hazard",
    ),
    "own-cart": Study(
        Cart,
        [-0.5, 0.9],
        150_000,
        {},
        10,
        "−bumps, arrival, −effort",
        "arrives nine times of ten",
    ),
    "own-heater": Study(
        Heater,
        [-60.0],
        150_000,
        {},
        10,
        "−degrees too cold, −energy",
        "a little more than one degree too cold on average over 50 steps",
    ),
    "mountain-car": Study(
        "mo-mountaincar-v0",
        [-150.0, -60.0],
        128_000,
        {},
        10,
        "−time, −pushes back, −pushes on",
        "given beforehand",
    ),
    "minecart": Study(
        "minecart-deterministic-v0",
        [0.5, 0.5],
        200_000,
        {},
        5,
        "ore 1, ore 2, −fuel",
        "set beforehand, without a pilot",
    ),
    "lunar-lander": Study(
        "mo-lunar-lander-continuous-v3",
        [0.0, 100.0, -150.0],
        300_000,
        {},
        2,
        "landed or crashed, way to the pad, −main engine, −side engines",
        "set beforehand from Gymnasium's controller for it, which has (98, 210, −89, −17)",
    ),
    "water-reservoir": Study(
        named("water-reservoir-v0", normalized_action=True),
        [-150.0],
        100_000,
        {},
        5,
        "−flooding, −demand not met",
        "",
    ),
    "hopper": Study(
        "mo-hopper-v5",
        [400.0, 400.0],
        500_000,
        {},
        2,
        "way, height, −control cost",
        "set beforehand, without a pilot; doing nothing has (151, 81)",
    ),
    "gymnax-cart-pole": Study(
        partial(in_gymnax, "CartPole-v1"),
        [475.0],
        300_000,
        {"rewards": upright_and_centred},
        10,
        "steps upright, −distance from the middle",
        "what Gymnasium calls solved",
    ),
}


def run(name: str) -> dict[str, Any]:
    """Train with default settings, judge in fresh episodes."""
    study = TASKS[name]
    begin, busy = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        world = study.world() if isinstance(study.world, partial) else study.world
        trained = lx.train(
            world, study.thresholds, seeds=study.seeds, steps=study.steps, **study.options
        )
    seconds, busy = time.perf_counter() - begin, time.process_time() - busy
    found = trained.evaluate(EPISODES, seed=1)
    means, errors = found.returns.mean(axis=1), found.returns.std(axis=1) / EPISODES**0.5
    met = (means[:, :-1] >= np.array(study.thresholds)).all(axis=1)
    return {
        "task": name,
        "objectives": study.objectives,
        "thresholds": study.thresholds,
        "why": study.why,
        "steps": study.steps,
        "seeds": study.seeds,
        "episodes": EPISODES,
        "met": int(met.sum()),
        "mean": means.mean(axis=0).astype(float).round(3).tolist(),
        "worst": means.min(axis=0).astype(float).round(3).tolist(),
        "returns": means.astype(float).round(3).tolist(),
        "standard_errors": errors.astype(float).round(3).tolist(),
        "episodes_that_meet_all": found.success.astype(float).round(3).tolist(),
        "seconds": round(seconds, 1),
        "processor_seconds": round(busy, 1),
    }


def main() -> None:
    """The command."""
    OUT.mkdir(exist_ok=True)
    for name in sys.argv[1:] or TASKS:
        result = run(name)
        (OUT / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
        print(
            name,
            f"{result['met']} of {result['seeds']}",
            result["seconds"],
            "s",
            result["returns"],
            flush=True,
        )


if __name__ == "__main__":
    main()
