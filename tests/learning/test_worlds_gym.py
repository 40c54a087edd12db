"""Segments from environments that are Python code: copies, vectors, files, and what can go wrong."""

import dataclasses
import json
import math
import subprocess
import sys
from typing import Any, cast

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from mo_gymnasium.wrappers.vector.wrappers import MOSyncVectorEnv

from lexicone.learning._open_world import open_world
from lexicone.learning._play_world import play_episodes
from lexicone.learning._policy_file import load_policy
from lexicone.learning._saved import load
from lexicone.learning._spaces import describe_observations, flatten, read_actions
from lexicone.learning._train import train
from lexicone.learning._worlds_gym import make_copies
from lexicone.learning.algos._ppo import PPO
from lexicone.order import Order
from tests.helpers.compilations import compiled_by
from tests.helpers.interruption import killed_after
from tests.helpers.small_worlds import Counter
from tests.helpers.trainings import assert_same

LEARNER = PPO(hidden=(4,), copies=3, length=8, epochs=1, minibatches=2)
ORDER = Order([0.0])
HALF_OPEN = spaces.Box(np.array([0, -np.inf], np.float32), np.array([4, 1], np.float32))


def learn(task: Any = Counter, **options: Any) -> Any:
    return train(task, ORDER, LEARNER, **{"seeds": 2, "updates": 6, **options})


@pytest.fixture(scope="module")
def counted():
    return learn()


def opened(task: Any) -> Any:
    return open_world(task, 2, dtype="float64")


def steps(task: Any, count: int, chosen: float = 0.5) -> list[Any]:
    """What two copies of one run give."""
    copies = make_copies(opened(task), [0], 1, 2, 100)
    copies.begin()
    found = []
    for _ in range(count):
        rows = copies.rows.copy()
        found.append((rows, copies.step(np.full((2, 1), chosen))))
    copies.close()
    return found


def test_copies_begin_anew_and_keep_their_final_observation():
    found = steps(Counter, 5)
    times = np.array([rows[:, 1] for rows, _ in found])
    np.testing.assert_array_equal(times, [[t] * 2 for t in (0, 1, 2, 0, 1)])
    after = np.array([step.following[:, 1] for _, step in found])
    np.testing.assert_array_equal(after, [[t] * 2 for t in (1, 2, 3, 1, 2)])
    ends = np.array([step.ended for _, step in found])
    np.testing.assert_array_equal(ends, [[t == 2] * 2 for t in range(5)])
    odd = found[2][0][:, 0] % 2 == 1
    np.testing.assert_array_equal(found[2][1].terminated, odd)
    np.testing.assert_allclose([step.reward[:, 1] for _, step in found], 2.0)  # ½ of −1 … 3
    assert len({rows[0, 0] for rows, _ in found}) == 2  # another episode, another seed


@pytest.mark.parametrize("mode", ["NEXT_STEP", "SAME_STEP", "DISABLED"])
def test_vectors_of_the_users_own_say_the_same(mode):
    class Vector(MOSyncVectorEnv):
        pass

    def make() -> Any:
        if mode == "NEXT_STEP":
            return Vector(iter([Counter, Counter]))
        kind = gymnasium.vector.AutoresetMode[mode]
        one = lambda: gymnasium.wrappers.TransformReward(Counter(), lambda r: cast(Any, r)[0])  # noqa: E731
        return gymnasium.vector.SyncVectorEnv([one, one], autoreset_mode=kind)

    rewards = None if mode == "NEXT_STEP" else lambda before, action, after: [after[1], action[0]]
    world = open_world(make, 2, rewards=rewards, dtype="float64")
    copies = make_copies(world, [0], 1, 2, 100)
    copies.begin()
    found = [copies.step(np.full((2, 1), 0.5)) for _ in range(7)]
    after = [step.following[0, 1] for step in found if step.valid[0]]
    assert after == ([1, 2, 3] * 3)[: len(after)]
    assert len(after) == (6 if mode == "NEXT_STEP" else 7)
    paid = [step.reward[0].tolist() for step in found if step.valid[0]]
    assert paid == [[time, 2.0] for time in after]
    assert [bool(step.ended[0]) for step in found if step.valid[0]] == [t == 3 for t in after]
    copies.close()


@pytest.mark.slow
def test_a_killed_run_resumes_to_the_same_end(tmp_path, counted):
    path = tmp_path / "run.safetensors"
    with killed_after(2):
        learn(checkpoint=path, updates=12)
    half = load(path, task=Counter)
    assert 0 < int(half.run.update) < 12
    half.save(path)  # nothing is lost on the way
    assert_same(learn(checkpoint=path, resume=True, updates=12), learn(updates=12))
    with pytest.raises(ValueError, match=r"is of another training: its key is"):
        learn(checkpoint=path, resume=True, updates=12, seed=1)


@pytest.mark.slow
def test_nothing_is_compiled_for_other_lengths_thresholds_or_budgets(counted):
    """Nothing at all, also beside the two large programs; other networks are other programs."""

    class Longer(Counter):
        def step(self, action: Any) -> Any:
            *found, _ = super().step(action)
            end = self.time >= 3 + self.seed % 7
            return *found[:2], end, False, {}

    assert compiled_by(lambda: train(Longer, Order([3.0]), LEARNER, seeds=2, updates=17)) == 0
    wider = dataclasses.replace(LEARNER, hidden=(5,))
    assert compiled_by(lambda: train(Longer, Order([3.0]), wider, seeds=2, updates=1)) > 0


def test_saved_loaded_and_exported(tmp_path, counted):
    path, small = tmp_path / "run.safetensors", tmp_path / "policy.safetensors"
    counted.save(path)
    again = load(path, task=Counter)
    assert_same(again, counted)
    np.testing.assert_array_equal(again.evaluate(7).returns, counted.evaluate(7).returns)
    with pytest.raises(ValueError, match=r"^task: Counter was given to train"):
        load(path).evaluate(3)
    counted.export(small, seed=1)
    seen = np.array([3.0, 1.0])
    expected = counted.policy(1, greedy=True)(seen)
    code = (
        "import sys, json, lexicone as lx; p = lx.load_policy(sys.argv[1], greedy=True);"
        "print(json.dumps([p.act([3.0, 1.0]).tolist(), 'jax' in sys.modules]))"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, small], capture_output=True, text=True, check=True
    )
    assert json.loads(said.stdout) == [pytest.approx(expected.tolist()), False]
    assert load_policy(small, seed=3).act(seen) == load_policy(small, seed=3).act(seen)
    with pytest.raises(ValueError, match=r"holds no policy"):
        load_policy(path)
    policy = load_policy(small)
    for wrong, words in [([], "expected 2 numbers, got 0"), ([1.0, math.nan], "contains NaN")]:
        with pytest.raises(ValueError, match=rf"^observation: {words}"):
            policy.act(wrong)
    with pytest.raises(ValueError, match=r"^rows: expected shape \[N, 2\], got \(1, 3\)"):
        policy.outputs(np.zeros((1, 3)))


def test_evaluation_is_of_whole_episodes(counted):
    found = counted.evaluate(9)
    assert found.lengths.tolist() == [[3] * 9] * 2
    np.testing.assert_array_equal(found.returns[..., 0], 6.0)
    policy = counted.policy(0)
    returns, _, terminated = play_episodes(opened(Counter), policy, 40, 2, [0])
    np.testing.assert_array_equal(returns[:, 0], 3.0)  # cut off after 2 steps
    assert not terminated.any()


class _Breaks(Counter):
    kind = "raises"

    def step(self, action: Any) -> Any:
        observation, reward, *rest = super().step(action)
        if self.time == 3 and self.seed % 3 == 0:
            if self.kind == "raises":
                raise RuntimeError("the motor is off")
            if self.kind == "nan":
                reward = reward * np.nan
            if self.kind == "short":
                reward = reward[:1]
            if self.kind == "unseen":
                observation = observation * np.inf
        return observation, reward, *rest


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (
            "raises",
            r"failed in step, copy \d of run \d, update \d+, episode \d+, after 2 steps: Runtime",
        ),
        (
            "nan",
            r"gave a reward of objective \d that is not finite, .* in copy \d of run \d, update",
        ),
        ("unseen", r"gave an observation that is not finite"),
        (
            "short",
            r"^order: has 2 objectives, and Breaks pays rewards of shape \(1,\), in copy \d of run",
        ),
    ],
)
def test_what_goes_wrong_on_the_way_is_located_and_the_file_is_whole(kind, message, tmp_path):
    path = tmp_path / "run.safetensors"
    with pytest.raises(ValueError, match=message):
        learn(type("Breaks", (_Breaks,), {"kind": kind}), checkpoint=path, updates=50)
    assert int(load(path).run.update) < 50


def test_a_world_that_refuses_actions_and_has_a_mask_gets_a_hint():
    class Masked(_Breaks):
        def reset(self, **options: Any) -> Any:
            observation, info = super().reset(**options)
            return observation, {**info, "action_mask": [1, 0]}

    with pytest.raises(ValueError, match=r"failed in step, .* Its action_mask says what can be"):
        learn(Masked, updates=50)


@pytest.mark.slow
def test_a_copy_in_another_process_that_dies_is_reported():
    def make() -> Any:
        return gymnasium.vector.AsyncVectorEnv([_dies, _dies], context="spawn")

    with pytest.raises(
        ValueError, match=r"failed in step, in the vector of run 0, after \d+ steps"
    ):
        train(make, ORDER, LEARNER, seeds=1, updates=3, rewards=lambda b, a, n: [n[1], a[0]])


def _dies() -> Any:
    class Dies(Counter):
        def step(self, action: Any) -> Any:
            import os

            self.count = getattr(self, "count", 0) + 1
            if self.count > 9:
                os._exit(1)
            observation, _, *rest = super().step(action)
            return observation, 0.0, *rest

    return Dies()


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(-1, 1, (2, 2)),
        spaces.Discrete(3, start=1),
        spaces.MultiDiscrete([2, 3]),
        spaces.MultiBinary(3),
        spaces.Dict({"b": spaces.Discrete(2), "a": spaces.Tuple([spaces.Box(0, 1, (1,))])}),
    ],
)
def test_observations_are_flattened_as_gymnasium_does(space):
    space.seed(0)
    sample: Any = space.sample()
    np.testing.assert_allclose(
        flatten(describe_observations(space), sample), cast(Any, spaces.flatten(space, sample))
    )


def test_a_choice_below_the_first_is_none_of_the_last():
    description = describe_observations(spaces.Discrete(3, start=2))
    assert flatten(description, 4).tolist() == [0.0, 0.0, 1.0]
    with pytest.raises(ValueError, match="1 is below 2"):
        flatten(description, 1)


@pytest.mark.parametrize(
    ("space", "chosen", "taken"),
    [
        (spaces.Discrete(3, start=-1), [2], 1),
        (spaces.MultiDiscrete([2, 3], start=[5, 0]), [1, 2], [6, 2]),
        (spaces.MultiBinary(2), [1, 0], [1, 0]),
        (HALF_OPEN, [0.5, 3.0], [3.0, 1.0]),
        (spaces.Box(-1, 1, (2, 1)), [0.5, -7.0], [[0.5], [-1.0]]),
        ((-1.0, 3.0), [0.5], 2.0),
    ],
)
def test_actions_are_as_the_environment_takes_them(space, chosen, taken):
    spec = read_actions(space)
    found = spec.to_world(np.array([chosen]))[0]
    np.testing.assert_allclose(found, taken)
    assert not hasattr(space, "contains") or space.contains(found)


@pytest.mark.parametrize("bounds", [("a", "b"), (np.zeros(2), np.ones(3))])
def test_bounds_of_actions_are_numbers_that_fit(bounds):
    with pytest.raises(ValueError, match=r"^actions: has bounds .* that do not fit"):
        read_actions(bounds, "actions")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"observation_space": spaces.Box(0, 255, (8, 8, 3), np.uint8)},
            r"images as it seems.* as features",
        ),
        (
            {"observation_space": spaces.Dict(a=HALF_OPEN, b=spaces.Box(0, 1, (4, 4, 2)))},
            r"shape \(4, 4, 2\), images as it seems",
        ),
        ({"action_space": spaces.Text(3)}, r"^task: Altered: has actions Text"),
        (
            {"step": lambda self, action: (np.zeros(2), 1.0, True, False, {})},
            r"^order: has 2 objectives, .* shape \(\); rewards= makes them from \(observation, action",
        ),
    ],
)
def test_what_cannot_be_learned_in_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        learn(type("Altered", (Counter,), changes))


@pytest.mark.slow
def test_a_vector_serves_one_run():
    vector = MOSyncVectorEnv(iter([Counter] * 3))
    with pytest.raises(ValueError, match=r"^seeds: a VectorEnv serves one run, not 2"):
        learn(vector)
    assert learn(vector, seeds=None, updates=1).seeds == 1
