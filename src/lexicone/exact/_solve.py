"""The exact lexicographic optimum of a model: which policy is best, and a proof that none is better.

Thresholds hold for expected returns: ``criterion="expected"``. Mixtures count: a policy may choose at random.
"""

import time
from collections.abc import Callable
from typing import Any, Literal, cast, get_args, overload

import numpy as np

from lexicone._base.checks import check_function, check_kind, check_range
from lexicone._base.threads import one_thread
from lexicone.exact._linear_quadratic import (
    LinearQuadraticMethod,
    LinearQuadraticSolution,
    solve_linear_quadratic,
)
from lexicone.exact._prepared import Prepared
from lexicone.exact._solution import Policies, Solution, Status
from lexicone.exact._solve_model import Method, Wanted, check_options, solve_prepared
from lexicone.exact._starts import start_policy
from lexicone.models._linear_quadratic import LinearQuadratic
from lexicone.models._matching import match_order
from lexicone.models._mdp import MDP, check_model
from lexicone.order import OrderLike

__all__ = ["Method", "Policies", "Solution", "Status", "solve"]


@overload
def solve(
    mdp: MDP,
    order: OrderLike,
    *,
    gamma: float = 1.0,
    policies: Policies = "stochastic",
    method: Method = "auto",
    tolerance: float = 1e-6,
    time_limit: float = np.inf,
    start: Solution | np.ndarray | None = None,
    progress: Callable[[str], None] | None = None,
) -> Solution: ...


@overload
def solve(
    mdp: LinearQuadratic,
    order: OrderLike,
    *,
    method: Literal["auto"] | LinearQuadraticMethod = "auto",
    tolerance: float = 1e-6,
) -> LinearQuadraticSolution: ...


@one_thread()
def solve(
    mdp: MDP | LinearQuadratic,
    order: OrderLike,
    *,
    gamma: float = 1.0,
    policies: Policies = "stochastic",
    method: Method | LinearQuadraticMethod = "auto",
    tolerance: float = 1e-6,
    time_limit: float = np.inf,
    start: Solution | np.ndarray | None = None,
    progress: Callable[[str], None] | None = None,
) -> Solution | LinearQuadraticSolution:
    """The policy with the best expected returns in the thresholded lexicographic order.

    Stage i maximises ``min(V_i, τ_i)`` among the policies that keep the values of the stages before, the last
    maximises ``V_K``. Thresholds of −∞ never matter, +∞ means: maximise.

    Args:
        mdp: the model. A `LinearQuadratic` has its own gamma and takes no options but ``method`` ("riccati", the
            default, or "sdp", with the extra ``continuous``) and ``tolerance``; it gives a `LinearQuadraticSolution`.
            For an `MDP`, `gamma` below 1 discounts, 1 adds up whole episodes. Then staying for ever where it costs
            nothing counts as an end, and to pay for ever as −∞. That holds for each start by itself: a policy that
            pays for ever from one start, or with any positive probability, is not allowed, even if `evaluate`,
            which nets gains over the start distribution, gives it a finite value.
        order: the thresholds: an `Order`, a list, or a mapping from names. Names are matched with the model's, and
            the result has the order's sequence.
        policies: ``"deterministic"`` searches policies that never choose at random (small models).
        method: ``"lp"``, the linear program on occupancy measures as a whole, ``"columns"``, the same by
            column generation (large models), or ``"auto"``.
        tolerance: on keys, relative to the values' size; a result that the duals do not prove to this accuracy has
            the status "failed". The size is that of the value itself, at least a thousandth of what is gained and
            paid on the way to it, and three tenths of the objective's largest reward. Thresholds are met up to the
            tolerance relative to the threshold, or to what is gained and paid on the way.
        time_limit: in seconds; after that, at the end of the step at hand, the result has the status "limit", with
            the best policy so far and a bound on what a better one could have.
        start: an earlier solution of the same model, for other thresholds or another gamma, to start from; or any
            policy of it, as for `evaluate`. The result is the same, but comes sooner if the two are near. If the time
            is over before that, it is no worse than this policy (unless that chooses at random and may not).
        progress: called with a line of text now and then.
    """
    if isinstance(mdp, LinearQuadratic):
        given = {"gamma": (gamma, 1.0), "policies": (policies, "stochastic")}
        given |= {"time_limit": (time_limit, np.inf), "start": (start, None)}
        return _linear_quadratic(mdp, order, method, tolerance, given)
    check_model(mdp, gamma)
    mdp, order = match_order(mdp, order, gamma=gamma)
    check_function("progress", progress, optional=True)
    check_kind("policies", policies, get_args(Policies))
    check_options(gamma, method, tolerance, time_limit)
    method = cast(Method, method)
    wanted = Wanted(
        order,
        policies,
        cast(Method, method),
        tolerance,
        time.monotonic() + time_limit,
        progress,
        None if start is None else start_policy(mdp, start),
    )
    return solve_prepared(Prepared(mdp, gamma), wanted)


def _linear_quadratic(
    model: LinearQuadratic,
    order: OrderLike,
    method: str,
    tolerance: float,
    given: dict[str, tuple[Any, Any]],
) -> LinearQuadraticSolution:
    for name, (value, default) in given.items():
        plain = isinstance(value, str | float | int | np.generic)
        if value is not default and not (plain and value == default):
            raise ValueError(f"{name}: does not go with a LinearQuadratic model")
    check_kind("method", method, ("auto", *get_args(LinearQuadraticMethod)))
    check_range("tolerance", tolerance, 0, above=True)
    model, order = match_order(model, order, gamma=model.gamma)
    return solve_linear_quadratic(model, order, "sdp" if method == "sdp" else "riccati", tolerance)
