"""From where objectives stand to weights of their gradients, for learners on segments."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from lexicone.directions._find_direction import Direction, find_direction
from lexicone.learning._returns import allow_rounding
from lexicone.learning._segments import Standing
from lexicone.learning.algos._actor_critic import fading
from lexicone.learning.algos._gradient_rules import direction_by_rule

__all__ = ["Verdict", "judge", "raise_missed", "weigh"]

_FASTEST = 8.0  # how much harder than the last objective a threshold that is missed pulls
_SPENDING = 0.3  # the pace at which room is spent: it goes more easily than it comes back
_HASTE = 16.0  # how much faster than in proportion what is missing is made up
_NEAR = 0.5  # deviations: who misses a threshold by more is on the way; and by so much it is raised at most
_LEAST_SHARE = 0.1  # the smallest deviation of a share of episodes that is reckoned with


class Verdict(NamedTuple):
    """Where objectives stand, and where they should."""

    values: Float[Array, " K"]
    limits: Float[Array, " K-1"]
    deviation: Float[Array, " K"]
    """Of single episodes."""
    error: Float[Array, " K"]
    """The standard error of the values."""
    known: Bool[Array, ""]
    """Whether an episode has ended yet."""
    near: Float[Array, " K-1"]
    """What an episode's return has to reach."""
    margin: Float[Array, " K-1"]
    """By how many deviations thresholds are raised for safety."""

    @property
    def missing(self) -> Float[Array, " thresholds"]:
        """What is missing, in deviations: less than 0 where there is room; 1 before the first episode has ended."""
        return jnp.where(self.known, (self.limits - self.values[:-1]) / self.spread, 1.0)

    @property
    def spread(self) -> Float[Array, " thresholds"]:
        """The deviations of what has thresholds, none of them 0."""
        return jnp.maximum(self.deviation[:-1], 1e-6 * jnp.maximum(1.0, jnp.abs(self.values[:-1])))

    def met_by(self, totals: Float[Array, "T N K"]) -> Bool[Array, "T N thresholds"]:
        """Which of these returns meet each threshold."""
        return totals[..., :-1] >= self.near[None, None]


def judge(
    learner: Any,
    standing: Standing,
    thresholds: Float[Array, " thresholds"],
    chances: Float[Array, " thresholds"],
    share: Any,
) -> Verdict:
    """The estimates F of finished episodes, by the learner's criterion."""
    values, near = standing.returns.mean, allow_rounding(thresholds)
    deviation = jnp.sqrt(standing.returns.square)
    count = standing.returns.weight
    limits = near
    if learner.criterion != "expected":
        asked = learner.confidence * (1 - learner.allowance * fading(share, learner.explore))
        met = standing.met.mean
        spread = jnp.maximum(jnp.sqrt(met * (1 - met)), _LEAST_SHARE)
        limits = jnp.broadcast_to(jnp.asarray(asked, values.dtype), near.shape)
        if learner.criterion == "chance":  # of which some may be for the mean
            by_mean = jnp.isnan(chances)
            limits = jnp.where(by_mean, near + learner.margin * deviation[:-1], chances)
            met = jnp.where(by_mean, values[:-1], met)
            spread = jnp.where(by_mean, deviation[:-1], spread)
        values = jnp.concatenate([met, values[-1:]])
        deviation = jnp.concatenate([spread, deviation[-1:]])
    error = deviation / jnp.sqrt(jnp.maximum(count, 1.0))
    margin = jnp.zeros_like(limits)
    if learner.criterion == "expected":
        margin = margin + learner.margin
    return Verdict(values, limits, deviation, error, count > 0, near, margin)


def raise_missed(
    learner: Any, before: Float[Array, " thresholds"], verdict: Verdict
) -> Float[Array, " thresholds"]:
    """By how many deviations thresholds count as raised since they have been missed: an integral.

    Gradients of a segment are noise for the most part and promise too much: what is asked for is not what comes. Only
    what is missing near the threshold counts, and what was raised goes three times as fast as it came.
    """
    off = jnp.where(verdict.missing < _NEAR, jnp.maximum(verdict.missing, -_NEAR), 0.0)
    step = learner.correction * jnp.where(off > 0, off, 3 * off)
    return jnp.where(verdict.known, jnp.clip(before + step, 0.0, _NEAR), before)


def weigh(
    learner: Any,
    products: Float[Array, "K K"],
    verdict: Verdict,
    multipliers: Float[Array, " thresholds"],
    raised: Float[Array, " thresholds"],
) -> Direction:
    """The direction by the learner's ``rule``."""
    if learner.rule != "flow":
        return direction_by_rule(
            learner, products, verdict.values, verdict.limits, verdict.error, multipliers
        )
    return _flow(learner, products, verdict, raised)


def _flow(
    learner: Any,
    products: Float[Array, "K K"],
    verdict: Verdict,
    raised: Float[Array, " thresholds"],
) -> Direction:
    """The flow: the last objective always pulls, and each threshold the harder the more it is missed.

    An objective that had to wait for its turn would drift away meanwhile: a robot that first learns to save effort
    stands still, and no later reward tells it to go on. What counts as missing is
    ``(τ_j − F_j)/σ_j + m_j + ε_j + r_j``: with the margin m_j, ``buffer`` standard errors ε_j of the estimate, and r_j
    of `raise_missed`. Of x deviations it asks to be made up at a rate of ``κx(1 + 16x)``, κ being the ``pace``, and at
    most at 8. What is to spare is spent slowly: with noisy gradients it goes faster than it comes back, and estimates
    notice late.
    """
    margin = verdict.margin + raised
    if learner.criterion == "expected":
        margin = margin + learner.buffer * verdict.error[:-1] / verdict.spread
    missing = verdict.missing + margin
    haste = learner.pace * (1 + _HASTE * jnp.minimum(missing, 1.0))
    found = find_direction(
        products,
        jnp.where(verdict.known, verdict.values, 0.0),
        jnp.where(verdict.known, verdict.limits, verdict.spread),
        method="flow",
        spread=verdict.spread,
        margin=margin,
        rate=jnp.where(missing > 0, haste, _SPENDING),
        fastest=_FASTEST,
        prices=2 * _FASTEST,
    )
    first = jnp.argmax(jnp.concatenate([missing > 0, jnp.ones(1, bool)]))
    return found._replace(objective=first)
