"""Lexicographic REINFORCE, compiled, against the same algorithm as a plain PyTorch script.

    python benchmarks/reinforce.py

The paper's algorithm, one episode per update, on its experiment 2 (3×5 maze, 4,000 episodes, cap 200): environment
steps per second of 10 seeds together, with and without compilation, and of a single-file PyTorch loop over a few
hundred episodes, half of them before and half after, all in one run. Both do the same work per step: a forward pass
with new dropout and a sampled action; and per episode two backward passes, FindDirection and Adam. Then time and memory
as seeds grow 1 → 10 → 100 and as objectives grow 2 → 6, each in its own process. `--json FILE` keeps the numbers.
"""

import argparse
import json
import math
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from lexicone import find_direction
from lexicone.tasks import fruit_tree, maze

GAMMA, DELTA, CAP, THRESHOLD = 0.99, math.radians(20), 200, 0.5
SEEDS, EPISODES = 10, 4000


def torch_script(episodes: int, seed: int) -> tuple[int, float]:
    """Steps and seconds of a straightforward implementation: one environment, one step at a time."""
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.set_num_threads(1)  # faster for such small tensors
    torch.manual_seed(seed)
    mdp = maze("concave", objectives="endpoint")
    start = int(np.argmax(mdp.initial))
    policy = nn.Sequential(
        nn.Linear(mdp.num_states, 128),
        nn.ReLU(),
        nn.Dropout(0.6),
        nn.Linear(128, mdp.num_actions),
    )
    parameters = list(policy.parameters())
    optimizer = torch.optim.Adam(parameters, lr=1e-2)
    one_hot = torch.eye(mdp.num_states)
    steps, begin = 0, time.perf_counter()
    for _ in range(episodes):
        state, log_probabilities, rewards = start, [], []
        for _ in range(CAP):
            choice = Categorical(logits=policy(one_hot[state]) / 10.0)
            drawn = choice.sample()
            log_probabilities.append(choice.log_prob(drawn))
            action = int(drawn)
            rewards.append(mdp.reward[state, action, 0])
            state = int(mdp.next_state[state, action, 0])
            if mdp.terminal[state]:
                break
        steps += len(rewards)
        log_probability = torch.stack(log_probabilities)
        rows = []
        for k in range(mdp.num_objectives):
            total, returns = 0.0, []
            for reward in reversed(rewards):
                total = reward[k] + GAMMA * total
                returns.append(total)
            weight = torch.tensor(returns[::-1], dtype=torch.float32)
            gain = (log_probability * weight).sum()
            parts = torch.autograd.grad(gain, parameters, retain_graph=True)
            rows.append(torch.cat([part.reshape(-1) for part in parts]))
        gradients = torch.stack(rows)
        products = (gradients @ gradients.T).numpy().astype(float)
        found = find_direction(products, np.sum(rewards, axis=0), [THRESHOLD], delta=DELTA)
        if found.found:
            direction = torch.as_tensor(found.weights, dtype=torch.float32) @ gradients
            place = 0
            for parameter in parameters:
                size = parameter.numel()
                parameter.grad = -direction[place : place + size].reshape(parameter.shape)
                place += size
            optimizer.step()
    return steps, time.perf_counter() - begin


def compiled(seeds: int, episodes: int, objectives: int | None = None) -> dict[str, float]:
    """Steps, and seconds of a first and of a second training; peak memory of the process."""
    from lexicone.learning._train import train
    from lexicone.learning.algos._reinforce import Reinforce
    from lexicone.order import Order

    learner = Reinforce(gamma=GAMMA, delta=DELTA, max_steps=CAP)
    if objectives is None:
        mdp, order = maze("concave", objectives="endpoint"), Order([THRESHOLD])
    else:
        mdp = fruit_tree(5, seed=0, num_objectives=objectives)
        order = Order([3.0] * (objectives - 1))
    seconds, steps = [], 0
    for key in range(2):
        begin = time.perf_counter()
        trained = train(mdp, order, learner, seeds=seeds, episodes=episodes, seed=key)
        seconds.append(time.perf_counter() - begin)
        steps = int(trained.history["steps"][:, -1].sum())
    return {
        "seeds": seeds,
        "episodes": episodes,
        "steps": steps,
        "first": seconds[0],
        "second": seconds[1],
        "megabytes": peak_memory(),
    }


def peak_memory() -> float:
    """Of this process alone, in megabytes; `getrusage` would count its parent's before it started."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def apart(*arguments: int) -> dict[str, float]:
    """`compiled` in a process of its own, so that memory is its own."""
    call = [sys.executable, __file__, "--part", *map(str, arguments)]
    return json.loads(subprocess.run(call, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--torch-episodes", type=int, default=300)
    parser.add_argument("--episodes", type=int, default=EPISODES)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--part", type=int, nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        print(json.dumps(compiled(*options.part)))
        return

    console = Console()
    half = options.torch_episodes // 2
    before = torch_script(half, 0)
    ours = compiled(SEEDS, options.episodes)
    after = torch_script(half, 1)
    theirs = (before[0] + after[0]) / (before[1] + after[1])
    rates = {
        "PyTorch loop": theirs,
        "lexicone, with compilation": ours["steps"] / ours["first"],
        "lexicone, without": ours["steps"] / ours["second"],
    }
    table = Table(title=f"experiment 2, literal: {SEEDS} seeds × {options.episodes} episodes")
    for column in ("", "steps per second", "÷ PyTorch"):
        table.add_column(column, justify="right" if column else "left")
    for name, rate in rates.items():
        table.add_row(name, f"{rate:,.0f}", f"{rate / theirs:.0f}")
    console.print(table)
    lengths = (before[0] + after[0]) / (2 * half), ours["steps"] / SEEDS / options.episodes
    console.print("Steps per episode: {:.0f} (PyTorch), {:.0f} (lexicone).".format(*lengths))

    growth: dict[str, dict[str, Any]] = {"seeds": {}, "objectives": {}}
    short = max(1, options.episodes // 4)
    table = Table(title=f"growth ({short} episodes)")
    for column in ("", "first", "second", "µs per step", "memory"):
        table.add_column(column, justify="right" if column else "left")
    cases = [("seeds", n, (n, short)) for n in (1, 10, 100)]
    cases += [("objectives", k, (SEEDS, short, k)) for k in (2, 4, 6)]
    for kind, size, arguments in cases:
        part = growth[kind][str(size)] = apart(*arguments)
        table.add_row(
            f"{size} {kind}",
            f"{part['first']:.1f} s",
            f"{part['second']:.1f} s",
            f"{1e6 * part['second'] / part['steps']:.2f}",
            f"{part['megabytes']:.0f} MB",
        )
    console.print(table)
    if options.json:
        found = {"steps_per_second": rates, "literal": ours, "growth": growth}
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
