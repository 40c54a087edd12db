"""The optima of the continuous worlds: ``python experiments/optima.py`` writes ``src/lexicone/tasks/optima.json``.

For each world and its own thresholds: the exact optimum on three grids, and what the finest grid's policy earns in
the world itself. Takes a minute or two.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from lexicone._base.files import write_text
from lexicone.tasks import WORLDS, BoxWorld, world

OUT = Path(__file__).parents[1] / "src" / "lexicone" / "tasks" / "optima.json"
EPISODES = 20_000


def main() -> None:
    """Compute and write."""
    found: dict[str, Any] = {}
    for name in WORLDS:
        task = world(name)
        grids = task.grids if isinstance(task, BoxWorld) else ()
        optima = [task.optimum()]
        if isinstance(task, BoxWorld):
            optima = [task.optimum(grid=i) for i in range(len(grids))]
        returns = task.simulate(optima[-1], episodes=EPISODES)
        found[name] = {
            "thresholds": list(task.thresholds),
            "how": optima[-1].how,
            "values": _rounded(optima[-1].values),
            "grids": [
                {"states": list(points), "actions": list(levels), "values": _rounded(best.values)}
                for (points, levels), best in zip(grids, optima, strict=False)
            ],
            "simulated": _rounded(returns.mean(axis=0)),
            "error": _rounded(returns.std(axis=0) / np.sqrt(len(returns))),
            "episodes": EPISODES,
        }
        print(name, found[name])
    write_text(OUT, json.dumps(found, indent=1) + "\n")


def _rounded(values: np.ndarray) -> list[float]:
    return [float(f"{value:.6g}") for value in values]


if __name__ == "__main__":
    main()
