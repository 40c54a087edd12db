"""Small models whose answers are known, on which `solve`, `search` and `pareto` once were wrong."""

import json

import numpy as np
import pytest

from lexicone.cli._main import main
from lexicone.criteria._search import search
from lexicone.exact._front import pareto
from lexicone.exact._solution import Status
from lexicone.exact._solve import solve
from lexicone.models._evaluation import estimate, evaluate
from lexicone.models._mdp import MDP
from lexicone.order import Order
from tests.helpers.ordinary_models import walk
from tests.helpers.small_models import drawn

BEHIND_A_COST = drawn(
    4, {0: [(3, (0, 0)), (3, (0, 2)), (1, (0, 0))], 1: [(2, (-1, 0))], 2: [(2, (0, 1))]}, [3]
)
"""A loop that pays, one step after a cost that the first objective does not allow."""


def failures(*chances):
    """One choice: each action fails with its probability, and pays 1, 5, …; then the end."""
    actions = len(chances)
    transition, reward = np.zeros((3, actions, 3)), np.zeros((3, actions, 2))
    for a, chance in enumerate(chances):
        transition[0, a, 1], transition[0, a, 2] = chance, 1 - chance
        reward[0, a, 1] = 1 + 4 * a
    transition[1, :, 2] = 1.0
    reward[1, :, 0] = -1.0
    return MDP.from_dense(transition, reward, np.eye(3)[0], np.arange(3) == 2)


@pytest.mark.parametrize("method", ["lp", "columns"])
class TestLoops:
    """γ=1."""

    def test_a_loop_that_no_policy_may_enter_does_not_count(self, method):
        found = solve(BEHIND_A_COST, Order([0.0]), method=method)
        assert found.status is Status.OPTIMAL
        np.testing.assert_allclose(found.values, [0, 2], atol=1e-9)
        assert solve(BEHIND_A_COST, Order([-0.5]), method=method).status is Status.UNBOUNDED

    def test_nor_in_an_earlier_stage(self, method):
        """The loop would meet the second threshold, which without it is missed."""
        edges = {
            0: [(3, (0, 0, 0)), (3, (0, 2, 1)), (1, (0, 0, 0))],
            1: [(2, (-1, 0, 0))],
            2: [(2, (0, 1, 0)), (3, (0, 0, 0))],
        }
        found = solve(drawn(4, edges, [3]), Order([0.0, 5.0]), method=method)
        assert found.status is Status.OPTIMAL
        np.testing.assert_allclose(found.values, [0, 2, 1], atol=1e-9)
        assert found.satisfied.tolist() == [True, False]

    def test_a_loop_on_the_way_is_used(self, method):
        mdp = drawn(3, {0: [(2, (0, 0)), (1, (0, 0))], 1: [(1, (-4, 4)), (2, (0, 0))]}, [2])
        found = solve(mdp, Order([-0.5]), method=method)
        assert found.status is Status.OPTIMAL
        np.testing.assert_allclose(evaluate(mdp, found.policy), [-0.5, 0.5], atol=1e-8)
        assert len(found.randomises) <= 1

    def test_a_policy_near_a_supremum(self, method):
        mdp = drawn(3, {0: [(2, (0, 10)), (1, (0, 0))], 1: [(1, (1, -3)), (2, (0, 0))]}, [2])
        found = solve(mdp, Order([5.0]), method=method)
        assert found.status is Status.SUPREMUM
        np.testing.assert_allclose(found.bound, [5, -5], atol=1e-9)
        values = evaluate(mdp, found.policy)
        np.testing.assert_allclose(values, found.values, atol=1e-6)
        assert values[0] >= 5 - 1e-6
        assert -5.01 < values[1] < -5

    def test_a_supremum_before_the_last_stage_ends_the_search(self, method):
        """The second objective comes near 0 while the first has 2, but only by entering the loop ever more rarely."""
        edges = {
            0: [(2, (0, 0, 0)), (2, (2, -1, 0)), (1, (1, -2, -1))],
            1: [(1, (1, 0, 0)), (0, (0, 0, 0))],
        }
        found = solve(drawn(3, edges, [2]), Order([2.0, 0.0]), method=method)
        assert found.status is Status.SUPREMUM
        assert "objective 2" in found.message
        assert found.values[0] >= 2 - 1e-6
        assert -1e-2 < found.values[1] < 0

    @pytest.mark.parametrize("beyond", [0.0, 1e-12, -1e-12])
    def test_a_threshold_that_is_missed_by_rounding(self, method, beyond):
        edges = {0: [(2, (0.1, 3)), (1, (0, 0))], 1: [(1, (1, -1)), (2, (-1, 0))]}
        edges[1] = [(1, (-1, 1)), (2, (0.1, 0))]
        found = solve(drawn(3, edges, [2]), Order([0.1 + beyond]), method=method)
        assert found.status is Status.OPTIMAL
        np.testing.assert_allclose(found.values, [0.1, 3], atol=1e-9)
        assert found.satisfied.all()


@pytest.mark.parametrize("strategy", ["binary", "one_by_one", "dynamic"])
@pytest.mark.parametrize("criterion", ["expected", "episode"])
def test_search_with_a_loop_behind_a_cost(strategy, criterion):
    found = search(BEHIND_A_COST, Order([0.0]), strategy, criterion=criterion)
    assert found.status == "optimal"
    np.testing.assert_allclose(found.values, [0, 2], atol=1e-9)


class TestSizes:
    """Tolerances are relative to the values' own size."""

    @pytest.mark.parametrize("method", ["lp", "columns"])
    def test_small_probabilities(self, method):
        mdp = failures(3e-8, 9e-7)
        missed = solve(mdp, Order([-1e-8]), method=method)
        assert not missed.satisfied[0]
        np.testing.assert_allclose(missed.values, [-3e-8, 1], rtol=1e-6)
        mixed = solve(mdp, Order([-1e-7]), method=method)
        assert mixed.satisfied[0]
        np.testing.assert_allclose(mixed.values, [-1e-7, 1 + 4 * 7 / 87], rtol=1e-5)

    def test_deterministic(self):
        found = solve(failures(9e-7, 9.5e-7), Order([-1e-7]), policies="deterministic")
        assert not found.satisfied[0]
        np.testing.assert_allclose(found.values, [-9e-7, 1], rtol=1e-9)

    def test_search(self):
        assert not search(failures(9e-7), Order([-1e-7])).satisfied[0]
        assert search(failures(9e-8), Order([-1e-7])).satisfied[0]

    @pytest.mark.parametrize("method", ["lp", "columns"])
    def test_a_threshold_just_below_a_maximum_is_not_the_maximum(self, method):
        """A tenth of a billionth of objective 1 buys a tenth of objective 2."""
        mdp = drawn(2, {0: [(1, (1, 0)), (1, (1 - 1e-9, 1))]}, [1])
        found = solve(mdp, Order([1 - 1e-10]), method=method)
        assert found.status is Status.OPTIMAL
        assert found.values[1] >= 0.1 - 1e-6
        assert found.values[0] >= 1 - 1e-9

    @pytest.mark.parametrize("method", ["lp", "columns"])
    @pytest.mark.parametrize(("up", "below", "gamma"), [(0.5, 1e-10, 0.9), (0.4, 1e-7, 0.99)])
    def test_a_floor_that_is_nearly_a_maximum_is_not_lowered_for_more(
        self, method, up, below, gamma
    ):
        """It costs so much there that a billionth of it would buy a second objective of twice the size."""
        mdp = walk(34, up, np.random.default_rng(0))
        best = solve(mdp, Order([np.inf]), gamma=gamma, method=method).values[0]
        found = solve(mdp, Order([best - below]), gamma=gamma, method=method)
        assert found.status is Status.OPTIMAL
        np.testing.assert_allclose(found.values[1], found.bound[1], atol=1e-5)

    @pytest.mark.parametrize("method", ["lp", "columns"])
    def test_a_threshold_beyond_a_maximum_of_nothing(self, method):
        """Nothing pays for objective 1, and a threshold of next to nothing is met; going round gives up objective 2."""
        edges = {0: [(1, (0, 0, 0)), (1, (0, 0, 0))], 1: [(0, (0, -2, 2)), (2, (0, 0, -2))]}
        found = solve(drawn(3, edges, [2]), Order([1e-12, 0.0]), method=method)
        assert found.status is Status.OPTIMAL
        np.testing.assert_allclose(found.values, [0, 0, -2], atol=1e-9)
        assert found.satisfied.all()


class TestLongEpisodes:
    """γ=1: a random walk that is pulled back."""

    @pytest.mark.parametrize("method", ["lp", "columns"])
    def test_a_million_steps(self, method):
        mdp = walk(20, 0.35, np.random.default_rng(0), cheap=0.9)
        best = solve(mdp, Order([np.inf]), method=method)
        assert best.status is Status.OPTIMAL
        assert 1e6 < -best.values[0] < 1e7
        half = solve(mdp, Order([2 * best.values[0]]), method=method)
        assert half.status is Status.OPTIMAL
        assert half.values[0] >= 2 * best.values[0] * (1 + 1e-6)
        # from scipy's HiGHS, in quadruple the tolerance
        np.testing.assert_allclose(half.values[1], 1110886.1224, rtol=1e-8)
        assert half.bound[1] >= half.values[1] * (1 - 1e-8)

    @pytest.mark.parametrize("method", ["lp", "columns"])
    @pytest.mark.parametrize(("length", "factor"), [(30, 1.01), (30, 2.0), (40, 2.0)])
    def test_what_cannot_be_carried_is_said(self, method, length, factor):
        mdp = walk(length, 0.35 if length == 30 else 0.3, np.random.default_rng(0), cheap=0.9)
        steps = -estimate(mdp, np.zeros(length + 1, dtype=int), 1.0)[0]
        found = solve(mdp, Order([-factor * steps]), method=method)
        assert found.status in (Status.OPTIMAL, Status.FAILED)
        if found.status is Status.FAILED:
            assert "steps on average" in found.message
            assert "e+" in found.message
        else:
            assert found.bound[1] >= found.values[1] * (1 - 1e-6)
            np.testing.assert_allclose(found.values[0], -factor * steps, rtol=1e-6)

    def test_the_bound_is_a_bound(self):
        """By column generation, which once gave a bound of 5.34 on what has 10.2."""
        mdp = walk(25, 0.35, np.random.default_rng(0), cheap=0.9)
        steps = -evaluate(mdp, np.zeros(26, dtype=int))[0]
        for factor in (1.01, 2.0):
            found = solve(mdp, Order([-factor * steps]), method="columns")
            assert found.status is Status.OPTIMAL
            assert found.bound[1] >= found.values[1] * (1 - 1e-6)


class TestFront:
    """γ=1: what pays for an objective for ever is not on the front."""

    def test_the_best_last_objective_pays_for_the_first_for_ever(self):
        edges = {0: [(1, (0, 0)), (2, (-10, 0))], 1: [(1, (-1, 0)), (2, (0, 0))], 2: [(3, (0, -1))]}
        front = pareto(drawn(4, edges, [3]), policies="deterministic")
        np.testing.assert_allclose(front.values, [[0, -1]])
        assert front.complete

    def test_round_for_ever_to_avoid_a_place(self):
        """1 → 2 → 1 costs 27 and never comes by 3; 1 → 2 → 3 → 1 is free."""
        transition, reward = np.zeros((7, 2, 7)), np.zeros((7, 2, 2))
        seen = {1: 4, 2: 5}  # the same states once 3 has been visited
        transition[0, :, [1, 3]] = 0.5
        for one, two in ((1, 2), (4, 5)):
            transition[one, :, two] = 1.0
            transition[two, 0, 3], transition[two, 1, one] = 1.0, 1.0
            reward[two, 1, 0] = -27.0
        transition[3, 0, 6], transition[3, 1, seen[1]] = 1.0, 1.0
        reward[3, 0, 0] = -2.0
        reward[2, 0, 1] = -1.0
        reward[0, :, 1] = -0.5
        mdp = MDP.from_dense(transition, reward, np.eye(7)[0], np.arange(7) == 6)
        front = pareto(mdp, policies="deterministic")
        np.testing.assert_allclose(front.values, [[0, -1]], atol=1e-9)
        assert front.complete

    def test_loops_beyond_the_last_point(self):
        """The first objective could have more, but only where the second pays for ever."""
        edges = {0: [(2, (0, 0)), (2, (1, 1)), (1, (0, 0))], 1: [(1, (1, -2)), (2, (0, 0))]}
        front = pareto(drawn(3, edges, [2]), policies="deterministic")
        np.testing.assert_allclose(front.values, [[1, 1]])
        assert front.complete

    def test_a_time_limit(self):
        mdp = walk(12, 0.5, np.random.default_rng(0))
        front = pareto(mdp, policies="deterministic", points=500, time_limit=0.3)
        assert not front.complete
        assert len(front.values) >= 1
        assert front.message.startswith("cut short")
        front = pareto(mdp, points=10_000, time_limit=0.5)
        assert "the time was over" in front.message
        assert len(front.values) >= 2

    def test_a_time_limit_on_the_command_line(self, capsys, tmp_path):
        place = tmp_path / "walk.npz"
        walk(12, 0.5, np.random.default_rng(0)).save(place)
        asked = ["--policies", "deterministic", "--points", "500", "--time-limit", "0.3", "--json"]
        main(["pareto", str(place), *asked])
        found = json.loads(capsys.readouterr().out)
        assert not found["complete"]
        assert found["message"].startswith("cut short")
