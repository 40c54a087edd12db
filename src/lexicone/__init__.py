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
    from lexicone.a2c import A2C
    from lexicone.augment import Augmented, augment, augmentation
    from lexicone.evaluation import evaluate, state_values
    from lexicone.front import pareto, sensitivity
    from lexicone.lifted import Lifted
    from lexicone.lvi import lvi
    from lexicone.maximize import Maximum, maximize
    from lexicone.ppo import PPO
    from lexicone.reinforce import Reinforce
    from lexicone.search import Search, search
    from lexicone.simulate import satisfaction, simulate
    from lexicone.solve import Solution, solve
    from lexicone.taxonomy import classify, predict
    from lexicone.tlq import Learned, tlq
    from lexicone.tlq_iterate import Iteration, tlq_iterate
    from lexicone.tlq_rules import Rule, preset
    from lexicone.train import train, train_many
    from lexicone.trained import Trained, load
    from lexicone.trained_env import TrainedEnv

__version__ = "0.1.0"
__all__ = [
    "A2C",
    "MDP",
    "PPO",
    "Augmented",
    "Direction",
    "Iteration",
    "Layout",
    "Learned",
    "Lifted",
    "Maximum",
    "Order",
    "Reason",
    "Reinforce",
    "Rule",
    "Search",
    "Solution",
    "Trained",
    "TrainedEnv",
    "ascent_bound",
    "augment",
    "augmentation",
    "classify",
    "evaluate",
    "find_direction",
    "is_stationary",
    "load",
    "lvi",
    "maximize",
    "pareto",
    "predict",
    "preset",
    "project_cone",
    "satisfaction",
    "search",
    "sensitivity",
    "simulate",
    "solve",
    "state_values",
    "tasks",
    "tlq",
    "tlq_iterate",
    "train",
    "train_many",
]

_LATER = {
    "A2C": "a2c",
    "Augmented": "augment",
    "Iteration": "tlq_iterate",
    "Learned": "tlq",
    "Lifted": "lifted",
    "Maximum": "maximize",
    "PPO": "ppo",
    "Reinforce": "reinforce",
    "Rule": "tlq_rules",
    "Search": "search",
    "Solution": "solve",
    "Trained": "trained",
    "TrainedEnv": "trained_env",
    "augment": "augment",
    "augmentation": "augment",
    "classify": "taxonomy",
    "evaluate": "evaluation",
    "load": "trained",
    "lvi": "lvi",
    "maximize": "maximize",
    "pareto": "front",
    "predict": "taxonomy",
    "preset": "tlq_rules",
    "satisfaction": "simulate",
    "search": "search",
    "sensitivity": "front",
    "simulate": "simulate",
    "solve": "solve",
    "state_values": "evaluation",
    "tlq": "tlq",
    "tlq_iterate": "tlq_iterate",
    "train": "train",
    "train_many": "train",
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
