"""An environment with names for its rewards: they are matched with the order's, in training and in the wrapper."""

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from mo_gymnasium.wrappers.vector.wrappers import MOSyncVectorEnv

from lexicone.gym import BudgetObservation, MDPEnv, make_vector_env
from lexicone.learning._environments import open_env, open_task, source_of
from lexicone.learning._open_world import open_world
from lexicone.learning._play import play
from lexicone.learning._saved import load
from lexicone.learning._train import train
from lexicone.learning.algos._ppo import PPO
from lexicone.order import Order, at_most
from lexicone.tasks import maze
from tests.helpers.bets import LEARNER, Wager, altered
from tests.helpers.small_worlds import Bets

Named = altered(reward_names=("risk", "win"))
TURNED = Order({"win": 0.5, "risk": None})


def rewards(opened):
    """Of four bets."""
    envs = [opened.source.make() for _ in range(4)]
    return play(opened, envs, lambda rows, time: np.ones(len(rows), int), range(4), 2).reward[0]


def test_rewards_come_in_the_sequence_of_the_order():
    plain = rewards(open_task(Named, None, Order([-0.25])))
    opened = open_task(Named, None, TURNED)
    assert opened.facts.reward_names == ("win", "risk")
    np.testing.assert_array_equal(rewards(opened), plain[:, ::-1])
    assert plain[:, 0].min() == -1.0
    assert plain[:, 1].max() == 2.0
    np.testing.assert_array_equal(
        rewards(open_env(source_of(Named)).matched(TURNED)), plain[:, ::-1]
    )


def test_other_names_are_refused():
    with pytest.raises(
        ValueError, match=r"^order: has the objectives win, loss, but .*Altered has risk, win"
    ):
        open_task(Named, None, Order({"win": 0.5, "loss": None}))
    nameless = open_task(Wager, None, Order({"win": 0.5, "loss": None}))
    assert nameless.facts.reward_names is None


@pytest.mark.slow
def test_a_training_keeps_the_sequence(tmp_path):
    trained = train(Named, TURNED, LEARNER, seeds=1, updates=1)
    trained.save(tmp_path / "training.safetensors")
    again = load(tmp_path, task=Named)  # a folder, as `lexicone evaluate` takes it
    found = again.evaluate(20)
    np.testing.assert_array_equal(found.returns, trained.evaluate(20).returns)
    assert found.returns[..., 0].max() > 0  # to win comes first now
    assert found.returns[..., 1].max() == 0


class NamedBets(Bets):
    reward_names = ("risk", "win")


SEGMENTS = PPO(hidden=(), copies=4, length=8, epochs=1)


@pytest.mark.slow
@pytest.mark.parametrize("task", [Named, NamedBets()])
def test_segments_keep_the_sequence_too(task, tmp_path):
    """By hand: what is won is at least 0, and what is risked at most 0."""
    trained = train(task, TURNED, SEGMENTS, seeds=1, updates=1)
    assert trained.facts.reward_names == ("win", "risk")
    found = trained.evaluate(40)
    assert found.returns[..., 0].max() == 2.0
    assert found.returns[..., 1].min() == -1.0
    assert (trained.history["returns"][0, 0, 0] > 0) & (trained.history["returns"][0, 0, 1] < 0)
    trained.save(tmp_path / "training.safetensors")
    again = load(tmp_path, task=task)
    assert again.facts == trained.facts
    np.testing.assert_array_equal(again.evaluate(40).returns, found.returns)
    plain = train(task, [-0.25], SEGMENTS, seeds=1, updates=1)
    assert plain.evaluate(40).returns[..., 0].min() == -1.0


@pytest.mark.parametrize("task", [Named, NamedBets()])
def test_segments_refuse_other_names(task):
    with pytest.raises(
        ValueError, match=r"^order: has the objectives win, loss, but .* has risk, win"
    ):
        train(task, {"win": 0.5, "loss": None}, SEGMENTS)


@pytest.mark.slow
def test_rewards_of_ones_own_have_the_names_of_the_order():
    def rewards(before: Any, action: Any, after: Any) -> Any:
        return [0.0, 1.0]

    found = train(Named, {"cost": 0.5, "gain": None}, SEGMENTS, seeds=1, updates=1, rewards=rewards)
    assert found.facts.reward_names is None
    assert found.evaluate(3).returns.tolist() == [[[0.0, 1.0]] * 3]


def test_vectors_name_their_rewards():
    vector = make_vector_env("maze:concave", 4)
    names = maze("concave").objective_names
    assert names is not None
    assert open_world(vector, 2).facts.reward_names == names
    space = spaces.Box(-1.0, 2.0, (2,))
    copies = MOSyncVectorEnv(iter([altered(reward_names=("risk", "win"), reward_space=space)] * 2))
    assert open_world(copies, 2).matched(TURNED).facts.reward_names == ("win", "risk")


@pytest.mark.slow
def test_costs_are_said_in_their_own_units():
    """At most 1 of a cost is a return of at least −1; per step a horizon is needed."""
    order = Order({"risk": at_most(0.25), "win": None})
    found = train(Named, order, SEGMENTS, seeds=1, updates=1)
    assert found.problem.thresholds.tolist() == [-0.25]
    with pytest.raises(ValueError, match=r"horizon"):
        train(Named, {"risk": at_most(0.25, per_step=True), "win": None}, SEGMENTS)


def test_models_name_the_rewards_of_their_environments():
    mdp = maze("concave")
    assert MDPEnv(mdp).reward_names == mdp.objective_names
    assert make_vector_env("maze:concave").reward_names == mdp.objective_names


def test_budgets_in_the_sequence_of_the_order():
    mdp = maze("extended", objectives="path")
    env = BudgetObservation(MDPEnv(mdp), {"time": -6.0, "tiles+goal": None})
    assert env.reward_names == ("time", "tiles+goal")
    assert env.reset(seed=0)[1]["budget"].tolist() == [6.0]
    _, reward, _, _, info = env.step(0)
    assert reward[0] == -1.0
    assert info["budget"].tolist() == [5.0]
    assert env.reward_space.contains(reward)
    with pytest.raises(
        ValueError,
        match=r"^order: has the objectives time, tiles, but the environment has tiles\+goal, time",
    ):
        BudgetObservation(MDPEnv(mdp), {"time": -6.0, "tiles": None})
