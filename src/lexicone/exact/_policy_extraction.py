"""From the maximum of a stage to a policy that has its values.

With γ=1 an occupancy may use loops that nothing leads to: it is then a limit of policies, not the occupancy of one.
Another optimum may have them on its way; if none has, the maximum is a supremum that no policy attains.
"""

from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from lexicone.exact._accessible import Accessible, accessible_pairs
from lexicone.exact._column_generation import ColumnGeneration
from lexicone.exact._end_components import restrict_to_finite
from lexicone.exact._highs import Outcome
from lexicone.exact._maximizer import Maximizer, StageMaximum
from lexicone.exact._occupancy_program import OccupancyProgram
from lexicone.exact._sparse_policy import make_sparse, policy_from_occupancy
from lexicone.exact._state_actions import StateActions
from lexicone.exact._tolerances import EQUAL_VALUES, NO_VISITS, RELAXED_FLOOR

__all__ = ["Extracted", "extract_policy", "policy_of", "policy_that_keeps"]

_NEAR_SUPREMUM = (
    1e-4  # of the value's size: what a policy that comes near a supremum may be short of it
)
_LOWERED = (
    0.0,
    1e-7,
    1e-6,
    1e-5,
    1e-4,
    1e-3,
)  # of a floor's size: for floors that are themselves suprema


class Extracted(NamedTuple):
    """A policy that has a maximum's values, or comes near them."""

    pairs: StateActions
    policy: Float[np.ndarray, " N"]
    attained: bool
    """False if the maximum is a limit that no policy has: proven."""


def extract_policy(
    maximizer: Maximizer,
    maximum: StageMaximum,
    floors: dict[int, float],
    objective: int,
    deadline: float = np.inf,
) -> Extracted:
    """The policy of a maximum that was found, which randomises in few states.

    Args:
        maximizer: the method that found it.
        maximum: what it found.
        floors: what the policy keeps.
        objective: what was maximised.
        deadline: of `time.monotonic`; from then on the policy may randomise in more states.
    """
    pairs, occupancy = maximizer.pairs, maximizer.occupancy()
    attained = True
    if pairs.gamma == 1 and pairs.has_lone_loops(occupancy):
        level = maximum.value - EQUAL_VALUES * max(1.0, abs(maximum.value))
        outcome, kept = _loops_on_the_way(pairs, occupancy, {**floors, objective: level}, deadline)
        if outcome is not Outcome.OPTIMAL:
            attained = outcome is not Outcome.INFEASIBLE
            kept = _near_limit(pairs, occupancy, floors, objective, deadline)
        occupancy = kept
    policy = policy_from_occupancy(pairs, occupancy, maximizer.elsewhere(maximum))
    return Extracted(pairs, make_sparse(pairs, policy, floors, objective, deadline), attained)


def policy_that_keeps(
    pairs: StateActions,
    relevant: Bool[np.ndarray, " K"],
    floors: dict[int, float],
    deadline: float = np.inf,
) -> tuple[StateActions, Float[np.ndarray, " N"]]:
    """Some policy that keeps the floors of the stages that were solved; the first pairs if there is none."""
    usable = restrict_to_finite(pairs, relevant) if relevant.any() else None
    if usable is None:
        first = np.zeros(pairs.num_pairs)
        first[pairs.first] = 1.0
        return pairs, first
    columns = ColumnGeneration(usable, deadline)
    columns.reach_floors(floors)
    return usable, policy_of(columns, None, floors)


def policy_of(
    maximizer: Maximizer, maximum: StageMaximum | None, floors: dict[int, float]
) -> Float[np.ndarray, " N"]:
    """The policy of the last occupancy; where that does not come, what is best for the weighted sum, or ends."""
    pairs, occupancy = maximizer.pairs, maximizer.occupancy()
    if pairs.gamma == 1 and pairs.has_lone_loops(occupancy):
        occupancy = _near_limit(pairs, occupancy, floors)
    return policy_from_occupancy(pairs, occupancy, maximizer.elsewhere(maximum))


def _loops_on_the_way(
    pairs: StateActions,
    occupancy: Float[np.ndarray, " N"],
    floors: dict[int, float],
    deadline: float,
) -> tuple[Outcome, Float[np.ndarray, " N"]]:
    """An occupancy that keeps the floors without lone loops; INFEASIBLE if there is none (γ=1).

    It may do without those of the occupancy given. Otherwise a vertex is looked for that comes by them as often as it
    can, since vertices randomise in few states; then any.
    """
    near, loops = _parts(pairs, occupancy)
    if _keeps(pairs, near, floors):
        return Outcome.OPTIMAL, near
    found = accessible_pairs(pairs, floors, deadline)
    if found.outcome is not Outcome.OPTIMAL:
        return found.outcome, near
    fewer, rows = pairs.keep(found.pairs, pairs.reached(found.pairs))
    lone = np.zeros(pairs.num_states, dtype=bool)
    lone[pairs.state[loops > NO_VISITS]] = True
    entered = np.where(lone[pairs.state], 0.0, pairs.next @ lone.astype(float))
    visited = replace(fewer, reward=np.column_stack([fewer.reward, entered[rows]]))
    program = OccupancyProgram(visited, deadline)
    if program.maximize(pairs.num_objectives, floors).outcome is Outcome.OPTIMAL:
        vertex = np.zeros(pairs.num_pairs)
        vertex[rows] = program.occupancy()
        on_the_way, _ = _parts(pairs, vertex)
        if _keeps(pairs, on_the_way, floors):
            return Outcome.OPTIMAL, on_the_way
    return Outcome.OPTIMAL, found.occupancy


def _near_limit(
    pairs: StateActions,
    occupancy: Float[np.ndarray, " N"],
    floors: dict[int, float],
    objective: int | None = None,
    deadline: float = np.inf,
) -> Float[np.ndarray, " N"]:
    """An occupancy without lone loops that is near this one and keeps the floors (γ=1).

    ``(1−ε)·y + ε·x`` with a policy that comes by all loops; ε as large as the objective's loss allows. Where floors
    are limits themselves, they are kept as nearly as can be; else the lone loops are left out.
    """
    near, _ = _parts(pairs, occupancy)
    if objective is None and _keeps(pairs, near, floors):
        return near
    found: Accessible | None = None
    for slack, rarest in product(_LOWERED, (1e-3, 1e-6)):
        lowered = {j: f - slack * max(1.0, abs(f)) for j, f in floors.items()}
        found = accessible_pairs(pairs, lowered, deadline, rarest)
        whole = found.pairs[occupancy > NO_VISITS].all()
        if found.outcome is not Outcome.INFEASIBLE and (whole or rarest < 1e-3):
            break
    if found is None or found.outcome is not Outcome.OPTIMAL:
        return near
    kept = np.where(found.pairs, occupancy, 0.0)
    share = _NEAR_SUPREMUM
    if objective is not None:
        paid = pairs.reward[:, objective]
        value, lost = kept @ paid, (kept - found.occupancy) @ paid
        share = min(0.5, _NEAR_SUPREMUM * max(1.0, abs(value)) / max(lost, 1e-300))
    return (1 - share) * kept + share * found.occupancy


def _parts(
    pairs: StateActions, occupancy: Float[np.ndarray, " N"]
) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"]]:
    """What the occupancy comes to from the start, and its lone loops."""
    reached = pairs.reached(occupancy > NO_VISITS)[pairs.state]
    return np.where(reached, occupancy, 0.0), np.where(reached, 0.0, occupancy)


def _keeps(
    pairs: StateActions, occupancy: Float[np.ndarray, " N"], floors: dict[int, float]
) -> bool:
    returns = occupancy @ pairs.reward
    return all(returns[j] >= f - 2 * RELAXED_FLOOR * max(1.0, abs(f)) for j, f in floors.items())
