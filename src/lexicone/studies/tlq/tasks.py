"""Claims 6 to 8: deep sea treasure, where TLQ works; Space Traders and the fruit tree, where it is said to fail."""

import numpy as np
from scipy.stats import binomtest

from lexicone.exact._solve import solve
from lexicone.models._evaluation import evaluate
from lexicone.models._mdp import MDP
from lexicone.models._reachability import steps_from
from lexicone.order import Order
from lexicone.plots._text import describe_choices
from lexicone.qlearning._iterate import tlq_iterate
from lexicone.qlearning._parts import absolute_slack, absolute_threshold, optimal, relative_slack
from lexicone.qlearning._rules import PRESETS, preset
from lexicone.studies.tlq.cells import Cell, Finding, Watch
from lexicone.studies.tlq.settings import Tlq
from lexicone.tasks import deep_sea_treasure, fruit_tree, space_traders
from lexicone.tasks._fruit_tree import fruits_of

__all__ = [
    "claim_fruit_tree",
    "claim_space_traders",
    "claim_treasure",
    "scalarised",
    "shortest_ways",
]


def claim_treasure(config: Tlq, watch: Watch) -> Finding:
    """Claim 6: every point of the concave front by moving τ; linear scalarisation reaches the hull only."""
    mdp = deep_sea_treasure()
    front = shortest_ways(mdp)
    found, mixed = [], []
    for worth, _ in watch(front, "claim 6: deep sea treasure"):
        found.append(tuple(tlq_iterate(mdp, Order([worth]), "gabor").values.tolist()))
        mixed.append(tuple(solve(mdp, Order([worth])).values.tolist()))
    weights = np.linspace(0, 1, 5 * config.points)[:-1]
    linear = sorted({scalarised(mdp, np.array([w, 1 - w])) for w in weights.tolist()})
    matched = sum(np.allclose(a, b) for a, b in zip(found, front, strict=True))
    on_front = [point for point in linear if any(np.allclose(point, other) for other in front)]
    middle = len(front) // 2
    better = solve(mdp, Order([front[middle][0]])).values
    cells = (
        Cell(
            "gabor",
            f"τ={front[middle][0]:g}, γ=1",
            f"treasure {found[middle][0]:g} after {-found[middle][1]:g} steps",
            (),
            found[middle],
            front[middle],
            matched == len(front),
            f"{matched} of {len(front)} Pareto points, one for each τ",
            f"in expectation a mixture of two ways has more, ({better[0]:.4g}, {better[1]:.4g}); without chance this "
            "is the best",
        ),
        Cell(
            "linear scalarisation",
            f"{len(weights)} weights, γ=1",
            " and ".join(f"({a:g}, {b:g})" for a, b in linear),
            (),
            linear[-1],
            front[middle],
            len(on_front) < len(front),
            f"{len(on_front)} of {len(front)} Pareto points",
        ),
    )
    return Finding(
        cells,
        f"TLQ reaches {matched} of {len(front)} points of the concave front by moving τ; linear scalarisation "
        f"{len(on_front)}, its corners.",
        {"front": front, "tlq": found, "linear": linear, "mixed": mixed},
    )


def scalarised(mdp: MDP, weights: np.ndarray) -> tuple[float, ...]:
    """What the policy that is best for a weighted sum of the objectives has of each of them (γ=1)."""
    single = MDP(
        next_state=mdp.next_state,
        probability=mdp.probability,
        reward=mdp.reward @ weights[:, None],
        initial=mdp.initial,
        terminal=mdp.terminal,
        available=mdp.available,
    )
    policy = tlq_iterate(single, Order([]), "gabor").policy
    return tuple(evaluate(mdp, policy).tolist())


def shortest_ways(mdp: MDP) -> list[tuple[float, float]]:
    """(treasure, time) of the shortest way to each treasure, as far as none dominates it."""
    away = steps_from(mdp.graph, mdp.initial > 0)
    worth = np.zeros(mdp.num_states)
    np.maximum.at(worth, mdp.next_state, mdp.reward[..., 0])
    points = sorted((float(worth[s]), -float(away[s])) for s in np.flatnonzero(mdp.terminal))
    return [p for p in points if not any(q[0] >= p[0] and q[1] >= p[1] and q != p for q in points)]


def claim_space_traders(config: Tlq, watch: Watch) -> Finding:
    """Claim 7: a dominated policy. Values are unique, so ties play no part."""
    mdp, order = space_traders(), Order([0.88])
    best = solve(mdp, order, policies="deterministic").values
    mixed = solve(mdp, order).values
    rules = {
        "gabor": ("τ=0.88", PRESETS["gabor"]),
        "unclipped": ("τ=0.88", preset("gabor", update=optimal)),
        "urban": ("δ=0.12", preset("urban", accept=absolute_slack(0.12))),
        "relative": ("η=0.12", preset("relative", accept=relative_slack(0.12))),
        "sarsa": ("τ=0.88", PRESETS["sarsa"]),
        "cyclic": ("τ=0.88, -25", preset("cyclic", accept=absolute_threshold(last=-25))),
        "informed": ("τ=0.88", PRESETS["informed"]),
    }
    cells = []
    for name, (numbers, rule) in watch(list(rules.items()), "claim 7: Space Traders"):
        found = tlq_iterate(mdp, order, rule)
        flights = [describe_choices(mdp, found.policy, s).removesuffix(" 1") for s in (0, 1)]
        cells.append(
            Cell(
                name,
                f"{numbers}, γ=1",
                f"{flights[0]} from A, {flights[1]} from B; {found.status}",
                (),
                tuple(found.values.tolist()),
                tuple(best.tolist()),
                bool(order.better(best, found.values)),
            )
        )
    worse = sum(c.holds for c in cells)
    return Finding(
        tuple(cells),
        f"{worse} of {len(cells)} presets settle on a policy that ({best[0]:.4g}, {best[1]:.4g}) beats: at B "
        f"nothing is known of what was risked on the way there. With chance allowed the "
        f"optimum is ({mixed[0]:.4g}, {mixed[1]:.4g}).",
    )


def claim_fruit_tree(config: Tlq, watch: Watch) -> Finding:
    """Claim 8: thresholds are the desired leaf's own values; exact, and learned with two rates and tolerances."""
    from lexicone.qlearning._learn import tlq

    mdp = fruit_tree(5)
    leaves = fruits_of(mdp)
    chosen = np.random.default_rng(config.seed).permutation(len(leaves))[: config.leaves]
    orders = [Order(leaves[i][:-1]) for i in chosen]
    desired = [leaves[order.argmax(leaves)] for order in orders]
    exact = [tlq_iterate(mdp, order, "gabor").values for order in orders]
    right = sum(
        order.compare(values, wish) == 0
        for order, values, wish in zip(orders, exact, desired, strict=True)
    )
    cells = [
        Cell(
            "gabor, exact",
            f"γ=1, thresholds of {len(orders)} leaves",
            f"the desired leaf for {right} of {len(orders)}",
            (),
            tuple(exact[0].tolist()),
            tuple(desired[0].tolist()),
            right < len(orders),
            reason=""
            if right < len(orders)
            else "the failure is one of learning, not of the method",
        )
    ]
    shares = []
    settings = ((0.1, 1e-9, ""), (0.1, 1e-3, _TOLERANCE), (1.0, 1e-9, _RATE))
    for rate, tolerance, reason in watch(settings, "claim 8: fruit tree, learned"):
        rule = preset("gabor", tie_tolerance=tolerance)
        runs = [
            tlq(
                mdp,
                order,
                rule,
                seeds=config.seeds,
                steps=config.steps,
                learning_rate=rate,
                log_points=1,
                seed=config.seed,
            ).values
            for order in orders
        ]
        hits = [
            np.isclose(values, wish).all(axis=1) for values, wish in zip(runs, desired, strict=True)
        ]
        count = binomtest(int(np.sum(hits)), len(orders) * config.seeds)
        low, high = count.proportion_ci(method="wilson")
        shares.append(count.statistic)
        cells.append(
            Cell(
                "gabor, learned",
                f"γ=1, α={rate:g}, {config.steps} steps, ties within {tolerance:g}",
                f"the desired leaf in {count.k} of {count.n} runs (95 %: {low:.2f} to {high:.2f})",
                (),
                tuple(runs[0][0].tolist()),
                tuple(desired[0].tolist()),
                count.statistic < 0.9,
                f"{len(orders)} leaves × {config.seeds} seeds",
                reason if count.statistic >= 0.9 else "",
            )
        )
    return Finding(
        tuple(cells),
        f"Exact TLQ finds the desired leaf for {right} of {len(orders)}. Learned with α=0.1 it does in "
        f"{shares[0]:.0%} of runs: values come near a threshold that they should equal and stay below it. With a "
        f"tolerance of 0.001 it does in {shares[1]:.0%}, and with α=1, as nothing is random here, in {shares[2]:.0%}.",
    )


_TOLERANCE = "what comes within the tolerance of a threshold counts as equal to it"
_RATE = "a step of 1 makes learned values exact where nothing is random"
