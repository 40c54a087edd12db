"""From a mixture to one stationary policy that randomises in few states.

The occupancies of a mixture add up, and ``π(a|s) = x[s,a] / Σ_b x[s,b]`` has the same values as the mixture. That
policy may randomise wherever the mixed policies differ. A vertex of the occupancies with the same values
randomises in at most as many states as there are floors, K−1.
"""

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse

from lexicone.exact._choices import Choices
from lexicone.exact._highs import Outcome, load, run
from lexicone.exact._occupancy import Occupancy
from lexicone.exact._policy_iteration import Chain

__all__ = ["probabilities", "purify", "randomising", "visits"]

_NONE = 1e-13  # of a state's visits: a choice that is taken less often is not taken
_SMALL = 2000  # states; up to here the vertex comes from the linear program itself
_LARGE = 20_000  # states; above, the linear program is not tried
_MOST_STEPS = 40
_NEAR = 1e-4  # of the values' scale: from here, the few states that randomise are adjusted alone
_SECONDS = 120.0
_ELASTIC = 1e5  # what it costs to miss a floor, against a gain of the last objective


def probabilities(
    choices: Choices, occupancy: Float[np.ndarray, " N"], fill: Int[np.ndarray, " S"]
) -> Float[np.ndarray, " N"]:
    """``π``: how probable each choice is in its state; ``fill`` says what to do in states without visits."""
    if not choices.num_states:
        return occupancy
    total = np.add.reduceat(occupancy, choices.start[:-1])
    seen = total > _NONE * total.max()
    share = occupancy / np.where(seen, total, 1.0)[choices.state]
    share[(share < _NONE) | ~seen[choices.state]] = 0.0
    share[fill[~seen]] = 1.0
    return share / np.add.reduceat(share, choices.start[:-1])[choices.state]


def visits(choices: Choices, policy: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    """The occupancy of a policy, given as probabilities of choices."""
    return policy * _chain(choices, policy).visits(choices.initial)[choices.state]


def randomising(choices: Choices, policy: Float[np.ndarray, " N"]) -> Int[np.ndarray, " M"]:
    """The states with more than one possible choice."""
    return np.flatnonzero(np.bincount(choices.state[policy > 0]) > 1)


def purify(
    choices: Choices,
    policy: Float[np.ndarray, " N"],
    floors: dict[int, float],
    objective: int,
) -> Float[np.ndarray, " N"]:
    """A policy with the same values that randomises in at most ``len(floors)`` states.

    Small models go back to the linear program, over the possible choices alone: its vertices are such
    policies. Large ones first take steps on the randomising states. With the advantages ``Q(s,n) − V(s)``
    of a policy the change of values is linear up to the change of visits; the linear program over those
    states alone has a vertex, which is the next policy, until its own values are on target. If nothing
    succeeds, the policy stays as it is.
    """
    if len(randomising(choices, policy)) <= len(floors):
        return policy
    target = visits(choices, policy) @ choices.reward
    if choices.num_states > _SMALL:
        found = _walk(choices, policy, target, list(floors), objective)
        if found is not None or choices.num_states > _LARGE:
            return policy if found is None else found
    return _from_program(choices, policy, target, list(floors), objective)


def _from_program(
    choices: Choices, policy: np.ndarray, target: np.ndarray, kept: list[int], objective: int
) -> np.ndarray:
    support, rows = choices.keep(policy > 0)
    program = Occupancy(support, time_limit=_SECONDS)
    program.start_at(support.best(policy[rows]))
    floors = {j: target[j] - 1e-11 * max(1.0, abs(target[j])) for j in kept}
    if program.maximize(objective, floors).outcome is not Outcome.OPTIMAL:
        return policy
    occupancy = np.zeros(choices.num_choices)
    occupancy[rows] = program.occupancy
    if (occupancy[~choices.reached(occupancy > 1e-12)[choices.state]] > 1e-12).any():
        return policy  # with γ=1: a loop that nothing leads to
    pure = probabilities(choices, occupancy, choices.best(policy))
    lost = (target - visits(choices, pure) @ choices.reward) / np.maximum(1.0, np.abs(target))
    return pure if (lost[[*kept, objective]] <= 1e-8).all() else policy


def _chain(choices: Choices, policy: np.ndarray) -> Chain:
    rows = np.flatnonzero(policy)
    shape = (choices.num_states, choices.num_choices)
    pick = sparse.csr_array((policy[rows], (choices.state[rows], rows)), shape=shape)
    return Chain(pick @ choices.next, choices.narrow)


def _walk(
    choices: Choices, policy: np.ndarray, target: np.ndarray, kept: list[int], objective: int
) -> np.ndarray | None:
    """Vertices of the linearised problem over the randomising states, until one has the target's values."""
    several = np.isin(choices.state, randomising(choices, policy))
    among = np.flatnonzero(several & (policy > 0))
    scale = np.maximum(1.0, np.abs(target))
    current = policy
    often: np.ndarray | None = None
    values = np.zeros((choices.num_states, choices.num_objectives))
    near, before = False, np.inf  # near: adjust only what is random now, as long as that helps
    for _ in range(_MOST_STEPS):
        chain = _chain(choices, current)
        often = chain.visits(choices.initial, often)
        for k, paid in enumerate(choices.reward.T):
            expected = np.bincount(choices.state, current * paid, choices.num_states)
            values[:, k] = chain.values(expected, values[:, k].copy())
        missing = (target - choices.initial @ values) / scale
        few = randomising(choices, current)
        off = np.abs(missing[kept]).max(initial=0.0)
        if len(few) <= len(kept) and off <= 1e-10 and missing[objective] <= 1e-9:
            return current
        stuck = near and off > 0.1 * before
        near, before = len(few) <= len(kept) and 0 < off <= _NEAR and not stuck, off
        free = among[np.isin(choices.state[among], few)] if near else among
        states, group = np.unique(choices.state[free], return_inverse=True)
        advantage = choices.reward[free] + choices.next[free] @ values
        advantage -= values[states][group]
        effect = (often[states][group, None] * advantage / scale).T
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
    cost = np.concatenate([-gain, np.full(2 * rows, _ELASTIC)])
    side = np.concatenate([missing, np.ones(groups)])
    highs = load(cost, table, side, side, tolerance=1e-10)
    if run(highs) is not Outcome.OPTIMAL:
        return None
    found = np.clip(np.array(highs.getSolution().col_value)[:size], 0.0, 1.0)
    found[found < _NONE] = 0.0
    return found / np.bincount(group, found)[group]
