"""lexicone: decisions with ordered objectives, each but the last with a threshold that is good enough."""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from lexicone.cone import (
    Direction,
    Reason,
    ascent_bound,
    find_direction,
    is_stationary,
    project_cone,
)
from lexicone.mdp import MDP, Layout
from lexicone.order import Order

if TYPE_CHECKING:
    from lexicone import tasks
    from lexicone.evaluation import evaluate, state_values
    from lexicone.front import pareto, sensitivity
    from lexicone.lvi import lvi
    from lexicone.maximize import Maximum, maximize
    from lexicone.simulate import satisfaction, simulate
    from lexicone.solve import Solution, solve

__version__ = "0.1.0"
__all__ = [
    "MDP",
    "Direction",
    "Layout",
    "Maximum",
    "Order",
    "Reason",
    "Solution",
    "ascent_bound",
    "evaluate",
    "find_direction",
    "is_stationary",
    "lvi",
    "maximize",
    "pareto",
    "project_cone",
    "satisfaction",
    "sensitivity",
    "simulate",
    "solve",
    "state_values",
    "tasks",
]

_LATER = {
    "Maximum": "maximize",
    "Solution": "solve",
    "evaluate": "evaluation",
    "lvi": "lvi",
    "maximize": "maximize",
    "pareto": "front",
    "satisfaction": "simulate",
    "sensitivity": "front",
    "simulate": "simulate",
    "solve": "solve",
    "state_values": "evaluation",
}


def __getattr__(name: str) -> Any:
    """Import only when asked for: what needs JAX (seconds), the solver and the tasks."""
    if name == "tasks":
        return importlib.import_module("lexicone.tasks")
    if name not in _LATER:
        raise AttributeError(f"module 'lexicone' has no attribute {name!r}")
    return getattr(importlib.import_module(f"lexicone.{_LATER[name]}"), name)


class _Package(ModuleType):
    """Keeps ``lexicone.solve`` the function, also once the file of that name has been imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and name in _LATER:
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
