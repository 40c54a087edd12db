"""Models in npz files: plain arrays, no pickle.

A file holds ``format``, a ``digest`` of all else (not in files of the first format), ``initial`` and ``terminal``, and
the model as it is held: three successor tables and, if not every action is available everywhere, ``available``; or its
rows (``row_offsets`` and so on) and ``num_actions``. Where they are given: ``state_names``, ``action_names``,
``objective_names``, a map as ``layout_rows``, ``layout_positions`` and ``layout_labels``, and factors of states as
``factor_names`` and ``factor_values``.
"""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from lexicone._base.checkpoint import digest
from lexicone._base.files import write_atomically
from lexicone.models._factors import Factors
from lexicone.models._layout import Layout
from lexicone.models._npz import open_npz
from lexicone.models._rows import Rows

__all__ = ["NAMES", "TABLES", "read_fields", "write_fields"]

_FORMAT, _WITHOUT_DIGEST = "lexicone-mdp-2", "lexicone-mdp-1"
TABLES = ("next_state", "probability", "reward", "initial", "terminal")
NAMES = ("state_names", "action_names", "objective_names")
_ROWS = ("offsets", "action", "ends", "next_state", "probability", "reward")
_AS_ROWS = (*(f"row_{name}" for name in _ROWS), "num_actions", "initial", "terminal")
_LAYOUT = ("layout_rows", "layout_positions")
_FACTORS = ("factor_names", "factor_values")


def write_fields(path: str | os.PathLike[str], model: Any) -> None:
    """Write a model. The file appears complete or not at all."""
    arrays = {"initial": model.initial, "terminal": model.terminal}
    if model.is_sparse:
        arrays |= {f"row_{name}": getattr(model.rows, name) for name in _ROWS}
        arrays["num_actions"] = np.array(model.num_actions)
    else:
        arrays |= {name: getattr(model, name) for name in TABLES}
        if not model.available.all():
            arrays["available"] = model.available
    for name in NAMES:
        if getattr(model, name) is not None:
            arrays[name] = np.array(getattr(model, name), dtype=np.str_)
    layout = model.layout
    if layout is not None:
        arrays["layout_rows"] = np.array(layout.rows, dtype=np.str_)
        arrays["layout_positions"] = layout.positions
        if layout.labels is not None:
            arrays["layout_labels"] = np.array(layout.labels, dtype=np.str_)
    if model.factors is not None:
        arrays["factor_names"] = np.array(model.factors.names, dtype=np.str_)
        arrays["factor_values"] = model.factors.values
    mark = {"format": np.array(_FORMAT), "digest": np.array(digest(arrays, _FORMAT))}
    write_atomically(
        path, lambda file: np.savez_compressed(file, allow_pickle=False, **mark, **arrays)
    )


def read_fields(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What `write_fields` wrote; a ValueError says what else the file is, or what it lacks.

    The fields are those of an `MDP`, or ``rows`` and what `MDP.from_rows` takes besides.
    """
    with open_npz(path) as file:
        name = file.name
        form = file.text("format")
        if form not in (_FORMAT, _WITHOUT_DIGEST):
            raise ValueError(f"path: {name!r} is not a saved MDP of format {_FORMAT}")
        listed = set(file.shapes) - {"format"}
        _check_listed(name, listed, form)
        if "row_offsets" not in listed:
            _check_shapes(name, file.shapes)
        expected = file.text("digest") if form == _FORMAT else None
        fields: dict[str, Any] = file.read(listed - {"digest"})
    if expected is not None and digest(fields, form) != expected:
        raise ValueError(f"path: {name!r} was changed after it was written")
    for key in NAMES:
        if key in fields:
            fields[key] = _texts(fields[key])
    if "layout_rows" in fields:
        rows, positions = (fields.pop(key) for key in _LAYOUT)
        labels = fields.pop("layout_labels", None)
        fields["layout"] = Layout(
            _texts(rows), positions, None if labels is None else _texts(labels)
        )
    if "factor_names" in fields:
        names, values = (fields.pop(key) for key in _FACTORS)
        fields["factors"] = Factors(_texts(names), values)
    if "row_offsets" in fields:
        fields["rows"] = _read_rows(name, {key: fields.pop(f"row_{key}") for key in _ROWS})
        fields["num_actions"] = int(fields["num_actions"])
    return fields


def _check_listed(name: str, listed: set[str], form: str) -> None:
    """A ValueError if a file lacks fields, or has some that no model has."""
    own = _AS_ROWS if "row_offsets" in listed else TABLES
    needed = list(own)
    for group in (_LAYOUT, _FACTORS):
        if listed & set(group):
            needed += group
    known = {*needed, *NAMES, "available", "layout_labels"}
    if form == _FORMAT:
        known, needed = known | {"digest"}, [*needed, "digest"]
    missing = [key for key in needed if key not in listed]
    if missing:
        raise ValueError(f"path: {name!r} has no {', '.join(missing)}")
    unknown = sorted(listed - known)
    if unknown:
        raise ValueError(f"path: {name!r} has fields that no MDP has: {', '.join(unknown)}")


def _read_rows(name: str, arrays: dict[str, np.ndarray]) -> Rows:
    """Rows whose offsets fit together; what else may be wrong with them is found later."""
    offsets, ends = arrays["offsets"], arrays["ends"]
    whole = all(
        arrays[key].dtype.kind in "iu" for key in ("offsets", "action", "ends", "next_state")
    )
    fits = (
        whole
        and all(array.ndim == (2 if key == "reward" else 1) for key, array in arrays.items())
        and _counts(offsets, len(arrays["action"]))
        and _counts(ends, len(arrays["next_state"]))
        and len(ends) == len(arrays["action"]) + 1
        and len(arrays["probability"]) == len(arrays["reward"]) == len(arrays["next_state"])
        and (arrays["action"] >= 0).all()
    )
    if not fits:
        raise ValueError(f"path: {name!r} is not a saved MDP: its rows do not fit together")
    return Rows(**arrays)


def _counts(offsets: np.ndarray, total: int) -> bool:
    rising = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == total
    return bool(rising and (np.diff(offsets) >= 0).all())


def _check_shapes(name: str, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """A ValueError if the tables cannot be of one model; before they are read, however large they claim to be."""
    own = shapes["next_state"]
    fits = (
        len(own) == 3
        and shapes["probability"] == own
        and shapes["reward"][:3] == own
        and len(shapes["reward"]) == 4
        and shapes["initial"] == shapes["terminal"] == own[:1]
        and shapes.get("available", own[:2]) == own[:2]
    )
    if not fits:
        told = ", ".join(f"{key} {shapes[key]}" for key in TABLES)
        raise ValueError(
            f"path: {name!r} is not a saved MDP: its tables do not fit together ({told})"
        )


def _texts(array: np.ndarray) -> tuple[str, ...]:
    return tuple(np.atleast_1d(array).tolist())
