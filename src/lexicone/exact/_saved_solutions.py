"""Solutions in files: safetensors with JSON, and a digest, so that a file that was changed is refused."""

import json
import os
from typing import Any

import numpy as np

from lexicone._base import checkpoint
from lexicone._base.checks import as_texts
from lexicone._base.levels import level_for_file, level_from_file
from lexicone.order import Order
from lexicone.proofs._certificate import Certificate, StageProof

__all__ = ["read_solution", "write_solution"]

_KIND = "solution"
_ARRAYS = ("values", "key", "policy", "occupancy", "satisfied", "prices", "bound")
_NAMES = ("state_names", "action_names", "objective_names")
_TEXTS = ("status", "message", "policies", "method", "criterion")


def write_solution(path: str | os.PathLike[str], solution: Any) -> None:
    """Write a solution's fields. The file appears complete or not at all."""
    arrays = {name: np.asarray(getattr(solution, name)) for name in _ARRAYS}
    if solution.stay is not None:
        arrays["stay"] = solution.stay
    facts: dict[str, Any] = {name: str(getattr(solution, name)) for name in _TEXTS}
    for name in _NAMES:
        if getattr(solution, name) is not None:
            arrays[name] = _as_bytes(getattr(solution, name))
    order, certificate = solution.order, solution.certificate
    facts["kind"] = _KIND
    facts["gamma"] = float(solution.gamma)
    facts["thresholds"] = [repr(t) for t in order.thresholds]  # JSON has no infinity
    facts["levels"] = [level_for_file(level) for level in order.levels]
    facts["names"] = None if order.names is None else list(order.names)
    facts["break_ties"] = bool(order.break_ties)
    facts["stages"] = None if certificate is None else [s.objective for s in certificate.stages]
    for n, stage in enumerate(() if certificate is None else certificate.stages):
        arrays[f"stage.{n}.weights"] = stage.weights
        arrays[f"stage.{n}.state_values"] = stage.state_values
    checkpoint.write(path, arrays, facts)


def read_solution(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The fields that `write_solution` wrote; a ValueError says what else the file is, or what it lacks."""
    arrays, facts = checkpoint.read(path)
    name = os.fspath(path)
    if not isinstance(facts, dict) or facts.get("kind") != _KIND:
        raise ValueError(f"path: {name!r} holds no solution")
    try:
        thresholds = [float(t) for t in facts["thresholds"]]
        levels = facts.get("levels")  # older files have none
        entries = thresholds if levels is None else [level_from_file(entry) for entry in levels]
        order = Order(entries, names=facts["names"], break_ties=facts["break_ties"])
        if order.thresholds != tuple(thresholds):
            raise ValueError(f"its thresholds are {thresholds}, but its levels {order.thresholds}")
        fields: dict[str, Any] = {key: arrays[key] for key in _ARRAYS}
        fields |= {key: str(facts[key]) for key in _TEXTS}
        certificate = None
        if facts["stages"] is not None:
            certificate = Certificate(
                tuple(
                    StageProof(
                        int(objective),
                        arrays[f"stage.{n}.weights"],
                        arrays[f"stage.{n}.state_values"],
                    )
                    for n, objective in enumerate(facts["stages"])
                )
            )
        fields |= {"order": order, "gamma": float(facts["gamma"]), "certificate": certificate}
        fields["stay"] = arrays.get("stay")
        fields |= {key: _as_names(arrays.get(key)) for key in _NAMES}  # older files have none
        _check_shapes(fields)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise ValueError(f"path: {name!r} has a solution that cannot be read: {error}") from None
    return fields


def _as_bytes(names: tuple[str, ...]) -> np.ndarray:
    """A list of texts as JSON in an array, since there may be very many."""
    return np.frombuffer(json.dumps(list(names)).encode(), dtype=np.uint8)


def _as_names(stored: np.ndarray | None) -> tuple[str, ...] | None:
    if stored is None:
        return None
    names = json.loads(np.asarray(stored, dtype=np.uint8).tobytes())
    return as_texts("names", names)


def _check_shapes(fields: dict[str, Any]) -> None:
    objectives, sizes = len(fields["order"]), fields["policy"].shape
    keys = objectives + (objectives - 1) * fields["order"].break_ties
    wanted = {
        "values": (objectives,),
        "key": (keys,),
        "bound": (objectives,),
        "satisfied": (objectives - 1,),
        "prices": (objectives - 1, objectives),
        "occupancy": sizes,
    }
    if len(sizes) != 2:
        raise ValueError(f"policy has the shape {sizes}")
    for name, shape in wanted.items():
        if fields[name].shape != shape:
            raise ValueError(f"{name} has the shape {fields[name].shape}, not {shape}")
    for name, count in zip(_NAMES, (*sizes, objectives), strict=True):
        if fields[name] is not None and len(fields[name]) != count:
            raise ValueError(f"{name} are {len(fields[name])}, not {count}")
    if fields["stay"] is not None and fields["stay"].shape != sizes[:1]:
        raise ValueError(f"stay has the shape {fields['stay'].shape}, not {sizes[:1]}")
    for stage in () if fields["certificate"] is None else fields["certificate"].stages:
        if stage.weights.shape != (objectives,) or stage.state_values.shape != sizes[:1]:
            raise ValueError("a stage's duals do not have the shape of the policy")
        if not 0 <= stage.objective < objectives:
            raise ValueError(f"a stage has objective {stage.objective} of {objectives}")
