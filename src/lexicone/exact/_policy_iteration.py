"""The best policy for one weighted sum of objectives with discounting (γ<1), by modified policy iteration.

Policies are deterministic: one pair per state. Each step evaluates the policy, as the linear system of its chain, and
changes it wherever another pair is better: ``max_n reward[n] + next[n]·v``. `_policy_iteration_total` is for γ=1.
"""

import time
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from lexicone.exact._state_actions import StateActions
from lexicone.models._chain import Chain

__all__ = ["ROUNDING", "BestPolicy", "best_policy"]

ROUNDING = 4e-15
"""Of a value, for each step ahead: a pair must be better than the policy's own by more than this."""
_SWEEPS = 10  # of value iteration between two evaluations
_FIRST_GOAL = 1e-3  # of the largest reward: the residual of the first evaluation
_NEXT_GOAL = 0.01  # of the improvement that the last step promised: the residual of the next one
_SMALL_STEP = 1e-6  # of the largest reward: where a step promises less, evaluations become exact


class BestPolicy(NamedTuple):
    """A policy that is best for a weighted sum, or the loop that shows that there is none."""

    policy: Int[np.ndarray, " S"]
    """The number of the pair in each state; the best so far, if the time was over."""
    values: Float[np.ndarray, " S"]
    """Of the weighted sum; of the last policy that ends, if the sum is unbounded."""
    slack: float
    """How much one step can still improve: 0 up to rounding."""
    loop: Bool[np.ndarray, " S"] | None
    """The states of a loop that pays for ever, if the sum is unbounded."""
    steps_left: Float[np.ndarray, " S"] | None = None
    """How many steps the policy is expected to take to the end, for γ=1."""


def best_policy(
    pairs: StateActions,
    reward: Float[np.ndarray, " N"],
    policy: Int[np.ndarray, " S"],
    guess: Float[np.ndarray, " S"] | None = None,
    accuracy: float = 0.0,
    deadline: float = np.inf,
    max_steps: int = 1000,
) -> BestPolicy:
    """Maximise the expected discounted sum of ``reward`` by modified policy iteration from ``policy`` (γ<1).

    A few sweeps of value iteration follow each improvement; the first evaluations are rough, they stop at a
    hundredth of the improvement that the last step promised, and the last ones where the sum is known up to
    ``accuracy``. Pairs must beat the policy's own by more than rounding, so that ties keep the policy. It stops at the
    step during which ``deadline`` (of `time.monotonic`) passes.
    """
    steps_ahead = 1 / (1 - pairs.gamma)
    size = np.abs(reward).max(initial=0.0)
    finest = 0.1 * accuracy * (1 - pairs.gamma)
    goal = max(_FIRST_GOAL * size, finest)
    values = np.zeros(pairs.num_states) if guess is None else guess
    slack = 0.0
    for _ in range(max_steps):
        values = Chain(pairs.next[policy]).values(reward[policy], values, goal)
        score = reward + pairs.next @ values
        best = pairs.best_by_state(score)
        noise = ROUNDING * max(size * steps_ahead, np.abs(values).max(initial=0.0))
        noise = max(noise, 3 * finest)
        gain = score[best] - score[policy]
        slack = float((score[best] - values).max(initial=0.0))
        better = gain > noise
        if not better.any():
            if goal <= finest or time.monotonic() > deadline:
                break
            goal = finest
            continue
        if goal > finest:
            goal = finest if slack < _SMALL_STEP * size else max(finest, _NEXT_GOAL * slack)
        policy = np.where(better, best, policy)
        for _ in range(_SWEEPS):
            values = pairs.highest_by_state(score)
            score = reward + pairs.next @ values
        best = pairs.best_by_state(score)
        policy = np.where(score[best] - score[policy] > noise, best, policy)
        if time.monotonic() > deadline:
            break
    return BestPolicy(policy, values, slack, None)
