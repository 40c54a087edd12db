"""Linear–quadratic models: continuous states and inputs, linear dynamics with noise, K quadratic costs.

    x_{t+1} = A x_t + B u_t + w_t,   E[w wᵀ] = W,   E[x_0 x_0ᵀ] = X₀,   cost_k = zᵀM_k z  with  z = (x, u)

After each step the episode ends with probability 1−γ, so that totals of an episode have a stationary optimum. Values
are minus the expected totals: larger is better. All that counts of a policy are its second moments
``S = (1−γ) Σ γᵗ E[z_t z_tᵀ]``, and ``V_k = −⟨M_k, S⟩/(1−γ)``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from lexicone._base.arrays import as_numbers
from lexicone._base.checks import (
    as_texts,
    check_range,
    check_seed,
    check_whole,
    find_places,
    is_listing,
)

__all__ = ["LinearQuadratic", "matrix_root", "solve_lyapunov"]

_SYMMETRIC = (
    1e-9  # of the largest entry: how far a matrix may be from symmetric, or an eigenvalue below 0
)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class LinearQuadratic:
    """A linear system with noise and K quadratic costs, most important first.

    >>> costs = [np.diag([1.0, 0.0]), np.diag([0.0, 1.0])]   # x², u²
    >>> model = LinearQuadratic([[1.0]], [[1.0]], [[1.0]], costs=costs, gamma=0.9)
    >>> model.evaluate([[-1.0]]).round(9)                    # back to 0 at once: both cost 1 from the second step on
    array([-9., -9.])

    Args:
        A: dynamics, ``[n,n]``.
        B: what inputs do, ``[n,m]``.
        noise: W, the covariance of what is added at each step, ``[n,n]``.
        costs: K symmetric matrices ``[n+m,n+m]`` over ``(x, u)``, positive semidefinite.
        gamma: the probability, above 0 and below 1, that an episode goes on.
        initial: X₀, the second moments of the first state, ``[n,n]``; zero if not given.
        objective_names: K names.
    """

    A: Float[np.ndarray, "n n"]
    B: Float[np.ndarray, "n m"]
    noise: Float[np.ndarray, "n n"]
    costs: Float[np.ndarray, "K nm nm"]
    gamma: float
    initial: Float[np.ndarray, "n n"]
    objective_names: tuple[str, ...] | None

    def __init__(
        self,
        A: Any,
        B: Any,
        noise: Any,
        *,
        costs: Any,
        gamma: float,
        initial: Any = None,
        objective_names: Sequence[str] | None = None,
    ) -> None:
        dynamics = _matrix("A", A)
        n = dynamics.shape[0]
        if dynamics.shape != (n, n) or n == 0:
            raise ValueError(f"A: expected a square matrix, got shape {dynamics.shape}")
        inputs = _matrix("B", B)
        if inputs.shape[0] != n or inputs.shape[1] == 0:
            raise ValueError(f"B: expected {n} rows, one for each state, got shape {inputs.shape}")
        check_range("gamma", gamma, 0, 1, above=True, below=True)
        if not is_listing(costs):
            raise ValueError(f"costs: expected a list of matrices, got {costs!r}")
        width = n + inputs.shape[1]
        tables = [_semidefinite(f"costs[{k}]", cost, width) for k, cost in enumerate(costs)]
        if not tables:
            raise ValueError("costs: expected at least one matrix")
        first = np.zeros((n, n)) if initial is None else _semidefinite("initial", initial, n)
        if objective_names is not None:
            objective_names = as_texts("objective_names", objective_names)
            if len(objective_names) != len(tables):
                raise ValueError(
                    f"objective_names: {len(tables)} costs take {len(tables)} names, got {len(objective_names)}"
                )
            if len(set(objective_names)) != len(objective_names):
                raise ValueError("objective_names: must differ from each other")
        for name, value in {
            "A": dynamics,
            "B": inputs,
            "noise": _semidefinite("noise", noise, n),
            "costs": np.stack(tables),
            "gamma": float(gamma),
            "initial": first,
            "objective_names": None if objective_names is None else tuple(objective_names),
        }.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, name, value)

    @property
    def num_states(self) -> int:
        """n."""
        return self.A.shape[0]

    @property
    def num_inputs(self) -> int:
        """m."""
        return self.B.shape[1]

    @property
    def num_objectives(self) -> int:
        """K."""
        return self.costs.shape[0]

    def __repr__(self) -> str:
        sizes = f"{self.num_states} states, {self.num_inputs} inputs, {self.num_objectives} costs"
        return f"LinearQuadratic({sizes}, gamma={self.gamma:g})"

    def reorder(self, objectives: Sequence[str | int]) -> "LinearQuadratic":
        """The same model with these costs, by name or number (from 0), in this sequence; others are left out."""
        places = find_places(objectives, self.objective_names, self.num_objectives)
        names = self.objective_names
        return LinearQuadratic(
            self.A,
            self.B,
            self.noise,
            costs=self.costs[places],
            gamma=self.gamma,
            initial=self.initial,
            objective_names=None if names is None else [names[k] for k in places],
        )

    def moments(self, gain: Any, noise: Any = None) -> Float[np.ndarray, "nm nm"]:
        """S of the policy ``u = gain·x + η`` with ``E[ηηᵀ] = noise`` (default 0); infinite where it has no limit.

        ``S_xx`` solves ``S_xx = (1−γ)X₀ + γ([A B] S [A B]ᵀ + W)``.
        """
        gain, noise = self._policy(gain, noise)
        closed = math.sqrt(self.gamma) * (self.A + self.B @ gain)
        if np.abs(np.linalg.eigvals(closed)).max() >= 1:
            return np.full(self.costs.shape[1:], np.inf)
        arrives = self.noise + self.B @ noise @ self.B.T
        states = solve_lyapunov(closed, (1 - self.gamma) * self.initial + self.gamma * arrives)
        cross = gain @ states
        return np.block([[states, cross.T], [cross, cross @ gain.T + noise]])

    def evaluate(self, gain: Any, noise: Any = None) -> Float[np.ndarray, " K"]:
        """The expected returns, minus the totals of the costs, of the policy ``u = gain·x + η``.

        −∞ where the state has no finite second moments.
        """
        moments = self.moments(gain, noise)
        if np.isinf(moments).any():
            return np.full(self.num_objectives, -np.inf)
        return 0.0 - np.einsum("kij,ij->k", self.costs, moments) / (1 - self.gamma)

    def simulate(
        self, gain: Any, noise: Any = None, *, episodes: int = 1000, seed: int = 0
    ) -> Float[np.ndarray, "episodes K"]:
        """The returns of episodes with Gaussian noise and Gaussian first states: their mean is `evaluate`."""
        check_whole(episodes=episodes)
        episodes = int(episodes)
        check_seed(seed)
        gain, noise = self._policy(gain, noise)
        rng = np.random.default_rng(int(seed))
        roots = [matrix_root(a) for a in (self.initial, self.noise, noise)]
        x = rng.normal(size=(episodes, self.num_states)) @ roots[0].T
        running = np.arange(episodes)
        returns = np.zeros((episodes, self.num_objectives))
        while running.size:
            u = x @ gain.T + rng.normal(size=(running.size, self.num_inputs)) @ roots[2].T
            z = np.concatenate([x, u], axis=1)
            returns[running] -= np.einsum("ei,kij,ej->ek", z, self.costs, z, optimize=True)
            on = rng.random(running.size) < self.gamma
            running, x, u = running[on], x[on], u[on]
            shocks = rng.normal(size=x.shape) @ roots[1].T
            x = x @ self.A.T + u @ self.B.T + shocks
        return returns

    def _policy(self, gain: Any, noise: Any) -> tuple[np.ndarray, np.ndarray]:
        gain = _matrix("gain", gain)
        if gain.shape != (self.num_inputs, self.num_states):
            raise ValueError(
                f"gain: expected shape {(self.num_inputs, self.num_states)}, got {gain.shape}"
            )
        m = self.num_inputs
        return gain, np.zeros((m, m)) if noise is None else _semidefinite("noise", noise, m)


def solve_lyapunov(
    matrix: Float[np.ndarray, "n n"], right: Float[np.ndarray, "n n"]
) -> Float[np.ndarray, "n n"]:
    """X = matrix·X·matrixᵀ + right by doubling: ``Σ_t matrixᵗ right (matrixᵀ)ᵗ``. The spectral radius is below 1."""
    total, power = right, matrix
    for _ in range(64):
        step = power @ total @ power.T
        total = total + step
        if not np.abs(step).max() > 1e-18 * np.abs(total).max():
            break
        power = power @ power
    return (total + total.T) / 2


def matrix_root(matrix: np.ndarray) -> np.ndarray:
    """R with R·Rᵀ = matrix, which is positive semidefinite."""
    values, vectors = np.linalg.eigh(matrix)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def _matrix(name: str, data: Any) -> np.ndarray:
    matrix = as_numbers(name, data).copy()
    if matrix.ndim != 2:
        raise ValueError(f"{name}: expected a matrix, got shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise ValueError(f"{name}: contains NaN or infinity")
    return matrix


def _semidefinite(name: str, data: Any, size: int) -> np.ndarray:
    """A symmetric matrix of this size without negative eigenvalues."""
    matrix = _matrix(name, data)
    if matrix.shape != (size, size):
        raise ValueError(f"{name}: expected shape {(size, size)}, got {matrix.shape}")
    scale = np.abs(matrix).max()
    if np.abs(matrix - matrix.T).max() > _SYMMETRIC * scale:
        raise ValueError(f"{name}: must be symmetric")
    matrix = (matrix + matrix.T) / 2
    least = np.linalg.eigvalsh(matrix)[0]
    if least < -_SYMMETRIC * scale:
        raise ValueError(f"{name}: must be positive semidefinite, has the eigenvalue {least:.3g}")
    return matrix
