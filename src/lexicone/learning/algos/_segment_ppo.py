"""Learning from segments: the update of PPO and A2C wherever the world is no table.

A critic with a head per objective makes K advantages of every step (GAE), each brought to deviation 1. One Gram matrix
of K gradients over the whole segment decides their weights (`_segment_rules`): signs of inner products are lost in
minibatches. The weights mix the *advantages*, and what follows is ordinary PPO with one backward pass per step: clipped
minibatches for some epochs, until the policy has moved far enough (the KL watch).
"""

from functools import partial
from typing import Any, NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PyTree

from lexicone.directions._gradients import gram, pair_cosines, pull_back_all
from lexicone.learning._distributions import beyond, draw, entropy, log_probability, most_probable
from lexicone.learning._networks import Layer, Network
from lexicone.learning._normalise import Moments, no_moments, note, scale_of, standardise
from lexicone.learning._overflow import BROKEN, largest_reward
from lexicone.learning._random_bits import shuffled
from lexicone.learning._returns import critic_units, normalized
from lexicone.learning._segments import (
    Lanes,
    Segment,
    Standing,
    earn,
    follow,
    no_standing,
    start_lanes,
    take_stock,
)
from lexicone.learning._spaces import Actions
from lexicone.learning.algos._gradient_rules import start_multipliers, update_multipliers
from lexicone.learning.algos._segment_rules import judge, raise_missed, weigh
from lexicone.models._advantages import sum_until_end

__all__ = ["Agent", "SegmentProblem", "SegmentState", "choose", "init", "learn"]

_ADAM_EPS = 1e-5
_STEPS_TO_ORTHOGONAL = 50
_DEVIATION_RATE = 5.0  # times the policy's: deviations have to fall by orders of magnitude
_BEYOND = 0.3  # what a mean out of its bounds costs, squared, against advantages of deviation 1
_KL_ROOM = 1.5  # times the target: beyond that a policy takes no more steps on a segment


@jax.tree_util.register_static
class SegmentSizes(NamedTuple):
    """To JAX a constant."""

    inputs: int
    actions: Actions
    objectives: int


class SegmentProblem(NamedTuple):
    """What is learned; thresholds may be traced."""

    thresholds: Float[Array, " K-1"]
    chances: Float[Array, " K-1"]
    """For ``criterion="chance"``: see `Problem`."""
    sizes: SegmentSizes


class Agent(NamedTuple):
    """What acts: all that a policy file holds."""

    policy: Network
    log_std: Float[Array, " numbers"]
    """Of actions that are numbers; none for choices."""
    seen: Moments
    """Of observations."""


class SegmentState(NamedTuple):
    """One run under way."""

    agent: Agent
    """With which copies act."""
    average: Agent
    """Its running mean: what is learned."""
    taken: Float[Array, ""]
    """Updates so far."""
    critics: Network
    """A head for each objective."""
    optimizer: PyTree
    critic_optimizer: PyTree
    at_stake: Moments
    """Of discounted returns so far: the critics' unit."""
    lanes: Lanes
    standing: Standing
    multipliers: Float[Array, " K-1"]
    """Of the Lagrangian rule; others leave them."""
    raised: Float[Array, " K-1"]
    """By how many deviations of episodes thresholds are raised, since they were missed so long."""


def _orthogonal(network: Network, key: Any, last_scale: float) -> Network:
    """The same network with orthogonal weights, √2 in hidden layers, and no biases (Saxe et al. 2014)."""
    keys = jax.random.split(key, len(network.layers))
    layers = []
    for i, (layer, own) in enumerate(zip(network.layers, keys, strict=True)):
        scale = last_scale if i == len(network.layers) - 1 else 2**0.5
        drawn = jax.random.normal(own, layer.weight.shape, layer.weight.dtype)
        layers.append(Layer(scale * _nearest_orthogonal(drawn), jnp.zeros_like(layer.bias)))
    return eqx.tree_at(lambda n: n.layers, network, tuple(layers))


def _nearest_orthogonal(matrix: Float[Array, "m n"]) -> Float[Array, "m n"]:
    """``U·Vᵀ`` of its singular value decomposition, by Newton–Schulz: rows or columns become orthonormal.

    Of a normal matrix it is uniform among all such matrices. A singular value grows by half in each step until it is 1.
    """
    wide = matrix.shape[0] <= matrix.shape[1]
    rows = matrix if wide else matrix.T
    rows = rows / jnp.sqrt(jnp.sum(rows**2))

    def step(_: Any, x: Array) -> Array:
        return 1.5 * x - 0.5 * (x @ x.T) @ x

    found = jax.lax.fori_loop(0, _STEPS_TO_ORTHOGONAL, step, rows)
    return found if wide else found.T


def _optimizer(learner: Any) -> optax.GradientTransformation:
    """Clipped and scaled gradients; the rate is applied by hand, since it falls."""
    return optax.chain(
        optax.clip_by_global_norm(learner.max_gradient), optax.scale_by_adam(eps=_ADAM_EPS)
    )


def init(learner: Any, problem: SegmentProblem, key: Any) -> SegmentState:
    """A run before its first update."""
    inputs, actions, count = problem.sizes
    dtype = problem.thresholds.dtype
    policy_key, critic_key = jax.random.split(key)
    wide = learner.hidden if learner.critic_hidden is None else learner.critic_hidden
    build = partial(Network, inputs, activation=learner.activation)
    policy = _orthogonal(build(learner.hidden, actions.outputs, policy_key), policy_key, 0.01)
    critics = _orthogonal(build(wide, count, critic_key), critic_key, 1.0)
    policy, critics = (
        jax.tree.map(lambda leaf: leaf.astype(dtype), net) for net in (policy, critics)
    )
    log_std = jnp.full(len(actions.low), learner.first_log_std, dtype)
    optimizer = _optimizer(learner)
    agent = Agent(policy, log_std, no_moments(inputs, dtype))
    return SegmentState(
        agent,
        agent,
        jnp.zeros((), dtype),
        critics,
        optimizer.init(cast(Any, (policy, log_std))),
        optimizer.init(cast(Any, critics)),
        no_moments(count, dtype),
        start_lanes(learner.copies, count, dtype),
        no_standing(count, dtype),
        start_multipliers(count, dtype),
        jnp.zeros(count - 1, dtype),
    )


def choose(
    actions: Actions, agent: Agent, rows: Float[Array, "M D"], key: Any, *, greedy: bool = False
) -> Array:
    """What the policy does in M places, ``[M,parts]``."""
    output = agent.policy(standardise(agent.seen, rows))
    return most_probable(actions, output) if greedy else draw(actions, output, agent.log_std, key)


def learn(
    learner: Any,
    problem: SegmentProblem,
    state: SegmentState,
    segment: Segment,
    key: Any,
    share: Any,
) -> tuple[SegmentState, dict[str, Array]]:
    """One update from a segment of the present policy, wherever it comes from; ``share`` of the training is over."""
    actions, thresholds = problem.sizes.actions, problem.thresholds
    agent, valid = state.agent, segment.valid
    lanes, summary = follow(state.lanes, segment, learner.gamma)
    memory = learner.memory * state.taken
    standing = take_stock(state.standing, segment, summary, thresholds, learner.copies, memory)
    at_stake = note(state.at_stake, summary.discounted, valid)
    reward = earn(learner.criterion, segment, summary, thresholds, problem.chances)
    unit = critic_units(learner.criterion, scale_of(at_stake), problem.chances)
    reward = reward / unit[None, None]
    rows, later = (standardise(agent.seen, part) for part in (segment.seen, segment.following))
    flat = partial(jnp.reshape, shape=(-1, rows.shape[-1]))
    value, following = (state.critics(flat(part)).reshape(reward.shape) for part in (rows, later))
    following = segment.going_on[..., None] * following
    surprise = jnp.where(valid[..., None], reward + learner.gamma * following - value, 0.0)
    advantage = sum_until_end(surprise, segment.ended, learner.gamma * learner.decay)
    credit = normalized(advantage, valid).reshape(-1, reward.shape[-1])
    taken = segment.action.reshape(-1, segment.action.shape[-1])
    used = valid.reshape(-1).astype(credit.dtype)

    def log_of_taken(acting: tuple[Network, Array]) -> Array:
        return log_probability(actions, acting[0](flat(rows)), acting[1], taken)

    old, pull_back = jax.vjp(log_of_taken, (agent.policy, agent.log_std))
    products = gram(pull_back_all(pull_back, credit.T / jnp.maximum(jnp.sum(used), 1.0)))
    verdict = judge(learner, standing, thresholds, problem.chances, share)
    raised = raise_missed(learner, state.raised, verdict)
    direction = weigh(learner, products, verdict, state.multipliers, raised)
    mixed = credit @ direction.weights.astype(credit.dtype)
    size = jnp.sqrt(jnp.sum(mixed**2) / jnp.maximum(jnp.sum(used), 1.0))
    mixed = mixed / jnp.where(size > 0, size, 1.0)
    data = _Rows(flat(rows), taken, old, mixed, (advantage + value).reshape(credit.shape), used)
    state, moved = _epochs(learner, actions, state, data, key, share)
    ended = segment.ended & valid
    totals = summary.before + segment.reward
    metrics = {
        "finished": jnp.sum(ended),
        "returns": jnp.sum(jnp.where(ended[..., None], totals, 0.0), axis=(0, 1)),
        "satisfied": jnp.sum(verdict.met_by(totals) & ended[..., None], axis=(0, 1)),
        "terminated": jnp.sum(segment.terminated & valid),
        "improved": jax.nn.one_hot(direction.objective, reward.shape[-1]),
        "weights": direction.weights / jnp.maximum(jnp.sum(direction.weights), 1e-12),
        "found": direction.found,
        "cosines": pair_cosines(products),
        "steps": jnp.sum(valid),
        BROKEN: _broken(segment, learner.max_steps),
        **moved,
    }
    seen = note(agent.seen, segment.seen, valid) if learner.normalise else agent.seen
    new = 1 / (1 + learner.tail * state.taken)
    average = jax.tree.map(lambda a, b: a + new * (b - a), state.average, state.agent)
    after = state._replace(
        agent=state.agent._replace(seen=seen),
        average=average._replace(seen=seen),
        taken=state.taken + 1,
        at_stake=at_stake,
        lanes=lanes,
        standing=standing,
        raised=raised,
        multipliers=update_multipliers(
            state.multipliers, verdict.values, verdict.limits, learner.multiplier_rate
        ),
    )
    return after, jax.tree.map(lambda m: m.astype(reward.dtype), metrics)


def _broken(segment: Segment, cap: int) -> Int[Array, " counts"]:
    """How many rewards of each objective, and how many observations, cannot be learned from."""
    most = largest_reward(segment.reward.dtype, cap)
    paid = ~(jnp.abs(segment.reward) <= most)  # so that NaN counts
    shown = ~jnp.isfinite(segment.following).all(-1, keepdims=True)
    return jnp.sum(jnp.concatenate([paid, shown], axis=-1), axis=(0, 1))


class _Rows(NamedTuple):
    """M steps of a segment, one after another."""

    rows: Float[Array, "M D"]
    taken: Array
    old: Float[Array, " M"]
    """``ln π`` of what was taken, when it was."""
    credit: Float[Array, " M"]
    """Advantages, mixed."""
    target: Float[Array, "M K"]
    used: Float[Array, " M"]


def _epochs(
    learner: Any, actions: Actions, state: SegmentState, data: _Rows, key: Any, share: Any
) -> tuple[SegmentState, dict[str, Array]]:
    """Steps on minibatches, all of them ``epochs`` times in another order."""
    optimizer = _optimizer(learner)
    left = 1 - share
    weight = learner.entropy * jnp.maximum(1 - share / learner.explore, 0.0)

    def aim(acting: tuple[Network, Array], some: _Rows) -> tuple[Array, tuple[Array, Array]]:
        output = acting[0](some.rows)
        change = log_probability(actions, output, acting[1], some.taken) - some.old
        ratio = jnp.exp(change)
        clipped = jnp.clip(ratio, 1 - learner.clip, 1 + learner.clip)
        gain = jnp.minimum(ratio * some.credit, clipped * some.credit)
        spread = entropy(actions, output, acting[1])
        gain = gain - _BEYOND * beyond(actions, output)
        count = jnp.maximum(jnp.sum(some.used), 1.0)
        kl = jnp.sum((ratio - 1 - change) * some.used) / count
        gain = jnp.sum((gain + weight * spread) * some.used) / count
        return -gain, (kl, jnp.sum(spread * some.used) / count)

    def miss(critics: Network, some: _Rows) -> Array:
        off = (critics(some.rows) - some.target) ** 2
        count = jnp.maximum(jnp.sum(some.used), 1.0)
        return 0.5 * jnp.sum(off * some.used[:, None]) / count

    def step(carry: Any, some: _Rows) -> Any:
        acting, critics, kept, critic_kept, going = carry
        slope, (kl, spread) = jax.grad(aim, has_aux=True)(acting, some)
        going = going & (kl <= _KL_ROOM * learner.target_kl)
        change, new = cast(Any, optimizer.update(slope, kept, acting))
        rate = jnp.where(going, learner.learning_rate * left, 0.0)
        change = (change[0], _DEVIATION_RATE * change[1])
        acting = jax.tree.map(lambda a, b: a - rate * b, acting, change)
        kept = jax.tree.map(partial(jnp.where, going), new, kept)
        slope = jax.grad(miss)(critics, some)
        change, critic_kept = optimizer.update(slope, critic_kept, cast(Any, critics))
        rate = learner.learning_rate * left
        critics = jax.tree.map(lambda a, b: a - rate * b, critics, change)
        return (acting, critics, kept, critic_kept, going), (kl, spread, going)

    count = data.used.shape[0]
    size = count // learner.minibatches

    def epoch(carry: Any, key: Any) -> Any:
        order = shuffled(key, count)[: size * learner.minibatches]
        order = order.reshape(learner.minibatches, size)
        return jax.lax.scan(
            lambda c, own: step(c, jax.tree.map(lambda x: x[own], data)), carry, order
        )

    agent = state.agent
    begin = (
        (agent.policy, agent.log_std),
        state.critics,
        state.optimizer,
        state.critic_optimizer,
        jnp.asarray(True),
    )
    end, (kl, spread, going) = jax.lax.scan(epoch, begin, jax.random.split(key, learner.epochs))
    (policy, log_std), critics, kept, critic_kept, _ = end
    floor = learner.first_log_std + share * (learner.last_log_std - learner.first_log_std)
    log_std = jnp.maximum(log_std, floor)
    after = state._replace(
        agent=agent._replace(policy=policy, log_std=log_std),
        critics=critics,
        optimizer=kept,
        critic_optimizer=critic_kept,
    )
    return after, {"kl": jnp.max(kl), "entropy": jnp.mean(spread), "stepped": jnp.mean(going)}
