"""One file for arrays and facts: safetensors, with JSON in its header. Written whole or not at all; never pickle.

A digest of all facts and arrays is kept in the file, so that one that was cut short, damaged or edited is refused.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from lexicone._base.checks import check_path
from lexicone._base.files import write_atomically

__all__ = ["digest", "read", "write"]

_FORMAT = "lexicone-1"


def write(path: str | os.PathLike[str], arrays: dict[str, np.ndarray], facts: Any) -> None:
    """Write arrays, and facts that JSON can hold. The file appears complete or not at all."""
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    header = json.dumps({"facts": facts, "digest": digest(arrays, facts)}, allow_nan=False)
    write_atomically(path, lambda file: file.write(save(arrays, metadata={_FORMAT: header})))


def read(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], Any]:
    """What `write` wrote; a ValueError where the file is not that."""
    check_path("path", path)
    name = os.fspath(path)
    if not Path(path).is_file():
        raise FileNotFoundError(f"path: there is no file {name!r}")
    try:
        with safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, MemoryError) as error:
        raise ValueError(f"path: {name!r} is cut short or is no checkpoint ({error})") from None
    if _FORMAT not in header:
        raise ValueError(f"path: {name!r} was not written by lexicone, or by another version")
    try:
        written = json.loads(header[_FORMAT])
        facts, expected = written["facts"], written["digest"]
        intact = digest(arrays, facts) == expected
    except (ValueError, TypeError, KeyError, RecursionError):
        facts, intact = None, False
    if not intact:
        raise ValueError(f"path: {name!r} was changed after it was written")
    return arrays, facts


def digest(arrays: dict[str, np.ndarray], facts: Any = None) -> str:
    """SHA-256 of facts and of arrays with their names, types and shapes."""
    state = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.asarray(arrays[name], order="C")
        state.update(f"\0{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        state.update(array.tobytes())
    return state.hexdigest()
