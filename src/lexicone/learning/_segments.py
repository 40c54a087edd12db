"""Segments: T steps of N copies of an environment, in which episodes end and begin; and what they say of returns.

Unlike a batch of whole episodes a segment has one shape, whatever the lengths of episodes: one compiled program.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from lexicone.learning._normalise import Moments, no_moments, note
from lexicone.learning._returns import allow_rounding, change_of_met
from lexicone.order import Criterion

__all__ = [
    "Lanes",
    "Segment",
    "Standing",
    "Summary",
    "earn",
    "follow",
    "no_standing",
    "start_lanes",
    "take_stock",
]


class Segment(NamedTuple):
    """T steps of N copies, time first."""

    seen: Float[Array, "T N D"]
    """Before the step."""
    action: Array
    """``[T,N,parts]`` as drawn."""
    reward: Float[Array, "T N K"]
    following: Float[Array, "T N D"]
    """After the step: the final observation where an episode ends."""
    terminated: Bool[Array, "T N"]
    """It ended for good: nothing follows."""
    ended: Bool[Array, "T N"]
    """It terminated or was cut off; the next step is of a new episode."""
    valid: Bool[Array, "T N"]
    """False for a step in which a copy only began anew: nothing was decided there."""


class Lanes(NamedTuple):
    """What the copies' present episodes have earned so far."""

    earned: Float[Array, "N K"]
    discounted: Float[Array, "N K"]
    """``Σ γ^(t−i) r_i``: how much is at stake, the critics' unit."""


class Summary(NamedTuple):
    """A segment, followed episode by episode."""

    before: Float[Array, "T N K"]
    """What the episode had earned before the step."""
    discounted: Float[Array, "T N K"]


class Standing(NamedTuple):
    """Where objectives stand: finished episodes, of which old ones are forgotten little by little."""

    returns: Moments
    """Undiscounted, ``[K]``."""
    met: Moments
    """Whether each threshold was met, ``[K−1]``."""


def start_lanes(copies: int, objectives: int, dtype: Any) -> Lanes:
    """All episodes at their beginning."""
    return Lanes(jnp.zeros((copies, objectives), dtype), jnp.zeros((copies, objectives), dtype))


def no_standing(objectives: int, dtype: Any) -> Standing:
    """Before the first episode has ended."""
    return Standing(no_moments(objectives, dtype), no_moments(objectives - 1, dtype))


def follow(
    lanes: Lanes, segment: Segment, gamma: Float[Array, ""] | float
) -> tuple[Lanes, Summary]:
    """The copies' episodes through a segment."""

    def step(lanes: Lanes, now: tuple[Array, Array]) -> tuple[Lanes, Summary]:
        reward, ended = now
        earned, discounted = lanes.earned + reward, gamma * lanes.discounted + reward
        over = ended[:, None]
        after = Lanes(jnp.where(over, 0.0, earned), jnp.where(over, 0.0, discounted))
        return after, Summary(lanes.earned, discounted)

    return jax.lax.scan(step, lanes, (segment.reward, segment.ended))


def take_stock(
    before: Standing,
    segment: Segment,
    summary: Summary,
    thresholds: Float[Array, " thresholds"],
    window: float | int,
) -> Standing:
    """Take note of the episodes that ended in a segment; each lets ``1/window`` of what was known be forgotten."""
    ended = segment.ended & segment.valid
    kept = jnp.exp(-jnp.sum(ended) / window)
    totals = summary.before + segment.reward
    near = allow_rounding(thresholds)
    met = (totals[..., :-1] >= near[None, None]).astype(totals.dtype)
    returns, share = (m._replace(weight=kept * m.weight) for m in before)
    return Standing(note(returns, totals, ended), note(share, met, ended))


def earn(
    criterion: Criterion,
    segment: Segment,
    summary: Summary,
    thresholds: Float[Array, " thresholds"],
    chances: Float[Array, " thresholds"],
) -> Float[Array, "T N K"]:
    """Rewards whose sums are to be maximised: see `make_goal`."""
    if criterion == "expected":
        return segment.reward
    last = thresholds.shape[0]
    if criterion == "chance":
        paid, before = segment.reward[..., :last], summary.before[..., :last]
        earned = change_of_met(before, before + paid, paid, allow_rounding(thresholds), chances)
        return jnp.concatenate([earned, segment.reward[..., last:]], axis=-1)
    least = jnp.finfo(segment.reward.dtype).min
    bound = jnp.maximum(thresholds, least)[None, None]
    before = jnp.minimum(summary.before[..., :last], bound)
    after = jnp.minimum(summary.before[..., :last] + segment.reward[..., :last], bound)
    return jnp.concatenate([after - before, segment.reward[..., last:]], axis=-1)
