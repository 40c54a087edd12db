"""What more of a threshold costs: the optimum solved again with the threshold moved.

The duals of `Solution.prices` are slopes of a concave front: one unit more costs at least as much. At a corner of the
front there are two slopes, and a threshold at the most that can be had has none. The difference of two optima says it.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from lexicone.exact._solution import Solution, Status
from lexicone.exact._solve import solve
from lexicone.models._mdp import MDP
from lexicone.order import Order

__all__ = ["OneMore", "one_more"]

_CLOSE = 1e-6
_UNITS = (1.0, 0.1, 0.01, 0.001)


class OneMore(NamedTuple):
    """The optimum if more were asked."""

    most: float
    """To which the threshold could go while those before it stay."""
    unit: float
    """How much more was asked: 1, or what is left; 0 if nothing is."""
    values: Float[np.ndarray, " K"]
    """Of the optimum then."""
    costs: Float[np.ndarray, " K"]
    """What objectives after it lose then; what they have above their thresholds is left out."""


def one_more(
    mdp: MDP,
    solution: Solution,
    j: int,
    solve_again: Callable[[Order], Solution],
    *,
    time_limit: float = np.inf,
    progress: Callable[[str], None] | None = None,
) -> OneMore | None:
    """None for a threshold that is missed or met with something to spare, or if an optimum is not proven.

    Args:
        mdp: the model, its objectives in the sequence of the solution.
        solution: an optimum.
        j: which threshold, from 0.
        solve_again: solves the model for other thresholds.
        time_limit: in seconds, for the search of the most.
        progress: as in `lexicone.solve`.
    """
    limits = np.array(solution.order.thresholds)
    limit, values = limits[j], solution.values
    near = _CLOSE * max(1.0, abs(limit))
    if solution.status is not Status.OPTIMAL or not solution.satisfied[j]:
        return None
    if not np.isfinite(limit) or abs(values[j] - limit) > near:
        return None
    best = solve(
        mdp.reorder(list(range(j + 1))),
        Order(np.minimum(values[:j], limits[:j]).tolist()),
        gamma=solution.gamma,
        time_limit=time_limit,
        progress=progress,
    )
    if best.status is not Status.OPTIMAL:
        return None
    most = float(best.values[-1])
    rest = most - limit
    if rest <= near:
        return OneMore(most, 0.0, values, np.zeros(len(values)))
    unit = next((u for u in _UNITS if u <= rest + _CLOSE), rest)
    limits[j] = min(limit + unit, most)
    then = solve_again(Order(limits.tolist(), names=solution.order.names))
    if then.status is not Status.OPTIMAL:
        return None
    cut = np.append(solution.order.thresholds, np.inf)
    with np.errstate(invalid="ignore"):  # thresholds of −∞ cut all to nothing
        costs = np.nan_to_num(np.minimum(values, cut) - np.minimum(then.values, cut))
    costs[: j + 1] = 0.0
    costs[np.abs(costs) <= _CLOSE * np.maximum(1.0, np.abs(values))] = 0.0
    return OneMore(most, unit, then.values, costs)
