"""Choices that end the episode with a tiny probability: for every part of the solver they either end or do not."""

import numpy as np
import pytest

from lexicone.exact._end_components import end_components
from lexicone.exact._solve import Method, Status, solve
from lexicone.exact._state_actions import all_state_actions
from lexicone.exact._tolerances import NO_CHANCE
from lexicone.models._evaluation import evaluate
from lexicone.models._mdp import MDP
from lexicone.order import Order


def patient_model(chance: float, reward: float) -> MDP:
    """One state, which is left for the end with that chance at each step."""
    return MDP.from_dense(
        np.array([[[1 - chance, chance]], [[0.0, 0.0]]]),
        np.array([[[reward]], [[0.0]]]),
        [1.0, 0.0],
        [False, True],
    )


@pytest.mark.parametrize("chance", [1e-8, 1e-10, 1e-11])
@pytest.mark.parametrize("reward", [1.0, 0.0, -1.0])
@pytest.mark.parametrize("method", ["lp", "columns"])
def test_what_can_end_does_not_go_on_for_ever(chance: float, reward: float, method: Method) -> None:
    mdp = patient_model(chance, reward)
    pairs = all_state_actions(mdp, 1.0)
    region, _ = end_components(pairs, np.ones(1, dtype=bool))
    assert pairs.can_end.all()
    assert (region == -1).all()
    found = solve(mdp, Order([]), gamma=1.0, method=method)
    assert found.status is Status.OPTIMAL
    np.testing.assert_allclose(found.values, evaluate(mdp, [0, 0]), rtol=1e-9)


def test_below_the_tolerance_it_goes_on_for_ever() -> None:
    pairs = all_state_actions(patient_model(0.1 * NO_CHANCE, 1.0), 1.0)
    assert not pairs.can_end.any()
    assert end_components(pairs, np.ones(1, dtype=bool))[1].all()
