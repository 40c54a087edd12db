"""The history of a training in windows, and what of it is beyond chance.

One window has more of something than another where the difference is several standard errors: for shares of episodes
those of two shares, for mean returns from how much they jump between one row and the next.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

__all__ = ["BEYOND_CHANCE", "LIKELY", "Course"]

BEYOND_CHANCE = 4.0
"""Standard errors, where the best of all windows is compared."""
LIKELY = 3.0
"""Where two given windows are."""
_WINDOWS = 12
_LEAST_FALL = 0.05  # of a share that is worth a word
_HALF = 0.5


class Course(NamedTuple):
    """The history in W windows of N seeds."""

    returns: Float[np.ndarray, "N W K"]
    error: Float[np.ndarray, "N W K"]
    """Standard errors of these means."""
    met: Float[np.ndarray, "N W thresholds"]
    episodes: Float[np.ndarray, "N W"]
    """How many."""
    ended: Float[np.ndarray, "N W"]
    """The share that terminated; NaN where that is not known."""
    segments: bool
    """Whether it was learned from segments, in which any number of episodes may end."""

    @staticmethod
    def of(history: dict[str, np.ndarray], objectives: int) -> "Course | None":
        """None where a learner does not report what is needed, or too little was done."""
        returns, met = history.get("returns"), history.get("satisfied")
        if returns is None or met is None or np.ndim(returns) != 3 or np.ndim(met) != 3:
            return None
        seeds, rows = returns.shape[:2]
        if rows < 2 or returns.shape[2] != objectives or met.shape[2] != objectives - 1:
            return None
        episodes = np.broadcast_to(np.asarray(history["episodes"]), (seeds, rows))
        count = np.diff(episodes, axis=1, prepend=0).astype(float)
        count = np.where(np.isfinite(returns[..., 0]), count, 0.0)
        ended = history.get("terminated", np.full((seeds, rows), np.nan))
        returns, met = np.nan_to_num(returns), np.nan_to_num(met)
        jump = np.sqrt(np.mean(np.diff(returns, axis=1) ** 2, axis=1) / 2)  # of one row, by chance
        found = []
        for part in np.array_split(np.arange(rows), min(_WINDOWS, rows)):
            total = count[:, part].sum(axis=1)
            share = count[:, part] / np.maximum(total, 1.0)[:, None]
            found.append(
                (
                    np.einsum("nl,nlk->nk", share, returns[:, part]),
                    jump / np.sqrt(len(part)),
                    np.einsum("nl,nlk->nk", share, met[:, part]),
                    total,
                    np.einsum("nl,nl->n", share, ended[:, part]),
                )
            )
        parts = (np.stack(part, axis=1) for part in zip(*found, strict=True))
        return Course(*parts, segments=np.ndim(history["episodes"]) == 2)

    def fall(self, seed: int, k: int) -> tuple[float, float, int] | None:
        """The share of episodes that met a threshold at best and in the end, if it fell; and the window of the best."""
        share, count = self.met[seed, :, k], self.episodes[seed]
        if count[-1] == 0:
            return None
        best = int(np.argmax(np.where(count > 0, share, -1.0)))
        high, low = share[best], share[-1]
        both = (high * count[best] + low * count[-1]) / (count[best] + count[-1])
        both = min(both, 1.0)  # means of ones may be a little more
        error = np.sqrt(both * (1 - both) * (1 / count[best] + 1 / count[-1]))
        fell = high - low >= _LEAST_FALL and low <= _HALF * high
        return (
            (float(high), float(low), best) if fell and high - low > BEYOND_CHANCE * error else None
        )

    def change(self, seed: int, k: int, since: int) -> float:
        """How many standard errors a mean return has risen by from one window to the last."""
        rise = self.returns[seed, -1, k] - self.returns[seed, since, k]
        error = np.hypot(self.error[seed, -1, k], self.error[seed, since, k])
        return float(rise / max(error, 1e-9 * max(1.0, abs(self.returns[seed, -1, k]))))
