"""One way to the terminal: text is printed as it is, whatever brackets, colons or letters it has."""

import sys
from typing import Any

from rich.console import Console

__all__ = ["make_console", "write_any_text"]


def make_console(*, stderr: bool = False, **options: Any) -> Console:
    """A console that takes no text for markup or emoji: names of objectives, paths and errors are other people's."""
    return Console(stderr=stderr, markup=False, emoji=False, **options)


_STERN = ("strict", "surrogateescape")  # the second is Python's own choice in a C locale


def write_any_text() -> None:
    """From now on what the terminal's encoding lacks is printed as ``?``, never an error."""
    for stream in (sys.stdout, sys.stderr):
        _lenient(stream)


def _lenient(stream: Any) -> None:
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None and getattr(stream, "errors", None) in _STERN:
        reconfigure(errors="replace")
