"""Claim 5: TL-SARSA, cyclic selection and informed targets (appendix "Variations to TLQ")."""

from collections import Counter
from typing import Any

import numpy as np

from lexicone._base.text import vector_text
from lexicone.exact._solve import solve
from lexicone.models._mdp import MDP
from lexicone.order import Order
from lexicone.qlearning._iterate import Iteration, tlq_iterate
from lexicone.qlearning._parts import absolute_slack, informed, taken
from lexicone.qlearning._rules import Rule, preset
from lexicone.studies.tlq.cells import (
    Cell,
    Finding,
    Watch,
    actions_of,
    cell,
    names,
    policies_of,
    walk,
)
from lexicone.studies.tlq.goal import ROUTE
from lexicone.studies.tlq.settings import Tlq
from lexicone.tasks import maze

__all__ = ["CYCLIC", "OSCILLATIONS", "claim_variants", "record"]

GAMMA = 0.9
THRESHOLDS = tuple(k / 10 for k in range(1, 11))
OSCILLATIONS = {
    "TL-SARSA, τ=0.5": ("(2,2)", 0.5, preset("sarsa")),
    "informed, τ=0.7, no buffer": ("(0,0)", 0.7, preset("informed")),
    "informed, τ=0.7, buffer 0.05": ("(0,0)", 0.7, preset("informed", update=informed(0.05))),
}
"""The runs that the figure shows sweep by sweep: a state to watch, threshold and rule."""
CYCLIC = {
    "cyclic": preset("cyclic"),
    "cyclic, targets of what it does": preset("cyclic", update=taken),
}
_SWEEPS = 40  # of each run in the figure


def claim_variants(config: Tlq, watch: Watch) -> Finding:
    """TL-SARSA oscillates; cyclic selection needs luck; informed targets work, oscillate, and depend on the start."""
    mdp = maze("small")
    maps, lucky = _cyclic_maps(mdp, config.points, watch)
    starts, tables = _starts(mdp, config, watch)
    cells = (
        *_sarsa(mdp),
        *_cyclic(mdp, lucky, config.points**2),
        *_informed(mdp),
        *starts,
    )
    (known, unknown), pairs = lucky.values(), config.points**2
    return Finding(
        cells,
        f"TL-SARSA {cells[0].swept}. Cyclic selection with optimistic values works in {known} of {pairs} pairs of "
        f"slacks ({cells[3].reason}: Down stays there); with targets of what it really does next, in {unknown}. "
        f"Informed targets solve the maze if ties go by the first objective, and a buffer stops their oscillation. "
        f"Their result depends on the initial values for γ=1 ({tables[1]} results from {config.tables} random "
        f"tables), but with γ={GAMMA} there is {tables[0]}.",
        {
            "slacks": [_first_slacks(config.points), _second_slacks(config.points)],
            "maps": maps,
            "runs": {
                name: record(mdp, state, Order([threshold]), rule, GAMMA)
                for name, (state, threshold, rule) in OSCILLATIONS.items()
            },
        },
    )


def record(mdp: MDP, state: str, order: Order, rule: Rule, gamma: float) -> dict[str, Any]:
    """The policy, and q₁ of one state, after each of the first sweeps. For updates that do not clip."""
    number = names(mdp, range(mdp.num_states)).index(state)
    table: Any = 0.0
    policies, values = [], []
    for _ in range(_SWEEPS):
        run = tlq_iterate(mdp, order, rule, gamma=gamma, initial=table, max_sweeps=1)
        table = run.q
        policies.append(actions_of(run.policy).tolist())
        values.append(run.q[number, :, 0].tolist())
    return {
        "state": state,
        "threshold": order.thresholds[0],
        "policies": policies,
        "q1": values,
    }


def _is_route(mdp: MDP, found: Iteration) -> bool:
    """Whether what it ends with, all of a cycle, goes as wanted."""
    policies = found.cycle if len(found.cycle) else found.policy[None]
    return all(names(mdp, walk(mdp, actions_of(policy)).states) == ROUTE for policy in policies)


def _sarsa(mdp: MDP) -> list[Cell]:
    cells = []
    for ties in ("first", "random", "by_objective"):
        rule = preset("sarsa", ties=ties)
        runs = {t: tlq_iterate(mdp, Order([t]), rule, gamma=GAMMA) for t in THRESHOLDS}
        periods = {t: run.period for t, run in runs.items() if run.status == "cycle"}
        right = sum(_is_route(mdp, run) for run in runs.values())
        cells.append(
            cell(
                "sarsa",
                f"τ=0.5, γ={GAMMA}, ties {ties}",
                mdp,
                runs[0.5],
                solve(mdp, Order([0.5]), gamma=GAMMA).values,
                len(periods) > 0,
                swept=f"cycles for {len(periods)} of {len(runs)} τ (periods {_span(periods)}); "
                f"the way that is wanted for {right}",
                reason=""
                if ties != "by_objective"
                else "these ties are what informed targets need",
            )
        )
    return cells


def _cyclic(mdp: MDP, lucky: dict[str, int], pairs: int) -> list[Cell]:
    cells = []
    for name, rule in CYCLIC.items():
        shown = Rule(rule.update, absolute_slack([0.3, 1.0]), rule.select)
        found = tlq_iterate(mdp, Order([1.0]), shown, gamma=GAMMA)
        start, q = int(mdp.initial.argmax()), found.q[..., 0]
        down, right = (
            (mdp.action_names or ()).index("Down"),
            (mdp.action_names or ()).index("Right"),
        )
        cells.append(
            cell(
                name,
                f"δ=0.3, 1, γ={GAMMA}",
                mdp,
                found,
                solve(mdp, Order([GAMMA**3]), gamma=GAMMA).values,
                0 < lucky[name] < pairs,
                swept=f"works in {lucky[name]} of {pairs} pairs of slacks",
                reason=f"q₁ at S: Down {q[start, down]:.3f}, Right {q[start, right]:.3f}",
            )
        )
    return cells


def _informed(mdp: MDP) -> list[Cell]:
    cells = []
    for ties in ("by_objective", "first"):
        rule = preset("informed", ties=ties)
        runs = {t: tlq_iterate(mdp, Order([t]), rule, gamma=GAMMA) for t in THRESHOLDS}
        can = {t: run for t, run in runs.items() if t <= GAMMA**3}
        right = sum(_is_route(mdp, run) for run in can.values())
        cells.append(
            cell(
                "informed",
                f"τ=0.5, γ={GAMMA}, ties {ties}",
                mdp,
                runs[0.5],
                solve(mdp, Order([0.5]), gamma=GAMMA).values,
                right > 0,
                swept=f"the way that is wanted for {right} of {len(can)} τ ≤ γ³",
                reason=""
                if right
                else "Left and Right at (2,2) tie: a fixed order takes the wrong one",
            )
        )
    for buffer in (0.0, 0.05):
        found = tlq_iterate(
            mdp, Order([0.7]), preset("informed", update=informed(buffer)), gamma=GAMMA
        )
        cells.append(
            cell(
                "informed",
                f"τ=0.7, γ={GAMMA}, b={buffer:g}",
                mdp,
                found,
                solve(mdp, Order([0.7]), gamma=GAMMA).values,
                (found.status == "cycle") == (buffer == 0),
            )
        )
    return cells


def _starts(mdp: MDP, config: Tlq, watch: Watch) -> tuple[list[Cell], list[int]]:
    """The same rule from random tables: how many different results."""
    cells, counts = [], []
    for threshold, gamma, buffer in ((0.7, GAMMA, 0.05), (1.0, 1.0, 0.1)):
        rng = np.random.default_rng(config.seed)
        rule = preset("informed", update=informed(buffer))
        shape = (mdp.num_states, mdp.num_actions, 2)
        results: Counter[tuple[Any, ...]] = Counter()
        for _ in watch(range(config.tables), f"claim 5: random tables, γ={gamma:g}"):
            table = rng.uniform(-1.0, 1.0, shape)
            found = tlq_iterate(
                mdp, Order([threshold]), rule, gamma=gamma, initial=table, max_sweeps=1000
            )
            results[str(found.status), tuple((found.values + 0.0).round(6).tolist())] += 1
        found = tlq_iterate(mdp, Order([threshold]), rule, gamma=gamma)
        listed = "; ".join(
            f"{n} × {how} {vector_text(values)}" for (how, values), n in results.most_common()
        )
        counts.append(len(results))
        cells.append(
            cell(
                "informed",
                f"τ={threshold:g}, γ={gamma:g}, b={buffer:g}",
                mdp,
                found,
                solve(mdp, Order([threshold]), gamma=gamma).values,
                len(results) > 1,
                swept=f"from {config.tables} random tables: {listed}",
                reason="" if len(results) > 1 else "discounting forgets the initial values",
            )
        )
    return cells, counts


def _cyclic_maps(
    mdp: MDP, points: int, watch: Watch
) -> tuple[dict[str, list[list[int]]], dict[str, int]]:
    """For each pair of slacks what the policy does, as an index of `OUTCOMES`; and how often it is the route."""
    maps, lucky = {}, {}
    for name, rule in CYCLIC.items():
        maps[name] = [
            [
                _outcome(
                    mdp,
                    tlq_iterate(
                        mdp,
                        Order([1.0]),
                        Rule(rule.update, absolute_slack([first, second]), rule.select),
                        gamma=GAMMA,
                        max_sweeps=500,
                    ),
                )
                for first in _first_slacks(points)
            ]
            for second in watch(_second_slacks(points), f"claim 5: {name}")
        ]
        lucky[name] = sum(row.count(0) for row in maps[name])
    return maps, lucky


OUTCOMES = ("way around", "through a bad tile", "never arrives", "oscillates")


def _outcome(mdp: MDP, found: Iteration) -> int:
    if found.status != "converged":
        return 3
    ways = [walk(mdp, actions) for actions in policies_of(found)]
    if any(names(mdp, way.states) == ROUTE for way in ways):
        return 0
    return 1 if ways[0].ends == "goal" else 2


def _first_slacks(points: int) -> list[float]:
    return np.linspace(0, 1, points).tolist()


def _second_slacks(points: int) -> list[float]:
    return np.linspace(0, 6, points).tolist()


def _span(periods: dict[float, int]) -> str:
    return f"{min(periods.values())} to {max(periods.values())}" if periods else "none"
