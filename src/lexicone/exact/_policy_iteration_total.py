"""The best policy for one weighted sum of objectives without discounting (γ=1), by policy iteration.

Policies are deterministic: one pair per state. They must end (or stay) with probability 1. Starting from such a
policy, a step to a policy that does not can only be an improvement if its loop pays, on average, more than nothing:
then the sum is unbounded, and the loop is the proof.

A policy may end with probability 1 and yet need more steps than floating-point numbers can tell from
for ever: policies that need more than `MOST_STEPS_TO_END` steps are not considered. A pair must beat the policy's own
by more than the rounding of one step. What such a slip is worth over a whole episode is for the bound to say
(`lexicone.exact._maximizer.upper_bound`).
"""

import time

import numpy as np
from jaxtyping import Bool, Float, Int

from lexicone.exact._policy_iteration import ROUNDING, BestPolicy
from lexicone.exact._state_actions import StateActions
from lexicone.models._chain import Chain, shares_of_time
from lexicone.models._reachability import reachable, strong_components, towards

__all__ = ["MOST_STEPS_TO_END", "best_ending_policy", "ending_policy", "never_ending_states"]

MOST_STEPS_TO_END = 1e11
"""Policies that take longer are too long for the arithmetic."""
_SWEEPS = 30  # of value iteration before a policy is evaluated
_SMALL = 2000  # states: up to here any policy is evaluated quickly
_LEAST_GAIN = 1e-10  # of the largest reward: a loop that pays less on average pays nothing


def best_ending_policy(
    pairs: StateActions,
    reward: Float[np.ndarray, " N"],
    policy: Int[np.ndarray, " S"],
    deadline: float = np.inf,
    max_steps: int = 1000,
    accuracy: float = 0.0,
) -> BestPolicy:
    """Maximise the expected total of ``reward`` by policy iteration from ``policy``, which must end.

    Up to ``accuracy``: a step that gains less than that over a whole episode is not taken. It stops at the step during
    which ``deadline`` (of `time.monotonic`) passes.
    """
    chain, steps_left = _until_end(pairs, policy)
    values, slack = np.zeros(pairs.num_states), 0.0
    size, sweeps = np.abs(reward).max(initial=0.0), _SWEEPS
    known: np.ndarray | None = None
    for _ in range(max_steps):
        values = chain.values(reward[policy], values) if known is None else known
        known = None
        score = reward + pairs.next @ values
        best = pairs.best_by_state(score)
        gain = score[best] - score[policy]
        slack = float((score[best] - values).max(initial=0.0))
        residual = np.abs(score[policy] - values).max(initial=0.0)
        noise = max(ROUNDING * max(size, np.abs(values).max(initial=0.0)), 3 * residual)
        better = gain > max(noise, accuracy / steps_left.max(initial=1.0))
        if not better.any():
            break
        if sweeps:
            ahead = _far_ahead(pairs, reward, policy, values, score, noise)
            if ahead is not None:
                policy, chain, steps_left, known = ahead
                if time.monotonic() > deadline:
                    break
                continue
            sweeps = 0
        fresh = np.where(better, best, policy)
        loop = never_ending_states(pairs, fresh)
        pays = _paying_loop(pairs, fresh, loop, reward) if loop.any() else None
        if pays is not None:
            return BestPolicy(fresh, values, slack, pays)
        fresh, chain, steps_left = _ending_in_time(pairs, fresh, policy)
        changes = np.argsort(np.where(better, -gain, np.inf), kind="stable")[: better.sum()]
        while (fresh == policy).all() and len(changes) > 1:  # then only the most promising ones
            changes = changes[: max(1, len(changes) // 4)]
            fresh[changes] = best[changes]
            fresh, chain, steps_left = _ending_in_time(pairs, fresh, policy)
        if (fresh == policy).all():
            break
        policy = fresh
        if time.monotonic() > deadline:
            break
    return BestPolicy(policy, values, slack, None, steps_left)


def _far_ahead(
    pairs: StateActions,
    reward: Float[np.ndarray, " N"],
    policy: Int[np.ndarray, " S"],
    values: Float[np.ndarray, " S"],
    score: Float[np.ndarray, " N"],
    noise: float,
) -> tuple[Int[np.ndarray, " S"], Chain, Float[np.ndarray, " S"], Float[np.ndarray, " S"]] | None:
    """The policy that looks many steps ahead, by sweeps of value iteration, as `_ending_in_time` gives it; its values.

    None if it never ends somewhere, if its factors may be large, or if it is not better than the policy: then single
    steps have to do.
    """
    sweep = pairs.component_sweep if pairs.num_states > _SMALL else None
    if sweep is not None:
        score = reward + pairs.next @ sweep.run(reward, pairs.highest_by_state(score), _SWEEPS)
    else:
        for _ in range(_SWEEPS):
            score = reward + pairs.next @ pairs.highest_by_state(score)
    as_good = score >= pairs.highest_by_state(score)[pairs.state] - noise
    ahead = np.where(as_good[policy], policy, pairs.best_by_state(score))
    if never_ending_states(
        pairs, ahead
    ).any():  # of pairs that are as good, those that lead to an end
        ahead = ending_policy(pairs, as_good)
        if never_ending_states(pairs, ahead).any():
            return None
    chain = pairs.chain(ahead)
    if chain.places is None and pairs.num_states > _SMALL:
        return None
    steps_left = chain.values(np.ones(pairs.num_states))
    if not ((steps_left > 0) & (steps_left < MOST_STEPS_TO_END)).all():
        return None
    improved = chain.values(reward[ahead], values)
    gained = improved - values
    if not (gained >= -10 * noise).all() or not gained.max(initial=0.0) > 100 * noise:
        return None
    return ahead, chain, steps_left, improved


def _until_end(pairs: StateActions, policy: Int[np.ndarray, " S"]) -> tuple[Chain, np.ndarray]:
    """The policy's chain, and how many steps it is expected to take from each state to the end."""
    chain = pairs.chain(policy)
    return chain, chain.values(np.ones(pairs.num_states))


def _ending_in_time(
    pairs: StateActions, policy: Int[np.ndarray, " S"], before: Int[np.ndarray, " S"]
) -> tuple[Int[np.ndarray, " S"], Chain, Float[np.ndarray, " S"]]:
    """The policy, but the one before where it would never end, or only after very many steps."""
    while True:
        late = never_ending_states(pairs, policy)
        if not late.any():
            chain, steps_left = _until_end(pairs, policy)
            late = ~((steps_left > 0) & (steps_left < MOST_STEPS_TO_END))
            if not (late & (policy != before)).any():
                return policy, chain, steps_left
        policy = np.where(late, before, policy)


def _paying_loop(
    pairs: StateActions,
    policy: Int[np.ndarray, " S"],
    among: Bool[np.ndarray, " S"],
    reward: Float[np.ndarray, " N"],
) -> Bool[np.ndarray, " S"] | None:
    """Of the loops that the policy never leaves, the one that pays most on average, if it pays at all."""
    members = np.flatnonzero(among)
    inner = pairs.next[policy[members]][:, members]
    paid = reward[policy[members]]
    label, left = strong_components(inner)
    count = len(left)
    highest, found = _LEAST_GAIN * np.abs(reward).max(initial=0.0), None
    gain = np.bincount(label, paid, count)
    size = np.bincount(label, minlength=count)
    for n in np.flatnonzero(~left):
        own = np.flatnonzero(label == n)
        average = gain[n] if size[n] == 1 else shares_of_time(inner[own][:, own]) @ paid[own]
        if average > highest:
            highest, found = average, own
    if found is None:
        return None
    loop = np.zeros(pairs.num_states, dtype=bool)
    loop[members[found]] = True
    return loop


def never_ending_states(
    pairs: StateActions, policy: Int[np.ndarray, " S"]
) -> Bool[np.ndarray, " S"]:
    """The states from which the policy cannot get to an end (γ=1)."""
    ends = pairs.can_end[policy]
    return ~reachable(pairs.chain(policy).matrix, ends, backward=True)


def ending_policy(
    pairs: StateActions, among: Bool[np.ndarray, " N"] | None = None
) -> Int[np.ndarray, " S"]:
    """A policy that ends, or stays, with probability 1: always on towards the nearest end.

    The pairs are those that `restrict_to_finite` left. With ``among`` only some of them are used: then it may not end.
    """
    if among is None:
        among = np.ones(pairs.num_pairs, dtype=bool)
    policy = pairs.best_by_state((pairs.can_end & among).astype(float))
    if pairs.gamma < 1 or not pairs.num_states:
        return policy
    ends = (pairs.can_end & among)[policy]
    nearer = towards(pairs.graph(among), ends)
    row, target = pairs.next.tocoo().coords
    leads_nearer = among.astype(float)
    leads_nearer[row[(nearer[pairs.state[row]] == target) & among[row]]] = 2
    return np.where(ends, policy, pairs.best_by_state(leads_nearer))
