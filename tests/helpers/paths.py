"""Paths through deterministic models, all of them, and the best of their returns."""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from lexicone.models._mdp import MDP


def simple_paths(mdp: MDP) -> Iterator[tuple[np.ndarray, tuple[int, ...], tuple[int, ...]]]:
    """The returns and actions of every path from the start to an end that repeats no state."""
    start = int(np.argmax(mdp.initial))
    stack: list[Any] = [(start, (start,), (), np.zeros(mdp.num_objectives))]
    while stack:
        state, seen, actions, total = stack.pop()
        if mdp.terminal[state]:
            yield total, seen, actions
            continue
        for a in range(mdp.num_actions):
            after = int(mdp.next_state[state, a, 0])
            if after not in seen:
                paid = total + mdp.reward[state, a, 0]
                stack.append((after, (*seen, after), (*actions, a), paid))


def front(points: Iterable[Any]) -> list[tuple[float, ...]]:
    """The points that no other one dominates, in order."""
    different = {tuple(p) for p in points}
    return sorted(
        p
        for p in different
        if not any(q != p and all(np.array(q) >= np.array(p)) for q in different)
    )


def path_front(mdp: MDP) -> list[tuple[float, ...]]:
    """The front of all paths of a deterministic model, extended step by step."""
    reached = {int(np.argmax(mdp.initial)): {(0.0,) * mdp.num_objectives}}
    ends: set[tuple[float, ...]] = set()
    for _ in range(mdp.num_states):
        longer: dict[int, set[tuple[float, ...]]] = {}
        for state, totals in reached.items():
            for a, total in itertools.product(range(mdp.num_actions), totals):
                after = int(mdp.next_state[state, a, 0])
                paid = tuple(float(v) for v in total + mdp.reward[state, a, 0])
                (ends if mdp.terminal[after] else longer.setdefault(after, set())).add(paid)
        reached = {state: set(front(totals)) for state, totals in longer.items()}
    return front(ends)


def policy_along(mdp: MDP, seen: tuple[int, ...], actions: tuple[int, ...]) -> np.ndarray:
    """The action of each state on the path, 0 elsewhere."""
    policy = np.zeros(mdp.num_states, dtype=int)
    policy[list(seen[:-1])] = actions
    return policy
