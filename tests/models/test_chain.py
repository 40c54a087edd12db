"""The solver of Markov chains, iterative and factorised, against dense linear algebra."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import sparse

from lexicone.models import _chain as chains
from lexicone.models._chain import Chain, factorises_well, shares_of_time
from lexicone.tasks import garnet, grid

SOLVERS = {"iterative": 0, "factorised": 10**9}
"""Up to how many states a chain is factorised without trying to iterate."""


def random_chain(seed: int, size: int, gamma: float) -> np.ndarray:
    """Sparse rows that sum to γ, loops included; the last state ends with probability ½ at least."""
    rng = np.random.default_rng(seed)
    matrix = rng.random((size, size)) * (rng.random((size, size)) < 0.3)
    matrix[np.arange(size), (np.arange(size) + 1) % size] += 0.2
    matrix *= gamma / matrix.sum(axis=1, keepdims=True)
    matrix[-1] *= 0.5
    return matrix


@pytest.mark.parametrize("largest", SOLVERS.values(), ids=SOLVERS.keys())
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(1, 30),
    gamma=st.sampled_from([0.0, 0.5, 0.99, 1.0]),
    rough=st.booleans(),
)
def test_values_and_visits_are_those_of_dense_algebra(
    largest: int, seed: int, size: int, gamma: float, rough: bool
) -> None:
    matrix = random_chain(seed, size, gamma)
    rng = np.random.default_rng(seed)
    reward, initial = rng.normal(size=(size, 2)), rng.dirichlet(np.ones(size))
    system = np.eye(size) - matrix
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chains, "_DIRECT_SIZE", largest)
        patch.setattr(chains, "_DIRECT_ENTRIES", -1.0)
        chain = Chain(sparse.csr_array(matrix))
        assert chain.direct == (largest > 0)
        guess = rng.normal(size=size) if rough else None
        found = chain.values(reward[:, 0], guess)
        columns, visits = chain.value_columns(reward), chain.visits(initial)
    exact = np.linalg.solve(system, reward)
    room = 1e-9 * max(1.0, np.abs(exact).max())
    np.testing.assert_allclose(found, exact[:, 0], atol=room)
    np.testing.assert_allclose(columns, exact, atol=room)
    np.testing.assert_allclose(visits, np.linalg.solve(system.T, initial), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(visits @ reward, initial @ exact, atol=10 * room)


@pytest.mark.parametrize("gamma", [0.5, 0.99, 0.9999])
@pytest.mark.parametrize("largest", SOLVERS.values(), ids=SOLVERS.keys())
def test_chains_of_tasks_are_solved_to_rounding(
    gamma: float, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chains, "_DIRECT_SIZE", largest)
    for mdp in (garnet(300, 3, 3, 2), grid(17)):
        policy = np.ones(mdp.num_states, dtype=int)
        alive = np.flatnonzero(~mdp.terminal)
        matrix = gamma * mdp.chain(policy)[alive][:, alive]
        reward, initial = mdp.policy_reward(policy)[alive, 0], mdp.initial[alive]
        chain = Chain(matrix)
        values = chain.values(reward)
        np.testing.assert_allclose(values - matrix @ values, reward, atol=1e-12 / (1 - gamma))
        visits = chain.visits(initial)
        np.testing.assert_allclose(visits @ reward, initial @ values, rtol=1e-10)


def test_a_goal_allows_for_a_residual(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "_DIRECT_SIZE", 0)
    mdp = garnet(300, 3, 3, 2)
    matrix = 0.99 * mdp.chain(np.zeros(300, dtype=int))
    reward = mdp.expected_reward[:, 0, 0]
    residual = {}
    for goal in (0.0, 1e-3):
        values = Chain(matrix).values(reward, goal=goal)
        residual[goal] = np.abs(values - matrix @ values - reward).max()
    assert residual[0.0] <= 1e-12 < residual[1e-3] <= 1e-3


def test_what_does_not_converge_is_factorised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "_DIRECT_SIZE", 0)
    monkeypatch.setattr(chains, "_iterate", lambda *system: None)
    matrix = random_chain(0, 12, 1.0)
    chain = Chain(sparse.csr_array(matrix))
    assert not chain.direct
    np.testing.assert_allclose(
        chain.values(np.ones(12)), np.linalg.solve(np.eye(12) - matrix, np.ones(12))
    )
    assert chain.factors is not None


def test_nothing_is_solved_by_nothing() -> None:
    chain = Chain(sparse.csr_array((0, 0)))
    assert chain.values(np.zeros(0)).shape == (0,)
    assert chain.visits(np.zeros(0)).shape == (0,)
    assert chain.value_columns(np.zeros((0, 3))).shape == (0, 3)


@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_shares_of_time_stay_as_they_are(seed: int, size: int) -> None:
    chain = random_chain(seed, size, 1.0)
    chain /= chain.sum(axis=1, keepdims=True)
    shares = shares_of_time(sparse.csr_array(chain))
    np.testing.assert_allclose(shares @ chain, shares, atol=1e-12)
    assert shares.sum() == pytest.approx(1)
    assert (shares > 0).all()


def test_grids_factorise_well_and_random_graphs_do_not() -> None:
    assert factorises_well(grid(30).graph)
    assert not factorises_well(garnet(900).graph)
