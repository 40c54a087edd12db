"""Rules by hand: what is acceptable, selected, and worth to a successor."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st

from lexicone.order import Order
from lexicone.qlearning._iterate import tlq_iterate
from lexicone.qlearning._parts import (
    absolute_slack,
    absolute_threshold,
    clipped,
    cyclic,
    informed,
    optimal,
    ordered,
    relative_slack,
    taken,
)
from lexicone.qlearning._rules import (
    TIES,
    Rule,
    RuleNumbers,
    acceptable,
    decision_values,
    greedy,
    preset,
    successor_values,
)
from tests.helpers.small_models import drawn, fork

A, B, C = range(3)

UPDATES = {"clipped": clipped, "optimal": optimal, "taken": taken, "informed": informed()}

FORK = [  # accept, select, and per update: the choice, and what the state is worth as a successor
    (
        absolute_threshold(),
        ordered,
        {
            "clipped": (B, 0.7, 1),
            "optimal": (B, 1, 1),
            "taken": (B, 0.8, 1),
            "informed": (B, 0.8, 1),
        },
    ),
    (
        absolute_slack(0.1),
        ordered,
        {"clipped": (B, 0.7, 1), "optimal": (A, 1, 0), "taken": (A, 1, 0), "informed": (A, 1, 0)},
    ),
    (
        relative_slack(0.7),
        ordered,
        {
            "clipped": (C, 0.7, 2),
            "optimal": (C, 1, 2),
            "taken": (C, 0.3, 2),
            "informed": (C, 0.3, 2),
        },
    ),
    (
        absolute_threshold(last=-1),
        cyclic,
        {"clipped": (A, 0.7, 1), "optimal": (A, 1, 1), "taken": (A, 1, 0), "informed": (A, 1, 1)},
    ),
    (
        absolute_slack([0.2, 0.5]),
        cyclic,
        {
            "clipped": (B, 0.7, 1),
            "optimal": (B, 1, 1),
            "taken": (B, 0.8, 1),
            "informed": (B, 0.8, 1),
        },
    ),
    (
        relative_slack([0.7, 0.5]),
        cyclic,
        {
            "clipped": (B, 0.7, 2),
            "optimal": (B, 1, 2),
            "taken": (B, 0.8, 1),
            "informed": (B, 0.8, 2),
        },
    ),
]

COMBINATIONS = [(u, a, s, expected[u]) for a, s, expected in FORK for u in UPDATES]


@pytest.mark.parametrize(("update", "accept", "select", "expected"), COMBINATIONS)
def test_every_combination_by_hand(update, accept, select, expected):
    """τ=0.7, γ=½. Acceptable for the first objective: a and b reach 0.7; within 0.1 of 1 is only a, but clipped a
    and b are equal; all are within 70 %. Cyclic: the second slack decides whether a comes back."""
    found = tlq_iterate(fork(), Order([0.7]), Rule(UPDATES[update], accept, select), gamma=0.5)
    action, first, second = expected
    assert found.status == "converged"
    assert found.policy[1].tolist() == np.eye(3)[action].tolist()
    np.testing.assert_allclose(found.q[0], [[0.5 * first, 0.5 * second]] * 3, atol=1e-12)
    np.testing.assert_allclose(
        found.values, 0.5 * np.array([(1, 0), (0.8, 1), (0.3, 2)][action]), atol=1e-12
    )


def test_a_buffer_enlarges_the_targets_set_but_not_the_selections():
    rule = Rule(informed(buffer=0.4), absolute_threshold())
    found = tlq_iterate(fork(), Order([0.7]), rule, gamma=0.5)
    assert found.policy[1].argmax() == B
    np.testing.assert_allclose(found.q[0, 0], [0.5 * 0.3, 0.5 * 1])
    without = tlq_iterate(fork(), Order([0.7]), preset("informed"), gamma=0.5)
    np.testing.assert_allclose(without.q[0, 0], [0.5 * 0.8, 0.5 * 1])


def test_three_objectives_by_hand():
    """Acceptable for objective 1: a, b, c (slack 1); of these for objective 2: b, c (slack 1); the last prefers c.

    Cyclic, with slack 1 for the last too: b and c are left, and b is better for objective 1.
    """
    rows = [(3, 0, 9), (2.5, 4, 1), (2, 3, 2), (0, 9, 9)]
    mdp = drawn(3, {0: [(1, (0, 0, 0))] * 4, 1: [(2, row) for row in rows]}, [2])
    order = Order([np.inf, np.inf])
    expected = {
        "optimal": [3, 4, 2],
        "taken": rows[2],
        "informed": rows[2],
    }
    for name, worth in expected.items():
        found = tlq_iterate(mdp, order, Rule(UPDATES[name], absolute_slack(1)))
        assert found.policy[1].argmax() == 2
        np.testing.assert_allclose(found.q[0, 0], worth)
    found = tlq_iterate(mdp, order, Rule(informed(), absolute_slack([1, 1, 1]), cyclic))
    assert found.policy[1].argmax() == 1
    np.testing.assert_allclose(found.q[0, 0], [2.5, 4, 2])
    tight = tlq_iterate(mdp, order, Rule(optimal, absolute_slack([1, 0])))
    assert tight.policy[1].argmax() == 1


def accepted(accept, values, threshold=0.0):
    q = np.array([[value, 0.0] for value in values])
    rule = Rule(optimal, accept)
    return acceptable(rule, rule.numbers(Order([threshold])), q).strict[1].tolist()


def test_relative_slack_of_negative_values():
    """(1−η)·max, as the paper has it, would be −0.9 here: above every value."""
    assert accepted(relative_slack(0.1), [-1, -1.05, -2]) == [True, True, False]
    assert accepted(relative_slack(0.1), [1, 0.95, 0.5]) == [True, True, False]
    assert accepted(relative_slack(1), [1, 0, -0.1]) == [True, True, False]
    assert accepted(relative_slack(0.5), [0, 0, -1e-3]) == [True, True, False]


def test_a_threshold_that_nothing_reaches_leaves_the_best():
    assert accepted(absolute_threshold(), [-1, -1, -2]) == [True, True, False]
    assert accepted(absolute_threshold(), [0, 5, -2]) == [True, True, False]
    assert accepted(absolute_threshold(), [0, 5, -2], np.inf) == [False, True, False]
    assert accepted(absolute_threshold(), [0, 5, -2], -np.inf) == [True, True, True]


def test_ties():
    """b, c and d are equally good for the last objective; d is the best of them for the first."""
    rows = [(9, 0), (1, 5), (1, 5 + 1e-12), (2, 5)]
    mdp = drawn(2, {0: [(1, row) for row in rows]}, [1])
    order = Order([0.5])

    def choice(**options):
        return (
            tlq_iterate(mdp, order, preset("gabor", update=optimal, **options)).policy[0].tolist()
        )

    assert choice() == [0, 1, 0, 0]
    assert choice(action_order=(3, 2, 1, 0)) == [0, 0, 0, 1]
    assert choice(action_order=(0, 2, 1, 3)) == [0, 0, 1, 0]
    assert choice(ties="by_objective") == [0, 0, 0, 1]
    np.testing.assert_allclose(choice(ties="random"), [0, 1 / 3, 1 / 3, 1 / 3])
    assert choice(tie_tolerance=0.0) == [0, 0, 1, 0]


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.sampled_from(TIES), st.integers(1, 3))
def test_numpy_and_jax_decide_alike(seed, ties, objectives):
    rng = np.random.default_rng(seed)
    q = rng.integers(-2, 3, (4, 3, objectives)) / 2.0
    order = Order(rng.integers(-2, 3, objectives - 1) / 2.0)
    accept, select = [
        (absolute_threshold(), ordered),
        (absolute_slack(0.5), ordered),
        (relative_slack(0.5), cyclic),
    ][seed % 3]
    rule = Rule(list(UPDATES.values())[seed % 4], accept, select, ties=ties)
    numbers = rule.numbers(order)
    results = []
    for array in (np.asarray, jnp.asarray):
        own = RuleNumbers(*map(array, numbers))
        table = decision_values(rule, own, array(q))
        sets = acceptable(rule, own, table)
        policy = greedy(rule, own, table, sets.strict)
        results.append((policy, successor_values(rule, own, table, sets, policy)))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(np.asarray(theirs), ours, atol=1e-12)
    np.testing.assert_allclose(results[0][0].sum(axis=-1), 1.0)


def test_rules_without_numbers_are_equal():
    one = Rule(informed(0.1), absolute_slack([0.2]), tie_tolerance=0.5)
    two = Rule(informed(0.3), absolute_slack(0.4))
    assert one.structure == two.structure
    assert hash(one.structure) == hash(two.structure)
    assert one.structure != replace(two, ties="random").structure
    assert one.structure != Rule(optimal, absolute_slack(0.4)).structure
