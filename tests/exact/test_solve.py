import jaxtyping
import numpy as np
import pytest

from lexicone.exact._solution import Status
from lexicone.exact._solve import solve
from lexicone.exact._tables import solution_rows
from lexicone.models._mdp import MDP
from lexicone.order import Order
from lexicone.tasks import garnet, grid, maze, space_traders
from tests.helpers.small_models import deterministic_values, drawn, random_model
from tests.helpers.solutions import check_optimal, close


class TestNumbersOfThePaper:
    @pytest.mark.parametrize("method", ["lp", "columns"])
    def test_extended_maze_flips_a_coin(self, method):
        mdp = maze("extended", objectives="path")
        found = solve(mdp, Order([-3.0]), gamma=1.0, method=method)
        assert found.status is Status.OPTIMAL
        np.testing.assert_allclose(found.values, [-3.0, -5.2], atol=1e-9)
        assert len(found.randomises) == 1
        start = int(np.argmax(mdp.initial))
        assert found.randomises == [start]
        assert mdp.action_names is not None
        up = mdp.action_names.index("Up")
        np.testing.assert_allclose(found.policy[start, up], 0.8, atol=1e-9)
        np.testing.assert_allclose(found.prices, [[0.0, 1.2]], atol=1e-9)
        assert found.criterion == "expected"

    def test_extended_maze_deterministic(self):
        mdp = maze("extended", objectives="path")
        found = solve(mdp, Order([-3.0]), gamma=1.0, policies="deterministic")
        np.testing.assert_allclose(found.values, [-3.0, -8.0], atol=1e-9)

    def test_space_traders(self):
        mdp = space_traders()
        found = solve(mdp, Order([0.88]), gamma=1.0, policies="deterministic")
        np.testing.assert_allclose(found.values, [0.9, -14.5], atol=1e-9)
        assert mdp.action_names is not None
        names = [mdp.action_names[a] for a in found.policy.argmax(axis=1)[:2]]
        assert names == ["Direct", "Indirect"]
        mixed = solve(mdp, Order([0.88]), gamma=1.0)
        assert mixed.key[1] > -14.5


class TestThresholds:
    def test_minus_infinity_never_matters(self):
        mdp = random_model(3, 4, 3, 3, "any", False)
        found = solve(mdp, Order([-np.inf, -np.inf]), gamma=0.9)
        alone = deterministic_values(mdp, 0.9)[:, 2].max()
        np.testing.assert_allclose(found.values[2], alone, atol=1e-8)

    def test_plus_infinity_maximises(self):
        mdp = random_model(3, 4, 3, 3, "any", False)
        found = solve(mdp, Order([np.inf, np.inf]), gamma=0.9)
        best = max(map(tuple, deterministic_values(mdp, 0.9)))
        np.testing.assert_allclose(found.values, best, atol=1e-7)
        assert not found.satisfied.any()
        assert [row.met for row in solution_rows(found)] == ["best", "best", ""]

    def test_an_objective_that_misses_its_threshold_is_kept(self):
        """The first cannot reach 5; giving up on it would gain 10 of the second."""
        mdp = drawn(3, {0: [(2, (1, 0)), (2, (0, 10))]}, [2])
        found = solve(mdp, Order([5.0]), gamma=1.0)
        np.testing.assert_allclose(found.values, [1.0, 0.0])
        assert not found.satisfied[0]

    def test_an_unmet_middle_objective_is_kept_too(self):
        rewards = [(1, 0, 9), (1, 2, 0), (0, 5, 5)]
        mdp = drawn(2, {0: [(1, r) for r in rewards]}, [1])
        np.testing.assert_allclose(solve(mdp, Order([1.0, 4.0])).values, [1, 2, 0], atol=1e-9)
        np.testing.assert_allclose(solve(mdp, Order([0.5, 3.0])).values, [0.5, 3, 4.75], atol=1e-9)

    @pytest.mark.slow
    @pytest.mark.parametrize("method", ["lp", "columns"])
    @pytest.mark.parametrize("seed", range(6))
    def test_prices_are_slopes(self, seed, method):
        mdp = random_model(seed, 5, 3, 3, "any", False)
        rows = deterministic_values(mdp, 0.9)
        order = [
            np.quantile(rows[:, 0], 0.7),
            np.quantile(rows[:, 1], 0.8 if seed % 2 else 1) + seed % 2 * 0,
        ]
        if seed % 3 == 0:
            order[1] = rows[:, 1].max() + 1  # the second is maximised, and moves with the first
        step = 1e-5
        here = solve(mdp, Order(order), gamma=0.9, method=method)
        for j in range(2):
            moved = list(order)
            moved[j] += step
            there = solve(mdp, Order(moved), gamma=0.9, method=method)
            slope = -(there.key[2] - here.key[2]) / step
            np.testing.assert_allclose(here.prices[j, 2], slope, atol=1e-3 * max(1, abs(slope)))
        moved = [order[0] + step, order[1]]
        there = solve(mdp, Order(moved), gamma=0.9, method=method)
        slope = -(there.key[1] - here.key[1]) / step
        np.testing.assert_allclose(here.prices[0, 1], slope, atol=1e-3 * max(1, abs(slope)))

    def test_scale_of_rewards_does_not_matter(self):
        mdp = random_model(5, 4, 3, 2, "any", False)
        middle = float(np.median(deterministic_values(mdp, 0.9)[:, 0]))
        plain = solve(mdp, Order([middle]), gamma=0.9)
        factors = np.array([1e6, 1e-4])
        dense = mdp.to_dense()
        scaled = type(mdp).from_dense(
            dense.transition, dense.reward * factors, dense.initial, dense.terminal
        )
        large = solve(scaled, Order([middle * 1e6]), gamma=0.9)
        np.testing.assert_allclose(large.values, plain.values * factors, rtol=1e-8)


class TestSizes:
    @pytest.mark.parametrize(
        ("mdp", "seed"),
        [(garnet(150, 3, 3, 3, seed=1), 1), (grid(12, seed=2), 2)],
        ids=["garnet", "grid"],
    )
    def test_methods_agree(self, mdp, seed):
        best = [
            solve(mdp, Order([np.inf if k == 0 else -np.inf, -np.inf]), gamma=0.95)
            for k in range(2)
        ]
        thresholds = [0.5 * (best[0].values[0] + best[1].values[0]), -np.inf]
        thresholds[1] = solve(mdp, Order(thresholds), gamma=0.95).values[1] * 0.999
        order = Order(thresholds)
        found = {m: solve(mdp, order, gamma=0.95, method=m) for m in ("lp", "columns")}
        assert close(found["lp"].key, found["columns"].key)
        for solution in found.values():
            check_optimal(solution, mdp, order, 0.95)

    def test_a_larger_model_by_columns(self):
        mdp = grid(60, seed=3)
        order = Order([-4.0, -3.0])
        lines = []
        found = solve(mdp, order, gamma=0.99, progress=lines.append)
        assert found.method == "columns"
        assert found.status is Status.OPTIMAL
        check_optimal(found, mdp, order, 0.99)
        assert any("policies" in line for line in lines)

    def test_undiscounted_large(self):
        mdp = grid(25, seed=4)
        order = Order([-1.0, -1.5])
        found = {m: solve(mdp, order, gamma=1.0, method=m) for m in ("lp", "columns")}
        assert close(found["lp"].key, found["columns"].key)
        for solution in found.values():
            check_optimal(solution, mdp, order, 1.0)

    def test_start_in_a_terminal_state(self):
        mdp = drawn(1, {0: [(0, (0, 0))]}, [0])
        found = solve(mdp, Order([1.0]))
        np.testing.assert_allclose(found.values, [0, 0])
        assert found.status is Status.OPTIMAL
        assert not found.satisfied[0]


@pytest.mark.parametrize(
    ("arguments", "blamed"),
    [
        ({"order": Order([1.0, 2.0])}, "order"),
        ({"order": 1.0}, "order"),
        ({"mdp": "maze"}, "mdp"),
        ({"gamma": 1.5}, "gamma"),
        ({"gamma": float("nan")}, "gamma"),
        ({"policies": "pure"}, "policies"),
        ({"method": "simplex"}, "method"),
        ({"tolerance": 0.0}, "tolerance"),
    ],
)
def test_mistakes_are_named(arguments, blamed, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    given_arguments = {"mdp": space_traders(), "order": Order([0.88]), **arguments}
    with pytest.raises(ValueError, match=f"^{blamed}:"):
        solve(**given_arguments)


@pytest.mark.slow
@pytest.mark.parametrize("far", [1e3, 1e8, 1e10])
@pytest.mark.parametrize("reachable", [True, False])
@pytest.mark.parametrize(
    "how", [{"policies": "deterministic"}, {"method": "lp"}, {"method": "columns"}]
)
def test_rewards_far_larger_than_the_optimum(far, reachable, how):
    """Differences of 1 decide, beside a pair that costs ``far``, or a state that nobody comes to."""
    first = np.array([-far if reachable else -4.0, -1.0, -3.0, -2.0])
    reward = np.zeros((6, 4, 1, 2))
    reward[0, :, 0] = np.stack([first, [0.0, 5.0, 9.0, 7.0]], axis=1)
    reward[5, :, 0, 0] = -far
    target = np.broadcast_to(np.arange(6)[:, None, None], (6, 4, 1)).copy()
    target[0, :, 0], target[5] = [1, 2, 3, 4], 1
    mdp = MDP(
        next_state=target,
        probability=np.ones((6, 4, 1)),
        reward=reward,
        initial=np.eye(6)[0],
        terminal=np.array([False, True, True, True, True, False]),
    )
    for gamma in (0.9, 1.0):
        found = solve(mdp, Order([np.inf]), gamma=gamma, **how)
        assert found.status is Status.OPTIMAL
        np.testing.assert_allclose(found.values, [-1, 5], atol=1e-6)
        found = solve(mdp, Order([-2.5]), gamma=gamma, **how)
        assert found.status is Status.OPTIMAL
        best = [-2.0, 7.0] if "policies" in how else [-2.5, 8.0]
        np.testing.assert_allclose(found.values, best, atol=1e-6)
