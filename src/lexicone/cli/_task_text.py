"""A task on the command line: its description, and its options as text."""

import inspect
from pathlib import Path
from typing import Any

from lexicone.cli._options import read_option
from lexicone.models._mdp import MDP
from lexicone.tasks._registry import Task, find, make

__all__ = ["build_from_text", "describe", "size_and_thresholds"]


def build_from_text(name: str, options: tuple[str, ...] = ()) -> MDP:
    """A task by name, variant or file (``maze:FILE.txt``), with options given as ``NAME=VALUE``."""
    label, _, variant = name.partition(":")
    task = find(label)
    settings = _read_options(task, options)
    try:
        if task.name == "maze" and variant.endswith(".txt"):
            return task.build(_read_drawing(Path(variant)), **settings)
        return make(name, **settings)
    except TypeError as error:
        raise ValueError(
            f"--set: {' '.join(options)} does not suit {task.name} ({error})"
        ) from None


def size_and_thresholds(task: Task) -> tuple[str, str]:
    """States × actions, or which extra is needed to know, and thresholds to try; a discount too for what never ends."""
    limits = " ".join(f"{t:g}" for t in task.thresholds)
    try:
        mdp = task.build()
    except ImportError:
        return f"needs lexicone[{task.needs}]", limits
    endless = "" if mdp.terminal.any() else " --gamma 0.99"
    return f"{mdp.num_states} × {mdp.num_actions}", limits + endless


def describe(task: Task) -> str:
    """All that helps to call it: what it is, its objectives, size, variants and options."""
    size, limits = size_and_thresholds(task)
    unit = " (states × actions)" if "×" in size else ""
    lines = [
        f"{task.name}: {task.description}",
        "",
        (inspect.getdoc(task.build) or "").replace("`", ""),
        "",
        f"objectives  {task.objectives}",
        f"size        {size}{unit}",
    ]
    if task.first is not None:
        named = f": {', '.join(task.variants)}" if task.variants else ""
        lines.append(f"variants    {task.name}:VALUE sets {task.first.name}{named}")
    width = max(map(len, task.options), default=0)
    for number, (name, default) in enumerate(task.options.items()):
        shown = "" if default is None else f" (default {default!r})"
        lines.append(f"{'' if number else '--set':<12}{name:<{width}}{shown}")
    colon = f":{task.variants[0]}" if task.variants else ""
    lines.append(f"try         lexicone solve {task.name}{colon} --thresholds {limits}")
    return "\n".join(lines)


def _read_options(task: Task, options: tuple[str, ...]) -> dict[str, Any]:
    """Options as values; each must exist and be of the kind of its default."""
    known, settings = task.options, {}
    for option in options:
        name, value = read_option(option)
        if name not in known:
            those = ", ".join(known) or "none"
            raise ValueError(f"--set: {task.name} has no option {name!r}; it has {those}")
        default, text = known[name], option.partition("=")[2]
        if isinstance(default, int) and not isinstance(value, int):
            raise ValueError(f"--set: {name} takes a whole number, got {text!r}")
        if isinstance(default, float) and not isinstance(value, int | float):
            raise ValueError(f"--set: {name} takes a number, got {text!r}")
        settings[name] = value
    return settings


def _read_drawing(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"maze: cannot read {str(file)!r}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"maze: {str(file)!r} is not a text file") from None
