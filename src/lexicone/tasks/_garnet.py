"""Garnets (Archibald et al. 1995): random models of any size."""

import numpy as np

from lexicone._base.checks import check_range, check_seed, check_whole
from lexicone._base.memory import check_memory
from lexicone.models._mdp import MDP

__all__ = ["garnet"]


def garnet(
    num_states: int = 100,
    num_actions: int = 4,
    num_successors: int = 3,
    num_objectives: int = 3,
    *,
    terminal_states: int = 0,
    seed: int = 0,
) -> MDP:
    """Each state and action has different random successors and random rewards in [0, 1).

    Probabilities are the gaps between sorted uniform numbers. Episodes start in state 0.

    Args:
        num_states: S.
        num_actions: A, in every state.
        num_successors: how many different states may follow an action.
        num_objectives: K.
        terminal_states: how many states, the last ones, end an episode.
        seed: of all that is random.
    """
    sizes = {
        "num_states": num_states,
        "num_actions": num_actions,
        "num_successors": num_successors,
        "num_objectives": num_objectives,
    }
    check_whole(**sizes)
    num_states, num_actions, num_successors, num_objectives = map(int, sizes.values())
    check_seed(seed)
    needed = 8 * num_states * num_actions * num_successors * (num_objectives + 3)
    largest = max(sizes, key=sizes.__getitem__)
    check_memory(largest, needed, "a model of this size")
    if num_successors > num_states:
        raise ValueError(
            f"num_successors: {num_states} states have no {num_successors} different successors"
        )
    check_range("terminal_states", terminal_states, 0, num_states, below=True, whole=True)
    rng = np.random.default_rng(int(seed))
    rows = num_states * num_actions
    next_state = _distinct(rng, rows, num_successors, num_states)
    cuts = np.sort(rng.random((rows, num_successors - 1)), axis=1)
    probability = np.diff(cuts, axis=1, prepend=0.0, append=1.0)
    reward = rng.random((rows, 1, num_objectives)).repeat(num_successors, axis=1)
    shape = (num_states, num_actions, num_successors)
    next_state, probability = next_state.reshape(shape), probability.reshape(shape)
    reward = reward.reshape(*shape, num_objectives)
    terminal = np.arange(num_states) >= num_states - terminal_states
    next_state[terminal] = np.flatnonzero(terminal)[:, None, None]
    reward[terminal] = 0.0
    return MDP(
        next_state=next_state,
        probability=probability,
        reward=reward,
        initial=(np.arange(num_states) == 0).astype(float),
        terminal=terminal,
    )


def _distinct(rng: np.random.Generator, rows: int, width: int, count: int) -> np.ndarray:
    """``[rows, width]`` numbers below ``count``, different within a row (or else drawn again)."""
    if 2 * width > count:
        return np.argsort(rng.random((rows, count)), axis=1)[:, :width]
    drawn = rng.integers(count, size=(rows, width))
    while True:
        ordered = np.sort(drawn, axis=1)
        again = np.flatnonzero((np.diff(ordered, axis=1) == 0).any(axis=1))
        if not len(again):
            return drawn
        drawn[again] = rng.integers(count, size=(len(again), width))
