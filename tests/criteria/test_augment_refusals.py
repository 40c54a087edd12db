"""What cannot be augmented is refused, with the reason."""

import jaxtyping
import numpy as np
import pytest

from lexicone.criteria._augment import augment, augmentation
from lexicone.criteria._augment_rewards import common_unit
from lexicone.criteria._budgets import BudgetsNotEnumerable
from lexicone.exact._solve import solve
from lexicone.order import Order
from lexicone.tasks import maze
from tests.helpers.small_models import drawn


def test_totals_that_change_for_ever_are_refused_at_once():
    mdp, order = maze("small"), Order([0.5])
    with pytest.raises(ValueError, match=r"rewards: \"accumulated\" has no end .* \(tiles\)"):
        augment(mdp, order, "accumulated", max_states=10_000_000)
    found = augmentation(mdp, order, "penalty")
    values = found.lift(solve(found.mdp, Order([])).policy).values
    np.testing.assert_allclose(values, [1.0, 0.0], atol=1e-9)


@pytest.mark.parametrize("crash", [1e6, 1e9])
def test_rewards_too_small_for_their_scale(crash):
    """Three tolls of 1 exceed a budget of 2; beside a crash of 1e9 they would all be one budget."""
    edges = {s: [(s + 1, [-1.0, 9.0 * (s == 2)]), (4, [-crash, 0.0])] for s in range(3)}
    edges[0].append((4, [-2.0, 1.0]))
    mdp, order = drawn(5, edges, terminal=(3, 4)), Order([-2.0])
    if crash == 1e9:
        with pytest.raises(
            BudgetsNotEnumerable, match=r"tolerance: objective 1 .* size 1 would be lost"
        ):
            augment(mdp, order)
    model = augment(mdp, order, tolerance=1e-9 if crash < 1e9 else 1e-11)
    np.testing.assert_allclose(solve(model, order).values, [-2.0, 1.0], atol=1e-9)
    far = Order([-1e12])  # decided at the start: its size does not matter
    assert augment(mdp, far).num_states <= 6


def test_the_size_limit_names_the_objective():
    mdp = drawn(
        2,
        {0: [(0, [-1.0, -1.0, 0.0]), (0, [-1.0, np.sqrt(2), 0.0]), (1, [0.0, 0.0, 0.0])]},
        terminal=(1,),
    )
    message = r"more than 500 .* there are 5\d\d.*Objective 2.* different budgets"
    with pytest.raises(BudgetsNotEnumerable, match=message):
        augment(mdp, Order([-1000.0, -5.0]), max_states=500)
    assert augment(mdp, Order([-5.0, -np.inf]), max_states=500).num_states < 500


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"order": Order([])}, "order: has 1 objectives"),
        ({"rewards": "sum"}, "rewards: expected one of"),
        ({"gamma": 0.0}, "gamma: must be above 0"),
        ({"gamma": 0.9, "rewards": "penalty"}, "gamma: rewards='penalty' adds up whole"),
        (
            {"rewards": "endpoint"},
            "rewards: the last objective is paid before the end, in state",
        ),
        ({"order": Order([np.inf]), "rewards": "penalty"}, "a threshold of ∞"),
        ({"multiplier": 2.0}, 'multiplier: rewards="vector" has none'),
        ({"multiplier": -2.0, "rewards": "penalty"}, "multiplier: expected a positive"),
        ({"tolerance": 0.0}, "tolerance: must be"),
        ({"max_states": 0}, "max_states: must be"),
        ({"max_states": 2.5}, "max_states: must be a whole number"),
        ({"gamma": "1"}, "gamma: must be"),
        ({"order": -3.0}, "order: expected an Order or a list"),
        ({"multiplier": "a", "rewards": "penalty"}, "multiplier: expected a positive"),
        ({"multiplier": [1.0, 2.0], "rewards": "penalty"}, "multiplier: expected a positive"),
        (
            {"order": Order([2.0]), "rewards": "penalty"},
            "multiplier: cannot be computed, as totals",
        ),
    ],
)
def test_mistakes(change, message, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    arguments = {"mdp": maze("extended", objectives="path"), "order": Order([-3.0]), **change}
    with pytest.raises(ValueError, match=message):
        augment(**arguments)


def test_lists_are_taken_too():
    mdp = maze("extended", objectives="path")
    one, two = (
        augmentation(mdp, o, "penalty", multiplier=m)
        for o, m in (([-3.0], [2.0]), (Order([-3.0]), 2.0))
    )
    assert one.order == two.order
    assert one.penalty == two.penalty


def test_a_given_multiplier_replaces_what_cannot_be_computed():
    mdp = maze("extended", objectives="path")
    found = augmentation(mdp, Order([2.0]), "penalty", multiplier=100.0)
    values = found.lift(solve(found.mdp, Order([])).policy).values
    np.testing.assert_allclose(values, [1.0, -10.0], atol=1e-9)


def test_what_can_be_collected_for_ever_has_no_penalty():
    mdp = drawn(2, {0: [(0, [-1.0, 1.0]), (1, [0.0, 0.0])]}, terminal=(1,))
    with pytest.raises(ValueError, match="can be collected for ever"):
        augment(mdp, Order([-3.0]), "penalty")
    np.testing.assert_allclose(
        solve(augment(mdp, Order([-3.0])), Order([-3.0])).values, [-3.0, 3.0], atol=1e-9
    )


def test_common_unit():
    assert common_unit(np.array([6.0, -4.0, 0.0])) == pytest.approx(2.0)
    assert common_unit(np.array([0.3, 0.1, 0.25])) == pytest.approx(0.05)
    assert common_unit(np.array([1.0, np.sqrt(2)])) is None
    assert common_unit(np.zeros(3)) is None
