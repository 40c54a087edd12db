"""An order meets a task: names are matched, and whatever comes out has the order's sequence."""

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any, TypeVar

from lexicone.models._linear_quadratic import LinearQuadratic
from lexicone.models._mdp import MDP
from lexicone.order import Order, OrderLike, as_order, match_names

__all__ = ["find_places", "match_order", "names_of_rewards"]

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


def find_places(
    objectives: Any, names: Sequence[str] | None, count: int, name: str = "objectives"
) -> list[int]:
    """The numbers, from 0, of objectives given by name or number; each at most once, at least one."""
    if isinstance(objectives, str | bytes) or not isinstance(objectives, Iterable):
        raise ValueError(f"{name}: expected a list of names or numbers, got {objectives!r}")
    places = []
    for given in objectives:
        if isinstance(given, str) and given in (names or ()):
            places.append(tuple(names or ()).index(given))
        elif (
            isinstance(given, Integral) and not isinstance(given, bool) and 0 <= int(given) < count
        ):
            places.append(int(given))
        else:
            known = f"{', '.join(names)}, or 0 to {count - 1}" if names else f"0 to {count - 1}"
            raise ValueError(f"{name}: there is no {given!r}; there are {known}")
    if not places or len(set(places)) != len(places):
        raise ValueError(f"{name}: expected at least one, each once, got {list(objectives)!r}")
    return places
