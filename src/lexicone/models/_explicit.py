"""A model as model checkers have it: states with labels, numbered choices, rewards by name; and one initial state.

What files (`_drn`, `_umb`) and Storm give, before properties turn it into an `MDP` (`_product`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse

from lexicone._base.memory import check_memory
from lexicone.models._factors import Factors

__all__ = ["Explicit", "Rewards", "check_size", "only_initial"]

_MOST_STATES = 2**31 - 2
_BYTES = (80, 60, 60)  # of a state, a choice and a branch, while a model is read


@dataclass(frozen=True)
class Rewards:
    """Paid in a state when it is left, with a choice, and with a branch; None where there are none."""

    state: Float[np.ndarray, " S"] | None = None
    choice: Float[np.ndarray, " C"] | None = None
    branch: Float[np.ndarray, " E"] | None = None


@dataclass(frozen=True, eq=False)
class Explicit:
    """S states with C choices and E branches; choices of state s are ``offsets[s]:offsets[s+1]``, as in `Rows`."""

    offsets: Int[np.ndarray, " _"]
    ends: Int[np.ndarray, " _"]
    next_state: Int[np.ndarray, " E"]
    probability: Float[np.ndarray, " E"]
    initial: int
    labels: Mapping[str, Bool[np.ndarray, " S"]]
    rewards: Mapping[str, Rewards]
    choice_names: tuple[str, ...] | None = None
    """Those that choices may have; "" is none."""
    choice_name: Int[np.ndarray, " C"] | None = None
    """Which of them each choice has."""
    factors: Factors | None = None
    """The values of a program's variables in each state."""
    booleans: frozenset[str] = frozenset()
    """Those variables that are true or false."""

    @property
    def num_states(self) -> int:
        """S."""
        return len(self.offsets) - 1

    @cached_property
    def state(self) -> Int[np.ndarray, " C"]:
        """The state of each choice."""
        return np.repeat(np.arange(self.num_states), np.diff(self.offsets))

    @cached_property
    def choice(self) -> Int[np.ndarray, " E"]:
        """The choice of each branch."""
        return np.repeat(np.arange(len(self.ends) - 1), np.diff(self.ends))

    @cached_property
    def source(self) -> Int[np.ndarray, " E"]:
        """The state of each branch."""
        return self.state[self.choice]

    def graph(self, branches: Bool[np.ndarray, " E"]) -> sparse.csr_array:
        """Which states these branches lead to from which: ``[S,S]``."""
        ends = self.source[branches], self.next_state[branches]
        data = np.ones(len(ends[0]), dtype=np.int8)
        return sparse.csr_array((data, ends), shape=(self.num_states, self.num_states))

    def paid(self, rewards: Rewards) -> Float[np.ndarray, " E"]:
        """What is paid along each branch in all."""
        total = np.zeros(len(self.next_state))
        if rewards.state is not None:
            total += rewards.state[self.source]
        if rewards.choice is not None:
            total += rewards.choice[self.choice]
        if rewards.branch is not None:
            total += rewards.branch
        return total

    def __post_init__(self) -> None:
        empty = np.flatnonzero(np.diff(self.offsets) == 0)
        if len(empty):
            raise ValueError(
                f"path: state {empty[0]} has no choice, a deadlock"
                f"{f' (as have {len(empty) - 1} more)' if len(empty) > 1 else ''}; let it loop if that is meant"
            )
        if len(self.next_state) and not (
            self.next_state.min() >= 0 and self.next_state.max() < self.num_states
        ):
            raise ValueError(
                f"path: a branch leads to state {self.next_state.max()}, but there are {self.num_states} states"
            )


def check_size(states: int, choices: int, branches: int) -> None:
    """A ValueError if a model of this size is too large, before any memory is taken for it."""
    if states > _MOST_STATES:
        raise ValueError(f"path: has {states:,} states; at most {_MOST_STATES:,} can be numbered")
    needed = sum(n * size for n, size in zip((states, choices, branches), _BYTES, strict=True))
    check_memory("path", needed, f"a model of {states:,} states")


def only_initial(initial: Bool[np.ndarray, " S"]) -> int:
    """The one initial state."""
    found = np.flatnonzero(initial)
    if len(found) != 1:
        which = f" ({', '.join(map(str, found[:3]))}{', …' if len(found) > 3 else ''})"
        raise ValueError(
            f"path: has {len(found) or 'no'} initial states{which if len(found) else ''}; it needs exactly one"
        )
    return int(found[0])
