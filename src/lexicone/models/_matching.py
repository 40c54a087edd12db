"""An order meets a task: names are matched, and whatever comes out has the order's sequence."""

from typing import Any, TypeVar

from lexicone.models._linear_quadratic import LinearQuadratic
from lexicone.models._mdp import MDP
from lexicone.order import Order, OrderLike, as_order, match_names

__all__ = ["match_order", "names_of_rewards"]

Model = TypeVar("Model", MDP, LinearQuadratic)


def match_order(
    mdp: Model, order: OrderLike, *, gamma: float = 1.0, name: str = "order"
) -> tuple[Model, Order]:
    """The order, and the model with its objectives in the order's sequence.

    Where both have names, the same names in another sequence reorder the model; other names are refused, with both
    lists. Amounts per step become totals for this γ. Everything that computes with a model and an order begins so.
    """
    order = as_order(order, mdp.num_objectives, name=name).at_gamma(gamma)
    order.in_units([0.0] * len(order))  # an amount per step whose total is unknown is refused now
    places = match_names(order, mdp.objective_names, name=name)
    return (mdp if places == sorted(places) else mdp.reorder(places)), order


def names_of_rewards(env: Any) -> tuple[str, ...] | None:
    """The names of a Gymnasium environment's rewards: the attribute ``reward_names`` of it or of what it wraps.

    None if there is none.
    """
    try:
        names = env.get_wrapper_attr("reward_names")
    except AttributeError:
        return None
    return None if names is None else tuple(map(str, names))
