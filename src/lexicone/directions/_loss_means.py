"""Ordered losses: what is met is decided by running means, and the direction by what is met.

Losses are *minimised* and their thresholds are upper bounds, so that with ``F = −loss`` and ``τ = −bound`` all is as
everywhere else, where larger is better. One minibatch says too little, so each loss is followed by its running mean and
deviation. Serves JAX (jit, vmap), PyTorch and NumPy.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from lexicone._base.arrays import as_floats, is_true, namespace
from lexicone._base.checks import check_range
from lexicone.directions._find_direction import Direction, find_direction
from lexicone.order import Order

__all__ = [
    "LossMeans",
    "LossSettings",
    "check_losses",
    "choose_direction",
    "losses_met",
    "note_losses",
    "start_means",
]


_PRECISION = 0.1  # a distance from a bound counts in full from this share of the bound on


class LossMeans(NamedTuple):
    """What the losses of all batches say together."""

    mean: Float[Any, " K"]
    """Running means; 0 before the first batch."""
    variance: Float[Any, " K"]
    """Running squares of the distance between a batch's losses and the means before it."""
    weight: Float[Any, ""]
    """How much of the memory has been filled, from 0 to 1."""


class LossSettings(NamedTuple):
    """How losses are put in order; made by `LossSettings.checked`."""

    order: Order
    """Its thresholds are upper bounds."""
    smoothing: float
    options: dict[str, Any]
    """For `find_direction`."""

    @classmethod
    def checked(
        cls,
        order: Order | Iterable[float] | Mapping[str, float | None],
        smoothing: Any,
        options: dict[str, Any],
    ) -> "LossSettings":
        """A ValueError for what does not fit, before any work."""
        if isinstance(order, str) or not isinstance(order, Order | Iterable):
            raise ValueError(f"order: expected an Order or a list of upper bounds, got {order!r}")
        order = order if isinstance(order, Order) else Order(order)
        check_range("smoothing", smoothing, 0.0, 1.0, below=True)
        size = len(order)
        # One call on known numbers checks the bounds and all options.
        find_direction(np.eye(size), np.zeros(size), _limits(order), **options)
        return cls(order, float(smoothing), options)


def _limits(order: Order) -> np.ndarray:
    return -np.asarray(order.thresholds, float)


def check_losses(settings: LossSettings, losses: Any) -> None:
    """A ValueError unless there are K losses, all finite as far as one can know."""
    order = settings.order
    if tuple(losses.shape) != (len(order),):
        raise ValueError(
            f"losses: the order has {len(order)} losses ({len(order) - 1} upper bounds + 1), "
            f"got shape {tuple(losses.shape)}"
        )
    for label, finite in zip(order.labels, namespace(losses).isfinite(losses), strict=True):
        if is_true(~finite):
            raise ValueError(f"losses: {label} is NaN or infinite")


def start_means(like: Any, settings: LossSettings) -> LossMeans:
    """Before the first batch, in the dtype and on the device of ``like``."""
    xp = namespace(like)
    zeros = as_floats(xp, "losses", [0.0] * len(settings.order), like=like)
    return LossMeans(zeros, zeros, as_floats(xp, "losses", 0.0, like=like))


def note_losses(before: LossMeans, losses: Float[Any, " K"], settings: LossSettings) -> LossMeans:
    """Take note of a batch: ``mean + a(loss − mean)`` with a = 1, then towards 1 − smoothing.

    Of a batch with NaN or infinity in any loss no note is taken.
    """
    xp = namespace(losses)
    kept = settings.smoothing
    weight = kept * before.weight + (1.0 - kept)
    share = (1.0 - kept) / weight
    finite = xp.all(xp.isfinite(losses))
    away = xp.where(finite, losses - before.mean, 0.0)
    first = before.weight == 0
    mean = xp.where(first, xp.where(finite, losses, before.mean), before.mean + share * away)
    variance = (1.0 - share) * (before.variance + share * away * away)
    return LossMeans(
        mean,
        xp.where(finite, variance, before.variance),
        xp.where(finite, weight, before.weight),
    )


def losses_met(means: LossMeans, settings: LossSettings) -> Bool[Any, " thresholds"]:
    """Which running means are within their bounds, ``mean_j ≤ bound_j``."""
    xp = namespace(means.mean)
    bounds = as_floats(xp, "order", settings.order.thresholds, like=means.mean)
    return means.mean[:-1] <= bounds


def choose_direction(
    gram: Float[Any, "K K"], losses: Float[Any, " K"], means: LossMeans, settings: LossSettings
) -> Direction:
    """The weights for the K gradients of the losses, from their inner products. Descend along ``Σ wᵢ gᵢ``.

    Where a loss is NaN or infinite no direction is found. The flow's scale of a bound, unless it is given, is the
    deviation of its loss, or a tenth of the bound (of the running mean, if that is larger).
    """
    xp = namespace(gram, losses)
    known = xp.all(xp.isfinite(losses))
    values = xp.where(known, -means.mean, math.nan)
    limits = as_floats(xp, "order", _limits(settings.order), like=values)
    options = settings.options
    if options["method"] == "flow" and "spread" not in options:
        size = xp.maximum(
            xp.abs(means.mean[:-1]), xp.where(xp.isfinite(limits), xp.abs(limits), 0.0)
        )
        deviation = xp.sqrt(means.variance[:-1])
        options = {**options, "spread": xp.maximum(deviation, _PRECISION * size)}
    return find_direction(gram, values, limits, **options)
