"""Gymnasium: models as environments, and training in environments that are no model."""

import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest

import lexicone as lx
from lexicone.gym import BudgetObservation, make_env

pytestmark = pytest.mark.float32


def test_a_task_is_an_environment_with_a_vector_of_rewards():
    env = make_env("maze:concave")
    observation, _ = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    _, reward, terminated, truncated, _ = env.step(0)
    assert np.shape(reward) == (2,)
    assert not terminated
    assert not truncated


def test_tasks_are_registered():
    env = gymnasium.make("lexicone/maze-v0", drawing="concave")
    assert env.reset(seed=0)[0] == make_env("maze:concave").reset(seed=0)[0]


def test_an_environment_is_read_back_as_a_model():
    model = lx.tasks.maze("concave")
    again = lx.MDP.from_gym(make_env("maze:concave"))
    np.testing.assert_allclose(
        lx.solve(again, lx.Order([0.5])).values, lx.solve(model, lx.Order([0.5])).values, atol=1e-6
    )


def test_budgets_can_be_seen():
    env = BudgetObservation(make_env("maze:concave"), lx.Order([0.5]))
    _, info = env.reset(seed=0)
    assert info["budget"].tolist() == [-0.5]  # what is still missing


@pytest.mark.slow
def test_training_in_an_environment():
    learner = lx.PPO(copies=2, length=64, epochs=1)
    trained = lx.train("deep-sea-treasure-v0", [1.0], learner, seeds=1, steps=256)
    act = trained.policy(0)
    chances = act.probabilities(np.array([0, 0]))
    np.testing.assert_allclose(chances.sum(), 1.0, atol=1e-5)
    assert trained.evaluate(5).returns.shape == (1, 5, 2)


@pytest.mark.slow
def test_training_in_a_pair_of_functions(tmp_path):
    """One push: land near 1, and with little effort."""

    def reset(key):
        return jnp.zeros(1), jnp.zeros(())

    def step(key, state, action):
        reward = jnp.stack([-((action - 1) ** 2), -(action**2)])
        return jnp.zeros(1), state, reward, True, False, {}

    order = lx.Order({"near": -0.25, "effort": None})
    learner = lx.PPO(copies=2, length=64, epochs=1)
    trained = lx.train((reset, step), order, learner, seeds=2, steps=256, actions=(-2.0, 2.0))
    trained.export(tmp_path / "policy.safetensors")
    act = lx.load_policy(tmp_path / "policy.safetensors")
    assert -2 <= act(np.zeros(1)) <= 2
