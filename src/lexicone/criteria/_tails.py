"""The mean over the worst share α of episodes: the conditional value-at-risk, after Rockafellar and Uryasev (2000).

    CVaR_α(R) = max_b  b + (E[min(R, b)] − b)/α

For a fixed b that is linear in how often actions are taken, once budgets are in the state: a threshold of b in place
of τ. A policy's best b is one of its returns. So with finitely many returns each b is tried, and the best in
lexicographic order wins: for no b is a key better than with the policy's true value, and for one it is the same.
"""

import math
from itertools import product

import numpy as np
from jaxtyping import Float
from scipy import sparse

from lexicone.criteria._budgets import BudgetsNotEnumerable, possible_steps
from lexicone.models._mdp import MDP
from lexicone.models._reachability import strong_components
from lexicone.order import Order

__all__ = ["attainable_totals", "cuts_to_try"]

_MOST_CUTS = 2_000  # problems to solve, each with its own model


def cuts_to_try(mdp: MDP, order: Order, gamma: float, max_states: int) -> list[dict[int, float]]:
    """A b for each objective that is about the worst episodes, all combinations; one empty one without any."""
    asked = [j for j, level in enumerate(order.levels) if level.worst is not None]
    if asked and gamma < 1:
        raise ValueError(
            "gamma: the mean of the worst episodes is known without a discount only; take gamma=1"
        )
    totals = [attainable_totals(mdp, j, max_states) for j in asked]
    count = math.prod(map(len, totals))
    if count > _MOST_CUTS:
        raise BudgetsNotEnumerable(
            f"order: the worst episodes take {count:,} problems, one for each return that an episode can have of "
            f"{' and '.join(order.labels[j] for j in asked)}, and {_MOST_CUTS:,} are the most; round rewards to a "
            "common unit"
        )
    return [dict(zip(asked, map(float, chosen), strict=True)) for chosen in product(*totals)]


def attainable_totals(mdp: MDP, objective: int, max_states: int) -> Float[np.ndarray, " n"]:
    """Every total of an objective with which an episode can end; where one can go round for ever, any on the way."""
    steps = possible_steps(mdp)
    paid = steps.reward[:, objective]
    unit = 1e-9 * max(float(np.abs(paid).max(initial=0.0)), 1e-300)
    first = np.searchsorted(steps.source, np.arange(mdp.num_states + 1))
    seen: dict[tuple[int, int], float] = {}
    places = [(int(s), 0.0) for s in np.flatnonzero(mdp.initial)]
    while places:
        new = []
        for s, t in places:
            place = (s, round(t / unit))
            if place not in seen:
                seen[place] = t
                new.append((s, t))
        if len(seen) > max_states:
            raise BudgetsNotEnumerable(
                f"max_states: more than {max_states} states with totals of objective {objective + 1} "
                f"({mdp.objective_labels[objective]}); the mean of the worst episodes needs finitely many returns. "
                "Round its rewards to a common unit, or let no loop pay or cost it"
            )
        places = [
            (int(steps.target[edge]), t + float(paid[edge]))
            for s, t in new
            for edge in range(first[s], first[s + 1])
        ]
    shape = (mdp.num_states, mdp.num_states)
    edges = (np.ones(len(paid), dtype=bool), (steps.source, steps.target))
    label, _ = strong_components(sparse.csr_array(edges, shape=shape))
    loops = mdp.terminal | (np.bincount(label)[label] > 1)
    loops[steps.source[steps.source == steps.target]] = True
    return np.array(sorted({n: t for (s, n), t in seen.items() if loops[s]}.values()))
