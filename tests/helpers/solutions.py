"""What every optimal solution of a model keeps."""

import numpy as np

from lexicone.exact._solution import Solution
from lexicone.models._evaluation import evaluate
from lexicone.models._mdp import MDP
from lexicone.order import Order


def close(a: object, b: object, tolerance: float = 1e-6) -> bool:
    """Equal up to the tolerance, relative where values are above 1; infinities must be the same."""
    return np.allclose(np.asarray(a), np.asarray(b), rtol=tolerance, atol=tolerance)


def check_optimal(solution: Solution, mdp: MDP, order: Order, gamma: float) -> None:
    """What every optimal solution keeps: its values are its policy's, few states randomise, the gap is closed."""
    assert close(evaluate(mdp, solution.policy, gamma), solution.values, 1e-7)
    assert close(solution.key, order.key(solution.values))
    assert (solution.gap <= 1e-6 * np.maximum(1, np.abs(solution.bound))).all()
    if np.isfinite(solution.values).all():
        assert len(solution.randomises) <= len(order) - 1
        if np.isfinite(solution.occupancy).all():
            returns = np.einsum("sa,sak->k", solution.occupancy, mdp.expected_reward)
            assert close(returns, solution.values, 1e-7)
