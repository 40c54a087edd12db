"""From where objectives stand to weights of their gradients, for learners on segments."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from lexicone.directions._find_direction import Direction, Reason, find_direction
from lexicone.learning._returns import allow_rounding
from lexicone.learning._segments import Standing
from lexicone.learning.algos._actor_critic import fading
from lexicone.learning.algos._gradient_rules import direction_by_rule

__all__ = ["Verdict", "judge", "weigh"]

_SHARPNESS = 4.0  # the larger, the less a threshold that is missed lets others be heard
_SPENDING = 0.3  # times the pace: what is to spare goes more easily than it comes back
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
    return Verdict(values, limits, deviation, error, count > 0, near)


def weigh(
    learner: Any,
    products: Float[Array, "K K"],
    verdict: Verdict,
    multipliers: Float[Array, " thresholds"],
) -> Direction:
    """The direction by the learner's ``rule``."""
    if learner.rule != "flow":
        return direction_by_rule(
            learner, products, verdict.values, verdict.limits, verdict.error, multipliers
        )
    return _flow_in_turn(learner, products, verdict)


def _flow_in_turn(learner: Any, products: Float[Array, "K K"], verdict: Verdict) -> Direction:
    """The flow in which the objective that pulls is the first that misses its threshold by a deviation, or the last.

    ``Σ_k π_k·flow(objectives 1…k)`` with ``π_k = s_k·Π_{j<k}(1−s_j)``, ``s_K = 1`` and
    ``s_j = clip(4((τ_j − F_j)/σ_j + m_j), 0, 1)``: as long as much is missing nothing but what matters more is
    heard, and near its threshold an objective becomes a rate that the next ones have to grant. m_j is the margin and,
    since F_j is an estimate, ``buffer`` of its standard errors. What is to spare is spent at a third of the pace: with
    noisy gradients it goes faster than it comes back, and estimates notice late. Before the first episode has ended
    the first objective pulls.
    """
    count = products.shape[0]
    spread = verdict.deviation[:-1]
    values = jnp.where(verdict.known, verdict.values, 0.0)
    limits = jnp.where(verdict.known, verdict.limits, 0.0)
    least = 1e-6 * jnp.maximum(1.0, jnp.abs(values[:-1]))
    spread = jnp.maximum(spread, least)
    expected = learner.criterion == "expected"
    margin = learner.margin + learner.buffer * verdict.error[:-1] / spread if expected else 0.0
    missing = (limits - values[:-1]) / spread + margin
    slow = jnp.where(missing > 0, 1.0, _SPENDING)
    short = jnp.where(verdict.known, jnp.clip(_SHARPNESS * missing, 0.0, 1.0), 1.0)
    short = jnp.concatenate([short, jnp.ones(1, short.dtype)])
    turn = short * jnp.concatenate([jnp.ones(1, short.dtype), jnp.cumprod(1 - short[:-1])])
    total, found = jnp.zeros(count, products.dtype), jnp.zeros((), bool)
    for k in range(count):
        part = find_direction(
            products[: k + 1, : k + 1],
            values[: k + 1],
            limits[:k],
            method="flow",
            spread=spread[:k],
            margin=(margin * jnp.ones_like(spread))[:k],
            rate=(learner.pace * slow)[:k],
        )
        size = jnp.sqrt(jnp.maximum(part.weights @ products[: k + 1, : k + 1] @ part.weights, 0.0))
        unit = jnp.where(size > 0, part.weights / jnp.where(size > 0, size, 1.0), 0.0)
        total = total + turn[k] * jnp.pad(unit, (0, count - k - 1))
        found = found | (part.found & (turn[k] > 0))
    objective = jnp.argmax(short > 0)
    reason = jnp.where(found, int(Reason.FOUND), int(Reason.ZERO_GRADIENT))
    return Direction(total, objective, found, reason)
