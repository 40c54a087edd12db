"""What more of a threshold costs, beside known fronts and beside the duals, which are slopes."""

import numpy as np
import pytest

from lexicone.exact import Solver, solve
from lexicone.exact._one_more import one_more
from lexicone.order import Order
from lexicone.tasks import garnet, space_traders


@pytest.mark.parametrize(
    ("threshold", "unit", "cost"),
    [(0.7225, 0.1, 20 / 3), (0.85, 0.1, 9.0), (0.88, 0.1, 9.0), (0.95, 0.01, 0.9), (1.0, 0.0, 0.0)],
)
def test_at_the_corners_of_a_known_front(threshold, unit, cost):
    """Teleport twice has (.7225, 0), with Indirect first or last (.85, −8.5), Indirect twice (1, −22)."""
    mdp = space_traders()
    solution = solve(mdp, [threshold])
    found = one_more(mdp, solution, 0, Solver(mdp).solve)
    assert found is not None
    assert found.most == pytest.approx(1.0)
    assert (found.unit, found.costs[1]) == (unit, pytest.approx(cost, abs=1e-6))
    assert found.values[1] == pytest.approx(solution.values[1] - cost, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_duals_say_no_more_than_it_costs(seed):
    """The front is concave: a slope is at most the difference over a whole unit."""
    mdp = garnet(12, seed=seed)
    best = solve(mdp.reorder([0]), [], gamma=0.9).values[0]
    last = solve(mdp.reorder([2, 0, 1]), [np.inf, np.inf], gamma=0.9).values
    order = Order([0.5 * (best + last[1]), -np.inf])
    solver = Solver(mdp, 0.9)
    solution = solver.solve(order)
    found = one_more(mdp, solution, 0, solver.solve)
    assert found is not None
    assert found.unit > 0
    assert found.costs[2] >= solution.prices[0, 2] * found.unit - 1e-6
    assert found.costs[2] > 0


def test_a_threshold_that_is_missed_or_more_than_met_has_none():
    mdp = space_traders()
    for threshold in (1.5, 0.5, -np.inf):
        assert one_more(mdp, solve(mdp, [threshold]), 0, Solver(mdp).solve) is None
