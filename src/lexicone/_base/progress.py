"""One layout for all progress bars."""

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

__all__ = ["progress_bars"]


def progress_bars(
    console: Console | None = None, *, transient: bool = True, refresh_per_second: float = 10
) -> Progress:
    """Bars with a description, how many are done of how many, and the time that has passed and is left.

    Narrow enough for a line of values as the description. ``transient`` bars leave nothing behind.
    """
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=16),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console or make_console(),
        transient=transient,
        refresh_per_second=refresh_per_second,
    )
