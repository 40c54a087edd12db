"""Where objectives stand against their thresholds, estimated from noisy batches of episodes.

One batch says too little, and a learner that believes it flaps around a threshold. So estimates are a running mean over
batches, longer and longer as steps become smaller; where values stay below a threshold it is raised a little; and an
objective that never met its threshold and rises no further counts as good enough where it stands.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from lexicone.learning._returns import Goal

__all__ = [
    "Estimate",
    "ProgressLevels",
    "RunningEstimates",
    "find_stalled",
    "start_estimates",
    "update_estimates",
]

_PATIENCE = 0.1  # of the training, without progress, before an objective counts as stalled
_MOST_ERRORS = 3.0  # standard errors by which a threshold is raised
_KEPT = 0.9  # how much of earlier batches is kept in the means by which progress is measured


class ProgressLevels(NamedTuple):
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


class RunningEstimates(NamedTuple):
    """What earlier batches have said."""

    total: Float[Array, " K"]
    """A running mean of their estimates, times ``weight``."""
    weight: Float[Array, ""]
    """How much of it has been filled, from 0 to 1."""
    shift: Float[Array, " K-1"]
    """By how many standard errors thresholds are raised."""
    levels: ProgressLevels


class Estimate(NamedTuple):
    """What all batches say together."""

    values: Float[Array, " K"]
    """Where the objectives stand."""
    limits: Float[Array, " K-1"]
    """Where they should."""
    error: Float[Array, " K"]
    """The standard error of the mean returns: with the expected criterion, of ``values``; by chance always of those."""


def start_estimates(objectives: int, dtype: Any) -> RunningEstimates:
    """Before the first batch."""
    zero, zeros = jnp.zeros((), dtype), jnp.zeros(objectives - 1, dtype)
    levels = ProgressLevels(
        zeros, zeros, zero, zeros - jnp.inf, zeros, jnp.zeros(objectives - 1, bool)
    )
    return RunningEstimates(jnp.zeros(objectives, dtype), zero, zeros, levels)


def update_estimates(
    learner: Any, before: RunningEstimates, goal: Goal, returns: Float[Array, "N K"], share: Array
) -> tuple[RunningEstimates, Estimate]:
    """Take note of a batch; ``learner`` has the settings, ``share`` of its training is over."""
    kept = 1 - (1 - learner.smoothing) * jnp.sqrt(1 - share)
    total = kept * before.total + (1 - kept) * goal.values
    weight = kept * before.weight + (1 - kept)
    values = total / weight
    by_chance = learner.criterion == "chance"
    error = _error(jnp.sum(goal.reward, axis=0) if by_chance else returns, kept)
    limits, shift = goal.limits, before.shift
    if learner.criterion != "episode":
        noise = error[:-1]
        missing = jnp.where(noise > 0, limits - goal.values[:-1], 0.0)
        missing = jnp.clip(missing / jnp.where(noise > 0, noise, 1.0), -_MOST_ERRORS, _MOST_ERRORS)
        shift = jnp.clip(shift + learner.correction * missing, 0.0, _MOST_ERRORS)
        limits = jnp.minimum(limits + shift * noise, goal.most)
    levels, held = find_stalled(learner, before.levels, goal, share)
    limits = jnp.where(held, jnp.minimum(values[:-1], limits), limits)
    return RunningEstimates(total, weight, shift, levels), Estimate(values, limits, error)


def find_stalled(
    learner: Any, before: ProgressLevels, goal: Goal, share: Array
) -> tuple[ProgressLevels, Bool[Array, " thresholds"]]:
    """Which objectives have never met their threshold and, once exploration is over, rise no further.

    Those count as good enough where they stand, so that the next objective has its turn and may not lower them; one
    that falls well behind its best comes first again. Without that, a threshold that no policy reaches would keep all
    later objectives from being improved at all.
    """
    totals = jnp.sum(goal.reward, axis=0)[:, :-1]
    total = _KEPT * before.total + (1 - _KEPT) * jnp.mean(totals, axis=0)
    value = _KEPT * before.value + (1 - _KEPT) * goal.values[:-1]
    weight = _KEPT * before.weight + (1 - _KEPT)
    now = total / weight
    noise = 2 * _error(totals, _KEPT) + 1e-3 * jnp.abs(now)
    rose = now > before.best + noise
    best = jnp.where(rose, now, before.best)
    when = jnp.where(rose, share, before.when)
    by_episode = learner.criterion == "episode"
    asked = learner.confidence if by_episode else goal.limits - noise  # without an allowance
    filled = weight > _KEPT  # before, one lucky batch could decide
    met = before.met | (filled & (value / weight >= asked))
    patience = jnp.minimum(_PATIENCE, 0.5 * (1 - learner.explore))
    still = share - jnp.maximum(when, learner.explore) > patience
    held = still & ~met & (now > best - 2 * noise)
    return ProgressLevels(total, value, weight, best, when, met), held


def _error(totals: Float[Array, "N K"], kept: Any) -> Float[Array, " K"]:
    """The standard error of a running mean of batches like this one, of which each time ``kept`` is kept."""
    return jnp.std(totals, axis=0) / jnp.sqrt(totals.shape[0] * (1 + kept) / (1 - kept))
