"""Which states reach a goal with probability 1, and the loops before a goal in which nothing is paid.

The expected reward *until a goal is reached* is infinite where it may never be reached. With γ=1 a policy that walks in
a loop for ever at no cost counts as one that ends, which is right for totals and wrong before a goal. So

- states from which no policy reaches the goal surely pay for ever (`Until.lost`), and
- where a loop pays nothing, each branch from s to t pays ``potential[s] − potential[t]`` more. On the way to the goal
  this adds up to nothing; round the loop it cancels, and loops whose rewards cancel are not admitted as an end.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from lexicone.models._explicit import Explicit
from lexicone.models._reachability import reachable, strong_components

__all__ = ["Until", "reach_surely", "until_goal"]


class Until(NamedTuple):
    """What keeps policies from never reaching a goal."""

    lost: Bool[np.ndarray, " S"]
    """No policy reaches the goal from here with probability 1."""
    potential: Float[np.ndarray, " S"]
    """0 outside of loops that pay nothing, and in the initial state; in a loop no two states have the same."""
    idle: Bool[np.ndarray, " C"]
    """Choices that only stay where they are, and pay nothing."""


def reach_surely(model: Explicit, goal: Bool[np.ndarray, " S"]) -> Bool[np.ndarray, " S"]:
    """The states from which some policy reaches the goal with probability 1."""
    choices, branches = len(model.ends) - 1, len(model.next_state)
    allowed, safe = np.ones(choices, dtype=bool), np.ones(model.num_states, dtype=bool)
    while True:
        usable = allowed[model.choice] if branches else np.zeros(0, dtype=bool)
        found = reachable(model.graph(usable), goal, backward=True)
        if (found == safe).all():
            return found
        safe = found
        allowed[model.choice[~safe[model.next_state]]] = False
        allowed &= safe[model.state]


def until_goal(
    model: Explicit, goal: Bool[np.ndarray, " S"], paid: Float[np.ndarray, " E"]
) -> Until:
    """For rewards ``paid`` until the goal."""
    surely = reach_surely(model, goal)
    inside = surely & ~goal
    pays = np.zeros(len(model.ends) - 1, dtype=bool)
    pays[model.choice[(paid != 0) | ~inside[model.next_state]]] = True
    free = ~pays & inside[model.state]
    moves = np.zeros(len(free), dtype=bool)
    moves[model.choice[model.next_state != model.source]] = True
    idle = free & ~moves
    loop = _loops(model, free)
    potential = np.zeros(model.num_states)
    members = np.flatnonzero(loop >= 0)
    if len(members):
        members = members[np.argsort(loop[members], kind="stable")]
        _, first, count = np.unique(loop[members], return_index=True, return_counts=True)
        rank = np.arange(len(members)) - np.repeat(first, count)
        size = np.abs(paid).max(initial=0.0) or 1.0
        potential[members] = size * (rank + 1) / np.repeat(count, count)
        if loop[model.initial] >= 0:
            same = loop == loop[model.initial]
            potential[same] -= potential[model.initial]
    return Until(~surely, potential, idle)


def _loops(model: Explicit, free: Bool[np.ndarray, " C"]) -> np.ndarray:
    """The maximal end components of the free choices: each state's number, −1 outside."""
    free = free.copy()
    loop = np.full(model.num_states, -1)
    while free.any():
        part, _ = strong_components(model.graph(free[model.choice]))
        active = np.zeros(model.num_states, dtype=bool)
        active[model.state[free]] = True
        leaves = (part[model.source] != part[model.next_state]) | ~active[model.next_state]
        out = np.zeros(len(free), dtype=bool)
        out[model.choice[leaves]] = True
        if not (free & out).any():
            loop[active] = part[active]
            return loop
        free &= ~out
    return loop
