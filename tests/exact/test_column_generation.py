"""Parts of column generation: policy iteration, chains, loops, and sparse policies."""

import numpy as np
import pytest

from lexicone.exact import _sparse_policy as sparse_policy
from lexicone.exact._column_generation import ColumnGeneration
from lexicone.exact._end_components import restrict_to_finite, stay_regions
from lexicone.exact._highs import Outcome
from lexicone.exact._maximizer import upper_bound
from lexicone.exact._occupancy_program import OccupancyProgram
from lexicone.exact._policy_iteration import best_policy
from lexicone.exact._policy_iteration_total import (
    best_ending_policy,
    ending_policy,
    never_ending_states,
)
from lexicone.exact._solution import Status
from lexicone.exact._solve import solve
from lexicone.exact._state_actions import STAY, all_state_actions
from lexicone.order import Order
from lexicone.tasks import garnet, maze
from tests.helpers.small_models import deterministic_values, drawn, random_model


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_policy_iteration_finds_the_best_policy(seed):
    mdp = random_model(seed, 5, 3, 2, "any", False)
    pairs = all_state_actions(mdp, 0.9)
    weights = np.random.default_rng(seed).random(2)
    found = best_policy(pairs, pairs.reward @ weights, pairs.first)
    best = (deterministic_values(mdp, 0.9) @ weights).max()
    np.testing.assert_allclose(pairs.initial @ found.values, best, atol=1e-9)
    assert found.slack <= 1e-10
    bound = upper_bound(pairs, weights, found.values, {})
    assert best - 1e-9 <= bound <= best + 1e-8


def test_the_bound_holds_for_any_values():
    mdp = random_model(2, 5, 3, 1, "any", False)
    pairs = all_state_actions(mdp, 0.9)
    best = deterministic_values(mdp, 0.9).max()
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert upper_bound(pairs, np.ones(1), rng.normal(size=pairs.num_states), {}) >= best


def test_an_unbounded_sum_is_found_as_a_loop():
    mdp = drawn(3, {0: [(2, (0,)), (1, (-5,))], 1: [(1, (1,)), (2, (0,))]}, [2])
    pairs = restrict_to_finite(all_state_actions(mdp, 1.0), np.array([True]))
    assert pairs is not None
    found = best_ending_policy(pairs, pairs.reward[:, 0], ending_policy(pairs))
    assert found.loop is not None
    assert ColumnGeneration(pairs).maximize(0, {}).outcome is Outcome.UNBOUNDED
    assert OccupancyProgram(pairs).maximize(0, {}).outcome is Outcome.UNBOUNDED


@pytest.mark.parametrize("seed", range(20))
def test_ending_policies_end(seed):
    mdp = random_model(seed, 6, 3, 1, "some costs", True)
    pairs = restrict_to_finite(all_state_actions(mdp, 1.0), np.array([True]))
    if pairs is not None:
        assert not never_ending_states(pairs, ending_policy(pairs)).any()


def test_stay_regions():
    """A region that pays nothing, one with gains and costs that gain in total, and one that cancels."""
    mdp = drawn(
        7,
        {
            0: [(1, (0,)), (3, (0,)), (5, (0,))],
            1: [(2, (0,))],
            2: [(1, (0,)), (2, (-1,))],
            3: [(4, (2,))],
            4: [(3, (-1,))],
            5: [(6, (1,))],
            6: [(5, (-1,))],
        },
    )
    pairs = all_state_actions(mdp, 1.0)
    region, inside = stay_regions(pairs, np.array([True]))
    assert (region >= 0).tolist() == [False, True, True, True, True, False, False]
    assert region[1] == region[2] != region[3]
    assert not inside[(pairs.state == 2) & (pairs.reward[:, 0] < 0)].any()
    usable = restrict_to_finite(pairs, np.array([True]))
    assert usable is not None
    assert usable.states.tolist() == [0, 1, 2, 3, 4]
    assert usable.states[usable.state[usable.action == STAY]].tolist() == [1, 2, 3, 4]


def test_floors_that_no_policy_keeps():
    mdp = random_model(1, 4, 3, 3, "any", False)
    pairs = all_state_actions(mdp, 0.9)
    rows = deterministic_values(mdp, 0.9)
    floors = {0: rows[:, 0].max(), 1: rows[:, 1].max() + 0.1}
    for engine in (ColumnGeneration(pairs), OccupancyProgram(pairs)):
        assert engine.maximize(2, floors).outcome is Outcome.INFEASIBLE


@pytest.mark.parametrize("small", [0, 10**9], ids=["walk", "program"])
@pytest.mark.parametrize("seed", range(6))
def test_mixtures_are_made_sparse(seed, small, monkeypatch):
    """A mixture of best policies for the same weights, made to differ by ties, ends up with two random states."""
    monkeypatch.setattr(sparse_policy, "_PROGRAM_FIRST_STATES", small)
    rng = np.random.default_rng(seed)
    mdp = garnet(200, 3, 3, 3, seed=seed)
    pairs = all_state_actions(mdp, 0.9)
    occupancy = np.zeros(pairs.num_pairs)
    base = pairs.first + rng.integers(0, 3, pairs.num_states)
    for share in rng.dirichlet(np.ones(3)):
        policy = np.zeros(pairs.num_pairs)
        other = pairs.first + rng.integers(0, 3, pairs.num_states)
        policy[np.where(rng.random(pairs.num_states) < 0.1, other, base)] = 1.0
        occupancy += share * sparse_policy.policy_occupancy(pairs, policy)
    mixed = sparse_policy.policy_from_occupancy(pairs, occupancy, base)
    target = sparse_policy.policy_occupancy(pairs, mixed) @ pairs.reward
    np.testing.assert_allclose(occupancy @ pairs.reward, target, rtol=1e-10)
    assert len(sparse_policy.randomising_states(pairs, mixed)) > 10
    pure = sparse_policy.make_sparse(pairs, mixed, {0: target[0], 1: target[1]}, 2)
    assert len(sparse_policy.randomising_states(pairs, pure)) <= 2
    values = sparse_policy.policy_occupancy(pairs, pure) @ pairs.reward
    assert (values >= target - 1e-7).all()


def slippery_corridor(size, objectives):
    """A field with a row of bad tiles across it and one gap, at the far end."""
    rows = [["."] * size for _ in range(size)]
    rows[size // 2][:-1] = ["H"] * (size - 1)
    rows[0][0], rows[-1][-1] = "S", "G"
    return maze("\n".join("".join(row) for row in rows), objectives=objectives, slip=0.1)


@pytest.mark.parametrize("size", [4, 6, 13])
@pytest.mark.parametrize(
    ("objectives", "threshold", "key"),
    [(["tiles", "goal"], -2.0, [-2.0, 1.0]), (["goal", "tiles"], 1.0, [1.0, 0.0])],
)
def test_sparse_rewards_and_long_episodes(size, objectives, threshold, key):
    """Waiting costs nothing here, so policies that are best up to rounding may take almost for ever to end."""
    mdp = slippery_corridor(size, objectives)
    for method in ("lp", "columns"):
        found = solve(mdp, Order([threshold]), gamma=1.0, method=method)
        assert found.status is Status.OPTIMAL
        np.testing.assert_allclose(found.key, key, atol=1e-6)


def test_a_loop_that_is_on_no_policys_way():
    """The gain of a loop, limited by a floor: the policies alone never come by it."""
    mdp = maze(
        "S..h\n....\n...G",
        objectives={"t": "tiles", "f": lambda a, b, tile: float(tile.kind == "h")},
        slip=0.1,
    )
    for method in ("lp", "columns"):
        found = solve(mdp, Order([-1.5]), gamma=1.0, method=method)
        assert found.status in (Status.OPTIMAL, Status.NEEDS_MEMORY)
        np.testing.assert_allclose(found.key, [-1.5, 0.375], atol=1e-6)
