"""Budgets in the observations of environments, in Gymnasium and in JAX."""

import warnings

import gymnasium
import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from lexicone.criteria._budget_observation import Transition, from_table, with_budgets
from lexicone.gym._budget import BudgetObservation
from lexicone.gym._env import MDPEnv
from lexicone.models._environment import environment
from lexicone.order import Order
from lexicone.tasks import deep_sea_treasure, maze, road_trip
from tests.helpers.environments import FreshInfo


def test_gymnasium_with_states():
    mdp, order = road_trip(costs=("toll", "hours")), Order([-10.0, np.inf])
    env = BudgetObservation(MDPEnv(mdp), order)
    seen, _ = env.reset(seed=0)
    assert seen["observation"] == 0
    np.testing.assert_allclose(seen["budget"], [10.0])
    seen, reward, *_ = env.step(1)  # to Cold Harbour, toll 1
    np.testing.assert_allclose(seen["budget"], [9.0])
    np.testing.assert_allclose(reward, [-1.0, -4.0, 0.0])
    assert env.observation_space.contains(seen)
    env.reset()
    np.testing.assert_allclose(env.budget, [10.0])


def test_gymnasium_with_vectors():
    flat = gymnasium.wrappers.FlattenObservation(MDPEnv(maze("small", objectives="path")))
    env = BudgetObservation(gymnasium.wrappers.TimeLimit(flat, 50), Order([-3.0]), gamma=0.5)
    seen, _ = env.reset(seed=1)
    assert seen.shape == (10,)
    for action in (0, 0, 3):
        before = env.budget
        seen, reward, *_ = env.step(action)
        np.testing.assert_allclose(seen[-1], (before[0] + reward[0]) / 0.5)


def test_gymnasium_checker():
    mo_gymnasium = pytest.importorskip("mo_gymnasium")
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # the task's own boxes and the checker warn of their precision
        theirs = BudgetObservation(mo_gymnasium.make("deep-sea-treasure-v0"), Order([24.0]))
        ours = BudgetObservation(MDPEnv(deep_sea_treasure(), max_steps=30), Order([24.0]))
        check_env(FreshInfo(mo_gymnasium.wrappers.LinearReward(ours)), skip_render_check=True)
        seen, _ = theirs.reset(seed=0)
    assert seen.tolist() == [0, 0, -24]
    assert theirs.spec is not None
    assert theirs.spec.additional_wrappers is not None
    wrapper = theirs.spec.additional_wrappers[-1]
    assert wrapper.kwargs is not None
    assert wrapper.kwargs["order"] == Order([24.0])


def test_gymnasium_clipped_rewards_add_up():
    mdp, order = maze("small", objectives="path", slip=0.3), Order([-9.0])
    env = BudgetObservation(MDPEnv(mdp, max_steps=60), order, rewards="clipped")
    rng = np.random.default_rng(0)
    lost = 0
    for seed in range(30):
        env.reset(seed=seed)
        clipped, over, info = np.zeros(2), False, {}
        while not over:
            _, reward, ended, cut, info = env.step(rng.integers(4))
            clipped, over = clipped + reward, ended or cut
        total = info["budget"][0] + order.thresholds[0]
        np.testing.assert_allclose(clipped[0] - 9.0, min(total, -9.0), atol=1e-5)
        lost += total < -9
    assert 0 < lost < 30


@pytest.mark.slow
def test_jax_is_the_same_as_the_table():
    """Episodes of the pure environment, and what the augmented table says of the same steps."""
    mdp, order = maze("small", objectives="path", slip=0.3), Order([-9.0])
    reset, step = with_budgets(*from_table(environment(mdp), 30), order, rewards="clipped")

    def episode(key):
        state, first = reset(key)

        def body(carry, key):
            state, alive, total = carry
            action = jax.random.randint(key, (), 0, 4)
            after = step(state, action, key)
            total = total + jnp.where(alive, after.reward, 0.0)
            state = jax.tree.map(lambda a, b: jnp.where(alive, a, b), after.state, state)
            return (state, alive & ~after.terminated, total), after.observation

        start = (state, jnp.array(True), jnp.zeros(2))
        (state, _, total), seen = jax.lax.scan(body, start, jax.random.split(key, 30))
        return first, seen, state.budget, total

    run = jax.jit(jax.vmap(episode))
    first, seen, budget, total = run(jax.random.split(jax.random.key(0), 64))
    assert first.shape == (64, 10)
    assert seen.shape == (64, 30, 10)
    np.testing.assert_allclose(first[:, -1], 9.0)
    np.testing.assert_allclose(total[:, 0], np.minimum(budget[:, 0], 0.0), atol=1e-9)
    assert (np.asarray(budget) < 0).any()
    assert (np.asarray(budget) >= 0).any()


@pytest.mark.parametrize("kind", ["int32", "float32"])
def test_whole_rewards_are_not_cut(kind):
    """Four steps of −1 with a budget of 2.5: the clipped rewards add up to −1.5."""

    class Costs(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(0, 1, (1,))
        action_space = gymnasium.spaces.Discrete(2)
        reward_space = gymnasium.spaces.Box(-5, 5, (2,))

        def reset(self, *, seed=None, options=None):
            return np.zeros(1, np.float32), {}

        def step(self, action):
            return np.zeros(1, np.float32), np.full(2, -1, kind), False, False, {}

    env = BudgetObservation(Costs(), Order([-2.5]), rewards="clipped")
    env.reset()
    total = sum(env.step(0)[1] for _ in range(4))
    np.testing.assert_allclose(total, [-1.5, -4.0])

    def step(state, action, key):
        no = jnp.array(False)
        return Transition(state, jnp.zeros(1), jnp.full(2, -1, kind), no, no)

    begin, advance = with_budgets(
        lambda key: (0, jnp.zeros(1)), step, Order([-2.5]), rewards="clipped"
    )
    state, total = begin(0)[0], np.zeros(2)
    for _ in range(4):
        after = advance(state, 0, 0)
        state, total = after.state, total + after.reward
    np.testing.assert_allclose(total, [-1.5, -4.0])
    longer = with_budgets(lambda key: (0, jnp.zeros(1)), step, Order([-2.5, 0.0]))[1]
    with pytest.raises(ValueError, match=r"order: has 3 objectives .* of shape \(2,\)"):
        longer(state, 0, 0)


@pytest.mark.parametrize("make", ["gym", "jax"])
def test_mistakes(make, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    mdp = maze("small")

    def wrap(**options):
        if make == "gym":
            return BudgetObservation(MDPEnv(mdp), Order([1.0]), **options)
        return with_budgets(*from_table(environment(mdp), 9), Order([1.0]), **options)

    for gamma in (0.0, "1"):
        with pytest.raises(ValueError, match="gamma: "):
            wrap(gamma=gamma)
    for rewards in ("none", np):
        with pytest.raises(ValueError, match="rewards: "):
            wrap(rewards=rewards)


def test_scalar_environments_are_refused():
    with pytest.raises(ValueError, match="env: expected vector rewards"):
        BudgetObservation(gymnasium.make("CartPole-v1"), Order([1.0]))
    with pytest.raises(ValueError, match="env: expected vector rewards"):
        BudgetObservation(MDPEnv(maze("small")), Order([1.0, 2.0]))
