import inspect
import math
from dataclasses import dataclass, replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lexicone._base import checkpoint
from lexicone.exact._solve import solve
from lexicone.learning._compiled import advance
from lexicone.learning._episodes import collect
from lexicone.learning._learner import progress_metrics
from lexicone.learning._result import load
from lexicone.learning._train import train, train_many
from lexicone.learning.algos._reinforce import Reinforce
from lexicone.models._evaluation import evaluate
from lexicone.order import Order
from lexicone.tasks import maze
from tests.helpers.interruption import killed_after

MDP = maze("small", objectives="path")
ORDER = Order([-4.0], names=["tiles", "time"])
LEARNER = Reinforce(max_steps=12, hidden=(6,), batch=2, temperature=1.0)
UPDATES = 60


@pytest.fixture(autouse=True, scope="module")
def compile_quickly():
    """Compilation dominates here, and these programs are tiny."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def run(learner=LEARNER, order=ORDER, seeds=3, **options):
    """Of one shape, so that most tests share one compiled program."""
    length = {} if "episodes" in options else {"updates": UPDATES}
    return train(MDP, order, learner, seeds=seeds, **{**length, "snapshots": 4, **options})


@pytest.fixture(scope="module")
def trained():
    return run()


def other_maze():
    return maze("small", objectives="path", high_penalty=-6.0)


def assert_same(first, second):
    """Bit for bit."""
    for ours, theirs in zip(jax.tree.leaves(first.run), jax.tree.leaves(second.run), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_same_key_same_result(trained):
    assert_same(run(), trained)
    other = run(key=1)
    assert not np.allclose(other.policies, trained.policies)
    assert_same(run(key=jax.random.key(1)), other)


def test_a_run_is_the_same_alone_up_to_rounding(trained):
    alone = run(seeds=1)
    np.testing.assert_array_equal(alone.history["returns"][0], trained.history["returns"][0])
    np.testing.assert_allclose(alone.policies[0], trained.policies[0], atol=1e-9)
    assert not np.allclose(trained.policies[0], trained.policies[1])


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
    many = train_many(MDP, variants, seeds=1, updates=UPDATES, snapshots=4)
    for (order, learner), ours in zip(variants, many, strict=True):
        alone = run(learner, order, seeds=1)
        np.testing.assert_array_equal(ours.history["returns"], alone.history["returns"])
        np.testing.assert_allclose(ours.policies, alone.policies, atol=1e-9)
        assert (ours.order.thresholds, ours.learner) == (alone.order.thresholds, learner)
    assert not np.allclose(many[0].policies, many[1].policies)
    assert not np.allclose(many[0].policies, many[2].policies)


def test_compiled_once_for_all_numbers():
    run()
    before = advance._cache_size()
    numbers = {"delta": 0.0, "gamma": 0.5, "learning_rate": 1.0, "temperature": 5.0}
    run(replace(LEARNER, **numbers), Order([3.0]), key=9)
    run(progress=True, updates=40, log_every=2)
    train(other_maze(), ORDER, LEARNER, seeds=3, updates=UPDATES, snapshots=4)
    assert advance._cache_size() == before
    run(replace(LEARNER, hidden=()))
    assert advance._cache_size() == before + 1


def test_pieces_are_the_whole(tmp_path, trained, capsys):
    pieces = run(progress=True, checkpoint=tmp_path / "run.safetensors")
    assert_same(pieces, trained)
    assert "tiles" in capsys.readouterr().out


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


def test_resume_refuses_another_training(tmp_path):
    path = tmp_path / "run.safetensors"
    run(seeds=1, checkpoint=path)
    for changes, named in (
        ({"learner": replace(LEARNER, delta=0.2)}, r"delta is [\d.]+, not 0.2$"),
        ({"order": Order([-3.0], names=["tiles", "time"])}, "thresholds"),
        ({"key": 4}, "key"),
        ({"updates": 70}, "updates"),
        ({"seeds": 2}, "seeds"),
    ):
        with pytest.raises(ValueError, match=rf"^resume: .* is of another training: its {named}"):
            run(**{"seeds": 1, **changes}, checkpoint=path, resume=True)
    with pytest.raises(ValueError, match="its model is"):
        train(
            other_maze(),
            ORDER,
            LEARNER,
            seeds=1,
            updates=UPDATES,
            snapshots=4,
            checkpoint=path,
            resume=True,
        )


def test_saved_and_loaded(tmp_path, trained):
    path = tmp_path / "run.safetensors"
    trained.save(path)
    again = load(path)
    assert_same(again, trained)
    assert (again.order, again.learner, again.updates) == (ORDER, LEARNER, UPDATES)
    np.testing.assert_array_equal(again.mdp.reward, MDP.reward)
    assert again.mdp.state_names == MDP.state_names
    assert again.mdp.layout is not None
    np.testing.assert_array_equal(again.evaluate(20).returns, trained.evaluate(20).returns)
    with pytest.raises(ValueError, match="does not fit the learner"):
        load(path, replace(LEARNER, hidden=(7,)))


def without(entries, name):
    return {key: entry for key, entry in entries.items() if key != name}


@pytest.mark.parametrize(
    ("alter", "message"),
    [
        (lambda a, f: (a, {**f, "settings": {**f["settings"], "wings": 2}}), "settings .*'wings'"),
        (
            lambda a, f: (a, {**f, "settings": {**f["settings"], "gamma": 9.0}}),
            "settings .*: gamma",
        ),
        (lambda a, f: (a, {**f, "settings": 3}), "settings "),
        (lambda a, f: (a, without(f, "map")), "a model .* no entry 'map'"),
        (lambda a, f: (a, {**f, "thresholds": ["x"]}), "an order .*'x'"),
        (
            lambda a, f: (a, {**f, "names": None, "thresholds": ["1", "2"]}),
            "a model .* has 3 objectives",
        ),
        (lambda a, f: (a, {**f, "names": None, "thresholds": 3}), "an order "),
        (lambda a, f: (a, without(f, "seeds")), "numbers .* no entry 'seeds'"),
        (lambda a, f: (a, {**f, "every": 0}), "numbers .* every: must be"),
        (lambda a, f: (without(a, "mdp.reward"), f), "a model .* no entry 'mdp.reward'"),
        (lambda a, f: ({**a, "mdp.initial": np.ones(9)}, f), "a model .* initial"),
        (lambda a, f: (without(a, "run.update"), f), "a run .* no entry 'run.update'"),
        (lambda a, f: ({**a, "run.update": np.array(61)}, f), "a run .*update is 61, .* 60 in all"),
        (lambda a, f: ({**a, "run.update": np.array(-1)}, f), "a run .*update is -1"),
        (
            lambda a, f: ({k: v for k, v in a.items() if ".log." not in k}, f),
            "a run .* no entry 'run.log'",
        ),
        (lambda a, f: ({**a, "run.log.found": np.ones((9, 3))}, f), r"a run .* shape \(9, 3\)"),
        (lambda a, f: ({**a, "run.snapshots": np.ones((4, 2, 9, 4))}, f), "a run .*snapshots has"),
        (lambda a, f: (a, 3), "no training"),
        (lambda a, f: (a, f), None),
    ],
)
def test_a_file_with_other_contents_is_refused(alter, message, tmp_path, trained):
    """Also if its digest is right."""
    path = tmp_path / "run"
    trained.save(path)
    checkpoint.write(path, *alter(*checkpoint.read(path)))
    if message is None:
        assert_same(load(path), trained)
        return
    with pytest.raises(ValueError, match=rf"^path: '.*run' (has|holds) {message}"):
        load(path)


def test_history_means_what_it_says(trained):
    history = trained.history
    assert history["update"].tolist() == list(range(1, UPDATES + 1))
    assert history["episodes"][-1] == 2 * UPDATES
    shapes = {name: part.shape[1:] for name, part in history.items() if part.ndim > 1}
    assert shapes == {
        "returns": (UPDATES, 2),
        "satisfied": (UPDATES, 1),
        "improved": (UPDATES, 2),
        "found": (UPDATES,),
        "cosines": (UPDATES, 1),
        "terminated": (UPDATES,),
        "steps": (UPDATES,),
    }
    assert (np.diff(history["steps"], axis=1) >= 2).all()
    assert (np.diff(history["steps"], axis=1) <= 24).all()
    np.testing.assert_allclose(history["improved"].sum(axis=-1), 1)
    assert set(np.unique(history["satisfied"])) <= {0, 0.5, 1}
    coarse = run(log_every=7).history
    assert coarse["update"].tolist() == [7, 14, 21, 28, 35, 42, 49, 56, 60]
    for row, (begin, end) in enumerate([(0, 7), (49, 56), (56, 60)]):
        place = [0, 7, 8][row]
        np.testing.assert_allclose(
            coarse["returns"][:, place], history["returns"][:, begin:end].mean(axis=1)
        )
        np.testing.assert_array_equal(coarse["steps"][:, place], history["steps"][:, end - 1])


def test_snapshots_end_with_the_policy(trained):
    times, policies = trained.snapshots
    assert times.tolist() == [15, 30, 45, 60]
    np.testing.assert_allclose(policies[-1], trained.policies, atol=1e-12)
    assert not np.allclose(policies[0], policies[-1])
    shorter = run(updates=15)
    np.testing.assert_allclose(shorter.policies, policies[0], atol=1e-12)


@pytest.mark.parametrize(("max_steps", "horizon"), [(1000, math.inf), (None, None), (3, 3)])
def test_evaluation_samples_the_policy_without_dropout(max_steps, horizon, trained):
    """Exact values are means of episodes, as far as these go: by default for the learner's 12 steps."""
    found = trained.evaluate(3000, max_steps=max_steps)
    assert found.returns.shape == (3, 3000, 2)
    assert found.terminated.all() == (horizon == math.inf)
    exact = trained.values(horizon=horizon)
    error = found.returns.std(axis=1) / math.sqrt(3000)
    assert (np.abs(found.returns.mean(axis=1) - exact) < 4.5 * error + 1e-9).all()
    others = [trained.values(horizon=h) for h in (math.inf, 12, 3) if h != (horizon or 12)]
    for other in others:
        assert (np.abs(found.returns.mean(axis=1) - other) > 4.5 * error).any()
    np.testing.assert_allclose(found.satisfied[:, 0], (found.returns[..., 0] >= -4).mean(axis=1))
    np.testing.assert_allclose(found.success, found.satisfied[:, 0])
    greedy = trained.evaluate(5, greedy=True)
    assert (np.ptp(greedy.returns, axis=1) == 0).all()
    np.testing.assert_allclose(trained.values(greedy=True), greedy.returns[:, 0], atol=1e-9)


def test_gap_to_the_exact_optimum(trained):
    exact = solve(MDP, ORDER)
    gap = trained.gap(exact)
    assert gap.shape == (3, 2)
    np.testing.assert_allclose(gap, ORDER.gap(trained.values(), exact.values))
    assert (trained.gap(trained.values()[0])[0] == 0).all()
    for_ever = np.stack([evaluate(MDP, policy) for policy in trained.policies])
    np.testing.assert_allclose(
        trained.gap(exact, horizon=math.inf), ORDER.gap(for_ever, exact.values)
    )
    with pytest.raises(ValueError, match=r"^horizon: must be a whole number of at least 1, got 0"):
        trained.values(horizon=0)


@dataclass(frozen=True)
class Walker:
    """Learns nothing, and takes each action as often."""

    batch: int = 1
    max_steps: int = 4
    traced: ClassVar[tuple[str, ...]] = ()

    def init(self, problem, key):
        return jnp.zeros(problem.env.next_state.shape[:2])

    def update(self, problem, state, key, share):
        return state, {"steps": jnp.float64(1)}

    def log_policy(self, problem, state):
        return jax.nn.log_softmax(state, axis=-1)


def test_arriving_some_day_is_not_arriving_in_an_episode():
    """A walk of 4 steps with 4 ways each; the goal is 4 steps away, and the walker surely finds it at last."""
    mdp, order = maze("S...G", objectives="endpoint"), Order([0.5])
    lost = train(mdp, order, Walker(), seeds=1, updates=1)
    np.testing.assert_allclose(lost.values()[:, 0], 4.0**-4)
    exact = solve(mdp, order)
    np.testing.assert_allclose(lost.gap(exact)[:, 0], 0.5 - 4.0**-4)
    np.testing.assert_allclose(lost.gap(exact, horizon=math.inf)[:, 0], 0)


def test_a_training_that_diverges_says_so(tmp_path, trained):
    lost = run(replace(LEARNER, learning_rate=1e300), updates=20)
    assert (trained.diverged.tolist(), lost.diverged.tolist()) == ([False] * 3, [True] * 3)
    for use in (lambda: lost.policies, lambda: lost.policy(1), lost.evaluate, lost.values):
        with pytest.raises(ValueError, match=r"^learner: the training of seed .*1.* diverged"):
            use()
    states = jax.tree.map(lambda a, b: a.at[1].set(b[1]), trained.run.states, lost.run.states)
    partly = replace(trained, run=trained.run._replace(states=states))
    np.testing.assert_array_equal(partly.policy(2), trained.policy(2))
    with pytest.raises(ValueError, match=r"^learner: the training of seed 1 diverged"):
        partly.evaluate()
    partly.save(tmp_path / "run")
    assert load(tmp_path / "run").diverged.tolist() == [False, True, False]


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


def test_a_learner_of_ones_own(tmp_path):
    learner = HillClimber()
    found = train(MDP, ORDER, learner, seeds=2, updates=200, progress=True)
    assert (
        found.values()[:, 1].max()
        > train(MDP, ORDER, HillClimber(noise=0.0), seeds=2, updates=200).values()[:, 1].max()
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
        ({"updates": None}, r"^updates, episodes: give one"),
        ({"episodes": 5}, r"^updates, episodes: give one"),
        ({"updates": 0}, r"^updates: must be a whole number of at least 1, got 0"),
        ({"updates": 3.0}, r"^updates: must be a whole number of at least 1, got 3.0"),
        ({"updates": None, "episodes": 2.5}, r"^episodes: must be a whole number"),
        ({"snapshots": -1}, r"^snapshots: must be a whole number of at least 0, got -1"),
        ({"snapshots": 1.5}, r"^snapshots: must be a whole number of at least 0, got 1.5"),
        ({"log_every": 0}, r"^log_every: must be a whole number of at least 1, got 0"),
        ({"log_every": 1.5}, r"^log_every: must be a whole number of at least 1, got 1.5"),
        ({"key": None}, r"^key: expected a whole number or a jax.random key, got None"),
        ({"key": 2**32}, r"^key: must be from 0 to 2³²−1, got 4294967296"),
        ({"key": -1}, r"^key: must be from 0 to 2³²−1, got -1"),
        ({"key": jax.random.split(jax.random.key(0))}, r"^key: expected one .* shape \(2,\)"),
        ({"checkpoint": 3}, r"^checkpoint: expected a path, got 3"),
        ({"checkpoint": "/dev/null/run"}, r"^checkpoint: cannot write to '/dev/null/run': "),
        ({"checkpoint": "/"}, r"^checkpoint: cannot write to '/': it is a folder"),
        ({"features": "x"}, r"^features: expected numbers of shape \[9, D\], got 'x'"),
        ({"resume": True}, r"^resume: needs the checkpoint"),
        ({"features": np.ones((3, 2))}, r"^features: expected finite numbers of shape \[9, D\]"),
    ],
)
def test_mistakes_are_named_before_any_work(changes, message):
    arguments = {"task": MDP, "order": ORDER, "learner": LEARNER, "updates": 5, **changes}
    with pytest.raises(ValueError, match=message):
        inspect.unwrap(train)(**arguments)


def test_variants_must_share_their_form():
    with pytest.raises(ValueError, match=r"^variants: learners may differ in delta, gamma"):
        train_many(MDP, [(ORDER, LEARNER), (ORDER, replace(LEARNER, batch=3))], updates=5)
    with pytest.raises(ValueError, match=r"^variants: need at least one"):
        train_many(MDP, [], updates=5)
    with pytest.raises(ValueError, match=r"^checkpoint: only train keeps checkpoints"):
        train_many(MDP, [(ORDER, LEARNER)], updates=5, checkpoint="x")


def test_episodes_are_rounded_up_to_updates():
    assert run(seeds=1, episodes=9).updates == 5


def test_there_is_no_such_seed(trained):
    with pytest.raises(ValueError, match=r"^seed: expected 0 to 2, got 3"):
        trained.policy(3)
