import dataclasses
import importlib.util
from pathlib import Path

import numpy as np
import pytest

from lexicone.exact._front import pareto, sensitivity
from lexicone.exact._highs import Outcome, solve_program
from lexicone.exact._solution import Status
from lexicone.exact._solve import solve
from lexicone.exact._solve_model import solve_finite
from lexicone.order import Order
from lexicone.tasks import maze, space_traders
from tests.helpers.small_models import deterministic_values, drawn, random_model


def not_dominated(rows):
    rows = np.unique(np.round(rows, 9), axis=0)
    return np.array(
        [r for r in rows if not ((rows >= r).all(axis=1) & (rows > r).any(axis=1)).any()]
    )


class TestPareto:
    @pytest.mark.slow
    def test_extended_maze(self):
        mdp = maze("extended", objectives="path")
        pure = pareto(mdp, policies="deterministic")
        np.testing.assert_allclose(pure.values, [[-4, -4], [-3, -8], [1, -10]], atol=1e-9)
        assert pure.complete
        mixed = pareto(mdp, points=11)
        np.testing.assert_allclose(mixed.values[:, 1], -4 - 1.2 * (mixed.values[:, 0] + 4))

    @pytest.mark.slow
    def test_space_traders(self):
        mdp = space_traders()
        front = pareto(mdp, policies="deterministic")
        np.testing.assert_allclose(
            front.values, not_dominated(deterministic_values(mdp, 1.0)), atol=1e-9
        )
        assert len(pareto(mdp, policies="deterministic", points=2).values) == 2
        assert not pareto(mdp, policies="deterministic", points=2).complete

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(5))
    @pytest.mark.parametrize("objectives", [2, 3])
    def test_points_are_optimal_for_their_own_thresholds(self, seed, objectives):
        mdp = random_model(seed, 4, 3, objectives, "any", False)
        front = pareto(mdp, gamma=0.9, points=6).values
        rows = deterministic_values(mdp, 0.9)
        np.testing.assert_allclose(front.max(axis=0), rows.max(axis=0), atol=1e-7)
        for row in front:
            assert not ((rows >= row - 1e-9).all(axis=1) & (rows > row + 1e-5).any(axis=1)).any()
            best = solve(mdp, Order((row[:-1] - 1e-9).tolist()), gamma=0.9)
            np.testing.assert_allclose(best.values[-1], row[-1], atol=1e-5)
        assert len(not_dominated(front)) == len(front)

    def test_a_search_that_is_cut_short_says_so(self, monkeypatch):
        mdp = maze("extended", objectives="path")
        monkeypatch.setattr("lexicone.exact._deterministic._MAX_NODES", 1)
        with pytest.raises(ValueError, match=r"^policies: too many deterministic ones .*cut short"):
            pareto(mdp, policies="deterministic")
        monkeypatch.undo()
        calls = []

        def cut_short(*args, **options):
            calls.append(args)
            status = Status.OPTIMAL if len(calls) < 3 else Status.LIMIT
            return dataclasses.replace(solve_finite(*args, **options), status=status)

        monkeypatch.setattr("lexicone.exact._front.solve_finite", cut_short)
        front = pareto(mdp, policies="deterministic")
        assert not front.complete
        np.testing.assert_allclose(front.values, [[-4, -4], [-3, -8]], atol=1e-9)

    def test_mistakes(self):
        with pytest.raises(ValueError, match=r"^mdp: .* four|^mdp: .* 4"):
            pareto(random_model(0, 3, 2, 4, "any", False), gamma=0.9)
        with pytest.raises(ValueError, match=r"^points:"):
            pareto(space_traders(), points=1)
        with pytest.raises(ValueError, match=r"^policies:"):
            pareto(random_model(0, 3, 2, 3, "any", False), gamma=0.9, policies="deterministic")
        with pytest.raises(ValueError, match=r"^mdp: objective 2 is unbounded"):
            pareto(drawn(2, {0: [(0, (0, 1)), (1, (0, 0))]}, [1]), gamma=1.0)


class TestSensitivity:
    def test_extended_maze(self):
        mdp = maze("extended", objectives="path")
        found = sensitivity(mdp, Order([0.0]), 0, points=11)
        assert found.statuses == (Status.OPTIMAL,) * 11
        np.testing.assert_allclose(found.thresholds[[0, -1]], [-4, 1], atol=1e-9)
        np.testing.assert_allclose(found.values[:, 1], np.linspace(-4, -10, 11), atol=1e-8)
        np.testing.assert_allclose(found.prices[1:-1, 1], 1.2, atol=1e-8)
        assert found.satisfied.all()

    def test_beyond_what_can_be_met_nothing_changes(self):
        found = sensitivity(space_traders(), Order([0.0]), 0, thresholds=[0.9, 1.0, 1.5, 3.0])
        assert found.satisfied.tolist() == [True, True, False, False]
        np.testing.assert_allclose(found.values[2:], [[1, -22], [1, -22]], atol=1e-9)
        np.testing.assert_allclose(found.prices[2:], 0)

    def test_mistakes(self):
        with pytest.raises(ValueError, match=r"^objective:"):
            sensitivity(space_traders(), Order([0.0]), 1)
        with pytest.raises(ValueError, match=r"^thresholds:"):
            sensitivity(space_traders(), Order([0.0]), 0, thresholds=[])


class TestLoopsThatCannotBeDecided:
    """What `largest_gains` does when HiGHS gives up on a program that has a solution."""

    mdp = drawn(3, {0: [(1, (200.0,)), (2, (0.0,))], 1: [(0, (-100.0,)), (2, (0.0,))]}, [2])

    def test_it_is_tried_again_with_rewards_of_size_one(self, monkeypatch):
        calls = []

        def once(highs):
            calls.append(highs.getLp().a_matrix_.value_)
            return Outcome.FAILED if len(calls) % 2 else solve_program(highs)

        assert solve(self.mdp, Order([])).status is Status.UNBOUNDED
        monkeypatch.setattr("lexicone.exact._end_components.solve_program", once)
        assert solve(self.mdp, Order([])).status is Status.UNBOUNDED
        assert max(calls[1]) == 1.0

    def test_it_is_an_error_in_one_line(self, monkeypatch):
        monkeypatch.setattr(
            "lexicone.exact._end_components.solve_program", lambda highs: Outcome.FAILED
        )
        with pytest.raises(ValueError, match=r"^mdp: cannot tell whether the loops among 2 states"):
            solve(self.mdp, Order([]))
        solve(self.mdp, Order([]), gamma=0.9)  # with discounting there is nothing to tell


def test_the_benchmark_compares_answers():
    place = Path(__file__).parents[2] / "benchmarks" / "solve.py"
    spec = importlib.util.spec_from_file_location("benchmark_of_solve", place)
    assert spec is not None
    assert spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)

    def row(contestant, value, status="optimal"):
        values = [None, None, value]
        names = {"kind": "grid", "states": 9, "contestant": contestant}
        return {**names, "status": status, "values": values}

    ours = row("columns", -50.0)
    lines, wrong = benchmark.compare_answers([ours, row("storm", -50.02), row("lp", -50.0001)])
    assert len(lines) == 2
    assert wrong == []
    lines, wrong = benchmark.compare_answers([ours, row("storm", -50.1), row("lp", -50.01)])
    assert [line.split()[2] for line in wrong] == ["Storm", "HiGHS"]
    assert len(benchmark.compare_answers([ours, row("storm", float("nan"))])[1]) == 1
    limited = row("storm", -50.1, "time limit")
    assert benchmark.compare_answers([ours, limited]) == ([], [])
