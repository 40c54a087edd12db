"""Learning from segments: probes whose answers one finds by hand."""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lexicone.learning import _train_segments as loop
from lexicone.learning._normalise import standardise
from lexicone.learning._result_segments import TrainedSegments
from lexicone.learning._train import train
from lexicone.learning.algos._a2c import A2C
from lexicone.learning.algos._ppo import PPO
from lexicone.models._advantages import sum_until_end
from lexicone.order import Order
from tests.helpers.compilations import compiled_by
from tests.helpers.small_worlds import Bets, EndsOrIsCut, Lasting, aim
from tests.helpers.trainings import assert_same, programs

BETS = Bets()
LEARNER = PPO(
    hidden=(16,), copies=32, length=16, epochs=4, minibatches=4, learning_rate=5e-3, margin=0.0
)


def bet(threshold: float = -0.25, learner=LEARNER, **options) -> TrainedSegments:
    return train(BETS, Order([threshold]), learner, **{"seeds": 2, "updates": 60, **options})


@pytest.fixture(scope="module")
def bets():
    return bet()


def test_advantages_stop_at_ends():
    """By hand, with factor ½; the second copy's episode ends with its second step."""
    terms = np.array([[[1.0], [1.0]], [[2.0], [2.0]], [[4.0], [4.0]]])
    ended = np.array([[False, False], [False, True], [False, False]])
    found = sum_until_end(jnp.asarray(terms), jnp.asarray(ended), 0.5)
    np.testing.assert_allclose(found[..., 0], [[3, 2], [4, 2], [4, 4]])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("threshold", "best"), [(-0.25, (-0.25, 1.0)), (0.0, (0.0, 0.5)), (-5.0, (-0.5, 1.5))]
)
def test_what_is_seen_and_done_matters_and_thresholds_hold(threshold, best, bets):
    """By hand: what is safe, and as much of what is risky as the threshold allows. One program for all three."""
    before = programs(loop.advance)
    found = bets if threshold == -0.25 else bet(threshold)
    assert programs(loop.advance) == before
    np.testing.assert_allclose(found.evaluate(1000).returns.mean(axis=1), [best] * 2, atol=0.16)


@pytest.mark.slow
def test_a_world_with_episodes_of_many_lengths_is_one_program():
    learner = PPO(hidden=(4,), copies=3, length=8, epochs=1, minibatches=2)
    world = Lasting()
    assert compiled_by(lambda: train(world, Order([0.0]), learner, seeds=2, updates=3)) > 0
    again = partial(train, world, Order([1.0]), learner, seeds=2, updates=40)
    assert compiled_by(again) == 0
    lengths = again().history["returns"][..., 1]  # means of the episodes that ended in a row
    assert np.nanmin(lengths) < 4
    assert np.nanmax(lengths) > 8


@pytest.mark.slow
def test_what_is_learned_is_a_mean_of_the_latest_policies(bets):
    last = bet(learner=dataclasses.replace(LEARNER, tail=0.0)).run.states.learning
    for mean, policy in zip(
        jax.tree.leaves(last.average), jax.tree.leaves(last.agent), strict=True
    ):
        np.testing.assert_array_equal(mean, policy)
    found = bets.run.states.learning  # acted and learned the same; only what is kept differs
    np.testing.assert_array_equal(
        found.agent.policy.layers[0].weight, last.agent.policy.layers[0].weight
    )
    away = found.average.policy.layers[0].weight - found.agent.policy.layers[0].weight
    assert 1e-4 < np.abs(away).max() < 0.2
    np.testing.assert_array_equal(found.average.seen.mean, found.agent.seen.mean)


@pytest.mark.slow
def test_a_run_depends_on_its_key_and_number_alone_and_goes_on(bets, tmp_path):
    assert_same(bet(), bets)
    half = bet(checkpoint=tmp_path / "run", progress=False, updates=60)
    assert_same(half, bets)
    assert not np.allclose(bet(seed=1).history["returns"], bets.history["returns"])


@pytest.mark.slow
def test_only_termination_ends(bets):
    """Value 1 where the episode terminates after one step; 1/(1−γ) where it is only cut off."""
    learner = PPO(hidden=(), copies=32, length=16, gamma=0.5, decay=0.5, learning_rate=0.05)
    found = train(EndsOrIsCut(), Order([0.0]), learner, seeds=1, updates=60)
    state = jax.tree.map(lambda leaf: leaf[0], found.run.states.learning)
    rows = standardise(state.agent.seen, jnp.array([[0.0], [1.0]]))
    np.testing.assert_allclose(state.critics(rows), [[1, 1], [2, 2]], rtol=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [PPO, A2C])
def test_numbers_are_chosen_within_bounds(kind):
    """Maximise −(a+1)² while −(a−1)² ≥ −1.5 in the mean: nothing is gained by chance, so a = 1 − √1.5."""
    settings = {"hidden": (), "copies": 32, "length": 16, "learning_rate": 0.02, "margin": 0.0}
    learner = kind(**settings, first_log_std=-1.0, entropy=0.0)
    found = train(aim(), Order([-1.5]), learner, seeds=2, updates=120, actions=([-2.0], [2.0]))
    value = found.evaluate(1000).returns.mean(axis=1)
    np.testing.assert_allclose(value[:, 0], -1.5, atol=0.25)
    assert (value[:, 1] > -0.75).all()  # at best −(2−√1.5)² = −.60
    actions = [found.policy(0)(np.zeros(1)) for _ in range(100)]
    assert np.all(np.abs(actions) <= 2)
    assert actions[0].shape == (1,)


@pytest.mark.slow
def test_the_history_counts_episodes(bets):
    history = bets.history
    steps = np.arange(1, 61) * 32 * 16
    np.testing.assert_array_equal(history["steps"], [steps] * 2)
    np.testing.assert_array_equal(history["episodes"], [steps] * 2)  # one step each
    np.testing.assert_allclose(
        history["satisfied"][..., 0], 1 + history["returns"][..., 0], atol=1e-9
    )
    np.testing.assert_allclose(history["weights"].sum(axis=-1), 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"episodes": 3}, r"^episodes: this learner takes segments"),
        ({"task": aim()}, r"^actions: \(reset, step\) does not say what can be done"),
        (
            {"order": Order([0.0, 0.0])},
            r"^order: has 3 objectives, and Bets pays .* \(2,\); rewards=",
        ),
        (
            {"rewards": lambda s, a, n: jnp.zeros(3)},
            r"^order: has 2 objectives, and Bets pays .* \(3,\)$",
        ),
        (
            {"rewards": lambda s, a, n: jnp.concatenate([s, s])},
            r"^task: Bets cannot be traced: ValueError: Zero-dim",
        ),
        ({"snapshots": 2}, r"^snapshots: only a model's"),
        ({"actions": "left"}, r"^actions: has actions 'left'"),
        ({"actions": ([1.0], [0.0])}, r"^actions: has actions from \[1.0\] to \[0.0\]"),
        ({"learner": PPO(copies=1, length=2)}, r"^minibatches: 1 copies × 2 steps"),
    ],
)
def test_mistakes_are_named_before_any_work(changes, message):
    given = {"task": BETS, "order": Order([0.0]), "learner": LEARNER, **changes}
    with pytest.raises(ValueError, match=message):
        partial(train, given.pop("task"))(given.pop("order"), given.pop("learner"), **given)
