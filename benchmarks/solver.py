"""What solving again with other thresholds costs: `lx.Solver` beside `lx.solve`, in one process.

    python benchmarks/solver.py [--sizes 1000 10000] [--orders 10] [--json benchmarks/results/solver.json]

Garnets and slippery grids (γ=.99) with two and three objectives; thresholds scatter by two percent around those of
`benchmarks/solve.py`, which can be met and bind. A solver takes the orders one after the other, a second one the same
again. Seconds are of processor time; the share is what a solver's later solves take of the time of `solve` for the same
orders. All values are compared: a relative difference above 10⁻⁶ ends the run with an error.
"""

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np

import lexicone as lx
from lexicone.exact._policy_iteration import best_policy
from lexicone.exact._state_actions import all_state_actions
from lexicone.models._chain import Chain

GAMMA = 0.99
SPREAD = 0.02  # of a threshold: how far orders are apart


def build(kind: str, size: int, objectives: int) -> lx.MDP:
    if kind == "garnet":
        return lx.tasks.garnet(size, num_objectives=objectives)
    return lx.tasks.grid(round(math.sqrt(size))).reorder(list(range(3))[-objectives:])


def middle(mdp: lx.MDP) -> np.ndarray:
    """The values of an even mixture of the policies that are best for one objective each; without the last."""
    pairs = all_state_actions(mdp, GAMMA)
    values = []
    for reward in pairs.reward.T:
        policy = best_policy(pairs, reward, pairs.first).policy
        values.append(Chain(pairs.next[policy]).visits(pairs.initial) @ pairs.reward[policy])
    return np.mean(values, axis=0)[:-1]


def measure(kind: str, size: int, objectives: int, count: int) -> dict[str, Any]:
    mdp, rng = build(kind, size, objectives), np.random.default_rng(0)
    center = middle(mdp)
    orders = [
        lx.Order(center * (1 + SPREAD * rng.standard_normal(len(center)))) for _ in range(count)
    ]
    lx.solve(mdp, orders[0], gamma=GAMMA)  # whatever is computed once for the model
    solver = lx.Solver(mdp, GAMMA)
    alone, later, again = [], [], []
    for order in orders:
        start = time.process_time()
        expected = lx.solve(mdp, order, gamma=GAMMA)
        middle_time = time.process_time()
        found = solver.solve(order)
        later.append(time.process_time() - middle_time)
        alone.append(middle_time - start)
        if not np.allclose(found.values, expected.values, rtol=1e-6):
            raise SystemExit(f"{kind} {size}: {found.values} is not {expected.values}")
    for order in orders:
        start = time.process_time()
        solver.solve(order)
        again.append(time.process_time() - start)
    return {
        "kind": kind,
        "states": mdp.num_states,
        "objectives": objectives,
        "solve": float(np.median(alone)),
        "later": float(np.median(later[1:])),
        "share": float(np.median(np.array(later[1:]) / np.array(alone[1:]))),
        "same": float(np.median(again)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--orders", type=int, default=10)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    print("model    states  K   solve  later  share  same order again")
    for kind in ("garnet", "grid"):
        for size in options.sizes:
            for objectives in (2, 3):
                row = measure(kind, size, objectives, options.orders)
                rows.append(row)
                print(
                    f"{kind:7} {row['states']:7} {objectives:2} {row['solve']:7.3f} {row['later']:6.3f} "
                    f"{row['share']:6.2f} {row['same']:7.4f}",
                    flush=True,
                )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
