"""A study in a TOML file: tasks, learners, what varies, seeds and budget, all as words and numbers.

seeds = 10
episodes = 4000

[tasks.traders]                 # a name of your own
task = "space-traders"          # as on the command line: NAME:VARIANT, FILE.npz, an environment's id, FILE.py:NAME
thresholds = [0.88]             # or "at-most:200"
options = {}                    # of the task

[learners.ours]
learner = "ppo"                 # the rest are its settings
criterion = "expected"

[vary.ours]
learning_rate = [1e-2, 3e-3]
"""

import dataclasses
import os
import tomllib
from pathlib import Path
from typing import Any

from lexicone._base.checks import check_path
from lexicone._base.levels import level_from_text
from lexicone.learning._named_worlds import find_world
from lexicone.learning.algos._registry import LEARNERS
from lexicone.models._mdp import MDP
from lexicone.order import Order
from lexicone.studies.sweeps.design import Study
from lexicone.tasks import TASKS, find, make

__all__ = ["read_study", "read_toml"]

_PARTS = ("tasks", "learners", "vary")


def read_study(path: str | os.PathLike[str]) -> Study:
    """The study that a file describes; a ValueError names the file and the place of a mistake."""
    given, name = read_toml(path), os.fspath(path)
    known = {field.name for field in dataclasses.fields(Study)}
    if "study" in given:
        raise ValueError(f"file: {name!r} is for the command: lexicone study {name}")
    for key, value in given.items():
        if key not in known:
            raise ValueError(f"file: {name!r} has {key!r}; there may be {', '.join(sorted(known))}")
        if key in _PARTS and not (
            isinstance(value, dict) and all(isinstance(part, dict) for part in value.values())
        ):
            raise ValueError(f"{key}: expected tables such as [{key}.NAME]")
    if "tasks" not in given:
        raise ValueError(f"tasks: {name!r} has none; expected tables such as [tasks.NAME]")
    learners = given.pop("learners", {"PPO": {"learner": "ppo"}})
    tasks = {label: _task(label, part) for label, part in given.pop("tasks").items()}
    return Study(
        tasks=tasks,
        learners={label: _learner(label, part) for label, part in learners.items()},
        **given,
    )


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a file says; a ValueError names one that is no TOML."""
    check_path("path", path)
    name = os.fspath(path)
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"file: cannot read {name!r}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"file: {name!r} is no TOML: {error}") from None


def _task(label: str, part: dict[str, Any]) -> tuple[Any, Order]:
    where = f"tasks.{label}"
    extra = set(part) - {"task", "thresholds", "options", "objectives"}
    if extra or not isinstance(part.get("task"), str):
        wrong = f"has {min(extra)!r}; there may be" if extra else "needs"
        raise ValueError(f"{where}: {wrong} task, thresholds, options, objectives")
    options, limits = part.get("options", {}), part.get("thresholds", [])
    if not isinstance(options, dict) or not isinstance(limits, list):
        raise ValueError(f"{where}: options are a table, thresholds a list")
    try:
        levels = [level_from_text(t) if isinstance(t, str) else t for t in limits]
        return _find(part["task"], options), Order(levels, names=part.get("objectives"))
    except (ValueError, TypeError, ImportError) as error:
        raise ValueError(f"{where}: {error}") from None


def _find(task: str, options: dict[str, Any]) -> Any:
    if task.endswith(".npz"):
        return MDP.load(task)
    if task.partition(":")[0].replace("-", "_").lower() in TASKS:
        find(task.partition(":")[0])
        return make(task, **options)
    return find_world(task, options)


def _learner(label: str, part: dict[str, Any]) -> Any:
    where, settings = f"learners.{label}", dict(part)
    kinds = {name.lower(): cls for name, cls in LEARNERS.items()}
    kind = str(settings.pop("learner", "ppo")).lower()
    if kind not in kinds:
        raise ValueError(f"{where}: there is no learner {kind!r}; there are {', '.join(kinds)}")
    known = {field.name for field in dataclasses.fields(kinds[kind])}
    wrong = set(settings) - known
    if wrong:
        raise ValueError(
            f"{where}: {kind} has no setting {min(wrong)!r}; it has {', '.join(known)}"
        )
    try:
        return kinds[kind](**settings)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{where}: {error}") from None
