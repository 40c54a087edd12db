"""Wrong answers that solvers have given, made by hand: none gets past `verify`."""

from dataclasses import replace

import numpy as np
import pytest

import lexicone as lx
from lexicone.exact._solution import Solution, Status
from lexicone.proofs import Certificate, StageProof, verify
from lexicone.proofs._quick import find_doubt
from lexicone.proofs._rows import read_rows
from tests.helpers.small_models import drawn

pytestmark = pytest.mark.usefixtures("without_shape_checks")


def claimed(mdp: lx.MDP, order: lx.Order, policy: list[int], **rest: object) -> Solution:
    """A solution with the values of a deterministic policy; bounds are its own key unless given."""
    values = lx.evaluate(mdp, np.array(policy), gamma=1.0)
    table = np.eye(mdp.num_actions)[policy]
    fields = {
        "status": Status.OPTIMAL,
        "message": "",
        "values": values,
        "key": np.asarray(order.key(values)),
        "policy": table,
        "occupancy": np.zeros_like(table),
        "satisfied": np.asarray(order.satisfied(values)),
        "prices": np.zeros((len(order) - 1, len(order))),
        "bound": np.asarray(order.key(values)),
        "stay": None,
        "order": order,
        "gamma": 1.0,
        "policies": "stochastic",
        "method": "by hand",
    }
    return Solution(**{**fields, **rest})  # type: ignore[arg-type]


def loop_behind_a_cost() -> lx.MDP:
    """The cost of the loop that pays is met one step after the choice that leads to it."""
    return drawn(
        4,
        {
            0: [(3, (0, 0)), (3, (0, 2)), (1, (0, 0))],
            1: [(2, (-1, 0))],
            2: [(2, (0, 1))],
        },
        [3],
    )


@pytest.mark.parametrize("exact", [False, True])
def test_a_loop_behind_a_cost_is_not_unbounded(exact: bool):
    mdp, order = loop_behind_a_cost(), lx.Order([0.0])
    wrong = claimed(
        mdp, order, [0, 0, 0, 0], status=Status.UNBOUNDED, bound=np.array([0.0, np.inf])
    )
    found = verify(mdp, wrong, exact=exact)
    assert [claim.name for claim in found.refuted] == ["objective 2 is unbounded"]
    right = claimed(mdp, order, [1, 0, 0, 0])
    assert verify(mdp, right, exact=exact).ok
    paid = lx.Order([-0.5])  # then it is
    reached = replace(wrong, order=paid, key=np.asarray(paid.key(wrong.values)))
    reached = replace(reached, bound=np.array([-0.5, np.inf]))
    assert verify(mdp, reached, exact=exact).ok


@pytest.mark.parametrize("exact", [False, True])
def test_a_supremum_that_a_policy_attains(exact: bool):
    """A loop that is entered for free and pays (−4, 4): going round an eighth of the time has (−0.5, 0.5)."""
    mdp = drawn(3, {0: [(2, (0, 0)), (1, (0, 0))], 1: [(1, (-4, 4)), (2, (0, 0))]}, [2])
    order = lx.Order([-0.5])
    duals = Certificate((StageProof(1, np.array([1.0, 1.0]), np.zeros(3)),))
    wrong = claimed(
        mdp,
        order,
        [0, 0, 0],
        status=Status.SUPREMUM,
        bound=np.array([-0.5, 0.5]),
        certificate=duals,
    )
    found = verify(mdp, wrong, exact=exact)
    assert [claim.name for claim in found.refuted] == ["no policy attains it"]
    policy = np.array([[0.0, 1.0], [1 / 9, 8 / 9], [1.0, 0.0]])
    values = np.array([-0.5, 0.5])
    right = replace(wrong, status=Status.OPTIMAL, policy=policy, values=values)
    right = replace(right, key=np.asarray(order.key(values)), satisfied=np.array([True]))
    assert verify(mdp, right, exact=exact).ok, verify(mdp, right, exact=exact).message


def random_walk(states: int, drift: float) -> lx.MDP:
    """Up or down by one, from the middle to either end; the second action costs a little more, and drifts."""
    transition = np.zeros((states, 2, states))
    reward = np.zeros((states, 2, 2))
    for s in range(1, states - 1):
        for a, up in enumerate((0.5, 0.5 - drift)):
            transition[s, a, s + 1], transition[s, a, s - 1] = up, 1 - up
        reward[s] = [[-1.0, -1.0], [-1.0, -1.0 - 1e-7]]
    ends = np.isin(np.arange(states), [0, states - 1])
    transition[ends], reward[ends] = 0.0, 0.0
    return lx.MDP.from_dense(transition, reward, np.eye(states)[states // 2], ends)


@pytest.mark.parametrize("exact", [False, True])
def test_slips_count_once_for_every_step(exact: bool):
    """Against the wrong duals each step slips by 10⁻⁷ only, and all of them by a thousandth."""
    mdp, order = random_walk(201, 0.0), lx.Order([-np.inf])
    right = lx.solve(mdp, order, method="lp")
    np.testing.assert_allclose(right.values[1], -1e4, rtol=1e-9)
    assert verify(mdp, right, exact=exact).ok
    assert not find_doubt(read_rows(mdp, right.gamma), right, 1e-8)
    worse = np.zeros(201, dtype=int)
    worse[:] = 1
    slow = lx.state_values(mdp, worse, gamma=1.0)[:, 1]
    duals = Certificate((StageProof(1, np.array([0.0, 1.0]), slow),))
    wrong = claimed(mdp, order, list(worse), certificate=duals)
    wrong = replace(wrong, occupancy=np.roll(right.occupancy, 1, axis=1))
    np.testing.assert_allclose(wrong.values[1], -1e4 * (1 + 1e-7), rtol=1e-12)
    found = verify(mdp, wrong, exact=exact, tolerance=1e-8)
    assert [claim.name for claim in found.refuted] == ["bound on objective 2"]
    assert "steps" in find_doubt(read_rows(mdp, wrong.gamma), wrong, 1e-8)


def test_very_long_episodes_are_proven_in_whole_numbers():
    """10⁸ steps: floating point knows the value to some 10⁻⁶ only, whole numbers to 10⁻²⁰."""
    chance = 1e-8
    mdp = lx.MDP.from_dense(
        np.array([[[1 - chance, chance]], [[0.0, 0.0]]]),
        np.array([[[1.0]], [[0.0]]]),
        [1.0, 0.0],
        [False, True],
    )
    wrong = claimed(mdp, lx.Order([]), [0, 0])
    rough = verify(mdp, wrong, tolerance=1e-9)
    assert not rough.ok
    fine = verify(mdp, wrong, exact=True, tolerance=1e-7)
    assert fine.ok, fine.message
    assert max(claim.error for claim in fine.claims) < 1e-6


def test_a_threshold_of_rare_events():
    """A failure probability of 9·10⁻⁷ does not meet one of 10⁻⁷."""
    chance = 9e-7
    mdp = lx.MDP.from_dense(
        np.array([[[0.0, 1.0]], [[0.0, 0.0]]]),
        np.array([[[-chance, 1.0]], [[0.0, 0.0]]]),
        [1.0, 0.0],
        [False, True],
    )
    wrong = claimed(mdp, lx.Order([-1e-7]), [0, 0], occupancy=np.array([[1.0], [0.0]]))
    assert verify(mdp, wrong, exact=True).message != ""
    said = replace(wrong, satisfied=np.array([True]))
    assert "thresholds met" in [claim.name for claim in verify(mdp, said).refuted]
    assert "thresholds met" not in [claim.name for claim in verify(mdp, wrong).refuted]
