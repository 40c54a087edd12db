"""An environment with names for its rewards: they are matched with the order's, in training and in the wrapper."""

import numpy as np
import pytest

from lexicone.gym import BudgetObservation, MDPEnv, make_vector_env
from lexicone.learning._environments import open_env, open_task, source_of
from lexicone.learning._play import play
from lexicone.learning._saved import load
from lexicone.learning._train import train
from lexicone.order import Order
from lexicone.tasks import maze
from tests.helpers.bets import LEARNER, Wager, altered

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
