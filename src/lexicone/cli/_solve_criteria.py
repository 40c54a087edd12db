"""``lexicone solve`` with thresholds for single episodes: each of them, or a share. The policy has budgets in mind."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from lexicone._base.text import plain_numbers, vector_text
from lexicone.cli._compare import likeliest_episode
from lexicone.models._mdp import MDP
from lexicone.order import Criterion, Order

__all__ = ["solve_with_budgets"]


def solve_with_budgets(
    mdp: MDP,
    order: Order,
    criterion: Criterion,
    gamma: float,
    out: Path | None,
    *,
    as_json: bool,
    console: Console,
) -> None:
    """Searches, prints and draws; ``out`` gets the policy by states with budgets, and a picture of what it does."""
    from lexicone.criteria._search import search

    with nullcontext() if as_json else console.status("solving …"):
        found = search(mdp, order, gamma=gamma, criterion=criterion)
    lifted = found.policy
    if as_json:
        print(json.dumps(_as_json(mdp, found), indent=2))
    else:
        _print(found, console)
        for line in likeliest_episode(lifted):
            console.print(line, highlight=False, markup=False)
    if out is None:
        return
    from lexicone import plots

    lifted.augmented.tracked.write_policy(out / "policy.csv", lifted.table)
    title = vector_text(order.at_gamma(gamma).in_units(found.values))
    shares, taken = lifted.shadow
    figure = plots.draw_model(mdp, shares, taken, f"{criterion}: {title}")
    written = [out / "policy.csv", *plots.save(figure, out / "policy")]
    if not as_json:
        for path in written:
            console.print(str(path), highlight=False, markup=False)


def _print(found: Any, console: Console) -> None:
    order = found.order
    table = Table()
    for column in ("objective", "threshold", "mean", "met in", ""):
        table.add_column(column, justify="left" if column in ("objective", "") else "right")
    means = order.in_units(found.values)
    rates = [*found.chances.rates, np.nan]
    said = [("met" if met else "missed") for met in found.satisfied] + [""]
    for label, level, mean, rate, met in zip(
        order.labels, order.levels, means, rates, said, strict=True
    ):
        threshold = "" if level.plain and level.amount is None else str(level)
        table.add_row(label, threshold, _number(mean), _percent(rate), met)
    console.print(table)
    lifted = found.policy
    how = {
        "episode": "thresholds hold for every episode",
        "chance": "thresholds with a share hold for that share of episodes",
    }[found.criterion]
    reason = "" if found.status == "optimal" else f": {found.message}"
    console.print(
        f"{found.status}{reason} (γ={found.gamma:g}; {how}; {len(lifted.augmented.state)} states with budgets). "
        "The likeliest episode, with what is left of each budget:",
        highlight=False,
    )


def _number(value: float) -> str:
    return "—" if np.isnan(value) else f"{value:.6g}"


def _percent(share: float) -> str:
    return "" if np.isnan(share) else f"{100 * share:.4g} %"


def _as_json(mdp: MDP, found: Any) -> dict[str, Any]:
    return {
        "status": found.status,
        "message": found.message,
        "objectives": list(mdp.objective_labels),
        "thresholds": plain_numbers(found.order.thresholds),
        "chances_asked": list(found.order.chances),
        "values": plain_numbers(found.values),
        "values_in_units": plain_numbers(found.order.in_units(found.values)),
        "key": plain_numbers(found.key),
        "chances": plain_numbers(found.chances.rates),
        "chance_of_all": plain_numbers([found.chances.overall])[0],
        "satisfied": found.satisfied.tolist(),
        "gamma": found.gamma,
        "criterion": found.criterion,
        "states_with_budgets": len(found.policy.augmented.state),
    }
