"""A study's results in one file: JSON, written whole after each cell, so that a study that was interrupted goes on."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lexicone._base.files import write_text
from lexicone.studies.sweeps.cells import AnyCell, digest_of
from lexicone.studies.sweeps.store import Store

__all__ = ["OneFile", "read", "write"]


class OneFile(Store):
    """A study's results in one file, by the names of its cells, each with its settings.

    For those that one machine runs; others that share the file would overwrite what they do not know of.
    """

    def __init__(self, file: Path, cells: Sequence[AnyCell]) -> None:
        super().__init__(None)
        self.file, self.parts = file, read(file)
        self._names = {cell.digest: cell.name for cell in cells}

    def get(self, digest: str) -> dict[str, Any] | None:
        """What the file has under the cell's name, if it is from the same settings."""
        kept = self.parts.get(self._names[digest])
        same = isinstance(kept, dict) and digest_of(kept.get("settings")) == digest
        return kept if same else None

    def put(self, digest: str, result: dict[str, Any], *, done: bool = True) -> None:
        """Keep a cell's result, and write the file."""
        self.parts[self._names[digest]] = result
        write(self.parts, self.file)


def read(file: Path) -> dict[str, Any]:
    """What `write` wrote; nothing where there is no file."""
    if not file.exists():
        return {}
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        raise ValueError(f"{file}: cannot be read ({error}); move it away to start anew") from None


def write(results: dict[str, Any], file: Path, indent: int = 1) -> None:
    """The results as JSON, whole or not at all."""
    write_text(file, json.dumps(results, indent=indent, ensure_ascii=False) + "\n")
