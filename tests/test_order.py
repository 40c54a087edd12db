import inspect
import math
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

from lexicone import Order

# Few distinct numbers, so that ties and thresholds are hit often.
NUMBERS = st.sampled_from([-math.inf, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, math.inf])


@st.composite
def thresholds_and_vectors(draw, count):
    size = draw(st.integers(1, 4))
    thresholds = draw(st.lists(NUMBERS, min_size=size - 1, max_size=size - 1))
    vector = st.lists(NUMBERS, min_size=size, max_size=size).map(np.array)
    return thresholds, *(draw(vector) for _ in range(count))


def make_order(*arguments, **options):
    """An order whose arguments reach its own checks, not those of the type checker in the tests."""
    order = object.__new__(Order)
    inspect.unwrap(Order.__init__)(order, *arguments, **options)
    return order


def better_as_defined(u, v, thresholds):
    """``u >^τ v`` as the paper's section Background writes it, word by word."""
    size = len(u)
    for i in range(size):
        before = all(u[j] >= min(v[j], thresholds[j]) for j in range(i))
        here = min(u[i], thresholds[i]) > min(v[i], thresholds[i]) if i < size - 1 else u[i] > v[i]
        if before and here:
            return True
    return False


@given(thresholds_and_vectors(2))
def test_agrees_with_the_papers_definition(case):
    thresholds, u, v = case
    order = Order(thresholds)
    assert order.better(u, v) == better_as_defined(u, v, order.thresholds)
    equal = all(min(a, t) == min(b, t) for a, b, t in zip(u, v, order.thresholds, strict=False))
    assert (order.compare(u, v) == 0) == (equal and u[-1] == v[-1])


@given(thresholds_and_vectors(3))
def test_is_a_total_preorder(case):
    thresholds, u, v, w = case
    order = Order(thresholds)
    assert order.compare(u, u) == 0
    assert order.compare(u, v) == -order.compare(v, u)
    if order.compare(u, v) >= 0 and order.compare(v, w) >= 0:
        assert order.compare(u, w) >= 0


@given(thresholds_and_vectors(2), st.integers(0, 2), st.floats(0, 10))
def test_nothing_changes_above_a_threshold(case, index, more):
    thresholds, u, v = case
    order = Order(thresholds)
    if index < len(order) - 1 and u[index] >= order.thresholds[index]:
        raised = u.copy()
        raised[index] += more
        assert order.compare(raised, v) == order.compare(u, v)
        np.testing.assert_array_equal(order.gap(raised, v), order.gap(u, v))


def test_below_a_threshold_everything_counts():
    order = Order([0.0])
    assert order.better([-0.5, 0.0], [-0.6, 9.0])
    assert not order.better([0.1, 0.0], [0.0, 9.0])


@given(thresholds_and_vectors(5))
def test_argmax_is_the_first_that_none_beats(case):
    thresholds, *rows = case
    order = Order(thresholds)
    mask = [not any(order.better(other, row) for other in rows) for row in rows]
    assert order.maximizers(np.stack(rows)).tolist() == mask
    assert order.argmax(rows) == mask.index(True)


def test_ties_are_broken_only_on_request():
    u, v = [3.0, 1.0], [2.0, 1.0]
    assert Order([0.0]).compare(u, v) == 0
    assert Order([0.0], break_ties=True).compare(u, v) == 1
    assert Order([0.0], break_ties=True).key(u).tolist() == [0.0, 1.0, 3.0]
    assert Order([0.0], break_ties=True).compare([3.0, 1.0], [2.0, 1.5]) == -1


def test_infinite_thresholds():
    never_matters, lexicographic = Order([-math.inf]), Order([math.inf])
    assert never_matters.compare([-9.0, 1.0], [9.0, 1.0]) == 0
    assert never_matters.satisfied([-9.0, 1.0]).tolist() == [True]
    assert lexicographic.better([1.0, -9.0], [0.9, 9.0])
    assert lexicographic.satisfied([1e300, 0.0]).tolist() == [False]
    assert never_matters.gap([-9.0, 1.0], [9.0, 3.0]).tolist() == [0.0, 2.0]


def test_gap_is_in_clipped_units():
    order = Order([0.0, 10.0])
    assert order.gap([-1.0, 20.0, 5.0], [3.0, 12.0, 4.0]).tolist() == [1.0, 0.0, -1.0]


def test_one_objective_is_plain_comparison():
    order = Order([])
    assert len(order) == 1
    assert order.better([2.0], [1.0])
    assert order.satisfied([2.0]).shape == (0,)
    assert order.argmax([[1.0], [3.0], [3.0]]) == 1


def test_leading_axes_broadcast():
    order = Order([0.0])
    rows = np.random.default_rng(0).normal(size=(4, 5, 2))
    one = np.array([-0.1, 0.2])
    compared = np.asarray(order.compare(rows, one))
    assert compared.shape == (4, 5)
    assert compared[2, 3] == order.compare(rows[2, 3], one)
    assert np.asarray(order.argmax(rows)).tolist() == [order.argmax(row) for row in rows]
    assert order.satisfied(rows).shape == (4, 5, 1)


def test_jax_inside_jit_and_torch_agree_with_numpy():
    order = Order([0.0, 0.5], break_ties=True)
    rows = np.random.default_rng(1).normal(size=(7, 3)).round(1)

    def everything(rows):
        return (
            order.key(rows),
            order.compare(rows, rows[0]),
            order.satisfied(rows),
            order.argmax(rows),
            order.gap(rows, rows[0]),
        )

    expected = everything(rows)
    for found in (jax.jit(everything)(jnp.asarray(rows)), everything(torch.asarray(rows))):
        for a, b in zip(expected, found, strict=True):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
    assert order.key(torch.ones(3, dtype=torch.float32)).dtype == torch.float32


def test_names_and_labels():
    order = Order({"safety": -0.5, "time": None})
    assert order == Order([-0.5], names=["safety", "time"])
    assert hash(order) == hash(pickle.loads(pickle.dumps(order)))
    assert order.labels == ("safety", "time")
    assert Order([1, None]).thresholds == (1.0,)
    assert Order([1.0]).labels == ("objective 1", "objective 2")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: make_order([math.nan]), r"thresholds\[0\]: is NaN"),
        (lambda: make_order({"a": math.nan, "b": None}), r"thresholds\['a'\]: is NaN"),
        (lambda: make_order([None, 1.0]), r"thresholds\[0\]: only the last"),
        (lambda: make_order(["x"]), r"thresholds\[0\]: expected a number"),
        (lambda: make_order(3), "thresholds: expected a sequence"),
        (lambda: make_order({}), "thresholds: the mapping is empty"),
        (lambda: make_order({"a": 1.0, "b": 2.0}), "thresholds: the last objective 'b'"),
        (lambda: make_order([1.0], names=["a"]), "names: 1 thresholds make 2 objectives"),
        (lambda: make_order([1.0], names=["a", "a"]), "names: must differ"),
        (lambda: make_order([1.0]).key([1.0, 2.0, 3.0]), "values: the last axis must have 2"),
        (lambda: make_order([1.0]).better([math.nan, 2.0], [0, 0]), "first: contains NaN"),
        (lambda: make_order([1.0]).key(["a", "b"]), "values: expected real numbers"),
        (lambda: make_order([1.0]).argmax(np.zeros((0, 2))), "rows: need at least one row"),
    ],
)
def test_mistakes_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
