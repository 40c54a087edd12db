"""What PPO and A2C share beyond their updates: thresholds out of reach, and thresholds that rounding misses."""

import importlib
import math
from dataclasses import replace

import jax
import numpy as np
import pytest

from lexicone.mdp import MDP
from lexicone.order import Order
from lexicone.ppo import PPO
from lexicone.rollout import collect
from lexicone.train import train_many
from lexicone.trained import problem_of

module = importlib.import_module("lexicone.actor_critic")
SMALL = PPO(hidden=(), batch=32, max_steps=2, learning_rate=0.1, critic_rate=0.1)
CHAIN = replace(SMALL, max_steps=3)


@pytest.fixture(autouse=True, scope="module")
def compile_quickly():
    """Compilation dominates here, and these programs are tiny."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def one_choice(*rewards):
    rows = np.array(rewards, float)
    transition, paid = np.zeros((2, len(rows), 2)), np.zeros((2, len(rows), 2))
    transition[:, :, 1] = 1.0
    paid[0] = rows
    return MDP.from_dense(transition, paid, np.array([1.0, 0.0]), np.array([False, True]))


@pytest.mark.parametrize("criterion", ["expected", "episode"])
def test_behind_a_threshold_out_of_reach_the_next_objective_has_its_turn(criterion):
    """Two of three actions are best for objective 1, and one of these for objective 2 as well."""
    mdp = one_choice((1, 0), (1, 1), (0, 5))
    learner = replace(SMALL, criterion=criterion)
    found = train_many(
        mdp, [(Order([2.0]), learner), (Order([math.inf]), learner)], seeds=3, updates=150
    )
    for trained in found:
        assert (trained.values() > 0.9).all()


def test_without_it_the_next_objective_is_left_to_chance(monkeypatch):
    monkeypatch.setattr(module, "_PATIENCE", 2.0)
    learner = replace(SMALL, criterion="expected", max_steps=4)  # another program
    (trained,) = train_many(
        one_choice((1, 0), (1, 1), (0, 5)), [(Order([2.0]), learner)], seeds=3, updates=150
    )
    assert trained.values()[:, 1].min() < 0.9
    assert (trained.history["improved"][..., 0] == 1).all()


def test_a_threshold_within_reach_is_reached():
    """Objective 1 is the harder the nearer to its best, and its threshold is just there: no reason to give up."""
    (trained,) = train_many(
        one_choice((1, 0), (0, 1)), [(Order([0.98]), SMALL)], seeds=3, updates=150
    )
    assert (trained.values()[:, 0] > 0.95).all()


def test_a_sum_of_rounded_rewards_meets_its_threshold():
    """Three steps of −0.1 make −0.30000000000000004, whatever one does; only the first counts for objective 2."""
    transition, paid = np.zeros((4, 2, 4)), np.zeros((4, 2, 2))
    for state in range(4):
        transition[state, :, min(state + 1, 3)] = 1.0
    paid[:3, :, 0] = -0.1
    paid[0, 1, 1] = 1.0
    mdp = MDP.from_dense(transition, paid, np.eye(4)[0], np.arange(4) == 3)
    (trained,) = train_many(mdp, [(Order([-0.3]), CHAIN)], seeds=2, updates=100)
    assert (trained.values()[:, 1] > 0.95).all()
    assert trained.history["satisfied"].min() == 1


def test_critics_have_the_sizes_of_the_policy_or_their_own():
    problem = problem_of(one_choice((1, 0), (0, 1)), None, Order([0.5]))
    same = replace(SMALL, hidden=(3,)).init(problem, jax.random.key(0))
    assert (same.policy.widths, same.critics.networks.widths) == ((3,), (3,))
    own = replace(SMALL, hidden=(3,), critic_hidden=(), activation="tanh")
    state = own.init(problem, jax.random.key(0))
    assert (state.policy.widths, state.critics.networks.widths) == ((3,), ())
    assert (state.policy.activation, state.critics.networks.activation) == ("tanh", "tanh")
    with pytest.raises(ValueError, match="critic_hidden"):
        replace(SMALL, critic_hidden=(0,))


def test_less_is_asked_for_while_it_explores():
    problem = problem_of(one_choice((1, 0), (0, 1)), None, Order([0.5]))
    learner = replace(SMALL, criterion="episode", confidence=0.9, allowance=0.5, explore=0.4)
    state = learner.init(problem, jax.random.key(0))
    table = learner.log_policy(problem, state)
    episodes = collect(
        problem.env, jax.numpy.exp(table), jax.random.key(1), episodes=learner.batch, max_steps=2
    )
    for share, asked in ((0.0, 0.45), (0.2, 0.675), (0.4, 0.9), (0.9, 0.9)):
        _, batch = learner.gather(problem, state, table, episodes, jax.numpy.array(share))
        np.testing.assert_allclose(batch.limits, [asked])
    with pytest.raises(ValueError, match="allowance"):
        replace(learner, allowance=1.5)
