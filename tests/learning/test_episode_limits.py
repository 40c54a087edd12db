"""How long episodes of an environment are: as long as it says, and where a setting cuts them off, that is said."""

import warnings
from typing import Any

import numpy as np
import pytest
from gymnasium.wrappers import TimeLimit

from lexicone.gym._env import MDPEnv
from lexicone.learning._environments import open_env, source_of
from lexicone.learning._train import train
from lexicone.learning.algos._ppo import PPO
from lexicone.learning.algos._reinforce import Reinforce
from lexicone.order import Order
from lexicone.tasks import maze
from tests.helpers.bets import Wager, altered

ORDER, LIMIT = Order([0.0]), 130
SHORT: dict[str, Any] = {"hidden": (), "copies": 1, "length": LIMIT, "epochs": 1, "minibatches": 1}


def endless(self: Any, action: int) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
    return np.array([self.x], np.float32), np.array([0.0, 1.0]), False, False, {}


Endless = altered(step=endless)


def limited() -> Any:
    return TimeLimit(Endless(), LIMIT)


def trained(task: Any, learner: Any) -> Any:
    return train(task, ORDER, learner, seeds=1, updates=1)


@pytest.mark.parametrize(
    ("task", "limit"),
    [
        ("mo-mountaincar-v0", 200),
        (limited, LIMIT),
        (lambda: TimeLimit(limited(), 20), 20),
        (Endless, None),
        (lambda: MDPEnv(maze("small"), max_steps=7), 7),
    ],
)
def test_an_environment_says_how_long_its_episodes_are(task, limit):
    assert open_env(source_of(task)).limit == limit


@pytest.mark.slow
@pytest.mark.parametrize("learner", [PPO(**SHORT), Reinforce(hidden=(), dropout=0.0)])
def test_episodes_are_as_long_as_the_environment_has_them(learner):
    found = trained(limited, learner)
    assert found.learner.max_steps == LIMIT
    assert found.history["episodes"][..., -1].item() == 1
    assert found.evaluate(1).lengths.tolist() == [[LIMIT]]


@pytest.mark.slow
def test_a_setting_below_the_limit_is_reported_before_any_work():
    with pytest.warns(
        UserWarning, match=r"^max_steps: Altered has episodes of up to 130 steps.* after 9$"
    ):
        found = trained(limited, PPO(**SHORT, max_steps=9))
    assert found.history["episodes"].tolist() == [[LIMIT // 9]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trained(limited, PPO(**SHORT, max_steps=LIMIT + 1))


@pytest.mark.slow
def test_where_no_limit_is_known_the_learners_own_is_reported_when_it_cuts():
    with pytest.warns(UserWarning, match=r"^max_steps: Altered states no limit.* after 200 steps"):
        trained(Endless, Reinforce(hidden=(), dropout=0.0))
    with pytest.warns(UserWarning, match=r"^max_steps: Altered states no limit.* after 1000 steps"):
        trained(Endless, PPO(**{**SHORT, "length": 1000}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trained(Wager, PPO(**SHORT))  # ends by itself
        trained(Endless, PPO(**SHORT, max_steps=9))  # was asked for
