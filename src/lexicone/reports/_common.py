"""What all reports share: the question in words, versions, the command that made a result."""

import datetime
import importlib.metadata
import json
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lexicone import __version__
from lexicone._base.html import paragraphs, table
from lexicone._base.levels import Level
from lexicone.order import Order
from lexicone.reports._page import Section, code

__all__ = [
    "RUN_FILE",
    "Origin",
    "again",
    "goal_in_words",
    "in_python",
    "made",
    "question",
    "versions",
]

RUN_FILE = "run.json"
"""What the command line leaves beside its results: the command, versions, and how long it took."""
_PACKAGES = ("numpy", "scipy", "jax", "highspy", "optax", "equinox", "matplotlib")
_CRITERIA = {
    "expected": "Thresholds are meant on average: the expected total of an episode has to reach them. A policy may "
    "therefore mix, and single episodes may fall short.",
    "episode": "Thresholds are meant for every single episode: a policy is judged by how many of its episodes do.",
}


class Origin(NamedTuple):
    """Where a result comes from."""

    name: str = ""
    """The task, if it is known."""
    command: str = ""
    """On the command line, or lines of Python."""
    versions: Mapping[str, str] = {}
    """With which it was made; none if that is not known."""
    seconds: float | None = None

    @classmethod
    def read(cls, folder: Path) -> "Origin":
        """From the file that the command line left; nothing where there is none, or it cannot be read."""
        try:
            found = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
            known = {str(k): str(v) for k, v in found["versions"].items()}
            return cls(str(found["task"]), str(found["command"]), known, float(found["seconds"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return cls()


def versions() -> dict[str, str]:
    """Of this program and what it computes with."""
    found = {"lexicone": __version__, "Python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found | {"system": f"{platform.system()} {platform.machine()}"}


def made() -> str:
    """What stands at the foot of a page."""
    today = datetime.datetime.now().astimezone().date().isoformat()
    return f"Written by lexicone {__version__} on {today}."


def goal_in_words(level: Level, last: bool) -> str:
    """What is asked of one objective."""
    unit = " per step" if level.per_step else ""
    best = ("as high as possible" if level.sign == 1 else "as low as possible") + unit
    if level.amount is None or (last and np.isinf(level.amount)):
        return best
    if np.isinf(level.amount):
        return best if level.amount * level.sign > 0 else "any value (it never matters)"
    share = "" if level.chance is None else f", in at least {level.chance:.4%} of episodes"
    share += "" if level.worst is None else f", mean of the worst {level.worst:.4%} of episodes"
    share = re.sub(r"\.?0+%", "%", share)
    return f"{'at least' if level.sign == 1 else 'at most'} {level.amount:g}{unit}{share}"


def question(
    order: Order, labels: Sequence[str], criterion: str, gamma: float | None, more: str = ""
) -> Section:
    """Objectives in order of importance, what thresholds mean, and how returns are counted."""
    last = len(order) - 1
    rows = [
        (k + 1, label, goal_in_words(level, k == last))
        for k, (label, level) in enumerate(zip(labels, order.levels, strict=True))
    ]
    parts = [
        paragraphs("In order of importance. A later one never costs an earlier one what it needs."),
        table(("", "objective", "wanted"), rows),
        paragraphs(_CRITERIA.get(criterion, "")),
    ]
    if gamma is not None:
        counted = (
            "Returns are totals of an episode, not discounted (γ = 1)."
            if gamma == 1
            else f"Rewards are discounted by γ = {gamma:g} per step, also where thresholds are compared with them."
        )
        parts.append(paragraphs(counted))
    return Section("The question", [*parts, paragraphs(more)])


def again(origin: Origin, settings: Mapping[str, Any], python: str) -> Section:
    """Settings, versions, and how to have the result again."""
    parts = []
    if settings:
        parts.append(table(("setting", "value"), [(k, _shown(v)) for k, v in settings.items()]))
    if origin.command:
        parts += [paragraphs("On the command line:"), code(origin.command)]
    if python:
        parts += [paragraphs("In Python:"), code(python)]
    seconds = "" if origin.seconds is None else f" It took {origin.seconds:.3g} seconds."
    known = origin.versions or versions()
    when = "Made with" if origin.versions else "Versions where this page was written:"
    listed = ", ".join(f"{name} {version}" for name, version in known.items())
    parts.append(paragraphs(f"{when} {listed}.{seconds}"))
    return Section("Settings, versions, and the command", parts)


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def in_python(order: Order) -> str:
    """An order as one would write it."""
    shown = re.sub(r"\b(at_most|at_least|lowest|highest)\(", r"lx.\1(", repr(order))
    return f"lx.{shown}"
