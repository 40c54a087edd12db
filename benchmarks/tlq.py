"""Learning steps per second of thresholded Q-learning: 64 seeds compiled, against plain loops.

    python benchmarks/tlq.py [--seeds 64] [--steps 100000] [--json benchmarks/results/tlq.json]

The extended maze of the paper (20 states, 4 actions, 2 objectives), preset "gabor" with τ=−3, γ=.9, ε=.1, α=.1 and
episodes of at most 100 steps. Contestants, in turn, in one process:

- lexicone: `tlq` with all seeds in one compiled program, with and without the time of compiling it;
- a plain NumPy loop of the same algorithm, one seed, for any model and any number of objectives;
- the same loop written for this maze alone: two objectives, no chance;
- MOQLearning of morl-baselines (scalarised Q-learning) through the Gymnasium adapter, if it is installed.

Seconds depend on the machine, ratios less so. The loops and lexicone must agree on what they learn.
"""

import argparse
import json
import statistics
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from lexicone.models._mdp import MDP
from lexicone.order import Order
from lexicone.qlearning._exploration import EpsilonGreedy
from lexicone.qlearning._learn import tlq
from lexicone.tasks import maze

THRESHOLD, GAMMA, EPSILON, RATE, CAP = -3.0, 0.9, 0.1, 0.1, 100


def compiled(mdp: MDP, seeds: int, steps: int, seed: int = 0) -> Any:
    return tlq(
        mdp,
        Order([THRESHOLD]),
        "gabor",
        gamma=GAMMA,
        seeds=seeds,
        steps=steps,
        learning_rate=RATE,
        exploration=EpsilonGreedy(EPSILON),
        max_episode_steps=CAP,
        log_points=1,
        seed=seed,
    )


def plain(mdp: MDP, steps: int, seed: int = 0) -> np.ndarray:
    """Gábor et al. with absolute thresholds, step by step; the table is read through min(τ, ·)."""
    rng = np.random.default_rng(seed)
    limits = np.array([THRESHOLD, np.inf])
    count = mdp.num_objectives
    table = np.zeros((mdp.num_states, mdp.num_actions, count))
    chances, starts = np.cumsum(mdp.probability, axis=2), np.cumsum(mdp.initial)

    def decide(state: int) -> tuple[int, np.ndarray]:
        """The greedy action, and the best acceptable value of each objective."""
        q = np.minimum(table[state], limits)
        allowed, best = np.ones(mdp.num_actions, dtype=bool), np.empty(count)
        for k in range(count):
            column = np.where(allowed, q[:, k], -np.inf)
            best[k] = column.max()
            allowed &= column >= best[k] - 1e-9
        return int(np.argmax(allowed)), best

    state, age = int(np.searchsorted(starts, rng.random(), side="right")), 0
    for _ in range(steps):
        explore = rng.random() < EPSILON
        action = int(rng.integers(mdp.num_actions)) if explore else decide(state)[0]
        branch = int(np.searchsorted(chances[state, action], rng.random(), side="right"))
        after = int(mdp.next_state[state, action, branch])
        target = mdp.reward[state, action, branch]
        if not mdp.terminal[after]:
            target = target + GAMMA * decide(after)[1]
        table[state, action] += RATE * (target - table[state, action])
        state, age = after, age + 1
        if mdp.terminal[after] or age >= CAP:
            state, age = int(np.searchsorted(starts, rng.random(), side="right")), 0
    return np.minimum(table, limits)


def special(mdp: MDP, steps: int, seed: int = 0) -> np.ndarray:
    """The same for two objectives and one start, without chance."""
    rng = np.random.default_rng(seed)
    limits = np.array([THRESHOLD, np.inf])
    table = np.zeros((mdp.num_states, mdp.num_actions, 2))
    start = int(mdp.initial.argmax())
    state, age = start, 0
    for _ in range(steps):
        if rng.random() < EPSILON:
            action = int(rng.integers(mdp.num_actions))
        else:
            q = np.minimum(table[state], limits)
            good = q[:, 0] >= q[:, 0].max() - 1e-9
            action = int(np.argmax(np.where(good, q[:, 1], -np.inf)))
        after = int(mdp.next_state[state, action, 0])
        target = mdp.reward[state, action, 0]
        if not mdp.terminal[after]:
            q = np.minimum(table[after], limits)
            good = q[:, 0] >= q[:, 0].max() - 1e-9
            best = np.array([q[:, 0].max(), q[good, 1].max()])
            target = target + GAMMA * best
        table[state, action] += RATE * (target - table[state, action])
        state, age = after, age + 1
        if mdp.terminal[after] or age >= CAP:
            state, age = start, 0
    return np.minimum(table, limits)


def scalarised(mdp: MDP, steps: int) -> None:
    """MOQLearning of morl-baselines with equal weights."""
    from gymnasium import spaces
    from gymnasium.wrappers import TransformObservation

    from lexicone.gym._env import MDPEnv

    module = import_module("morl_baselines.single_policy.ser.mo_q_learning")
    places = spaces.Box(0, mdp.num_states - 1, (1,), np.int64)
    env = TransformObservation(
        MDPEnv(mdp, max_steps=CAP), lambda state: np.array([state]), places
    )  # it keeps its table by tuples
    agent = module.MOQLearning(
        env,
        weights=np.array([0.5, 0.5]),
        learning_rate=RATE,
        gamma=GAMMA,
        initial_epsilon=EPSILON,
        final_epsilon=EPSILON,
        log=False,
    )
    agent.train(total_timesteps=steps, start_time=time.time(), eval_env=None)


def seconds(run: Any) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seeds", type=int, default=64)
    parser.add_argument("--steps", type=int, default=100_000, help="of each compiled run")
    parser.add_argument("--rounds", type=int, default=5)
    default = Path(__file__).parent / "results" / "tlq.json"
    parser.add_argument("--json", type=Path, default=default)
    options = parser.parse_args()
    mdp, total = maze("extended", objectives="path"), options.seeds * options.steps
    slow = max(1000, options.steps // 5)
    first = seconds(lambda: compiled(mdp, options.seeds, options.steps))
    loops: dict[str, Any] = {
        "lexicone": (total, lambda: compiled(mdp, options.seeds, options.steps)),
        "NumPy loop": (slow, lambda: plain(mdp, slow)),
        "NumPy loop for this maze": (slow, lambda: special(mdp, slow)),
    }
    if find_spec("morl_baselines") is not None:
        loops["MOQLearning"] = (slow, lambda: scalarised(mdp, slow))
    times: dict[str, list[float]] = {name: [] for name in loops}
    for _ in range(options.rounds):  # in turn, so that a busy machine slows all of them alike
        for name, (_, run) in loops.items():
            times[name].append(seconds(run))
    speed = {name: loops[name][0] / statistics.median(each) for name, each in times.items()}
    speed["lexicone, compiling included"] = total / first
    start = int(mdp.initial.argmax())
    learned = {
        "lexicone": compiled(mdp, 2, options.steps).q[0],
        "NumPy loop": plain(mdp, options.steps),
        "NumPy loop for this maze": special(mdp, options.steps),
    }
    promised = {
        name: [round(float(value), 3) for value in q[start].max(axis=0)]
        for name, q in learned.items()
    }

    table = Table(
        title=f"steps per second, extended maze, {options.seeds} seeds × {options.steps} steps"
    )
    for column in ("contestant", "steps per second", "times the NumPy loop"):
        table.add_column(column, justify="left" if column == "contestant" else "right")
    for name, value in speed.items():
        table.add_row(name, f"{value:,.0f}", f"{value / speed['NumPy loop']:.3g}×")
    console = Console()
    console.print(table)
    console.print(f"best values at the start: {promised}", highlight=False)
    if "MOQLearning" not in loops:
        console.print("morl-baselines is not installed: MOQLearning was left out")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    found = {
        "seeds": options.seeds,
        "steps": options.steps,
        "first_call_seconds": first,
        "steps_per_second": speed,
        "best_values_at_the_start": promised,
        "times_the_numpy_loop": {n: value / speed["NumPy loop"] for n, value in speed.items()},
    }
    options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
