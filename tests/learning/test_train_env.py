import importlib
import inspect
import json
import sys
from dataclasses import replace
from functools import partial

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tyro
from gymnasium import spaces
from gymnasium.wrappers import TransformObservation
from rich.console import Console

from lexicone.cli import _train as cli_train
from lexicone.cli._train import Evaluate, Train
from lexicone.directions._find_direction import Direction
from lexicone.exact._solve import solve
from lexicone.gym._env import MDPEnv
from lexicone.learning._collect_env import play
from lexicone.learning._environments import copies, open_world, source_of
from lexicone.learning._episodes import Episodes, collect
from lexicone.learning._learner import progress_metrics
from lexicone.learning._result import load, problem_of
from lexicone.learning._returns import nearly
from lexicone.learning._run import judge_episodes
from lexicone.learning._train import train, train_many
from lexicone.learning.algos._a2c import A2C
from lexicone.learning.algos._ppo import PPO
from lexicone.learning.algos._reinforce import Reinforce
from lexicone.models._evaluation import evaluate
from lexicone.order import Order
from lexicone.tasks import maze
from tests.helpers.interruption import killed_after

MDP = maze("small", objectives="path")
ORDER = Order([-4.0])


class Wager(gymnasium.Env):
    """One bet. Betting wins 1 of the second objective; with x > ½ it wins 2, but also costs 1 of the first."""

    observation_space = spaces.Box(0.0, 1.0, (1,), np.float32)
    action_space = spaces.Discrete(2, start=3)  # 3 passes, 4 bets

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = self.np_random.random()
        return np.array([self.x], np.float32), {}

    def step(self, action):
        assert self.action_space.contains(action)
        risky = self.x > 0.5
        reward = np.array([-1.0, 2.0]) if risky else np.array([0.0, 1.0])
        return np.array([self.x], np.float32), reward * (action == 4), True, False, {}


@pytest.fixture(autouse=True, scope="module")
def compile_quickly():
    """Compilation dominates here, and these programs are tiny."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def altered(**changes):
    """A `Wager` with other attributes; functions become its methods."""
    return type("Altered", (Wager,), changes)


def wide(observation):
    return 4 * observation - 2


WAGER = Reinforce(
    hidden=(),
    batch=64,
    max_steps=2,
    dropout=0.0,
    temperature=1.0,
    learning_rate=0.15,
    credit="normalized",
    active_constraints=True,
)
BETS, UPDATES = Order([-0.25]), 50


def bet(learner=WAGER, order=BETS, task=Wager, seeds=2, updates=UPDATES, features=wide, **options):
    return train(task, order, learner, seeds=seeds, updates=updates, features=features, **options)


@pytest.fixture(scope="module")
def bets():
    return bet()


def assert_same(first, second):
    """Bit for bit."""
    for ours, theirs in zip(jax.tree.leaves(first.run), jax.tree.leaves(second.run), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_bets_as_far_as_the_threshold_allows(bets):
    """By hand: what is safe, and half of what is risky, makes (−¼, 1)."""
    found = bets.evaluate(400)
    np.testing.assert_allclose(found.returns.mean(axis=1), [[-0.25, 1.0]] * 2, atol=0.15)
    np.testing.assert_allclose(found.success, 1 + found.returns[..., 0].mean(axis=1))
    assert found.terminated.all()


@pytest.mark.parametrize(("threshold", "best"), [(0.0, (0.0, 0.5)), (-5.0, (-0.5, 1.5))])
def test_other_thresholds_have_other_optima(threshold, best, bets):
    """The control: with the same key, nothing risky, or everything."""
    found = bet(order=Order([threshold])).evaluate(400).returns.mean(axis=1)
    np.testing.assert_allclose(found, [best] * 2, atol=0.15)


def test_a_run_depends_on_its_key_and_number_alone(bets):
    assert_same(bet(), bets)
    alone = bet(seeds=1)
    np.testing.assert_array_equal(alone.history["returns"][0], bets.history["returns"][0])
    for ours, theirs in zip(
        jax.tree.leaves(alone.run.states), jax.tree.leaves(bets.run.states), strict=True
    ):
        np.testing.assert_array_equal(ours[0], theirs[0])
    assert not np.allclose(bets.history["returns"][0], bets.history["returns"][1])
    other = bet(seeds=1, key=1, updates=5).history["returns"]
    assert not np.allclose(other, alone.history["returns"][:, :5])


def test_numbers_and_lengths_share_programs(bets):
    programs = importlib.import_module("lexicone.learning._compiled")
    before = programs.learn_from._cache_size(), programs.choose_actions._cache_size()
    bet(replace(WAGER, delta=0.3, gamma=0.5, entropy=0.1), Order([3.0]), seeds=1, updates=3)
    assert (programs.learn_from._cache_size(), programs.choose_actions._cache_size()) == before


def test_a_killed_run_resumes_to_the_same_end(tmp_path, bets, capsys):
    path = tmp_path / "run.safetensors"
    with killed_after(2):
        bet(checkpoint=path)
    half = load(path, task=Wager, features=wide)
    assert 0 < int(half.run.update) < UPDATES
    assert len(half.history["update"]) == int(half.run.update)
    assert_same(bet(checkpoint=path, resume=True, progress=True), bets)
    assert "objective 2" in capsys.readouterr().out
    for changes, named in (
        ({"features": lambda x: 3 * x}, "first_steps"),
        ({"task": altered()}, "environment"),
        ({"key": 3}, "key"),
    ):
        with pytest.raises(ValueError, match=rf"is of another training: its {named} is"):
            bet(**changes, checkpoint=path, resume=True)


def test_saved_and_loaded(tmp_path, bets):
    path = tmp_path / "run.safetensors"
    bets.save(path)
    again = load(path, task=Wager, features=wide)
    assert_same(again, bets)
    assert (again.order, again.learner, again.seeds) == (BETS, WAGER, 2)
    np.testing.assert_array_equal(again.evaluate(9).returns, bets.evaluate(9).returns)
    bare = load(path)
    assert bare.history["episodes"][-1] == UPDATES * 64  # needs no environment
    with pytest.raises(ValueError, match=r"^task: Wager was given to train as a function"):
        bare.policy(0)
    with pytest.raises(ValueError, match=r"^features: were a function"):
        load(path, task=Wager)
    with pytest.raises(ValueError, match=r"^task: is not like .*: its observations is Discrete"):
        load(path, task=lambda: MDPEnv(MDP), features=wide)


def test_history_means_what_it_says(bets):
    history = bets.history
    assert history["update"].tolist() == list(range(1, UPDATES + 1))
    np.testing.assert_array_equal(history["steps"], [np.arange(1, UPDATES + 1) * 64] * 2)
    np.testing.assert_array_equal(history["terminated"], 1)
    np.testing.assert_allclose(history["satisfied"][..., 0], 1 + history["returns"][..., 0])
    coarse = bet(seeds=1, updates=12, log_every=5).history
    assert coarse["update"].tolist() == [5, 10, 12]
    np.testing.assert_allclose(
        coarse["returns"][0, -1], history["returns"][0, 10:12].mean(axis=0), rtol=1e-12
    )


def test_evaluation_and_policies_are_the_same_thing(bets):
    few, many = bets.evaluate(5), bets.evaluate(40)
    np.testing.assert_array_equal(many.returns[:, :5], few.returns)
    assert not np.array_equal(bets.evaluate(40, seed=1).returns, many.returns)
    policy, greedy = bets.policy(1), bets.policy(1, greedy=True)
    x = np.array([0.5])
    share = policy.probabilities(x)
    taken = np.array([policy(x) for _ in range(1000)])
    assert set(taken) <= {3, 4}
    error = np.sqrt(share.prod() / 1000)
    assert abs((taken == 4).mean() - share[1]) < 4.5 * error + 1e-9
    assert {greedy(x) for _ in range(20)} == {3 + int(np.argmax(share))}
    with pytest.raises(ValueError, match=r"^seed: expected 0 to 1, got 2"):
        bets.policy(2)


class Script(gymnasium.Env):
    """Pays ``(time, seed)``, counts what it is told, and ends after ``seed`` steps, cut off where that is even."""

    observation_space = spaces.Dict({"time": spaces.Discrete(9), "seed": spaces.Box(0, 9, (1,))})
    action_space = spaces.Discrete(4, start=-1)

    def __init__(self):
        self.taken = []

    def seen(self):
        return {"time": self.time, "seed": np.array([self.seed], np.float32)}

    def reset(self, *, seed=None, options=None):
        self.seed, self.time = seed, 0
        return self.seen(), {}

    def step(self, action):
        self.taken.append(action)
        self.time += 1
        end = self.time == self.seed
        reward = [float(self.time), float(self.seed)]
        return self.seen(), reward, end and self.seed % 2 == 1, end and self.seed % 2 == 0, {}


def test_episodes_are_what_the_environments_do():
    world = open_world(source_of(Script))
    assert (world.facts.inputs, world.facts.actions, world.facts.objectives) == (10, 4, 2)
    with copies(world, 4) as envs:
        played = play(world, envs, lambda rows, time: np.arange(4), [1, 2, 3, 7], 5)
        assert [env.taken for env in envs] == [[-1], [0, 0], [1, 1, 1], [2] * 5]
    np.testing.assert_array_equal(played.alive.sum(axis=0), [1, 2, 3, 5])
    np.testing.assert_array_equal(played.terminated, [True, False, True, False])
    np.testing.assert_array_equal(played.reward.sum(axis=0), [[1, 1], [3, 4], [6, 9], [15, 35]])
    np.testing.assert_array_equal(played.seen[:, :, 0], [[1, 2, 3, 7]] * 6)  # the box comes first
    np.testing.assert_array_equal(played.seen[-1, :, 1:].argmax(axis=1), [1, 2, 3, 5])
    np.testing.assert_array_equal(played.seen[2, :, 1:].argmax(axis=1), [1, 2, 2, 2])


LEARNERS = {
    "ppo": PPO(hidden=(8,), batch=8, max_steps=12, rule="linear", epochs=3),
    "a2c": A2C(hidden=(8,), batch=8, max_steps=12, rule="linear", criterion="episode"),
    "reinforce": Reinforce(hidden=(8,), batch=8, max_steps=12, dropout=0.0, entropy=0.1),
}


@pytest.fixture(scope="module")
def walks():
    """Of a uniform policy in the maze."""
    policy = jnp.full((MDP.num_states, 4), 0.25)
    walk = partial(collect, problem_of(MDP, None, ORDER).env, policy, episodes=8, max_steps=12)
    episodes = jax.jit(walk)(jax.random.key(3))
    assert not episodes.alive.all()
    return episodes


@pytest.mark.parametrize("name", LEARNERS)
def test_the_update_is_the_tables(name, walks):
    """The same episodes, once by number of state and once as rows of features, leave the same parameters."""
    learner, episodes, problem = LEARNERS[name], walks, problem_of(MDP, None, ORDER)
    key = jax.random.key(5)
    seen = np.concatenate([episodes.state, np.asarray(episodes.last)[None]])
    number = np.arange(seen.size).reshape(seen.shape)
    rows = episodes._replace(state=number[:-1], last=number[-1])

    @jax.jit
    def learn(features, episodes):
        given = problem._replace(features=features)
        state = learner.init(given, key)
        return state, *learner.learn(given, state, episodes, key, jnp.asarray(0.25))

    one_hot = np.eye(MDP.num_states)
    unvisited = np.zeros((seen.size - MDP.num_states, MDP.num_states))  # one shape, one program
    by_number = episodes._replace(state=np.int64(episodes.state), last=np.int64(episodes.last))
    state, table, metrics = learn(np.concatenate([one_hot, unvisited]), by_number)
    _, ours, same = learn(one_hot[seen.reshape(-1)], rows)
    for one, other in zip(jax.tree.leaves(table), jax.tree.leaves(ours), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    for name, value in metrics.items():
        np.testing.assert_allclose(value, same[name], atol=1e-6)
    assert not np.allclose(table.policy.layers[0].weight, state.policy.layers[0].weight)
    _, wrong, _ = learn(one_hot[np.roll(seen.reshape(-1), 1)], rows)
    assert not np.allclose(table.policy.layers[0].weight, wrong.policy.layers[0].weight, atol=1e-4)


MAZE = ["lexicone/maze-v0", "--set", "drawing=small", "objectives=path", "--thresholds", "-4"]
SETTINGS = {
    "hidden": (),
    "batch": 16,
    "max_steps": 16,
    "dropout": 0.0,
    "temperature": 1.0,
    "learning_rate": 0.05,
    "credit": "normalized",
    "entropy": 0.3,
    "gamma": 0.9,
    "active_constraints": True,
}
CLI = [
    *MAZE,
    "--seeds=1",
    "--episodes=960",
    "--json",
    "--learner=reinforce",
    "--settings",
    *(f"{name}={value}".replace(" ", "") for name, value in SETTINGS.items()),
]


def run(command, arguments):
    return tyro.cli(command, args=arguments).run(Console(width=100))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("train")
    run(Train, [*CLI, "--out", str(out)])
    return out


def test_the_python_road_reaches_the_models_optimum(folder):
    exact = solve(MDP, ORDER)
    trained = load(folder / "training.safetensors")
    rows = np.eye(MDP.num_states)
    table = np.exp(trained.policy(0).log_table(rows))
    np.testing.assert_allclose(evaluate(MDP, table), exact.values, atol=0.3)
    np.testing.assert_allclose(table[3], trained.policy(0).probabilities(3))
    uniform = np.full_like(table, 0.25)
    assert (ORDER.gap(evaluate(MDP, uniform), exact.values) > 3).any()


def test_the_command_writes_and_judges(folder, capsys):
    names = {file.name for file in folder.iterdir()}
    assert {"training.safetensors", "results.json", "history.png"} <= names
    results = json.loads((folder / "results.json").read_text())
    assert results["environment"] == "lexicone/maze-v0"
    assert "gap" not in results
    run(Evaluate, [str(folder), "--episodes", "50", "--greedy"])
    out = " ".join(capsys.readouterr().out.split())
    assert "objective 1 ≥ -4" in out
    assert "Shares of 50 episodes (greedy actions)." in out
    assert "gap" not in out


def test_resume_knows_the_environment_again(folder, monkeypatch):
    monkeypatch.setattr(cli_train, "_draw", lambda *_: None)
    before = (folder / "training.safetensors").read_bytes()
    run(Train, [*CLI, "--out", str(folder), "--resume"])
    assert (folder / "training.safetensors").read_bytes() == before
    other = [text.replace("drawing=small", "drawing=extended") for text in CLI]
    with pytest.raises(
        ValueError, match="is of another training: its drawing is small, not extended"
    ):
        run(Train, [*other, "--out", str(folder), "--resume"])


def test_an_environment_with_a_spec_is_copied(folder):
    options = {"drawing": "small", "objectives": "path", "disable_env_checker": True}
    env = gymnasium.make("lexicone/maze-v0", **options)
    known = load(folder / "training.safetensors").facts
    assert open_world(source_of(env)).facts.first_steps == known.first_steps
    options["drawing"] = "extended"
    other = open_world(source_of(gymnasium.make("lexicone/maze-v0", **options)))
    assert other.facts.first_steps != known.first_steps
    wrapped = TransformObservation(env, lambda x: x, None)
    made = open_world(source_of(wrapped))
    assert made.facts.first_steps == known.first_steps
    unrecorded = type("Unrecorded", (gymnasium.Wrapper,), {})(env)
    with pytest.raises(ValueError, match=r"^task: MDPEnv cannot be made anew from its spec"):
        open_world(source_of(unrecorded))


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
    arguments = {"task": Wager, "order": BETS, "learner": WAGER, "updates": 5, **changes}
    task = changes.get("task")
    if task is not None and hasattr(task, "observation_space") and "Sequence" in message:
        arguments["features"] = None
    with pytest.raises(ValueError, match=message):
        inspect.unwrap(train)(**arguments)


def test_rewards_of_32_bits_meet_a_threshold_that_they_reach():
    returns = np.array([[[np.float32(0.7), 0.0], [0.6999, 0.0]]])
    assert returns[0, 0, 0] < 0.7
    found = judge_episodes(Order([0.7]), returns, np.ones((1, 2), int), np.ones((1, 2), bool))
    assert (found.satisfied.tolist(), found.success.tolist()) == ([[0.5]], [0.5])


def test_training_and_evaluation_agree_on_what_meets_a_threshold():
    """Also within rounding of what is just near enough."""

    def share(threshold, earned):
        zero, true = jnp.zeros((1, 1), jnp.int32), jnp.ones((1, 1), bool)
        reward = jnp.stack([earned, 0 * earned])[None, None]
        episodes = Episodes(zero, zero, reward, true, zero[0], true[0])
        return progress_metrics(episodes, threshold[None], none, jnp.eye(2))["satisfied"]

    with jax.enable_x64(False):
        none = Direction(jnp.zeros(2), jnp.int32(0), jnp.bool_(False), jnp.int32(0))
        in_training = jax.jit(jax.vmap(share, in_axes=(None, 0)))
        for threshold in (0.7, -1234.5, 1e6, 0.0):
            limit = np.asarray(nearly(jnp.asarray([threshold])))[0]
            returns = limit + np.spacing(limit) * np.arange(-20, 21, dtype=np.float32)
            rows = np.stack([returns, 0 * returns], axis=-1)[:, None]
            ones = np.ones((len(rows), 1), int)
            found = judge_episodes(Order([threshold]), rows, ones, ones > 0)
            np.testing.assert_array_equal(found.success, returns >= limit)
            np.testing.assert_array_equal(
                found.satisfied, in_training(jnp.float32(threshold), returns)
            )
            assert 0 < found.success.mean() < 1


def test_a_training_that_diverges_says_so():
    lost = bet(replace(WAGER, learning_rate=1e308), updates=4)
    assert lost.diverged.all()
    for use in (lost.policy, lost.evaluate):
        with pytest.raises(ValueError, match=r"^learner: the training of seed 0.* diverged"):
            use()


def test_one_reward_is_one_objective():
    assert open_world(source_of(pays(1.0))).facts.objectives == 1


def test_what_goes_wrong_on_the_way_is_located():
    fine, zero = [0.0, 1.0], lambda rows, time: np.zeros(2, int)
    for task, message in (
        (pays(*[fine] * 12, [np.inf, 0.0]), r"reward .* in episode 1 of it, after 4 steps"),
        (pays(*[fine] * 12, [1.0]), r"^order: has 2 objectives, and Altered pays .* \(1,\)"),
    ):
        world = open_world(source_of(task))
        with copies(world, 2) as envs:
            envs[1].count = 9
            with pytest.raises(ValueError, match=message):
                play(world, envs, zero, [0, 1], 9, " of it")
    world = open_world(source_of(lambda: TransformObservation(Wager(), lambda x: x, None)))
    with copies(world, 1) as envs:
        for func, message in (
            (lambda x: x * np.nan, r"observation .* in episode 0, after 0 steps"),
            (lambda x: np.repeat(x, 2), r"showed 2 numbers at one time and 1 at another"),
        ):
            envs[0].func = func
            with pytest.raises(ValueError, match=message):
                play(world, envs, lambda rows, time: np.zeros(1, int), [0], 3)


def test_many_at_once_are_for_models():
    with pytest.raises(ValueError, match=r"^task: expected an MDP, got type; in environments"):
        inspect.unwrap(train_many)(Wager, [(BETS, WAGER)], updates=5)


def test_an_environment_that_its_seed_does_not_settle_is_noted():
    def reset(self, *, seed=None, options=None):
        self.x = np.random.default_rng().random()
        return np.array([self.x], np.float32), {}

    assert open_world(source_of(altered(reset=reset))).facts.first_steps == "vary"
    assert open_world(source_of(Wager)).facts.first_steps != "vary"


def test_without_gymnasium_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(ImportError, match=r"pip install 'lexicone\[gym\]'"):
        bet(task="minecart-v0")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["maze-v7", "--thresholds", "1"],
            r"^task: there is no task 'maze-v7'; there are maze, .*Gymn",
        ),
        (
            ["lexicone/maze-v0", "--thresholds", "1", "2"],
            r"^--thresholds: .* has 2 objectives .* got 2",
        ),
        ([*MAZE[:2], "wings", *MAZE[4:]], r"--set: expected NAME=VALUE, got 'wings'"),
        ([*MAZE[:2], "wings=3", *MAZE[4:]], r"cannot be made with wings=3"),
    ],
)
def test_the_command_names_mistakes(arguments, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        run(Train, [*arguments, "--out", str(tmp_path)])
