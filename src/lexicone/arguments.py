"""What callers hand over, checked before any work."""

from numbers import Integral
from typing import Any

from lexicone.mdp import MDP
from lexicone.order import Order

__all__ = ["as_order", "check_kind", "check_whole"]


def as_order(order: Any, mdp: MDP) -> Order:
    """An order, or its thresholds as one, that fits the model."""
    if not isinstance(order, Order):
        if isinstance(order, str) or not hasattr(order, "__iter__"):
            raise ValueError(f"order: expected an Order or a list of thresholds, got {order!r}")
        order = Order(order)
    if len(order) != mdp.num_objectives:
        raise ValueError(
            f"order: has {len(order)} objectives ({len(order) - 1} thresholds + 1), "
            f"but the model has {mdp.num_objectives}"
        )
    return order


def check_kind(name: str, given: Any, kinds: tuple[str, ...]) -> None:
    """A ValueError unless it is one of these words."""
    if given not in kinds:
        raise ValueError(f"{name}: expected one of {kinds}, got {given!r}")


def check_whole(**numbers: Any) -> None:
    """A ValueError for the first that is not a whole number of at least 1."""
    for name, number in numbers.items():
        if not isinstance(number, Integral) or int(number) < 1:
            raise ValueError(f"{name}: must be a whole number of at least 1, got {number!r}")
