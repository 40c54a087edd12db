"""The report of an exact solution, of a table or of a continuous model."""

from typing import Any

import numpy as np

from lexicone import plots
from lexicone._base.html import paragraphs, table
from lexicone.exact._explanation import explain_thresholds, visited_states
from lexicone.exact._front import sensitivity
from lexicone.exact._linear_quadratic import LinearQuadraticSolution
from lexicone.exact._one_more import one_more
from lexicone.exact._solution import Solution
from lexicone.exact._solution_views import action_name
from lexicone.exact._solver import Solver
from lexicone.exact._tables import PRICE_COLUMN, solution_rows
from lexicone.models._matching import match_places
from lexicone.models._mdp import MDP, decision_states
from lexicone.proofs._verify import verify
from lexicone.reports._common import Origin, again, goal_in_words, in_python, made, question
from lexicone.reports._page import Section, badge, page
from lexicone.reports._pictures import Pictures

__all__ = ["answer_badges", "cost_section", "solution_page"]

_STATES_MOVED = 400  # up to which thresholds are moved, to draw what they cost
_STATES_PROVEN = 20_000  # up to which the solution is verified once more
_STATES_LISTED = 25
_POINTS = 15
_PROVEN = {True: "proven", False: "NOT PROVEN", None: "not looked at"}


def solution_page(
    solution: Solution | LinearQuadraticSolution, mdp: MDP | None, origin: Origin, title: str
) -> str:
    """All of it; without the model, without its pictures and the second proof."""
    pictures = Pictures()
    exact = isinstance(solution, Solution)
    policies = f"Policies may be {solution.policies} ones only." if exact else ""
    if exact and solution.policies == "stochastic":
        policies = "Policies may choose at random."
    sections = [
        question(solution.order, solution.labels, solution.criterion, solution.gamma, policies),
        _answer(solution, mdp, pictures),
        cost_section(solution, mdp, pictures),
        _conduct(solution) if exact else _gain(solution),
        _certainty(solution, mdp),
        again(origin, _settings(solution), _python(solution)),
    ]
    values = zip(solution.labels, solution.order.in_units(solution.values), strict=True)
    lead = f"The exact optimum has {', '.join(f'{label} {v + 0.0:.6g}' for label, v in values)}."
    if solution.status != "optimal":
        lead = f"No proven optimum ({solution.status}): {solution.message}."
    return page(title, lead, sections, made())


def answer_badges(solution: Any) -> str:
    """Which thresholds are met, and how the search ended."""
    order, labels = solution.order, solution.labels
    marks = [badge(solution.status, solution.status == "optimal")]
    for label, level, met in zip(labels, order.levels, solution.satisfied, strict=False):
        if level.amount is not None and np.isfinite(level.amount):
            marks.append(badge(f"{label} {level.bound}: {'met' if met else 'missed'}", bool(met)))
    return f"<p>{''.join(marks)}</p>"


def _answer(solution: Any, mdp: MDP | None, pictures: Pictures) -> Section:
    head = ("objective", "threshold", "value", "", PRICE_COLUMN)
    parts = [answer_badges(solution), table(head, solution_rows(solution))]
    if isinstance(solution, Solution):
        fits = mdp if mdp is not None and _fits(solution, mdp) else None
        told = solution.explain(fits).splitlines()
        parts.append(
            paragraphs("\n".join(line for line in told if "coin" in line or "Why" in line))
        )
        if fits is not None:
            drawn = plots.draw_model(fits, solution.policy, solution.occupancy)
            where = "on the map" if fits.layout is not None else "as a graph of states"
            tiles = "" if fits.layout is None else _tiles("".join(fits.layout.rows))
            caption = (
                f"What the policy does, {where}: arrows where it goes, wider the more likely, with the probability "
                f"where it flips a coin.{tiles}"
            )
            parts.append(pictures.show(drawn, caption))
    else:
        parts.append(paragraphs(solution.explain()))
    return Section("The answer", parts)


def cost_section(solution: Any, mdp: MDP | None, pictures: Pictures) -> Section:
    """Each threshold in a sentence, and the optimum as it moves where the model is small enough."""
    parts = [paragraphs("\n".join(explain_thresholds(solution)))]
    small = (
        mdp is not None
        and isinstance(solution, Solution)
        and solution.policies == "stochastic"
        and _fits(solution, mdp)
        and int(decision_states(mdp).sum()) <= _STATES_MOVED
    )
    if small:
        assert mdp is not None
        parts.append(paragraphs("\n".join(_one_more(solution, mdp))))
    for j in range(len(solution.order) - 1 if small else 0):
        if not np.isfinite(solution.order.thresholds[j]):
            continue
        try:
            assert mdp is not None
            moved = sensitivity(mdp, solution.order, j, gamma=solution.gamma, points=_POINTS)
        except ValueError:  # it has no finite range
            continue
        if np.ptp(moved.thresholds) <= 1e-9 * max(1.0, float(np.abs(moved.thresholds).max())):
            continue  # it has one value, whatever is asked
        label = solution.labels[j]
        caption = (
            f"The optimum as the threshold of {label} moves and all others stay: {label} itself, then what pays for "
            "it. Dotted: as it was asked for. Grey: it cannot be met."
        )
        parts.append(pictures.show(plots.draw_sensitivity(moved, solution.labels), caption))
    return Section("What each threshold costs", parts)


def _tiles(seen: str) -> str:
    """What letters on a map mean."""
    kinds = {"S": "S the start", "G": "G the goal", "H": "HH and hh bad tiles", "#": "dark a wall"}
    told = [words for tile, words in kinds.items() if tile in seen]
    return f" {', '.join(told)}." if told else ""


def _one_more(solution: Solution, mdp: MDP) -> list[str]:
    """What the optimum would be if a little more were asked, one threshold at a time."""
    order, lines = solution.order, []
    places, _ = match_places(mdp, order, gamma=solution.gamma)
    model = mdp.reorder(places)
    solver = Solver(model, solution.gamma)
    for j, label in enumerate(solution.labels[:-1]):
        found = one_more(model, solution, j, solver.solve)
        if found is None:
            continue
        now = goal_in_words(order.levels[j], False)
        if not found.unit:
            lines.append(f"Stricter cannot be asked of {label}: {now} is the best there is.")
            continue
        asked = min(order.thresholds[j] + found.unit, found.most)
        then = goal_in_words(order.moved(j, asked).levels[j], False)
        before, after = order.in_units(solution.values), order.in_units(found.values)
        lost = [
            f"{solution.labels[i]} would be {after[i] + 0.0:.6g} instead of {before[i] + 0.0:.6g}"
            for i in np.flatnonzero(found.costs)
        ]
        costs = ", ".join(lost) or "nothing else would be lost"
        lines.append(f"If {label} had to be {then} instead of {now}, {costs}.")
    return lines


def _conduct(solution: Solution) -> Section:
    """The most visited states and what is done there."""
    visits = solution.occupancy.sum(axis=1)
    visited = visited_states(solution)
    rows = []
    for s in visited[:_STATES_LISTED]:
        shares = solution.policy[s]
        taken = [a for a in np.argsort(-shares, kind="stable").tolist() if shares[a] > 1e-9]
        done = ", ".join(
            f"{action_name(solution, a)}{'' if len(taken) == 1 else f' {shares[a]:.4g}'}"
            for a in taken
        )
        name = solution.state_names[s] if solution.state_names else str(s)
        often = "for ever" if np.isinf(visits[s]) else f"{visits[s]:.4g}"
        rows.append((name, often, done))
    counted = "visits" if solution.gamma == 1 else "discounted visits"
    kept = min(len(visited), _STATES_LISTED)
    note = f"The {kept} most visited of {len(visited)} states that it comes to, of {len(visits):,} in all."
    head = ("state", f"{counted} in an episode", "what it does there")
    return Section("What the policy does", [paragraphs(note), table(head, rows)])


def _gain(solution: LinearQuadraticSolution) -> Section:
    rows = [[f"{x:.6g}" for x in row] for row in solution.gain]
    note = "Inputs are u = gain · x, plus noise where it is not 0. A row for each input, a column for each part of x."
    return Section("What the policy does", [paragraphs(note), table((), rows)])


def _certainty(solution: Any, mdp: MDP | None) -> Section:
    """The bound beside the value; and the claims, proven apart from the solver."""
    order = solution.order
    values, bound = order.in_units(solution.values), order.in_units(solution.bound)
    rows = [
        (label, f"{values[k]:.10g}", f"{bound[k]:.10g}", f"{max(solution.gap[k], 0.0):.2g}")
        for k, label in enumerate(solution.labels)
    ]
    head = ("objective", "value", "no policy has better than", "left unproven")
    note = (
        "Nothing here is an estimate: prices of the thresholds (duals) bound every policy, also those that were never "
        "looked at. A bound is on the objective cut at its threshold, given what comes before."
    )
    parts = [paragraphs(note), table(head, rows)]
    if mdp is not None and isinstance(solution, Solution) and mdp.num_states <= _STATES_PROVEN:
        found = verify(mdp, solution)
        shown = [(claim.name, _PROVEN[claim.holds], claim.text) for claim in found.claims]
        parts += [
            f"<p>{badge('verified' if found.ok else 'not verified', bool(found.ok))}</p>",
            paragraphs("Proven once more, apart from the solver, when this page was written:"),
            table(("claim", "", "what is known"), shown),
        ]
    return Section("How sure", parts)


def _settings(solution: Any) -> dict[str, Any]:
    shown = {"γ": solution.gamma, "criterion": solution.criterion, "method": solution.method}
    if isinstance(solution, Solution):
        shown["policies"] = solution.policies
    return shown


def _python(solution: Any) -> str:
    model = "mdp" if isinstance(solution, Solution) else "model"
    gamma = f", gamma={solution.gamma!r}" if isinstance(solution, Solution) else ""
    kind = getattr(solution, "policies", "stochastic")
    which = "" if kind == "stochastic" else f", policies={kind!r}"
    return f"import lexicone as lx\n\nsolution = lx.solve({model}, {in_python(solution.order)}{gamma}{which})"


def _fits(solution: Solution, mdp: MDP) -> bool:
    return solution.policy.shape == (mdp.num_states, mdp.num_actions)
