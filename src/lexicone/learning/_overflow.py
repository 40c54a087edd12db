"""What the precision can carry: rewards that are too large or too small are refused before any work, and a training
whose numbers are lost on the way (NaN, or beyond the largest number) stops, with the update and the objective named.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from lexicone.learning._runs import Runs, learned
from lexicone.order import Order

__all__ = ["BROKEN", "check_pay", "first_loss", "largest_reward", "lost_seeds", "tell_loss"]

BROKEN = "broken"
"""The metric in which a compiled world's mistakes are counted, ``[K+1]``: rewards of each objective, observations."""

_LEAST_RETURN = 1e-6  # learners take differences of that size for rounding
_ROOM = 100.0  # that the squares of returns leave, for sums over steps and episodes


def largest_reward(dtype: Any, max_steps: int) -> float:
    """What one step may pay: learners form squares of returns, and sums of them."""
    return float(np.sqrt(float(np.finfo(np.dtype(dtype)).max)) / _ROOM / max_steps)


def check_pay(scale: Any, max_steps: int, dtype: Any, labels: Sequence[str]) -> None:
    """A ValueError for the first objective whose largest reward ``scale[k]`` is beyond what can be learned from."""
    bits, most = np.finfo(np.dtype(dtype)).bits, largest_reward(dtype, max_steps)
    for label, size in zip(labels, np.asarray(scale, float).tolist(), strict=True):
        if size > most:
            more = "" if bits == 64 else ", or with 64 bits (JAX_ENABLE_X64=1)"
            raise ValueError(
                f"mdp: pays up to {size:.3g} of {label} in a step; learners with {bits} bits and episodes of "
                f"{max_steps} steps take at most {most:.3g}: use larger units{more}"
            )
        if 0 < size * max_steps < _LEAST_RETURN:
            raise ValueError(
                f"mdp: pays at most {size:.3g} of {label} in a step, {size * max_steps:.3g} in an episode; "
                f"learners take differences below {_LEAST_RETURN:g} for rounding: use smaller units"
            )


def lost_seeds(before: Runs, after: Runs) -> np.ndarray:
    """Which runs had numbers that are none any more, or infinite, in their states or in what they log: ``[N]``."""
    seeds = after.snapshots.shape[1]
    lost = np.zeros(seeds, dtype=bool)
    pairs = zip(jax.tree.leaves(learned(before)), jax.tree.leaves(learned(after)), strict=True)
    for old, new in ((np.asarray(a), np.asarray(b)) for a, b in pairs):
        if new.dtype.kind == "f":
            gone = (np.isnan(new) & ~np.isnan(old)) | (np.isinf(new) & np.isfinite(old))
            lost |= gone.reshape(seeds, -1).any(axis=1)
    for name in {"returns", "found"} & set(after.log):
        new, old = (np.asarray(runs.log[name]) for runs in (after, before))
        gone = ~np.isfinite(new) & np.isfinite(old)
        lost |= np.moveaxis(gone, 1, 0).reshape(seeds, -1).any(axis=1)
    if BROKEN in after.log:
        lost |= (_logged(after, BROKEN) > _logged(before, BROKEN)).any(axis=(0, 2))
    return lost


def first_loss(runs: Runs, after: Runs, go_on: Callable[[Runs, int], Runs]) -> tuple[Runs, Runs]:
    """The runs after their last good update, and after the next one.

    ``runs`` are all good, and some are lost in ``after``. Halving the stretch finds the update: a run ends with the
    same bits in whatever pieces it is done. Nothing is done again where the stretch is one update.
    """
    while int(after.update) - int(runs.update) > 1:
        halfway = go_on(runs, (int(runs.update) + int(after.update)) // 2)
        if lost_seeds(runs, halfway).any():
            after = halfway
        else:
            runs = halfway
    return runs, after


def tell_loss(before: Runs, after: Runs, every: int, order: Order, task: str) -> str:
    """What happened in the one update between the two, in which some runs are lost."""
    seed, update = int(np.argmax(lost_seeds(before, after))), int(after.update)
    if BROKEN in after.log:
        counts = (_logged(after, BROKEN) - _logged(before, BROKEN))[:, seed].sum(axis=0)
        if counts.any():
            place = int(np.argmax(counts > 0))
            gave = (
                "an observation" if place == len(order) else f"a reward of {_named(place, order)}"
            )
            return (
                f"task: {task} gave {gave} that is not finite, or too large to be learned from, in update {update} "
                f"of run {seed}"
            )
    bits = np.finfo(np.asarray(after.snapshots).dtype).bits
    where = _objective(before, after, seed, every, order)
    return (
        f"learner: the training of seed {seed} diverged in update {update}, {where}: "
        f"numbers went beyond {bits} bits; rewards in larger units, a smaller learning_rate"
        f"{', or 64 bits (JAX_ENABLE_X64=1)' if bits == 32 else ''} may help"
    )


def _logged(runs: Runs, name: str) -> np.ndarray:
    return np.asarray(runs.log[name])


def _named(k: int, order: Order) -> str:
    return f"objective {k + 1}" + (f" ({order.names[k]})" if order.names else "")


def _objective(before: Runs, after: Runs, seed: int, every: int, order: Order) -> str:
    """Which objective was paid, or else improved, in the one update between the two."""
    row = (int(after.update) - 1) // every
    for name, says in (("returns", "by the returns of"), ("improved", "while improving")):
        if name not in after.log:
            continue
        new, old = (np.asarray(runs.log[name], float)[row, seed] for runs in (after, before))
        with np.errstate(invalid="ignore"):
            marked = ~np.isfinite(new) if name == "returns" else new - old > 0
        if new.shape == (len(order),) and marked.any():
            return f"{says} {_named(int(np.argmax(marked)), order)}"
    return "of which objective it does not log"
