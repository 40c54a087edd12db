"""One stage: maximise an objective over the policies that keep floors under others; what every method has in common."""

from collections.abc import Callable
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from lexicone.exact._highs import Outcome
from lexicone.exact._state_actions import StateActions
from lexicone.exact._tolerances import EXACT_GAP

__all__ = ["Maximizer", "StageMaximum", "upper_bound", "without_maximum"]


class StageMaximum(NamedTuple):
    """The maximum of one objective over the policies that keep the floors."""

    outcome: Outcome
    value: float
    """NaN if no policy that keeps the floors was found."""
    bound: float
    """No policy that keeps the floors has more."""
    weights: Float[np.ndarray, " K"]
    """1 for the objective itself, the multiplier of its floor for each of the others."""
    state_values: Float[np.ndarray, " S"]
    """Of the weighted sum, in each state, under the policies that are best for it."""


@runtime_checkable
class Maximizer(Protocol):
    """A method of maximising: the linear program as a whole, or column generation.

    Maxima that are asked for one after the other start from each other.
    """

    pairs: StateActions
    is_vertex: bool
    """Whether `occupancy` is a vertex of the linear program."""

    def maximize(
        self,
        objective: int,
        floors: dict[int, float],
        cap: float = np.inf,
        gap: float = EXACT_GAP,
    ) -> StageMaximum:
        """Maximise one objective given floors under others.

        It may stop (CAPPED) where the value exceeds ``cap``, or (OPTIMAL) where the bound is nearer than ``gap``
        times the value's size.
        """
        ...

    def occupancy(self) -> Float[np.ndarray, " N"]:
        """Of the last maximum."""
        ...

    def needed_pairs(self) -> Bool[np.ndarray, " N"]:
        """The pairs without which the last maximum cannot be had."""
        ...

    def elsewhere(self, maximum: StageMaximum | None) -> Int[np.ndarray, " S"]:
        """The pair to take in each state that the last maximum does not visit."""
        ...

    def start_from_policies(self, policies: list[Int[np.ndarray, " S"]]) -> None:
        """Use deterministic policies, one pair per state (−1: none), for a first maximum that comes sooner."""
        ...

    def restricted(self, pairs: StateActions) -> "Maximizer":
        """The same method for some of the pairs, which starts from what was found here."""
        ...

    def go_on(self, deadline: float, progress: Callable[[str], None] | None) -> None:
        """For another question, with time of its own."""
        ...

    def mixture(self) -> Float[np.ndarray, " _"]:
        """What `restore` needs to have the last maximum's occupancy again."""
        ...

    def restore(self, mixture: Float[np.ndarray, " _"]) -> None:
        """The occupancy of an earlier maximum becomes the last one again."""
        ...

    @property
    def num_numbers(self) -> int:
        """How many it keeps for later, about."""
        ...


def without_maximum(pairs: StateActions, objective: int, outcome: Outcome) -> StageMaximum:
    """No policy that keeps the floors was found; if time is over, none has more than the largest reward for ever."""
    weights, nothing = np.eye(pairs.num_objectives)[objective], np.zeros(pairs.num_states)
    limited = outcome is Outcome.TIME_LIMIT and pairs.gamma < 1
    bound = upper_bound(pairs, weights, nothing, {}) if limited else np.inf
    return StageMaximum(outcome, np.nan, bound, weights, nothing)


def upper_bound(
    pairs: StateActions,
    weights: np.ndarray,
    values: np.ndarray,
    floors: dict[int, float],
    steps_left: np.ndarray | None = None,
) -> float:
    """What no policy that keeps the floors can exceed, from any weights ≥ 0 and values whatsoever.

    Where a pair beats the values by δ > 0, at most δ more can be gained at each visit: ``δ/(1−γ)`` in all.

    With γ=1 visits have no such limit. But with any h ≥ 0, the values ``v + θ·h`` bound the sum as well as v does, and
    with the expected number of steps to the end under a best policy, ``steps_left``, they fall by θ with each of its
    steps: the smallest θ that makes up for all δ is taken, so a slip counts once per step. What a pair that only
    leads further from the end still gains is counted for the longest of these episodes; without ``steps_left``, once.
    """
    gain = pairs.reward @ weights + pairs.next @ values - values[pairs.state]
    slip = max(float(gain.max(initial=0.0)), 0.0)
    owed = sum(weights[j] * f for j, f in floors.items())
    if pairs.gamma < 1:
        slip *= pairs.initial.sum() / (1 - pairs.gamma)
    elif steps_left is not None and slip > 0:
        rise = pairs.next @ steps_left - steps_left[pairs.state]
        falls = (gain > 0) & (rise < -0.5)
        theta = float((gain[falls] / -rise[falls]).max(initial=0.0))
        left = max(float((gain + theta * rise).max(initial=0.0)), 0.0)
        slip = theta * float(pairs.initial @ steps_left) + left * float(steps_left.max(initial=0.0))
    return float(pairs.initial @ values + slip - owed)
