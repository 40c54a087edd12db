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
    survival: Float[Array, "T N"] | None = None
    """The chance with which the episode would go on after the step, of worlds that say so; else it did or did not."""

    @property
    def going_on(self) -> Float[Array, "T N"]:
        """The chance to go on after each step, as far as it is known."""
        went_on = jnp.where(self.terminated, 0.0, jnp.ones((), self.reward.dtype))
        return went_on if self.survival is None else self.survival


class Lanes(NamedTuple):
    """What the copies' present episodes have earned so far."""

    earned: Float[Array, "N K"]
    discounted: Float[Array, "N K"]
    """``Σ γ^(t−i) r_i``: how much is at stake, the critics' unit."""
    due: Float[Array, " N"]
    """The chances with which the episode could have ended so far, added up."""


class Summary(NamedTuple):
    """A segment, followed episode by episode."""

    before: Float[Array, "T N K"]
    """What the episode had earned before the step."""
    discounted: Float[Array, "T N K"]
    due: Float[Array, "T N"]
    """With the step. Of whole episodes 1 on average, and 1 each where ends are no matter of chance."""


class Standing(NamedTuple):
    """Where objectives stand: finished episodes, of which old ones are forgotten little by little."""

    returns: Moments
    """Undiscounted, ``[K]``; less what is due to the mere length of episodes."""
    met: Moments
    """Whether each threshold was met, ``[K−1]``."""


def start_lanes(copies: int, objectives: int, dtype: Any) -> Lanes:
    """All episodes at their beginning."""
    none = jnp.zeros((copies, objectives), dtype)
    return Lanes(none, none, none[:, 0])


def no_standing(objectives: int, dtype: Any) -> Standing:
    """Before the first episode has ended."""
    return Standing(no_moments(objectives, dtype), no_moments(objectives - 1, dtype))


def follow(
    lanes: Lanes, segment: Segment, gamma: Float[Array, ""] | float
) -> tuple[Lanes, Summary]:
    """The copies' episodes through a segment."""

    def step(lanes: Lanes, now: tuple[Array, Array, Array]) -> tuple[Lanes, Summary]:
        reward, ended, chance = now
        earned, discounted = lanes.earned + reward, gamma * lanes.discounted + reward
        due = lanes.due + chance
        over = ended[:, None]
        after = Lanes(
            jnp.where(over, 0.0, earned),
            jnp.where(over, 0.0, discounted),
            jnp.where(ended, 0.0, due),
        )
        return after, Summary(lanes.earned, discounted, due)

    cut = segment.ended & ~segment.terminated
    chance = jnp.where(cut, 1.0, 1 - segment.going_on)
    return jax.lax.scan(step, lanes, (segment.reward, segment.ended, chance))


def take_stock(
    before: Standing,
    segment: Segment,
    summary: Summary,
    thresholds: Float[Array, " thresholds"],
    window: float | int,
    memory: Float[Array, ""] | float = 0.0,
) -> Standing:
    """Take note of the episodes that ended in a segment; each lets ``1/window`` of what was known be forgotten.

    But of what was known no more than ``1/memory`` is forgotten at once.

    Where chance ends episodes most of what returns differ by is their length. ``1 − Σ_t (1 − s_t)``, s_t the chance to
    go on, is 0 on average whatever the policy does, and by how much it differs from 0 tells how long an episode was
    for its chances; its product with the mean return is taken off (a control variate).
    """
    ended = segment.ended & segment.valid
    kept = jnp.exp(-jnp.minimum(jnp.sum(ended) / window, 1 / jnp.maximum(memory, 1e-6)))
    totals = summary.before + segment.reward
    near = allow_rounding(thresholds)
    met = (totals[..., :-1] >= near[None, None]).astype(totals.dtype)
    returns, share = (m._replace(weight=kept * m.weight) for m in before)
    known = jnp.where(returns.weight > 0, returns.mean, 0.0)
    totals = totals - (summary.due - 1)[..., None] * known[None, None]
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
