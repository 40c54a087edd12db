"""A model: its exact optimum, what a policy is worth, and what a threshold costs."""

from pathlib import Path

import numpy as np
import pytest

import lexicone as lx

pytestmark = pytest.mark.float32


def maze() -> lx.MDP:
    """The paper's extended maze: avoid bad tiles, then be quick."""
    return lx.tasks.maze("extended", objectives="path")


def test_solve_gives_the_optimum_and_its_proof():
    found = lx.solve(maze(), lx.Order([-3.0]))
    assert found.status == "optimal"
    np.testing.assert_allclose(found.values, [-3.0, -5.2], atol=1e-5)
    assert found.satisfied.all()
    assert len(found.randomises) == 1  # it flips a coin in one state
    assert (found.gap < 1e-5).all()  # the bound that proves it


def test_the_best_policy_that_never_flips_a_coin_is_worse():
    found = lx.solve(maze(), lx.Order([-3.0]), policies="deterministic")
    np.testing.assert_allclose(found.values, [-3.0, -8.0], atol=1e-5)


@pytest.mark.slow
def test_evaluation_and_simulation_agree():
    model = maze()
    policy = lx.solve(model, lx.Order([-3.0])).policy
    exact = lx.evaluate(model, policy)
    episodes = lx.simulate(model, policy, episodes=2000)
    np.testing.assert_allclose(episodes.returns.mean(axis=0), exact, atol=0.2)
    met = lx.satisfaction(episodes.returns, lx.Order([-3.0]))
    assert 0 < met.overall < 1  # on average the threshold holds, in some episodes it does not


@pytest.mark.slow
def test_the_pareto_front_shows_the_trade():
    front = lx.pareto(maze(), policies="deterministic")
    by_first = front.values[np.argsort(front.values[:, 0])]
    assert len(by_first) > 1
    assert (np.diff(by_first[:, 1]) < 0).all()  # whoever has more of one has less of the other


def test_sensitivity_says_what_a_threshold_costs():
    found = lx.sensitivity(maze(), lx.Order([-3.0]), objective=0, points=5)
    assert (np.diff(found.thresholds) > 0).all()
    assert (
        np.diff(found.values[:, -1]) <= 1e-6
    ).all()  # a stricter threshold never makes it faster


def test_a_model_of_ones_own(tmp_path: Path):
    """Two ways to the end: a risky short one and a safe long one."""
    transition = np.zeros((3, 2, 3))
    transition[0, 0, 2] = 1.0  # the short way
    transition[0, 1, 1] = 1.0  # the long way, over state 1
    transition[1, :, 2] = 1.0
    reward = np.zeros((3, 2, 2))
    reward[0, 0] = [-1.0, -1.0]  # risk, time
    reward[0, 1] = reward[1, :] = [0.0, -1.0]
    model = lx.MDP.from_dense(
        transition, reward, [1.0, 0.0, 0.0], [False, False, True], action_names=["short", "long"]
    )
    model.validate(episodic=True)
    np.testing.assert_allclose(lx.solve(model, lx.Order([0.0])).values, [0.0, -2.0], atol=1e-6)
    np.testing.assert_allclose(lx.solve(model, lx.Order([-1.0])).values, [-1.0, -1.0], atol=1e-6)
    model.save(tmp_path / "model.npz")
    again = lx.MDP.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.reward, model.reward)
