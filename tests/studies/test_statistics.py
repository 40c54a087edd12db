import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

import lexicone as lx
from lexicone.studies.sweeps.statistics import (
    better_share,
    difference,
    holm,
    interquartile_mean,
    ranks,
    same_chance,
    share,
)


def test_wilson_by_hand():
    found = share(np.array([True] * 8 + [False] * 2))
    n, p, z = 10, 0.8, stats.norm.ppf(0.975)
    centre, half = p + z**2 / (2 * n), z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    expected = np.array([centre - half, centre + half]) / (1 + z**2 / n)
    np.testing.assert_allclose([found.low, found.high], expected)
    assert share(np.ones(10, bool)).low == pytest.approx(0.7225, abs=1e-4)
    assert share(np.zeros(10, bool)).high == pytest.approx(0.2775, abs=1e-4)


def test_the_middle_half():
    found = interquartile_mean(np.array([0.0, 1, 2, 3, 4, 5, 6, 1e9]))
    assert found.value == pytest.approx(3.5)  # 2, 3, 4, 5: what lies outside has no say
    assert found.low <= found.value <= found.high


def test_pairs_know_what_seeds_share():
    rng = np.random.default_rng(0)
    luck = rng.normal(size=30) * 10
    ours, theirs = luck + 1 + 0.1 * rng.normal(size=30), luck
    paired = difference(ours, theirs)
    apart = difference(ours, rng.permutation(theirs))
    assert paired.low > 0.9
    assert paired.high < 1.1
    assert apart.high - apart.low > 5  # without the pairing luck hides the difference
    with pytest.raises(ValueError, match=r"^theirs: pairs need as many seeds"):
        difference(ours, theirs[:5])


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_keeps_the_sequence_and_is_no_less(chances):
    found = holm(chances)
    assert all(a <= b + 1e-15 for a, b in zip(chances, found, strict=True))
    sequence = np.argsort(chances, kind="stable")
    assert (np.diff(np.array(found)[sequence]) >= 0).all()
    assert max(found) <= 1


@given(st.integers(0, 10_000))
def test_ranks_are_those_of_the_order(seed):
    rng = np.random.default_rng(seed)
    order = lx.Order([0.0])
    ours, theirs = rng.integers(-2, 2, (4, 2)), rng.integers(-2, 2, (5, 2))
    first, second = ranks(order, [ours, theirs])
    for i, u in enumerate(ours):
        for j, v in enumerate(theirs):
            assert np.sign(first[i] - second[j]) == order.compare(u, v)
    wins = np.mean([(order.compare(u, v) + 1) / 2 for u in ours for v in theirs])
    assert better_share(first, second).value == pytest.approx(wins)


def test_alike_and_apart():
    same = np.zeros(10, int)
    assert same_chance(same, same) == 1.0
    assert better_share(same, same).value == 0.5
    assert same_chance(np.arange(10), np.arange(10) + 20) < 1e-3
    assert better_share(np.arange(10) + 20, np.arange(10)) == (1.0, 1.0, 1.0)
