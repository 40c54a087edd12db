"""Models in npz files: plain arrays, no pickle.

A file holds ``format``, the five tables, and where they are given ``state_names``, ``action_names``,
``objective_names``, and a map as ``layout_rows``, ``layout_positions`` and ``layout_labels``.
"""

import os
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from lexicone._base.files import write_atomically
from lexicone.models._layout import Layout

__all__ = ["NAMES", "TABLES", "read_fields", "write_fields"]

_FORMAT = "lexicone-mdp-1"
TABLES = ("next_state", "probability", "reward", "initial", "terminal")
NAMES = ("state_names", "action_names", "objective_names")
_LAYOUT = ("layout_rows", "layout_positions")


def write_fields(path: str | os.PathLike[str], fields: Mapping[str, Any]) -> None:
    """Write a model's fields by their names. The file appears complete or not at all."""
    arrays: dict[str, np.ndarray] = {"format": np.array(_FORMAT)}
    for name in TABLES:
        arrays[name] = fields[name]
    for name in NAMES:
        if fields[name] is not None:
            arrays[name] = np.array(fields[name], dtype=np.str_)
    layout = fields["layout"]
    if layout is not None:
        arrays["layout_rows"] = np.array(layout.rows, dtype=np.str_)
        arrays["layout_positions"] = layout.positions
        if layout.labels is not None:
            arrays["layout_labels"] = np.array(layout.labels, dtype=np.str_)
    write_atomically(path, lambda file: np.savez_compressed(file, allow_pickle=False, **arrays))


def read_fields(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What `write_fields` wrote; a ValueError says what else the file is, or what it lacks."""
    fields = _read_npz(path)
    name = os.fspath(path)
    if str(fields.pop("format", "")) != _FORMAT:
        raise ValueError(f"path: {name!r} is not a saved MDP of format {_FORMAT}")
    has_layout = any(key.startswith("layout_") for key in fields)
    needed = (*TABLES, *_LAYOUT) if has_layout else TABLES
    missing = [key for key in needed if key not in fields]
    if missing:
        raise ValueError(f"path: {name!r} has no {', '.join(missing)}")
    unknown = sorted(set(fields) - {*TABLES, *NAMES, *_LAYOUT, "layout_labels"})
    if unknown:
        raise ValueError(f"path: {name!r} has fields that no MDP has: {', '.join(unknown)}")
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


def _texts(array: np.ndarray) -> tuple[str, ...]:
    return tuple(np.atleast_1d(array).tolist())


def _read_npz(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The arrays of an npz file; anything else is refused in one line."""
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file):
            pass
        with np.load(path, allow_pickle=False) as arrays:
            return {key: arrays[key] for key in arrays.files}
    except FileNotFoundError:
        raise FileNotFoundError(f"path: there is no file {os.fspath(path)!r}") from None
    except (ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error):
        message = f"path: {os.fspath(path)!r} is not a saved MDP: it is no npz file of plain arrays"
        raise ValueError(message) from None
