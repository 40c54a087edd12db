"""How large models with budgets become and how long they take; how many subproblems the searches need.

    python benchmarks/augment.py [--json benchmarks/results/augment.json]

Sizes: states that can be reached, states with budgets, seconds to enumerate them and to solve the augmented model
exactly. "20 steps unmerged" counts pairs of a state and a budget within 20 steps, without the two merges (budgets
beyond use, budgets lost for good): it grows without end wherever a loop costs. Subproblems: linear programs that each
strategy solves for K objectives, of which some can be met together. With one miss the next cannot be met, and what is
behind it does not matter; with many misses none behind it can.
"""

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from lexicone.criteria._augment import augmentation
from lexicone.criteria._search import search
from lexicone.exact._solve import solve
from lexicone.models._mdp import MDP
from lexicone.order import Order
from lexicone.tasks import deep_sea_treasure, maze, road_trip

STRATEGIES = ("one_by_one", "binary", "dynamic")


def big_maze(size: int = 20, seed: int = 0) -> MDP:
    """Bad tiles at random, start and goal in opposite corners."""
    rng = np.random.default_rng(seed)
    tiles = rng.choice(list("...hH"), (size, size))
    tiles[-1, 0], tiles[0, -1] = "S", "G"
    return maze("\n".join("".join(row) for row in tiles), objectives="path")


def models() -> list[tuple[str, MDP, list[float]]]:
    dive = deep_sea_treasure(objectives=("time", "treasure"))
    return [
        ("small maze", maze("small", objectives="path"), [-4.0]),
        ("extended maze", maze("extended", objectives="path"), [-3.0]),
        ("concave maze", maze("concave", objectives="path"), [-3.0]),
        ("early-and-late maze", maze("early-late", objectives="path"), [-7.0]),
        ("deep sea treasure, 24 first", deep_sea_treasure(), [24.0]),
        ("deep sea treasure, 15 steps first", dive, [-15.0]),
        ("road trip", road_trip(), [-10.0]),
        ("road trip, two budgets", road_trip(costs=("toll", "hours")), [-11.0, -15.0]),
        ("20×20 maze, budget 20", big_maze(), [-20.0]),
        ("20×20 maze, budget 40", big_maze(), [-40.0]),
    ]


def unmerged(mdp: MDP, thresholds: list[float], steps: int) -> int:
    """Pairs (state, returns so far) within so many steps; returns are whole numbers in these tasks."""
    count = len(thresholds)
    seen = level = {(int(s), *[0] * count) for s in np.flatnonzero(mdp.initial)}
    for _ in range(steps):
        after = set()
        for s, *spent in level:
            if mdp.terminal[s]:
                continue
            for a, b in np.ndindex(mdp.num_actions, mdp.num_successors):
                if mdp.probability[s, a, b] > 0:
                    paid = mdp.reward[s, a, b, :count].astype(int)
                    after.add((int(mdp.next_state[s, a, b]), *(np.array(spent) + paid).tolist()))
        level = after - seen
        seen = seen | level
    return len(seen)


def measure(name: str, mdp: MDP, thresholds: list[float]) -> dict[str, Any]:
    order = Order(thresholds)
    begin = time.perf_counter()
    found = augmentation(mdp, order)
    middle = time.perf_counter()
    best = solve(found.mdp, order)
    end = time.perf_counter()
    return {
        "model": name,
        "thresholds": thresholds,
        "states": int(mdp.reachable().sum()),
        "with_budgets": found.mdp.num_states,
        "unmerged_20_steps": unmerged(mdp, thresholds, 20),
        "seconds_to_augment": middle - begin,
        "seconds_to_solve": end - middle,
        "status": str(best.status),
        "values": best.values.tolist(),
    }


def chain(count: int, met: int) -> tuple[MDP, Order]:
    """K objectives; the first ``met`` thresholds can be met together, the others are far out of reach."""
    rng = np.random.default_rng(count)
    reward = rng.random((2, 8, 1, count))
    reward[1] = 0.0
    mdp = MDP(
        next_state=np.ones((2, 8, 1), dtype=int),
        probability=np.ones((2, 8, 1)),
        reward=reward,
        initial=[1.0, 0.0],
        terminal=[False, True],
    )
    middle = reward[0, :, 0].mean(axis=0)
    return mdp, Order([*(0.98 * middle[:met]), *(middle[met : count - 1] + 9.0)])


def subproblems() -> list[dict[str, Any]]:
    rows = []
    for count in (3, 5, 9, 17, 33):
        none, half, every = 0, (count - 1) // 2, count - 1
        cases = ((half, 1), (every, 0), (half, every - half), (none, every))
        for met, misses in dict.fromkeys(cases):
            mdp, order = chain(count, met)
            limits = [*order.thresholds]
            limits[met + misses :] = [-math.inf] * (count - 1 - met - misses)
            found = {s: search(mdp, Order(limits), s) for s in STRATEGIES}
            keys = [f.key for f in found.values()]
            assert all(np.allclose(keys[0], key, atol=1e-6) for key in keys)
            rows.append(
                {
                    "objectives": count,
                    "met_together": met,
                    "missed": misses,
                    **{s: f.subproblems for s, f in found.items()},
                }
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--json", type=Path, help="write the measurements here")
    arguments = parser.parse_args()
    console = Console()
    sizes = []
    table = Table(
        "model", "states", "with budgets", "20 steps unmerged", "augment s", "solve s", "values"
    )
    for case in models():
        row = measure(*case)
        sizes.append(row)
        table.add_row(
            row["model"],
            str(row["states"]),
            str(row["with_budgets"]),
            str(row["unmerged_20_steps"]),
            f"{row['seconds_to_augment']:.3f}",
            f"{row['seconds_to_solve']:.3f}",
            ", ".join(f"{v:.4g}" for v in row["values"]),
        )
    console.print(table)
    counts = subproblems()
    table = Table("objectives", "met together", "missed", *STRATEGIES)
    for row in counts:
        table.add_row(*(str(value) for value in row.values()))
    console.print(table)
    if arguments.json:
        results = {"sizes": sizes, "subproblems": counts}
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
