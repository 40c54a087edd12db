"""Answers of `solve` and `find_direction` on random problems, compared with independent ones (`answers`)."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.fuzz.answers import (
    Problem,
    all_values,
    best_total,
    check_deterministic,
    check_direction,
    check_solution,
    random_problem,
)


def problems(count: int, seed: int) -> list[Problem]:
    return [random_problem(np.random.default_rng([seed, i])) for i in range(count)]


@pytest.mark.slow
def test_solutions_are_those_of_a_linear_program():
    found = {i: check_solution(problem) for i, problem in enumerate(problems(40, seed=7))}
    assert {i: wrong for i, wrong in found.items() if wrong} == {}


@pytest.mark.slow
def test_deterministic_solutions_are_the_best_of_all_policies():
    found = {i: check_deterministic(problem) for i, problem in enumerate(problems(40, seed=9))}
    assert {i: wrong for i, wrong in found.items() if wrong} == {}


def test_directions_are_in_all_cones_and_none_is_nearer():
    found = {i: check_direction(np.random.default_rng([8, i])) for i in range(150)}
    assert {i: wrong for i, wrong in found.items() if wrong} == {}


def test_wrong_answers_would_be_noticed():
    """A key that is 1e-5 too small or too large, a policy that is not the best, a status that is not so."""
    noticed = 0
    for problem in problems(30, seed=11):
        if problem.gamma < 1 and not problem.thresholds:
            best, _ = best_total(problem, 0, {})
            assert best is not None
            right = SimpleNamespace(status="optimal", message="", key=np.array([best]))
            assert check_solution(problem, right) == ""
            for change in (-1e-5, 1e-5):
                key = np.array([best + change * max(1.0, abs(best))])
                wrong = SimpleNamespace(status="optimal", message="", key=key)
                assert "objective 1" in check_solution(problem, wrong)
            failed = SimpleNamespace(status="failed", message="not proven", key=right.key)
            assert check_solution(problem, failed) == "failed: not proven"
            noticed += 1
    assert noticed > 3


def test_the_program_agrees_with_all_policies_where_chance_does_not_help():
    """One objective: some deterministic policy is the best of all."""
    compared = 0
    for problem in problems(30, seed=12):
        sizes = problem.transition.shape
        if problem.gamma < 1 and sizes[1] ** sizes[0] < 100:
            best, _ = best_total(problem, 0, {})
            assert best is not None
            values = np.array(all_values(problem))[:, 0]
            np.testing.assert_allclose(best, values.max(), atol=1e-7)
            compared += 1
    assert compared > 5
