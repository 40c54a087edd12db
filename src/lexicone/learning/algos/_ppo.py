"""Lexicographic PPO: several clipped steps on each batch (Schulman et al. 2017), one surrogate per objective.

For objective k the surrogate is ``Σ_t min(ρ_t A_k,t, clip(ρ_t, 1−ε, 1+ε) A_k,t)`` with ``ρ = π(a|s)/π_old(a|s)``. Its
gradient is that of ``Σ_t ρ_t A_k,t`` without the steps whose ratio has already moved by ε the way that they want, and
the K gradients make one direction, as everywhere (`lexicone.directions`).
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array

from lexicone.learning._episodes import Episodes
from lexicone.learning._learner import progress_metrics
from lexicone.learning._networks import log_policy
from lexicone.learning._problem import Problem
from lexicone.learning._settings import by_task, number
from lexicone.learning.algos._actor_critic import ActorCritic, ActorCriticState
from lexicone.learning.algos._gradient_rules import update_multipliers

__all__ = ["PPO"]


@dataclass(frozen=True)
class PPO(ActorCritic):
    """Lexicographic PPO, the default learner; for `train`."""

    epochs: int = by_task(4, 10)
    """Steps on each batch."""
    clip: float = number(0.2, 0, 1, above=True, below=True)
    """ε."""

    traced: ClassVar[tuple[str, ...]] = (*ActorCritic.traced, "clip")

    def learn(
        self, problem: Problem, state: ActorCriticState, episodes: Episodes, key: Any, share: Array
    ) -> tuple[ActorCriticState, dict[str, Array]]:
        """Take ``epochs`` clipped steps on a batch."""
        old = log_policy(state.policy, problem.features, available=problem.available)
        state, batch = self.gather(problem, state, old, episodes, share)

        def epoch(state: ActorCriticState, _: Any) -> tuple[ActorCriticState, dict[str, Array]]:
            log_table, pull_back = jax.vjp(
                lambda policy: log_policy(policy, problem.features, available=problem.available),
                state.policy,
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
