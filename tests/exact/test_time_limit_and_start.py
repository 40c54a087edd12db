"""`solve` with a time limit gives what it has; with a start it needs fewer steps for the same optimum."""

import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lexicone.exact import _deterministic as deterministic
from lexicone.exact._column_generation import ColumnGeneration
from lexicone.exact._end_components import restrict_to_finite
from lexicone.exact._highs import Outcome
from lexicone.exact._policy_iteration import best_policy
from lexicone.exact._policy_iteration_total import best_ending_policy, ending_policy
from lexicone.exact._solution import Solution, Status
from lexicone.exact._solve import Method, solve
from lexicone.exact._state_actions import all_state_actions
from lexicone.models._chain import Chain
from lexicone.models._evaluation import evaluate
from lexicone.models._mdp import MDP
from lexicone.order import Order
from lexicone.tasks import garnet, grid, maze

GARNET = garnet(25, 3, 3, 2, seed=3)


def half_way(mdp: MDP, gamma: float) -> list[float]:
    """Thresholds between what each objective has when it is the only one, and when only the last one is."""
    ends = [
        solve(mdp, Order([t] * (mdp.num_objectives - 1)), gamma=gamma) for t in (np.inf, -np.inf)
    ]
    return (0.5 * (ends[0].values + ends[1].values))[:-1].tolist()


def assert_policy_and_bound(found: Solution, mdp: MDP, gamma: float, best: Solution) -> None:
    """The values are the policy's, and the bound is above them and above the optimum."""
    np.testing.assert_allclose(evaluate(mdp, found.policy, gamma), found.values, atol=1e-7)
    first = int(np.argmax(found.bound == np.inf)) if np.isinf(found.bound).any() else None
    assert (found.bound >= found.key - 1e-8).all()
    place = 0 if first is None or first == 0 else first - 1
    assert found.bound[place] >= best.key[place] - 1e-7


@pytest.mark.parametrize("method", ["lp", "columns"])
@pytest.mark.parametrize("gamma", [0.99, 1.0])
def test_without_time_there_still_is_a_policy_and_a_bound(method: Method, gamma: float) -> None:
    mdp = grid(12, seed=4)
    order = Order([-1.0, -1.5])
    best = solve(mdp, order, gamma=gamma, method=method)
    found = solve(mdp, order, gamma=gamma, method=method, time_limit=1e-9)
    assert best.status is Status.OPTIMAL
    assert found.status is Status.LIMIT
    assert "cut short at objective 1" in found.message
    assert_policy_and_bound(found, mdp, gamma, best)


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_the_time_is_over_in_any_stage(stage: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock stands still until that stage begins; what the stages before decided is kept."""
    mdp = garnet(200, 3, 3, 3, seed=1)
    first, second = half_way(mdp, 0.95)
    order = Order([first, np.inf if stage == 2 else second])  # so that no stage is over at once
    best = solve(mdp, order, gamma=0.95)
    seconds = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: seconds)

    def progress(line: str) -> None:
        nonlocal seconds
        if line.startswith(f"stage {stage} of 3"):
            seconds = 10.0

    found = solve(mdp, order, gamma=0.95, method="columns", time_limit=5.0, progress=progress)
    assert found.status is Status.LIMIT
    assert f"cut short at objective {stage}" in found.message
    np.testing.assert_allclose(found.key[: stage - 1], best.key[: stage - 1], atol=1e-6)
    assert np.isfinite(found.bound[:stage]).all()
    assert (found.bound[stage:] == np.inf).all()
    assert found.bound[stage - 1] >= best.key[stage - 1] - 1e-7
    assert (found.bound >= found.key - 1e-8).all()


def test_a_large_model_is_cut_in_time() -> None:
    mdp = grid(100, seed=2)
    order = Order([-4.0, -3.0])
    begin = time.monotonic()
    found = solve(mdp, order, gamma=0.99, time_limit=0.1)
    elapsed = time.monotonic() - begin
    assert found.status is Status.LIMIT
    assert 0.1 <= elapsed < 60
    assert (found.bound >= found.key - 1e-8).all()
    returns = np.einsum("sa,sak->k", found.occupancy, mdp.expected_reward)
    np.testing.assert_allclose(returns, found.values, rtol=1e-6)


@pytest.mark.parametrize("gamma", [0.999, 1.0])
def test_the_search_for_a_best_policy_is_cut_in_time(
    gamma: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each look at the clock takes a second: policy iteration gives up between two of its own steps."""
    pairs = restrict_to_finite(all_state_actions(grid(40, seed=2), gamma), np.ones(3, dtype=bool))
    assert pairs is not None
    search = best_policy if gamma < 1 else best_ending_policy
    seconds = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: next(seconds))
    reward, start = pairs.reward.sum(axis=1), ending_policy(pairs)
    whole = search(pairs, reward, start)
    steps = next(seconds)
    seconds = itertools.count()
    cut = search(pairs, reward, start, deadline=0.5)
    assert next(seconds) < steps
    values = [
        pairs.initial @ Chain(pairs.next[p]).values(reward[p])
        for p in (start, cut.policy, whole.policy)
    ]
    assert values[0] < values[1] < values[2]


def test_a_search_cut_short_proves_nothing_without_discount() -> None:
    """With γ=1 only values of a best policy are a bound; with γ<1 any are."""
    pairs = restrict_to_finite(all_state_actions(grid(20, seed=2), 1.0), np.ones(3, dtype=bool))
    assert pairs is not None
    whole = ColumnGeneration(pairs).maximize(2, {})
    cut = ColumnGeneration(pairs, deadline=0.0).maximize(2, {})
    assert whole.outcome is Outcome.OPTIMAL
    assert cut.outcome is Outcome.TIME_LIMIT
    assert cut.value < whole.value - 1e-6
    assert cut.bound == np.inf


def test_a_deterministic_search_is_cut_in_time() -> None:
    order = Order([0.9 * solve(GARNET, Order([np.inf]), gamma=0.9).values[0]])
    found = solve(GARNET, order, gamma=0.9, policies="deterministic", time_limit=1e-9)
    assert found.status is Status.LIMIT
    assert np.isin(found.policy, [0, 1]).all()
    assert (found.bound >= found.key).all()
    assert np.isinf(found.bound[1])


def test_a_deterministic_search_that_is_cut_short_proves_nothing() -> None:
    """The first policy goes round for ever, but the best one ends."""
    mdp, order = maze("extended", objectives="endpoint-time"), Order([-12.0])
    best = solve(mdp, order, policies="deterministic")
    found = solve(mdp, order, policies="deterministic", time_limit=1e-9)
    assert best.status is Status.OPTIMAL
    assert found.status is Status.LIMIT
    assert found.bound[0] >= best.key[0]


@pytest.mark.slow
def test_enough_time_changes_nothing() -> None:
    order = Order(half_way(GARNET, 0.9))
    for how in ({"method": "lp"}, {"method": "columns"}, {"policies": "deterministic"}):
        options: dict[str, Any] = how
        plain = solve(GARNET, order, gamma=0.9, **options)
        limited = solve(GARNET, order, gamma=0.9, time_limit=600.0, **options)
        assert limited.status is plain.status
        np.testing.assert_array_equal(limited.policy, plain.policy)
        np.testing.assert_array_equal(limited.bound, plain.bound)


def count_steps(
    mdp: MDP, order: Order, gamma: float, start: Solution | None
) -> tuple[int, Solution]:
    """How many best policies column generation looks for."""
    lines: list[str] = []
    found = solve(mdp, order, gamma=gamma, method="columns", start=start, progress=lines.append)
    return sum("policies" in line for line in lines), found


@pytest.mark.slow
@pytest.mark.parametrize("change", ["thresholds", "gamma"])
def test_a_start_saves_columns(change: str) -> None:
    mdp = garnet(300, 3, 3, 3, seed=1)
    order, gamma = Order(half_way(mdp, 0.95)), 0.95
    start = solve(mdp, order, gamma=gamma)
    if change == "thresholds":
        order = Order([t * 1.0001 for t in order.thresholds])
    else:
        gamma = 0.9501
    without, plain = count_steps(mdp, order, gamma, None)
    with_start, found = count_steps(mdp, order, gamma, start)
    assert with_start < without
    assert found.status is Status.OPTIMAL
    np.testing.assert_allclose(found.key, plain.key, atol=1e-6)


@pytest.mark.slow
def test_a_start_saves_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    order = Order([0.9 * solve(GARNET, Order([np.inf]), gamma=0.9).values[0]])
    branch: Callable[..., Any] = deterministic._Search._branch
    nodes: list[int] = []

    def counted(*args: Any) -> Any:
        nodes.append(1)
        return branch(*args)

    monkeypatch.setattr(deterministic._Search, "_branch", counted)
    plain = solve(GARNET, order, gamma=0.9, policies="deterministic")
    without = len(nodes)
    nodes.clear()
    found = solve(GARNET, order, gamma=0.9, policies="deterministic", start=plain)
    assert len(nodes) < without
    np.testing.assert_allclose(found.key, plain.key, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [0.95, 1.0])
@pytest.mark.parametrize("method", ["lp", "columns"])
def test_the_optimum_is_the_same_from_any_start(method: Method, gamma: float) -> None:
    mdp = grid(8, seed=4)
    order = Order([-1.0, -1.5])
    plain = solve(mdp, order, gamma=gamma, method=method)
    starts = (
        plain,
        solve(mdp, Order([-np.inf, np.inf]), gamma=0.5),
        np.zeros(mdp.num_states, dtype=int),
    )
    for start in starts:
        found = solve(mdp, order, gamma=gamma, method=method, start=start)
        assert found.status is plain.status
        np.testing.assert_allclose(found.key, plain.key, atol=1e-6)


@pytest.mark.parametrize("method", ["lp", "columns"])
def test_without_time_the_result_is_no_worse_than_the_start(method: Method) -> None:
    mdp, order = maze("extended"), Order([-3.0])
    best = solve(mdp, order)
    bad = np.zeros(mdp.num_states, dtype=int)
    found = solve(mdp, order, start=best, method=method, time_limit=1e-9)
    assert found.status is Status.LIMIT
    np.testing.assert_allclose(found.key, best.key, atol=1e-9)
    np.testing.assert_allclose(found.occupancy, best.occupancy, atol=1e-9)
    assert found.satisfied.all()
    assert_policy_and_bound(found, mdp, 1.0, best)
    plain = solve(mdp, order, method=method, time_limit=1e-9)
    found = solve(mdp, order, start=bad, method=method, time_limit=1e-9)
    assert not order.better(evaluate(mdp, bad), found.values)
    assert not order.better(plain.values, found.values)


def test_a_start_that_pays_for_ever_is_no_result() -> None:
    """From one start it gains for ever what it pays for ever from the other: on average, nothing."""
    transition = np.zeros((3, 2, 3))
    transition[[0, 1], 0, [0, 1]] = transition[[0, 1], 1, 2] = transition[2, :, 2] = 1.0
    reward = np.zeros((3, 2, 2))
    reward[0, 0, 0], reward[1, 0, 0], reward[:2, 1, 0] = 1.0, -1.0, -1.0
    mdp = MDP.from_dense(transition, reward, [0.5, 0.5, 0.0], [False, False, True])
    start = np.zeros(3, dtype=int)
    found = solve(mdp, Order([0.0]), start=start, time_limit=1e-9)
    assert Order([0.0]).better(evaluate(mdp, start), found.values)
    assert found.status is Status.LIMIT
    assert np.isfinite(found.occupancy).all()


def test_a_start_of_another_model_is_refused() -> None:
    start = solve(GARNET, Order([0.0]), gamma=0.9)
    others = (garnet(26, 3, 3, 2, seed=3), garnet(25, 3, 3, 2, seed=4), garnet(25, 3, 3, 3, seed=3))
    for other in others:
        with pytest.raises(ValueError, match=r"^start: "):
            solve(other, Order([0.0] * (other.num_objectives - 1)), gamma=0.9, start=start)
    with pytest.raises(ValueError, match=r"^start: .*probabilities"):
        solve(GARNET, Order([0.0]), gamma=0.9, start=np.full((25, 3), 0.5))


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_a_time_limit_is_positive(seconds: float) -> None:
    with pytest.raises(ValueError, match=r"^time_limit: must be positive"):
        solve(GARNET, Order([0.0]), gamma=0.9, time_limit=seconds)
