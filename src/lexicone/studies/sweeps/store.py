"""Where results are kept: a folder with one small file per cell, each written whole or not at all.

A folder needs no server and no locks: processes and machines that share it can write at once, and whoever reads it
while it grows sees only whole results. A file's name is the cell's digest, so that a study started again computes
what is missing. Files are spread over 256 folders; checkpoints of unfinished cells lie beside them and go when a cell
is done.
"""

import json
import os
from pathlib import Path
from typing import Any

from lexicone._base.checks import check_path
from lexicone._base.files import check_writable, write_text

__all__ = ["Store"]


class Store:
    """Results by digest; in memory only where there is no folder."""

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        if folder is not None:
            check_path("out", folder)
        self.folder = None if folder is None else Path(folder)
        self._kept: dict[str, dict[str, Any]] = {}
        if folder is not None:
            check_writable("out", Path(folder) / "cells" / "writable")

    def get(self, digest: str) -> dict[str, Any] | None:
        """What is known of a cell; None if nothing is, or what there is cannot be read."""
        if self.folder is None or digest in self._kept:
            return self._kept.get(digest)
        try:
            found = json.loads(self._file(digest).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    def put(self, digest: str, result: dict[str, Any], *, done: bool = True) -> None:
        """Keep a cell's result; if it is ``done``, its checkpoint is not needed any more."""
        if self.folder is None:
            self._kept[digest] = result
            return
        write_text(self._file(digest), json.dumps(result, ensure_ascii=False) + "\n")
        checkpoint = self.checkpoint(digest)
        if done and checkpoint is not None:
            checkpoint.unlink(missing_ok=True)

    def checkpoint(self, digest: str) -> Path | None:
        """Where an unfinished training of a cell is kept."""
        if self.folder is None:
            return None
        return self.folder / "unfinished" / f"{digest}.safetensors"

    def _file(self, digest: str) -> Path:
        assert self.folder is not None
        return self.folder / "cells" / digest[:2] / f"{digest}.json"
