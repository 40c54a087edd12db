import inspect
import sys
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.wrappers import TransformObservation

from lexicone.learning._environments import copies, open_env, source_of
from lexicone.learning._play import play
from lexicone.learning._train import train, train_many
from lexicone.order import Order
from tests.helpers.bets import BETS, LEARNER, Wager, altered, bet


class Script(gymnasium.Env[dict[str, Any], int]):
    """Pays ``(time, seed)``, counts what it is told, and ends after ``seed`` steps, cut off where that is even."""

    observation_space = spaces.Dict({"time": spaces.Discrete(9), "seed": spaces.Box(0, 9, (1,))})
    action_space: Any = spaces.Discrete(4, start=-1)

    def __init__(self):
        self.taken: list[int] = []

    def seen(self):
        return {"time": self.time, "seed": np.array([self.seed], np.float32)}

    def reset(self, *, seed=None, options=None):
        self.seed, self.time = seed or 0, 0
        return self.seen(), {}

    def step(self, action: int) -> tuple[dict[str, Any], Any, bool, bool, dict[str, Any]]:
        self.taken.append(action)
        self.time += 1
        end = self.time == self.seed
        reward = [float(self.time), float(self.seed)]
        return self.seen(), reward, end and self.seed % 2 == 1, end and self.seed % 2 == 0, {}


def test_episodes_are_what_the_environments_do():
    opened = open_env(source_of(Script))
    assert (opened.facts.inputs, opened.facts.actions, opened.facts.objectives) == (10, 4, 2)
    with copies(opened, 4) as envs:
        played = play(opened, envs, lambda rows, time: np.arange(4), [1, 2, 3, 7], 5)
        assert [env.taken for env in envs] == [[-1], [0, 0], [1, 1, 1], [2] * 5]
    np.testing.assert_array_equal(played.alive.sum(axis=0), [1, 2, 3, 5])
    np.testing.assert_array_equal(played.terminated, [True, False, True, False])
    np.testing.assert_array_equal(played.reward.sum(axis=0), [[1, 1], [3, 4], [6, 9], [15, 35]])
    np.testing.assert_array_equal(played.seen[:, :, 0], [[1, 2, 3, 7]] * 6)  # the box comes first
    np.testing.assert_array_equal(played.seen[-1, :, 1:].argmax(axis=1), [1, 2, 3, 5])
    np.testing.assert_array_equal(played.seen[2, :, 1:].argmax(axis=1), [1, 2, 2, 2])


def test_a_class_that_asks_for_arguments_makes_nothing():
    class Sized(Script):
        def __init__(self, size):
            super().__init__()

    with pytest.raises(
        ValueError, match=r"^task: .*Sized cannot be called without arguments .*size"
    ):
        source_of(Sized)
    assert source_of(lambda: Sized(3)).id is None


def pays(*rewards):
    def step(self, action):
        self.count = getattr(self, "count", 0) + 1
        return np.zeros(1), rewards[min(self.count, len(rewards)) - 1], False, False, {}

    return altered(step=step)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": 3}, r"^task: expected an MDP, a Gymnasium environment, its id, or a function"),
        ({"task": "wager-v9"}, r"^task: expected an MDP or the id .* knows no 'wager-v9'"),
        ({"task": "deep-sea-tresure-v0"}, r"it knows deep-sea-treasure-v0"),
        ({"task": Wager()}, r"^task: Wager has no spec .* such as lambda: Wager\(…\)"),
        ({"task": dict}, r"^task: made a dict, not a gymnasium.Env"),
        ({"task": altered(action_space=spaces.Box(0, 1))}, r"^task: Altered has actions Box\("),
        (
            {"task": altered(observation_space=spaces.Sequence(spaces.Discrete(2)))},
            r"^task: Altered has observations Sequence.* as features",
        ),
        ({"order": Order([1.0, 2.0])}, r"^order: has 3 objectives, and Wager pays .* \(2,\)"),
        ({"task": pays(1.0)}, r"^order: has 2 objectives, and Altered pays .* of shape \(\)"),
        ({"task": pays([0, np.nan])}, r"^task: Altered gave a reward that is not finite"),
        ({"learner": object()}, r"^learner: .* has no traced, batch"),
        ({"learner": type("L", (), {"traced": (), "batch": 1, "max_steps": 1})()}, r"has no init"),
        ({"snapshots": 2}, r"^snapshots: only a model's"),
        ({"features": np.eye(3)}, r"^features: an environment takes a function"),
        ({"updates": 0}, r"^updates: must be a whole number of at least 1"),
        ({"resume": True}, r"^resume: needs the checkpoint"),
    ],
)
def test_mistakes_are_named_before_any_work(changes, message):
    arguments = {"task": Wager, "order": BETS, "learner": LEARNER, "updates": 5, **changes}
    task = changes.get("task")
    if task is not None and hasattr(task, "observation_space") and "Sequence" in message:
        arguments["features"] = None
    with pytest.raises(ValueError, match=message):
        inspect.unwrap(train)(**arguments)


def test_one_reward_is_one_objective():
    assert open_env(source_of(pays(1.0))).facts.objectives == 1


def test_what_goes_wrong_on_the_way_is_located():
    fine, zero = [0.0, 1.0], lambda rows, time: np.zeros(2, int)
    for task, message in (
        (pays(*[fine] * 12, [np.inf, 0.0]), r"reward .* in episode 1 of it, after 4 steps"),
        (pays(*[fine] * 12, [1.0]), r"^order: has 2 objectives, and Altered pays .* \(1,\)"),
    ):
        opened = open_env(source_of(task))
        with copies(opened, 2) as envs:
            envs[1].count = 9
            with pytest.raises(ValueError, match=message):
                play(opened, envs, zero, [0, 1], 9, " of it")
    opened = open_env(source_of(lambda: TransformObservation(Wager(), lambda x: x, None)))
    with copies(opened, 1) as envs:
        for func, message in (
            (lambda x: x * np.nan, r"observation .* in episode 0, after 0 steps"),
            (lambda x: np.repeat(x, 2), r"showed 2 numbers at one time and 1 at another"),
        ):
            envs[0].func = func
            with pytest.raises(ValueError, match=message):
                play(opened, envs, lambda rows, time: np.zeros(1, int), [0], 3)


def test_many_at_once_are_for_models():
    with pytest.raises(ValueError, match=r"^task: expected an MDP, got type; in environments"):
        inspect.unwrap(train_many)(Wager, [(BETS, LEARNER)], updates=5)


def test_an_environment_that_its_seed_does_not_settle_is_noted():
    def reset(self, *, seed=None, options=None):
        self.x = np.random.default_rng().random()
        return np.array([self.x], np.float32), {}

    assert open_env(source_of(altered(reset=reset))).facts.first_steps == "vary"
    assert open_env(source_of(Wager)).facts.first_steps != "vary"


def test_without_gymnasium_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(ImportError, match=r"pip install 'lexicone\[gym\]'"):
        bet(task="minecart-v0")
