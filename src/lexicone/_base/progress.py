"""One layout for all progress bars."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from lexicone._base.console import make_console

__all__ = ["counting", "progress_bars"]


def progress_bars(
    console: Console | None = None,
    *,
    transient: bool = True,
    refresh_per_second: float = 10,
    own_speed: bool = False,
) -> Progress:
    """Bars with a description, how many are done of how many, and the time that has passed and is left.

    Narrow enough for a line of values as the description. ``transient`` bars leave nothing behind. With ``own_speed``
    the field ``speed`` of a task says how fast it goes and what is left.
    """
    left = TextColumn("{task.fields[speed]}", markup=False) if own_speed else TimeRemainingColumn()
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=16),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        left,
        console=console or make_console(),
        transient=transient,
        refresh_per_second=refresh_per_second,
    )


@contextmanager
def counting(description: str, *, shown: bool) -> Iterator[Callable[[int, int], None]]:
    """``count(done, total)`` moves a bar whose total may grow; nothing if it is not ``shown``."""
    if not shown:
        yield lambda done, total: None
        return
    with progress_bars() as bars:
        bar = bars.add_task(description, total=None)
        yield lambda done, total: bars.update(bar, completed=done, total=total)
