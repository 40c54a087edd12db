"""Files of arrays (npz) of which one knows neither who wrote them nor whether they are whole: looked at before read.

The sizes that the zip and the arrays' own headers declare must agree, and fit into memory, before anything is unpacked.
"""

import lzma
import math
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from lexicone._base.checks import check_path
from lexicone._base.memory import check_memory

__all__ = ["Npz", "open_npz"]

_HEADER_BYTES = 1024  # a header is far shorter
_TEXT_BYTES = 4096
_KINDS = "biufU"  # numbers, True and False, text; no objects
_DAMAGE = (
    ValueError,
    EOFError,
    RuntimeError,
    NotImplementedError,
    MemoryError,
    RecursionError,
    OverflowError,
    TypeError,
    SyntaxError,
    OSError,
    struct.error,
    tokenize.TokenError,
    lzma.LZMAError,
    zipfile.BadZipFile,
    zlib.error,
)


class Npz:
    """An open npz file, its arrays' shapes known and none of them read."""

    def __init__(self, name: str, archive: zipfile.ZipFile) -> None:
        self.name, self.archive = name, archive
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.sizes: dict[str, int] = {}
        for member in archive.infolist():
            key = member.filename.removesuffix(".npy")
            if key == member.filename or key in self.shapes:
                raise ValueError(f"{member.filename} is no array, or there twice")
            with archive.open(member) as file:
                shape, dtype = _read_header(file)
                header = file.tell()
            size = math.prod(shape) * dtype.itemsize
            if member.file_size != header + size:
                raise ValueError(f"{key} is of {member.file_size - header} bytes, not {size}")
            self.shapes[key], self.sizes[key] = shape, size

    def text(self, key: str) -> str:
        """A short text; nothing where there is none."""
        if self.shapes.get(key) != () or self.sizes[key] > _TEXT_BYTES:
            return ""
        return str(self.read([key])[key])

    def read(self, keys: Iterable[str]) -> dict[str, np.ndarray]:
        """These arrays, if there is memory for them."""
        keys = sorted(keys)
        check_memory("path", 3 * sum(self.sizes[key] for key in keys), f"what {self.name!r} holds")
        with _as_damage(self.name):
            found = {}
            for key in keys:
                with self.archive.open(f"{key}.npy") as file:
                    found[key] = np.asarray(npy.read_array(file, allow_pickle=False))
                    if file.read(1):
                        raise ValueError("there is more than was declared")
            return found


@contextmanager
def open_npz(path: str | os.PathLike[str]) -> Iterator[Npz]:
    """The file, looked at; whatever it is instead is refused in one line."""
    check_path("path", path)
    name = os.fspath(path)
    if not Path(path).exists():
        raise FileNotFoundError(f"path: there is no file {name!r}")
    if not Path(path).is_file():  # a pipe or a device may have no end
        kind = "folder" if Path(path).is_dir() else "device"
        raise ValueError(f"path: {name!r} is a {kind}, not a saved MDP")
    with _as_damage(name):
        archive = zipfile.ZipFile(path)
    with archive:
        with _as_damage(name):
            opened = Npz(name, archive)
        yield opened


@contextmanager
def _as_damage(name: str) -> Iterator[None]:
    try:
        yield
    except _DAMAGE:
        message = f"path: {name!r} is not a saved MDP: it is no npz file of plain arrays"
        raise ValueError(message) from None


def _read_header(file: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """What an array says of itself, ``(shape, dtype)``; versions 1.0 and 2.0 of the format, which NumPy writes."""
    version = npy.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError("another version of the format")
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(file, max_header_size=_HEADER_BYTES)
    if dtype.kind not in _KINDS or dtype.hasobject:
        raise ValueError("no plain array")
    return tuple(map(int, shape)), dtype
