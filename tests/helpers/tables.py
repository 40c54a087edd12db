"""Models as tables for tests: two states written out, random ones, and chains with a single action."""

from typing import Any

import numpy as np

from lexicone.models._mdp import MDP

TWO_STATES: dict[str, Any] = {
    "next_state": [[[1, 0], [0, 0]], [[1, 1], [1, 1]]],
    "probability": [[[0.5, 0.5], [1.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]]],
    "reward": np.array([[[[1.0], [2]], [[3], [9]]], [[[0], [0]], [[0], [0]]]]),
    "initial": [1.0, 0.0],
    "terminal": [False, True],
}


def two_states_with(**entries: tuple[Any, Any]) -> dict[str, Any]:
    """The tables of ``TWO_STATES`` with some entries set: name=(index, value)."""
    tables = {name: np.array(table) for name, table in TWO_STATES.items()}
    for name, (index, value) in entries.items():
        tables[name][index] = value
    return tables


def random_mdp(
    seed: int,
    states: int = 6,
    actions: int = 3,
    objectives: int = 2,
    terminals: int = 1,
    successors: int = 3,
) -> MDP:
    """Every state reaches every other; the last ones are terminal."""
    rng = np.random.default_rng(seed)
    transition = np.zeros((states, actions, states))
    for s, a in np.ndindex(states, actions):
        chosen = rng.choice(states, size=min(successors, states), replace=False)
        transition[s, a, chosen] = rng.dirichlet(np.ones(len(chosen)))
        transition[s, a, (s + 1) % states] += 0.2
    transition /= transition.sum(axis=-1, keepdims=True)
    reward = rng.normal(size=(states, actions, states, objectives))
    terminal = np.arange(states) >= states - terminals
    transition[terminal], reward[terminal] = 0.0, 0.0
    return MDP.from_dense(transition, reward, rng.dirichlet(np.ones(states)), terminal)


def random_policy(mdp: MDP, seed: int) -> np.ndarray:
    """Probabilities ``[S,A]``, all positive."""
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(mdp.num_actions), size=mdp.num_states)


def chain_mdp(transition: Any, reward: Any, initial: int = 0, terminal: int | None = None) -> MDP:
    """One action: what evaluation sees of any policy."""
    chain, paid = np.array(transition, dtype=float), np.array(reward, dtype=float)
    count = len(chain)
    ends = np.zeros(count, dtype=bool) if terminal is None else np.arange(count) == terminal
    return MDP.from_dense(
        chain[:, None, :], paid.reshape(count, 1, -1), np.eye(count)[initial], ends
    )
