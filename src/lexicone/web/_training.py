"""A training that was opened, finished or under way: curves of all seeds, and policies along the way."""

import math
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from lexicone._base.checks import check_range
from lexicone._base.text import plain_numbers
from lexicone.exact._solve import solve
from lexicone.learning._defaults import TRAINING_FILE
from lexicone.models._evaluation import evaluate
from lexicone.order import Order
from lexicone.tasks._worlds import best_values, is_world
from lexicone.web._answers import policy_rows

__all__ = ["Training"]

_POINTS = 200
"""Of a curve; rows of the history between two are averaged."""
_MOST_SEEDS = 100
_LEAST_SHOWN = 1e-3  # actions less likely than that are not sent


class Training:
    """Reads the file again when it has changed."""

    def __init__(self, path: str) -> None:
        self.path = Path(path, TRAINING_FILE) if os.path.isdir(path) else Path(path)
        self.stamp, self.trained = "", None
        self.exact: tuple[str, tuple[np.ndarray, str] | None] = ("", None)

    def order(self) -> Order:
        """Of the training."""
        return self._read().order

    def show(self, seen: Any, context: Any) -> dict[str, Any]:
        """Curves, thresholds, the exact optimum and which policies were kept; nothing if the file is as it was seen."""
        trained = self._read()
        if seen == self.stamp:
            return {"stamp": self.stamp, "unchanged": True}
        order, history = trained.order, trained.history
        at, over = _places(history)
        exact = self._optimum(trained, context)
        times = trained.snapshots[0].tolist() if hasattr(trained, "mdp") else []
        seeds = min(trained.seeds, _MOST_SEEDS)
        return {
            "stamp": self.stamp,
            "learner": type(trained.learner).__name__,
            "labels": list(_labels(trained)),
            "thresholds": plain_numbers(order.thresholds),
            "seeds": trained.seeds,
            "done": int(trained.run.update),
            "updates": trained.updates,
            "over": over,
            "at": plain_numbers(_binned(at[None])[0]) if len(at) else [],
            "returns": _curves(history.get("returns"), len(order), seeds),
            "satisfied": _curves(history.get("satisfied"), len(order) - 1, seeds),
            "improved": _shares(history.get("improved"), len(order)),
            "exact": None if exact is None else plain_numbers(exact[0]),
            "exact_status": None if exact is None else exact[1],
            "snapshots": times,
            "has_model": hasattr(trained, "mdp"),
        }

    def snapshot(self, seed: Any, at: Any) -> dict[str, Any]:
        """One seed's policy; ``at`` is the number of a policy that was kept, or None for the latest."""
        trained = self._read()
        if not hasattr(trained, "mdp"):
            raise ValueError("at: policies of environments cannot be drawn")
        check_range("run", seed, 0, trained.seeds - 1, whole=True)
        if at is None:
            update, table = int(trained.run.update), trained.policy(seed)
        else:
            times, tables = trained.snapshots
            check_range("at", at, 0, len(times) - 1, whole=True)
            update, table = int(times[at]), tables[at][seed]
        table = np.where(table < _LEAST_SHOWN, 0.0, table)
        table = table / table.sum(axis=1, keepdims=True)
        mdp, steps = trained.mdp, int(trained.learner.max_steps)
        visits = _visits(mdp, table, steps)
        values = evaluate(mdp, table, 1.0, horizon=steps)
        return {
            "update": update,
            "values": plain_numbers(values),
            "satisfied": [bool(met) for met in trained.order.satisfied(values)],
            "rows": policy_rows(mdp, table, visits[:, None] * table),
        }

    def _read(self) -> Any:
        if not self.path.name:
            raise ValueError("training: no training was opened")
        try:
            found = self.path.stat()
        except OSError:
            raise ValueError("training: its file is not there (any more)") from None
        stamp = f"{found.st_mtime_ns}-{found.st_size}"
        if stamp != self.stamp or self.trained is None:
            from lexicone.learning._saved import load

            self.trained, self.stamp = load(self.path), stamp
        return self.trained

    def _optimum(self, trained: Any, context: Any) -> tuple[np.ndarray, str] | None:
        """Values and status, where they can be known; computed once, however often the file changes."""
        key = f"{getattr(trained, 'facts', '')}{trained.order!r}"
        if self.exact[0] != key:
            self.exact = key, _find_optimum(trained, context)
        return self.exact[1]


def _find_optimum(trained: Any, context: Any) -> tuple[np.ndarray, str] | None:
    """Of a model by solving it, of a world whose optimum is known as it is known."""
    if hasattr(trained, "mdp"):
        seconds, progress = 0.5 * context.seconds, context.progress
        best = solve(trained.mdp, trained.order, time_limit=seconds, progress=progress)
        return best.values, str(best.status)
    name = trained.facts.environment_id
    return (best_values(name, trained.order), "optimal") if is_world(name) else None


def _labels(trained: Any) -> tuple[str, ...]:
    """The names of the order, or of the model where that has none."""
    mdp = getattr(trained, "mdp", None)
    return trained.order.labels if trained.order.names or mdp is None else mdp.objective_labels


def _visits(mdp: Any, table: np.ndarray, steps: int) -> np.ndarray:
    """How often states are visited within the steps of an episode, on average."""
    chain = mdp.chain(table).T
    now = np.where(mdp.terminal, 0.0, mdp.initial)
    total = np.zeros_like(now)
    for _ in range(steps):
        total += now
        now = np.where(mdp.terminal, 0.0, chain @ now)
        if now.sum() < 1e-9:
            break
    return total


def _places(history: dict[str, np.ndarray]) -> tuple[np.ndarray, str]:
    """Where the rows of a history are: by episodes, or by steps where seeds have other numbers of episodes."""
    episodes = np.asarray(history["episodes"], dtype=float)
    if episodes.ndim == 1:
        return episodes, "episodes"
    return np.asarray(history["steps"], dtype=float).mean(axis=0), "steps"


def _binned(rows: np.ndarray) -> np.ndarray:
    """``[N,L]`` to at most 200 means of neighbouring entries."""
    length = rows.shape[1]
    bins = np.array_split(np.arange(length), min(length, _POINTS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # rows in which no episode ended
        return np.stack([np.nanmean(rows[:, part], axis=1) for part in bins], axis=1)


def _curves(table: Any, count: int, seeds: int) -> list[list[list[Any]]] | None:
    """``[objective][seed][point]``; None where the learner does not report it."""
    if table is None or np.ndim(table) != 3 or np.shape(table)[2] < count or not np.size(table):
        return None
    part = np.asarray(table, dtype=float)[:seeds]
    return [[_short(row) for row in _binned(part[:, :, k])] for k in range(count)]


def _shares(table: Any, count: int) -> list[list[Any]] | None:
    """How often each objective was the one to improve, over all seeds: ``[objective][point]``."""
    if table is None or np.ndim(table) != 3 or np.shape(table)[2] != count or not np.size(table):
        return None
    mean = np.asarray(table, dtype=float).mean(axis=0).T
    return [_short(row) for row in _binned(mean)]


def _short(row: np.ndarray) -> list[Any]:
    """Numbers with six digits; None where there are none."""
    return [float(f"{v:.6g}") if math.isfinite(v) else None for v in row]
