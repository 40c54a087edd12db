"""Files that appear whole or not at all."""

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

__all__ = ["check_writable", "write_atomically", "write_text"]


def write_atomically(path: str | os.PathLike[str], write: Callable[[BinaryIO], Any]) -> None:
    """Let ``write`` fill a draft beside the file, with the rights of a new file, which then takes its place.

    Whatever goes wrong before, the file stays as it was. Folders that are missing are made.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        with open(draft, "xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """The same for text, in UTF-8."""
    write_atomically(path, lambda file: file.write(text.encode()))


def check_writable(name: str, path: Any) -> None:
    """A ValueError that begins with the argument's name, unless a file can be written there."""
    try:
        target = Path(path)
        if target.is_dir():
            raise IsADirectoryError(None, "it is a folder")
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
        draft.touch(exist_ok=False)
        draft.unlink()
    except TypeError:
        raise ValueError(f"{name}: expected a path, got {path!r}") from None
    except OSError as error:
        raise ValueError(f"{name}: cannot write to {os.fspath(path)!r}: {error.strerror}") from None
