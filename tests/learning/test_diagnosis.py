"""What is said of trainings that collapse, and of ones that do not; histories by hand, and real ones."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from lexicone._base.intervals import mean_intervals, share_intervals
from lexicone.learning._course import Course
from lexicone.learning._diagnosis import Diagnosis, diagnose
from lexicone.learning._result import Evaluation, judge_episodes
from lexicone.learning._train import train
from lexicone.learning.algos._ppo import PPO
from lexicone.order import Order, at_least, at_most
from tests.helpers.trainings import run

ORDER = Order({"safety": -0.5, "arrive": 0.5, "energy": None})
ROWS = 240


class Stairs:
    """Eight steps; each move upwards is a risk of −0.5, five of them arrive. Objectives: safety, arrival, moves."""

    actions = 2

    def reset(self, key: Any) -> tuple[Any, Any]:
        return jnp.zeros(2), jnp.zeros(2)

    def step(self, key: Any, state: Any, action: Any) -> tuple[Any, ...]:
        after = state + jnp.stack([action == 1, 1]).astype(float)
        there = after[0] >= 5
        paid = jnp.stack([-0.5 * (action == 1), there, -1.0 * (action == 1)])
        return after / 8, after, paid, there, after[1] >= 8, {}


STAIRS = Stairs()


def climb(safety: float) -> Diagnosis:
    learner = PPO(hidden=(8,), copies=16, length=16, minibatches=2, epochs=4, learning_rate=1e-2)
    order = Order({"safety": safety, "arrive": 0.5, "energy": None})
    return train(STAIRS, order, learner, seeds=2, updates=80).diagnose(200)


@pytest.fixture(scope="module")
def frightened():
    return climb(-0.02)


@pytest.fixture(scope="module")
def bold():
    return climb(-50.0)


@pytest.mark.slow
def test_what_collapsed_is_named_with_what_improved_meanwhile(frightened):
    """Whoever must not move does not arrive: by chance a third did."""
    assert frightened.held.tolist() == [[True, False]] * 2
    (finding,) = (f for f in frightened.findings if f.kind == "collapsed")
    assert (finding.objective, finding.seeds) == (1, (0, 1))
    text = str(frightened)
    assert "safety ≥ -0.02 on average holds on 2 of 2 seeds" in text
    assert "arrive ≥ 0.5 on average holds on 0 of 2 seeds" in text
    assert "of episodes while safety and energy improved, on all seeds." in text
    assert 'Try: criterion="episode"' in text
    assert frightened.improved[0, 0] > 0.5


@pytest.mark.slow
def test_where_nothing_collapsed_nothing_is_said(bold):
    assert bold.all_held
    assert bold.findings == ()
    assert str(bold).endswith("Nothing collapsed, and nothing is missing.")
    assert bold.improved[0, 0] < 0.1


def history(arrive: Any, safety: Any = -1.0, episodes: int = 50, **more: Any) -> dict[str, Any]:
    """Of one seed, whose shares and returns are means of so many episodes in each row."""
    rng = np.random.default_rng(0)
    arrive, safety = (np.broadcast_to(np.asarray(x, float), ROWS) for x in (arrive, safety))
    share = rng.binomial(episodes, arrive) / episodes
    safe = safety + 0.5 * rng.standard_normal(ROWS) / np.sqrt(episodes)
    return {
        "update": np.arange(1, ROWS + 1),
        "episodes": episodes * np.arange(1, ROWS + 1),
        "returns": np.stack([safe, share, np.zeros(ROWS)], axis=-1)[None],
        "satisfied": np.stack([safe >= -0.5, share], axis=-1).astype(float)[None],
        **more,
    }


def fresh(safety: float, arrive: float, episodes: int = 100) -> Evaluation:
    came = np.arange(episodes) < arrive * episodes
    returns = np.stack([np.full(episodes, safety), came, np.zeros(episodes)], axis=-1)[None]
    return judge_episodes(ORDER, returns, np.ones((1, episodes), int), np.ones((1, episodes), bool))


def kinds(found: Diagnosis) -> list[tuple[str, int | None]]:
    return [(finding.kind, finding.objective) for finding in found.findings]


RISE, FALL = np.linspace(-2, -0.1, ROWS), np.linspace(0.11, 0.0, ROWS) ** 1.0


@pytest.mark.parametrize(
    ("given", "last", "expected"),
    [
        ({"arrive": FALL, "safety": RISE}, (-0.1, 0.0), [("collapsed", 1)]),
        ({"arrive": 0.11, "safety": RISE}, (-0.1, 0.11), [("missed", 1)]),  # noise is no collapse
        ({"arrive": FALL[::-1], "safety": RISE}, (-0.1, 0.11), [("rising", 1)]),
        ({"arrive": 0.0, "safety": RISE}, (-0.1, 0.0), [("never met", 1)]),
        ({"arrive": FALL, "safety": RISE}, (-0.1, 0.9), []),  # whatever was, in the end it holds
        ({"arrive": 0.9, "safety": -0.2 - np.linspace(0, 1, ROWS)}, (-1.2, 0.9), [("collapsed", 0)]),
        ({"arrive": 0.9, "safety": -0.48 - np.linspace(0, 0.1, ROWS)}, (-0.58, 0.9), [("collapsed", 0)]),
    ],
)  # fmt: skip
def test_by_hand(given, last, expected):
    found = diagnose(ORDER, PPO(), history(**given), fresh(*last), "finished")
    assert kinds(found) == expected
    if expected == [("collapsed", 1)]:
        assert (
            found.findings[0].text == "arrive fell from 11% to 0% of episodes while safety improved"
        )


def test_episodes_in_place_of_means():
    """Met in 60 % of episodes: enough on average, not for 98 % of them."""
    given = history(0.6, RISE), fresh(-0.1, 0.6), "finished"
    assert diagnose(ORDER, PPO(), *given).all_held
    found = diagnose(ORDER, PPO(criterion="episode"), *given)
    assert found.held.tolist() == [[True, False]]
    assert "arrive ≥ 0.5 in 98 % of episodes holds on 0 of 1 seeds (met in 60.0% of all" in str(
        found
    )


def test_a_share_of_episodes_for_one_threshold_and_the_mean_for_another():
    order = Order({"safety": -0.5, "arrive": at_least(0.5, chance=0.7), "energy": None})
    given = history(0.6, RISE), fresh(-0.1, 0.6), "finished"
    found = diagnose(order, PPO(criterion="chance"), *given)
    assert found.held.tolist() == [[True, False]]
    assert "safety ≥ -0.5 on average holds on 1 of 1" in str(found)
    assert "in 70 % of episodes holds on 0 of 1 seeds (met in 60.0% of all" in str(found)


def test_the_rest_of_what_can_be_said():
    given = history(
        0.9,
        -0.1,
        terminated=np.linspace(1, 0, ROWS)[None],
        stepped=np.full((1, ROWS), 0.3),
        found=np.full((1, ROWS), 0.2),
        improved=np.tile(np.eye(3)[[0, 1, 2]].repeat(ROWS // 3, axis=0), (1, 1, 1)),
    )
    given["terminated"][:, -20:] = 0.0
    found = diagnose(ORDER, PPO(), given, fresh(-0.1, 0.9), "interrupted")
    assert [kind for kind, _ in kinds(found)] == ["unfinished", "long steps", "no direction"]
    found = diagnose(ORDER, PPO(), given, fresh(-0.1, 0.4), "interrupted")
    assert [kind for kind, _ in kinds(found)][:3] == ["unfinished", "missed", "no ends"]
    np.testing.assert_array_equal(found.improved, np.eye(3))
    assert "safety 100% → 0% → 0%; arrive 0% → 100% → 0%" in str(found)


def test_costs_are_told_as_costs():
    order = Order({"cost": at_most(3), "arrive": 0.5, "energy": None})
    found = diagnose(order, PPO(), history(0.9, -2.0), fresh(-2.0, 0.9), "finished")
    assert "cost ≤ 3 on average holds on 1 of 1 seeds (mean 2; over episodes 2 to 2)" in str(found)


@pytest.mark.slow
def test_a_learner_that_reports_little_and_a_model():
    assert "tiles+goal ≥ -4 on average holds on" in str(run().diagnose(20))


def test_intervals_are_scipys():
    for hits in (0, 3, 40):
        theirs = stats.binomtest(hits, 40).proportion_ci(0.9, method="wilson")
        np.testing.assert_allclose(
            share_intervals(np.array(hits / 40), 40, 0.9), theirs, atol=1e-12
        )
    rows = np.random.default_rng(0).normal(size=(7, 2))
    ends = stats.t.interval(0.95, 6, rows.mean(axis=0), stats.sem(rows))
    np.testing.assert_allclose(mean_intervals(rows), np.transpose(ends))
    assert np.isinf(mean_intervals(rows[:1])).all()


def test_means_of_ones_that_rounding_makes_more_are_no_fall():
    met = np.full((1, 3, 1), 1 + 2**-52)
    other = np.zeros((1, 3, 2))
    course = Course(other, other, met, np.full((1, 3), 7.0), other[..., 0], segments=True)
    assert course.fall(0, 0) is None
