"""To stay for ever (γ=1): from pairs that stay back to actions.

A state where an optimal policy stays lies in a region that can be walked through for ever at no cost.
One stationary policy can do that only if the part where it stays is not also a part that it leaves.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy import sparse

from lexicone.exact._end_components import largest_gains, stay_regions
from lexicone.exact._highs import Outcome
from lexicone.exact._occupancy_program import OccupancyProgram
from lexicone.exact._policy_iteration_total import ending_policy
from lexicone.exact._sparse_policy import policy_from_occupancy, policy_occupancy
from lexicone.exact._state_actions import STAY, StateActions
from lexicone.exact._tolerances import SAME_POLICY_VALUES
from lexicone.models._chain import Chain, shares_of_time
from lexicone.models._reachability import strong_components

__all__ = ["WithoutStays", "occupancy_for_ever", "replace_stays"]


class WithoutStays(NamedTuple):
    """A policy of actions."""

    pairs: StateActions
    """Without those that stay."""
    policy: Float[np.ndarray, " N"]
    stay: Float[np.ndarray, " S"] | None
    """With which probability to stay on from here, at each visit; None if the policy alone does it."""


def replace_stays(
    pairs: StateActions,
    policy: Float[np.ndarray, " N"],
    floors: dict[int, float],
    objective: int,
    relevant: Bool[np.ndarray, " K"],
) -> WithoutStays:
    """Replace the pairs that stay by actions that keep to a part of the region that is never left: a home.

    If the policy also leaves from wherever it could stay, the linear program looks for another optimum
    that stays only in parts that this one does not leave, or that always stays where it can. If there is
    none, ``stay`` is needed.
    """
    plain, rows = pairs.keep(pairs.action != STAY)
    used = pairs.reached(policy > 0)
    stays = pairs.action == STAY
    staying = np.zeros(pairs.num_states)
    staying[pairs.state[stays]] = policy[stays]
    staying[~used] = 0.0
    if not staying.any():
        return WithoutStays(plain, _filled(plain, policy[rows]), None)
    anywhere = stay_regions(plain, relevant)
    moving = (policy[rows] > 0) & used[plain.state]
    leaves = np.zeros(plain.num_states, dtype=bool)
    leaves[plain.state[moving & ~anywhere[1]]] = True
    through = plain.closure(moving, leaves, forward=False)
    region, home = stay_regions(plain, relevant, within=~through)
    if (staying[region < 0] > 0).any():
        found = None
        if objective in floors:
            found = _stay_at_home(pairs, region >= 0, floors, objective)
            if found is None:
                region, home = anywhere
                found = _stay_at_home(pairs, region >= 0, floors, objective)
        if found is None:
            return WithoutStays(plain, _filled(plain, policy[rows]), staying)
        policy = found
    shares = np.where((region >= 0)[plain.state], 0.0, policy[rows])
    for number in range(region.max(initial=-1) + 1):
        members = np.flatnonzero(home & (region[plain.state] == number))
        shares[members] = _circulate(plain, members, relevant)
    return WithoutStays(plain, _filled(plain, shares), None)


def _circulate(pairs: StateActions, members: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """What to do in a region that is never left: the first pairs if it pays nothing, else what gains.

    A circulation with positive gains may keep to a part of the region, or to several. A little of
    the even walk over all pairs connects them and leaves the gains positive.
    """
    reward = pairs.reward[members][:, relevant]
    states, column = np.unique(pairs.state[members], return_inverse=True)
    if not reward.any():
        first = np.zeros(len(members))
        first[np.unique(column, return_index=True)[1]] = 1.0
        return first
    even = 1.0 / np.bincount(column)[column]
    if (reward >= 0).all():
        return even
    pick = sparse.csr_array((even, (column, np.arange(len(members)))))
    chain = sparse.csr_array(pick @ pairs.next[members][:, states])
    walk = even * shares_of_time(chain)[column]
    gains, circulation = largest_gains(pairs, members, reward)
    lost = np.maximum(-(walk @ reward), 0.0)[gains > 0]
    little = min(1.0, 0.5 / max(float(lost.max(initial=0.0)), 1e-300))
    flow = circulation + little * walk
    return flow / np.bincount(column, flow)[column]


def occupancy_for_ever(
    pairs: StateActions, policy: Float[np.ndarray, " N"]
) -> Float[np.ndarray, " N"]:
    """The policy's occupancy; ∞ for what it does again and again for ever (γ=1)."""
    if pairs.gamma < 1:
        return policy_occupancy(pairs, policy)
    used = policy > 0
    reached = pairs.reached(used)
    part, left = strong_components(pairs.graph(used & reached[pairs.state]))
    left[part[pairs.state[used & pairs.can_end]]] = True
    passing = reached & left[part]
    for_ever = reached & ~left[part]
    total = np.where(for_ever[pairs.state] & used, np.inf, 0.0)
    if passing.any():
        rows = np.flatnonzero(used & passing[pairs.state])
        inner = pairs.next[rows][:, np.flatnonzero(passing)]
        number = np.cumsum(passing) - 1
        shape = (int(passing.sum()), len(rows))
        pick = sparse.csr_array(
            (policy[rows], (number[pairs.state[rows]], np.arange(len(rows)))), shape=shape
        )
        visits = Chain(pick @ inner, ordered=True).visits(pairs.initial[passing])
        total[rows] = policy[rows] * visits[number[pairs.state[rows]]]
    return total


def _stay_at_home(
    pairs: StateActions, home: np.ndarray, floors: dict[int, float], objective: int
) -> np.ndarray | None:
    """The best policy that stays in these states, and nowhere else; None if it falls below the floors."""
    keep = (pairs.action == STAY) == home[pairs.state]
    reached = pairs.reached(keep)
    has_pair = np.zeros(pairs.num_states, dtype=bool)
    has_pair[pairs.state[keep]] = True
    if (reached & ~has_pair).any():
        return None
    fewer, rows = pairs.keep(keep, reached)
    program = OccupancyProgram(fewer)
    others = {j: f for j, f in floors.items() if j != objective}
    stage = program.maximize(objective, others)
    target = floors[objective]
    if stage.outcome is not Outcome.OPTIMAL or stage.value < target - SAME_POLICY_VALUES * max(
        1.0, abs(target)
    ):
        return None
    policy = np.zeros(pairs.num_pairs)
    occupancy = program.occupancy()
    if fewer.has_lone_loops(occupancy):
        return None
    policy[rows] = policy_from_occupancy(fewer, occupancy, ending_policy(fewer))
    return policy


def _filled(pairs: StateActions, policy: np.ndarray) -> np.ndarray:
    """The first pair where none has a probability; probabilities that sum to 1."""
    policy = policy.copy()
    total = np.bincount(pairs.state, policy, pairs.num_states)
    policy[pairs.first[total == 0]] = 1.0
    return policy / np.bincount(pairs.state, policy, pairs.num_states)[pairs.state]
