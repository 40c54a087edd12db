import math

import jaxtyping
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from lexicone.criteria._augment import augment
from lexicone.criteria._augment_rewards import with_rewards
from lexicone.criteria._constrained import Answer
from lexicone.criteria._search import search
from lexicone.exact._solve import Status, solve
from lexicone.models._evaluation import evaluate
from lexicone.order import Order
from lexicone.tasks import garnet, maze, road_trip, space_traders
from tests.helpers.commands import modules_after
from tests.helpers.small_models import (
    KINDS,
    deterministic_values,
    draw_order,
    drawn,
    many,
    random_model,
    small_models,
)

several = settings(max_examples=max(40, settings().max_examples), deadline=None)
STRATEGIES = ("one_by_one", "binary", "dynamic")


def close(a, b):
    return np.allclose(a, b, rtol=1e-6, atol=1e-6)


def chain(limits, best):
    """One step, whose first action pays objective i ``best[i]`` and the second nothing; with thresholds ``limits``."""
    mdp = drawn(2, {0: [(1, best), (1, [0.0] * len(best))]}, terminal=(1,))
    return mdp, Order(limits)


def some_values(mdp, gamma, seed):
    """The values of six deterministic policies."""
    rng = np.random.default_rng(seed)
    policies = rng.integers(mdp.num_actions, size=(6, mdp.num_states))
    return np.array([evaluate(mdp, policy, gamma) for policy in policies])


class TestEqualsSolve:
    @pytest.mark.slow
    @many
    @given(
        st.data(),
        small_models(KINDS, max_objectives=5),
        st.sampled_from([0.5, 0.9, 0.99]),
    )
    def test_discounted(self, data, recipe, gamma):
        mdp = random_model(*recipe)
        order = draw_order(data.draw, some_values(mdp, gamma, recipe[0]))
        exact = solve(mdp, order, gamma=gamma)
        for strategy in STRATEGIES:
            found = search(mdp, order, strategy, gamma=gamma)
            assert found.status == exact.status
            assert close(found.key, exact.key)
            assert close(evaluate(mdp, found.policy, gamma), found.values)
            assert (found.satisfied == exact.satisfied).all()

    @pytest.mark.slow
    @several
    @given(st.data(), small_models(KINDS, max_objectives=5))
    def test_undiscounted(self, data, recipe):
        mdp = random_model(*recipe)
        order = draw_order(data.draw, some_values(mdp, 1.0, recipe[0]))
        exact = solve(mdp, order)
        attained = {Status.OPTIMAL, Status.NEEDS_MEMORY}
        solved = {*attained, Status.SUPREMUM}
        for strategy in STRATEGIES:
            found = search(mdp, order, strategy)
            if found.status in solved:
                assert (found.stay is None) == (found.status != Status.NEEDS_MEMORY)
            if exact.status not in solved:
                assert (found.status, found.message) == (exact.status, exact.message)
            else:
                assert found.status in solved
            if {found.status, exact.status} <= attained:
                assert close(found.key, exact.key)
                assert (found.satisfied == exact.satisfied).all()

    @pytest.mark.slow
    @several
    @given(st.data(), small_models(("costs", "some costs"), max_objectives=4))
    def test_by_episodes(self, data, recipe):
        mdp = random_model(*recipe)
        order = draw_order(data.draw, np.round(some_values(mdp, 1.0, recipe[0]), 1))
        try:
            model = augment(mdp, order, max_states=300)
        except ValueError:
            return  # real-valued costs may take too many budgets
        exact = solve(model, order)
        found = search(mdp, order, criterion="episode", max_states=300)
        assert found.status == exact.status
        if exact.status is Status.OPTIMAL:
            assert close(found.key, exact.key)
            assert (found.satisfied <= (found.policy.chances.rates >= 1 - 1e-4)).all()

    @pytest.mark.slow
    def test_large_models_use_columns(self):
        mdp = garnet(400, num_objectives=4, seed=3)
        order = Order([52.0, 49.0, 60.0])
        exact = solve(mdp, order, gamma=0.99)
        assert close(search(mdp, order, "binary", gamma=0.99).key, exact.key)


class TestWhatThePaperLeavesOut:
    def test_the_objective_behind_the_prefix_is_maximised_and_kept(self):
        """τ_1 can be met, τ_2 cannot. To stop at the prefix would take the last objective's 9 at a cost."""
        edges = {0: [(1, [1.0, 2.0, 0.0]), (1, [1.0, 1.0, 9.0]), (1, [0.0, 3.0, 9.0])]}
        mdp, order = drawn(2, edges, terminal=(1,)), Order([1.0, 5.0])
        for strategy in STRATEGIES:
            found = search(mdp, order, strategy)
            np.testing.assert_allclose(found.values, [1.0, 2.0, 0.0], atol=1e-8)
            assert found.satisfied.tolist() == [True, False]

    def test_what_comes_behind_a_missed_objective_still_has_its_threshold(self):
        edges = {0: [(1, [1.0, 4.0, 1.0]), (1, [1.0, 6.0, 0.0]), (1, [0.0, 9.0, 9.0])]}
        mdp, order = drawn(2, edges, terminal=(1,)), Order([2.0, 5.0])
        for strategy in STRATEGIES:
            found = search(mdp, order, strategy)
            np.testing.assert_allclose(found.key, [1.0, 5.0, 0.5], atol=1e-8)


class TestForEver:
    def test_what_the_last_solution_pays_for_ever_is_not_met(self):
        """The best of objective 1 goes round for ever; what that costs of objective 2 is not 0."""
        edges = {0: [(0, [0.0, -1.0, -1.0]), (1, [-1.0, -1.0, -1.0])]}
        mdp, order = drawn(2, edges, terminal=(1,)), Order([-2.0, -0.5])
        for strategy in STRATEGIES:
            found = search(mdp, order, strategy)
            assert found.status == "optimal"
            assert found.satisfied.tolist() == [True, False]
            np.testing.assert_allclose(found.values, [-1.0, -1.0, -1.0], atol=1e-9)
        first = search(mdp, order, "one_by_one").trace[0]
        np.testing.assert_array_equal(first.values, [0.0, np.nan, np.nan])

    @pytest.mark.parametrize("strategy", STRATEGIES)
    def test_staying_half_the_time(self, strategy):
        """As in `solve`: a coin decides once whether to end, which no stationary policy can."""
        mdp = drawn(2, {0: [(0, (0.0, 0.0)), (1, (-10.0, 5.0))]}, [1])
        found, exact = search(mdp, Order([-5.0]), strategy), solve(mdp, Order([-5.0]))
        assert found.status == exact.status == "needs memory"
        np.testing.assert_allclose(found.values, [-5.0, 2.5], atol=1e-9)
        assert found.stay is not None
        assert exact.stay is not None
        np.testing.assert_allclose(found.stay, exact.stay, atol=1e-9)
        assert found.satisfied.tolist() == [True]
        assert evaluate(mdp, found.policy)[0] == -10.0  # what the policy alone would do

    def test_thresholds_beyond_what_linear_programs_call_infinite(self):
        for threshold in (1e21, 1e300):
            mdp, order = road_trip(), Order([threshold])
            for found in (search(mdp, order), search(mdp, order, "dynamic", criterion="episode")):
                assert found.status == "optimal"
                np.testing.assert_allclose(found.values, [-2.0, 2.0], atol=1e-9)
                assert not found.satisfied[0]


class TestSubproblems:
    @pytest.mark.slow
    @pytest.mark.parametrize("count", [2, 4, 8, 16, 32])
    @pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
    def test_how_many(self, count, share):
        """The first thresholds can be met, the next is missed and so are all behind it (which are then infinite)."""
        met = round(share * (count - 1))
        limits = [1.0] * met + ([2.0] + [-math.inf] * (count - 2 - met) if met < count - 1 else [])
        mdp, order = chain(limits, [1.0] * count)
        used = {s: search(mdp, order, s).subproblems for s in STRATEGIES}
        decided = met + 1 + (met < count - 1)
        assert used["one_by_one"] == decided
        assert used["binary"] <= math.ceil(math.log2(decided)) + 2
        assert used["dynamic"] <= 3
        assert close(search(mdp, order, "binary").key, solve(mdp, order).key)

    @pytest.mark.slow
    @pytest.mark.parametrize("every", [1, 2, 3])
    def test_many_misses(self, every):
        """Each ``every``-th threshold is missed: binary search is not much worse than one by one."""
        count = 17
        limits = [2.0 if i % every == every - 1 else 1.0 for i in range(count - 1)]
        mdp, order = chain(limits, [1.0] * count)
        used = {s: search(mdp, order, s).subproblems for s in STRATEGIES}
        most = {1: count + 4, 2: 1.5 * count + 4, 3: count}[every]
        assert used["one_by_one"] == count
        assert used["binary"] <= most
        assert close(search(mdp, order, "binary").key, solve(mdp, order).key)

    def test_the_first_k_together(self):
        """Each threshold alone can be met, not all: the prefix ends where they exclude each other."""
        edges = {0: [(1, row) for row in np.eye(4).tolist()]}
        mdp, order = drawn(2, edges, terminal=(1,)), Order([0.5, 0.4, 0.4])
        for strategy in STRATEGIES:
            found = search(mdp, order, strategy)
            np.testing.assert_allclose(found.key, [0.5, 0.4, 0.1, 0.0], atol=1e-8)
            assert found.satisfied.tolist() == [True, True, False]

    @pytest.mark.slow
    def test_what_is_missed_comes_with_a_certificate(self):
        """No policy at all has more of the weighted sum, and meeting everything would need more."""
        missed = 0
        for seed in range(20):
            mdp = random_model(seed, 4, 3, 4, "any", True)
            rows = deterministic_values(mdp, 0.9)
            order = Order(rows.mean(axis=0)[:3] + np.array([0.3, 0.6, 0.9]))
            found = search(mdp, order, "binary", gamma=0.9)
            step = next(s for s in found.trace if s.answer is Answer.MISSED)
            scalar = with_rewards(mdp, (mdp.reward @ step.weights)[..., None])
            assert solve(scalar, Order([]), gamma=0.9).values[0] <= step.limit + 1e-6
            if math.isfinite(step.threshold):
                kept = sum(step.weights[j] * f for j, f in step.floors.items())
                assert step.threshold + kept > step.limit
                missed += 1
        assert missed >= 5

    def test_progress_tells_each(self):
        lines = []
        mdp, order = chain([1.0, 1.0], [1.0, 1.0, 1.0])
        found = search(mdp, order, "one_by_one", progress=lines.append)
        assert len(lines) == found.subproblems == len(found.trace) == 3
        assert lines[0] == "subproblem 1: objective 1 subject to 0 constraints: met, 1"


class TestEdges:
    def test_statuses_are_those_of_solve(self):
        gains = drawn(2, {0: [(0, [0.0, 1.0]), (1, [0.0, 0.0])]}, terminal=(1,))
        costs = drawn(1, {0: [(0, [0.0, -1.0])]})
        for strategy in STRATEGIES:
            assert search(gains, Order([0.0]), strategy).status == "unbounded"
            assert search(costs, Order([0.0]), strategy).status == "divergent"

    def test_starting_at_the_end(self):
        mdp = drawn(1, {0: [(0, [0.0, 0.0])]}, terminal=(0,))
        found = search(mdp, Order([-1.0]))
        assert found.status == "optimal"
        assert found.subproblems == 0

    def test_thresholds_that_never_matter_cost_no_subproblem(self):
        mdp, order = chain([-math.inf, 1.0, -math.inf], [1.0] * 4)
        assert search(mdp, order, "one_by_one").subproblems == 2

    def test_episodes_and_expectations_differ(self):
        mdp, order = maze("extended", objectives="path"), Order([-3.0])
        np.testing.assert_allclose(search(mdp, order).values, [-3.0, -5.2], atol=1e-8)
        by_episode = search(mdp, order, criterion="episode")
        np.testing.assert_allclose(by_episode.values, [-3.0, -8.0], atol=1e-8)
        assert (by_episode.policy.table.max(axis=1) == 1).all()

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"order": Order([])}, "order: has 1 objectives"),
            ({"order": Order([0.0], break_ties=True)}, "order: break_ties"),
            ({"strategy": "linear"}, "strategy: expected one of"),
            ({"solver": "simplex"}, "solver: expected one of"),
            ({"solver": np.eye(2)}, "solver: expected one of"),
            ({"criterion": "mean"}, "criterion: expected one of"),
            ({"solver": "q_learning"}, "solver: Q-learning needs the budgets"),
            ({"gamma": 1.5}, "gamma: must be"),
            ({"tolerance": 0.0}, "tolerance: must be"),
            ({"steps": 0}, "steps: must be"),
            ({"seeds": 1.5}, "seeds: must be a whole number"),
            ({"order": -10.0}, "order: expected an Order or a list"),
            ({"criterion": "episode", "max_states": 3}, "max_states: more than 3"),
        ],
    )
    def test_mistakes(self, change, message, monkeypatch):
        monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
        with pytest.raises(ValueError, match=message):
            search(**{"mdp": space_traders(), "order": Order([0.88]), **change})

    def test_exactly_without_jax(self):
        use = (
            "import lexicone.criteria._augment, lexicone.cli._compare\n"
            "from lexicone.criteria._search import search\n"
            "from lexicone.tasks import road_trip\n"
            "from lexicone.order import Order\n"
            "search(road_trip(), Order([-9.0]), criterion='episode')"
        )
        assert modules_after(use) == "False False"
