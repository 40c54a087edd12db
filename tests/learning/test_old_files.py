"""Trainings that version 0.1.0 saved, when modules had other names: they load, act, and go on where they stopped."""

import shutil
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from lexicone.learning._saved import load
from lexicone.learning._train import train
from lexicone.learning.algos._ppo import PPO
from lexicone.learning.algos._reinforce import Reinforce
from lexicone.order import Order

FOLDER = Path(__file__).parents[1] / "data" / "0.1.0"


@pytest.fixture(autouse=True)
def of_32_bits():
    """As they were trained; they are resumed in no other precision."""
    with jax.enable_x64(False):
        yield


@pytest.mark.slow
def test_a_finished_training_on_a_model():
    trained = load(FOLDER / "ppo.safetensors")
    assert trained.learner == PPO(hidden=(8,), batch=8, max_steps=20)
    assert (trained.seeds, trained.updates, int(trained.run.update)) == (2, 30, 30)
    assert trained.policies.shape == (2, trained.mdp.num_states, trained.mdp.num_actions)
    times, kept = trained.snapshots
    assert times.tolist() == [15, 30]
    np.testing.assert_allclose(kept[-1], trained.policies, atol=1e-6)
    np.testing.assert_allclose(
        trained.evaluate(300).returns.mean(axis=1), trained.values(), atol=1.0
    )
    assert trained.history["returns"].shape == (2, 30, len(trained.order))


@pytest.mark.slow
def test_an_unfinished_training_on_a_model_ends_as_if_nothing_had_happened(tmp_path):
    path = tmp_path / "run.safetensors"
    shutil.copy(FOLDER / "unfinished-reinforce.safetensors", path)
    half = load(path)
    assert half.learner == Reinforce(hidden=(8,), batch=2, max_steps=20)
    assert (half.updates, int(half.run.update), half.evaluate(5).returns.shape) == (
        30,
        11,
        (2, 5, len(half.order)),
    )
    options: dict[str, Any] = {"seeds": 2, "updates": 30, "seed": 5}
    resumed = train(half.mdp, half.order, half.learner, **options, checkpoint=path, resume=True)
    whole = train(half.mdp, half.order, half.learner, **options)
    np.testing.assert_allclose(resumed.history["returns"], whole.history["returns"], rtol=1e-5)
    np.testing.assert_allclose(resumed.policies, whole.policies, atol=1e-4)
    assert int(load(path).run.update) == 30
    other = {**options, "seed": 6}
    with pytest.raises(ValueError, match=r"is of another training: its key is \[0, 5\], not"):
        train(half.mdp, half.order, half.learner, **other, checkpoint=path, resume=True)


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore:max_steps. deep-sea-treasure-v0 has episodes of up to 100 steps"
)
def test_an_unfinished_training_in_an_environment_acts_but_does_not_go_on(tmp_path):
    """It took whole episodes; PPO takes segments now."""
    path = tmp_path / "run.safetensors"
    shutil.copy(FOLDER / "unfinished-environment.safetensors", path)
    half = load(path)
    assert half.facts.environment_id == "deep-sea-treasure-v0"
    assert (half.updates, int(half.run.update)) == (6, 2)
    assert half.evaluate(3).returns.shape == (2, 3, 2)
    assert half.policy(1)(np.array([0, 0], np.int32)) in range(4)
    learner = PPO(hidden=(8,), batch=4, max_steps=20)
    assert half.learner == learner
    with pytest.raises(
        ValueError, match=r"^resume: .* was trained on whole episodes, by an earlier"
    ):
        train(
            "deep-sea-treasure-v0",
            Order([20.0]),
            learner,
            seeds=2,
            updates=6,
            seed=5,
            checkpoint=path,
            resume=True,
        )
