import json
import math
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from lexicone.directions._find_direction import Direction, Reason, find_direction
from lexicone.directions._gradients import pair_cosines, pull_back_all, take_step
from lexicone.exact._solve import solve
from lexicone.learning._episodes import collect
from lexicone.learning._learner import Activation, choose_direction
from lexicone.learning._networks import dropout_masks, log_policy
from lexicone.learning._problem import model_problem
from lexicone.learning._train import train
from lexicone.learning.algos._reinforce import Reinforce
from lexicone.models._mdp import MDP
from lexicone.order import Order
from lexicone.tasks import maze
from tests.helpers.small_models import drawn

KEY = jax.random.key(5)

# The probes: models of one shape (4 states, of which 3 is the end; 2 actions, 2 successors, 2 objectives) and one form
# of learner, so that all of them run in one compiled program.
PROBE = Reinforce(
    delta=math.radians(2),
    gamma=1.0,
    learning_rate=0.05,
    batch=128,
    max_steps=5,
    hidden=(),
    dropout=0.0,
    temperature=1.0,
    method="exact",
    active_constraints=True,
    credit="centred",
)
ALWAYS = Order([-math.inf])


def probe(edges, order=ALWAYS, start=(1, 0, 0, 0), features=None, **changes):
    """Train on a small model: the exact values of the first seed."""
    one = drawn(4, edges, terminal=[3])
    mdp = MDP(
        next_state=np.repeat(one.next_state, 2, axis=2),
        probability=np.repeat(one.probability / 2, 2, axis=2),
        reward=np.repeat(one.reward, 2, axis=2),
        initial=np.array(start, float),
        terminal=one.terminal,
    )
    learner = replace(PROBE, **changes)
    features = np.eye(4) if features is None else features
    return train(mdp, order, learner, seeds=1, updates=150, features=features)


@pytest.mark.slow
def test_probe_constant_reward():
    trained = probe({0: [(3, (1.5, -2))] * 2})
    np.testing.assert_allclose(trained.history["returns"], [[[1.5, -2]] * 150])
    np.testing.assert_allclose(trained.values(), [[1.5, -2]])
    assert not trained.history["found"].any()  # nothing is better than anything


def test_probe_action_matters():
    choice = {0: [(3, (0, 0)), (3, (0, 1))]}
    assert probe(choice).values()[0, 1] > 0.95
    assert probe(choice, learning_rate=0.0).values()[0, 1] < 0.8


def test_probe_observation_matters():
    edges = {0: [(3, (0, 1)), (3, (0, 0))], 1: [(3, (0, 0)), (3, (0, 1))]}
    start = (0.5, 0.5, 0, 0)
    sighted = probe(edges, start=start)
    blind = probe(edges, start=start, features=np.ones((4, 4)))
    assert sighted.values()[0, 1] > 0.95
    assert blind.values()[0, 1] == pytest.approx(0.5)


def test_probe_discount_matters():
    wait = {0: [(3, (0, 0.8)), (1, (0, 0))], 1: [(2, (0, 0))], 2: [(3, (0, 1))]}
    patient, hasty = (probe(wait, gamma=g).values()[0, 1] for g in (1.0, 0.5))
    assert patient > 0.97
    assert hasty < 0.85


CONFLICT = {0: [(3, (1, 0)), (3, (0, 1))]}


def test_probe_conflict_ends_at_the_optimum_of_the_linear_program():
    order = Order([0.5])
    trained = probe(CONFLICT, order)
    exact = solve(trained.mdp, order)
    np.testing.assert_allclose(exact.values, [0.5, 0.5])
    assert np.abs(trained.gap(exact)).max() < 0.12
    ignoring = probe(CONFLICT, ALWAYS)
    assert order.gap(ignoring.values(), exact.values)[0, 0] > 0.4
    strict = probe(CONFLICT, Order([0.9]))
    assert strict.values()[0, 0] > 0.8


@pytest.mark.slow
def test_each_episode_or_the_mean():
    """A sure 0.6, or 1 and 0 with one half each: the mean of both suffices for τ=0.5, but not every episode."""
    transition = np.zeros((4, 2, 4))
    transition[0, 0, 3] = transition[1, :, 3] = transition[2, :, 3] = 1
    transition[0, 1, 1:3] = 0.5
    reward = np.zeros((4, 2, 2))
    reward[0, 0] = (0.6, 0)
    reward[0, 1] = (0, 1)
    reward[1] = (1.2, 0)
    mdp = MDP.from_dense(transition, reward, np.eye(4)[0], np.eye(4, dtype=bool)[3])
    options = {"seeds": 1, "updates": 150, "features": np.eye(4)}
    mean = train(mdp, [0.5], PROBE, **options)
    each = train(mdp, [0.5], replace(PROBE, criterion="episode"), **options)
    assert mean.values()[0, 1] > 0.8
    assert each.evaluate(200).success[0] > 0.85
    assert mean.evaluate(200).success[0] < 0.7


collect_compiled = jax.jit(collect, static_argnames=("episodes", "max_steps"))


def by_hand(mdp, order, learner, state, key):
    """One literal update of a policy without hidden layers: the new parameters and the M and F of the paper."""
    weight, bias = (np.asarray(leaf) for leaf in jax.tree.leaves(state.policy))
    logits = (weight.T + bias) / learner.temperature
    policy = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    _, episode_key = jax.random.split(key)
    env = model_problem(mdp, None, order).model
    episodes = collect_compiled(
        env, jnp.asarray(policy), episode_key, episodes=1, max_steps=learner.max_steps
    )
    length = int(episodes.steps)
    states, actions = (np.asarray(x)[:length, 0] for x in (episodes.state, episodes.action))
    rewards = np.asarray(episodes.reward)[:length, 0]
    rows = []
    for k in range(len(order)):
        g, slope = 0.0, np.zeros_like(weight)
        bias_slope = np.zeros_like(bias)
        for s, a, r in zip(states[::-1], actions[::-1], rewards[::-1, k], strict=True):
            g = r + learner.gamma * g
            pull = g * (np.eye(len(bias))[a] - policy[s]) / learner.temperature
            slope[:, s] += pull
            bias_slope += pull
        rows.append(np.concatenate([slope.ravel(), bias_slope]))
    rows, values = np.stack(rows), rewards.sum(axis=0)
    found = find_direction(rows @ rows.T, values, order.thresholds, delta=learner.delta)
    direction = found.weights @ rows
    moved = np.concatenate([weight.ravel(), bias])
    moved = moved + learner.learning_rate * direction / (
        np.abs(direction) + 1e-8
    )  # Adam's first step
    return moved if found.found else np.concatenate([weight.ravel(), bias]), values, found


@pytest.mark.slow
def test_an_update_is_the_papers_algorithm():
    mdp, order = maze("concave", objectives="path"), Order([-20.0])
    learner = Reinforce(hidden=(), dropout=0.0, max_steps=30, temperature=2.0)
    problem = model_problem(mdp, None, order)
    state = learner.init(problem, KEY)
    update = jax.jit(partial(learner.update, problem))
    seen = set()
    for i in range(12):
        key = jax.random.fold_in(KEY, i)
        after, metrics = update(state, key, jnp.zeros(()))
        expected, values, found = by_hand(mdp, order, learner, state, key)
        ours = np.concatenate([np.asarray(leaf).ravel() for leaf in jax.tree.leaves(after.policy)])
        np.testing.assert_allclose(ours, expected, atol=1e-5)
        np.testing.assert_allclose(metrics["returns"], values)
        assert metrics["improved"].argmax() == found.objective
        assert bool(metrics["found"]) == bool(found.found)
        seen.add((int(found.objective), bool(found.found)))
    assert {(0, True), (1, True)} <= seen  # both objectives came up


class Spy(Reinforce):
    """Reports its gradients for a credit of 1, and the episodes that it saw."""

    def climb(self, problem, state, episodes, gradients):
        leaves = jax.tree.leaves(gradients(jnp.ones_like(episodes.reward[..., :1])))
        found = {f"gradient {i}": leaf[0] for i, leaf in enumerate(leaves)}
        return state, {**found, **episodes._asdict()}


@pytest.mark.slow
@pytest.mark.parametrize("dropout", [0.5, 0.0])
def test_gradients_see_the_network_that_acted(dropout):
    problem = model_problem(maze("small"), None, Order([0.5]))
    learner = Spy(hidden=(5,), max_steps=20, dropout=dropout, temperature=1.0)
    state = learner.init(problem, KEY)
    seen = jax.jit(partial(learner.update, problem))(state, KEY, jnp.zeros(()))[1]
    mask_key, _ = jax.random.split(KEY)

    def total(policy, dropout):
        def row(states, actions, alive, time):
            masks = dropout_masks(policy, 1, dropout, mask_key, time)
            return jnp.where(alive, log_policy(policy, states, 1.0, masks)[0, actions], 0.0).sum()

        steps = (seen["state"], seen["action"], seen["alive"], jnp.arange(20))
        return jax.vmap(row)(*steps).sum()

    def distance(dropout):
        expected = jax.jit(jax.grad(partial(total, dropout=dropout)))(state.policy)
        leaves = enumerate(jax.tree.leaves(expected))
        return max(float(np.abs(seen[f"gradient {i}"] - leaf).max()) for i, leaf in leaves)

    assert distance(dropout) < 1e-9
    assert distance(0.5 - dropout) > 1e-2


def test_no_direction_leaves_parameters_and_moments_untouched():
    optimizer = optax.adam(0.1)
    parameters = {"x": jnp.array([1.0, 2.0])}
    state = optimizer.init(parameters)
    gradients = {"x": jnp.array([[1.0, 0.0], [0.0, 1.0]])}
    choose = partial(find_direction, values=jnp.zeros(2), thresholds=jnp.ones(1))
    first = jax.jit(lambda s, p: take_step(optimizer, s, p, gradients, choose))(state, parameters)
    assert first.parameters["x"][0] == pytest.approx(1.1)
    assert bool(first.direction.found)

    def nothing(products):
        found = choose(products)
        return found._replace(found=jnp.bool_(False), weights=0 * found.weights)

    again = jax.jit(lambda s, p: take_step(optimizer, s, p, gradients, nothing))
    second = again(first.optimizer, first.parameters)
    for ours, theirs in zip(
        jax.tree.leaves((second.parameters, second.optimizer)),
        jax.tree.leaves((first.parameters, first.optimizer)),
        strict=True,
    ):
        np.testing.assert_array_equal(ours, theirs)
    zero = jax.tree.map(jnp.zeros_like, parameters)  # Adam itself would go on by its momentum
    (moved,) = jax.tree.leaves(optimizer.update(zero, first.optimizer)[0])
    assert float(moved[0]) != 0


def test_k_gradients_from_one_forward_pass():
    x = {"w": jnp.arange(6.0).reshape(3, 2), "b": jnp.ones(2)}
    fun = lambda x: jnp.tanh(x["w"] / 3) * x["b"][None]  # noqa: E731
    table, pull_back = jax.vjp(fun, x)
    cotangents = jnp.asarray(np.random.default_rng(0).normal(size=(4, *table.shape)))
    gradients = jax.jit(lambda c: pull_back_all(pull_back, c))(cotangents)
    own_gradient = jax.jit(jax.grad(lambda x, c: jnp.sum(fun(x) * c)))
    for k in range(4):
        own = own_gradient(x, cotangents[k])
        np.testing.assert_allclose(gradients["w"][k], own["w"])
        np.testing.assert_allclose(gradients["b"][k], own["b"])


def test_cosines_of_pairs():
    rows = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    np.testing.assert_allclose(pair_cosines(jnp.asarray(rows @ rows.T)), [0.5**0.5, 0, 0])


@pytest.mark.parametrize(
    ("on_none", "weights"), [("skip", [0, 0]), ("gradient", [0, 1]), ("first", [1, 0])]
)
def test_what_no_direction_leads_to(on_none, weights):
    learner = Reinforce(on_none=on_none, delta=0.3)
    opposed = jnp.array([[1.0, -1.0], [-1.0, 1.0]])
    choose = jax.jit(partial(choose_direction, learner))
    found = choose(opposed, jnp.array([1.0, 0.0]), jnp.zeros(1))
    assert found.weights.tolist() == weights
    assert bool(found.found) == (on_none != "skip")
    assert found.reason == Reason.MISSED
    still: Direction = choose(0 * opposed, jnp.array([1.0, 0.0]), jnp.zeros(1))
    assert not still.found  # a gradient of zero is no direction, whatever comes instead
    clear = choose(jnp.eye(2), jnp.array([1.0, 0.0]), jnp.zeros(1))
    assert bool(clear.found)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"delta": 1.6}, r"^delta: must be at least 0 and below 1.5708, got 1.6"),
        ({"gamma": 1.1}, r"^gamma: must be between 0 and 1, got 1.1"),
        ({"gamma": math.nan}, r"^gamma: "),
        ({"learning_rate": -1.0}, r"^learning_rate: must be at least 0"),
        ({"temperature": 0.0}, r"^temperature: must be positive"),
        ({"dropout": 1.0}, r"^dropout: must be at least 0 and below 1"),
        ({"batch": 0}, r"^batch: must be a whole number of at least 1, got 0"),
        ({"max_steps": 0}, r"^max_steps: must be a whole number of at least 1"),
        ({"hidden": (8, 0)}, r"^hidden\[1\]: must be a whole number of at least 1, got 0"),
        ({"criterion": "episode", "discounted_values": True}, r"^discounted_values: "),
        ({"entropy": 0.1}, r"^entropy: needs dropout=0 or masks="),
    ],
)
def test_mistakes_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        Reinforce(**changes)


def unchecked(**settings):
    """What the constructor is given, past the tests' own type checks."""
    learner = object.__new__(Reinforce)
    for name, value in {**asdict(Reinforce()), **settings}.items():
        object.__setattr__(learner, name, value)
    return learner


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("gamma", "x", r"^gamma: must be a number, got 'x'"),
        ("gamma", True, r"^gamma: must be a number, got True"),
        ("temperature", None, r"^temperature: must be a number, got None"),
        ("batch", 2.5, r"^batch: must be a whole number of at least 1, got 2.5"),
        ("hidden", 3, r"^hidden: must be a tuple of numbers, got 3"),
        ("hidden", "ab", r"^hidden: must be a tuple of numbers, got 'ab'"),
        ("hidden", (2.5,), r"^hidden\[0\]: must be a whole number of at least 1, got 2.5"),
        ("active_constraints", "no", r"^active_constraints: must be True or False, got 'no'"),
        ("activation", "sigmoid", r"^activation: expected one of relu, tanh, got 'sigmoid'"),
        ("method", "newton", r"^method: expected one of sequential, .*, got 'newton'"),
    ],
)
def test_wrong_types_are_named(name, value, message):
    with pytest.raises(ValueError, match=message):
        unchecked(**{name: value}).__post_init__()


def test_settings_become_plain_numbers_and_tuples():
    given = {"hidden": [4, np.int64(3)], "batch": np.int32(2), "gamma": np.float32(0.5), "delta": 0}
    learner = unchecked(**given)
    learner.__post_init__()
    assert learner == Reinforce(hidden=(4, 3), batch=2, gamma=0.5, delta=0.0)
    assert hash(learner) == hash(Reinforce(hidden=(4, 3), batch=2, gamma=0.5, delta=0.0))
    assert json.dumps(asdict(learner))


def test_the_activation_is_that_of_the_policy():
    problem = model_problem(maze("small"), None, Order([0.5]))
    tables = {}
    functions: dict[Activation, Any] = {"relu": jax.nn.relu, "tanh": jnp.tanh}
    for name, function in functions.items():
        learner = Reinforce(hidden=(5,), activation=name)
        state = learner.init(problem, KEY)
        (inner, outer), rows = state.policy.layers, jnp.eye(9)
        hidden = function(rows @ inner.weight.T + inner.bias[None])
        expected = jax.nn.log_softmax((hidden @ outer.weight.T + outer.bias[None]) / 10)
        tables[name] = learner.log_policy(problem, state)
        np.testing.assert_allclose(tables[name], expected, atol=1e-12)
    assert not np.allclose(tables["relu"], tables["tanh"])
