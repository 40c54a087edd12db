"""Means of the worst episodes (conditional value-at-risk): by hand, against trees of histories, and in samples."""

from typing import Any

import numpy as np
import pytest

import lexicone as lx
from lexicone.models import MDP
from tests.helpers.histories import Histories, layered
from tests.helpers.solutions import close


@pytest.fixture(scope="module")
def lottery():
    """A coin: heads a toll of 2, tails of 6. Then the bridge (toll 3, joy 4), the tunnel (7, 10) or home (0, 0)."""
    ways = (("bridge", [-3, 4]), ("tunnel", [-7, 10]), ("home", [0, 0]))
    rows = [(side, way, 1.0, "end", paid) for side in ("heads", "tails") for way, paid in ways]
    coin = [("start", "go", 0.5, "heads", [-2, 0]), ("start", "go", 0.5, "tails", [-6, 0])]
    return MDP.from_transitions([*coin, *rows])


def mean_of_worst(returns, share):
    """Of sampled returns."""
    count = round(share * len(returns))
    return np.sort(returns)[:count].mean()


# The worst half are the tails: 13 by tunnel, 9 by bridge. A mean of 10 takes the tunnel once in four times, so that joy
# is (10 + (10 + 3·4)/4)/2 = 7.75. The worst share 1 is the mean over all: 4 are spent by the coin, and the tunnel gives
# most joy for what it costs; it is taken with probability 6/7.
@pytest.mark.parametrize(("share", "joy"), [(0.5, 7.75), (1.0, 60 / 7)])
def test_by_hand(lottery, share, joy):
    found: Any = lx.search(lottery, [lx.at_most(10, worst=share)], criterion="chance")
    assert found.status == "optimal"
    assert close(found.key, [-10, joy])
    assert close(found.tails[0], -10)
    assert np.isnan(found.chances.overall)  # nothing was asked of a share
    assert close(found.values[1], joy)
    assert found.satisfied.all()
    sampled = mean_of_worst(found.policy.simulate(40_000, seed=1).returns[:, 0], share)
    assert abs(sampled + 10) < 0.06


def test_all_episodes_are_the_mean(lottery):
    order = lx.Order([lx.at_most(10, worst=1), None])
    found: Any = lx.search(lottery, order, criterion="chance")
    assert close(found.values[1], lx.solve(lottery, [-10]).values[1])


@pytest.mark.parametrize("seed", range(3))
def test_no_policy_with_memory_is_better(seed):
    """Also for cuts between returns, so that it is enough to try returns."""
    rng = np.random.default_rng(seed)
    mdp = layered(rng, layers=2 + seed % 2, objectives=2)
    tree = Histories(mdp)
    returns = np.unique(np.array(tree.returns)[:, 0])
    cuts = np.unique([*returns, *(returns[1:] + returns[:-1]) / 2, returns[0] - 1, returns[-1] + 1])
    share = (0.2, 0.5)[seed % 2]
    order = lx.Order([lx.at_least(float(np.median(tree.returns)), worst=share), None])
    found: Any = lx.search(mdp, order, criterion="chance")
    assert close(found.key, tree.best_tail_key(order, cuts), 1e-5)
    sampled = mean_of_worst(found.policy.simulate(20_000, seed=seed).returns[:, 0], share)
    assert sampled >= found.tails[0] - 0.1


def test_the_last_objective_by_its_worst_episodes(lottery):
    """Joy at least 7, then the smallest mean of the worst half: all tolls are 9."""
    backwards = lottery.reorder([1, 0])
    found: Any = lx.search(backwards, [7, lx.lowest(worst=0.5)], criterion="chance")
    assert close(found.key, [7, -9])
    assert (
        lx.solve(backwards, [7]).values[1] > -9
    )  # on average there is a cheaper way, whose worst half is dearer


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: lx.at_least(1, worst=0), "worst: "),
        (lambda m: lx.at_least(1, worst=0.5, chance=0.5), "worst: is another meaning"),
        (lambda m: lx.solve(m, [lx.at_least(1, worst=0.5)]), "order: objective 1 is for a share"),
        (lambda m: lx.augment(m, [lx.at_least(1, worst=0.5)], "chance"), "order: one model"),
        (
            lambda m: lx.train(
                m, [lx.at_least(1, worst=0.5)], lx.PPO(criterion="chance"), updates=1
            ),
            "order: learners",
        ),
        (
            lambda m: lx.search(m, [lx.at_least(1, worst=0.5)], criterion="chance", gamma=0.9),
            "gamma: ",
        ),
        (
            lambda m: lx.search(
                lx.tasks.maze("extended", objectives="path"),
                [-3, lx.lowest(worst=0.5)],
                criterion="chance",
                max_states=500,
            ),
            "max_states: more than 500",
        ),
    ],
)
def test_refusals(lottery, call, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        call(lottery)


def test_words():
    order = lx.Order([lx.at_least(1, chance=0.5), lx.highest(worst=0.1)])
    assert repr(order) == "Order([at_least(1.0, chance=0.5), highest(worst=0.1)])"
    assert str(order.levels[1]) == "highest, worst 10 %"
    assert order.with_chances(None) == lx.Order([1])
