"""What `train` is given, checked before any work."""

import os
from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from lexicone._base.checks import check_whole
from lexicone._base.files import check_writable
from lexicone.learning._learner import split
from lexicone.models._mdp import MDP
from lexicone.order import Order, as_order

__all__ = [
    "Plan",
    "as_key",
    "check_features",
    "check_learner",
    "check_variants",
    "key_numbers",
    "make_plan",
]

_ROWS = 4000  # of history that are kept without being asked for


def check_variants(task: MDP, variants: Sequence[tuple[Any, Any]]) -> list[tuple[Order, Any]]:
    """Orders and learners that fit the task, and that one program serves."""
    if not variants:
        raise ValueError("variants: need at least one")
    checked = [(as_order(order, task.num_objectives), learner) for order, learner in variants]
    for _, learner in checked:
        check_learner(learner, "init", "update", "log_policy")
    forms = [split(learner)[0] for _, learner in checked]
    if any(form != forms[0] for form in forms):
        traced = ", ".join(checked[0][1].traced)
        raise ValueError(f"variants: learners may differ in {traced} only")
    return checked


def check_learner(learner: Any, *methods: str) -> None:
    """That it has what any learner has, and these methods."""
    missing = [
        name for name in ("traced", "batch", "max_steps", *methods) if not hasattr(learner, name)
    ]
    if missing:
        raise ValueError(f"learner: {learner!r} has no {', '.join(missing)}")


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

    @property
    def rows(self) -> int:
        """Of the history, to make room for. A power of two: other lengths, the same program."""
        return 2 ** max(6, (-(-self.updates // self.every) - 1).bit_length())


def make_plan(
    batch: int,
    *,
    seeds: Any = 10,
    updates: Any = None,
    episodes: Any = None,
    key: Any = 0,
    log_every: Any = None,
    snapshots: Any = 0,
    progress: bool = False,
    checkpoint: Any = None,
    resume: bool = False,
) -> Plan:
    """The options of `train`, for batches of so many episodes."""
    check_whole(seeds=seeds)
    if (updates is None) == (episodes is None):
        raise ValueError("updates, episodes: give one of them")
    if updates is None:
        check_whole(episodes=episodes)
        updates = -(-int(episodes) // batch)
    check_whole(updates=updates)
    if log_every is None:
        log_every = max(1, -(-updates // _ROWS))
    check_whole(log_every=log_every)
    if not isinstance(snapshots, Integral) or int(snapshots) < 0:
        raise ValueError(f"snapshots: must be a whole number of at least 0, got {snapshots!r}")
    key = as_key(key)
    if resume and checkpoint is None:
        raise ValueError("resume: needs the checkpoint to go on from")
    if checkpoint is not None:
        check_writable("checkpoint", checkpoint)
    kept = min(int(snapshots), int(updates))
    return Plan(int(seeds), int(updates), int(log_every), key, kept, progress, checkpoint, resume)


def as_key(key: Any) -> Any:
    """A ``jax.random`` key from a number or such a key."""
    if isinstance(key, Integral):
        if not 0 <= int(key) < 2**32:
            raise ValueError(f"key: must be from 0 to 2³²−1, got {key}")
        return jax.random.key(int(key))
    if not isinstance(key, jax.Array) or not jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        raise ValueError(f"key: expected a whole number or a jax.random key, got {key!r}")
    if key.shape != ():
        raise ValueError(f"key: expected one jax.random key, got an array of shape {key.shape}")
    return key


def key_numbers(key: Any) -> tuple[int, ...]:
    """A key as JSON can hold it."""
    return tuple(np.asarray(jax.random.key_data(key)).tolist())


def check_features(task: MDP, features: Any) -> np.ndarray | None:
    """A row for every state of a model."""
    if features is None:
        return None
    try:
        rows = np.asarray(features, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"features: expected numbers of shape [{task.num_states}, D], got {features!r}"
        ) from None
    if rows.ndim != 2 or rows.shape[0] != task.num_states or not np.isfinite(rows).all():
        raise ValueError(
            f"features: expected finite numbers of shape [{task.num_states}, D], got {rows.shape}"
        )
    return rows
