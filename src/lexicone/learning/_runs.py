"""All runs of a training at one moment: the state that is saved, resumed and advanced."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Float, Int, PyTree

__all__ = ["Runs", "SegmentRun", "learned", "named_leaves", "run_keys", "slice_runs"]


class Runs(NamedTuple):
    """N runs under way: a pytree whose leaves, but for ``update``, have the runs as their first or second axis."""

    update: Int[Any, ""]
    """How many updates are done."""
    states: PyTree
    """The learner's states, leaves ``[N,…]``."""
    log: dict[str, Any]
    """Sums of each metric over windows of updates, ``[L,N,…]``."""
    snapshots: Float[Any, "P N S A"]
    """``ln π`` at P times."""


class SegmentRun(NamedTuple):
    """The state of a run that learns from segments."""

    learning: Any
    """A `SegmentState`."""
    places: PyTree
    """Where the copies of a compiled world are; None for one that is Python code."""


def learned(runs: Runs) -> PyTree:
    """The states without those of worlds, whose numbers are nobody's business but their own."""
    return runs.states.learning if isinstance(runs.states, SegmentRun) else runs.states


@partial(jax.jit, static_argnums=(1, 2))
def run_keys(key: Any, seeds: int, variants: int) -> Any:
    """A key for each seed, the same ones for every variant: ``[variants·seeds]``."""
    keys = jax.vmap(partial(jax.random.fold_in, key))(jnp.arange(seeds))
    return jnp.tile(keys, variants)


def slice_runs(runs: Runs, part: int, parts: int) -> Runs:
    """One of several equal parts of the runs."""
    if parts == 1:
        return runs
    size = runs.snapshots.shape[1] // parts
    own = slice(part * size, (part + 1) * size)
    return Runs(
        runs.update,
        jax.tree.map(lambda leaf: leaf[own], runs.states),
        {name: sums[:, own] for name, sums in runs.log.items()},
        runs.snapshots[:, own],
    )


def named_leaves(runs: Runs) -> list[tuple[str, Any]]:
    """The leaves with names that say where they are, such as ``run.states.policy.layers.0.bias``."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(runs)
    return [
        ("run." + jax.tree_util.keystr(path, simple=True, separator="."), leaf)
        for path, leaf in leaves
    ]
