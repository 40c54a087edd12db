"""Lexicographic REINFORCE (section "Using Lexicographic Projection Algorithm in RL", its Algorithm, and the appendix).

One update of the paper's algorithm: run one episode; for every objective o

    F_o = Σ_t R_t,    G_t = R_t + γG_{t+1},    M_o = ∇_θ Σ_t ln π(A_t|S_t)·G_{t+1};

give ``FindDirection(M, F, τ, Δ)`` to Adam. (The paper's M are gradients of losses; all K signs cancel.) The defaults
are the paper's where it has them, and every liberty is an option. It is silent about γ, the learning rate, the cap on
episodes, and what to do when no direction is found (here: skip the update).

All K gradients are pulled back together. Without dropout, or with ``masks="state"``, the policy is computed for all
states at once and the episodes' credit summed by state and action, which is faster still.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, cast

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from lexicone.directions._find_direction import DirectionMethod
from lexicone.directions._gradients import pull_back_all, take_step
from lexicone.learning._episodes import (
    Episodes,
    collect,
    collect_with,
    spread_credit,
    sum_over_steps,
    visits,
)
from lexicone.learning._learner import (
    Activation,
    OnNone,
    Optimizer,
    choose_direction,
    make_optimizer,
    progress_metrics,
)
from lexicone.learning._networks import Network, dropout_masks, log_policy, policy_gradients
from lexicone.learning._problem import Problem
from lexicone.learning._returns import discounted_sums, make_goal, normalized
from lexicone.learning._settings import check_settings, number
from lexicone.order import Criterion

__all__ = ["Reinforce", "ReinforceState"]

Credit = Literal["returns", "centred", "normalized"]
Masks = Literal["step", "state"]


class ReinforceState(NamedTuple):
    """One run under way."""

    policy: Network
    optimizer: PyTree


@dataclass(frozen=True)
class Reinforce:
    """Lexicographic REINFORCE. ``Reinforce()`` is the paper's algorithm; a learner for `train`."""

    delta: float = number(math.radians(20), 0, math.pi / 2, below=True)
    """Conservativeness Δ, in radians."""
    gamma: float = number(0.99, 0, 1)
    """Discount of the returns in the gradients."""
    learning_rate: float = number(1e-2)
    batch: int = 1
    """Episodes per update. F and the gradients are means over them."""
    max_steps: int | None = None
    """Episodes are cut off after so many steps. None: where the environment itself does, else after 200."""
    optimizer: Optimizer = "adam"
    hidden: tuple[int, ...] = (128,)
    """Sizes of the policy's hidden layers; none make it a table."""
    activation: Activation = "relu"
    """Of the hidden layers: ``"relu"`` or ``"tanh"``."""
    dropout: float = number(0.6, 0, 1, below=True)
    masks: Masks = "step"
    """New dropout masks at every step, or one for each state in an update: faster, but not the same algorithm."""
    temperature: float = number(10.0, 0, above=True)
    """Of the softmax over actions."""
    method: DirectionMethod = "sequential"
    active_constraints: bool = False
    buffer: float = number(0.0)
    """As in `find_direction`, these three."""
    on_none: OnNone = "skip"
    """Without a direction: skip the update, follow the current objective's gradient, or the first's."""
    discounted_values: bool = False
    """Whether F, too, is discounted."""
    criterion: Criterion = "expected"
    """What a threshold means: see `make_goal`."""
    confidence: float = number(0.9, 0, 1)
    """For ``criterion="episode"``: the share of episodes that shall meet their threshold."""
    credit: Credit = "returns"
    """The weight of ``ln π``: returns; less their mean over the batch; and divided by their deviation."""
    entropy: float = number(0.0)
    """Weight of the policy's entropy in every objective, falling to 0 in a straight line over the training."""

    usual_steps: ClassVar[int] = 200
    traced: ClassVar[tuple[str, ...]] = (
        "delta",
        "gamma",
        "learning_rate",
        "temperature",
        "buffer",
        "confidence",
        "entropy",
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if self.discounted_values and self.criterion != "expected":
            raise ValueError(
                f'discounted_values: with criterion="{self.criterion}" F is a share of episodes'
            )
        if self.entropy and self.dropout and self.masks == "step":
            raise ValueError('entropy: needs dropout=0 or masks="state"')

    def init(self, problem: Problem, key: Any) -> ReinforceState:
        """A run before its first update."""
        inputs, actions, _ = problem.sizes
        policy = Network(inputs, self.hidden, actions, key, activation=self.activation)
        return ReinforceState(policy, make_optimizer(self).init(cast(Any, policy)))

    def log_policy(self, problem: Problem, state: ReinforceState) -> Float[Array, "S A"]:
        """``ln π`` of every state, dropout off."""
        available = problem.available
        return log_policy(state.policy, problem.features, self.temperature, available=available)

    def update(
        self, problem: Problem, state: ReinforceState, key: Any, share: Array
    ) -> tuple[ReinforceState, dict[str, Array]]:
        """Collect a batch with the present policy, dropout on, and learn from it."""
        mask_key, episode_key = jax.random.split(key)
        if self.dropout and self.masks == "step":
            return self._update_by_step(problem, state, mask_key, episode_key)
        rows = problem.model.next_state.shape[0]
        masks = dropout_masks(state.policy, rows, self.dropout, mask_key)
        episodes = collect(
            problem.model,
            jnp.exp(self._masked(problem, masks)(state.policy)),
            episode_key,
            episodes=self.batch,
            max_steps=self.max_steps or self.usual_steps,
        )
        return self._learn_table(problem, state, episodes, masks, share)

    def act(
        self, state: ReinforceState, features: Float[Array, "N D"], key: Any, time: Any
    ) -> Array:
        """``ln π`` with which an environment is acted in at one time of N episodes, dropout on."""
        mask_key, _ = jax.random.split(key)
        masks = dropout_masks(state.policy, features.shape[0], self.dropout, mask_key, time)
        return log_policy(state.policy, features, self.temperature, masks)

    def learn(
        self, problem: Problem, state: ReinforceState, episodes: Episodes, key: Any, share: Array
    ) -> tuple[ReinforceState, dict[str, Array]]:
        """The update for episodes from elsewhere, whose every step is a state of its own: see `EnvLearner`."""
        mask_key, _ = jax.random.split(key)
        times = jnp.arange(episodes.alive.shape[0] + 1)
        draw = partial(dropout_masks, state.policy, episodes.alive.shape[1], self.dropout, mask_key)
        masks = jax.tree.map(lambda m: m.reshape(-1, m.shape[-1]), jax.vmap(draw)(times))
        return self._learn_table(problem, state, episodes, masks, share)

    def _masked(self, problem: Problem, masks: Any) -> Callable[[Network], Float[Array, "S A"]]:
        """``ln π`` of every state, with these masks of the hidden layers."""
        return lambda policy: log_policy(
            policy, problem.features, self.temperature, masks, problem.available
        )

    def _learn_table(
        self, problem: Problem, state: ReinforceState, episodes: Episodes, masks: Any, share: Array
    ) -> tuple[ReinforceState, dict[str, Array]]:
        """With one mask for each state."""
        log_table, pull_back = jax.vjp(self._masked(problem, masks), state.policy)

        def gradients(credit: Array) -> PyTree:
            totals = spread_credit(episodes, credit, log_table)
            bonus = self.entropy * (1 - share) * visits(episodes, log_table)
            slope = -jnp.exp(log_table) * (1 + log_table)  # of the entropy −Σ π ln π, by ln π
            return pull_back_all(pull_back, totals + (bonus[:, None] * slope)[None])

        return self.climb(problem, state, episodes, gradients)

    def _update_by_step(
        self, problem: Problem, state: ReinforceState, mask_key: Any, episode_key: Any
    ) -> tuple[ReinforceState, dict[str, Array]]:
        """With new masks at every step: these are kept, so that the gradients see the network that acted."""

        def seen(states: Array) -> Array:
            return states if problem.features is None else problem.features[states]

        def available(states: Array) -> Array | None:
            return None if problem.available is None else problem.available[states]

        def act(states: Array, time: Array) -> tuple[Array, Any]:
            masks = dropout_masks(state.policy, self.batch, self.dropout, mask_key, time)
            shares = log_policy(
                state.policy, seen(states), self.temperature, masks, available(states)
            )
            return jnp.exp(shares), masks

        episodes, masks = collect_with(
            problem.model,
            act,
            episode_key,
            episodes=self.batch,
            max_steps=self.max_steps or self.usual_steps,
        )

        def part(credit: Array, states: Array, actions: Array, masks: Any) -> PyTree:
            rows, allowed = seen(states), available(states)
            return policy_gradients(
                state.policy, rows, actions, credit, self.temperature, masks, allowed
            )

        def gradients(credit: Array) -> PyTree:
            arrays = (episodes.state, episodes.action, masks)
            return sum_over_steps(part, credit, episodes.alive, *arrays)

        return self.climb(problem, state, episodes, gradients)

    def climb(
        self,
        problem: Problem,
        state: ReinforceState,
        episodes: Episodes,
        gradients: Callable[[Float[Array, "T N K"]], PyTree],
    ) -> tuple[ReinforceState, dict[str, Array]]:
        """The step of the policy.

        ``gradients`` takes the credit of every step to the K gradients of ``Σ_t ln π(a_t|s_t)·credit_t``.
        """
        limits = (problem.thresholds, self.criterion, self.confidence, problem.chances)
        goal = make_goal(episodes.reward, *limits)
        credit = discounted_sums(goal.reward, self.gamma)
        values = goal.values
        if self.discounted_values:
            values = jnp.mean(discounted_sums(episodes.reward, self.gamma)[0], axis=0)
        if self.credit != "returns":
            credit = normalized(credit, episodes.alive, scale=self.credit == "normalized")
        step = take_step(
            make_optimizer(self),
            state.optimizer,
            state.policy,
            jax.tree.map(lambda g: g / self.batch, gradients(credit)),
            lambda products: choose_direction(self, products, values, goal.limits),
        )
        metrics = progress_metrics(episodes, problem.thresholds, step.direction, step.products)
        return ReinforceState(step.parameters, step.optimizer), metrics
