"""From a mixture to one stationary policy that randomises in few states.

The occupancies of a mixture add up, and ``π(a|s) = x[s,a] / Σ_b x[s,b]`` has the same values as the mixture. That
policy may randomise wherever the mixed policies differ. A vertex of the occupancies with the same values
randomises in at most as many states as there are floors, K−1.
"""

import time

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse

from lexicone.exact._highs import Outcome, build_program, solve_program
from lexicone.exact._occupancy_program import OccupancyProgram
from lexicone.exact._state_actions import StateActions
from lexicone.exact._tolerances import KEPT_FLOOR, NO_SHARE, SAME_POLICY_VALUES
from lexicone.models._chain import Chain

__all__ = ["make_sparse", "policy_from_occupancy", "policy_occupancy", "randomising_states"]

_PROGRAM_FIRST_STATES = 2000  # up to here the vertex comes from the linear program itself
_PROGRAM_MOST_STATES = 20_000  # above, the linear program is not tried
_PROGRAM_SECONDS = 120.0
_MOST_STEPS = 40
_NEAR_TARGET = 1e-4  # of the values' size: from here only states that randomise are adjusted
_COST_OF_MISSING = 1e5  # a floor, against a gain of the last objective


def policy_from_occupancy(
    pairs: StateActions, occupancy: Float[np.ndarray, " N"], elsewhere: Int[np.ndarray, " S"]
) -> Float[np.ndarray, " N"]:
    """``π``: how probable each pair is in its state; ``elsewhere`` is what to do in states without visits."""
    if not pairs.num_states:
        return occupancy
    total = np.add.reduceat(occupancy, pairs.first)
    seen = total > NO_SHARE * total.max()
    share = occupancy / np.where(seen, total, 1.0)[pairs.state]
    share[(share < NO_SHARE) | ~seen[pairs.state]] = 0.0
    share[elsewhere[~seen]] = 1.0
    return share / np.add.reduceat(share, pairs.first)[pairs.state]


def policy_occupancy(
    pairs: StateActions, policy: Float[np.ndarray, " N"]
) -> Float[np.ndarray, " N"]:
    """The occupancy of a policy, given as probabilities of pairs."""
    return policy * _chain(pairs, policy).visits(pairs.initial)[pairs.state]


def randomising_states(
    pairs: StateActions, policy: Float[np.ndarray, " N"]
) -> Int[np.ndarray, " M"]:
    """The states with more than one possible pair."""
    return np.flatnonzero(np.bincount(pairs.state[policy > 0]) > 1)


def make_sparse(
    pairs: StateActions,
    policy: Float[np.ndarray, " N"],
    floors: dict[int, float],
    objective: int,
    deadline: float = np.inf,
) -> Float[np.ndarray, " N"]:
    """A policy with the same values that randomises in at most ``len(floors)`` states.

    Small models go back to the linear program, over the possible pairs alone: its vertices are such
    policies. Large ones first take steps on the randomising states. With the advantages ``Q(s,n) − V(s)``
    of a policy the change of values is linear up to the change of visits; the linear program over those
    states alone has a vertex, which is the next policy, until its own values are on target. If nothing
    succeeds before ``deadline`` (of `time.monotonic`), the policy stays as it is.
    """
    if len(randomising_states(pairs, policy)) <= len(floors):
        return policy
    target = policy_occupancy(pairs, policy) @ pairs.reward
    if pairs.num_states > _PROGRAM_FIRST_STATES:
        found = _step_to_vertex(pairs, policy, target, list(floors), objective, deadline)
        if found is not None or pairs.num_states > _PROGRAM_MOST_STATES:
            return policy if found is None else found
    return _from_program(pairs, policy, target, list(floors), objective, deadline)


def _from_program(
    pairs: StateActions,
    policy: np.ndarray,
    target: np.ndarray,
    kept: list[int],
    objective: int,
    deadline: float,
) -> np.ndarray:
    support, rows = pairs.keep(policy > 0)
    program = OccupancyProgram(support, min(deadline, time.monotonic() + _PROGRAM_SECONDS))
    program.start_at(support.best_by_state(policy[rows]))
    floors = {j: target[j] - KEPT_FLOOR * max(1.0, abs(target[j])) for j in kept}
    if program.maximize(objective, floors).outcome is not Outcome.OPTIMAL:
        return policy
    occupancy = np.zeros(pairs.num_pairs)
    occupancy[rows] = program.occupancy()
    if pairs.has_lone_loops(occupancy):
        return policy
    pure = policy_from_occupancy(pairs, occupancy, pairs.best_by_state(policy))
    lost = (target - policy_occupancy(pairs, pure) @ pairs.reward) / np.maximum(1.0, np.abs(target))
    return pure if (lost[[*kept, objective]] <= SAME_POLICY_VALUES).all() else policy


def _chain(pairs: StateActions, policy: np.ndarray) -> Chain:
    rows = np.flatnonzero(policy)
    shape = (pairs.num_states, pairs.num_pairs)
    pick = sparse.csr_array((policy[rows], (pairs.state[rows], rows)), shape=shape)
    if pairs.gamma < 1:
        return Chain(pick @ pairs.next, pairs.banded)
    chain = Chain(pick @ pairs.next, ordered=True)
    chain.direct = chain.direct or (chain.places is None and pairs.banded)
    return chain


def _step_to_vertex(
    pairs: StateActions,
    policy: np.ndarray,
    target: np.ndarray,
    kept: list[int],
    objective: int,
    deadline: float,
) -> np.ndarray | None:
    """Vertices of the linearised problem over the randomising states, until one has the target's values."""
    several = np.isin(pairs.state, randomising_states(pairs, policy))
    among = np.flatnonzero(several & (policy > 0))
    scale = np.maximum(1.0, np.abs(target))
    current = policy
    visits: np.ndarray | None = None
    values = np.zeros((pairs.num_states, pairs.num_objectives))
    near, before = False, np.inf  # near: adjust only what is random now, as long as that helps
    for _ in range(_MOST_STEPS):
        if time.monotonic() > deadline:
            break
        chain = _chain(pairs, current)
        visits = chain.visits(pairs.initial, visits)
        for k, paid in enumerate(pairs.reward.T):
            expected = np.bincount(pairs.state, current * paid, pairs.num_states)
            values[:, k] = chain.values(expected, values[:, k].copy())
        missing = (target - pairs.initial @ values) / scale
        few = randomising_states(pairs, current)
        off = np.abs(missing[kept]).max(initial=0.0)
        if len(few) <= len(kept) and off <= 1e-10 and missing[objective] <= 1e-9:
            return current
        stuck = near and off > 0.1 * before
        near, before = len(few) <= len(kept) and 0 < off <= _NEAR_TARGET and not stuck, off
        free = among[np.isin(pairs.state[among], few)] if near else among
        states, group = np.unique(pairs.state[free], return_inverse=True)
        advantage = pairs.reward[free] + pairs.next[free] @ values
        advantage -= values[states][group]
        effect = (visits[states][group, None] * advantage / scale).T
        step = _vertex(group, effect[kept], missing[kept], effect[objective])
        if step is None:
            break
        current = current.copy()
        current[free] = step
    return None


def _vertex(
    group: np.ndarray, effect: np.ndarray, missing: np.ndarray, gain: np.ndarray
) -> np.ndarray | None:
    """Probabilities within each group with the wanted effect, or one near to it, and the largest gain."""
    size, rows, groups = len(group), len(missing), int(group.max()) + 1
    elastic = sparse.eye_array(rows)
    members = sparse.csr_array((np.ones(size), (group, np.arange(size))), shape=(groups, size))
    table = sparse.block_array(
        [[sparse.csr_array(effect), elastic, -elastic], [members, None, None]]
    )
    cost = np.concatenate([-gain, np.full(2 * rows, _COST_OF_MISSING)])
    side = np.concatenate([missing, np.ones(groups)])
    highs = build_program(cost, table, side, side, tolerance=1e-10)
    if solve_program(highs) is not Outcome.OPTIMAL:
        return None
    found = np.clip(np.array(highs.getSolution().col_value)[:size], 0.0, 1.0)
    found[found < NO_SHARE] = 0.0
    return found / np.bincount(group, found)[group]
