"""Where objectives stand against their thresholds, told from batches that say it with noise.

One batch says too little, and a learner that believes it flaps around a threshold. So estimates are a running mean over
batches, longer and longer as steps become smaller; where values stay below a threshold it is raised a little; and an
objective that never met its threshold and rises no further counts as good enough where it stands.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from lexicone.learning._returns import Goal

__all__ = ["Estimate", "Levels", "Standing", "estimate", "level_off", "start_standing"]

_PATIENCE = 0.1  # of the training, without progress, before an objective counts as levelled off
_MOST = 3.0  # standard errors by which a threshold is raised
_SLOWLY = 0.9  # how much of earlier batches is kept in the means by which progress is measured


class Levels(NamedTuple):
    """Whether objectives still make progress: thresholds may be out of reach, or infinite."""

    total: Float[Array, " K-1"]
    """A slow running mean of what is maximised, times ``weight``."""
    value: Float[Array, " K-1"]
    """The same of what is compared with thresholds."""
    weight: Float[Array, ""]
    best: Float[Array, " K-1"]
    """The mean when it last rose by more than noise."""
    when: Float[Array, " K-1"]
    """The part of the training that was over then."""
    met: Bool[Array, " K-1"]
    """Whether the threshold has ever been met, as far as one can tell."""


class Standing(NamedTuple):
    """What earlier batches have said."""

    total: Float[Array, " K"]
    """A running mean of their estimates, times ``weight``."""
    weight: Float[Array, ""]
    """How much of it has been filled, from 0 to 1."""
    shift: Float[Array, " K-1"]
    """By how many standard errors thresholds are raised."""
    levels: Levels


class Estimate(NamedTuple):
    """What all batches say together."""

    values: Float[Array, " K"]
    """Where the objectives stand."""
    limits: Float[Array, " K-1"]
    """Where they should."""
    error: Float[Array, " K"]
    """The standard error of the mean returns: with the expected criterion, of ``values``."""


def start_standing(objectives: int, dtype: Any) -> Standing:
    """Before the first batch."""
    zero, zeros = jnp.zeros((), dtype), jnp.zeros(objectives - 1, dtype)
    levels = Levels(zeros, zeros, zero, zeros - jnp.inf, zeros, jnp.zeros(objectives - 1, bool))
    return Standing(jnp.zeros(objectives, dtype), zero, zeros, levels)


def estimate(
    learner: Any, before: Standing, aim: Goal, returns: Float[Array, "N K"], share: Array
) -> tuple[Standing, Estimate]:
    """Take note of a batch; ``learner`` has the settings, ``share`` of its training is over."""
    kept = 1 - (1 - learner.smoothing) * jnp.sqrt(1 - share)
    total = kept * before.total + (1 - kept) * aim.values
    weight = kept * before.weight + (1 - kept)
    values = total / weight
    error = _error(returns, kept)
    limits, shift = aim.limits, before.shift
    if learner.criterion == "expected":
        noise = error[:-1]
        missing = jnp.where(noise > 0, limits - aim.values[:-1], 0.0)
        missing = jnp.clip(missing / jnp.where(noise > 0, noise, 1.0), -_MOST, _MOST)
        shift = jnp.clip(shift + learner.correction * missing, 0.0, _MOST)
        limits = limits + shift * noise
    levels, held = level_off(learner, before.levels, aim, share)
    limits = jnp.where(held, jnp.minimum(values[:-1], limits), limits)
    return Standing(total, weight, shift, levels), Estimate(values, limits, error)


def level_off(
    learner: Any, before: Levels, aim: Goal, share: Array
) -> tuple[Levels, Bool[Array, " thresholds"]]:
    """Which objectives have never met their threshold and, once exploration is over, rise no further.

    Those count as good enough where they stand, so that the next objective has its turn and may not lower them; one
    that falls well behind its best comes first again. Without that, a threshold that no policy reaches would keep all
    later objectives from being improved at all.
    """
    totals = jnp.sum(aim.reward, axis=0)[:, :-1]
    total = _SLOWLY * before.total + (1 - _SLOWLY) * jnp.mean(totals, axis=0)
    value = _SLOWLY * before.value + (1 - _SLOWLY) * aim.values[:-1]
    weight = _SLOWLY * before.weight + (1 - _SLOWLY)
    now = total / weight
    noise = 2 * _error(totals, _SLOWLY) + 1e-3 * jnp.abs(now)
    rose = now > before.best + noise
    best = jnp.where(rose, now, before.best)
    when = jnp.where(rose, share, before.when)
    expected = learner.criterion == "expected"
    asked = aim.limits - noise if expected else learner.confidence  # without an allowance
    filled = weight > _SLOWLY  # before, one lucky batch could tell
    met = before.met | (filled & (value / weight >= asked))
    patience = jnp.minimum(_PATIENCE, 0.5 * (1 - learner.explore))
    still = share - jnp.maximum(when, learner.explore) > patience
    held = still & ~met & (now > best - 2 * noise)
    return Levels(total, value, weight, best, when, met), held


def _error(totals: Float[Array, "N K"], kept: Any) -> Float[Array, " K"]:
    """The standard error of a running mean of batches like this one, of which each time ``kept`` is kept."""
    return jnp.std(totals, axis=0) / jnp.sqrt(totals.shape[0] * (1 + kept) / (1 - kept))
