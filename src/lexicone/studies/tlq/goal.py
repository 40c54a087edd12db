"""Claims 1 to 3: on the small maze TLQ does not go around the bad tiles to G (appendix "Failing to Reach the Goal").

The way that is wanted, ``(1,0) → (2,0) → (2,1) → (2,2) → (1,2)``, needs two steps more than the one through a bad tile.
With R=1 absolute slack needs ``γ(1−γ²) ≤ δ`` to leave (1,0) by it and ``δ < 1−γ`` to enter G: both only for
``γ < (√5−1)/2``.
"""

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from lexicone.exact._solve import solve
from lexicone.models._evaluation import evaluate, state_values
from lexicone.models._mdp import MDP
from lexicone.order import Order
from lexicone.qlearning._iterate import tlq_iterate
from lexicone.qlearning._parts import absolute_slack, informed, optimal, relative_slack
from lexicone.qlearning._rules import PRESETS, Rule, preset
from lexicone.studies.tlq.cells import (
    Cell,
    Finding,
    Tally,
    Watch,
    acceptance_levels,
    cell,
    policies_of,
    slack_rules,
    sweep,
    walk,
)
from lexicone.studies.tlq.settings import Tlq
from lexicone.tasks import maze

__all__ = ["GOLDEN", "ROUTE", "boundary", "claim_goal", "claim_other_reward", "claim_undiscounted"]

ROUTE = ("(1,0)", "(2,0)", "(2,1)", "(2,2)", "(1,2)")
GOLDEN = (math.sqrt(5) - 1) / 2
GAMMAS = (0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
UNCLIPPED = preset("gabor", update=optimal)


def claim_goal(config: Tlq, watch: Watch) -> Finding:
    """Claim 1: swept over τ, δ, η and γ; a map over γ and δ; the largest γ at which some δ works."""
    mdp, gamma = maze("small"), 0.9
    shown = {
        "gabor": (PRESETS["gabor"], f"τ={gamma**3:g}"),
        "unclipped": (UNCLIPPED, f"τ={gamma**3:g}"),
        "urban": _slack("urban", gamma * (1 - gamma**2)),
        "relative": _slack("relative", 1 - gamma**2),
    }
    cells, below, above = _cells(mdp, Order([gamma**3]), gamma, shown, GAMMAS, watch)
    gammas = np.linspace(0.3, 0.9, config.points)
    slacks = np.linspace(0, 0.7, config.points)
    region = [
        [
            sweep(mdp, [(Order([1.0]), preset("urban", accept=absolute_slack(d)))], g, ROUTE)
            for d in slacks
        ]
        for g in watch(gammas.tolist(), "claim 1: map over γ and δ")
    ]
    edge = boundary(mdp)
    inside = [
        t.lucky
        for g, row in zip(gammas, region, strict=True)
        for d, t in zip(slacks, row, strict=True)
        if g * (1 - g**2) - 1e-9 <= d < 1 - g - 1e-9
    ]
    lucky = sum(t.lucky for row in region for t in row)
    most = max(t.reached for row in region for t in row)
    return Finding(
        cells,
        f"No setting with γ ≥ {GOLDEN:.3f} gives the way that is wanted ({above}, under any of 25 ways to break ties). "
        f"Below that absolute slack does ({below['urban']}), up to γ={edge:.4f} by bisection over all slacks "
        f"(analysis: {GOLDEN:.4f}), and then only under {most} of 25 ways to break ties. On the map {lucky} points "
        f"work, {sum(inside)} of the {len(inside)} within γ(1−γ²) ≤ δ < 1−γ and "
        f"{lucky - sum(inside)} outside it.",
        {
            "gammas": gammas.tolist(),
            "slacks": slacks.tolist(),
            "reached": [[t.reached for t in row] for row in region],
            "boundary": edge,
            "values": _promised_and_real(mdp, gamma),
        },
    )


def _promised_and_real(mdp: MDP, gamma: float) -> dict[str, list[list[float]]]:
    """Values ``[S,K]``: what absolute slack promises, what its policy really has, and the same of two other presets."""
    slack = gamma * (1 - gamma**2)
    columns = {}
    for name, rule in (
        (f"urban, δ={slack:.3g}", preset("urban", accept=absolute_slack(slack))),
        ("gabor, τ=0.7", preset("gabor")),
        ("informed, τ=0.7, b=0.05", preset("informed", update=informed(0.05))),
    ):
        found = tlq_iterate(mdp, Order([0.7]), rule, gamma=gamma)
        if not columns:
            columns[f"{name}: promised"] = np.einsum("sa,sak->sk", found.policy, found.q).tolist()
        columns[f"{name}: real"] = state_values(mdp, found.policy, gamma=gamma).tolist()
    return columns


def boundary(mdp: MDP, low: float = 0.5, high: float = 0.7, width: float = 1e-5) -> float:
    """The largest γ at which absolute slack can give the route, by bisection; all slacks are tried at each γ."""

    def works(gamma: float) -> bool:
        levels = acceptance_levels(mdp, gamma, "slack")
        rules = slack_rules(PRESETS["urban"], levels, "slack")
        return any(sweep(mdp, [(Order([1.0]), rule)], gamma, ROUTE).lucky for rule in rules)

    while high - low > width:
        middle = (low + high) / 2
        low, high = (middle, high) if works(middle) else (low, middle)
    return low


def claim_undiscounted(config: Tlq, watch: Watch) -> Finding:
    """Claim 2: γ=1 and a threshold; all values of the first objective are τ."""
    mdp, timed = maze("small"), maze("small", ("goal", "tiles", "time"))
    cells, alike, arrived, tried = [], True, 0, 0
    for threshold in watch((0.5, 1.0), "claim 2: without discounting"):
        order = Order([threshold])
        best = solve(mdp, order).values
        fixed = tlq_iterate(mdp, order, "gabor")
        q = fixed.q[~mdp.terminal][..., 0]
        alike = alike and bool((q == threshold).all())
        ends = [walk(mdp, actions).ends == "goal" for actions in policies_of(fixed)]
        arrived, tried = arrived + sum(ends), tried + len(ends)
        drift = tlq_iterate(mdp, order, preset("gabor", ties="random"))
        steps = 1 - evaluate(timed, drift.policy)[2]
        cells += [
            cell(
                "gabor",
                f"τ={threshold:g}, γ=1, ties by any fixed order",
                mdp,
                fixed,
                best,
                not any(ends),
                swept=f"{sum(ends)} of {len(ends)} ways to break ties reach G",
            ),
            cell(
                "gabor",
                f"τ={threshold:g}, γ=1, ties at random",
                mdp,
                drift,
                best,
                bool(drift.values[0] < threshold - 1e-9),
                reason=f"a random walk among equal actions meets G in the end, after {steps:.0f} steps on average",
            ),
        ]
    said = "All actions have the value τ" if alike else "Some actions differ in value"
    drifted = sum(not each.holds for each in cells[1::2])
    return Finding(
        tuple(cells),
        f"{said}, and {arrived} of {tried} fixed ways to break ties reach G. The claim is one about ties: broken at "
        f"random they lead to G for {drifted} of {len(cells) // 2} τ, without a bad tile but not soon.",
    )


def claim_other_reward(config: Tlq, watch: Watch) -> Finding:
    """Claim 3: R₁′ is −1 for each step that does not enter G."""
    mdp = maze("small", "endpoint-time")
    shown = {
        "gabor": (PRESETS["gabor"], "τ=-3"),
        "unclipped": (UNCLIPPED, "τ=-3"),
        "urban": _slack("urban", 2.0),
        "relative": _slack("relative", 1.0),
    }
    cells, below, above = _cells(mdp, Order([-3.0]), 1.0, shown, (*GAMMAS, 1.0), watch)
    return Finding(
        cells,
        f"No setting with γ ≥ {GOLDEN:.3f}, 1 included, gives the way that is wanted ({above}). Below it slacks do as "
        f"before (urban {below['urban']}; relative {below['relative']}: entering G has the value 0, of which every "
        f"share is 0, so no detour is accepted there), thresholds in {below['gabor'].plus(below['unclipped'])}.",
    )


def _slack(name: str, amount: float) -> tuple[Rule, str]:
    if name == "urban":
        return preset("urban", accept=absolute_slack(amount)), f"δ={amount:.4g}"
    return preset("relative", accept=relative_slack(amount)), f"η={amount:.4g}"


def _cells(
    mdp: MDP,
    order: Order,
    gamma: float,
    shown: dict[str, tuple[Rule, str]],
    gammas: tuple[float, ...],
    watch: Watch,
) -> tuple[tuple[Cell, ...], dict[str, Tally], Tally]:
    """A cell for each preset, its tally below the golden ratio, and the tally of all from there on."""
    best = solve(mdp, order, gamma=gamma).values
    below, above = dict.fromkeys(shown, Tally()), dict.fromkeys(shown, Tally())
    for g in watch(gammas, f"sweep over τ, δ and η ({mdp.objective_labels[0]})"):
        for name, (rule, _) in shown.items():
            tally = sweep(mdp, _SETTINGS[name](mdp, order, rule, g), g, ROUTE)
            side = below if g < GOLDEN else above
            side[name] = side[name].plus(tally)
    cells = tuple(
        cell(
            name,
            f"{numbers}, γ={gamma:g}",
            mdp,
            tlq_iterate(mdp, order, rule, gamma=gamma),
            best,
            above[name].lucky == 0,
            swept=f"{above[name]} settings with γ ≥ {GOLDEN:.3f}, {below[name]} below",
        )
        for name, (rule, numbers) in shown.items()
    )
    total = Tally()
    for tally in above.values():
        total = total.plus(tally)
    return cells, below, total


def _by_threshold(mdp: MDP, order: Order, rule: Rule, gamma: float) -> list[tuple[Order, Rule]]:
    """All values of q₁ as thresholds, and what lies between them."""
    levels = acceptance_levels(mdp, gamma, "threshold")
    between = [(a + b) / 2 for a, b in pairwise(levels)]
    return [(Order([t]), rule) for t in levels + between]


def _by_slack(kind: str) -> Callable[[MDP, Order, Rule, float], list[tuple[Order, Rule]]]:
    def settings(mdp: MDP, order: Order, rule: Rule, gamma: float) -> list[tuple[Order, Rule]]:
        levels = acceptance_levels(mdp, gamma, kind)
        return [(order, changed) for changed in slack_rules(rule, levels, kind)]

    return settings


_SETTINGS = {
    "gabor": _by_threshold,
    "unclipped": _by_threshold,
    "urban": _by_slack("slack"),
    "relative": _by_slack("ratio"),
}
