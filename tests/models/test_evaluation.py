"""Exact values of policies: Bellman's equation, limits of discounting, loops that pay for ever or cancel."""

import dataclasses
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import sparse

from lexicone.models import _chain as chains, _evaluation as evaluation
from lexicone.models._evaluation import evaluate, state_values
from lexicone.models._mdp import MDP
from lexicone.tasks import grid
from tests.helpers.tables import TWO_STATES, chain_mdp, random_mdp, random_policy


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ([0, 2], r"^policy\[1\] \(state 1\): is 2, but actions are numbered from 0 to 1"),
        ([[0.5, 0.5], [0.9, 0.2]], r"^policy\[1\] .*sum to 1, got \[0.9, 0.2\]"),
        ([[1.5, -0.5], [1, 0]], r"^policy\[0\]"),
        ([[np.nan, 1], [1, 0]], r"^policy\[0\]"),
        ([0.0, 1.0], r"^policy: expected probabilities of shape \(2, 2\)"),
        ([0, 1, 1], r"^policy: expected"),
        ([[1.0, 0.0], [1.0]], r"^policy: expected a regular array"),
        (None, r"^policy: expected"),
        (
            SimpleNamespace(policy=[0, 1]),
            r"^policy: .* got a SimpleNamespace; hand over its policy",
        ),
    ],
)
def test_a_bad_policy_is_named(policy: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        evaluate(MDP(**TWO_STATES), policy, 0.9)


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.5, 0.99, 1.0]))
def test_values_solve_the_bellman_equation(seed: int, gamma: float) -> None:
    mdp = random_mdp(seed, states=7, terminals=2)
    policy = random_policy(mdp, seed)
    values = state_values(mdp, policy, gamma=gamma)
    dense = mdp.to_dense()
    chain = np.einsum("sa,sat->st", policy, dense.transition)
    reward = np.einsum("sa,sat,satk->sk", policy, dense.transition, dense.reward)
    np.testing.assert_allclose(values, reward + gamma * chain @ values, atol=1e-9)
    np.testing.assert_array_equal(values[mdp.terminal], 0)
    np.testing.assert_allclose(evaluate(mdp, policy, gamma), mdp.initial @ values, atol=1e-9)


@given(st.integers(0, 10**6), st.integers(1, 5), st.sampled_from([0.5, 1.0]))
def test_a_horizon_counts_so_many_steps(seed: int, horizon: int, gamma: float) -> None:
    mdp = random_mdp(seed, states=5, terminals=1)
    policy = random_policy(mdp, seed)
    dense = mdp.to_dense()
    chain = np.einsum("sa,sat->st", policy, dense.transition)
    reward = np.einsum("sa,sat,satk->sk", policy, dense.transition, dense.reward)
    steps = [gamma**t * mdp.initial @ np.linalg.matrix_power(chain, t) for t in range(horizon)]
    np.testing.assert_allclose(
        evaluate(mdp, policy, gamma, horizon=horizon), np.sum(steps, axis=0) @ reward, atol=1e-9
    )
    with pytest.raises(ValueError, match=r"^horizon: must be at least 1"):
        evaluate(mdp, policy, gamma, horizon=0)


@given(st.integers(0, 10**6))
def test_actions_and_one_hot_probabilities_are_the_same_policy(seed: int) -> None:
    mdp = random_mdp(seed)
    actions = np.random.default_rng(seed).integers(mdp.num_actions, size=mdp.num_states)
    np.testing.assert_allclose(
        evaluate(mdp, actions, 0.9), evaluate(mdp, np.eye(mdp.num_actions)[actions], 0.9)
    )


@given(st.integers(0, 10**6))
def test_undiscounted_values_are_the_limit_of_discounted_ones(seed: int) -> None:
    mdp = random_mdp(seed, terminals=1)
    policy = random_policy(mdp, seed)
    close, exact = state_values(mdp, policy, gamma=1 - 1e-9), state_values(mdp, policy, gamma=1.0)
    np.testing.assert_allclose(close, exact, rtol=1e-5, atol=1e-5)


def test_a_loop_that_pays_nothing_counts_nothing() -> None:
    # 0 → 1 with reward 3, then 1 ↔ 2 for ever without reward
    mdp = chain_mdp([[0, 1, 0], [0, 0, 1], [0, 1, 0]], [3, 0, 0])
    np.testing.assert_array_equal(state_values(mdp, [0, 0, 0], gamma=1.0)[:, 0], [3, 0, 0])


@pytest.mark.parametrize(("paid", "value"), [((1, 0), np.inf), ((-2, 1), -np.inf)])
def test_a_loop_that_pays_diverges_by_the_sign_of_its_average(
    paid: tuple[float, float], value: float
) -> None:
    mdp = chain_mdp([[0.5, 0.5, 0], [0, 0, 1], [0, 1, 0]], [0, *paid])
    assert evaluate(mdp, [0, 0, 0], 1.0)[0] == value
    assert np.isfinite(evaluate(mdp, [0, 0, 0], 0.999)[0])


def test_divergence_is_reported_per_objective_and_only_where_it_is_reached() -> None:
    transition = np.array([[0, 0.5, 0.5, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    reward = np.array([[0, 5.0], [1, 0], [2, 2], [0, 0]])
    mdp = chain_mdp(transition, reward, terminal=3)
    policy = np.zeros(4, dtype=int)
    np.testing.assert_array_equal(
        state_values(mdp, policy, gamma=1.0), [[np.inf, 6], [np.inf, 0], [2, 2], [0, 0]]
    )
    elsewhere = chain_mdp(transition, reward, initial=2, terminal=3)
    np.testing.assert_array_equal(evaluate(elsewhere, policy, 1.0), [2, 2])


def drift(states: int, up: float) -> MDP:
    """A walk to the last state that falls back more often than not: the lower ``up``, the longer it takes."""
    place = np.arange(states)
    edges = np.stack([np.minimum(place + 1, states - 1), np.maximum(place - 1, 0)], axis=-1)
    edges[-1] = states - 1
    paid = np.full((states, 1, 2, 1), -1.0)
    paid[-1] = 0.0
    return MDP(
        next_state=edges[:, None],
        probability=np.broadcast_to([up, 1 - up], (states, 1, 2)),
        reward=paid,
        initial=np.eye(states)[0],
        terminal=place == states - 1,
    )


def test_episodes_too_long_for_the_arithmetic_are_refused() -> None:
    policy = np.zeros(200, dtype=int)
    up, time, total = Fraction(0.48), Fraction(0), Fraction(0)
    for _ in range(199):  # from each state to the next, in whole numbers
        time = (1 + Fraction(1 - 0.48) * time) / up
        total += time
    found = evaluate(drift(200, 0.48), policy)
    np.testing.assert_allclose(found, [-float(total)], rtol=1e-6)
    for up in (0.46, 0.2):  # 10¹⁶ steps, and what is lost in rounding altogether
        with pytest.raises(
            ValueError, match=r"^mdp: with this policy it takes .* steps on average"
        ):
            evaluate(drift(200, up), policy)
        with pytest.raises(ValueError, match=r"^mdp: with this policy it takes"):
            state_values(drift(200, up), policy)
        assert np.isfinite(evaluate(drift(200, up), policy, 0.99)).all()
    beyond = dataclasses.replace(drift(200, 0.2), initial=np.eye(200)[-1])
    np.testing.assert_array_equal(evaluate(beyond, policy), 0.0)


def test_opposite_loops_are_weighed_by_how_likely_they_are() -> None:
    def value(up: float) -> float:
        chain = [[0, up, 1 - up], [0, 1, 0], [0, 0, 1]]
        return evaluate(chain_mdp(chain, [7, 1, -1]), [0, 0, 0], 1.0)[0]

    assert value(0.6) == np.inf
    assert value(0.4) == -np.inf
    assert value(0.5) == pytest.approx(7)  # what is won in one is lost in the other


def test_gains_of_several_starts_are_netted() -> None:
    mdp = chain_mdp([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [2, -1, 0])

    def value(*initial: float) -> float:
        return evaluate(dataclasses.replace(mdp, initial=np.array(initial)), [0, 0, 0], 1.0)[0]

    assert value(1 / 3, 2 / 3, 0.0) == pytest.approx(0)
    assert value(0.4, 0.6, 0.0) == np.inf
    assert value(0.3, 0.7, 0.0) == -np.inf


@pytest.mark.slow
@given(st.integers(0, 10**6))
def test_many_loops_of_different_lengths(seed: int) -> None:
    """Loops of 1 to 4 states in random places: the gain is the mean reward, the bias that of walking round."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 5, size=40)
    place = rng.permutation(lengths.sum())
    loops = np.split(place, np.cumsum(lengths)[:-1])
    following = np.empty(len(place), dtype=int)
    for loop in loops:
        following[loop] = np.roll(loop, -1)
    reward = rng.normal(size=(len(place), 2))
    gain, bias, _ = evaluation._undiscounted(
        sparse.csr_array((np.ones(len(place)), (np.arange(len(place)), following))), reward
    )
    for loop in loops:
        np.testing.assert_allclose(gain[loop], np.tile(reward[loop].mean(axis=0), (len(loop), 1)))
        np.testing.assert_allclose(bias[loop].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(bias, reward - gain + bias[following], atol=1e-12)


def test_the_loop_that_is_reached_first_is_ahead_by_what_it_paid_meanwhile() -> None:
    # 0 → 1 → 3, which pays 1 for ever, or 0 → 2 → 5 → 4, which costs 1 for ever
    chain = np.zeros((6, 6))
    chain[0, [1, 2]] = 0.5
    chain[[1, 2, 3, 4, 5], [3, 5, 3, 4, 4]] = 1.0
    mdp, policy = chain_mdp(chain, [0, 0, 0, 1, -1, 0]), np.zeros(6, dtype=int)
    assert evaluate(mdp, policy, 1.0)[0] == pytest.approx(0.5)
    assert evaluate(mdp, policy, 1 - 1e-8)[0] == pytest.approx(0.5, abs=1e-6)


def test_rewards_that_cancel_in_a_loop_have_the_abel_sum() -> None:
    mdp = chain_mdp([[0, 1], [1, 0]], [1, -1])
    values = state_values(mdp, [0, 0], gamma=1.0)[:, 0]
    np.testing.assert_allclose(values, [0.5, -0.5])
    np.testing.assert_allclose(state_values(mdp, [0, 0], gamma=1 - 1e-8)[:, 0], values, atol=1e-7)


@given(st.integers(0, 10**6))
def test_cancelling_rewards_in_random_recurrent_chains(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chain = 0.8 * rng.dirichlet(np.ones(5), size=5) + 0.04  # mixes quickly
    weights = np.linalg.matrix_power(chain, 200)[0]
    reward = rng.normal(size=5)
    mdp = chain_mdp(chain, reward - weights @ reward)
    exact = state_values(mdp, np.zeros(5, int), gamma=1.0)[:, 0]
    total = sum(np.linalg.matrix_power(chain, t) @ (reward - weights @ reward) for t in range(200))
    np.testing.assert_allclose(exact, total, atol=1e-8)


@pytest.mark.parametrize("gamma", [0.95, 1.0])
def test_iterative_and_direct_solutions_agree(
    gamma: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    mdp = grid(12, num_objectives=3, slip=0.3)
    policy = random_policy(mdp, 1)
    direct = state_values(mdp, policy, gamma=gamma)
    calls: list[bool] = []
    iterate = chains._iterate

    def counted(*system: Any) -> np.ndarray | None:
        found = iterate(*system)
        calls.append(found is not None)
        return found

    monkeypatch.setattr(evaluation, "factorises_well", lambda graph: False)
    monkeypatch.setattr(chains, "_DIRECT_SIZE", 10)
    monkeypatch.setattr(chains, "_iterate", counted)
    np.testing.assert_allclose(state_values(mdp, policy, gamma=gamma), direct, rtol=1e-10)
    assert calls
    assert all(calls)
    monkeypatch.setattr(chains, "_iterate", lambda *system: None)  # it gives up
    np.testing.assert_allclose(state_values(mdp, policy, gamma=gamma), direct, rtol=1e-10)


@pytest.mark.parametrize("gamma", [-0.1, 1.1, np.nan])
def test_gamma_is_checked(gamma: float) -> None:
    with pytest.raises(ValueError, match=r"^gamma: must be between 0 and 1"):
        evaluate(MDP(**TWO_STATES), [0, 0], gamma)
