"""Confidence intervals of shares and of means."""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import stats

from lexicone._base.checks import check_range

__all__ = ["mean_intervals", "share_intervals"]


def share_intervals(
    shares: Float[np.ndarray, "*shape"], count: int, confidence: float = 0.95
) -> Float[np.ndarray, "*shape 2"]:
    """Wilson's intervals of shares that were each seen in ``count`` trials.

    The p with ``|p̂ − p| ≤ z·√(p(1−p)/n)``. They lie in [0, 1], and have a width also where all trials agree.
    """
    check_range("confidence", confidence, 0, 1, above=True, below=True)
    shares, z = np.asarray(shares, float), stats.norm.ppf((1 + confidence) / 2)
    room = z**2 / count
    centre = (shares + room / 2) / (1 + room)
    half = z * np.sqrt(shares * (1 - shares) / count + room / (4 * count)) / (1 + room)
    return np.clip(np.stack([centre - half, centre + half], axis=-1), 0.0, 1.0)


def mean_intervals(
    rows: Any, axis: int = 0, confidence: float = 0.95
) -> Float[np.ndarray, "*shape 2"]:
    """Student's intervals of the means along an axis; without end where there is one row only."""
    check_range("confidence", confidence, 0, 1, above=True, below=True)
    rows = np.asarray(rows, float)
    count, mean = rows.shape[axis], rows.mean(axis=axis)
    if count < 2:
        return np.stack([np.full_like(mean, -np.inf), np.full_like(mean, np.inf)], axis=-1)
    half = stats.t.ppf((1 + confidence) / 2, count - 1) * rows.std(axis=axis, ddof=1)
    half = half / np.sqrt(count)
    return np.stack([mean - half, mean + half], axis=-1)
