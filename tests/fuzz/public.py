"""Every public callable, found by looking: what the registry of calls must have."""

import dataclasses
import enum
import importlib
import inspect
from collections.abc import Iterator
from typing import Any

from tests.contracts.interface import PACKAGE, lists, names_of

RECORDS = {
    *("criteria.Augmented", "criteria.Lifted", "criteria.Search", "directions.OrderedGradient"),
    *("exact.Front", "exact.LinearQuadraticSolution", "exact.Sensitivity", "exact.Solution"),
    *("learning.EnvPolicy", "learning.Trained", "learning.TrainedEnv", "tasks.Task"),
    *("studies.CellSummary", "studies.Comparison", "studies.StudyResult"),
    *("tasks.World", "tasks.BoxWorld", "tasks.LinearWorld"),
    *("learning.Diagnosis", "learning.Policy", "learning.TrainedSegments"),
    *("proofs.Certificate", "proofs.Claim", "proofs.StageProof", "proofs.Verification"),
    *("qlearning.Iteration", "qlearning.Kind", "qlearning.Learned", "qlearning.Prediction"),
}
"""What functions return: nobody makes one, so only their methods are called. So are named tuples and enumerations."""

LEFT_OUT = {
    "lexicone.cli.main": "the command line answers with an exit code: tests/cli",
    "lexicone.learning.Learner": "a protocol; what learners must have is checked where `train` takes one",
    "lexicone.learning.algos.ActorCritic": "the base of PPO and A2C",
    "lexicone.models.MDP.from_prism": "needs Storm, which is an extra: tests/models/test_storm.py",
    "lexicone.models.MDP.from_storm": "the same",
    **{
        f"lexicone.tasks.{world}.{method}": "called while it is traced"
        for world in ("BoxWorld", "LinearWorld")
        for method in ("reset", "step")
    },
}
"""Public callables that are not fuzzed, and why not."""

INSIDE_TRAINING = frozenset(
    ["init", "log_policy", "update", "act", "learn", "gather", "exploration", "climb", "assess"]
)
"""Methods of learners: `train` calls them while it is traced."""


def public_callables() -> dict[str, Any]:
    """By name: functions, classes that one makes, and their public methods with parameters."""
    found: dict[str, Any] = {}
    for listing in lists():
        room = ".".join(["lexicone", *listing.parent.relative_to(PACKAGE).parts])
        module = importlib.import_module(room)
        for name, origin in names_of(listing).items():
            thing = getattr(module, name)
            if not origin.is_dir() and callable(thing) and f"{room}.{name}" not in LEFT_OUT:
                found |= dict(_with_methods(f"{room}.{name}", thing))
    return {name: thing for name, thing in found.items() if name not in LEFT_OUT}


def _with_methods(name: str, thing: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(thing, type):
        if inspect.isroutine(thing) and _parameters(thing):
            yield name, thing
        return
    if not _is_record(name, thing):
        yield name, thing
    for member in dir(thing):
        method = inspect.getattr_static(thing, member)
        inner = getattr(method, "__func__", method)
        own = (getattr(inner, "__module__", None) or "").startswith("lexicone.")
        if member.startswith("_") or not own or not inspect.isfunction(inner):
            continue
        learns = "lexicone.learning.algos." in name and member in INSIDE_TRAINING
        if len(_parameters(inner)) > 1 and not learns and f"{name}.{member}" not in LEFT_OUT:
            yield f"{name}.{member}", getattr(thing, member)


def _is_record(name: str, thing: type) -> bool:
    return name.removeprefix("lexicone.") in RECORDS or issubclass(thing, tuple | enum.Enum)


def _parameters(function: Any) -> list[str]:
    return list(inspect.signature(function).parameters)


def message_names(function: Any) -> set[str]:
    """What a message may begin with: the names of a callable's parameters."""
    names = set(_parameters(function)) - {"self", "cls"}
    if dataclasses.is_dataclass(function):
        names |= {field.name for field in dataclasses.fields(function)}
    return names
