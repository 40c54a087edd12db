"""Thresholds for a share of episodes: against trees of histories, mixtures, simulation and numbers found by hand."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import minimize_scalar

import lexicone as lx
from lexicone.models import MDP
from tests.helpers.histories import Histories, best_mixture, layered
from tests.helpers.solutions import close


def chosen(mdp, order, strategy: Any = "binary", **options) -> Any:
    return lx.search(mdp, order, strategy, criterion="chance", **options)


@pytest.fixture(scope="module")
def lottery():
    """A coin: heads a toll of 2, tails of 6. Then the bridge (toll 3, joy 4), the tunnel (7, 10) or home (0, 0)."""
    return MDP.from_transitions(
        [
            ("start", "go", 0.5, "heads", [-2, 0]),
            ("start", "go", 0.5, "tails", [-6, 0]),
            *(
                (side, action, 1.0, "end", paid)
                for side in ("heads", "tails")
                for action, paid in (("bridge", [-3, 4]), ("tunnel", [-7, 10]), ("home", [0, 0]))
            ),
        ]
    )


# By hand, with P(toll ≤ 10) ≥ p, then joy. Heads: the tunnel makes 9, fine. Tails: the tunnel makes 13 and gives 10,
# the bridge 9 and 4. So tails takes the tunnel with probability q, 1 − q/2 = p: joy is 5 + (10q + 4(1−q))/2 = 7 + 3q.
@pytest.mark.parametrize(
    ("level", "joy", "share"), [(1.0, 7.0, 1.0), (0.9, 7.6, 0.9), (0.5, 10.0, 0.5), (0, 10.0, 0.5)]
)
def test_by_hand(lottery, level, joy, share):
    found = chosen(lottery, [lx.at_most(10, chance=level)])
    assert found.status == "optimal"
    assert close(found.values[1], joy)
    assert close(found.chances.rates, [share])
    assert close(found.key, [min(level, share), joy])
    assert found.satisfied.all()
    returns = found.policy.simulate(20_000, seed=3).returns
    met = returns[:, 0] >= -10
    assert abs(met.mean() - share) <= 3 * np.sqrt(share * (1 - share) / 20_000)
    assert abs(returns[:, 1].mean() - joy) <= 3 * returns[:, 1].std() / np.sqrt(20_000)


def test_a_chance_that_no_policy_has_is_made_as_large_as_it_can_be(lottery):
    found = chosen(lottery, [lx.at_most(4, chance=0.9)])
    assert close(found.key, [0.5, 5.0])  # heads goes home, tails is lost and takes the tunnel
    assert not found.satisfied.any()
    mean = lx.search(lottery, [-4], criterion="episode")
    assert close(
        mean.values, [-4, 0]
    )  # every episode as near to 4 as it can: another meaning, another policy


@pytest.mark.parametrize("gamma", [1.0, 0.9])
@pytest.mark.parametrize("seed", range(4))
def test_no_policy_with_memory_is_better(seed, gamma):
    rng = np.random.default_rng(seed)
    mdp = layered(rng, objectives=3)
    tree = Histories(mdp, gamma)
    shares = [(0.6, 0.4), (0.95, None), (None, 0.7), (0.3, 0.9)][seed % 4]
    returns = np.array(tree.returns)
    limits = [rng.choice(returns[:, j]) for j in (0, 1)]
    if gamma < 1:
        limits = [t - 1e-6 for t in limits]
    order = lx.Order(limits).with_chances(shares)
    found = chosen(mdp, order, gamma=gamma)
    assert found.status == "optimal"
    assert close(found.key, tree.best_key(order))
    told = [
        v if p is None else c
        for v, p, c in zip(found.values[:-1], shares, found.chances.rates, strict=True)
    ]
    assert close(
        order_key(order, [*told, found.values[-1]]), found.key
    )  # the policy has what it says
    returns = found.policy.simulate(4000, seed=seed).returns
    score = np.where([p is not None for p in (*shares, None)], returns >= [*limits, 0], returns)
    told = np.array([*told, found.values[-1]])
    assert (abs(score.mean(0) - told) <= 4 * score.std(0) / np.sqrt(4000) + 1e-9).all()


def order_key(order, values):
    limits = [t if p is None else p for t, p in zip(order.thresholds, order.chances, strict=True)]
    return np.minimum(values, [*limits, np.inf])


def test_no_mixture_of_policies_without_coins_is_better():
    for seed in range(3):
        mdp = layered(np.random.default_rng(seed), layers=2, objectives=2)
        tree = Histories(mdp)
        order = lx.Order([float(np.median(tree.returns))]).with_chances(0.55)
        pure = tree.pure_values(order)
        key = chosen(mdp, order).key
        assert close(key, best_mixture(pure, order))
        assert close(key, tree.best_key(order))
        assert not (np.minimum(pure[:, 0], 0.55) > key[0] + 1e-9).any()


@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    level=st.sampled_from([0.0, 0.3, 1.0]),
    limit=st.sampled_from([-np.inf, -50.0, -1.0, 0.0, 2.0, 50.0, np.inf]),
)
def test_edges(seed, level, limit):
    mdp = layered(np.random.default_rng(seed), layers=2)
    found = chosen(mdp, [lx.at_least(limit, chance=level)])
    tree = Histories(mdp)
    assert found.status == "optimal"
    assert close(found.key, tree.best_key(found.order))
    if abs(limit) >= 50:
        assert close(found.chances.rates, [float(limit < 0)])
    if level == 0:
        assert close(found.values[-1], lx.solve(mdp, [-np.inf]).values[-1])
    certain = lx.search(mdp, [limit], criterion="episode")
    if level == 1 and certain.satisfied.all():  # then "in all episodes" is "in every episode"
        assert found.satisfied.all()
        assert close(found.values[-1], certain.values[-1])


def test_the_dual_of_a_longer_model():
    """20 days by bus or by taxi: min_λ max_π E[rests] + λ(P(cost ≤ 40) − .95), inside a dynamic program."""
    days, limit, share = 20, 40, 0.95

    def step(day, how):
        if how == "bus":
            return 1.0, day + 1, (-1, 0)
        return [(0.7, day + 1, (-2, 1)), (0.3, day + 1, (-5, 1))]

    def dual(price):
        value = np.where(np.arange(5 * days + 1) <= limit, price, 0.0)
        for day in reversed(range(days)):
            cost = np.arange(5 * day + 1)
            value = np.maximum(value[cost + 1], 0.7 * value[cost + 2] + 0.3 * value[cost + 5] + 1)
        return value[0] - share * price

    mdp = MDP.from_function(0, lambda day: ["bus", "taxi"] if day < days else [], step)
    found = chosen(mdp, [lx.at_most(limit, chance=share)])
    least = minimize_scalar(dual, bounds=(0, 100), method="bounded", options={"xatol": 1e-10})
    assert close(found.key, [share, least.fun])


def test_one_objective_has_no_threshold(lottery):
    alone = lottery.reorder([1])
    assert close(chosen(alone, []).values, lx.solve(alone, []).values)


def test_to_stay_for_ever_with_some_chance_needs_memory():
    mdp = MDP.from_transitions(
        [("here", "stay", 1.0, "here", [0, 0]), ("here", "go", 1.0, "end", [5, -1])]
    )
    found = chosen(mdp, [lx.at_least(3, chance=0.5)])
    assert found.status == "needs memory"
    assert found.stay is not None
    assert close(found.key, [0.5, -0.5])
    assert close(found.chances.rates, [0.5])
    assert np.isnan(found.values[0])
    assert close(found.values[1], -0.5)


def test_masks_are_kept_and_strategies_agree():
    mdp = layered(np.random.default_rng(5), objectives=3)
    order = lx.Order([lx.at_least(0, chance=0.6), lx.at_least(1, chance=0.5), None])
    keys = [chosen(mdp, order, strategy).key for strategy in ("one_by_one", "binary", "dynamic")]
    assert close(keys[0], keys[1])
    assert close(keys[0], keys[2])
    lifted = chosen(mdp, order).policy
    assert not lifted.table[~mdp.available[lifted.augmented.state]].any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: lx.at_least(1, chance=1.5), "chance: "),
        (lambda m: lx.Order([1, 2]).with_chances([0.5]), "chances: the order has 2"),
        (
            lambda m: lx.solve(m, [lx.at_least(1, chance=0.5)]),
            "order: objective 1 is for a share",
        ),
        (
            lambda m: lx.search(m, [lx.at_least(1, chance=0.5)]),
            "order: objective 1 is for a share",
        ),
        (lambda m: chosen(m, [1]), 'order: criterion="chance" needs'),
        (
            lambda m: chosen(m, [lx.at_least(1, chance=0.5)], solver="q_learning"),
            "solver: Q-learning",
        ),
        (lambda m: chosen(m, [lx.at_most(3, chance=0.5)], max_states=3), "max_states: more than 3"),
        (lambda m: lx.augment(m, [lx.at_least(1, chance=0.5)]), "order: objective 1"),
        (
            lambda m: lx.augment(m, [lx.at_least(1, chance=0.5)], "chance", multiplier=1.0),
            "multiplier: ",
        ),
    ],
)
def test_refusals(lottery, call, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        call(lottery)


def test_words():
    order = lx.Order({"toll": lx.at_most(10, chance=0.95), "joy": lx.highest})
    assert repr(order) == "Order({'toll': at_most(10.0, chance=0.95), 'joy': None})"
    assert str(order.levels[0]) == "≤ 10 in 95 %"
    assert order.chances == (0.95,)
    assert order.with_chances(None) == lx.Order({"toll": lx.at_most(10), "joy": None})
    assert order.moved(0, -3.0).chances == (0.95,)
