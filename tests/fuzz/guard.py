"""Wild calls write files too: in a process that is guarded, nothing outside one folder is written, made or removed."""

import os
import sys
from pathlib import Path
from typing import Any

_CHANGES = {
    "os.mkdir",
    "os.remove",
    "os.rmdir",
    "os.rename",
    "os.link",
    "os.symlink",
    "os.truncate",
}
_CHANGES |= {
    "os.chmod",
    "os.chown",
    "os.utime",
    "shutil.rmtree",
    "shutil.move",
    "os.mkfifo",
    "os.mknod",
}
_OF_TWO = {"os.rename", "os.link", "os.symlink", "shutil.move"}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def stay_inside(folder: Path) -> None:
    """Work in this folder from now on; Python refuses to change anything elsewhere. It cannot be undone."""
    inside = os.path.realpath(folder)
    os.chdir(inside)

    def allowed(path: Any) -> bool:
        if isinstance(path, int) or path is None:
            return True
        place = os.path.realpath(os.fsdecode(path))
        return place == inside or place.startswith(inside + os.sep)

    def watch(event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = args
            writes = (
                bool(flags & _WRITES) if isinstance(flags, int) else set(mode or "") & set("wax+")
            )
            paths = [path] if writes and path != os.devnull else []
        elif event in _CHANGES:
            paths = args[:2] if event in _OF_TWO else args[:1]
        else:
            return
        for path in paths:
            if not allowed(path):
                raise PermissionError(
                    f"path: outside of the folder that wild calls may write to: {path!r}"
                )

    sys.addaudithook(watch)
