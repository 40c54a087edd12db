from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lexicone.gym._env import MDPEnv
from lexicone.learning import _train_env as env_loop
from lexicone.learning._episodes import collect
from lexicone.learning._problem import model_problem
from lexicone.learning._saved import load
from lexicone.learning.algos._a2c import A2C
from lexicone.learning.algos._ppo import PPO
from lexicone.learning.algos._reinforce import Reinforce
from lexicone.order import Order
from lexicone.tasks import maze
from tests.helpers.bets import BETS, LEARNER, UPDATES, Wager, altered, bet, wide
from tests.helpers.interruption import killed_after
from tests.helpers.trainings import assert_same, programs

MDP = maze("small", objectives="path")


ORDER = Order([-4.0])


@pytest.fixture(scope="module")
def bets():
    return bet()


@pytest.mark.slow
def test_bets_as_far_as_the_threshold_allows(bets):
    """By hand: what is safe, and half of what is risky, makes (−¼, 1)."""
    found = bets.evaluate(400)
    np.testing.assert_allclose(found.returns.mean(axis=1), [[-0.25, 1.0]] * 2, atol=0.15)
    np.testing.assert_allclose(found.success, 1 + found.returns[..., 0].mean(axis=1))
    assert found.terminated.all()


@pytest.mark.slow
@pytest.mark.parametrize(("threshold", "best"), [(0.0, (0.0, 0.5)), (-5.0, (-0.5, 1.5))])
def test_other_thresholds_have_other_optima(threshold, best, bets):
    """The control: with the same key, nothing risky, or everything."""
    found = bet(order=Order([threshold])).evaluate(400).returns.mean(axis=1)
    np.testing.assert_allclose(found, [best] * 2, atol=0.15)


@pytest.mark.slow
def test_a_run_depends_on_its_key_and_number_alone(bets):
    assert_same(bet(), bets)
    alone = bet(seeds=1)
    np.testing.assert_array_equal(alone.history["returns"][0], bets.history["returns"][0])
    for ours, theirs in zip(
        jax.tree.leaves(alone.run.states), jax.tree.leaves(bets.run.states), strict=True
    ):
        np.testing.assert_array_equal(ours[0], theirs[0])
    assert not np.allclose(bets.history["returns"][0], bets.history["returns"][1])
    other = bet(seeds=1, seed=1, updates=5).history["returns"]
    assert not np.allclose(other, alone.history["returns"][:, :5])


def test_numbers_and_lengths_share_programs(bets):
    before = programs(env_loop.learn_from), programs(env_loop.choose_actions)
    bet(replace(LEARNER, delta=0.3, gamma=0.5, entropy=0.1), Order([3.0]), seeds=1, updates=3)
    assert (programs(env_loop.learn_from), programs(env_loop.choose_actions)) == before


@pytest.mark.slow
def test_a_killed_run_resumes_to_the_same_end(tmp_path, bets, capsys):
    path = tmp_path / "run.safetensors"
    with killed_after(2):
        bet(checkpoint=path)
    half = load(path, task=Wager, features=wide)
    assert 0 < int(half.run.update) < UPDATES
    assert len(half.history["update"]) == int(half.run.update)
    assert_same(bet(checkpoint=path, resume=True, progress=True), bets)
    assert "objective 2" in capsys.readouterr().out
    others: list[tuple[dict[str, Any], str]] = [
        ({"features": lambda x: 3 * x}, "first_steps"),
        ({"task": altered()}, "environment"),
        ({"seed": 3}, "key"),
    ]
    for changes, named in others:
        with pytest.raises(ValueError, match=rf"is of another training: its {named} is"):
            bet(**changes, checkpoint=path, resume=True)


def test_saved_and_loaded(tmp_path, bets):
    path = tmp_path / "run.safetensors"
    bets.save(path)
    again = load(path, task=Wager, features=wide)
    assert_same(again, bets)
    assert (again.order, again.learner, again.seeds) == (BETS, LEARNER, 2)
    np.testing.assert_array_equal(again.evaluate(9).returns, bets.evaluate(9).returns)
    bare = load(path)
    assert bare.history["episodes"][-1] == UPDATES * 64  # needs no environment
    with pytest.raises(ValueError, match=r"^task: Wager was given to train as a function"):
        bare.policy(0)
    with pytest.raises(ValueError, match=r"^features: were a function"):
        load(path, task=Wager)
    with pytest.raises(ValueError, match=r"^task: is not like .*: its observations is Discrete"):
        load(path, task=lambda: MDPEnv(MDP), features=wide)


def test_history_means_what_it_says(bets):
    history = bets.history
    assert history["update"].tolist() == list(range(1, UPDATES + 1))
    np.testing.assert_array_equal(history["steps"], [np.arange(1, UPDATES + 1) * 64] * 2)
    np.testing.assert_array_equal(history["terminated"], 1)
    np.testing.assert_allclose(history["satisfied"][..., 0], 1 + history["returns"][..., 0])
    coarse = bet(seeds=1, updates=12, log_every=5).history
    assert coarse["update"].tolist() == [5, 10, 12]
    np.testing.assert_allclose(
        coarse["returns"][0, -1], history["returns"][0, 10:12].mean(axis=0), rtol=1e-12
    )


def test_evaluation_and_policies_are_the_same_thing(bets):
    few, many = bets.evaluate(5), bets.evaluate(40)
    np.testing.assert_array_equal(many.returns[:, :5], few.returns)
    assert not np.array_equal(bets.evaluate(40, seed=1).returns, many.returns)
    policy, greedy = bets.policy(1), bets.policy(1, greedy=True)
    x = np.array([0.5])
    share = policy.probabilities(x)
    taken = np.array([policy(x) for _ in range(1000)])
    assert set(taken) <= {3, 4}
    error = np.sqrt(share.prod() / 1000)
    assert abs((taken == 4).mean() - share[1]) < 4.5 * error + 1e-9
    assert {greedy(x) for _ in range(20)} == {3 + int(np.argmax(share))}
    with pytest.raises(ValueError, match=r"^seed: expected a whole number from 0 to 1, got 2"):
        bets.policy(2)


LEARNERS = {
    "ppo": PPO(hidden=(8,), batch=8, max_steps=12, rule="linear", epochs=3),
    "a2c": A2C(hidden=(8,), batch=8, max_steps=12, rule="linear", criterion="episode"),
    "reinforce": Reinforce(hidden=(8,), batch=8, max_steps=12, dropout=0.0, entropy=0.1),
}


@pytest.fixture(scope="module")
def walks():
    """Of a uniform policy in the maze."""
    policy = jnp.full((MDP.num_states, 4), 0.25)
    walk = partial(collect, model_problem(MDP, None, ORDER).model, policy, episodes=8, max_steps=12)
    episodes = jax.jit(walk)(jax.random.key(3))
    assert not episodes.alive.all()
    return episodes


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_the_update_is_the_tables(name, walks):
    """The same episodes, once by number of state and once as rows of features, leave the same parameters."""
    learner, episodes, problem = LEARNERS[name], walks, model_problem(MDP, None, ORDER)
    key = jax.random.key(5)
    seen = np.concatenate([episodes.state, np.asarray(episodes.last)[None]])
    number = np.arange(seen.size).reshape(seen.shape)
    rows = episodes._replace(state=number[:-1], last=number[-1])

    @jax.jit
    def learn(features, episodes):
        given = problem._replace(features=features)
        state = learner.init(given, key)
        return state, *learner.learn(given, state, episodes, key, jnp.asarray(0.25))

    one_hot = np.eye(MDP.num_states)
    unvisited = np.zeros((seen.size - MDP.num_states, MDP.num_states))  # one shape, one program
    by_number = episodes._replace(state=np.int64(episodes.state), last=np.int64(episodes.last))
    state, table, metrics = learn(np.concatenate([one_hot, unvisited]), by_number)
    _, ours, same = learn(one_hot[seen.reshape(-1)], rows)
    for one, other in zip(jax.tree.leaves(table), jax.tree.leaves(ours), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    for name, value in metrics.items():
        np.testing.assert_allclose(value, same[name], atol=1e-6)
    assert not np.allclose(table.policy.layers[0].weight, state.policy.layers[0].weight)
    _, wrong, _ = learn(one_hot[np.roll(seen.reshape(-1), 1)], rows)
    assert not np.allclose(table.policy.layers[0].weight, wrong.policy.layers[0].weight, atol=1e-4)


def test_a_training_that_diverges_says_so():
    lost = bet(replace(LEARNER, learning_rate=1e308), updates=1)
    assert lost.diverged.all()
    for use in (lost.policy, lost.evaluate):
        with pytest.raises(ValueError, match=r"^learner: the training of seed 0.* diverged"):
            use()
