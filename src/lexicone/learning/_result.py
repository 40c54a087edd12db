"""What a training leaves, on a model (`Trained`) or in an environment (`TrainedEnv`): runs, their history, a file."""

import dataclasses
import json
import math
import os
from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from lexicone._base import checkpoint
from lexicone._base.checks import check_index
from lexicone._base.levels import level_for_file
from lexicone.learning._problem import Problem
from lexicone.learning._returns import allow_rounding
from lexicone.learning._runs import Runs, learned, named_leaves
from lexicone.order import Order

__all__ = ["Evaluation", "TrainingResult", "judge_episodes", "probabilities"]


class Evaluation(NamedTuple):
    """E episodes with the policy of each of N seeds."""

    returns: Float[np.ndarray, "N E K"]
    lengths: Int[np.ndarray, "N E"]
    terminated: Bool[np.ndarray, "N E"]
    satisfied: Float[np.ndarray, "N K-1"]
    """The share of episodes that meet each threshold."""
    success: Float[np.ndarray, " N"]
    """The share of episodes that meet all thresholds."""


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
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

    @property
    def problem(self) -> Problem:
        """What the learner worked on."""
        raise NotImplementedError

    @property
    def seeds(self) -> int:
        """N."""
        return next(iter(self.run.log.values())).shape[1]

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
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, whole or not at all; `load` reads it."""
        arrays = {name: np.asarray(leaf) for name, leaf in named_leaves(self.run)}
        facts = {**self.identity, "done": int(self.run.update)}
        checkpoint.write(path, arrays | self._task_arrays(), facts)

    def _task_arrays(self) -> dict[str, np.ndarray]:
        return {}

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
