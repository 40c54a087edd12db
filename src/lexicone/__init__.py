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
from lexicone.order import Order

if TYPE_CHECKING:
    from lexicone.maximize import Maximum, maximize

__version__ = "0.1.0"
__all__ = [
    "Direction",
    "Maximum",
    "Order",
    "Reason",
    "ascent_bound",
    "find_direction",
    "is_stationary",
    "maximize",
    "project_cone",
]

_NEED_JAX = {"Maximum": "lexicone.maximize", "maximize": "lexicone.maximize"}


def __getattr__(name: str) -> Any:
    """Import what needs JAX only when it is asked for."""
    if name not in _NEED_JAX:
        raise AttributeError(f"module 'lexicone' has no attribute {name!r}")
    return getattr(importlib.import_module(_NEED_JAX[name]), name)


class _Package(ModuleType):
    """Keeps ``lexicone.maximize`` the function, also once the file of that name has been imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and name in _NEED_JAX:
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
