"""Files that appear whole or not at all, and folders that one process at a time writes to.

A file is written as a draft beside it, ``.NAME.….partial``, which its writer keeps locked. A draft that nobody has
locked was left by a process that was killed; the next one that writes the file removes it. All locks are the system's
own and end with the process, however it ends.
"""

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from lexicone._base.checks import check_path

try:
    import fcntl
except ImportError:  # on Windows an open file cannot be removed, which serves as well
    fcntl = None

__all__ = [
    "check_writable",
    "hold_folder",
    "release_folders",
    "write_atomically",
    "write_text",
]

_held: dict[tuple[int, int], int] = {}  # folders that this process writes to, by device and number


def write_atomically(
    path: str | os.PathLike[str], write: Callable[[BinaryIO], Any], *, name: str = "path"
) -> None:
    """Let ``write`` fill a draft beside the file, with the rights of a new file, which then takes its place.

    Whatever goes wrong before, the file stays as it was. Folders that are missing are made. What is no file, a folder
    or a device, is not replaced by one: a ValueError that begins with ``name``.
    """
    check_path(name, path)
    target = Path(path)
    if not target.name or (target.exists() and not target.is_file()):
        raise ValueError(f"{name}: {os.fspath(path)!r} is a folder or a device, not a file")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        message = f"{name}: cannot write to {os.fspath(path)!r}: a folder on its way is a file"
        raise ValueError(message) from None
    _remove_drafts(target)
    draft, file = _open_draft(target)
    try:
        with file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
            if fcntl is not None:  # the lock is kept until the draft has its place
                os.replace(draft, target)
        if fcntl is None:
            os.replace(draft, target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """The same for text, in UTF-8; arguments of the command line as they were typed, in a C locale too."""
    write_atomically(path, lambda file: file.write(text.encode(errors="surrogateescape")))


def check_writable(name: str, path: Any) -> None:
    """A ValueError that begins with the argument's name, unless a file can be written there."""
    check_path(name, path)
    try:
        target = Path(path)
        if target.is_dir():
            raise IsADirectoryError(None, "it is a folder")
        if target.exists() and not target.is_file():
            raise OSError(None, "it is a device")
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_drafts(target)
        draft, file = _open_draft(target)
        file.close()
        draft.unlink(missing_ok=True)
    except OSError as error:
        raise ValueError(f"{name}: cannot write to {os.fspath(path)!r}: {error.strerror}") from None


def hold_folder(name: str, folder: Path) -> None:
    """Keep other processes from writing to a folder until `release_folders`, or the end of this one.

    A ValueError that begins with the argument's name if another one does. Nothing where folders cannot be locked.
    """
    if fcntl is None:
        return
    descriptor = os.open(folder, os.O_RDONLY)
    own = os.fstat(descriptor)
    place = (own.st_dev, own.st_ino)
    if place in _held:
        os.close(descriptor)
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise ValueError(
            f"{name}: another process is writing to {os.fspath(folder)!r}; wait for it or take another folder"
        ) from None
    except OSError:
        os.close(descriptor)
        return
    _held[place] = descriptor


def release_folders() -> None:
    """Let others write to what this process has held."""
    while _held:
        os.close(_held.popitem()[1])


def _open_draft(target: Path) -> tuple[Path, BinaryIO]:
    """A new draft of a file, locked."""
    while True:
        draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
        file = open(draft, "xb")  # noqa: SIM115
        if fcntl is None:
            return draft, file
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            kept = os.fstat(file.fileno()).st_nlink > 0
        except BlockingIOError:
            kept = False  # another process takes it for an old one
        except OSError:
            kept = True  # a file system without locks
        if kept:
            return draft, file
        file.close()
        draft.unlink(missing_ok=True)


def _remove_drafts(target: Path) -> None:
    """Remove drafts of a file whose writers are gone."""
    for draft in target.parent.glob(f".{_literal(target.name)}.????????.partial"):
        with suppress(OSError):
            if fcntl is None:
                draft.unlink()
                continue
            with open(draft, "r+b") as file:
                fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
                draft.unlink()


def _literal(name: str) -> str:
    """A pattern that matches this name alone."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
