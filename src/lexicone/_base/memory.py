"""How much memory is left, and a refusal of what needs more, before any of it is taken."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["available_bytes", "bytes_text", "check_memory", "no_more_memory"]

_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")


def available_bytes() -> int:
    """What the system, the container or this process's own limit still gives without swapping; if none says, 2⁶²."""
    left = [2**62]
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                left.append(int(line.split()[1]) * 1024)
    except (OSError, ValueError, IndexError):
        with suppress(ValueError, OSError, AttributeError):
            left.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(OSError, ValueError):
        folder = Path("/sys/fs/cgroup")
        limit, used = ((folder / f"memory.{name}").read_text() for name in ("max", "current"))
        left.append(max(0, int(limit) - int(used)))
    with suppress(ImportError, OSError, ValueError, IndexError):
        import resource  # not on Windows

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            left.append(max(0, limit - _own_bytes()))
    return min(left)


def _own_bytes() -> int:
    """This process's address space, on Linux; an OSError elsewhere."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def no_more_memory() -> Iterator[None]:
    """What takes more memory than is left inside, C++ too, raises MemoryError, where the system would end the process.

    Nothing changes where the system has no such limit.
    """
    try:
        import resource

        before = resource.getrlimit(resource.RLIMIT_AS)
        limit = _own_bytes() + available_bytes()
        if before[0] == resource.RLIM_INFINITY or limit < before[0]:
            resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    except (ImportError, OSError, ValueError):
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def check_memory(name: str, needed: int | float, what: str) -> None:
    """A ValueError that starts with the argument's name if so many bytes, for ``what``, are not to be had."""
    left, needed = available_bytes(), float(needed)
    if needed > left:
        raise ValueError(
            f"{name}: {what} would take about {bytes_text(needed)} of memory, and {bytes_text(left)} are left"
        )


def bytes_text(count: int | float) -> str:
    """``1.5 GB``."""
    power = 0
    while count >= 1000 and power < len(_UNITS) - 1:
        count, power = count / 1000, power + 1
    return f"{count:.3g} {_UNITS[power]}"
