"""Worlds that a word names: ours, ids of Gymnasium, ``FILE.py:NAME`` for a class, a function or a world in a file."""

import importlib.util
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lexicone._base.checkpoint import digest
from lexicone.learning._environments import EnvSource, source_of
from lexicone.learning._worlds_jax import is_jax_world
from lexicone.tasks._worlds import is_world, world

__all__ = ["NamedWorld", "find_world", "is_in_file"]


@dataclass(frozen=True, eq=False)
class NamedWorld:
    """A world in JAX, and what it was found by."""

    world: Any
    id: str
    options: dict[str, Any]


def is_in_file(name: Any) -> bool:
    """Whether this is ``FILE.py:NAME``."""
    return isinstance(name, str) and ".py:" in name


def find_world(name: str, options: dict[str, Any] | None = None) -> EnvSource | NamedWorld:
    """What is meant. ``options`` are for the class, the function, or ``gymnasium.make``."""
    options = options or {}
    if is_world(name):
        if options:
            raise ValueError(f"task: {name} has no options, got {', '.join(options)}")
        return NamedWorld(world(name), name, {})
    if not is_in_file(name):
        return source_of(name, **options)
    path, _, attribute = name.rpartition(":")
    if not Path(path).is_file():
        raise ValueError(f"task: there is no file {path!r}")
    spec = importlib.util.spec_from_file_location(f"lexicone_world_{digest({}, path)[:12]}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ValueError(
            f"task: {os.fspath(path)!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    if not hasattr(module, attribute):
        raise ValueError(f"task: {path!r} has no {attribute!r}")
    found = getattr(module, attribute)
    if is_jax_world(found):
        if options:
            raise ValueError(f"task: {name} is a world already; options are for what makes one")
        return NamedWorld(found, name, options)
    if not callable(found):
        raise ValueError(f"task: {name} is neither a class, nor a function, nor a world in JAX")
    if isinstance(found, type) and not hasattr(found, "render"):  # no Gymnasium environment
        made = _call(name, found, options)
        if is_jax_world(made):
            return NamedWorld(made, name, options)
    return EnvSource(partial(_call, name, found, options), name, options)


def _call(name: str, function: Any, options: dict[str, Any]) -> Any:
    try:
        return function(**options)
    except TypeError as error:
        given = ", ".join(f"{key}={value!r}" for key, value in options.items())
        raise ValueError(
            f"task: {name} cannot be made with {given or 'no options'} ({error})"
        ) from None
