"""Models in npz files: plain arrays, no pickle.

A file holds ``format``, a ``digest`` of all else (not in files of the first format), the five tables, and where they
are given ``state_names``, ``action_names``, ``objective_names``, and a map as ``layout_rows``, ``layout_positions`` and
``layout_labels``.
"""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from lexicone._base.checkpoint import digest
from lexicone._base.files import write_atomically
from lexicone.models._layout import Layout
from lexicone.models._npz import open_npz

__all__ = ["NAMES", "TABLES", "read_fields", "write_fields"]

_FORMAT, _WITHOUT_DIGEST = "lexicone-mdp-2", "lexicone-mdp-1"
TABLES = ("next_state", "probability", "reward", "initial", "terminal")
NAMES = ("state_names", "action_names", "objective_names")
_LAYOUT = ("layout_rows", "layout_positions")


def write_fields(path: str | os.PathLike[str], model: Any) -> None:
    """Write a model. The file appears complete or not at all."""
    arrays: dict[str, np.ndarray] = {}
    for name in TABLES:
        arrays[name] = getattr(model, name)
    for name in NAMES:
        if getattr(model, name) is not None:
            arrays[name] = np.array(getattr(model, name), dtype=np.str_)
    layout = model.layout
    if layout is not None:
        arrays["layout_rows"] = np.array(layout.rows, dtype=np.str_)
        arrays["layout_positions"] = layout.positions
        if layout.labels is not None:
            arrays["layout_labels"] = np.array(layout.labels, dtype=np.str_)
    mark = {"format": np.array(_FORMAT), "digest": np.array(digest(arrays, _FORMAT))}
    write_atomically(
        path, lambda file: np.savez_compressed(file, allow_pickle=False, **mark, **arrays)
    )


def read_fields(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What `write_fields` wrote; a ValueError says what else the file is, or what it lacks."""
    name = os.fspath(path)
    with open_npz(path) as file:
        form = file.text("format")
        if form not in (_FORMAT, _WITHOUT_DIGEST):
            raise ValueError(f"path: {name!r} is not a saved MDP of format {_FORMAT}")
        listed = set(file.shapes) - {"format"}
        known = {*TABLES, *NAMES, *_LAYOUT, "layout_labels"}
        has_layout = any(key.startswith("layout_") for key in listed)
        needed = (*TABLES, *_LAYOUT) if has_layout else TABLES
        if form == _FORMAT:
            known, needed = known | {"digest"}, (*needed, "digest")
        missing = [key for key in needed if key not in listed]
        if missing:
            raise ValueError(f"path: {name!r} has no {', '.join(missing)}")
        unknown = sorted(listed - known)
        if unknown:
            raise ValueError(f"path: {name!r} has fields that no MDP has: {', '.join(unknown)}")
        _check_shapes(name, file.shapes)
        expected = file.text("digest") if form == _FORMAT else None
        fields: dict[str, Any] = file.read(listed - {"digest"})
    if expected is not None and digest(fields, form) != expected:
        raise ValueError(f"path: {name!r} was changed after it was written")
    for key in NAMES:
        if key in fields:
            fields[key] = _texts(fields[key])
    if has_layout:
        rows, positions = (fields.pop(key) for key in _LAYOUT)
        labels = fields.pop("layout_labels", None)
        fields["layout"] = Layout(
            _texts(rows), positions, None if labels is None else _texts(labels)
        )
    return fields


def _check_shapes(name: str, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """A ValueError if the tables cannot be of one model; before they are read, however large they claim to be."""
    own = shapes["next_state"]
    fits = (
        len(own) == 3
        and shapes["probability"] == own
        and shapes["reward"][:3] == own
        and len(shapes["reward"]) == 4
        and shapes["initial"] == shapes["terminal"] == own[:1]
    )
    if not fits:
        told = ", ".join(f"{key} {shapes[key]}" for key in TABLES)
        raise ValueError(
            f"path: {name!r} is not a saved MDP: its tables do not fit together ({told})"
        )


def _texts(array: np.ndarray) -> tuple[str, ...]:
    return tuple(np.atleast_1d(array).tolist())
