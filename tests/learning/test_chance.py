"""``criterion="chance"`` for learners: what they earn, where they stand, and what comes of it."""

import jax.numpy as jnp
import numpy as np
import pytest

import lexicone as lx
from lexicone.learning._returns import critic_units, make_goal
from lexicone.learning._segments import Segment, earn, follow, start_lanes
from lexicone.models import MDP

# two episodes of three steps; objective 1 shall reach 2 in a share of them, objective 2 is for the mean
REWARD = jnp.array(
    [[[1.0, 1, 1], [3, 1, 1]], [[1, 1, 1], [-2, 1, 1]], [[0, 1, 1], [0, 1, 1]]], dtype=float
)
LIMITS, CHANCES = jnp.array([2.0, 5.0]), jnp.array([0.75, jnp.nan])


def test_a_step_earns_the_change_of_being_met():
    goal = make_goal(REWARD, LIMITS, "chance", chances=CHANCES)
    np.testing.assert_allclose(goal.reward[..., 0], [[0, 1], [1, -1], [0, 0]])
    np.testing.assert_allclose(goal.reward[..., 1:], REWARD[..., 1:])
    np.testing.assert_allclose(
        goal.values, [0.5, 3, 3]
    )  # the first episode ends with 2, the second with 1
    np.testing.assert_allclose(goal.limits, [0.75, 5], rtol=1e-5)
    np.testing.assert_allclose(goal.most, [0.875, jnp.inf])
    np.testing.assert_allclose(critic_units("chance", jnp.array([9.0, 0, 4]), CHANCES), [1, 1, 4])


def test_a_budget_is_met_until_it_is_spent():
    reward = -REWARD
    goal = make_goal(reward, jnp.array([-2.0, 0]), "chance", chances=CHANCES)
    np.testing.assert_allclose(goal.reward[..., 0], [[0, -1], [0, 1], [0, 0]])
    np.testing.assert_allclose(goal.values[0], 1.0)


def test_segments_earn_the_same():
    flags = jnp.array([[False, False], [False, False], [True, True]])
    shown = jnp.zeros((3, 2, 1))
    segment = Segment(
        seen=shown,
        action=shown,
        reward=REWARD,
        following=shown,
        terminated=flags,
        ended=flags,
        valid=jnp.ones((3, 2), bool),
    )
    _, summary = follow(start_lanes(2, 3, REWARD.dtype), segment, 1.0)
    earned = earn("chance", segment, summary, LIMITS, CHANCES)
    goal = make_goal(REWARD, LIMITS, "chance", chances=CHANCES)
    np.testing.assert_allclose(earned, goal.reward)


def test_learners_meet_the_share_that_is_asked_and_spend_the_rest():
    """A safe way with joy 0, and a risky one with 1 that misses the threshold: joy is the share that may miss it."""
    mdp = MDP.from_transitions(
        [("here", "safe", 1.0, "end", 0, 0), ("here", "risky", 1.0, "end", -1, 1)]
    )
    orders = [lx.Order([lx.at_least(-0.5, chance=p)]) for p in (0.8, 0.4)]
    learner = lx.PPO(criterion="chance", hidden=(), max_steps=2)
    many = lx.learning.train_many(mdp, [(o, learner) for o in orders], seeds=3, updates=120)
    for order, trained in zip(orders, many, strict=True):
        share = np.array([trained.policy(i)[0, 0] for i in range(3)])
        assert np.abs(share - np.array(order.chances[0], float)).max() <= 0.08


def test_an_order_and_a_learner_must_agree():
    mdp, asked = lx.tasks.space_traders(), [lx.at_least(0.5, chance=0.9)]
    with pytest.raises(ValueError, match=r"^order: success is for a share"):
        lx.train(mdp, lx.Order({"success": asked[0], "time": None}), lx.PPO(), updates=1)
    with pytest.raises(ValueError, match=r'^order: criterion="chance" needs a threshold'):
        lx.train(mdp, [0.5], lx.PPO(criterion="chance"), updates=1)
    with pytest.raises(ValueError, match=r'^discounted_values: with criterion="chance"'):
        lx.Reinforce(criterion="chance", discounted_values=True)
