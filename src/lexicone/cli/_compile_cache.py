"""Programs that JAX has compiled once are kept for the next command: in the user's folder for such things.

``LEXICONE_CACHE=off`` switches it off, another folder there moves it, and whoever has set JAX's own variable is left
alone. Where nothing can be written nothing is kept. Programs are made for one kind of processor, so each has a folder.
"""

import hashlib
import os
import platform
import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["cache_folder", "keep_programs"]

_OURS, _JAX = "LEXICONE_CACHE", "JAX_COMPILATION_CACHE_DIR"
_SWITCH, _SECONDS = "JAX_ENABLE_COMPILATION_CACHE", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"
_LEAST_SECONDS = "0.3"  # of a compilation that is worth a file
_MOST_BYTES = 500_000_000  # beyond that the oldest programs go


def keep_programs() -> None:
    """Tell JAX where, before it is imported; nothing if it has been, or has a folder already."""
    if os.environ.get(_JAX) or _SWITCH in os.environ or "jax" in sys.modules:
        return
    folder = cache_folder()
    if folder is None:
        return
    with suppress(OSError):
        _make_room(folder)
    os.environ[_JAX] = str(folder)
    os.environ.setdefault(_SECONDS, _LEAST_SECONDS)


def cache_folder() -> Path | None:
    """Where programs are kept; None where that is switched off or cannot be."""
    asked = os.environ.get(_OURS, "")
    if asked.lower() in ("0", "off", "no", "false"):
        return None
    try:
        base = Path(asked) if asked else _user_folder() / "lexicone"
        folder = base / f"programs-{_processor()}"
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".{os.getpid()}.probe"
        probe.touch()
        probe.unlink()
    except (OSError, RuntimeError, ValueError):  # no home, no rights, no room
        return None
    return folder


def _user_folder() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    given = os.environ.get("XDG_CACHE_HOME", "")
    return Path(given) if os.path.isabs(given) else Path.home() / ".cache"


def _processor() -> str:
    """What programs are made for, in a few letters."""
    kind = f"{platform.machine()} {platform.processor()}"
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        kind += next((line for line in file if line.startswith(("flags", "Features"))), "")
    return hashlib.sha256(kind.encode()).hexdigest()[:8]


def _make_room(folder: Path) -> None:
    files = sorted(((f.stat(), f) for f in folder.iterdir()), key=lambda pair: pair[0].st_mtime)
    size = sum(stat.st_size for stat, _ in files)
    for stat, file in files:
        if size <= _MOST_BYTES:
            return
        file.unlink(missing_ok=True)
        size -= stat.st_size
