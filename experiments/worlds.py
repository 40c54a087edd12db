"""One learner in continuous worlds with a known optimum: ``python experiments/worlds.py [WORLD …]``.

Writes ``experiments/worlds/NAME.json``: each seed's means over fresh episodes, which thresholds hold, and how far the
last objective is behind the optimum. The settings are the defaults, but for four times as many copies.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

import lexicone as lx
from lexicone._base.files import write_text
from lexicone.tasks import WORLDS, known_optimum, world

OUT = Path(__file__).parent / "worlds"
SEEDS, STEPS, EPISODES = 10, 1_000_000, 2000
LEARNER = lx.PPO(copies=64)


def main() -> None:
    """Run those that are named, or all."""
    for name in sys.argv[1:] or WORLDS:
        task, best = world(name), np.array(known_optimum(name)["values"])
        begin = time.perf_counter()
        trained = lx.train(task, task.order, LEARNER, seeds=SEEDS, steps=STEPS)
        seconds = time.perf_counter() - begin
        returns = trained.evaluate(EPISODES, seed=1).returns.astype(float)
        means = returns.mean(axis=1)
        error = returns.std(axis=1) / np.sqrt(EPISODES)
        held = means[:, :-1] >= np.array(task.thresholds) - 2 * error[:, :-1]
        found = {
            "world": name,
            "steps": STEPS,
            "copies": LEARNER.copies,
            "seeds": SEEDS,
            "episodes": EPISODES,
            "held": int(held.all(axis=1).sum()),
            "held_each": held.sum(axis=0).tolist(),
            "means": means.round(4).tolist(),
            "errors": error.round(4).tolist(),
            "optimum": best.tolist(),
            "seconds": round(seconds, 1),
        }
        print(
            name, found["held"], "of", SEEDS, means.mean(axis=0).round(3), best, f"{seconds:.0f} s"
        )
        write_text(OUT / f"{name}.json", json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
