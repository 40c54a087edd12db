"""The master program, changed step by step, has the optima that a program built from nothing has."""

import numpy as np
import pytest
from scipy.optimize import linprog

from lexicone.exact._highs import Outcome
from lexicone.exact._master_program import MasterProgram


def optimum(
    returns: np.ndarray, is_policy: np.ndarray, objective: int, floors: dict[int, float]
) -> float:
    """The same program by scipy; NaN if the floors cannot be kept."""
    kept = list(floors)
    found = linprog(
        -returns[:, objective],
        A_ub=-returns[:, kept].T if kept else None,
        b_ub=-np.array(list(floors.values())) if kept else None,
        A_eq=is_policy[None].astype(float),
        b_eq=[1.0],
    )
    return -found.fun if found.status == 0 else np.nan


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_columns_objectives_and_floors_change_in_any_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 5))
    master = MasterProgram(count)
    is_policy: list[bool] = []
    solved = 0
    for step in range(40):
        loop = step > 0 and rng.random() < 0.2
        returns = rng.integers(-3, 4, count) * 1.0 if rng.random() < 0.5 else rng.normal(size=count)
        if loop:  # one that costs: with it no objective is unbounded
            master.add_loop(-np.abs(returns))
        else:
            master.add_policy(returns)
        is_policy.append(not loop)
        objective = int(rng.integers(count))
        inside = rng.dirichlet(np.ones(step + 1)) * is_policy @ master.returns
        floors = {
            j: float(inside[j]) for j in range(count) if j != objective and rng.random() < 0.7
        }
        expected = optimum(master.returns, np.array(is_policy), objective, floors)
        shortfall = master.solve(None, floors).shortfall
        assert (shortfall > 1e-9) == np.isnan(expected)
        if np.isnan(expected):
            continue
        solved += 1
        outcome, shares, _, weights = master.solve(objective, floors)
        values = shares @ master.returns
        assert outcome is Outcome.OPTIMAL
        assert (shares >= 0).all()
        np.testing.assert_allclose(shares[is_policy].sum(), 1.0, atol=1e-9)
        np.testing.assert_allclose(values[objective], expected, atol=1e-8)
        assert all(values[j] >= floor - 1e-8 for j, floor in floors.items())
        dual = (master.returns @ weights)[is_policy].max() - sum(
            weights[j] * f for j, f in floors.items()
        )
        np.testing.assert_allclose(dual, expected, atol=1e-8)
    assert solved > 10


def test_a_loop_that_pays_makes_it_unbounded_unless_it_costs_a_floor() -> None:
    master = MasterProgram(2)
    master.add_policy(np.array([1.0, 0.0]))
    assert master.solve(1, {}).outcome is Outcome.OPTIMAL
    master.add_loop(np.array([-0.5, 2.0]))
    assert master.solve(1, {}).outcome is Outcome.UNBOUNDED
    limited = master.solve(1, {0: 0.0})
    assert limited.outcome is Outcome.OPTIMAL
    np.testing.assert_allclose(limited.shares, [1.0, 2.0])
    np.testing.assert_allclose(limited.weights, [4.0, 1.0])
    assert master.solve(1, {}).outcome is Outcome.UNBOUNDED
    np.testing.assert_allclose(master.solve(0, {}).shares, [1.0, 0.0])


def test_a_floor_missed_by_rounding_is_lowered_for_this_time_only() -> None:
    master = MasterProgram(2)
    master.add_policy(np.array([1.0, 3.0]))
    assert master.solve(1, {0: 1.0 + 5e-10}).outcome is Outcome.OPTIMAL
    assert master.solve(1, {0: 1.0 + 1e-6}).outcome is Outcome.INFEASIBLE
    np.testing.assert_allclose(master.solve(None, {0: 1.25}).shortfall, 0.25)
    assert master.solve(1, {0: 1.0}).outcome is Outcome.OPTIMAL
