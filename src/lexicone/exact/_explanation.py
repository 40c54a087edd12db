"""A solution in a few sentences: what it has, where it goes, why it flips a coin, what thresholds cost and exclude.

The reason for a coin and the proof of a conflict are both read from the certificate: at the prices of the last stage
all choices of a coin are worth the same; and a threshold that is missed has a stage whose duals bound every policy.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from lexicone._base.text import vector_text
from lexicone.exact._solution_views import action_name
from lexicone.models._evaluation import evaluate
from lexicone.models._matching import match_order
from lexicone.models._mdp import MDP, check_model

if TYPE_CHECKING:
    from lexicone.exact._linear_quadratic import LinearQuadraticSolution
    from lexicone.exact._solution import Solution

__all__ = ["explain_linear_quadratic", "explain_solution", "explain_thresholds", "visited_states"]

_SHOWN = 5  # states, and coins
_NOTHING = 1e-9
_EXACT = 1e-6  # relative: a threshold that is met by less is met exactly


def explain_solution(solution: "Solution", mdp: Any = None) -> str:
    """See `Solution.explain`."""
    if mdp is not None:
        check_model(mdp)
        if (mdp.num_states, mdp.num_actions) != solution.policy.shape:
            raise ValueError(
                f"mdp: has {mdp.num_states} states and {mdp.num_actions} actions, the solution "
                f"{solution.policy.shape[0]} and {solution.policy.shape[1]}"
            )
        mdp, _ = match_order(mdp, solution.order, gamma=solution.gamma, name="mdp")
    lines = [_answer(solution), _visits(solution), *_coins(solution, mdp)]
    lines += [*explain_thresholds(solution), _proof(solution)]
    return "\n".join(line for line in lines if line)


def explain_linear_quadratic(solution: "LinearQuadraticSolution") -> str:
    """The same for a continuous model: a gain instead of states, noise instead of coins."""
    noise = np.sqrt(np.clip(np.diag(solution.noise), 0.0, None))
    lines = [_answer(solution), "Inputs are gain·x, a number for each part of the state."]
    if noise.max(initial=0.0) > _NOTHING:
        lines.append(
            f"It adds noise to them, of deviation {vector_text(noise, brackets=False)}: thresholds hold on average, "
            "and a mixture of inputs meets them exactly."
        )
    lines += [*explain_thresholds(solution), _proof(solution)]
    return "\n".join(lines)


def visited_states(solution: "Solution") -> list[int]:
    """The states that the policy comes to, most visited first; of equals, those with a coin, then by number."""
    visits = solution.occupancy.sum(axis=1)
    coins = set(solution.randomises)
    places = np.flatnonzero(visits > 0).tolist()
    return sorted(places, key=lambda s: (-visits[s].round(9), s not in coins, s))


def _answer(solution: "Solution | LinearQuadraticSolution") -> str:
    order = solution.order
    values = order.in_units(solution.values)
    parts = [
        f"{label} {value:.6g}{level.unit}"
        for label, value, level in zip(solution.labels, values, order.levels, strict=True)
    ]
    if solution.status == "optimal":
        kind = getattr(solution, "policies", "stochastic")
        which = "deterministic policy" if kind == "deterministic" else "policy"
        return f"The best {which} in this order has {', '.join(parts)}."
    return f"{solution.status}: {solution.message}. The policy has {', '.join(parts)}."


def _visits(solution: "Solution") -> str:
    visited, visits = visited_states(solution), solution.occupancy.sum(axis=1)
    if not visited:
        return "It has nothing to decide."
    shown = "; ".join(
        f"{_label(solution, s)}, {_times(visits[s])}, {_choices(solution, s)}"
        for s in visited[:_SHOWN]
    )
    kind = "" if solution.gamma == 1 else "discounted "
    more = f", and {len(visited) - _SHOWN} more" if len(visited) > _SHOWN else ""
    return f"Where it goes, by {kind}visits in an episode: {shown}{more}."


def _times(visits: float) -> str:
    return "for ever" if np.isinf(visits) else f"{visits:.3g}×"


def _label(solution: "Solution", state: int) -> str:
    return solution.state_names[state] if solution.state_names else f"state {state}"


def _choices(solution: "Solution", state: int) -> str:
    shares = solution.policy[state]
    taken = [a for a in np.argsort(-shares, kind="stable").tolist() if shares[a] > _NOTHING]
    if len(taken) == 1:
        return action_name(solution, taken[0])
    return " or ".join(f"{action_name(solution, a)} ({shares[a]:.3g})" for a in taken)


def _coins(solution: "Solution", mdp: MDP | None) -> list[str]:
    """Where it chooses at random, most visited first, and why."""
    coins = set(solution.randomises)
    places = [s for s in visited_states(solution) if s in coins]
    if not places:
        return ["It never flips a coin."]
    lines = [
        f"At {_label(solution, s)} it flips a coin: {_choices(solution, s)}{_pure(solution, mdp, s)}."
        for s in places[:_SHOWN]
    ]
    if len(places) > _SHOWN:
        lines.append(f"It does so at {len(places) - _SHOWN} more states.")
    return [*lines, _why(solution)]


def _pure(solution: "Solution", mdp: MDP | None, state: int) -> str:
    """What each choice would lead to if it were always taken there."""
    if mdp is None:
        return ""
    order, found = solution.order, []
    for action in np.flatnonzero(solution.policy[state] > _NOTHING).tolist():
        policy = solution.policy.copy()
        policy[state] = np.eye(policy.shape[1])[action]
        values = evaluate(mdp, policy, solution.gamma)
        limits = np.array(order.thresholds)
        slack = np.where(np.isfinite(limits), _EXACT * np.maximum(1.0, np.abs(limits)), 0.0)
        short = values[:-1] < limits - slack
        missed = [label for label, misses in zip(solution.labels, short, strict=False) if misses]
        verdict = f"miss {' and '.join(missed)}" if missed else "meet all thresholds"
        had = vector_text(order.in_units(values))
        found.append(f"always {action_name(solution, action)} would have {had} and {verdict}")
    return f"; {', '.join(found)}"


def _why(solution: "Solution") -> str:
    if solution.status != "optimal":
        return "Why is not known for certain: the search did not end with a proven optimum."
    order, labels, last = solution.order, solution.labels, len(solution.order) - 1
    prices = order.prices_in_units(solution.prices)[:, last]
    binding = [j for j in range(last) if np.isfinite(prices[j]) and prices[j] > _NOTHING]
    if not binding:
        return (
            "Why: all these choices keep what is more important and are worth the same after that."
        )
    rates = " and ".join(
        f"{prices[j]:.4g}{order.levels[last].unit} of {labels[last]} for a unit of {labels[j]}"
        for j in binding
    )
    exactly = " and ".join(f"{labels[j]} {order.levels[j].bound}" for j in binding)
    return (
        f"Why: at the price of {rates} these choices are worth the same, and thresholds hold on average, so the shares "
        f"are set to meet {exactly} exactly, no more than needed."
    )


def explain_thresholds(solution: "Solution | LinearQuadraticSolution") -> list[str]:
    """A sentence for each threshold: what it costs, what it leaves to spare, or what keeps it from being met."""
    order, labels = solution.order, solution.labels
    values, prices = order.in_units(solution.values), order.prices_in_units(solution.prices)
    lines = []
    for j, level in enumerate(order.levels[:-1]):
        threshold = order.thresholds[j]
        if threshold == -np.inf:
            lines.append(f"{labels[j]} never matters: its threshold is −∞.")
        elif not solution.satisfied[j]:
            lines.append(_missed(solution, j))
        elif np.isnan(prices[j]).any():
            lines.append(
                f"{labels[j]} {level.bound} is met; deterministic policies have no prices."
            )
        else:
            lines.append(_met(solution, j, values[j], prices[j]))
    return lines


def _met(
    solution: "Solution | LinearQuadraticSolution", j: int, value: float, prices: np.ndarray
) -> str:
    order, labels = solution.order, solution.labels
    level, threshold = order.levels[j], order.thresholds[j]
    spare = solution.values[j] - threshold
    costs = ", ".join(
        f"{prices[i]:.4g}{order.levels[i].unit} of {labels[i]}"
        for i in range(j + 1, len(order))
        if np.isfinite(prices[i]) and prices[i] > _NOTHING
    )
    name = f"{labels[j]} {level.bound}"
    if costs:
        return f"{name} is met and binds: one unit stricter costs at least {costs}."
    if abs(spare) <= _EXACT * max(1.0, abs(threshold)):
        return f"{name} is met exactly; the duals know no price."
    left = abs(value - (level.amount if level.amount is not None else np.inf))
    return f"{name} is met with {left:.4g}{level.unit} to spare and costs nothing."


def _missed(solution: "Solution | LinearQuadraticSolution", j: int) -> str:
    """The conflict, with the inequality that holds for every policy and so proves it."""
    order, labels = solution.order, solution.labels
    label, level = labels[j], order.levels[j]
    bound = np.array(solution.key[: len(order)], dtype=float)
    bound[j] = solution.bound[j]
    best = f"{order.in_units(bound)[j]:.6g}{level.unit}"
    plain = level.amount is None or np.isinf(level.amount)
    goal = "as good as possible" if plain else level.bound
    weights = _weights(solution, j)
    rivals = [i for i in range(j) if weights is not None and weights[i] > _NOTHING]
    if not np.isfinite(solution.bound[j]):
        return f"{label} ({goal}) is not met, and no bound on it is proven."
    keeping = "" if j == 0 else " that keeps what comes before"
    if weights is None or not rivals:
        kind = "deterministic " * (getattr(solution, "policies", "") == "deterministic")
        reached = f"no {kind}policy{keeping} comes further than {best}"
        return (
            f"{label} ({goal}): {reached}."
            if plain
            else f"{label} {goal} cannot be met: {reached}."
        )
    floors = [f"{labels[i]} {_floor(solution, i)}" for i in rivals]
    inequality = _inequality(solution, j, weights, rivals)
    verb = "is kept at" if plain else "cannot be met, it is at"
    needed = "" if plain else _give_way(solution, j, weights, rivals)
    return (
        f"{label} ({goal}) {verb} {best}: it conflicts with {' and '.join(floors)}. The proof: {inequality} for every "
        f"policy{keeping}.{needed}"
    )


def _weights(solution: Any, j: int) -> np.ndarray | None:
    """The duals of objective j's stage; None where there are none."""
    certificate = getattr(solution, "certificate", None)
    for stage in () if certificate is None else certificate.stages:
        if stage.objective == j:
            return stage.weights
    return None


def _floor(solution: Any, i: int) -> str:
    """What is kept of an objective: its threshold, or the most that could be had of it."""
    order = solution.order
    level = order.moved(i, float(solution.key[i])).levels[i]
    return level.bound


def _inequality(solution: Any, j: int, weights: np.ndarray, rivals: list[int]) -> str:
    """``Σ w_i V_i ≤ c`` in the order's units, divided by the weight of objective j's unit."""
    order, labels = solution.order, solution.labels
    signs = np.array([level.sign for level in order.levels])
    steps = np.array([1.0 / abs(x) for x in order.in_units(np.ones(len(order)))])
    total = solution.bound[j] + sum(weights[i] * solution.key[i] for i in rivals)
    rates = {i: float(signs[i] * weights[i] * steps[i] / steps[j]) for i in [*rivals, j]}
    parts = []
    for i in [j, *rivals]:
        rate, sign = abs(rates[i]), "−" if rates[i] < 0 else "+"
        factor = "" if abs(rate - 1) < _NOTHING else f"{rate:.6g}·"
        head = f" {sign} " if parts else ("−" if sign == "−" else "")
        parts.append(f"{head}{factor}{labels[i]}")
    return f"{''.join(parts)} ≤ {total / steps[j] + 0.0:.6g}"


def _give_way(solution: Any, j: int, weights: np.ndarray, rivals: list[int]) -> str:
    """By how much one of the others would have to give way, by the duals; nothing where some are missed already."""
    order, labels = solution.order, solution.labels
    short = order.thresholds[j] - solution.bound[j]
    if not np.isfinite(short) or not solution.satisfied[:j].all():
        return ""
    steps = np.array([1.0 / abs(x) for x in order.in_units(np.ones(len(order)))])
    ways = [
        f"{labels[i]} would have to give way by {short / weights[i] / steps[i]:.4g}{order.levels[i].unit}"
        for i in rivals
    ]
    return f" At this rate {', or '.join(ways)}."


def _proof(solution: "Solution | LinearQuadraticSolution") -> str:
    gap = float(np.max(np.maximum(solution.gap, 0.0), initial=0.0))
    if solution.status != "optimal":
        return ""
    if getattr(solution, "policies", "stochastic") == "deterministic":
        return "How sure: the search went through all deterministic policies that could be better."
    size = "nothing" if gap < 1e-12 else f"at most {gap:.1e}"
    return f"How sure: duals bound every policy; {size} is left unproven."
