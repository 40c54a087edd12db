"""What a training leaves, on a model (`Trained`) or in an environment (`TrainedEnv`): runs, their history, a file."""

import dataclasses
import json
import math
import os
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from lexicone._base import checkpoint
from lexicone._base.checks import check_index
from lexicone._base.frames import as_csv, as_frame, write_csv
from lexicone._base.intervals import mean_intervals, share_intervals
from lexicone._base.levels import level_for_file
from lexicone.learning._history_views import history_columns, training_html
from lexicone.learning._problem import Problem
from lexicone.learning._returns import allow_rounding
from lexicone.learning._runs import Runs, learned, named_leaves
from lexicone.order import Order

if TYPE_CHECKING:
    from lexicone.learning._diagnosis import Diagnosis

__all__ = [
    "STATUSES",
    "Evaluation",
    "Intervals",
    "TrainingResult",
    "judge_episodes",
    "probabilities",
    "uninterrupted",
]

STATUSES = ("finished", "stopped", "interrupted", "unfinished")
"""What a result can say of how its training ended."""


class Evaluation(NamedTuple):
    """E episodes with the policy of each of N seeds."""

    returns: Float[np.ndarray, "N E K"]
    lengths: Int[np.ndarray, "N E"]
    terminated: Bool[np.ndarray, "N E"]
    satisfied: Float[np.ndarray, "N K-1"]
    """The share of episodes that meet each threshold."""
    success: Float[np.ndarray, " N"]
    """The share of episodes that meet all thresholds."""

    def intervals(self, confidence: float = 0.95) -> "Intervals":
        """Where the policies' own means and shares lie, so sure: Student's intervals of returns, Wilson's of shares."""
        episodes = self.lengths.shape[1]
        return Intervals(
            mean_intervals(self.returns, 1, confidence),
            share_intervals(self.satisfied, episodes, confidence),
            share_intervals(self.success, episodes, confidence),
        )


class Intervals(NamedTuple):
    """Of an `Evaluation`: lower and upper ends, last axis."""

    returns: Float[np.ndarray, "N K 2"]
    """Of mean returns; without end where there is one episode only."""
    satisfied: Float[np.ndarray, "N K-1 2"]
    success: Float[np.ndarray, "N 2"]


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class TrainingResult:
    """N runs of a learner, which differ in their seed, finished or not: what `Trained` and `TrainedEnv` share."""

    order: Order
    learner: Any
    key: tuple[int, ...]
    updates: int
    """How many the training was meant to have; ``run.update`` are done."""
    every: int
    """Updates per row of the history."""
    run: Runs
    status: str = "finished"
    """``"finished"``, ``"stopped"`` by a callback, ``"interrupted"`` by Ctrl-C, or ``"unfinished"``: it was killed."""
    extended: tuple[tuple[int, int], ...] = ()
    """Each time it was made longer: after how many updates, and how many it was meant to have until then. What falls or
    rises in the course of a training (learning rate, entropy) follows the longer one from there on."""

    def __repr__(self) -> str:
        done = f"{int(self.run.update)} of {self.updates}"
        what = f"learner: {type(self.learner).__name__}, seeds: {self.seeds}, updates: {done}"
        return f"{type(self).__name__}({what}, order: {self.order!r})"

    def _repr_html_(self) -> str:
        return training_html(self)

    @property
    def problem(self) -> Problem:
        """What the learner worked on."""
        raise NotImplementedError

    @property
    def seeds(self) -> int:
        """N."""
        return next(iter(self.run.log.values())).shape[1]

    @property
    def labels(self) -> tuple[str, ...]:
        """What the objectives are called: by the order, or else by what was learned in."""
        return self.order.names or self._own_names() or self.order.labels

    def _own_names(self) -> tuple[str, ...] | None:
        return getattr(getattr(self, "facts", None), "reward_names", None)

    @cached_property
    def history(self) -> dict[str, np.ndarray]:
        """What happened, in L rows of ``every`` updates each (the last row may have fewer); means over the row.

        ``update`` and ``episodes`` ``[L]``, and ``steps`` ``[N,L]``: how many there were by the end of the row.
        ``returns`` ``[N,L,K]``: of the episodes that were learned from, as the policy of that time acted.
        ``satisfied`` ``[N,L,K−1]``: the share of them that met each threshold. ``terminated``: the share that reached
        an end. ``improved`` ``[N,L,K]``: how often each objective was the one to improve. ``found`` ``[N,L]``: how
        often there was a direction.
        ``cosines`` ``[N,L,K(K−1)/2]``: of the angles between gradients (0,1), (0,2), …, (1,2), … And whatever else
        the learner reports.
        """
        done = int(self.run.update)
        rows = math.ceil(done / self.every)
        ends = np.minimum(np.arange(1, rows + 1) * self.every, done)
        sizes = np.diff(ends, prepend=0)
        history = {"update": ends, "episodes": ends * self.learner.batch}
        for name, sums in self.run.log.items():
            part = np.moveaxis(np.asarray(sums, dtype=float)[:rows], 0, 1)
            if name == "steps":
                history[name] = np.cumsum(part, axis=1).round().astype(np.int64)
            else:
                history[name] = part / sizes.reshape(1, rows, *[1] * (part.ndim - 2))
        return history

    def to_frame(self) -> Any:
        """The `history` as a data frame of pandas (extra ``frames``): a row for each seed and row of the history.

        Columns are ``seed``, ``update``, ``episodes``, ``steps``, and for each objective ``returns.NAME``,
        ``satisfied.NAME``, ``improved.NAME``; then whatever else the learner reports, numbered where it is a list.
        """
        return as_frame(history_columns(self.history, self.labels, self.seeds))

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """The rows of `to_frame` as CSV, without pandas: written to a file, or returned as text if there is none."""
        columns = history_columns(self.history, self.labels, self.seeds)
        return as_csv(columns) if path is None else write_csv(path, columns)

    @property
    def identity(self) -> dict[str, Any]:
        """All that decides the numbers, as JSON can hold it; two trainings that agree in it have the same result."""
        levels = self.order.levels
        units = (
            {"units": list(map(level_for_file, levels))} if not all(v.plain for v in levels) else {}
        )
        return {
            **units,
            "learner": type(self.learner).__name__,
            "settings": _settings_for_file(self.learner),
            "thresholds": [str(t) for t in self.order.thresholds],
            "names": self.order.names,
            "break_ties": self.order.break_ties,
            "key": list(self.key),
            "seeds": self.seeds,
            "updates": self.updates,
            "every": self.every,
            "snapshots": self.run.snapshots.shape[0],
            "precision": str(np.asarray(self.run.snapshots).dtype),
            **({"extended": [list(pair) for pair in self.extended]} if self.extended else {}),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, whole or not at all; `load` reads it."""
        arrays = {name: np.asarray(leaf) for name, leaf in named_leaves(self.run)}
        facts = {**self.identity, "done": int(self.run.update), "status": self.status}
        checkpoint.write(path, arrays | self._task_arrays(), facts)

    def watch(
        self,
        path: str | os.PathLike[str],
        seed: int = 0,
        *,
        episodes: int = 1,
        greedy: bool = False,
        start: int = 0,
        max_steps: int | None = None,
    ) -> None:
        """Show episodes of one seed's policy: as a film where they can be rendered, else as a figure of their course.

        Args:
            path: ``.gif`` or ``.mp4`` (extra ``video``) for a film; ``.png``, ``.svg`` or ``.pdf`` for a figure.
            seed: whose policy.
            episodes: how many, one after another.
            greedy: take the most probable action instead of sampling.
            start: another number, other episodes.
            max_steps: they are cut off after so many; by default the learner's cap.
        """
        from lexicone.learning._watch import watch

        watch(
            self,
            path,
            seed,
            episodes=episodes,
            greedy=greedy,
            start=start,
            max_steps=max_steps,
        )

    def _task_arrays(self) -> dict[str, np.ndarray]:
        return {}

    def evaluate(self, episodes: int = 100, *, seed: int = 0) -> Evaluation:
        """Run each seed's policy for so many fresh episodes."""
        raise NotImplementedError

    def diagnose(self, episodes: int = 100, *, seed: int = 1) -> "Diagnosis":
        """What became of the training: which thresholds hold on fresh episodes, what was improved when, what collapsed.

        ``print(t.diagnose())`` says it, with what to try next. ``episodes`` and ``seed`` are those of `evaluate`.
        """
        from lexicone.learning._diagnosis import diagnose

        fresh = self.evaluate(episodes, seed=seed)
        return diagnose(self.order, self.learner, self.history, fresh, self.status)

    @cached_property
    def diverged(self) -> Bool[np.ndarray, " N"]:
        """The seeds whose parameters are no numbers any more (NaN): steps were too long. They have no policy."""
        broken = np.zeros(self.seeds, dtype=bool)
        for leaf in map(np.asarray, jax.tree.leaves(learned(self.run))):
            broken |= np.isnan(leaf.reshape(self.seeds, -1)).any(axis=1)
        return broken

    def _check_seed(self, seed: int) -> None:
        check_index("seed", seed, self.seeds)
        self._check_numbers([seed])

    def _check_numbers(self, seeds: Iterable[int]) -> None:
        """A ValueError if the policies of some of these seeds are not numbers."""
        lost = [str(seed) for seed in seeds if self.diverged[seed]]
        if lost:
            raise ValueError(
                f"learner: the training of seed {', '.join(lost)} diverged: its parameters are not numbers any more; "
                "a smaller learning_rate may help"
            )


_Any = TypeVar("_Any", bound=TrainingResult)


def uninterrupted(trained: _Any) -> _Any:
    """The same; for those with whom Ctrl-C shall end more than one training."""
    if trained.status == "interrupted":
        raise KeyboardInterrupt
    return trained


def judge_episodes(order: Order, returns: Any, lengths: Any, terminated: Any) -> Evaluation:
    """What E episodes of each of N seeds say about the thresholds.

    As in training, a threshold is met by what `allow_rounding` reaches it; models and environments pay in 32 bits.
    """
    limits = np.asarray(allow_rounding(jnp.asarray(order.thresholds, jnp.float32)))
    met = np.asarray(returns, np.float32)[..., :-1] >= limits
    return Evaluation(returns, lengths, terminated, met.mean(axis=1), met.all(axis=2).mean(axis=1))


def probabilities(log_table: Any) -> np.ndarray:
    """``π`` from ``ln π``, in 64 bits; rows sum to 1."""
    table = np.exp(np.asarray(log_table, dtype=float))
    return table / table.sum(axis=-1, keepdims=True)


def _settings_for_file(learner: Any) -> dict[str, Any]:
    """The learner's fields; a ValueError names one that JSON cannot hold."""
    settings = dataclasses.asdict(learner)
    for name, value in settings.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"learner: its {name} cannot be saved ({error})") from None
    return settings
