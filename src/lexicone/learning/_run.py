"""What any training leaves: its runs, their history, and a file that keeps all of it."""

import dataclasses
import math
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int, PyTree

from lexicone._base import checkpoint
from lexicone._base.checks import check_whole
from lexicone.learning._episodes import Problem
from lexicone.learning._returns import nearly
from lexicone.order import Order

__all__ = [
    "Entries",
    "Evaluation",
    "Run",
    "Training",
    "judge_episodes",
    "probabilities",
    "read_run",
    "reading",
]


class Run(NamedTuple):
    """N runs under way: a pytree whose leaves, but for ``update``, have the runs as their first or second axis."""

    update: Int[Any, ""]
    """How many updates are done."""
    states: PyTree
    """The learner's states, leaves ``[N,…]``."""
    log: dict[str, Any]
    """Sums of each metric over windows of updates, ``[L,N,…]``."""
    snapshots: Float[Any, "P N S A"]
    """``ln π`` at P times."""


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
class Training:
    """N runs of a learner, which differ in their seed: what `Trained` and `TrainedEnv` share."""

    order: Order
    learner: Any
    key: tuple[int, ...]
    updates: int
    """How many the training was meant to have; ``run.update`` are done."""
    every: int
    """Updates per row of the history."""
    run: Run

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
        return {
            "learner": type(self.learner).__name__,
            "settings": dataclasses.asdict(self.learner),
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
        arrays = {name: np.asarray(leaf) for name, leaf in _named(self.run)}
        facts = {**self.identity, "done": int(self.run.update)}
        checkpoint.write(path, arrays | self._task_arrays(), facts)

    def _task_arrays(self) -> dict[str, np.ndarray]:
        return {}

    @cached_property
    def diverged(self) -> Bool[np.ndarray, " N"]:
        """The seeds whose parameters are no numbers any more (NaN): steps were too long. They have no policy."""
        broken = np.zeros(self.seeds, dtype=bool)
        for leaf in map(np.asarray, jax.tree.leaves(self.run.states)):
            broken |= np.isnan(leaf.reshape(self.seeds, -1)).any(axis=1)
        return broken

    def _check_seed(self, seed: int) -> None:
        if not 0 <= seed < self.seeds:
            raise ValueError(f"seed: expected 0 to {self.seeds - 1}, got {seed}")
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

    As in training, a threshold is met by what `returns.nearly` reaches it; models and environments pay in 32 bits.
    """
    limits = np.asarray(nearly(jnp.asarray(order.thresholds, jnp.float32)))
    met = np.asarray(returns, np.float32)[..., :-1] >= limits
    return Evaluation(returns, lengths, terminated, met.mean(axis=1), met.all(axis=2).mean(axis=1))


def probabilities(log_table: Any) -> np.ndarray:
    """``π`` from ``ln π``, in 64 bits; rows sum to 1."""
    table = np.exp(np.asarray(log_table, dtype=float))
    return table / table.sum(axis=-1, keepdims=True)


class Entries(dict[str, Any]):
    """What a file holds; one that is missing is named."""

    def __missing__(self, name: str) -> Any:
        raise LookupError(f"there is no entry {name!r}")


@contextmanager
def reading(name: str, part: str) -> Iterator[None]:
    """Whatever is wrong with a part of a file, whose digest may be right, is a ValueError that names both."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise ValueError(f"path: {name!r} has {part} that cannot be read: {error}") from None


def read_run(
    name: str, arrays: Entries, learner: Any, problem: Problem, facts: dict[str, Any]
) -> Run:
    """The runs that a file holds; ``name`` is the file's, for a ValueError if they are not of this learner."""
    with reading(name, "numbers"):
        check_whole(seeds=facts["seeds"], updates=facts["updates"], every=facts["every"])
    seeds = facts["seeds"]
    form = jax.eval_shape(
        jax.vmap(lambda key: learner.init(problem, key)),
        jax.random.split(jax.random.key(0), seeds),
    )
    leaves = []
    for key, leaf in _named(Run(jnp.int32(0), form, {}, jnp.zeros(0))):
        if not key.startswith("run.states"):
            continue
        if key not in arrays:
            raise ValueError(f"path: {name!r} has no {key}: another version of lexicone wrote it")
        if arrays[key].shape != leaf.shape:
            raise ValueError(f"path: {name!r} does not fit the learner: {key} is not {leaf.shape}")
        leaves.append(jnp.asarray(arrays[key]))
    states = jax.tree.unflatten(jax.tree.structure(form), leaves)
    prefix = "run.log."
    log = {k.removeprefix(prefix): arrays[k] for k in arrays if k.startswith(prefix)}
    with reading(name, "a run"):
        update, snapshots = int(arrays["run.update"]), arrays["run.snapshots"]
        if not 0 <= update <= facts["updates"]:
            raise ValueError(f"run.update is {update}, and there are {facts['updates']} in all")
        if not log:
            raise ValueError("there is no entry 'run.log'")
        rows = math.ceil(update / facts["every"])
        for metric, sums in log.items():
            if sums.ndim < 2 or len(sums) < rows or sums.shape[1] != seeds:
                raise ValueError(f"run.log.{metric} has the shape {sums.shape}")
        if snapshots.ndim != 4 or snapshots.shape[1] != seeds:
            raise ValueError(f"run.snapshots has the shape {snapshots.shape}")
    log = {metric: jnp.asarray(sums) for metric, sums in log.items()}
    return Run(jnp.int32(update), states, log, jnp.asarray(snapshots))


def _named(run: Run) -> list[tuple[str, Any]]:
    """The leaves of a run with names that say where they are."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(run)
    return [
        ("run." + jax.tree_util.keystr(path, simple=True, separator="."), leaf)
        for path, leaf in leaves
    ]
