"""How a training shows that it goes on: a bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from lexicone._base.progress import progress_bars
from lexicone.learning._plan import Plan
from lexicone.learning._runs import Runs
from lexicone.order import Order

__all__ = ["describe", "showing"]

_REFRESH = 2.0  # times a second
_LINE_SECONDS = 10.0  # between two lines at first; later ones are farther apart
_SPARSER = 1.2


class _Pace:
    """How fast it goes, without the first piece, of which most is compilation."""

    def __init__(self, total: int) -> None:
        self.total, self.begin, self.first = total, time.monotonic(), None
        self.done, self.steps, self.now = 0, 0.0, self.begin

    def note(self, runs: Runs) -> None:
        self.now, self.done, self.steps = time.monotonic(), int(runs.update), _steps(runs)
        if self.first is None:
            self.first = (self.now, self.done, self.steps)

    @property
    def compiling(self) -> float:
        """The seconds until the first piece was done."""
        return 0.0 if self.first is None else self.first[0] - self.begin

    @property
    def speed(self) -> str:
        """Steps of all seeds, and the time that is left; nothing before the second piece."""
        if self.first is None or self.done <= self.first[1] or self.now <= self.first[0]:
            return ""
        seconds = self.now - self.first[0]
        left = (self.total - self.done) * seconds / (self.done - self.first[1])
        steps = (self.steps - self.first[2]) / seconds
        words = [f"{steps:,.0f} steps/s"] if steps > 0 else []
        return ", ".join([*words, f"{_clock(left)} left"] if self.done < self.total else words)


@contextmanager
def showing(plan: Plan, order: Order) -> Iterator[Callable[[Runs], None]]:
    """A function that shows how the latest episodes of all runs went, and how fast it goes; or nothing."""
    if not plan.progress:
        yield lambda runs: None
        return
    pace = _Pace(plan.updates)
    show = _in_a_bar if _is_terminal() else _in_lines
    with show(plan, order, pace) as after:

        def look(runs: Runs) -> None:
            pace.note(runs)
            after(runs)

        yield look


@contextmanager
def _in_a_bar(plan: Plan, order: Order, pace: _Pace) -> Iterator[Callable[[Runs], None]]:
    with progress_bars(transient=False, refresh_per_second=_REFRESH, own_speed=True) as bar:
        task = bar.add_task("compiling …", total=plan.updates, speed="")

        def show(runs: Runs) -> None:
            words = describe(_latest(runs, plan.every), order)
            bar.update(task, completed=pace.done, description=words, speed=pace.speed)

        yield show


@contextmanager
def _in_lines(plan: Plan, order: Order, pace: _Pace) -> Iterator[Callable[[Runs], None]]:
    said, wait, known = time.monotonic(), _LINE_SECONDS, False
    print("training: compiling …", flush=True)

    def show(runs: Runs) -> None:
        nonlocal said, wait, known
        if not known:
            print(f"training: compiled and begun after {pace.compiling:.1f} s", flush=True)
            known = True
        if pace.now - said < wait and pace.done < plan.updates:
            return
        said, wait = pace.now, wait * _SPARSER
        share = f"{pace.done:,} of {plan.updates:,} updates ({pace.done / plan.updates:.0%})"
        words = [f"training: {share}", pace.speed, describe(_latest(runs, plan.every), order)]
        print(", ".join(word for word in words if word), flush=True)

    yield show


def _latest(runs: Runs, every: int) -> dict[str, np.ndarray]:
    """Means over all seeds in the latest row, which may not be full yet."""
    done = int(runs.update)
    row = max(0, (done - 1) // every)
    size: Any = max(1, done - row * every)
    if "finished" in runs.log:
        size = float(np.asarray(runs.log["finished"])[row].mean())
        if size == 0:
            return {}
    return {
        name: np.asarray(runs.log[name])[row].mean(axis=0) / size
        for name in ("returns", "satisfied")
        if name in runs.log
    }


def describe(means: dict[str, np.ndarray], order: Order) -> str:
    """Mean returns, and how often thresholds were met, as far as the learner reports them."""
    words = []
    returns = means.get("returns", np.empty(0))
    if returns.shape == (len(order),):
        names = order.labels if len(order) <= 3 else ("",) * len(order)  # more do not fit
        words += [f"{name} {value:.3g}" for name, value in zip(names, returns, strict=True)]
    met = means.get("satisfied", np.empty(0))
    if met.ndim == 1 and len(met):
        words.append(f"met {' '.join(f'{share:.0%}' for share in met)}")
    return "  ".join(words) or "training"


def _steps(runs: Runs) -> float:
    return float(np.asarray(runs.log["steps"], float).sum()) if "steps" in runs.log else 0.0


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _is_terminal() -> bool:
    from lexicone._base.console import make_console

    return sys.stdout is not None and make_console().is_terminal
