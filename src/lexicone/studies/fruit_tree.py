"""Experiment 3 of the paper: the fruit tree of depth 5 with six objectives; how often the desired fruit is reached.

The paper gives neither the desired leaf nor thresholds. Here the thresholds are the first five nutrients of the desired
fruit, for which it is the unique best fruit; by default a fruit for which every threshold matters. Learned values come
close to such thresholds from below, so that TLQ needs a tolerance to see that they are met; without it, it fails.

All rewards are paid at the leaf, so that the K gradients of *one* episode are multiples of each other. Nothing is ever
projected, and the literal algorithm cannot show any effect of Δ. With batches it can, once thresholds are read as
``criterion="episode"``: with expected values, mixtures of fruits meet them.
"""

import math
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

from lexicone import plots
from lexicone.learning.algos._reinforce import Reinforce
from lexicone.models._mdp import MDP
from lexicone.order import Order
from lexicone.qlearning._learn import tlq
from lexicone.qlearning._rules import preset
from lexicone.studies.policy_gradient import BEST, Options, Part, part_cell, run_parts, train_part
from lexicone.tasks import fruit_tree
from lexicone.tasks._fruit_tree import fruits_of

__all__ = ["DEPTH", "desired", "draw", "figure", "leaf_probability", "report", "run"]

DEPTH = 5
_DEGREES = (20, 10, 5, 0)
_LITERAL, _BATCHED = 40_000, 12_800
_TIES = (1e-9, 1e-3)


def desired(mdp: MDP, leaf: int) -> Order:
    """Thresholds for which that leaf, counted from the left, is the best one; a ValueError if another one is."""
    count = (mdp.num_states + 1) // 2
    if not 0 <= leaf < count:
        raise ValueError(f"--leaf: must be from 0 to {count - 1}, got {leaf}")
    fruits = fruits_of(mdp)
    order = Order(fruits[leaf, :-1], names=mdp.objective_names)
    best = order.argmax(fruits)
    if best != leaf:
        raise ValueError(f"--leaf: leaf {best} also meets the thresholds of {leaf} and is better")
    return order


def leaf_probability(policies: Any, leaf: int) -> Any:
    """The probability of the leaf under policies ``[…,S,2]``: the product along its path."""
    policies = np.asarray(policies)
    depth = int(math.log2(policies.shape[-2] + 1)) - 1
    state, share = 0, np.ones(policies.shape[:-2])
    for level in reversed(range(depth)):
        turn = (leaf >> level) & 1
        share = share * policies[..., state, turn]
        state = 2 * state + 1 + turn
    return share


def run(options: Options, out: Path, leaf: int = 13) -> dict[str, Any]:
    """Literal and batched learners for every Δ, and TLQ; a dictionary that JSON can hold."""
    mdp = fruit_tree(DEPTH)
    order = desired(mdp, leaf)
    results: dict[str, Any] = {
        "leaf": leaf,
        "fruit": fruits_of(mdp)[leaf].tolist(),
        "thresholds": list(order.thresholds),
        "options": {"seeds": options.seeds, "key": options.key},
        "parts": {"literal": {}, "batched": {}},
    }
    batched = replace(BEST, criterion="episode", max_steps=DEPTH, gamma=1.0, entropy=0.3, batch=32)
    parts = {
        (kind, degrees): Part(
            f"{kind}-{degrees}", "", replace(own, delta=math.radians(degrees)), order, episodes
        )
        for degrees in _DEGREES
        for kind, own, episodes in (
            ("literal", Reinforce(max_steps=DEPTH, gamma=1.0), _LITERAL),
            ("batched", batched, _BATCHED),
        )
    }
    cells = [
        part_cell("ftn", part, options, partial(_train, part, mdp, options, out, leaf), leaf=leaf)
        for part in parts.values()
    ]
    for (kind, degrees), found in zip(parts, run_parts(cells, options, out), strict=True):
        results["parts"][kind][str(degrees)] = found
    results["tlq"] = {
        f"{tolerance:g}": _tlq(mdp, order, tolerance, options, leaf) for tolerance in _TIES
    }
    return results


def _train(part: Part, mdp: MDP, options: Options, out: Path, leaf: int) -> dict[str, Any]:
    trained = train_part(part, mdp, options, out)
    times, tables = trained.snapshots
    return {
        "learner": asdict(part.learner),
        "episodes": (times * part.learner.batch).tolist(),
        "steps": int(trained.history["steps"][:, -1].mean()),
        "probability": leaf_probability(np.moveaxis(tables, 0, 1), leaf).tolist(),
    }


def _tlq(mdp: MDP, order: Order, tolerance: float, options: Options, leaf: int) -> list[float]:
    """Thresholded Q-learning with as many episodes as the literal algorithm: the leaf's probability per seed."""
    episodes = options.episodes or _LITERAL
    learned = tlq(
        mdp,
        order,
        preset("gabor", tie_tolerance=tolerance),
        seeds=options.seeds,
        steps=episodes * DEPTH,
        max_episode_steps=DEPTH,
        seed=options.key,
    )
    return leaf_probability(learned.policy, leaf).tolist()


def report(results: dict[str, Any], console: Console) -> None:
    """The final probability of the desired leaf, per learner and Δ."""
    fruit = ", ".join(f"{v:.2f}" for v in results["fruit"])
    table = Table(title=f"Fruit tree of depth {DEPTH}: leaf {results['leaf']}, ({fruit})")
    for column in ("", "paper", "ours, literal", "ours, batched", "exact optimum"):
        table.add_column(column)
    claims = {"20": "below 1", "10": "below 1", "5": "below 1", "0": "fails"}
    for degrees, literal in results["parts"]["literal"].items():
        batched = results["parts"]["batched"][degrees]
        name = f"Δ = {degrees}°" if degrees != "0" else "Δ = 0° (hyperplane)"
        ends = (_ends(p["probability"]) for p in (literal, batched))
        table.add_row(name, claims[degrees], *ends, "1")
    for i, (tolerance, shares) in enumerate(results["tlq"].items()):
        name = f"TLQ, ties within {tolerance}"
        claim = "fails" if i == 0 else ""
        table.add_row(name, claim, f"{np.mean(shares):.2f}", "", "1")
    console.print(table)
    console.print(
        "Probability of the desired leaf at the end, mean of seeds (lowest to highest). The paper's figure shows "
        "40,000 episodes; the batched learner has 12,800. One episode's gradients are multiples of each other here, "
        "so that the literal algorithm never projects: its rows differ by nothing."
    )


def draw(results: dict[str, Any], out: Path) -> list[Path]:
    """The paper's figure as files."""
    return plots.save(figure(results), out / "leaf-probability")


def figure(results: dict[str, Any]) -> Figure:
    """The paper's figure: the probability of the desired leaf over training."""
    panels = {
        title: {
            (f"Δ = {degrees}°" if degrees != "0" else "hyperplane (Δ = 0°)"): (
                np.array(part["episodes"]),
                np.array(part["probability"]),
            )
            for degrees, part in results["parts"][kind].items()
        }
        for kind, title in (("literal", "literal: one episode per update"), ("batched", "batched"))
    }
    levels = {f"TLQ, ties within {t}": float(np.mean(s)) for t, s in results["tlq"].items()}
    return plots.leaf_probabilities(
        panels, levels, f"Fruit tree, leaf {results['leaf']}, mean of seeds"
    )


def _ends(probability: Any) -> str:
    last = np.asarray(probability)[:, -1]
    return f"{last.mean():.2f} ({last.min():.2f} to {last.max():.2f})"
