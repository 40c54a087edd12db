"""What a question is asked about: a task by name, a drawn maze, a file that was loaded, or what the command opened.

All of it comes from a browser, so nothing is taken that is not on a list: no paths, no code, no sizes without a limit.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexicone._base.checks import check_range
from lexicone.models._mdp import MDP
from lexicone.models._npz import open_npz
from lexicone.tasks._maze import maze
from lexicone.tasks._registry import TASKS, find, make

__all__ = ["Opened", "SourceReader", "file_path"]

MAX_TILES = 40
"""Rows and columns of a drawing."""
MAX_STATES = 200_000
MAX_UNPACKED = 512 * 1024**2
"""Bytes that the arrays of a loaded file may take."""
_OBJECTIVES = ("goal", "tiles", "tiles+goal", "time")
_NUMBERS = {
    "slip": (0.0, 1.0),
    "high_penalty": (-1e6, 1e6),
    "low_penalty": (-1e6, 1e6),
    "goal_reward": (-1e6, 1e6),
}


@dataclass(frozen=True)
class Opened:
    """What the command was told to open; the page may read this and nothing else."""

    kind: str = ""
    """"model", "run" or nothing."""
    path: str = ""
    """Of the model as npz, or of the training."""
    label: str = ""
    lines: tuple[str, ...] = ()
    """Python that makes the model again."""
    state: str = ""
    """What the page begins with, as the part of its address behind ``#``."""


def file_path(folder: str | Path, digest: Any) -> Path:
    """Where a loaded file lies; its name is the digest of what is in it, so that only who has it can name it."""
    if not isinstance(digest, str) or not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise ValueError("file: expected the digest of a file that was loaded")
    return Path(folder) / f"{digest}.npz"


class SourceReader:
    """Builds models from what a browser says."""

    def __init__(self, folder: str | Path, opened: Opened) -> None:
        self.folder, self.opened = Path(folder), opened

    def build(self, source: Any) -> MDP:
        """The model; a ValueError says what is wrong with the source."""
        kind, value, options = _read(source)
        if kind == "task":
            return _task(value, options)
        if kind == "drawing":
            return _drawing(value, options)
        if options:
            raise ValueError("options: are for tasks and drawings")
        if kind == "file":
            path = file_path(self.folder, value)
            if not path.exists():
                raise LookupError("file: is not here any more; load it again")
            return load_model(path)
        return self._opened()

    def _opened(self) -> MDP:
        if self.opened.kind == "model":
            return MDP.load(self.opened.path)
        if self.opened.kind == "run":
            from lexicone.learning._saved import load

            mdp = getattr(load(self.opened.path), "mdp", None)
            if mdp is None:
                raise ValueError(
                    "opened: this training was in an environment; there is no model of it to solve"
                )
            return mdp
        raise ValueError("opened: nothing was opened")


def load_model(path: Path) -> MDP:
    """A model from a file of whoever; one that is too large is refused before it is unpacked."""
    try:
        with open_npz(path) as file:
            size = sum(file.sizes.values())
            states = (file.shapes.get("initial") or (0,))[0]
        if size > MAX_UNPACKED or states > MAX_STATES:
            raise ValueError(
                f"path: holds {states} states and {size / 1024**2:.0f} MB; the page takes models of up to "
                f"{MAX_STATES} states and {MAX_UNPACKED // 1024**2} MB"
            )
        return MDP.load(path)
    except ValueError as error:
        told = str(error).replace(repr(str(path)), "the file").removeprefix("path: ")
        raise ValueError(f"file: {told}") from None


def _read(source: Any) -> tuple[str, Any, dict[str, Any]]:
    if not isinstance(source, Mapping):
        raise ValueError("source: expected a task, a drawing, a file or what was opened")
    kinds = [kind for kind in ("task", "drawing", "file", "opened") if kind in source]
    unknown = sorted(set(source) - {*kinds, "options", "name"})
    if len(kinds) != 1 or unknown:
        raise ValueError("source: expected one of task, drawing, file and opened")
    options = source.get("options") or {}
    if not isinstance(options, Mapping):
        raise ValueError("options: expected names and values")
    return kinds[0], source[kinds[0]], dict(options)


def _task(name: Any, options: dict[str, Any]) -> MDP:
    if not isinstance(name, str):
        raise ValueError("task: expected a name")
    label, _, variant = name.partition(":")
    task = find(label)
    if variant and variant not in task.variants:
        raise ValueError(f"task: {task.name} has the variants {', '.join(task.variants) or 'none'}")
    if task.name == "maze":
        return maze(variant or "small", **read_options(options))
    if options:
        raise ValueError(f"options: the page has none for {task.name}")
    return make(name)


def _drawing(rows: Any, options: dict[str, Any]) -> MDP:
    fits = isinstance(rows, list) and 0 < len(rows) <= MAX_TILES
    if not fits or not all(isinstance(row, str) and 0 < len(row) <= MAX_TILES for row in rows):
        raise ValueError(f"drawing: expected up to {MAX_TILES} rows of up to {MAX_TILES} tiles")
    if len(rows) == 1:  # a single line could be a name
        rows = [*rows, "#" * len(rows[0])]
    return maze("\n".join(rows), **read_options(options))


def read_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a maze."""
    found: dict[str, Any] = {"objectives": "path"}
    for name, value in options.items():
        if name == "objectives":
            listed = isinstance(value, list) and all(v in _OBJECTIVES for v in value)
            if not listed and value not in ("path", "endpoint", "endpoint-time"):
                raise ValueError("objectives: expected path, endpoint, endpoint-time or a list")
            found[name] = value
        elif name in _NUMBERS:
            check_range(name, value, *_NUMBERS[name])
            found[name] = float(value)
        else:
            raise ValueError(f"options: a maze has no {name!r} here")
    return found


def list_tasks() -> list[dict[str, Any]]:
    """What can be chosen by name, with thresholds to try."""
    return [
        {
            "name": task.name,
            "description": task.description,
            "variants": list(task.variants),
            "needs": task.needs,
        }
        for task in TASKS.values()
    ]
