"""What the precision can carry: rewards that are too large or too small are refused before any work, and a training
whose numbers are lost on the way (NaN, or beyond the largest number) stops, with the update and the objective named.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from lexicone.learning._runs import Runs
from lexicone.order import Order

__all__ = ["check_pay", "first_loss", "largest_reward", "lost_seeds"]

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
    pairs = zip(jax.tree.leaves(before.states), jax.tree.leaves(after.states), strict=True)
    for old, new in ((np.asarray(a), np.asarray(b)) for a, b in pairs):
        if new.dtype.kind == "f":
            gone = (np.isnan(new) & ~np.isnan(old)) | (np.isinf(new) & np.isfinite(old))
            lost |= gone.reshape(seeds, -1).any(axis=1)
    for name in {"returns", "found"} & set(after.log):
        new, old = (np.asarray(runs.log[name]) for runs in (after, before))
        gone = ~np.isfinite(new) & np.isfinite(old)
        lost |= np.moveaxis(gone, 1, 0).reshape(seeds, -1).any(axis=1)
    return lost


def first_loss(
    runs: Runs, until: int, go_on: Callable[[Runs, int], Runs], every: int, order: Order
) -> tuple[Runs, str]:
    """The runs after their last good update, and what happened in the next one.

    ``runs`` are all good, and some are lost by update ``until``. Halving the stretch finds the update: a run ends with
    the same bits in whatever pieces it is done.
    """
    while until - int(runs.update) > 1:
        middle = (int(runs.update) + until) // 2
        halfway = go_on(runs, middle)
        if lost_seeds(runs, halfway).any():
            until = middle
        else:
            runs = halfway
    after = go_on(runs, until)
    seed = int(np.argmax(lost_seeds(runs, after)))
    bits = np.finfo(np.asarray(after.snapshots).dtype).bits
    where = _objective(runs, after, seed, every, order)
    return runs, (
        f"learner: the training of seed {seed} diverged in update {until}, {where}: "
        f"numbers went beyond {bits} bits; rewards in larger units, a smaller learning_rate"
        f"{', or 64 bits (JAX_ENABLE_X64=1)' if bits == 32 else ''} may help"
    )


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
            k = int(np.argmax(marked))
            return f"{says} objective {k + 1}" + (f" ({order.names[k]})" if order.names else "")
    return "of which objective it does not log"
