"""The file of a study's results: JSON, written whole after each part, so that an interrupted study goes on."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lexicone._base.files import write_text

__all__ = ["Results", "read", "write"]


class Results:
    """Parts by name, as the file holds them, each with the settings that it was computed with."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.parts = read(file)

    def has(self, name: str, settings: dict[str, Any]) -> bool:
        """Whether the part is there with these settings."""
        return self.parts.get(name, {}).get("settings") == settings

    def get(
        self, name: str, settings: dict[str, Any], compute: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        """The part with these settings: the one that is kept, or else one that is computed and written now."""
        if not self.has(name, settings):
            self.parts[name] = compute() | {"settings": settings}
            write(self.parts, self.file)
        return self.parts[name]


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
