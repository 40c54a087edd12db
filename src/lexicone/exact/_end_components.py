"""Policies that never end (γ=1): where one can stay for ever, and which pairs lead into traps.

What a policy does again and again for ever is an *end component*: a set of pairs that never leads out of its
states, which all reach each other. In the long run it pays each objective a gain per step. To stay is
admissible if for each objective that counts the gain is positive (the total is +∞) or all rewards are 0.
Loops whose rewards cancel have no total and are not admissible.
"""

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse

from lexicone.exact._highs import Outcome, build_program, solve_program
from lexicone.exact._state_actions import STAY, StateActions
from lexicone.exact._tolerances import NO_REWARD
from lexicone.models._reachability import strong_components

__all__ = ["end_components", "largest_gains", "restrict_to_finite", "stay_regions"]


def end_components(
    pairs: StateActions, free: Bool[np.ndarray, " N"]
) -> tuple[Int[np.ndarray, " S"], Bool[np.ndarray, " N"]]:
    """The maximal end components of the free pairs: each state's number, −1 outside, and the pairs inside."""
    free = free & (pairs.action != STAY) & ~pairs.can_end
    region = np.full(pairs.num_states, -1)
    row, target = pairs.next.tocoo().coords
    while free.any():
        part, _ = strong_components(pairs.graph(free))
        stuck = np.ones(pairs.num_states, dtype=bool)
        stuck[pairs.state[free]] = False
        leaves = np.zeros(pairs.num_pairs, dtype=bool)
        leaves[row[(part[pairs.state[row]] != part[target]) | stuck[target]]] = True
        if not (free & leaves).any():
            inside = np.flatnonzero(~stuck)
            used = np.zeros(part.max() + 1, dtype=np.int64)
            used[part[inside]] = 1
            region[inside] = (np.cumsum(used) - 1)[part[inside]]
            break
        free = free & ~leaves
    return region, free


def stay_regions(
    pairs: StateActions,
    relevant: Bool[np.ndarray, " K"],
    within: Bool[np.ndarray, " S"] | None = None,
) -> tuple[Int[np.ndarray, " S"], Bool[np.ndarray, " N"]]:
    """Where one can stay for ever without cost in the relevant objectives: regions and pairs as in `end_components`.

    A component is thinned out until the circulations on it have all gains positive at once, but for those
    objectives that it does not pay at all. An objective that cannot gain may not be paid.
    """
    size = NO_REWARD * np.abs(pairs.reward).max(axis=0, initial=0.0)
    reward = np.where(np.abs(pairs.reward) <= size, 0.0, pairs.reward)[:, relevant]
    free = np.ones(pairs.num_pairs, dtype=bool) if within is None else within[pairs.state]
    while True:
        region, free = end_components(pairs, free)
        if not free.any():
            return region, free
        place = region[pairs.state]
        drop = np.zeros(pairs.num_pairs, dtype=bool)
        mixed = np.zeros(region.max() + 1, dtype=bool)
        for paid in reward.T:
            gains, costs = np.zeros((2, len(mixed)), dtype=bool)
            gains[place[free & (paid > 0)]] = True
            costs[place[free & (paid < 0)]] = True
            drop |= free & (paid < 0) & ~gains[place]
            mixed |= gains & costs
        mixed[place[drop]] = False
        for number in np.flatnonzero(mixed):
            members = np.flatnonzero(free & (place == number))
            gain, _ = largest_gains(pairs, members, reward[members])
            paid = (reward[members] != 0) & (gain == 0)
            drop[members[paid.any(axis=1)]] = True
        if not drop.any():
            return region, free
        free = free & ~drop


def largest_gains(
    pairs: StateActions, members: Int[np.ndarray, " M"], reward: Float[np.ndarray, "M J"]
) -> tuple[Float[np.ndarray, " J"], Float[np.ndarray, " M"]]:
    """Which objectives can have a positive gain (1) while none has a negative one, and a circulation with them all.

    max Σ_j t_j   s.t.   z ≥ 0 circulates,   Σ z·r_j ≥ t_j,   0 ≤ t_j ≤ 1

    It always has a solution. Where HiGHS finds none, it is tried again with rewards of size 1; if that fails too, a
    ValueError says so.
    """
    states, column = np.unique(pairs.state[members], return_inverse=True)
    own = sparse.csr_array(
        (np.ones(len(members)), (column, np.arange(len(members)))),
        shape=(len(states), len(members)),
    )
    flow = own - pairs.next[members][:, states].T
    count = reward.shape[1]
    size = np.abs(reward).max(axis=0, initial=0.0)
    for scale in (1.0, np.where(size > 0, size, 1.0)):
        table = sparse.block_array(
            [[flow, None], [sparse.csr_array((reward / scale).T), -sparse.eye_array(count)]]
        )
        highs = build_program(
            np.concatenate([np.zeros(len(members)), -np.ones(count)]),
            table,
            np.zeros(len(states) + count),
            np.concatenate([np.zeros(len(states)), np.full(count, np.inf)]),
            np.concatenate([np.full(len(members), np.inf), np.ones(count)]),
        )
        outcome = solve_program(highs)
        if outcome is Outcome.OPTIMAL:
            solution = np.array(highs.getSolution().col_value)
            gain, circulation = solution[len(members) :], np.maximum(solution[: len(members)], 0.0)
            return (gain > 0.5).astype(float), circulation
    raise ValueError(
        f"mdp: cannot tell whether the loops among {len(states)} states can be walked for ever at no cost "
        f"(linear program: {outcome}); use gamma below 1, or rewards of more even sizes"
    )


def restrict_to_finite(
    pairs: StateActions, relevant: Bool[np.ndarray, " K"]
) -> StateActions | None:
    """The pairs that policies can use whose relevant objectives are not −∞, for γ=1; None if there is no such policy.

    Adds a pair that stays wherever `stay_regions` allows it, then keeps only what can still end or stay with
    probability 1, and what is reached. For γ<1 every policy has finite values: nothing changes.
    """
    if pairs.gamma < 1 or not pairs.num_states:
        return pairs
    before = np.zeros(pairs.num_states, dtype=bool)
    before[pairs.state[pairs.action == STAY]] = True
    plain, _ = pairs.keep(pairs.action != STAY)
    region, _ = stay_regions(plain, relevant)
    joined = _add_stays(plain, (region >= 0) & (before | (not pairs.stays_added)))
    allowed = np.ones(joined.num_pairs, dtype=bool)
    while True:
        goal = np.zeros(joined.num_states, dtype=bool)
        goal[joined.state[joined.can_end & allowed]] = True
        safe = joined.closure(allowed, goal, forward=False)
        leads_out = (joined.next @ (~safe).astype(float)) > 0
        smaller = allowed & ~leads_out & safe[joined.state]
        if (smaller == allowed).all():
            break
        allowed = smaller
    if (joined.initial[~safe] > 0).any():
        return None
    kept, _ = joined.keep(allowed, joined.reached(allowed))
    same = pairs.stays_added and np.array_equal(kept.states, pairs.states)
    return pairs if same and np.array_equal(kept.action, pairs.action) else kept


def _add_stays(pairs: StateActions, where: np.ndarray) -> StateActions:
    """One more pair, the last, in each marked state: it ends the episode and pays nothing."""
    extra = np.flatnonzero(where)
    state = np.concatenate([pairs.state, extra])
    order = np.argsort(state, kind="stable")
    nowhere = sparse.csr_array((len(extra), pairs.num_states))
    table = sparse.csr_array(sparse.vstack([pairs.next, nowhere]))
    reward = np.concatenate([pairs.reward, np.zeros((len(extra), pairs.num_objectives))])
    return StateActions(
        pairs.states,
        pairs.offsets + np.concatenate([[0], np.cumsum(where)]),
        np.concatenate([pairs.action, np.full(len(extra), STAY)])[order],
        sparse.csr_array(table[order]),
        reward[order],
        pairs.initial,
        pairs.gamma,
        True,
    )
