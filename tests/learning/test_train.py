import inspect
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lexicone.cli._train import Train
from lexicone.learning import _plan
from lexicone.learning._episodes import collect
from lexicone.learning._learner import progress_metrics
from lexicone.learning._saved import load
from lexicone.learning._train import train, train_many
from lexicone.learning._train_model import advance
from lexicone.learning.algos._ppo import PPO
from lexicone.order import Order
from lexicone.tasks import maze
from tests.helpers.interruption import killed_after
from tests.helpers.trainings import (
    LEARNER,
    MAZE,
    ORDER,
    UPDATES,
    assert_same,
    other_maze,
    programs,
    run,
)


@pytest.mark.slow
def test_same_key_same_result(trained):
    assert_same(run(), trained)
    other = run(seed=1)
    assert not np.allclose(other.policies, trained.policies)
    assert_same(run(seed=jax.random.key(1)), other)


@pytest.mark.slow
def test_a_run_is_the_same_alone_up_to_rounding(trained):
    alone = run(seeds=1)
    np.testing.assert_array_equal(alone.history["returns"][0], trained.history["returns"][0])
    np.testing.assert_allclose(alone.policies[0], trained.policies[0], atol=1e-9)
    assert not np.allclose(trained.policies[0], trained.policies[1])


@pytest.mark.slow
def test_of_32_bits_runs_are_the_same_beside_any_others():
    """With the compiler's optimisations, which round otherwise for one shape than for another."""
    learner = replace(LEARNER, hidden=(4,), dropout=0.0, optimizer="sgd")

    def start(seeds):
        return train(maze("small", objectives=["time"]), [], learner, seeds=seeds, updates=40)

    jax.config.update("jax_disable_most_optimizations", False)
    with jax.enable_x64(False):
        two, three = start(2), start(3)
    jax.config.update("jax_disable_most_optimizations", True)
    assert three.run.snapshots.dtype == np.float32
    np.testing.assert_array_equal(two.policies, three.policies[:2])
    for ours, theirs in zip(
        jax.tree.leaves(two.run.states), jax.tree.leaves(three.run.states), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs[:2])
    assert not np.allclose(three.policies[1], three.policies[2])


def test_many_numbers_at_once_are_those_of_a_loop():
    variants = [
        (ORDER, LEARNER),
        ([-9.0], replace(LEARNER, delta=0.1)),
        (Order([-1.0]), replace(LEARNER, learning_rate=0.1, gamma=0.5)),
    ]
    many = train_many(MAZE, variants, seeds=1, updates=UPDATES, snapshots=4)
    for (order, learner), ours in zip(variants, many, strict=True):
        alone = run(learner, order, seeds=1)
        np.testing.assert_array_equal(ours.history["returns"], alone.history["returns"])
        np.testing.assert_allclose(ours.policies, alone.policies, atol=1e-9)
        assert (ours.order.thresholds, ours.learner) == (alone.order.thresholds, learner)
    assert not np.allclose(many[0].policies, many[1].policies)
    assert not np.allclose(many[0].policies, many[2].policies)


@pytest.mark.slow
def test_compiled_once_for_all_numbers():
    run()
    before = programs(advance)
    numbers = {"delta": 0.0, "gamma": 0.5, "learning_rate": 1.0, "temperature": 5.0}
    run(replace(LEARNER, **numbers), Order([3.0]), seed=9)
    run(progress=True, updates=40, log_every=2)
    train(other_maze(), ORDER, LEARNER, seeds=3, updates=UPDATES, snapshots=4)
    assert programs(advance) == before
    run(replace(LEARNER, hidden=()))
    assert programs(advance) == before + 1


def test_pieces_are_the_whole(tmp_path, trained, capsys):
    pieces = run(progress=True, checkpoint=tmp_path / "run.safetensors")
    assert_same(pieces, trained)
    assert "tiles" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("looks", [1, 2])
def test_a_killed_run_resumes_to_the_same_end(looks, tmp_path, trained):
    path = tmp_path / "run.safetensors"
    options = {"checkpoint": path}
    with killed_after(looks):
        run(**options)
    half = load(path)
    assert 0 < int(half.run.update) < UPDATES
    assert len(half.history["update"]) == int(half.run.update)
    assert_same(run(**options, resume=True), trained)
    assert_same(load(path), trained)
    assert_same(run(**options, resume=True), trained)  # nothing is left to do


@dataclass(frozen=True)
class HillClimber:
    """A learner of one's own: keeps a random change of a table of preferences if the batch was no worse for it."""

    noise: float = 0.5
    batch: int = 4
    max_steps: int = 12
    traced: ClassVar[tuple[str, ...]] = ("noise",)

    def init(self, problem, key):
        return {"table": jnp.zeros(problem.env.next_state.shape[:2]), "best": jnp.float64(-1e9)}

    def log_policy(self, problem, state):
        return jax.nn.log_softmax(state["table"], axis=-1)

    def update(self, problem, state, key, share):
        change_key, episode_key = jax.random.split(key)
        change = jax.random.normal(change_key, state["table"].shape)
        table = state["table"] + self.noise * (1 - share) * change
        policy = jax.nn.softmax(table, axis=-1)
        episodes = collect(problem.env, policy, episode_key, episodes=4, max_steps=12)
        value = episodes.returns[:, 1].mean()
        better = value >= state["best"]
        metrics = {
            "returns": episodes.returns.mean(axis=0),
            "satisfied": jnp.ones(1),
            "steps": episodes.steps.astype(float),
        }
        return {
            "table": jnp.where(better, table, state["table"]),
            "best": jnp.where(better, value, state["best"]),
        }, metrics


@pytest.mark.slow
def test_a_learner_of_ones_own(tmp_path):
    learner = HillClimber()
    found = train(MAZE, ORDER, learner, seeds=2, updates=200, progress=True)
    assert (
        found.values()[:, 1].max()
        > train(MAZE, ORDER, HillClimber(noise=0.0), seeds=2, updates=200).values()[:, 1].max()
    )
    found.save(tmp_path / "own")
    with pytest.raises(ValueError, match=r"^learner: .* was trained by 'HillClimber'"):
        load(tmp_path / "own")
    assert_same(load(tmp_path / "own", learner), found)
    assert callable(progress_metrics)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": "maze"}, r"^task: expected an MDP"),
        ({"order": Order([1.0, 2.0])}, r"^order: has 3 objectives .* the model has 2"),
        ({"learner": object()}, r"^learner: .* has no traced, batch"),
        ({"seeds": 0}, r"^seeds: must be a whole number of at least 1, got 0"),
        ({"seeds": 1.5}, r"^seeds: must be a whole number of at least 1, got 1.5"),
        ({"episodes": 5}, r"^updates, episodes, steps: give one"),
        ({"updates": None, "steps": 5}, r"^steps: batches of whole episodes have any number"),
        ({"rewards": max}, r"^rewards: are for PPO and A2C"),
        ({"updates": 0}, r"^updates: must be a whole number of at least 1, got 0"),
        ({"updates": 3.0}, r"^updates: must be a whole number of at least 1, got 3.0"),
        ({"updates": None, "episodes": 2.5}, r"^episodes: must be a whole number"),
        ({"snapshots": -1}, r"^snapshots: must be a whole number of at least 0, got -1"),
        ({"snapshots": 1.5}, r"^snapshots: must be a whole number of at least 0, got 1.5"),
        ({"log_every": 0}, r"^log_every: must be a whole number of at least 1, got 0"),
        ({"updates": 2**31}, r"^updates: at most 2147483647 are counted"),
        ({"log_every": 1.5}, r"^log_every: must be a whole number of at least 1, got 1.5"),
        ({"seed": None}, r"^seed: expected a whole number or a jax.random key, got None"),
        ({"seed": 2**32}, r"^seed: must be from 0 to 2³²−1, got 4294967296"),
        ({"seed": -1}, r"^seed: must be from 0 to 2³²−1, got -1"),
        ({"seed": jax.random.split(jax.random.key(0))}, r"^seed: expected one .* shape \(2,\)"),
        ({"checkpoint": 3}, r"^checkpoint: expected a path, got 3"),
        ({"checkpoint": "/dev/null/run"}, r"^checkpoint: cannot write to '/dev/null/run': "),
        ({"checkpoint": "/"}, r"^checkpoint: cannot write to '/': it is a folder"),
        ({"features": "x"}, r"^features: expected numbers of shape \[9, D\], got 'x'"),
        ({"resume": True}, r"^resume: needs the checkpoint"),
        ({"features": np.ones((3, 2))}, r"^features: expected finite numbers of shape \[9, D\]"),
    ],
)
def test_mistakes_are_named_before_any_work(changes, message):
    arguments = {"task": MAZE, "order": ORDER, "learner": LEARNER, "updates": 5, **changes}
    with pytest.raises(ValueError, match=message):
        inspect.unwrap(train)(**arguments)


def test_variants_must_share_their_form():
    with pytest.raises(ValueError, match=r"^variants: learners may differ in delta, gamma"):
        train_many(MAZE, [(ORDER, LEARNER), (ORDER, replace(LEARNER, batch=3))], updates=5)
    with pytest.raises(ValueError, match=r"^variants: need at least one"):
        train_many(MAZE, [], updates=5)
    with pytest.raises(ValueError, match=r"^checkpoint: is for train"):
        train_many(MAZE, [(ORDER, LEARNER)], updates=5, checkpoint="x")


def test_episodes_are_rounded_up_to_updates():
    assert run(seeds=1, episodes=9).updates == 5


@pytest.mark.slow
def test_without_a_learner_it_does_what_the_command_does(monkeypatch):
    command = {field.name: field.default for field in fields(Train)}
    assert command["learner"] == "ppo"
    assert command["episodes"] is command["steps"] is None  # both leave it to the plan
    monkeypatch.setattr(_plan, "EPISODES", 50)
    found = train(MAZE, ORDER)
    assert found.seeds == command["seeds"]
    assert found.learner == PPO(max_steps=PPO.usual_steps)  # the cap that was taken is told
    assert found.updates == -(-50 // PPO().batch)
