"""An order meets a task: names are matched, and whatever comes out has the order's sequence."""

from typing import Any, TypeVar

from lexicone.models._linear_quadratic import LinearQuadratic
from lexicone.models._mdp import MDP
from lexicone.order import Criterion, Order, OrderLike, as_order, match_names

__all__ = ["check_criterion", "criterion_of", "match_order", "match_places", "names_of_rewards"]

Model = TypeVar("Model", MDP, LinearQuadratic)


def match_order(
    mdp: Model,
    order: OrderLike,
    *,
    gamma: float = 1.0,
    name: str = "order",
    criterion: Criterion | None = "expected",
) -> tuple[Model, Order]:
    """The order, and the model with its objectives in the order's sequence.

    Where both have names, the same names in another sequence reorder the model; other names are refused, with both
    lists. Amounts per step become totals for this γ. Thresholds have chances if the criterion is ``"chance"``, and only
    then (None: both will do). Everything that computes with a model and an order begins so.
    """
    places, order = match_places(mdp, order, gamma=gamma, criterion=criterion, name=name)
    return (mdp if places == sorted(places) else mdp.reorder(places)), order


def match_places(
    mdp: MDP | LinearQuadratic,
    order: OrderLike,
    *,
    gamma: float = 1.0,
    criterion: Criterion | None = "expected",
    name: str = "order",
) -> tuple[list[int], Order]:
    """Where each of the order's objectives stands in the model, and the order with totals for this γ."""
    order = as_order(order, mdp.num_objectives, name=name).at_gamma(gamma)
    order.in_units([0.0] * len(order))  # an amount per step whose total is unknown is refused now
    if criterion is not None:
        check_criterion(order, criterion, name=name)
    return match_names(order, mdp.objective_names, name=name), order


def names_of_rewards(env: Any) -> tuple[str, ...] | None:
    """The names of a Gymnasium environment's rewards: the attribute ``reward_names`` of it or of what it wraps.

    None if there is none.
    """
    try:
        names = env.get_wrapper_attr("reward_names")
    except AttributeError:
        return None
    return None if names is None else tuple(map(str, names))


def criterion_of(learner: Any) -> Criterion:
    """What thresholds mean to a learner; one that does not say so has them for expected returns."""
    return getattr(learner, "criterion", "expected")


def check_criterion(order: Order, criterion: str, *, name: str = "order") -> None:
    """Refuse an order whose thresholds have chances where nothing heeds them, and one without any where they are asked.

    Everything that takes an order asks this, with ``criterion="expected"`` where it has no other.
    """
    with_chance = [
        label
        for label, level in zip(order.labels, order.levels, strict=True)
        if level.by_distribution
    ]
    if with_chance and criterion != "chance":
        raise ValueError(
            f"{name}: {with_chance[0]} is for a share of episodes (chance=… or worst=…), which only "
            'criterion="chance" heeds, of search or of a learner'
        )
    if criterion == "chance" and len(order) > 1 and not with_chance:
        raise ValueError(
            f'{name}: criterion="chance" needs a threshold with a chance, such as at_least(10, chance=0.95)'
        )
