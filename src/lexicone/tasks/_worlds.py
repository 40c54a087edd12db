"""The registry of continuous worlds, and what is known of their optima.

``optima.json`` holds, for each world's own thresholds, the values on its grids and what the finest grid's policy earns
in the world itself; ``experiments/optima.py`` writes it.
"""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from lexicone._base.checks import check_text
from lexicone.order import OrderLike, as_order
from lexicone.tasks._car_following import car_following
from lexicone.tasks._dam import dam
from lexicone.tasks._mountain_car import mountain_car
from lexicone.tasks._point_robot import point_robot
from lexicone.tasks._suspension import suspension
from lexicone.tasks._world import BoxWorld, LinearWorld

__all__ = ["WORLDS", "best_values", "is_world", "known_optimum", "world"]

WORLDS: dict[str, Callable[[], BoxWorld | LinearWorld]] = {
    build.__name__: build for build in (suspension, dam, car_following, point_robot, mountain_car)
}

_OPTIMA = Path(__file__).with_name("optima.json")


def is_world(name: Any) -> bool:
    """Whether a continuous world has this name; hyphens and underscores are the same."""
    return isinstance(name, str) and _key(name) in WORLDS


def world(name: str) -> BoxWorld | LinearWorld:
    """A continuous world by its name; the same object each time, so that it is compiled once."""
    check_text("name", name)
    if not is_world(name):
        raise ValueError(f"name: there is no world {name!r}; there are {', '.join(WORLDS)}")
    return _made(_key(name))


@cache
def _made(key: str) -> BoxWorld | LinearWorld:
    return WORLDS[key]()


def _key(name: str) -> str:
    return name.strip().replace("-", "_").lower()


def known_optimum(name: str) -> dict[str, Any]:
    """What is stored of the optimum for a world's own thresholds.

    ``values`` of the finest grid, or exact; ``grids``, from coarse to fine, with their values; ``simulated``, the mean
    returns of that policy in the world itself, and ``error``, its standard error; ``how`` in words.
    """
    check_text("name", name)
    return json.loads(_OPTIMA.read_text(encoding="utf-8"))[world(name).name]


def best_values(name: str, order: OrderLike | None = None) -> Float[np.ndarray, " K"]:
    """The optimum of a world: the stored one for its own thresholds, else that of its middle grid, computed now."""
    task = world(name)
    order = task.order if order is None else as_order(order)
    if order.thresholds == task.thresholds and order.names in (None, task.reward_names):
        return np.array(known_optimum(name)["values"])
    return task.optimum(order).values
