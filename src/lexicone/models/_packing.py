"""Dense and sparse models packed into successor tables, and back.

A table lists for each state s and action a the B possible successors: ``next_state[s,a,b]``, with
``probability[s,a,b]`` and ``reward[s,a,b,k]``. Rows with fewer than B successors are filled up with
probability 0.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy import sparse

from lexicone._base.arrays import as_numbers
from lexicone._base.checks import is_listing
from lexicone.models._arrays import read_only

__all__ = ["Dense", "Sparse", "pack_dense", "pack_sparse", "unpack_dense", "unpack_sparse"]


class Dense(NamedTuple):
    """A model as dense arrays; ``MDP.from_dense(*dense)`` reads it."""

    transition: Float[np.ndarray, "S A S"]
    reward: Float[np.ndarray, "S A S K"]
    initial: Float[np.ndarray, " S"]
    terminal: Bool[np.ndarray, " S"]


class Sparse(NamedTuple):
    """A model as sparse matrices; ``MDP.from_sparse(*matrices)`` reads it."""

    transition: tuple[sparse.csr_array, ...]
    """One ``[S,S]`` matrix per action."""
    reward: tuple[tuple[sparse.csr_array, ...], ...]
    """``reward[k][a]``, ``[S,S]``."""
    initial: Float[np.ndarray, " S"]
    terminal: Bool[np.ndarray, " S"]


def pack_dense(
    transition: Any, reward: Any, terminal: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``transition[S,A,S]`` and ``reward[S,A,K]`` or ``[S,A,S,K]`` as successor tables.

    Rows of zeros in terminal states become loops.
    """
    transition = as_numbers("transition", transition)
    reward = as_numbers("reward", reward)
    if transition.ndim != 3 or transition.shape[0] != transition.shape[2] or 0 in transition.shape:
        raise ValueError(f"transition: expected shape [S,A,S], got {transition.shape}")
    states, actions, _ = transition.shape
    if reward.ndim not in (3, 4) or reward.shape[:-1] != transition.shape[: reward.ndim - 1]:
        raise ValueError(
            f"reward: expected shape [S,A,K] or [S,A,S,K] with S={states} and A={actions}, "
            f"got {reward.shape}"
        )
    marked = _terminal_mask(terminal, states)
    s, a = np.nonzero(~transition.any(axis=2) & marked[:, None])
    transition = transition.copy()
    transition[s, a, s] = 1.0
    rows, columns = np.nonzero(transition.reshape(states * actions, states))
    values = transition.reshape(states * actions, states)[rows, columns]
    paid = reward.reshape(states * actions, *reward.shape[2:])
    paid = paid[rows, columns] if reward.ndim == 4 else paid[rows]
    return _pack_entries(states, actions, rows, columns, values, paid)


def pack_sparse(
    transition: Sequence[Any], reward: Any, terminal: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One sparse ``[S,S]`` matrix per action as successor tables.

    ``reward`` is an array ``[S,A,K]``, or for rewards that depend on the successor
    ``reward[k][a]``, a sparse ``[S,S]`` matrix per objective and action. Empty rows in terminal
    states become loops.
    """
    if sparse.issparse(transition) or not is_listing(transition):
        raise ValueError(f"transition: expected one sparse matrix per action, got {transition!r}")
    matrices = [_as_sparse(f"transition[{a}]", matrix) for a, matrix in enumerate(transition)]
    actions = len(matrices)
    if actions == 0:
        raise ValueError("transition: expected one sparse matrix per action, got none")
    states = len(matrices[0].indptr) - 1
    for a, matrix in enumerate(matrices):
        if matrix.shape != (states, states):
            raise ValueError(
                f"transition[{a}]: expected shape {(states, states)}, got {matrix.shape}"
            )
    marked = _terminal_mask(terminal, states)
    empty = [marked & (np.asarray(abs(m).sum(axis=1)).ravel() == 0) for m in matrices]
    parts = [
        (matrix + sparse.diags_array(loops.astype(float))).tocoo()
        for matrix, loops in zip(matrices, empty, strict=True)
    ]
    source = np.concatenate([m.coords[0] for m in parts]).astype(np.int64)
    columns = np.concatenate([m.coords[1] for m in parts]).astype(np.int64)
    values = np.concatenate([m.data for m in parts]).astype(float)
    action = np.repeat(np.arange(actions), [m.nnz for m in parts])
    if sparse.issparse(reward) or (
        isinstance(reward, list | tuple) and any(map(_holds_sparse, reward))
    ):
        paid = np.stack(
            [_rewards_of_moves(f"reward[{k}]", row, parts, states) for k, row in enumerate(reward)],
            axis=-1,
        )
    else:
        table = as_numbers("reward", reward)
        if table.ndim != 3 or table.shape[:2] != (states, actions):
            raise ValueError(
                f"reward: expected shape [S,A,K] with S={states} and A={actions}, got {table.shape}"
            )
        paid = table[source, action]
    rows = source * actions + action
    order = np.argsort(rows, kind="stable")
    return _pack_entries(states, actions, rows[order], columns[order], values[order], paid[order])


def unpack_dense(
    next_state: np.ndarray, probability: np.ndarray, reward: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """``[S,A,S]`` and ``[S,A,S,K]``; equal successors are merged, their rewards averaged."""
    states, actions, _ = next_state.shape
    s, a, _ = np.indices(next_state.shape)
    transition = np.zeros((states, actions, states))
    paid = np.zeros((states, actions, states, reward.shape[-1]))
    np.add.at(transition, (s, a, next_state), probability)
    np.add.at(paid, (s, a, next_state), probability[..., None] * reward)
    return transition, paid / np.where(transition > 0, transition, 1.0)[..., None]


def unpack_sparse(
    next_state: np.ndarray, probability: np.ndarray, reward: np.ndarray
) -> tuple[tuple[sparse.csr_array, ...], tuple[tuple[sparse.csr_array, ...], ...]]:
    """``transition[a]`` and ``reward[k][a]``, all ``[S,S]``; merged like `unpack_dense`."""
    states, actions, _ = next_state.shape
    transition, paid = [], [[] for _ in range(reward.shape[-1])]
    for a in range(actions):
        keep = probability[:, a] > 0
        place = (np.nonzero(keep)[0], next_state[:, a][keep])
        weight = probability[:, a][keep]
        matrix = sparse.csr_array((weight, place), shape=(states, states))
        matrix.sum_duplicates()
        transition.append(matrix)
        for k, row in enumerate(paid):
            total = sparse.csr_array((weight * reward[:, a, :, k][keep], place), matrix.shape)
            total.sum_duplicates()
            total.data = np.divide(total.data, matrix.data)
            total.eliminate_zeros()
            row.append(total)
    return tuple(transition), tuple(tuple(row) for row in paid)


def _terminal_mask(terminal: Any, states: int) -> np.ndarray:
    mask = read_only("terminal", terminal, np.bool_)
    if mask.shape != (states,):
        raise ValueError(f"terminal: expected one entry per state ({states}), got {mask.shape}")
    return mask


def _holds_sparse(item: Any) -> bool:
    return isinstance(item, (list, tuple)) and any(sparse.issparse(m) for m in item)


def _as_sparse(name: str, matrix: Any) -> sparse.csr_array:
    if not sparse.issparse(matrix):
        matrix = as_numbers(name, matrix, (None, None))
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
        raise ValueError(f"{name}: expected a matrix of numbers, got {matrix!r}")
    return sparse.csr_array(sparse.csr_array(matrix).astype(float))


def _rewards_of_moves(name: str, row: Any, parts: Sequence[Any], states: int) -> np.ndarray:
    """The entries of one objective's reward matrices where transitions are possible."""
    if not isinstance(row, list | tuple) or len(row) != len(parts):
        raise ValueError(f"{name}: expected one sparse matrix for each of {len(parts)} actions")
    found = []
    for a, (matrix, part) in enumerate(zip(row, parts, strict=True)):
        matrix = _as_sparse(f"{name}[{a}]", matrix)
        if matrix.shape != (states, states):
            raise ValueError(f"{name}[{a}]: expected shape {(states, states)}, got {matrix.shape}")
        possible = sparse.csr_array(part).astype(bool)
        stray = sparse.csr_array(matrix.astype(bool) > possible)
        if stray.nnz:
            s, t = (int(i[0]) for i in stray.nonzero())
            raise ValueError(f"{name}[{a}]: pays for state {s} to {t}, which has probability 0")
        found.append(
            np.asarray(matrix[part.coords[0], part.coords[1]], dtype=float).reshape(-1)
            if part.nnz
            else np.zeros(0)
        )
    return np.concatenate(found)


def _pack_entries(
    states: int,
    actions: int,
    rows: np.ndarray,
    columns: np.ndarray,
    values: np.ndarray,
    paid: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Entries sorted by row ``s·A+a`` into ``[S,A,B]``; unused places loop with probability 0."""
    counts = np.bincount(rows, minlength=states * actions)
    width = max(int(counts.max(initial=0)), 1)
    slot = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    next_state = np.repeat(np.arange(states, dtype=np.int32), actions)[:, None].repeat(width, 1)
    probability = np.zeros((states * actions, width))
    reward = np.zeros((states * actions, width, paid.shape[-1]))
    next_state[rows, slot], probability[rows, slot], reward[rows, slot] = columns, values, paid
    shape = (states, actions, width)
    return next_state.reshape(shape), probability.reshape(shape), reward.reshape(*shape, -1)
