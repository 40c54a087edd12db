import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.random import threefry_2x32
from scipy import stats

from lexicone.learning._episodes import (
    RUNS,
    collect,
    collect_with,
    spread_credit,
    sum_over_steps,
    visits,
)
from lexicone.learning._random_bits import random_bits, threefry, uniforms
from lexicone.models._environment import environment
from lexicone.models._evaluation import evaluate
from lexicone.models._mdp import MDP
from lexicone.tasks import garnet, grid, maze

KEY = jax.random.key(3)
module = importlib.import_module("lexicone.learning._episodes")


def random_policy(mdp, seed=0):
    rng = np.random.default_rng(seed)
    return jnp.asarray(rng.dirichlet(np.ones(mdp.num_actions), size=mdp.num_states))


collect_compiled = jax.jit(collect, static_argnames=("episodes", "max_steps"))


def batch(mdp, policy, episodes=50, max_steps=30, key=KEY):
    return collect_compiled(environment(mdp), policy, key, episodes=episodes, max_steps=max_steps)


def test_threefry_is_jaxs():
    key = jnp.array([123, 456], jnp.uint32)
    first, second = jnp.arange(50, dtype=jnp.uint32), jnp.arange(50, 100, dtype=jnp.uint32)
    ours = jnp.concatenate(threefry(key, first, second))
    np.testing.assert_array_equal(ours, threefry_2x32(key, jnp.concatenate([first, second])))


def test_draws_are_uniform_and_streams_independent():
    one, other = (np.asarray(uniforms(KEY, stream, (5000,))) for stream in (0, 1))
    assert stats.kstest(one, "uniform").pvalue > 1e-3
    assert stats.kstest(one**1.1, "uniform").pvalue < 1e-3
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.06
    assert one.max() < 1
    assert random_bits(KEY, 0, 7).shape == (7,)


@pytest.mark.slow
@pytest.mark.parametrize("slip", [0.0, 0.3])
def test_mean_returns_are_the_exact_values(slip):
    mdp = maze("extended", objectives="path", slip=slip)
    policy = random_policy(mdp)
    found = batch(mdp, policy, 4000, 1000)
    assert bool(found.terminated.all())
    returns = np.asarray(found.returns)
    error = returns.std(axis=0) / np.sqrt(len(returns))
    assert (np.abs(returns.mean(axis=0) - evaluate(mdp, policy)) < 4.5 * error).all()
    other = evaluate(mdp, random_policy(mdp, 1))
    assert (np.abs(returns.mean(axis=0) - other) > 4.5 * error).any()


def test_every_step_is_in_the_tables():
    mdp = garnet(12, 3, 4)
    found = batch(mdp, random_policy(mdp))
    state, action = np.asarray(found.state), np.asarray(found.action)
    following = np.concatenate([state[1:], np.asarray(found.last)[None]])
    listed = mdp.next_state[state, action] == following[..., None]
    paid = np.isclose(mdp.reward[state, action], np.asarray(found.reward)[:, :, None]).all(axis=-1)
    assert (listed & paid & (mdp.probability[state, action] > 0)).any(axis=-1).all()
    assert found.alive.all()


def test_an_episode_stands_still_after_its_end():
    mdp = maze("S..G", objectives=("goal", "time"))
    right = jnp.asarray(np.eye(4)[np.full(mdp.num_states, 3)])
    ended = batch(mdp, right, 2, 5)
    assert ended.alive[:, 0].tolist() == [True] * 3 + [False] * 2
    assert ended.terminated.all()
    assert ended.returns.tolist() == [[1, -2]] * 2
    assert int(ended.steps) == 6
    cut = batch(mdp, right, 2, 2)
    assert not cut.terminated.any()
    assert cut.returns.tolist() == [[0, -2]] * 2
    assert cut.last.tolist() == [2, 2]


def test_an_episode_may_begin_at_its_end():
    mdp = maze("SG")
    tables = {name: getattr(mdp, name) for name in ("next_state", "probability", "reward")}
    ended = MDP(**tables, initial=mdp.terminal.astype(float), terminal=mdp.terminal)
    found = batch(ended, random_policy(ended))
    assert int(found.steps) == 0
    assert found.terminated.all()


@pytest.mark.slow
@pytest.mark.parametrize("name", [RUNS, "other"])
def test_runs_that_are_vmapped_are_those_of_a_loop(name):
    mdp = grid(4, slip=0.2)
    env = environment(mdp)
    keys = jax.random.split(KEY, 5)
    policies = jnp.stack([random_policy(mdp, i) for i in range(5)])

    def one(policy, key):
        return collect_compiled(env, policy, key, episodes=3, max_steps=40)

    together = jax.jit(jax.vmap(one, axis_name=name))(policies, keys)
    for i in range(5):
        alone = one(policies[i], keys[i])
        for ours, theirs in zip(together, alone, strict=True):
            np.testing.assert_array_equal(ours[i], theirs)


def test_notes_are_those_of_their_step():
    mdp = maze("extended", objectives="path")
    policy = random_policy(mdp)
    act = lambda state, time: (policy[state], {"state": state, "time": time + 0 * state})  # noqa: E731
    env = environment(mdp)
    run = jax.jit(lambda key: collect_with(env, act, key, episodes=4, max_steps=25))
    found, notes = run(KEY)
    plain = batch(mdp, policy, 4, 25)
    np.testing.assert_array_equal(found.action, plain.action)
    alive = np.asarray(found.alive)
    np.testing.assert_array_equal(np.asarray(notes["state"])[alive], np.asarray(found.state)[alive])
    steps = np.broadcast_to(np.arange(25)[:, None], alive.shape)
    np.testing.assert_array_equal(np.asarray(notes["time"])[alive], steps[alive])


@pytest.mark.slow
@pytest.mark.parametrize("few", [4096, 1])
def test_credit_is_summed_by_state_and_action(few, monkeypatch):
    monkeypatch.setattr(module, "SMALL_TABLE", few)
    mdp = maze("extended", objectives="path")
    found = batch(mdp, random_policy(mdp), 6, 20)
    credit = jnp.asarray(np.random.default_rng(0).normal(size=(20, 6, 3)))
    table = jnp.zeros((mdp.num_states, 4))
    expected, count = np.zeros((3, mdp.num_states, 4)), np.zeros(mdp.num_states)
    state, action = np.asarray(found.state), np.asarray(found.action)
    for t, n in zip(*np.nonzero(found.alive), strict=True):
        s, a = state[t, n], action[t, n]
        expected[:, s, a] += credit[t, n]
        count[s] += 1
    spread = jax.jit(spread_credit)
    np.testing.assert_allclose(spread(found, credit, table), expected, atol=1e-12)
    np.testing.assert_array_equal(visits(found, table), count)


@pytest.mark.parametrize("max_steps", [7, 75])
def test_summing_over_blocks_is_summing_over_steps_taken(max_steps):
    mdp = maze("extended", objectives="path")
    found = batch(mdp, random_policy(mdp), 3, max_steps)
    credit = jnp.asarray(np.random.default_rng(0).normal(size=(max_steps, 3, 2)))

    def part(credit, states, rewards):
        assert (credit.ndim, states.ndim, rewards.ndim) == (2, 1, 2)
        return {"a": credit.T @ states.astype(float), "b": credit.T @ rewards}

    run = jax.jit(lambda c: sum_over_steps(part, c, found.alive, found.state, found.reward))
    total = run(credit)
    alive = np.asarray(found.alive)
    taken = np.asarray(credit)[alive]
    np.testing.assert_allclose(total["a"], taken.T @ np.asarray(found.state)[alive], atol=1e-9)
    np.testing.assert_allclose(total["b"], taken.T @ np.asarray(found.reward)[alive], atol=1e-9)
