"""Policies of the augmented model, on the model itself."""

import numpy as np
import pytest

from lexicone.criteria._augment import augmentation
from lexicone.criteria._search import search
from lexicone.exact._solve import solve
from lexicone.gym._env import MDPEnv
from lexicone.models._evaluation import evaluate
from lexicone.models._simulation import satisfaction, simulate
from lexicone.order import Order
from lexicone.tasks import maze


def any_lifted(mdp, order):
    """A policy that depends on the budgets, and whose episodes end."""
    augmented = augmentation(mdp, order)
    rng = np.random.default_rng(0)
    return augmented.lift(rng.dirichlet(np.full(mdp.num_actions, 0.5), augmented.mdp.num_states))


@pytest.mark.slow
def test_simulation_evaluation_and_chances_agree():
    mdp, order = maze("small", objectives="path", slip=0.3), Order([-9.0])
    found = any_lifted(mdp, order)
    episodes = found.simulate(20_000, max_steps=2000)
    assert episodes.terminated.all()
    spread = 5 * episodes.returns.std(axis=0) / np.sqrt(20_000)
    assert (np.abs(episodes.returns.mean(axis=0) - found.values) <= spread).all()
    low, high = satisfaction(episodes.returns, order, confidence=0.9999).intervals[0]
    assert low <= found.chances.rates[0] <= high
    even = found.augmented.lift(np.full_like(found.table, 0.25))
    assert not low <= even.chances.rates[0] <= high


def test_it_runs_beside_the_original():
    mdp, order = maze("small", objectives="path", slip=0.3), Order([-9.0])
    lifted = any_lifted(mdp, order)
    env, rng = MDPEnv(mdp, max_steps=200), np.random.default_rng(0)
    reward = np.zeros(2)
    for seed in range(20):
        state, _ = env.reset(seed=seed)
        memory, total, over = lifted.begin(state), np.zeros(2), False
        while not over:
            action = lifted.act(memory, rng)
            state, reward, ended, cut, _ = env.step(action)
            memory = lifted.advance(memory, action, state, reward)
            total, over = total + reward, ended or cut
            assert lifted.augmented.state[memory] == state
            left = lifted.augmented.budget[memory, 0]
            assert left == total[0] + 9 or (np.isinf(left) and (left > 0) == (total[0] >= -9))
    with pytest.raises(ValueError, match="next_state: "):
        lifted.advance(lifted.begin(mdp.initial.argmax()), 0, 0, reward)
    with pytest.raises(ValueError, match="state: no episode starts in"):
        lifted.begin(0)
    for name, call in {
        "state": lambda: lifted.begin(99),
        "memory": lambda: lifted.advance(10**6, 0, 0, reward),
        "action": lambda: lifted.advance(0, 9, 0, reward),
    }.items():
        with pytest.raises(ValueError, match=f"{name}: expected a whole number from 0"):
            call()


def test_a_sure_threshold_can_be_too_dear_to_end():
    """With slips every way to the goal may miss −4; who must never miss it stays where it is safe for ever."""
    mdp, order = maze("extended", objectives="path", slip=0.3), Order([-4.0])
    found = search(mdp, order, criterion="episode")
    assert found.status == "divergent"
    assert found.policy.chances.overall == pytest.approx(1.0)
    assert found.values[1] == -np.inf
    assert "objective 2 (time) has no finite total" in found.message


@pytest.mark.slow
def test_trajectories_are_the_originals():
    mdp, order = maze("extended", objectives="path"), Order([-3.0])
    lifted = search(mdp, order, criterion="episode").policy
    steps = lifted.simulate(3, max_steps=12, record=True).trajectories
    assert steps.states.max() < mdp.num_states
    assert (steps.states[:, 0] == mdp.initial.argmax()).all()
    moved = mdp.next_state[steps.states[:, :-1], steps.actions, 0]
    over = mdp.terminal[steps.states[:, :-1]]
    assert (over | (moved == steps.states[:, 1:])).all()


def test_its_shadow_is_drawn():
    mdp, order = maze("extended", objectives="path"), Order([-3.0])
    lifted = search(mdp, order, criterion="episode").policy
    policy, occupancy = lifted.shadow
    np.testing.assert_allclose(evaluate(mdp, policy), [-3.0, -8.0], atol=1e-9)
    np.testing.assert_allclose(occupancy.sum(), 9.0)
    assert lifted.draw("title").axes[0].get_title() == "title"


@pytest.mark.slow
def test_a_stationary_policy_simulates_alike_with_and_without_budgets():
    mdp, order = maze("extended", objectives="path", slip=0.2), Order([-3.0])
    policy = solve(mdp, order).policy
    augmented = augmentation(mdp, order)
    lifted = augmented.lift(augmented.spread(policy))
    np.testing.assert_allclose(lifted.values, evaluate(mdp, policy), atol=1e-9)
    rates = satisfaction(simulate(mdp, policy, 20_000).returns, order, confidence=0.9999)
    assert rates.intervals[0][0] <= lifted.chances.rates[0] <= rates.intervals[0][1]
