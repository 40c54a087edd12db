"""Learning a policy from episodes of a model: train, look, save, go on."""

from pathlib import Path

import numpy as np
import pytest

import lexicone as lx

pytestmark = [pytest.mark.float32, pytest.mark.slow]

MAZE = lx.tasks.maze("concave")  # reach the goal, then avoid bad tiles
LEARNER = lx.PPO(criterion="episode", batch=32, max_steps=50)


@pytest.fixture(scope="module")
def trained() -> lx.Trained:
    return lx.train(MAZE, [0.5], LEARNER, seeds=2, updates=40)


def test_training_reaches_the_threshold(trained: lx.Trained):
    """Negative control: after one update the policy wanders, and often does not arrive in time."""
    beginner = lx.train(MAZE, [0.5], LEARNER, seeds=2, updates=1)
    assert (trained.evaluate(200).success >= 0.9).all()
    assert (beginner.evaluate(200).success < 0.9).all()


def test_a_trained_policy_is_a_table_with_exact_values(trained: lx.Trained):
    policy = trained.policy(0)
    assert policy.shape == (MAZE.num_states, MAZE.num_actions)
    np.testing.assert_allclose(policy.sum(axis=1), 1.0, atol=1e-5)
    assert trained.values()[0, 0] >= 0.4
    assert trained.history["returns"].shape[0] == 2  # seeds, looks, objectives


def test_saved_and_loaded_it_is_the_same(trained: lx.Trained, tmp_path: Path):
    trained.save(tmp_path / "run.safetensors")
    again = lx.load(tmp_path / "run.safetensors")
    np.testing.assert_array_equal(again.policies, trained.policies)


def test_a_training_resumes_from_its_checkpoint(tmp_path: Path):
    place = tmp_path / "run.safetensors"
    options = {"seeds": 2, "updates": 5, "checkpoint": place}
    first = lx.train(MAZE, [0.5], LEARNER, **options)
    resumed = lx.train(MAZE, [0.5], LEARNER, **options, resume=True)
    np.testing.assert_array_equal(resumed.policies, first.policies)


def test_several_settings_train_in_one_program():
    variants = [(lx.Order([0.5]), lx.PPO(batch=8, max_steps=20, delta=d)) for d in (0.05, 0.3)]
    narrow, wide = lx.train_many(MAZE, variants, seeds=2, updates=2)
    assert (narrow.learner.delta, wide.learner.delta) == (0.05, 0.3)
    assert narrow.policies.shape == wide.policies.shape
