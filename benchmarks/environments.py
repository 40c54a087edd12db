"""Steps per second of training in Gymnasium environments: `lexicone.train` against stable-baselines3's PPO.

Both learn from as many copies, steps, minibatches and epochs, with networks of the same size: the same number of
gradient steps on minibatches of the same size. stable-baselines3 learns the sum of the objectives, with normalised
observations, on one thread, which is its fastest for such networks. The sides take turns, and compilation and imports
are before the clock. The processor's seconds are given too: those of the wall depend on who else uses the machine.

``python benchmarks/environments.py --json benchmarks/results/environments.json``; needs stable-baselines3.
"""

import argparse
import importlib
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
NAMES = (
    "own-cart",
    "own-heater",
    "mountain-car",
    "minecart",
    "lunar-lander",
    "water-reservoir",
    "hopper",
)


def ours(task: Any, thresholds: list[float], updates: int) -> Any:
    import lexicone as lx

    return lx.train(task, thresholds, lx.PPO(), seeds=1, updates=updates)


def theirs(task: Any, learner: Any) -> Any:
    """A model whose ``learn(steps)`` does what our training does."""
    import gymnasium
    import numpy as np
    import torch
    from stable_baselines3 import PPO  # pyright: ignore[reportMissingImports]
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize  # pyright: ignore[reportMissingImports]

    torch.set_num_threads(1)
    mo_gymnasium: Any = importlib.import_module("mo_gymnasium")

    def total(reward: Any) -> float:
        return float(np.sum(reward))

    def make() -> Any:
        env: Any = mo_gymnasium.make(task) if isinstance(task, str) else task()
        if env.unwrapped.spec is None and not hasattr(env, "time"):
            env = gymnasium.wrappers.TimeLimit(env, 1000)
        return gymnasium.wrappers.TransformReward(env, total)

    copies = VecNormalize(DummyVecEnv([make] * learner.copies), norm_reward=False)
    return PPO(
        "MlpPolicy",
        copies,
        n_steps=learner.length,
        batch_size=learner.copies * learner.length // learner.minibatches,
        n_epochs=learner.epochs,
        policy_kwargs={"net_arch": list(learner.hidden)},
        seed=0,
    )


def clock(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds by the wall and of the processor."""
    wall, busy = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - busy


def compare(name: str, updates: int, rounds: int) -> dict[str, Any]:
    """Both sides in turns; the best round of each counts."""
    task, thresholds, *_ = importlib.import_module("environments").TASKS[name]
    learner = ours(task, thresholds, 1).learner  # compiles
    model, steps = theirs(task, learner), learner.copies * learner.length * updates
    model.learn(learner.copies * learner.length)
    sides: dict[str, tuple[int, Callable[[], Any]]] = {
        "lexicone": (steps, lambda: ours(task, thresholds, updates)),
        "stable-baselines3": (steps, lambda: model.learn(steps)),
    }
    best = {side: [float("inf")] * 2 for side in sides}
    for _ in range(rounds):
        for side, (done, work) in sides.items():
            each = [1e6 * seconds / done for seconds in clock(work)]
            best[side] = [min(a, b) for a, b in zip(best[side], each, strict=True)]
    base = best["stable-baselines3"]
    return {
        "task": name,
        "steps": steps,
        "gradient_steps_per_update": learner.minibatches * learner.epochs,
        "microseconds_per_step": {s: round(wall, 1) for s, (wall, _) in best.items()},
        "processor_microseconds_per_step": {s: round(busy, 1) for s, (_, busy) in best.items()},
        "steps_per_second": {s: round(1e6 / wall) for s, (wall, _) in best.items()},
        "times_as_fast": {s: round(base[0] / wall, 2) for s, (wall, _) in best.items()},
        "times_as_fast_by_processor": {
            s: round(base[1] / busy, 2) for s, (_, busy) in best.items()
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--updates", type=int, default=10, help="of a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, default=None)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    before, rows = os.getloadavg(), []
    for name in given.tasks:
        rows.append(compare(name, given.updates, given.rounds))
        parts = ("steps_per_second", "times_as_fast", "times_as_fast_by_processor")
        print(name, *(rows[-1][part] for part in parts), flush=True)
    if given.json:
        found = {"rows": rows, "load_before": before, "load_after": os.getloadavg()}
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
