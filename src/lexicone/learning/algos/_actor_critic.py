"""What the actor–critic learners share: settings, batches, critics, and steps of the policy.

A batch of episodes gives every objective an advantage at every step (GAE, a critic per objective). The policy is a
table of all states, and the gradients of all objectives only need the advantages' sums by state and action; these are
made once per batch, so a further pass over the same batch costs a forward and a backward pass of the network on S rows
and nothing that grows with the number of steps.
"""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, cast

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PyTree

from lexicone.directions._find_direction import Direction, DirectionMethod
from lexicone.directions._gradients import GradientStep, pull_back_all, take_step
from lexicone.learning._episodes import Episodes, collect, spread_credit, sum_by_state, visits
from lexicone.learning._learner import (
    Activation,
    OnNone,
    Optimizer,
    make_optimizer,
)
from lexicone.learning._networks import IMPOSSIBLE, Critics, Network, log_policy
from lexicone.learning._problem import Problem
from lexicone.learning._returns import advantages, critic_units, make_goal, normalized
from lexicone.learning._settings import by_task, check_settings, number
from lexicone.learning.algos._estimates import (
    Estimate,
    RunningEstimates,
    start_estimates,
    update_estimates,
)
from lexicone.learning.algos._gradient_rules import (
    GradientRule,
    direction_by_rule,
    start_multipliers,
)
from lexicone.order import Criterion

__all__ = ["ActorCritic", "ActorCriticState", "Batch"]


class ActorCriticState(NamedTuple):
    """One run under way."""

    policy: Network
    """With which episodes are run."""
    average: Network
    """Its running mean: what is learned."""
    taken: Float[Array, ""]
    """Steps of the policy so far."""
    critics: Critics
    optimizer: PyTree
    critic_optimizer: PyTree
    standing: RunningEstimates
    """Where the objectives stand, as far as batches have shown."""
    multipliers: Float[Array, " K-1"]
    """Of the Lagrangian rule; others leave them."""
    scale: Float[Array, " K"]
    """The largest rewards, known beforehand or seen so far: the critics' unit."""


class Batch(NamedTuple):
    """What a batch of episodes says, summed by state and action."""

    episodes: Episodes
    gain: Float[Array, "K S A"]
    """The positive advantages."""
    loss: Float[Array, "K S A"]
    """The negative ones."""
    visits: Float[Array, " S"]
    target: Float[Array, "S K"]
    """The mean of what the critics should have said."""
    now: Estimate
    """Where the objectives stand."""


def fading(share: Array, end: Any) -> Array:
    """From 1 down to 0, in a straight line, while less than ``end`` of the training is over."""
    return jnp.maximum(1 - share / end, 0.0)


@dataclass(frozen=True)
class ActorCritic:
    """Settings and parts of `A2C` and `PPO`; the defaults are the same for all tasks."""

    criterion: Criterion = "expected"
    """What a threshold means: see `make_goal`."""
    delta: float = number(math.radians(5), 0, math.pi / 2, below=True)
    """Conservativeness Δ, in radians. Where it leaves no direction, Δ/8 is tried."""
    gamma: float = number(by_task(0.95, 0.99), 0, 1)
    """Discount in the advantages. Thresholds are compared with undiscounted returns."""
    decay: float = number(0.95, 0, 1)
    """λ of the advantages: 0 trusts the critics, 1 the returns."""
    entropy: float = number(by_task(0.5, 0.01))
    """Weight of the policy's entropy, against advantages of deviation 1, falling to 0 in a straight line."""
    explore: float = number(by_task(0.4, 1.0), 0, 1, above=True)
    """The part of the training after which it has fallen to 0. With 1, thresholds out of reach block all later ones."""
    barrier: float = number(0.05)
    """Weight of the mean of ``ln π(a|s)`` over actions, which falls to 0 halfway between the end of the exploration and
    that of the training. Entropy lets go of actions that have become rare; this does not, so that what is above a
    threshold can still be spent."""
    learning_rate: float = number(by_task(1e-2, 5e-4))
    """Of the policy, falling to 0 with the square of the training that is left; in environments in a straight line."""
    critic_rate: float = number(1e-2)
    batch: int = 64
    """Episodes per update."""
    max_steps: int | None = None
    """Episodes are cut off after so many steps. None: where the environment itself does, else after 100."""
    hidden: tuple[int, ...] = by_task((128,), (64, 64))
    """Sizes of the policy's hidden layers; none make it a table."""
    critic_hidden: tuple[int, ...] | None = None
    """Those of the critics; the policy's by default."""
    activation: Activation = "tanh"
    """Of all hidden layers: ``"relu"`` or ``"tanh"``. In long trainings on noisy gradients relu units die."""
    tail: float = number(by_task(0.1, 0.02), 0, 1)
    """What is learned is a mean of the policy's parameters after all steps, the t-th weighing about t^(1/tail−1): with
    0.1 two thirds of the weight are in the last tenth. 0 takes the last parameters, 1 the plain mean. In environments
    the t-th update counts."""
    optimizer: Optimizer = "adam"
    method: DirectionMethod = "exact"
    confidence: float = number(0.98, 0, 1)
    """For ``criterion="episode"``: the share of episodes that shall meet their threshold. (With ``"chance"`` each
    threshold of the order says its own.)"""
    allowance: float = number(0.3, 0, 1)
    """The part of that share that is not asked for at first; like entropy it falls to 0. While a learner explores it
    misses thresholds by chance, and would otherwise settle on the safest ways before later objectives have a say."""
    smoothing: float = number(0.3, 0, 1, below=True)
    """How much of the estimates of earlier batches is kept at first; more and more as steps become smaller."""
    buffer: float = number(by_task(0.5, 2.0))
    """With the expected criterion a threshold binds up to so many standard errors above it; by the rule ``"flow"`` in
    environments it counts as raised by as many."""
    correction: float = number(by_task(0.05, 0.02))
    """With the expected criterion: how fast a threshold that values stay below is raised, by at most 3 standard errors.
    Without it they settle where noise lifts enough of the estimates over the threshold. In environments by the rule
    ``"flow"``, whatever the criterion, and by at most half a deviation of episodes."""
    on_none: OnNone = "skip"
    """Without a direction: skip the step, follow the current objective's gradient, or the first's."""
    rule: GradientRule = field(default=by_task("cone", "flow"))
    """How gradients are combined: the paper's cones, or one of those in `_gradient_rules`."""
    weights: tuple[float, ...] = ()
    """Of the rule ``"linear"``: one for each objective; all the same by default."""
    penalty: float = number(10.0)
    """Of the rule ``"penalty"``: the weight of an objective below its threshold, advantages having deviation 1."""
    multiplier_rate: float = number(0.05)
    """Of the rule ``"lagrangian"``: how fast multipliers follow what is missing."""
    copies: int = 16
    """From here on for environments: how many run side by side."""
    length: int = 64
    """Steps of each between two updates."""
    minibatches: int = 8
    """Parts of a segment, each a step."""
    max_gradient: float = number(0.5, 0, above=True)
    """Longer gradients are cut to this length."""
    target_kl: float = number(0.03, 0, above=True)
    """A policy that has moved half as much again takes no more steps on a segment."""
    first_log_std: float = number(0.0, -20, 20)
    """ln of the deviation with which actions that are numbers begin, in units of half their range."""
    last_log_std: float = number(-4.0, -20, 20)
    """It is learned, but stays above a line from there to here: who stops trying too early learns nothing more."""
    memory: float = number(0.1)
    """Where objectives stand is told from this part of the updates so far, the latest ones, and from at least about
    ``copies`` episodes: the slower policies change the more can be known of them."""
    normalise: bool = True
    """Whether networks see observations less their running mean and divided by their deviation."""
    margin: float = number(0.2)
    """Of the rule ``"flow"``, with the expected criterion: thresholds count as raised by so many deviations."""
    pace: float = number(8.0)
    """Of the rule ``"flow"``: how fast what is missing, in deviations of episodes, shall be made up."""

    usual_steps: ClassVar[int] = 100
    traced: ClassVar[tuple[str, ...]] = (
        "delta",
        "gamma",
        "decay",
        "entropy",
        "explore",
        "barrier",
        "learning_rate",
        "critic_rate",
        "tail",
        "confidence",
        "allowance",
        "smoothing",
        "buffer",
        "correction",
        "penalty",
        "multiplier_rate",
        "max_gradient",
        "target_kl",
        "first_log_std",
        "last_log_std",
        "memory",
        "margin",
        "pace",
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if self.weights and (min(self.weights) < 0 or max(self.weights) == 0):
            raise ValueError(f"weights: must not be negative, nor all 0, got {self.weights}")
        if self.weights and self.rule != "linear":
            raise ValueError(f'weights: are for rule="linear"; the rule is {self.rule!r}')

    @property
    def active_constraints(self) -> bool:
        """Whether a threshold with room to spare lets go.

        In expectation what is above a threshold may be spent, and so may a chance. With whole episodes nothing is
        above: utilities end at the threshold.
        """
        return self.criterion != "episode"

    def init(self, problem: Problem, key: Any) -> ActorCriticState:
        """A run before its first update."""
        inputs, actions, count = problem.sizes
        if self.weights and len(self.weights) != count:
            raise ValueError(
                f"weights: the task has {count} objectives, got {len(self.weights)} weights"
            )
        policy_key, critic_key = jax.random.split(key)
        sizes = self.hidden if self.critic_hidden is None else self.critic_hidden
        options: Any = {"activation": self.activation, "last_scale": 0.01}
        policy = Network(inputs, self.hidden, actions, policy_key, **options)
        critics = Critics(inputs, sizes, count, critic_key, **options)
        dtype = problem.scale.dtype
        return ActorCriticState(
            policy,
            policy,
            jnp.zeros((), dtype),
            critics,
            make_optimizer(self).init(cast(Any, policy)),
            optax.adam(self.critic_rate).init(cast(Any, critics)),
            start_estimates(count, dtype),
            start_multipliers(count, dtype),
            problem.scale,
        )

    def log_policy(self, problem: Problem, state: ActorCriticState) -> Float[Array, "S A"]:
        """``ln π`` of every state, as learned: of the averaged policy."""
        return log_policy(state.average, problem.features, available=problem.available)

    def update(
        self, problem: Problem, state: ActorCriticState, key: Any, share: Array
    ) -> tuple[ActorCriticState, dict[str, Array]]:
        """Run a batch of episodes with the present policy and learn from it."""
        episodes = collect(
            problem.model,
            jnp.exp(log_policy(state.policy, problem.features, available=problem.available)),
            key,
            episodes=self.batch,
            max_steps=self.max_steps or self.usual_steps,
        )
        return self.learn(problem, state, episodes, key, share)

    def learn(
        self, problem: Problem, state: ActorCriticState, episodes: Episodes, key: Any, share: Array
    ) -> tuple[ActorCriticState, dict[str, Array]]:
        """One update from episodes of the present policy, wherever they come from."""
        raise NotImplementedError

    def gather(
        self,
        problem: Problem,
        state: ActorCriticState,
        log_table: Float[Array, "S A"],
        episodes: Episodes,
        share: Array,
    ) -> tuple[ActorCriticState, Batch]:
        """Sum up what a batch of episodes says; the state takes note of the estimates."""
        confidence = self.confidence * (1 - self.allowance * self.exploration(share))
        chances = problem.chances
        goal = make_goal(episodes.reward, problem.thresholds, self.criterion, confidence, chances)
        size = jnp.maximum(state.scale, jnp.max(jnp.abs(episodes.reward), axis=(0, 1)))
        reward = goal.reward / critic_units(self.criterion, size, chances)[None, None]
        table = jax.lax.stop_gradient(state.critics(problem.features))
        value = table[episodes.state]
        last = jnp.where(episodes.terminated[:, None], 0.0, table[episodes.last])
        advantage = advantages(reward, value, last, episodes.alive, self.gamma, self.decay)
        credit = normalized(advantage, episodes.alive)
        visited = visits(episodes, log_table)
        target = sum_by_state(episodes, advantage + value, log_table).T
        standing, now = update_estimates(self, state.standing, goal, episodes.returns, share)
        batch = Batch(
            episodes,
            spread_credit(episodes, jnp.maximum(credit, 0.0), log_table),
            spread_credit(episodes, jnp.minimum(credit, 0.0), log_table),
            visited,
            target / jnp.maximum(visited, 1.0)[:, None],
            now,
        )
        return state._replace(standing=standing, scale=size), batch

    def exploration(self, share: Array) -> Array:
        """From 1 to 0 while the learner explores."""
        return fading(share, self.explore)

    def climb(
        self,
        state: ActorCriticState,
        batch: Batch,
        log_table: Float[Array, "S A"],
        pull_back: Any,
        credit: Float[Array, "K S A"],
        share: Array,
    ) -> tuple[ActorCriticState, GradientStep]:
        """One step of the policy along the direction of the K gradients that ``credit`` makes."""
        entropy = -jnp.exp(log_table) * (1 + log_table)  # the slope of −Σ π ln π, by ln π
        possible = log_table > IMPOSSIBLE
        barrier = possible / jnp.sum(possible, axis=1, keepdims=True)  # and of the mean of ln π
        bonus = self.entropy * self.exploration(share) * entropy + (
            self.barrier * fading(share, (1 + self.explore) / 2) * barrier
        )
        bonus = batch.visits[:, None] * bonus
        steps = jnp.maximum(batch.episodes.steps, 1).astype(credit.dtype)
        gradients = pull_back_all(pull_back, (credit + bonus[None]) / steps)
        multipliers = state.multipliers

        def choose(products: Float[Array, "K K"]) -> Direction:
            return direction_by_rule(self, products, *batch.now, multipliers)

        step = take_step(
            optax.chain(make_optimizer(self), optax.scale(cast(float, (1 - share) ** 2))),
            (state.optimizer, optax.EmptyState()),
            state.policy,
            gradients,
            choose,
        )
        new = 1 / (1 + self.tail * state.taken)
        after = state._replace(
            policy=step.parameters,
            average=jax.tree.map(lambda a, b: a + new * (b - a), state.average, step.parameters),
            taken=state.taken + 1,
            optimizer=step.optimizer[0],
        )
        return after, step

    def assess(self, problem: Problem, state: ActorCriticState, batch: Batch) -> ActorCriticState:
        """One step of the critics towards what the batch says, state by state."""
        steps = jnp.maximum(batch.episodes.steps, 1).astype(batch.target.dtype)

        def error(critics: Critics) -> Array:
            off = critics(problem.features) - batch.target
            return 0.5 * jnp.sum(batch.visits[:, None] * off**2) / steps

        slope = jax.grad(error)(state.critics)
        optimizer = optax.adam(self.critic_rate)
        updates, kept = optimizer.update(slope, state.critic_optimizer, cast(Any, state.critics))
        critics = optax.apply_updates(cast(Any, state.critics), updates)
        return state._replace(critics=cast(Critics, critics), critic_optimizer=kept)
