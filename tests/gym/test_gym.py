import sys
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from scipy import stats

from lexicone.gym._env import MDPEnv, MDPVectorEnv, register_tasks
from lexicone.models._mdp import MDP
from lexicone.tasks import TASKS, garnet, make, maze, space_traders
from tests.helpers.environments import FreshInfo

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what pygame says about its own imports
    from mo_gymnasium.wrappers.vector.wrappers import MOSyncVectorEnv
    from mo_gymnasium.wrappers.wrappers import LinearReward


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("render_mode", ["ansi", "rgb_array"])
def test_gymnasiums_checker_through_mo_gymnasiums_scalarisation(name, render_mode):
    env = MDPEnv(make(name), max_steps=30, render_mode=render_mode)
    weights = np.full(env.reward_dim, 1 / env.reward_dim)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*is different from the unwrapped version")
        warnings.filterwarnings("ignore", message=".*not able to test alternative render modes")
        scalar = LinearReward(env, weight=weights)
        check_env(FreshInfo(scalar), skip_render_check=False)


@pytest.mark.parametrize("name", TASKS)
def test_conventions_of_mo_gymnasium(name):
    env = MDPEnv(make(name), max_steps=30)
    assert env.reward_space.shape == (env.reward_dim,)
    assert env.unwrapped is env
    observation, info = env.reset(seed=1)
    assert env.observation_space.contains(observation)
    assert info == {}
    env.action_space.seed(1)
    for _ in range(200):
        observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        assert env.observation_space.contains(observation)
        assert env.reward_space.contains(reward)
        assert reward.dtype == np.float32
        assert not (terminated and truncated)
        if terminated or truncated:
            env.reset()


def test_a_reward_space_that_is_too_small_would_be_noticed():
    env = MDPEnv(maze("extended", objectives="path"))
    assert env.reward_space.low.tolist() == [-5, -1]
    assert env.reward_space.high.tolist() == [1, 0]
    assert not env.reward_space.contains(np.array([-6, 0], dtype=np.float32))


def test_seeds_decide_everything():
    def walk(seed):
        env = MDPEnv(garnet(30, 3, 4))
        states = [env.reset(seed=seed)[0]]
        return states + [env.step(np.int64(i % 3))[0] for i in range(50)]

    assert walk(3) == walk(3)
    assert walk(3) != walk(4)


def test_truncation_and_termination():
    env = MDPEnv(maze("S..G"), max_steps=3)
    env.reset()
    ends = [env.step(np.int64(3))[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (True, False)]
    env.reset()
    ends = [env.step(np.int64(0))[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]


def test_frequencies_of_the_table():
    mdp = space_traders()
    env = MDPEnv(mdp)
    lost = 0
    for episode in range(2000):
        env.reset(seed=0 if episode == 0 else None)
        lost += int(env.step(np.int64(1))[0]) == 3
    assert stats.binomtest(lost, 2000, 0.1).pvalue > 1e-4


def test_begin_in_a_given_state():
    env = MDPEnv(maze("small"))
    assert env.reset(options={"state": 4})[0] == 4
    with pytest.raises(
        ValueError, match=r"^options\['state'\]: expected a whole number from 0 to 8, got 99"
    ):
        env.reset(options={"state": 99})


def test_rendering():
    mdp = maze("small")
    env = MDPEnv(mdp, render_mode="ansi")
    env.reset()
    assert env.render() == ".G.\nHH.\n.@.\nstate 7 '(1,0)'"
    env.step(np.int64(3))
    assert env.render() == ".G.\nHH.\n.S@\nstate 8 '(2,0)'"
    picture = MDPEnv(mdp, render_mode="rgb_array")
    picture.reset()
    first = picture.render()
    assert first.dtype == np.uint8
    assert first.shape == (72, 72, 3)
    picture.step(np.int64(3))
    changed = (picture.render() != first).any(axis=-1)
    assert changed[48:, 24:].any()
    assert not changed[:48].any()
    assert MDPEnv(mdp).render() is None
    named = MDPEnv(space_traders(), render_mode="ansi")
    named.reset()
    assert named.render() == "state 0 'A'"


def test_errors_name_the_argument():
    mdp = maze("small")
    with pytest.raises(ValueError, match=r"^max_steps: must be at least 1"):
        MDPEnv(mdp, max_steps=0)
    with pytest.raises(ValueError, match=r"^render_mode: expected one of ansi, rgb_array"):
        MDPEnv(mdp, render_mode="human")
    with pytest.raises(ValueError, match=r"^num_envs: must be at least 1"):
        MDPVectorEnv(mdp, 0)
    env, many = MDPEnv(mdp), MDPVectorEnv(mdp, 2)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.int64(0))
    with pytest.raises(gymnasium.error.ResetNeeded):
        many.step(np.zeros(2, dtype=int))
    env.reset()
    many.reset()
    with pytest.raises(ValueError, match=r"^action: expected a whole number from 0 to 3, got 4"):
        env.step(4)
    with pytest.raises(ValueError, match=r"^action: expected a whole number from 0 to 3"):
        env.step(2**63)
    with pytest.raises(ValueError, match=r"^actions: expected 0 to 3"):
        many.step(np.array([0, 4]))
    with pytest.raises(ValueError, match=r"^actions: expected 2 whole numbers"):
        many.step(np.array([0.0, 1.0]))
    with pytest.raises(ValueError, match=r"^options\['reset_mask'\]: expected shape \(2,\)"):
        many.reset(options={"reset_mask": np.ones(3, dtype=bool)})


def test_the_vector_environment_is_many_single_ones():
    """The same steps as MO-Gymnasium's own vector of copies, in a deterministic model."""
    mdp = maze("concave", objectives="path")
    ours = MDPVectorEnv(mdp, 5, max_steps=12)
    factories: Any = [lambda: MDPEnv(mdp, max_steps=12) for _ in range(5)]
    copies = MOSyncVectorEnv(factories)
    assert ours.observation_space == copies.observation_space
    assert ours.action_space == copies.action_space
    np.testing.assert_array_equal(ours.reset(seed=0)[0], copies.reset(seed=0)[0])
    ended = 0
    for actions in np.random.default_rng(0).integers(4, size=(300, 5)):
        one, other = ours.step(actions), copies.step(actions)
        for a, b in zip(one[:4], other[:4], strict=True):
            np.testing.assert_array_equal(a, b)
        ended += int(one[2].sum())
        assert one[1].dtype == np.float32
    assert ended > 0


def test_the_vector_environment_draws_independently_and_by_seed():
    many = MDPVectorEnv(space_traders(), 4000)
    many.reset(seed=1)
    states = many.step(np.ones(4000, dtype=int))[0]
    assert stats.binomtest(int((states == 3).sum()), 4000, 0.1).pvalue > 1e-4
    many.reset(seed=1)
    np.testing.assert_array_equal(many.step(np.ones(4000, dtype=int))[0], states)


def test_some_copies_can_be_reset_alone():
    many = MDPVectorEnv(maze("S..G"), 3, render_mode="ansi")
    many.reset()
    many.step(np.full(3, 3))
    states, _ = many.reset(options={"reset_mask": np.array([True, False, False])})
    assert states.tolist() == [0, 1, 1]
    assert many.render()[0].startswith("@")


def test_tasks_are_registered():
    register_tasks()
    env = gymnasium.make(
        "lexicone/maze-v0", drawing="extended", objectives="path", disable_env_checker=True
    )
    made = env.unwrapped
    assert isinstance(made, MDPEnv)
    assert made.mdp.num_states == 20
    many = gymnasium.make_vec(
        "lexicone/space-traders-v0", num_envs=3, vectorization_mode="vector_entry_point"
    )
    assert many.reset(seed=0)[0].tolist() == [0, 0, 0]


# the other way: a model from an environment


class Hidden(gymnasium.Env):
    """An environment of ours that does not show its model."""

    def __init__(self, mdp):
        self.inner = MDPEnv(mdp)
        self.observation_space = self.inner.observation_space
        self.action_space = self.inner.action_space

    def reset(self, *, seed=None, options=None):
        observation = self.inner.reset(seed=seed)
        self.np_random = self.inner.np_random
        return observation

    def step(self, action):
        return self.inner.step(action)


@pytest.mark.parametrize("name", ["maze", "maze:early-late", "road_trip", "deep_sea_treasure"])
def test_there_and_back(name):
    mdp = make(name)
    listed = MDP.from_gym(Hidden(mdp))
    order = [int(name) for name in listed.state_names or ()]
    assert sorted(order) == np.flatnonzero(mdp.reachable()).tolist()
    np.testing.assert_array_equal(np.array(order)[listed.next_state], mdp.next_state[order])
    np.testing.assert_allclose(listed.reward, mdp.reward[order], rtol=1e-6)
    np.testing.assert_array_equal(listed.initial, mdp.initial[order])


def test_a_model_that_is_shown_is_taken_and_a_hidden_random_one_refused():
    mdp = space_traders()
    assert MDP.from_gym(MDPEnv(mdp)) is mdp
    with pytest.raises(ValueError, match=r"^env: action 0 in state 0 has a random outcome"):
        MDP.from_gym(Hidden(mdp))


def test_exposed_dynamics():
    env = gymnasium.make("FrozenLake-v1", is_slippery=True)
    mdp = MDP.from_gym(env)
    assert mdp.num_states == 16
    assert mdp.terminal.sum() == 5  # four holes and the goal
    lake: Any = env.unwrapped
    table, number = lake.P, [int(name) for name in mdp.state_names or ()]
    for s, a in np.ndindex(mdp.num_states, mdp.num_actions):
        if mdp.terminal[s]:
            continue
        ours, listed = np.zeros(16), np.zeros(16)
        np.add.at(ours, np.array(number)[mdp.next_state[s, a]], mdp.probability[s, a])
        for p, after, _, _ in table[number[s]][a]:
            listed[after] += p
        np.testing.assert_allclose(ours, listed)
    taxi = MDP.from_gym(gymnasium.make("Taxi-v4"))
    assert (taxi.num_states, int((taxi.initial > 0).sum())) == (404, 300)
    assert taxi.reward.min() == -10


class Corridor(gymnasium.Env):
    """Walks on a line; in its middle an episode ends only if it is entered by a jump."""

    def __init__(self, random: bool = False, start: int | None = 0):
        self.observation_space = gymnasium.spaces.Discrete(4)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.random, self.start, self.at = random, start, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = int(self.np_random.integers(2)) if self.start is None else self.start
        return self.at, {}

    def step(self, action):
        length = 1 + action
        if self.random and self.at == 1:
            length = int(self.np_random.integers(1, 3))
        self.at = min(self.at + length, 3)
        return self.at, -1.0, self.at == 3 or (self.at == 2 and action == 1), False, {}


def test_a_state_where_an_episode_may_end_or_go_on_appears_twice():
    mdp = MDP.from_gym(Corridor(), objective_names=("time",), action_names=("walk", "jump"))
    names = mdp.state_names
    assert names is not None
    assert set(names) == {"0", "1", "2", "2 (end)", "3"}
    assert {names[s] for s in np.flatnonzero(mdp.terminal)} == {"2 (end)", "3"}
    assert mdp.objective_names == ("time",)


@pytest.mark.parametrize(
    ("env", "options", "message"),
    [
        (Corridor(random=True), {}, r"^env: action 0 in state 1 has a random outcome"),
        (Corridor(start=None), {}, r"^env: starts at random"),
        (Corridor(), {"max_states": 3}, r"^max_states: .*more than 3 states"),
        (gymnasium.make("Pendulum-v1"), {}, r"^env: expected a discrete action space"),
    ],
)
def test_what_cannot_be_enumerated_says_why(env, options, message):
    with pytest.raises(ValueError, match=message):
        MDP.from_gym(env, **options)


def test_without_gymnasium_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    for name in ("lexicone.gym", "lexicone.gym._env", "lexicone.gym._budget"):
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError, match=r"pip install 'lexicone\[gym\]'"):
        import lexicone.gym  # noqa: F401
