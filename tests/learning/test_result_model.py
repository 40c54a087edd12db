import math
from dataclasses import dataclass, replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pandas
import pytest

from lexicone.directions._find_direction import Direction
from lexicone.exact._solve import solve
from lexicone.learning._episodes import Episodes
from lexicone.learning._learner import progress_metrics
from lexicone.learning._result import judge_episodes
from lexicone.learning._returns import allow_rounding
from lexicone.learning._saved import load
from lexicone.learning._train import train
from lexicone.models._evaluation import evaluate
from lexicone.order import Order
from lexicone.reports import report
from lexicone.tasks import maze
from tests.helpers.trainings import LEARNER, MAZE, ORDER, UPDATES, run


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
    assert run(log_every=10**30).history["update"].tolist() == [60]


def test_it_is_shown_in_one_line(trained):
    assert repr(trained) == (
        f"Trained(learner: {type(trained.learner).__name__}, seeds: {trained.seeds}, "
        f"updates: 60 of 60, order: {trained.order!r})"
    )


def test_snapshots_end_with_the_policy(trained):
    times, policies = trained.snapshots
    assert times.tolist() == [15, 30, 45, 60]
    np.testing.assert_allclose(policies[-1], trained.policies, atol=1e-12)
    assert not np.allclose(policies[0], policies[-1])
    shorter = run(updates=15)
    np.testing.assert_allclose(shorter.policies, policies[0], atol=1e-12)


@pytest.mark.slow
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
    exact = solve(MAZE, ORDER)
    gap = trained.gap(exact)
    assert gap.shape == (3, 2)
    np.testing.assert_allclose(gap, ORDER.gap(trained.values(), exact.values))
    assert (trained.gap(trained.values()[0])[0] == 0).all()
    for_ever = np.stack([evaluate(MAZE, policy) for policy in trained.policies])
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
    """Without a policy at the end; numbers that are lost before stop the training (`test_overflow`)."""
    lost = run(replace(LEARNER, learning_rate=1e300), updates=1, snapshots=1)
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


def test_there_is_no_such_seed(trained):
    with pytest.raises(ValueError, match=r"^seed: expected a whole number from 0 to 2, got 3"):
        trained.policy(3)


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
            limit = np.asarray(allow_rounding(jnp.asarray([threshold])))[0]
            returns = limit + np.spacing(limit) * np.arange(-20, 21, dtype=np.float32)
            rows = np.stack([returns, 0 * returns], axis=-1)[:, None]
            ones = np.ones((len(rows), 1), int)
            found = judge_episodes(Order([threshold]), rows, ones, ones > 0)
            np.testing.assert_array_equal(found.success, returns >= limit)
            np.testing.assert_array_equal(
                found.satisfied, in_training(jnp.float32(threshold), returns)
            )
            assert 0 < found.success.mean() < 1


def test_the_history_as_a_frame(trained, tmp_path):
    frame = trained.to_frame()
    rows = len(trained.history["update"])
    assert len(frame) == trained.seeds * rows
    last = frame[frame["seed"] == 2].iloc[-1]
    assert last["returns.time"] == trained.history["returns"][2, -1, 1]
    assert last["satisfied.tiles+goal"] == trained.history["satisfied"][2, -1, 0]
    assert last["steps"] == trained.history["steps"][2, -1]
    assert "cosines.tiles+goal.time" in frame
    trained.to_csv(tmp_path / "history.csv")
    pandas.testing.assert_frame_equal(pandas.read_csv(tmp_path / "history.csv"), frame)


def test_trainings_are_shown_in_short(trained):
    page = trained._repr_html_()
    assert f"{trained.history['satisfied'][:, -1, 0].mean():.0%}" in page
    assert page.count("<tr>") == 3


@pytest.mark.slow
def test_a_training_has_a_page(trained, tmp_path):
    path = report({"Re<i>": trained, "again": trained}, tmp_path / "two.html", beside=True)
    page = path.read_text()
    assert "Re&lt;i&gt;" in page
    assert "Re<i>" not in page
    assert "95 % interval" in page
    assert {p.name for p in tmp_path.iterdir()} == {
        *("two.html", "two-Re-i-.safetensors", "two-Re-i-.csv"),
        *("two-again.safetensors", "two-again.csv"),
    }
    single = report(tmp_path / "two-again.safetensors", tmp_path / "one.html").read_text()
    assert "3 independent runs" in single
    assert "lx.Reinforce(" in single
    with pytest.raises(ValueError, match="result\\['b'\\]: expected a training"):
        report({"a": trained, "b": 3}, tmp_path / "none.html")
