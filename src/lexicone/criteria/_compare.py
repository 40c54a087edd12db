"""The best policy of a model under each meaning of a threshold: expected returns, every episode, no coin, a chance."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from lexicone._base.checks import check_range, check_whole
from lexicone.criteria._augment import augmentation
from lexicone.criteria._budgets import BudgetsNotEnumerable
from lexicone.criteria._search import Search, search
from lexicone.exact._deterministic import too_many_states
from lexicone.exact._solution import Solution
from lexicone.exact._solve import solve
from lexicone.models._evaluation import evaluate
from lexicone.models._matching import match_order
from lexicone.models._mdp import MDP, check_model, decision_states
from lexicone.order import Criterion, Order, OrderLike

__all__ = ["EPISODES", "Row", "compare"]

EPISODES = 10_000
"""Sampled for the chances of a model whose budgets are too many."""

_TOLERANCE = 1e-6


class Row(NamedTuple):
    """One criterion and its best policy; without a policy the message says why."""

    name: str
    message: str
    values: Float[np.ndarray, " K"]
    chances: Float[np.ndarray, " K"]
    """Of meeting each threshold, then all together; NaN where that is not known."""
    policy: Float[np.ndarray, "S A"] | None
    """What it does in each state; for a policy with memory on average over its budgets."""
    occupancy: Float[np.ndarray, "S A"] | None
    memory: bool = False
    sampled: bool = False
    """Whether the chances are estimates."""


def compare(
    mdp: MDP,
    order: OrderLike,
    *,
    gamma: float = 1.0,
    max_states: int = 100_000,
    seconds: float = 30.0,
) -> Iterator[Row]:
    """The best policy for ``criterion="expected"``, for ``"episode"``, and the best deterministic one, as they come.

    If the order has thresholds with a chance, the best policy for ``"chance"`` comes fourth; the first three take them
    without.

    In a model without chance a deterministic policy has a single episode, so none is better than the best episode: if
    that takes the same action at each visit of a state, it is the answer. Otherwise branch and bound searches, from
    the best policy for episodes where that is deterministic and stationary.

    Args:
        mdp: the model.
        order: the thresholds; names are matched with the model's, and results have the order's sequence.
        gamma: the discount, in [0, 1].
        max_states: of the augmented model; with more, there is no best policy for episodes.
        seconds: after these, branch and bound is cut short.
    """
    check_model(mdp, gamma)
    mdp, order = match_order(mdp, order, gamma=gamma, criterion=None)
    check_whole(max_states=max_states)
    check_range("seconds", seconds, 0, above=True)
    yield from _without_chances(mdp, order.with_chances(None), gamma, max_states, seconds)
    if any(p is not None for p in order.chances):
        try:
            yield _by_search(mdp, order, "chance", gamma, max_states)[1]
        except BudgetsNotEnumerable as error:
            nothing = np.full(len(order), np.nan)
            yield Row("chance", str(error), nothing, nothing, None, None)


def _by_search(
    mdp: MDP, order: Order, criterion: Criterion, gamma: float, max_states: int
) -> tuple[Search, Row]:
    """The best policy with budgets in its memory."""
    found = search(mdp, order, gamma=gamma, criterion=criterion, max_states=max_states)
    policy, occupancy = found.policy.shadow
    return found, Row(
        criterion,
        found.message,
        found.values,
        _joined(found.chances),
        policy,
        occupancy,
        memory=True,
    )


def _without_chances(
    mdp: MDP, order: Order, gamma: float, max_states: int, seconds: float
) -> Iterator[Row]:
    """Expected, episode, deterministic."""
    nothing = np.full(len(order), np.nan)
    augmented, refusal = None, ""
    try:
        augmented = augmentation(mdp, order, gamma=gamma, max_states=max_states)
    except BudgetsNotEnumerable as error:
        refusal = str(error)

    def stationary(name: str, found: Solution) -> Row:
        chances, sampled = nothing, found.stay is None and augmented is None
        if sampled:
            chances = _sampled(mdp, order, found.policy, gamma)
        elif found.stay is None and augmented is not None:
            chances = _joined(augmented.chances(augmented.spread(found.policy)))
        return Row(
            name,
            found.message,
            found.values,
            chances,
            found.policy,
            found.occupancy,
            sampled=sampled,
        )

    yield stationary("expected", solve(mdp, order, gamma=gamma))
    first = None
    if augmented is None:
        yield Row("episode", refusal, nothing, nothing, None, None)
    else:
        found, row = _by_search(mdp, order, "episode", gamma, max_states)
        yield row
        policy = row.policy
        if policy is not None and (policy.max(axis=1) == 1).all():
            first = policy.argmax(axis=1)
            values = evaluate(mdp, first, gamma)
            same = np.allclose(values, found.values, rtol=_TOLERANCE, atol=_TOLERANCE)
            if same and found.status == "optimal" and _is_deterministic(mdp):
                yield row._replace(name="deterministic", memory=False)
                return
    refusal = too_many_states(int(decision_states(mdp).sum()))
    if refusal:
        yield Row("deterministic", f"the search {refusal}", nothing, nothing, None, None)
    else:
        best = solve(
            mdp, order, gamma=gamma, policies="deterministic", start=first, time_limit=seconds
        )
        yield stationary("deterministic", best)


def _is_deterministic(mdp: MDP) -> bool:
    """Whether one start and one successor of each step are certain, wherever one can get."""
    likeliest = mdp.probability[decision_states(mdp)].max(axis=2)
    return bool(mdp.initial.max() == 1 and (likeliest == 1).all())


def _joined(chances: Any) -> np.ndarray:
    return np.append(chances.rates, chances.overall)


def _sampled(mdp: MDP, order: Order, policy: np.ndarray, gamma: float) -> np.ndarray:
    """Estimates, for models whose budgets are too many."""
    from lexicone.models._simulation import satisfaction, simulate

    return _joined(satisfaction(simulate(mdp, policy, EPISODES, gamma=gamma).returns, order))
