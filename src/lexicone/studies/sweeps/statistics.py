"""What many seeds say: shares with Wilson's intervals, interquartile means, paired bootstraps, who is better how often.

A seed's outcome is a vector of K values, and the order says which of two is better. So outcomes have ranks, without any
weights, and what is made for numbers (Mann and Whitney's test, the probability of improvement) works on these.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy import stats

from lexicone.order import Order

__all__ = [
    "Interval",
    "better_share",
    "difference",
    "holm",
    "interquartile_mean",
    "ranks",
    "same_chance",
    "share",
]

_DRAWS = 2000  # of a bootstrap


class Interval(NamedTuple):
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float


def share(held: Bool[np.ndarray, " N"]) -> Interval:
    """How many of N seeds, with Wilson's interval."""
    held = np.asarray(held, bool)
    found = stats.binomtest(int(held.sum()), len(held)).proportion_ci(method="wilson")
    return Interval(float(held.mean()), float(found.low), float(found.high))


def interquartile_mean(values: Float[np.ndarray, " N"]) -> Interval:
    """The mean of the middle half, with a bootstrap over seeds."""
    values = np.asarray(values, float)
    drawn = _draw(len(values))
    middle = stats.trim_mean(values[drawn], 0.25, axis=1)
    return Interval(float(stats.trim_mean(values, 0.25)), *_percentiles(middle))


def difference(
    ours: Float[np.ndarray, " N"],
    theirs: Float[np.ndarray, " N"],
    statistic: Callable[..., np.ndarray] = np.mean,
) -> Interval:
    """``statistic(ours) − statistic(theirs)``, seeds drawn in pairs: seed i of both had the same random numbers."""
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    if len(ours) != len(theirs):
        raise ValueError(f"theirs: pairs need as many seeds, got {len(ours)} and {len(theirs)}")
    drawn = _draw(len(ours))
    apart = statistic(ours[drawn], axis=1) - statistic(theirs[drawn], axis=1)
    return Interval(float(statistic(ours) - statistic(theirs)), *_percentiles(apart))


def ranks(order: Order, outcomes: Sequence[Float[np.ndarray, "N K"]]) -> list[np.ndarray]:
    """The ranks of all outcomes of all learners together, by the order: larger is better, equals share one."""
    rows = np.concatenate([np.asarray(order.key(part), float) for part in outcomes])
    _, place = np.unique(rows, axis=0, return_inverse=True)  # sorted from the first column on
    place = place.reshape(-1)
    return np.split(place, np.cumsum([len(part) for part in outcomes])[:-1])


def better_share(ours: np.ndarray, theirs: np.ndarray) -> Interval:
    """The probability that a seed of ours is better than one of theirs (half of it if equal), from ranks."""
    apart = np.sign(np.subtract.outer(ours, theirs))
    first, second = _draw(len(ours))[:500], _draw(len(theirs), 1)[:500]
    drawn = apart[first[:, :, None], second[:, None, :]].mean(axis=(1, 2))
    return Interval(float(apart.mean() + 1) / 2, *_percentiles((drawn + 1) / 2))


def same_chance(ours: np.ndarray, theirs: np.ndarray) -> float:
    """p of Mann and Whitney's test: how likely ranks so far apart are if both learners are alike."""
    if len(np.unique(np.concatenate([ours, theirs]))) == 1:
        return 1.0
    return float(stats.mannwhitneyu(ours, theirs, alternative="two-sided").pvalue)


def holm(chances: Sequence[float]) -> list[float]:
    """The same p for many comparisons at once (Holm 1979): ``p₍ᵢ₎ ← max_{j≤i} min(1, (m−j+1)·p₍ⱼ₎)``."""
    given = np.asarray(chances, float)
    place = np.argsort(given, kind="stable")
    raised = np.minimum(1.0, given[place] * np.arange(len(given), 0, -1))
    found = np.empty(len(given))
    found[place] = np.maximum.accumulate(raised)
    return found.tolist()


@lru_cache(maxsize=8)
def _draw(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(count, size=(_DRAWS, count))


def _percentiles(drawn: np.ndarray) -> tuple[float, float]:
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(low), float(high)
