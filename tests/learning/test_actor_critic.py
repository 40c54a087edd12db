"""What PPO and A2C share beyond their updates: thresholds out of reach, and thresholds that rounding misses."""

import math
from dataclasses import replace
from functools import partial

import equinox as eqx
import jax
import numpy as np
import pytest

from lexicone.criteria._augment import augment
from lexicone.learning._episodes import collect
from lexicone.learning._networks import log_policy
from lexicone.learning._problem import model_problem
from lexicone.learning._returns import Goal
from lexicone.learning._train import train_many
from lexicone.learning.algos import _estimates as estimates
from lexicone.learning.algos._ppo import PPO
from lexicone.models._mdp import MDP
from lexicone.order import Order

SMALL = PPO(hidden=(), batch=32, max_steps=2, learning_rate=0.1, critic_rate=0.1)
CHAIN = replace(SMALL, max_steps=3)


def one_choice(*rewards):
    rows = np.array(rewards, float)
    transition, paid = np.zeros((2, len(rows), 2)), np.zeros((2, len(rows), 2))
    transition[:, :, 1] = 1.0
    paid[0] = rows
    return MDP.from_dense(transition, paid, np.array([1.0, 0.0]), np.array([False, True]))


@pytest.mark.slow
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


@pytest.mark.slow
def test_without_it_the_next_objective_is_left_to_chance(monkeypatch):
    never = jax.numpy.zeros(1, bool)
    monkeypatch.setattr(estimates, "find_stalled", lambda _, levels, aim, share: (levels, never))
    learner = replace(SMALL, criterion="expected", max_steps=4)  # another program
    (trained,) = train_many(
        one_choice((1, 0), (1, 1), (0, 5)), [(Order([2.0]), learner)], seeds=3, updates=150
    )
    assert trained.values()[:, 1].min() < 0.9
    assert (trained.history["improved"][..., 0] == 1).all()


@pytest.mark.slow
def test_a_threshold_within_reach_is_reached():
    """Objective 1 is the harder the nearer to its best, and its threshold is just there: no reason to give up."""
    (trained,) = train_many(
        one_choice((1, 0), (0, 1)), [(Order([0.98]), SMALL)], seeds=3, updates=150
    )
    assert (trained.values()[:, 0] > 0.95).all()


@pytest.mark.slow
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


@pytest.mark.slow
def test_critics_have_the_sizes_of_the_policy_or_their_own():
    problem = model_problem(one_choice((1, 0), (0, 1)), None, Order([0.5]))
    same = replace(SMALL, hidden=(3,)).init(problem, jax.random.key(0))
    assert (same.policy.widths, same.critics.networks.widths) == ((3,), (3,))
    own = replace(SMALL, hidden=(3,), critic_hidden=(), activation="relu")
    state = own.init(problem, jax.random.key(0))
    assert (state.policy.widths, state.critics.networks.widths) == ((3,), ())
    assert (state.policy.activation, state.critics.networks.activation) == ("relu", "relu")
    with pytest.raises(ValueError, match="critic_hidden"):
        replace(SMALL, critic_hidden=(0,))


@pytest.mark.slow
def test_less_is_asked_for_while_it_explores():
    problem = model_problem(one_choice((1, 0), (0, 1)), None, Order([0.5]))
    learner = replace(SMALL, criterion="episode", confidence=0.9, allowance=0.5, explore=0.4)
    state = learner.init(problem, jax.random.key(0))
    table = learner.log_policy(problem, state)
    episodes = collect(
        problem.model, jax.numpy.exp(table), jax.random.key(1), episodes=learner.batch, max_steps=2
    )
    for share, asked in ((0.0, 0.45), (0.2, 0.675), (0.4, 0.9), (0.9, 0.9)):
        _, batch = learner.gather(problem, state, table, episodes, jax.numpy.array(share))
        np.testing.assert_allclose(batch.now.limits, [asked])
    with pytest.raises(ValueError, match="allowance"):
        replace(learner, allowance=1.5)


def held_after(learner, limits, values):
    """Whether the objective counts as levelled off, after updates with these limits and estimates."""
    problem = model_problem(one_choice((1, 0), (0, 1)), None, Order([0.5]))
    levels = learner.init(problem, jax.random.key(0)).standing.levels
    reward, held = jax.numpy.ones((1, learner.batch, 2)), None
    shares = np.linspace(0, 0.99, len(values))
    step = jax.jit(partial(estimates.find_stalled, learner))
    for share, limit, value in zip(shares, limits, values, strict=True):
        aim = Goal(reward, jax.numpy.array([value, 0.0]), jax.numpy.array([limit]))
        levels, held = step(levels, aim, jax.numpy.array(share))
    assert held is not None
    return bool(held[0])


def test_what_was_met_with_an_allowance_only_may_level_off():
    learner = replace(SMALL, criterion="episode", confidence=0.9)
    eased = np.r_[np.full(50, 0.5), np.full(50, 0.9)]
    assert held_after(learner, eased, np.full(100, 0.8))
    assert not held_after(learner, eased, np.full(100, 0.95))


def test_one_lucky_batch_is_no_threshold_met():
    limits, lucky = np.full(100, 0.5), np.r_[2.0, np.zeros(99)]
    assert held_after(SMALL, limits, lucky)
    assert not held_after(SMALL, limits, np.r_[np.zeros(20), np.ones(30), np.zeros(50)])


@pytest.mark.parametrize(("explore", "held"), [(0.4, True), (0.95, True), (1.0, False)])
def test_levelling_off_has_time_after_any_exploration(explore, held):
    learner = replace(SMALL, explore=explore)
    assert held_after(learner, np.full(100, 0.5), np.zeros(100)) == held


@pytest.mark.slow
def test_standing_error_and_correction_by_hand():
    """Two batches of an objective with threshold 0.5: what was estimated, how surely, and how far it is raised."""
    learner = replace(SMALL, batch=4, smoothing=0.5, correction=0.1)
    problem = model_problem(one_choice((1, 0), (0, 1)), None, Order([0.5]))
    state = learner.init(problem, jax.random.key(0))
    table = learner.log_policy(problem, state)
    sampled = collect(
        problem.model, jax.numpy.exp(table), jax.random.key(1), episodes=4, max_steps=2
    )

    def gather(state, first):
        paid = jax.numpy.array([[[r, 0.0] for r in first], [[0.0, 0.0]] * 4])
        episodes = sampled._replace(reward=paid)
        return learner.gather(problem, state, table, episodes, jax.numpy.array(0.0))

    one, two = [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]
    state, batch = gather(state, one)
    error = math.sqrt(3) / 4 / math.sqrt(4 * 3)
    np.testing.assert_allclose(batch.now.values[0], 0.25)
    np.testing.assert_allclose(batch.now.error[0], error)
    shift = 0.1 * 0.25 / error
    np.testing.assert_allclose(batch.now.limits, [0.5 + shift * error], atol=1e-5)
    state, batch = gather(state, two)
    np.testing.assert_allclose(batch.now.values[0], (0.25 * 0.25 + 0.5 * 0.5) / 0.75)
    np.testing.assert_allclose(batch.now.limits, [0.5 + shift * 0.5 / math.sqrt(4 * 3)], atol=1e-5)


def certain(network, logits):
    """The same logits in every state."""
    zeros = jax.tree.map(jax.numpy.zeros_like, network)
    return eqx.tree_at(lambda network: network.layers[0].bias, zeros, jax.numpy.array(logits))


def pushed(learner, logits, share):
    """How one step without any advantages moves the logits of the only choice."""
    problem = model_problem(one_choice(*[(0, 0)] * len(logits)), None, Order([0.5]))
    state = learner.init(problem, jax.random.key(0))
    policy = certain(state.policy, logits)
    table, pull_back = jax.vjp(lambda policy: log_policy(policy, None), policy)
    episodes = collect(
        problem.model, jax.numpy.exp(table), jax.random.key(1), episodes=4, max_steps=1
    )
    state, batch = learner.gather(problem, state._replace(policy=policy), table, episodes, share)
    after, _ = learner.climb(state, batch, table, pull_back, 0 * batch.gain, share)
    return after.policy.layers[0].bias - jax.numpy.array(logits)


@pytest.mark.slow
def test_the_barrier_pulls_at_actions_however_rare():
    """Its slope by the logits is 1/A − π; that of the entropy vanishes with π."""
    plain = replace(SMALL, optimizer="sgd", learning_rate=1.0, rule="linear", weights=(1.0, 0.0))
    logits = [0.0, -30.0, -30.0]
    for share, left in ((0.0, 1.0), (0.35, 0.5), (0.7, 0.0), (0.9, 0.0)):
        learner = replace(plain, entropy=0.0, barrier=0.3, explore=0.4)
        moved = pushed(learner, logits, jax.numpy.array(share))
        slope = 0.3 * left * (1 - share) ** 2 * (1 / 3 - np.array([1.0, 0.0, 0.0]))
        np.testing.assert_allclose(moved, slope, atol=1e-6)
    moved = pushed(replace(plain, entropy=0.3, barrier=0.0), logits, jax.numpy.array(0.0))
    np.testing.assert_allclose(moved, 0.0, atol=1e-6)


@pytest.mark.slow
def test_episodes_are_run_with_the_policy_not_with_its_mean():
    problem = model_problem(one_choice((1, 0), (0, 1)), None, Order([0.5]))
    state = SMALL.init(problem, jax.random.key(0))
    state = state._replace(
        policy=certain(state.policy, [20.0, 0.0]), average=certain(state.policy, [0.0, 20.0])
    )
    _, metrics = jax.jit(SMALL.update)(problem, state, jax.random.key(0), jax.numpy.array(0.0))
    np.testing.assert_allclose(metrics["returns"], [1, 0])
    np.testing.assert_array_equal(np.argmax(SMALL.log_policy(problem, state), axis=1), 1)


@pytest.mark.slow
@pytest.mark.parametrize("tail", [0.0, 0.25, 1.0])
def test_what_is_learned_is_a_mean_of_the_last_parameters(tail):
    learner = replace(SMALL, tail=tail, epochs=1)
    problem = model_problem(one_choice((1, 0), (0, 1)), None, Order([0.5]))
    state, seen = learner.init(problem, jax.random.key(0)), []
    update = jax.jit(learner.update)
    for i in range(5):
        state, _ = update(problem, state, jax.random.key(i), jax.numpy.array(i / 5))
        seen.append(state.policy(None))
    weights = {0.0: [0, 0, 0, 0, 1], 0.25: [1, 4, 10, 20, 35], 1.0: [1] * 5}[tail]
    expected = np.average(seen, axis=0, weights=weights)
    np.testing.assert_allclose(state.average(None), expected, rtol=1e-9)
    np.testing.assert_allclose(
        learner.log_policy(problem, state), jax.nn.log_softmax(expected), atol=1e-9
    )
    assert not np.allclose(seen[0], seen[-1])


@pytest.mark.slow
def test_a_policy_that_sees_the_budget_spends_what_is_left():
    """Half of the episodes have paid 2 of 2 already when they choose between paying 2 again and losing time."""
    transition, paid = np.zeros((4, 2, 4)), np.zeros((4, 2, 2))
    transition[0, :, 1] = transition[0, :, 2] = 0.5
    transition[1, :, 2] = transition[2, :, 3] = transition[3, :, 3] = 1.0
    paid[1, :, 0] = paid[2, 0, 0] = -2.0
    paid[2, 1, 1] = -1.0
    mdp = MDP.from_dense(transition, paid, np.eye(4)[0], np.arange(4) == 3)
    order, learner = Order([-2.0]), replace(CHAIN, criterion="episode")
    for model, best in ((mdp, -1.0), (augment(mdp, order), -0.5)):
        (trained,) = train_many(model, [(order, learner)], seeds=2, updates=150)
        np.testing.assert_allclose(trained.values()[:, 1], best, atol=0.05)
        assert (trained.evaluate(500).success > 0.95).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"explore": 0.0}, "^explore: must be above 0"),
        ({"weights": (1.0, -1.0), "rule": "linear"}, "^weights: must not be negative"),
        ({"weights": (0.0, 0.0), "rule": "linear"}, "^weights: must not be negative, nor all 0"),
        ({"weights": (1.0, 1.0)}, "^weights: are for rule"),
    ],
)
def test_settings_that_make_no_sense(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(SMALL, **changes)


def test_as_many_weights_as_objectives():
    problem = model_problem(one_choice((1, 0), (0, 1)), None, Order([0.5]))
    learner = replace(SMALL, rule="linear", weights=(1.0, 2.0, 3.0))
    with pytest.raises(ValueError, match=r"^weights: the task has 2 objectives, got 3"):
        learner.init(problem, jax.random.key(0))
