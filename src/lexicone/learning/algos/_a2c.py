"""Lexicographic A2C: one step along the direction of K advantage-weighted gradients per batch of episodes."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
from jaxtyping import Array

from lexicone.learning._episodes import Episodes
from lexicone.learning._learner import progress_metrics
from lexicone.learning._networks import log_policy
from lexicone.learning._problem import Problem
from lexicone.learning._settings import by_task, number
from lexicone.learning.algos._actor_critic import ActorCritic, ActorCriticState
from lexicone.learning.algos._gradient_rules import update_multipliers

__all__ = ["A2C"]


@dataclass(frozen=True)
class A2C(ActorCritic):
    """Lexicographic advantage actor–critic; for `train`."""

    batch: int = 32
    """Episodes per update: one step on each, so that smaller batches make more of them."""
    learning_rate: float = number(by_task(1.2e-2, 7e-4))
    critic_steps: int = 4
    """Steps of the critics on each batch, on models."""
    length: int = 16
    """Steps of each copy of an environment between two updates."""
    minibatches: int = 1
    """Parts of a segment, each a step."""

    epochs: ClassVar[int] = 1
    clip: ClassVar[float] = 0.5
    """On segments: so far one minibatch may move from what acted."""

    def learn(
        self, problem: Problem, state: ActorCriticState, episodes: Episodes, key: Any, share: Array
    ) -> tuple[ActorCriticState, dict[str, Array]]:
        """Take one step on a batch."""
        log_table, pull_back = jax.vjp(
            lambda policy: log_policy(policy, problem.features, available=problem.available),
            state.policy,
        )
        state, batch = self.gather(problem, state, log_table, episodes, share)
        credit = batch.gain + batch.loss
        state, step = self.climb(state, batch, log_table, pull_back, credit, share)
        state, _ = jax.lax.scan(
            lambda state, _: (self.assess(problem, state, batch), None),
            state,
            None,
            length=self.critic_steps,
        )
        multipliers = update_multipliers(
            state.multipliers, batch.now.values, batch.now.limits, self.multiplier_rate
        )
        metrics = progress_metrics(
            batch.episodes, problem.thresholds, step.direction, step.products
        )
        return state._replace(multipliers=multipliers), metrics
