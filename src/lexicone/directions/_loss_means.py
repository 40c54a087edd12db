"""Ordered losses: what is met is decided by running means, and the direction by what is met.

Losses are *minimised* and their thresholds are upper bounds, so that with ``F = −loss`` and ``τ = −bound`` all is as
everywhere else, where larger is better. One minibatch says too little about what is met, so each loss is followed by
its running mean and deviation. The flow, whose rates shrink with the distance from a bound, takes that of the latest
batch: an optimiser averages the noise of many small steps anyway, and a mean that lags behind its momentum would make
losses swing around their bounds. A minibatch's gradient promises too much, because most of its length is noise: a loss
would settle above its bound, so what its mean stays above is added up and asked for as well. Serves JAX (jit, vmap),
PyTorch and NumPy.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from lexicone._base.arrays import as_floats, is_true, namespace
from lexicone._base.checks import check_range, is_listing
from lexicone._base.levels import Level
from lexicone.directions._checks import diagonal, safe_sqrt
from lexicone.directions._find_direction import Direction, find_direction
from lexicone.order import Order, OrderLike, highest, match_names

__all__ = [
    "LossMeans",
    "LossSettings",
    "check_gradients",
    "check_losses",
    "choose_direction",
    "losses_by_name",
    "losses_met",
    "note_losses",
    "start_means",
]


_PRECISION = 0.1  # the scale of a distance from a bound, as a share of the bound
_CORRECTION = 0.02  # by how much of a distance, in each batch, the bound is lowered or raised again
_NEAR = 10.0  # scales; farther away than this a loss says nothing about where it settles


class LossMeans(NamedTuple):
    """What the losses of all batches say together."""

    mean: Float[Any, " K"]
    """Running means; 0 before the first batch."""
    variance: Float[Any, " K"]
    """Running squares of the distance between a batch's losses and the means before it."""
    weight: Float[Any, ""]
    """How much of the memory has been filled, from 0 to 1."""
    latest: Float[Any, " K"]
    """The losses of the last batch of which note was taken."""
    shift: Float[Any, " K-1"]
    """How far below its bound the flow aims, because a loss has stayed above it; in scales of the bound."""


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
        order: OrderLike,
        smoothing: Any,
        options: dict[str, Any],
    ) -> "LossSettings":
        """A ValueError for what does not fit, before any work."""
        order = _upper_bounds(order)
        check_range("smoothing", smoothing, 0.0, 1.0, below=True)
        size = len(order)
        # One call on known numbers checks the bounds and all options.
        find_direction(np.eye(size), np.zeros(size), _limits(order), **options)
        return cls(order, float(smoothing), options)


def _upper_bounds(given: OrderLike) -> Order:
    """The order whose thresholds, as they stand, are upper bounds: ``at_most(.1)`` of a loss is .1."""
    if not isinstance(given, Order) and not is_listing(given):
        raise ValueError(f"order: expected an Order or a list of upper bounds, got {given!r}")
    if not isinstance(given, Order):
        given = given if isinstance(given, Mapping) else tuple(given)
        entries = given.values() if isinstance(given, Mapping) else given
        for entry in entries:
            if entry is highest or (isinstance(entry, Level) and entry.sign == 1):
                raise ValueError(
                    f"order: losses are minimised and have upper bounds, got {entry!r}"
                )
        given = Order(given)
    for label, level in zip(given.labels, given.levels[:-1], strict=False):
        if level.chance is not None:
            raise ValueError(f"order: {label} has a chance, and losses have no episodes")
        if level.per_step:
            raise ValueError(f"order: {label} is said per step, and losses have no steps")
        if level.amount is None or level.amount == -math.inf:
            raise ValueError(
                f"order: {label} has no upper bound that can be met; only the last of the losses goes without"
            )
    bounds = [level.amount for level in given.levels[:-1]]
    return Order(bounds, names=given.names)  # pyright: ignore[reportArgumentType]


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
    finite = namespace(losses).isfinite(losses)
    if is_true(~finite.all()):
        wrong = [label for i, label in enumerate(order.labels) if is_true(~finite[i])]
        raise ValueError(f"losses: {wrong[0]} is NaN or infinite")


def losses_by_name(settings: LossSettings, losses: Any) -> Any:
    """K losses as a list in the order's sequence, if they came with names; a lone loss as a list of one."""
    if isinstance(losses, Mapping):
        places = match_names(settings.order, list(losses), "losses")
        losses = list(losses.values())
        return [losses[i] for i in places] if len(losses) == len(places) else losses
    return [losses] if getattr(losses, "shape", None) == () else losses


def check_gradients(settings: LossSettings, gram: Float[Any, "K K"]) -> None:
    """A ValueError for a gradient that has no length, as far as one can know."""
    xp = namespace(gram)
    finite = xp.isfinite(diagonal(xp, gram))
    if is_true(~finite.all()):
        wrong = [each for i, each in enumerate(settings.order.labels) if is_true(~finite[i])]
        raise ValueError(
            f"losses: the gradient of {', '.join(wrong)} is NaN or infinite, or its square is"
        )


def start_means(like: Any, settings: LossSettings) -> LossMeans:
    """Before the first batch, in the dtype and on the device of ``like``."""
    xp = namespace(like)
    zeros = as_floats(xp, "losses", [0.0] * len(settings.order), like=like)
    return LossMeans(zeros, zeros, as_floats(xp, "losses", 0.0, like=like), zeros, zeros[1:])


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
    variance = xp.where(finite, variance, before.variance)
    limits = as_floats(xp, "order", _limits(settings.order), like=losses)
    limited = xp.isfinite(limits) & finite
    over = limits + xp.where(limited, mean[:-1], 0.0)
    scale = _scales(xp, mean, variance, limits, settings)
    over = xp.where(limited & (scale > 0), over / xp.where(scale > 0, scale, 1.0), 0.0)
    step = xp.where(over < _NEAR, xp.clip(over, -1.0, 1.0), 0.0)
    shift = xp.clip(before.shift + _CORRECTION * step, 0.0, _NEAR)
    latest = xp.where(finite, losses, before.latest)
    return LossMeans(mean, variance, xp.where(finite, weight, before.weight), latest, shift)


def _scales(xp: Any, mean: Any, variance: Any, limits: Any, settings: LossSettings) -> Any:
    """On which scale a distance from a bound counts, ``[K−1]``: the flow's spread."""
    if "spread" in settings.options:
        return as_floats(xp, "spread", settings.options["spread"], like=limits) + 0.0 * mean[:-1]
    given = xp.isfinite(limits) & (limits != 0)
    size = xp.abs(xp.where(given, limits, mean[:-1]))
    return xp.maximum(xp.sqrt(variance[:-1]), _PRECISION * size)


def losses_met(means: LossMeans, settings: LossSettings) -> Bool[Any, " thresholds"]:
    """Which running means are within their bounds, ``mean_j ≤ bound_j``; none before the first batch."""
    xp = namespace(means.mean)
    bounds = as_floats(xp, "order", settings.order.thresholds, like=means.mean)
    return (means.mean[:-1] <= bounds) & (means.weight > 0)


def choose_direction(
    gram: Float[Any, "K K"], losses: Float[Any, " K"], means: LossMeans, settings: LossSettings
) -> Direction:
    """The weights for the K gradients of the losses, from their inner products. Descend along ``Σ wᵢ gᵢ``.

    Where a loss is NaN or infinite no direction is found. The flow's scale of a bound, unless it is given, is the
    deviation of its loss, or a tenth of the bound (of the running mean, where the bound is 0).
    """
    xp = namespace(gram, losses)
    check_gradients(settings, gram)
    known = xp.all(xp.isfinite(losses))
    flows = settings.options["method"] == "flow"
    values = xp.where(known, -(means.latest if flows else means.mean), math.nan)
    limits = as_floats(xp, "order", _limits(settings.order), like=values)
    if not flows:
        return find_direction(gram, values, limits, **settings.options)
    spread = _scales(xp, means.mean, means.variance, limits, settings)
    margin = as_floats(xp, "margin", settings.options.get("margin", 0.0), like=values) + means.shift
    options = {"fastest": math.inf, **settings.options, "spread": spread, "margin": margin}
    found = find_direction(gram, values, limits, **options)
    # No longer than any loss alone would move the parameters, however hard a bound pulls.
    lengths = safe_sqrt(xp, diagonal(xp, gram))
    own = xp.sum(xp.where(xp.arange(lengths.shape[0]) == found.objective, lengths, 0.0))
    pull = xp.max(found.weights * lengths) / xp.where(own > 0, own, 1.0)
    return found._replace(weights=found.weights / xp.where(pull > 1, pull, 1.0))
