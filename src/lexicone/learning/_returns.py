"""What episodes are worth, objective by objective: returns, advantages, and thresholds on whole episodes.

Arrays are time first: ``[T,N,K]`` for T steps, N episodes and K objectives. Each column of N holds one episode, and is
0 after its end. Termination ends an episode for good; after a truncation its last state still has a value, which
`advantages` therefore adds.
"""

import math
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from lexicone.order import Criterion

__all__ = [
    "Goal",
    "advantages",
    "allow_rounding",
    "change_of_met",
    "critic_units",
    "discounted_sums",
    "make_goal",
    "normalized",
]


def discounted_sums(terms: Float[Array, "T *rest"], factor: Float[Array, ""] | float) -> Array:
    """``G_t = Σ_l factor^l·x_{t+l}``, from which ``G_t = x_t + factor·G_{t+1}``. ``[T,…] → [T,…]``.

    By doubling: after step i every entry holds a sum of 2ⁱ terms, so that ⌈log₂ T⌉ additions of whole arrays do what a
    loop of T steps would.
    """
    count = terms.shape[0]
    total, power, reach = terms, jnp.asarray(factor, terms.dtype), 1
    while reach < count:
        later = jnp.concatenate([total[reach:], jnp.zeros_like(total[:reach])])
        total, power, reach = total + power * later, power * power, 2 * reach
    return total


def advantages(
    reward: Float[Array, "T N K"],
    value: Float[Array, "T N K"],
    last_value: Float[Array, "N K"],
    alive: Bool[Array, "T N"],
    gamma: Float[Array, ""] | float,
    decay: Float[Array, ""] | float,
) -> Float[Array, "T N K"]:
    """Generalised advantage estimates (Schulman et al. 2016) of every objective.

        δ_t = r_t + γ·V(s_{t+1}) − V(s_t),    A_t = Σ_l (γλ)^l δ_{t+l}        (λ is ``decay``)

    ``value`` is V(s_t), ``last_value`` V of the state in which the episode stopped: 0 where it terminated, and the
    critic's estimate where it was cut off. λ=1 gives discounted returns less the baseline V.
    """
    following = jnp.concatenate([value[1:], jnp.zeros_like(value[:1])])
    goes_on = jnp.concatenate([alive[1:], jnp.zeros_like(alive[:1])])
    following = jnp.where(goes_on[..., None], following, last_value[None])
    error = jnp.where(alive[..., None], reward + gamma * following - value, 0.0)
    return discounted_sums(error, gamma * decay)


def normalized(
    credit: Float[Array, "T N K"], alive: Bool[Array, "T N"], *, scale: bool = True
) -> Float[Array, "T N K"]:
    """Credit less its mean over all steps taken and, with ``scale``, divided by its deviation, per objective.

    Steps that were not taken stay 0, and so does an objective whose credit is the same everywhere.
    """
    taken = jnp.broadcast_to(alive[..., None], credit.shape)
    mean = jnp.mean(credit, axis=(0, 1), where=taken, keepdims=True)
    centred = jnp.where(taken, credit - mean, 0.0)
    if not scale:
        return centred
    deviation = jnp.sqrt(jnp.mean(centred**2, axis=(0, 1), where=taken, keepdims=True))
    noise = 1e-5 * jnp.max(jnp.abs(credit), axis=(0, 1), keepdims=True)
    return jnp.where(deviation > noise, centred / jnp.where(deviation > noise, deviation, 1.0), 0.0)


def allow_rounding(thresholds: Float[Array, " *shape"]) -> Float[Array, " *shape"]:
    """What a sum of rounded rewards has to reach for its threshold to be met; environments pay in 32 bits at best."""
    slack = 1e-5 if thresholds.dtype == jnp.float32 else 1e-6
    size = jnp.where(jnp.isfinite(thresholds), jnp.maximum(1.0, jnp.abs(thresholds)), 0.0)
    return thresholds - slack * size


class Goal(NamedTuple):
    """What a batch of episodes says about the objectives: what to earn, where they stand, where they should."""

    reward: Float[Array, "T N K"]
    """Rewards whose sums are to be maximised."""
    values: Float[Array, " K"]
    """The estimates F that are compared with ``limits``."""
    limits: Float[Array, " K-1"]
    most: Float[Array, " K-1"] | float = math.inf
    """How far limits may be raised where values stay below them: a share by half of what is missing to 1."""


def make_goal(
    reward: Float[Array, "T N K"],
    thresholds: Float[Array, " K-1"],
    criterion: Criterion = "expected",
    confidence: Float[Array, ""] | float = 0.9,
    chances: Float[Array, " K-1"] | None = None,
) -> Goal:
    """Either meaning of a threshold, as rewards and estimates that one algorithm can use.

    ``"expected"``: the mean return shall reach τ; rewards are as they are. ``"episode"``: *each* episode's return R
    shall reach τ. Then ``E[min(R,τ)]`` is maximised, and F is the share of episodes with ``R ≥ τ``, which shall reach
    ``confidence``. A step earns what it adds to the clipped sum so far, ``min(C_t,τ) − min(C_{t−1},τ)``: over the
    episode that makes ``min(R,τ) − min(0,τ)``. The last objective has no threshold and stays as it is. ``"chance"``: a
    share p of episodes shall reach τ, each threshold with its own p in ``chances``, or the mean where that is NaN. Then
    ``P(R ≥ τ)`` itself is maximised, up to p: a step earns the change of ``1{C_t ≥ τ}``.
    """
    total = jnp.sum(reward, axis=0)
    mean = jnp.mean(total, axis=0)
    near = allow_rounding(thresholds)
    if criterion == "expected":
        return Goal(reward, mean, near)
    last = thresholds.shape[0]
    if criterion == "chance":
        assert chances is not None
        so_far = jnp.cumsum(reward[..., :last], axis=0)
        earned = change_of_met(
            so_far - reward[..., :last], so_far, reward[..., :last], near, chances
        )
        share = jnp.mean((total[:, :last] >= near[None]).astype(reward.dtype), axis=0)
        by_mean = jnp.isnan(chances)
        return Goal(
            jnp.concatenate([earned, reward[..., last:]], axis=-1),
            jnp.concatenate([jnp.where(by_mean, mean[:last], share), mean[last:]]),
            jnp.where(by_mean, near, chances),
            jnp.where(by_mean, jnp.inf, 0.5 * (1 + chances)),
        )
    least = jnp.finfo(reward.dtype).min  # what −∞ clips to: nothing can be earned
    bound = jnp.broadcast_to(jnp.maximum(thresholds, least), reward[..., :last].shape)
    clipped = jnp.minimum(jnp.cumsum(reward[..., :last], axis=0), bound)
    before = jnp.concatenate([jnp.minimum(jnp.zeros_like(bound[:1]), bound[:1]), clipped[:-1]])
    met = jnp.mean((total[:, :last] >= near[None]).astype(reward.dtype), axis=0)
    return Goal(
        jnp.concatenate([clipped - before, reward[..., last:]], axis=-1),
        jnp.concatenate([met, mean[last:]]),
        jnp.broadcast_to(jnp.asarray(confidence, reward.dtype), (last,)),
    )


def change_of_met(
    before: Float[Array, "T N thresholds"],
    after: Float[Array, "T N thresholds"],
    reward: Float[Array, "T N thresholds"],
    near: Float[Array, " thresholds"],
    chances: Float[Array, " thresholds"],
) -> Float[Array, "T N thresholds"]:
    """``1{after ≥ τ} − 1{before ≥ τ}`` of sums so far, or the reward where a threshold is for the mean."""
    limits = near[None, None]
    change = (after >= limits).astype(reward.dtype) - (before >= limits).astype(reward.dtype)
    return jnp.where(jnp.isnan(chances)[None, None], reward, change)


def critic_units(
    criterion: Criterion, scale: Float[Array, " K"], chances: Float[Array, " K-1"] | None
) -> Float[Array, " K"]:
    """The unit of each critic: the size of rewards, which is 1 where what is earned is a chance."""
    unit = jnp.where(scale > 0, scale, 1.0)
    if criterion != "chance" or chances is None:
        return unit
    by_mean = jnp.concatenate([jnp.isnan(chances), jnp.ones(1, bool)])
    return jnp.where(by_mean, unit, 1.0)
