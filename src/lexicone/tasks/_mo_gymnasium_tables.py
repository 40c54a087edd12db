"""The tables that MO-Gymnasium ships, read from the installed package."""

import importlib
import os
import warnings
from typing import Any

import numpy as np

__all__ = ["fruits", "resource_map", "treasure_map"]

_MAPS = {"convex": "DEFAULT_MAP", "concave": "CONCAVE_MAP", "mirrored": "MIRRORED_MAP"}


def fruits(depth: int) -> np.ndarray:
    """The rewards ``[2^depth, 6]`` of the leaves of Fruit Tree Navigation."""
    table = _module("fruit_tree", "fruit_tree").FRUITS
    if str(depth) not in table:
        raise ValueError(
            f"depth: mo-gymnasium has fruits for depth {', '.join(sorted(table))}, got {depth}; "
            "give a seed for a random tree, or your own fruits"
        )
    return np.array(table[str(depth)], dtype=float)


def treasure_map(name: str) -> np.ndarray:
    """Deep Sea Treasure: treasures, 0 for water, −10 for rock."""
    if name not in _MAPS:
        raise ValueError(f"sea: expected one of {', '.join(_MAPS)} or an array, got {name!r}")
    return np.array(getattr(_module("deep_sea_treasure", "deep_sea_treasure"), _MAPS[name]))


def resource_map() -> np.ndarray:
    """Resource Gathering: ``R1`` gold, ``R2`` diamond, ``E…`` enemies, ``H`` home."""
    module = _module("resource_gathering", "resource_gathering")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the precision of its reward space
        return np.array(module.ResourceGathering().map)


def _module(package: str, name: str) -> Any:
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what pygame says about its own imports
            return importlib.import_module(f"mo_gymnasium.envs.{package}.{name}")
    except ImportError as error:
        raise ImportError(
            f"this task reads its tables from mo-gymnasium: pip install 'lexicone[gym]' ({error})"
        ) from error
