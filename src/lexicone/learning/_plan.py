"""How long and how often to train, and what to keep: the options of `train`, checked before any work."""

import os
from collections.abc import Callable, Mapping
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from lexicone._base.checks import (
    as_texts,
    check_flags,
    check_function,
    check_kind,
    check_path,
    check_whole,
)
from lexicone._base.files import check_writable
from lexicone.learning._defaults import EPISODES, SEEDS, STEPS

__all__ = ["Plan", "as_key", "key_numbers", "make_plan"]

_HISTORY_ROWS = 4000  # that are kept without being asked for
_MOST_UPDATES = 2**31 - 1  # programs count them in 32 bits
_LOGS = {"csv": "log.csv", "tensorboard": "tensorboard"}  # beside the checkpoint


class Plan(NamedTuple):
    """How long and how often to train, and what to keep."""

    seeds: int
    updates: int
    every: int
    """Updates per row of the history."""
    key: Any
    snapshots: int
    progress: bool
    checkpoint: str | os.PathLike[str] | None
    resume: bool
    overwrite: bool = False
    callback: Callable[[dict[str, Any]], Any] | None = None
    logs: tuple[tuple[str, Path], ...] = ()
    """Kinds of log files, and where they are."""

    @property
    def rows(self) -> int:
        """Of the history, to make room for. A power of two: other lengths, the same program."""
        return 2 ** max(6, (-(-self.updates // self.every) - 1).bit_length())


def make_plan(
    batch: int | None,
    *,
    steps_each: int | None = None,
    seeds: Any = SEEDS,
    updates: Any = None,
    episodes: Any = None,
    steps: Any = None,
    seed: Any = 0,
    log_every: Any = None,
    snapshots: Any = 0,
    progress: bool = False,
    checkpoint: Any = None,
    resume: bool = False,
    overwrite: bool = False,
    callback: Any = None,
    log: Any = None,
) -> Plan:
    """What these options of `train` mean for updates from a ``batch`` of episodes, or from ``steps_each`` steps."""
    check_whole(seeds=seeds)
    check_flags(progress=progress, resume=resume, overwrite=overwrite)
    check_function("callback", callback, optional=True)
    if sum(given is not None for given in (updates, episodes, steps)) > 1:
        raise ValueError("updates, episodes, steps: give one of them")
    if batch is None and episodes is not None:
        raise ValueError(
            "episodes: this learner takes segments of steps from environments, in which any number of episodes may "
            "end; give steps or updates"
        )
    if batch is not None and steps is not None:
        raise ValueError(
            "steps: batches of whole episodes have any number of steps; give episodes or updates"
        )
    if updates is None:
        if batch is None:
            wanted, each = {"steps": STEPS if steps is None else steps}, steps_each or 1
        else:
            wanted, each = {"episodes": EPISODES if episodes is None else episodes}, batch
        check_whole(**wanted)
        updates = -(-int(*wanted.values()) // each)
    check_whole(updates=updates)
    if updates > _MOST_UPDATES:
        raise ValueError(f"updates: at most {_MOST_UPDATES} are counted, got {updates}")
    if log_every is None:
        log_every = max(1, -(-updates // _HISTORY_ROWS))
    check_whole(log_every=log_every)
    check_whole(0, snapshots=snapshots)
    key = as_key(seed)
    if resume and checkpoint is None:
        raise ValueError("resume: needs the checkpoint to go on from")
    if resume and overwrite:
        raise ValueError("resume, overwrite: give one of them")
    if checkpoint is not None:
        check_writable("checkpoint", checkpoint)
    updates = int(updates)
    kept, every = min(int(snapshots), updates), min(int(log_every), updates)
    return Plan(
        int(seeds),
        updates,
        every,
        key,
        kept,
        bool(progress),
        checkpoint,
        bool(resume),
        bool(overwrite),
        callback,
        _log_files(log, checkpoint),
    )


def _log_files(log: Any, checkpoint: Any) -> tuple[tuple[str, Path], ...]:
    """Which logs are wanted, and where: beside the checkpoint unless a path is given."""
    if log is None:
        return ()
    if isinstance(log, Mapping):
        wanted = dict(log)
    else:
        kinds = (log,) if isinstance(log, str) else as_texts("log", log)
        wanted = dict.fromkeys(kinds)
    found = []
    for kind, path in wanted.items():
        check_kind("log", kind, _LOGS)
        if path is None and checkpoint is None:
            raise ValueError(
                f"log: {kind} files are written beside the checkpoint, and there is none; give one, or a path: "
                f"log={{{kind!r}: …}}"
            )
        path = Path(checkpoint).parent / _LOGS[kind] if path is None else path
        check_path("log", path)
        check_writable("log", path if kind == "csv" else Path(path) / "events")
        found.append((kind, Path(path)))
    return tuple(found)


def as_key(seed: Any) -> Any:
    """A ``jax.random`` key from a number or such a key."""
    if isinstance(seed, Integral):
        if not 0 <= int(seed) < 2**32:
            raise ValueError(f"seed: must be from 0 to 2³²−1, got {seed}")
        return jax.random.key(int(seed))
    if not isinstance(seed, jax.Array) or not jnp.issubdtype(seed.dtype, jax.dtypes.prng_key):
        raise ValueError(f"seed: expected a whole number or a jax.random key, got {seed!r}")
    if seed.shape != ():
        raise ValueError(f"seed: expected one jax.random key, got an array of shape {seed.shape}")
    return seed


def key_numbers(key: Any) -> tuple[int, ...]:
    """A key as JSON can hold it."""
    return tuple(np.asarray(jax.random.key_data(key)).tolist())
