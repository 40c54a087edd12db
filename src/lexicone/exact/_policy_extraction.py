"""From the maximum of a stage to a policy that has its values.

With γ=1 an occupancy may use loops that nothing leads to: it is then a limit of policies, not the occupancy of one.
"""

import time

import numpy as np
from jaxtyping import Bool, Float

from lexicone.exact._column_generation import ColumnGeneration
from lexicone.exact._end_components import restrict_to_finite
from lexicone.exact._highs import Outcome
from lexicone.exact._maximizer import Maximizer, StageMaximum
from lexicone.exact._occupancy_program import OccupancyProgram
from lexicone.exact._sparse_policy import make_sparse, policy_from_occupancy, policy_occupancy
from lexicone.exact._state_actions import STAY, StateActions
from lexicone.exact._tolerances import EQUAL_VALUES, NO_VISITS

__all__ = ["extract_policy", "policy_of", "policy_that_keeps"]

_LOOP_PROGRAM_STATES = 20_000  # up to here loops are looked for by the whole linear program
_LOOP_PROGRAM_SECONDS = 60.0
_WALK_PROBABILITY = 1e-4  # of the walk that leads to loops which are used rarely


def extract_policy(
    maximizer: Maximizer,
    maximum: StageMaximum | None,
    floors: dict[int, float],
    objective: int,
    deadline: float = np.inf,
) -> tuple[Maximizer, Float[np.ndarray, " N"]]:
    """The policy of a maximum that was found, which randomises in few states; and the method that has its pairs.

    Args:
        maximizer: the method that found it.
        maximum: what it found.
        floors: what the policy keeps.
        objective: what was maximised.
        deadline: of `time.monotonic`; from then on the policy may randomise in more states.
    """
    maximizer, maximum = _with_loops_on_the_way(maximizer, maximum, floors, objective, deadline)
    policy = policy_of(maximizer, maximum, floors)
    return maximizer, make_sparse(maximizer.pairs, policy, floors, objective, deadline)


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
    elsewhere = maximizer.elsewhere(maximum)
    if pairs.gamma == 1:
        occupancy = _connect_loops(pairs, occupancy, floors)
    return policy_from_occupancy(pairs, occupancy, elsewhere)


def _with_loops_on_the_way(
    maximizer: Maximizer,
    maximum: StageMaximum | None,
    floors: dict[int, float],
    objective: int,
    deadline: float,
) -> tuple[Maximizer, StageMaximum | None]:
    """The same optimum from the whole linear program, if a mixture uses loops that none of its policies comes by (γ=1).

    Vertices of the program mostly run through loops that are on the way.
    """
    pairs = maximizer.pairs
    if maximizer.is_vertex or pairs.gamma < 1 or pairs.num_states > _LOOP_PROGRAM_STATES:
        return maximizer, maximum
    occupancy = maximizer.occupancy()
    if not pairs.has_lone_loops(occupancy):
        return maximizer, maximum
    program = OccupancyProgram(pairs, min(deadline, time.monotonic() + _LOOP_PROGRAM_SECONDS))
    program.start_at(maximizer.elsewhere(maximum))
    again = program.maximize(objective, floors)
    return (program, again) if again.outcome is Outcome.OPTIMAL else (maximizer, maximum)


def _connect_loops(
    pairs: StateActions, occupancy: Float[np.ndarray, " N"], floors: dict[int, float]
) -> Float[np.ndarray, " N"]:
    """Without the loops that nothing leads to, which are a limit of policies but not part of one (γ=1).

    If the floors need such loops, a little of the even walk over all pairs leads to them, and they are used
    as much longer as it takes to keep the floors; only the last objective then pays for the walk.
    """
    reached = pairs.reached(occupancy > NO_VISITS)[pairs.state]
    near, loops = np.where(reached, occupancy, 0.0), np.where(reached, 0.0, occupancy)
    if not (loops > NO_VISITS).any():
        return near
    needed = np.array(list(floors.values()))
    returns = pairs.reward[:, list(floors)]
    if (near @ returns >= needed - EQUAL_VALUES * np.maximum(1.0, np.abs(needed))).all():
        return near
    walk = policy_occupancy(pairs, _even_walk(pairs))
    start = (1 - _WALK_PROBABILITY) * near + _WALK_PROBABILITY * walk
    short, gain = needed - start @ returns, loops @ returns
    times = max((s / g for s, g in zip(short, gain, strict=True) if s > 0 and g > 0), default=0.0)
    return start + times * loops if (times * gain >= short - EQUAL_VALUES).all() else near


def _even_walk(pairs: StateActions) -> Float[np.ndarray, " N"]:
    """Every action with the same probability; to stay as well, if the walk would not end otherwise."""
    moves = (pairs.action != STAY).astype(float)
    goal = np.zeros(pairs.num_states, dtype=bool)
    goal[pairs.state[(moves > 0) & pairs.can_end]] = True
    if not pairs.closure(moves > 0, goal, forward=False).all():
        moves = np.ones(pairs.num_pairs)
    return moves / np.bincount(pairs.state, moves)[pairs.state]
