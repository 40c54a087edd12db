"""From values of a model that pays chances back to what was asked: keys, chances, means of the worst episodes."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from lexicone.criteria._augment import Chances
from lexicone.order import Order

__all__ = ["best_answer", "key_of", "tail_means", "with_stays"]

_SAME = 1e-7  # keys nearer than that, relative above 1, are equal


def tail_means(
    order: Order, cuts: dict[int, float], values: Float[np.ndarray, " K"]
) -> Float[np.ndarray, " K"]:
    """``b + (E[min(R,b)] − b)/α`` where an objective has a cut b; NaN for others."""
    found = np.full(len(order), np.nan)
    for j, b in cuts.items():
        share = order.levels[j].worst
        assert share is not None
        found[j] = b + (values[j] - b) / share
    return found


def key_of(
    order: Order, asked: Order, values: Float[np.ndarray, " K"], tails: Float[np.ndarray, " K"]
) -> Float[np.ndarray, " K"]:
    """What was maximised, each up to its threshold; a chance of 0, which asks for nothing, is had by all."""
    key = np.array(asked.key(values))
    key[[j for j, p in enumerate(order.chances) if p == 0]] = 0.0
    limits = np.array([*order.thresholds, math.inf])
    return np.where(np.isnan(tails), key, np.minimum(tails, limits))


def with_stays(
    order: Order, values: Float[np.ndarray, " K"]
) -> tuple[Float[np.ndarray, " K"], Chances]:
    """Returns and chances of a policy that also stays for ever, as far as the augmented model's values tell them."""
    by_chance = np.array([p is not None for p in order.chances], dtype=bool)
    unknown = np.array([level.by_distribution for level in order.levels])
    rates = np.where(by_chance, np.clip(values[:-1], 0.0, 1.0), np.nan)
    overall = float(rates[by_chance][0]) if by_chance.sum() == 1 else math.nan
    return np.where(unknown, np.nan, values), Chances(rates, overall)


def best_answer(answers: Sequence[Any]) -> Any:
    """The one with the best key in lexicographic order, of those that are optimal; the first if none is."""
    best = answers[0]
    for other in answers[1:]:
        proven = other.status in ("optimal", "needs memory", "learned")
        if proven and (
            best.status not in ("optimal", "needs memory", "learned")
            or _better(other.key, best.key)
        ):
            best = other
    return best


def _better(key: np.ndarray, than: np.ndarray) -> bool:
    for a, b in zip(key.tolist(), than.tolist(), strict=True):
        if a != b and not abs(a - b) <= _SAME * max(1.0, abs(b)):
            return a > b
    return False
