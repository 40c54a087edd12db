"""Lexicographic PPO: several clipped steps on each batch (Schulman et al. 2017), one surrogate per objective.

For objective k the surrogate is ``Σ_t min(ρ_t A_k,t, clip(ρ_t, 1−ε, 1+ε) A_k,t)`` with ``ρ = π(a|s)/π_old(a|s)``. Its
gradient is that of ``Σ_t ρ_t A_k,t`` without the steps whose ratio has already moved by ε the way that they want, and
the K gradients make one direction, as everywhere (`lexicone.cone`).
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array

from lexicone.learning._episodes import Episodes, Problem
from lexicone.learning._learner import progress_metrics
from lexicone.learning._networks import log_policy
from lexicone.learning.algos._actor_critic import ActorCritic, State
from lexicone.learning.algos._baselines import update_multipliers

__all__ = ["PPO"]


@dataclass(frozen=True)
class PPO(ActorCritic):
    """Lexicographic PPO, the default learner; for `train`."""

    epochs: int = 4
    """Steps on each batch."""
    clip: float = 0.2
    """ε."""

    traced: ClassVar[tuple[str, ...]] = (*ActorCritic.traced, "clip")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.clip < 1:
            raise ValueError(f"clip: must be between 0 and 1, got {self.clip}")

    def learn(
        self, problem: Problem, state: State, episodes: Episodes, key: Any, share: Array
    ) -> tuple[State, dict[str, Array]]:
        """Take ``epochs`` clipped steps on a batch."""
        old = log_policy(state.policy, problem.features)
        state, batch = self.gather(problem, state, old, episodes, share)

        def epoch(state: State, _: Any) -> tuple[State, dict[str, Array]]:
            log_table, pull_back = jax.vjp(
                lambda policy: log_policy(policy, problem.features), state.policy
            )
            ratio = jnp.exp(log_table - old)[None]
            gain = jnp.where(ratio < 1 + self.clip, ratio, 0.0) * batch.gain
            loss = jnp.where(ratio > 1 - self.clip, ratio, 0.0) * batch.loss
            state, step = self.climb(state, batch, log_table, pull_back, gain + loss, share)
            state = self.assess(problem, state, batch)
            return state, progress_metrics(
                batch.episodes, problem.thresholds, step.direction, step.products
            )

        state, metrics = jax.lax.scan(epoch, state, None, length=self.epochs)
        multipliers = update_multipliers(
            state.multipliers, batch.now.values, batch.now.limits, self.multiplier_rate
        )
        metrics = jax.tree.map(lambda m: jnp.mean(m, axis=0), metrics)
        return state._replace(multipliers=multipliers), metrics
