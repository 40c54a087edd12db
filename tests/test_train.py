import importlib
import inspect
import math
from dataclasses import dataclass, replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lexicone.engine import advance
from lexicone.evaluation import evaluate
from lexicone.learner import progress_metrics
from lexicone.order import Order
from lexicone.reinforce import Reinforce
from lexicone.rollout import collect
from lexicone.solve import solve
from lexicone.tasks import maze
from lexicone.train import train, train_many
from lexicone.trained import load

module = importlib.import_module("lexicone.train")

MDP = maze("small", objectives="path")
ORDER = Order([-4.0], names=["tiles", "time"])
LEARNER = Reinforce(max_steps=12, hidden=(6,), batch=2, temperature=1.0)
UPDATES = 60


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


def test_a_run_is_the_same_alone_and_beside_others(trained):
    alone = run(seeds=1)
    np.testing.assert_array_equal(alone.history["returns"][0], trained.history["returns"][0])
    np.testing.assert_allclose(alone.policies[0], trained.policies[0], atol=1e-9)
    assert not np.allclose(trained.policies[0], trained.policies[1])


def test_many_numbers_at_once_are_those_of_a_loop():
    variants = [
        (ORDER, LEARNER),
        (Order([-9.0]), replace(LEARNER, delta=0.1)),
        (Order([-1.0]), replace(LEARNER, learning_rate=0.1, gamma=0.5)),
    ]
    many = train_many(MDP, variants, seeds=1, updates=UPDATES, snapshots=4)
    for (order, learner), ours in zip(variants, many, strict=True):
        alone = run(learner, order, seeds=1)
        np.testing.assert_array_equal(ours.history["returns"], alone.history["returns"])
        np.testing.assert_allclose(ours.policies, alone.policies, atol=1e-9)
        assert (ours.order, ours.learner) == (order, learner)
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
    run(replace(LEARNER, method="exact"))
    assert advance._cache_size() == before + 1


def test_pieces_are_the_whole(tmp_path, trained, capsys):
    pieces = run(progress=True, checkpoint=tmp_path / "run.safetensors")
    assert_same(pieces, trained)
    assert "tiles" in capsys.readouterr().out


class Killed(Exception):
    pass


@pytest.mark.parametrize("looks", [1, 2])
def test_a_killed_run_resumes_to_the_same_end(looks, tmp_path, trained, monkeypatch):
    path = tmp_path / "run.safetensors"
    monkeypatch.setattr(module, "_SAVE", 0.0)
    pieces = module._in_pieces
    count = iter(range(looks))

    def fragile(run, total, go_on, save, show):
        def look(run):
            if next(count, None) is None:
                raise Killed
            show(run)

        return pieces(run, total, go_on, save, look)

    monkeypatch.setattr(module, "_in_pieces", fragile)
    options = {"checkpoint": path}
    with pytest.raises(Killed):
        run(**options)
    half = load(path)
    assert 0 < int(half.run.update) < UPDATES
    assert len(half.history["update"]) == int(half.run.update)
    monkeypatch.setattr(module, "_in_pieces", pieces)
    assert_same(run(**options, resume=True), trained)
    assert_same(load(path), trained)
    assert_same(run(**options, resume=True), trained)  # nothing is left to do


def test_resume_refuses_another_training(tmp_path):
    path = tmp_path / "run.safetensors"
    run(seeds=1, checkpoint=path)
    for changes, named in (
        ({"learner": replace(LEARNER, delta=0.2)}, "settings"),
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


def test_evaluation_samples_the_policy_without_dropout(trained):
    found = trained.evaluate(3000, max_steps=1000)
    assert found.returns.shape == (3, 3000, 2)
    assert found.terminated.all()
    for seed in range(3):
        exact = evaluate(MDP, trained.policy(seed))
        error = found.returns[seed].std(axis=0) / math.sqrt(3000)
        assert (np.abs(found.returns[seed].mean(axis=0) - exact) < 4.5 * error).all()
        np.testing.assert_allclose(trained.values()[seed], exact)
    np.testing.assert_allclose(found.satisfied[:, 0], (found.returns[..., 0] >= -4).mean(axis=1))
    np.testing.assert_allclose(found.success, found.satisfied[:, 0])
    greedy = trained.evaluate(5, greedy=True)
    assert (np.ptp(greedy.returns, axis=1) == 0).all()


def test_gap_to_the_exact_optimum(trained):
    exact = solve(MDP, ORDER)
    gap = trained.gap(exact)
    assert gap.shape == (3, 2)
    np.testing.assert_allclose(gap, ORDER.gap(trained.values(), exact.values))
    assert (trained.gap(trained.values()[0])[0] == 0).all()


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
        ({"order": Order([1.0, 2.0])}, r"^order: has 3 objectives, the task has 2"),
        ({"learner": object()}, r"^learner: .* has no traced, batch"),
        ({"seeds": 0}, r"^seeds: must be at least 1"),
        ({"updates": None}, r"^updates, episodes: give one"),
        ({"episodes": 5}, r"^updates, episodes: give one"),
        ({"updates": 0}, r"^updates: must be at least 1"),
        ({"snapshots": -1}, r"^snapshots: must be at least 0"),
        ({"log_every": 0}, r"^log_every: must be at least 1"),
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
