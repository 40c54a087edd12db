"""PPO and A2C, and PPO with every rule that combines gradients: the probe ladder, and what `train` promises of them."""

import math
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lexicone.exact._solve import solve
from lexicone.learning._episodes import collect
from lexicone.learning._problem import model_problem
from lexicone.learning._saved import load
from lexicone.learning._train import train
from lexicone.learning.algos._a2c import A2C
from lexicone.learning.algos._ppo import PPO
from lexicone.models._mdp import MDP
from lexicone.order import Order
from tests.helpers.interruption import killed_after
from tests.helpers.small_models import drawn
from tests.helpers.trainings import assert_same

# Models of one shape (4 states, of which 3 is the end; 2 actions, 2 successors, 2 objectives), one number of runs and
# of updates, and most settings given: each learner is compiled once, and little of this depends on defaults.
SETTINGS = {
    "delta": math.radians(2),
    "gamma": 1.0,
    "decay": 0.95,
    "entropy": 0.0,
    "barrier": 0.0,
    "learning_rate": 0.05,
    "critic_rate": 0.05,
    "batch": 64,
    "max_steps": 5,
    "hidden": (),
    "confidence": 0.95,
    "smoothing": 0.5,
    "buffer": 1.0,
}
LEARNERS = {
    "ppo": PPO(**SETTINGS, epochs=3, clip=0.2),
    "a2c": A2C(**SETTINGS, critic_steps=3),
    "half-space": PPO(**SETTINGS, epochs=3, rule="half_space"),
    "lagrangian": PPO(**SETTINGS, epochs=3, rule="lagrangian", multiplier_rate=0.2),
    "linear": PPO(**SETTINGS, epochs=3, rule="linear", weights=(1.0, 3.0)),
    "penalty": PPO(**SETTINGS, epochs=3, rule="penalty", penalty=10.0),
}
OURS = ("ppo", "a2c")
UPDATES = 120
ALWAYS = Order([-math.inf])


every_learner = pytest.mark.parametrize("name", LEARNERS)
our_learners = pytest.mark.parametrize("name", OURS)


def model(edges, start=(1, 0, 0, 0)):
    one = drawn(4, edges, terminal=[3])
    return MDP(
        next_state=np.repeat(one.next_state, 2, axis=2),
        probability=np.repeat(one.probability / 2, 2, axis=2),
        reward=np.repeat(one.reward, 2, axis=2),
        initial=np.array(start, float),
        terminal=one.terminal,
    )


def probe(name, edges, order=ALWAYS, start=(1, 0, 0, 0), features=None, **changes):
    return run(
        replace(LEARNERS[name], **changes),
        order,
        mdp=edges if isinstance(edges, MDP) else model(edges, start),
        features=np.eye(4) if features is None else features,
    )


def run(learner, order=ALWAYS, *, mdp, seeds=2, **options):
    given = {"seeds": seeds, "updates": UPDATES, "features": np.eye(4), **options}
    return train(mdp, order, learner, **given)


@pytest.mark.slow
@every_learner
def test_probe_constant_reward(name):
    trained = probe(name, {0: [(3, (1.5, -2))] * 2})
    np.testing.assert_allclose(trained.history["returns"], np.full((2, UPDATES, 2), (1.5, -2)))
    assert not trained.history["found"].any()  # nothing is better than anything
    critics = trained.run.states.critics
    values = jax.vmap(lambda critics: critics(jnp.eye(4)))(critics)
    np.testing.assert_allclose(values[:, 0], [[1, -1]] * 2, atol=0.02)  # in units of the reward


@pytest.mark.slow
@every_learner
def test_probe_action_matters(name):
    choice = {0: [(3, (0, 0)), (3, (0, 1))]}
    assert probe(name, choice).values()[:, 1].min() > 0.95
    assert probe(name, choice, learning_rate=0.0).values()[:, 1].max() < 0.7


@pytest.mark.slow
@every_learner
def test_probe_observation_matters(name):
    edges = {0: [(3, (0, 1)), (3, (0, 0))], 1: [(3, (0, 0)), (3, (0, 1))]}
    start = (0.5, 0.5, 0, 0)
    assert probe(name, edges, start=start).values()[:, 1].min() > 0.95
    blind = probe(name, edges, start=start, features=np.ones((4, 4)))
    np.testing.assert_allclose(blind.values()[:, 1], 0.5)


@pytest.mark.slow
@every_learner
def test_probe_discount_matters(name):
    wait = {0: [(3, (0, 0.8)), (1, (0, 0))], 1: [(2, (0, 0))], 2: [(3, (0, 1))]}
    patient, hasty = (probe(name, wait, gamma=g).values()[:, 1] for g in (1.0, 0.5))
    assert patient.min() > 0.97
    assert hasty.max() < 0.85


def patience():
    """A sure 0.4, or 1 after a wait of 20 steps on average: most episodes are cut off before, after 5."""
    transition = np.zeros((4, 2, 4))
    transition[0, 0, 3] = transition[0, 1, 1] = transition[2, :, 3] = 1
    transition[1, :, 1], transition[1, :, 3] = 0.95, 0.05
    reward = np.zeros((4, 2, 4, 2))
    reward[0, 0, 3], reward[1, :, 3] = (0, 0.4), (0, 1)
    return MDP.from_dense(transition, reward, [0.5, 0.5, 0, 0], np.eye(4, dtype=bool)[3])


@our_learners
def test_probe_what_comes_after_the_cut_counts(name):
    """Within its 5 steps an episode gets 1 − 0.95⁴ = 0.19 for waiting; the critic knows of the rest."""
    waits, hastens = (
        probe(name, patience(), entropy=0.5, gamma=g).policies[:, 0, 1] for g in (1.0, 0.8)
    )
    assert waits.min() > 0.9
    assert hastens.max() < 0.1  # by hand: 0.8·0.05/(1 − 0.8·0.95) = 0.17 < 0.4


CONFLICT = {0: [(3, (1, 0)), (3, (0, 1))]}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ppo", "a2c", "half-space", "lagrangian", "penalty"])
def test_probe_conflict_ends_at_the_optimum_of_the_linear_program(name):
    order = Order([0.5])
    trained = probe(name, CONFLICT, order)
    exact = solve(trained.mdp, order)
    np.testing.assert_allclose(exact.values, [0.5, 0.5])
    assert np.abs(trained.gap(exact)).max() < 0.12
    ignoring = probe(name, CONFLICT)
    assert order.gap(ignoring.values(), exact.values)[:, 0].min() > 0.35
    strict = probe(name, CONFLICT, Order([0.9]))
    assert strict.values()[:, 0].min() > 0.75


def test_a_weighted_sum_cannot_stop_at_a_threshold():
    order = Order([0.5])
    trained = probe("linear", CONFLICT, order)
    assert trained.gap(solve(trained.mdp, order))[:, 0].min() > 0.4


def chances():
    """A sure 0.6, or 1.2 and 0 with one half each: the mean of both suffices for τ=0.5, but not every episode."""
    transition = np.zeros((4, 2, 4))
    transition[0, 0, 3] = transition[1, :, 3] = transition[2, :, 3] = 1
    transition[0, 1, 1:3] = 0.5
    reward = np.zeros((4, 2, 2))
    reward[0, 0], reward[0, 1], reward[1] = (0.6, 0), (0, 1), (1.2, 0)
    return MDP.from_dense(transition, reward, np.eye(4)[0], np.eye(4, dtype=bool)[3])


@pytest.mark.slow
def test_each_episode_or_the_mean():
    order = Order([0.5])
    mean = probe("ppo", chances(), order)
    each = probe("ppo", chances(), order, criterion="episode")
    exact = solve(mean.mdp, order)
    np.testing.assert_allclose(exact.values, [0.6, 1])
    assert np.abs(mean.gap(exact)).max() < 0.1
    assert each.evaluate(500).success.min() > 0.93
    assert mean.evaluate(500).success.max() < 0.7
    conflict = probe("ppo", CONFLICT, order, criterion="episode")
    best = solve(conflict.mdp, order, policies="deterministic").values
    np.testing.assert_allclose(
        best, [1, 0]
    )  # in every episode, so that nothing is left for the second
    assert conflict.evaluate(500).success.min() > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ppo", "a2c", "lagrangian"])
def test_a_killed_run_resumes_to_the_same_end(name, tmp_path):
    path = tmp_path / "run.safetensors"
    options = {"mdp": chances(), "checkpoint": path}
    learner, order = LEARNERS[name], Order([0.55])
    whole = run(learner, order, mdp=chances())
    with killed_after(2):
        run(learner, order, **options)
    half = load(path)
    assert 0 < int(half.run.update) < UPDATES
    assert half.learner == learner
    assert_same(run(learner, order, **options, resume=True), whole)
    assert_same(load(path), whole)


@pytest.mark.slow
def test_epochs_are_steps_along_the_clipped_surrogate():
    """Two plain steps up ``Σ_k w_k Σ_t min(ρA, clip(ρ)A)``; before the second, ratios have left the clip both ways."""
    rate, clip, weights = 3.0, 0.2, (1.0, 2.0)
    given = {**SETTINGS, "learning_rate": rate, "batch": 16}
    rules = {"rule": "linear", "weights": weights, "optimizer": "sgd"}
    learner = PPO(**given, **rules, epochs=2, clip=clip)
    problem = model_problem(chances(), np.eye(4), Order([0.5]))
    key = jax.random.key(2)
    state = jax.jit(learner.init)(problem, key)
    mean = jax.tree.map(lambda leaf: 3 * leaf[::-1], state.policy)  # plays no part in a step
    state = state._replace(average=mean)
    walk = jax.jit(partial(collect, episodes=16, max_steps=5))
    episodes = walk(problem.model, jnp.full((4, 2), 0.5), key)
    after, _ = jax.jit(learner.learn)(problem, state, episodes, key, jnp.zeros(()))
    assert episodes.terminated.all()

    table = np.asarray(jax.jit(lambda critics: critics(jnp.eye(4)))(state.critics))
    taken, rewards = (
        np.asarray(episodes.alive),
        np.asarray(episodes.reward) / np.asarray(problem.scale),
    )
    values = np.where(taken[..., None], table[np.asarray(episodes.state)], 0.0)
    advantage, later, value = np.zeros_like(rewards), 0.0, 0.0
    for t in reversed(range(5)):
        later = rewards[t] + learner.gamma * value - values[t] + learner.gamma * 0.95 * later
        advantage[t], value = later, values[t]
    rows = advantage[taken]
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    visited, done = (np.asarray(part)[taken] for part in (episodes.state, episodes.action))

    def log_chosen(policy):
        return jax.nn.log_softmax(policy(problem.features))[visited, done]

    def surrogate(policy, low, high):
        ratio = jnp.exp(log_chosen(policy) - log_chosen(state.policy))[:, None]
        bounded = jnp.minimum(ratio * rows, jnp.clip(ratio, low, high) * rows)
        return (bounded.mean(axis=0) * jnp.array(weights)).sum()

    slope = jax.jit(jax.grad(surrogate))

    def distance(low, high):
        """Of the parameters that two steps with these bounds lead to, from ours."""
        policy = state.policy
        for _ in range(2):
            up = slope(policy, low, high)
            policy = jax.tree.map(lambda x, g: np.asarray(x) + rate * np.asarray(g), policy, up)
        pairs = zip(jax.tree.leaves(policy), jax.tree.leaves(after.policy), strict=True)
        return max(float(np.abs(own - np.asarray(ours)).max()) for own, ours in pairs)

    assert distance(1 - clip, 1 + clip) < 1e-9
    for low, high in ((0.0, 1 + clip), (1 - clip, 9.0), (0.0, 9.0)):
        assert distance(low, high) > 1e-3


def test_estimates_are_a_running_mean():
    """Which starts from nothing: of constant returns it is these returns."""
    mdp, learner = model({0: [(3, (1.5, -2))] * 2}), LEARNERS["ppo"]
    trained = run(learner, mdp=mdp)
    standing = jax.tree.map(lambda leaf: leaf[0], trained.run.states.standing)
    np.testing.assert_allclose(standing.total / standing.weight, [1.5, -2])


@pytest.mark.parametrize("learner", [PPO, A2C])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"delta": 1.6}, r"^delta: must be at least 0 and below 1.5708, got 1.6"),
        ({"gamma": 1.1}, r"^gamma: must be between 0 and 1"),
        ({"learning_rate": -1.0}, r"^learning_rate: must be at least 0"),
        ({"entropy": math.nan}, r"^entropy: must be at least 0"),
        ({"barrier": -0.1}, r"^barrier: must be at least 0"),
        ({"tail": 1.5}, r"^tail: must be between 0 and 1, got 1.5"),
        ({"confidence": 1.5}, r"^confidence: must be between 0 and 1, got 1.5"),
        ({"buffer": -0.1}, r"^buffer: must be at least 0"),
        ({"batch": 0}, r"^batch: must be a whole number of at least 1, got 0"),
        ({"max_steps": 0}, r"^max_steps: must be a whole number of at least 1"),
        ({"hidden": (8, 0)}, r"^hidden\[1\]: must be a whole number of at least 1, got 0"),
        ({"weights": (math.nan, 1.0)}, r"^weights: must be finite, got \(nan, 1.0\)"),
    ],
)
def test_mistakes_are_named(learner, changes, message):
    with pytest.raises(ValueError, match=message):
        learner(**changes)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PPO(epochs=0), r"^epochs: must be a whole number of at least 1, got 0$"),
        (lambda: PPO(clip=1.0), r"^clip: must be above 0 and below 1, got 1.0$"),
        (lambda: A2C(critic_steps=0), r"^critic_steps: must be a whole number .* got 0$"),
    ],
)
def test_own_mistakes_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
