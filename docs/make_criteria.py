"""Draws docs/figures/criteria-costs.png: what ten days cost under each meaning of a threshold (docs/criteria.md)."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import lexicone as lx
from lexicone import plots

EPISODES, BUDGET = 100_000, 20


def ten_days() -> lx.MDP:
    """Each day the bus for 1, or a taxi for 2, in three of ten cases 5, and a rest."""

    def step(day: int, how: str) -> list[tuple[float, int, tuple[float, float]]]:
        if how == "bus":
            return [(1.0, day + 1, (-1, 0))]
        return [(0.7, day + 1, (-2, 1)), (0.3, day + 1, (-5, 1))]

    def choices(day: int) -> list[str]:
        return ["bus", "taxi"] if day < 10 else []

    return lx.MDP.from_function(0, choices, step, objective_names=("cost", "rest"))


def draw() -> Figure:
    """A histogram of costs for each criterion."""
    mdp, limit = ten_days(), lx.Order([-BUDGET])
    every = lx.search(mdp, limit, criterion="episode").policy
    most = lx.search(mdp, limit.with_chances(0.95), criterion="chance").policy
    careful = lx.search(mdp, [lx.at_least(-22, worst=0.05)], criterion="chance").policy
    found = {
        "expected": lx.simulate(mdp, lx.solve(mdp, limit).policy, EPISODES),
        "every episode": every.simulate(EPISODES),
        "deterministic": lx.simulate(
            mdp, lx.solve(mdp, limit, policies="deterministic").policy, EPISODES
        ),
        "95 % of episodes": most.simulate(EPISODES),
        "22 in the worst 5 %": careful.simulate(EPISODES),
    }
    figure = Figure(figsize=(7.5, 6.2), layout="constrained")
    axes = figure.subplots(len(found), 1, sharex=True, sharey=True)
    for panel, (name, run) in zip(axes, found.items(), strict=True):
        cost, rest = -run.returns[:, 0], run.returns[:, 1].mean()
        values, counts = np.unique(cost, return_counts=True)
        inside = values <= BUDGET
        share = 100 * counts / EPISODES
        panel.bar(values[inside], share[inside], color="tab:blue")
        panel.bar(values[~inside], share[~inside], color="tab:red")
        panel.axvline(BUDGET + 0.5, color="black", linewidth=0.8)
        text = f"{name}: mean cost {cost.mean():.1f}, within {BUDGET} in {share[inside].sum():.0f} %, rests {rest:.2f}"
        panel.set_title(text, loc="left", fontsize=9)
        panel.set_ylabel("%")
    axes[-1].set_xlabel("cost of an episode")
    return figure


if __name__ == "__main__":
    plots.save(draw(), Path(__file__).parent / "figures" / "criteria-costs", ("png",))
