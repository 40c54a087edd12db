"""The lexicographic optimum, stage by stage: maximise an objective up to its threshold, keep it, go on.

Stage i maximises ``V_i``; ``min(V_i, τ_i)`` becomes a floor for all later stages. Where the maximum does not exceed
τ_i, only policies that are best for the stage's weighted sum can keep the floor, and every pair that
loses against that sum is dropped: later stages then cannot trade a rounding error for a gain.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from lexicone.exact._column_generation import EXACT_GAP, ColumnGeneration
from lexicone.exact._end_components import restrict_to_finite
from lexicone.exact._highs import Outcome
from lexicone.exact._occupancy_program import Maximum, OccupancyProgram
from lexicone.exact._policy_iteration_total import ending_policy
from lexicone.exact._sparse_policy import make_sparse, policy_from_occupancy, policy_occupancy
from lexicone.exact._state_actions import STAY, StateActions

__all__ = [
    "Method",
    "Optimum",
    "drop_losing_pairs",
    "extract_policy",
    "policy_that_keeps",
    "solve_stages",
]

Method = Literal["lp", "columns"]
Engine = OccupancyProgram | ColumnGeneration

_EXACT = 1e-9  # of the values' scale: equal up to rounding
_LITTLE = 1e-4  # how probable the walk is that leads to loops which are used rarely
_LP_STATES = 20_000
_LP_SECONDS = 60.0
_LOSS = 1e-8  # of the values' scale: a pair that loses more at one visit is dropped


class Optimum(NamedTuple):
    """Where the stages ended."""

    outcome: Outcome
    """OPTIMAL, or how the stage of ``objective`` ended."""
    objective: int
    pairs: StateActions
    """What is still allowed in the last stage that was solved."""
    policy: Float[np.ndarray, " N"]
    """Probabilities of these pairs."""
    floors: dict[int, float]
    marks: Bool[np.ndarray, " K"]
    """The objectives that count."""
    bound: Float[np.ndarray, " K"]
    """What ``min(V_i, τ_i)`` cannot exceed, given the objectives before; −∞ where objectives do not count."""
    prices: Float[np.ndarray, "K K"]
    """``prices[j,i]``: what one more unit of τ_j costs of objective i."""


def solve_stages(
    pairs: StateActions,
    thresholds: Float[np.ndarray, " K"],
    method: Method,
    *,
    break_ties: bool = False,
    gap: float = EXACT_GAP,
    progress: Callable[[str], None] | None = None,
) -> Optimum:
    """The stages for the K thresholds (+∞ for the last); with ``break_ties`` once more without thresholds.

    All but the last stage are solved exactly, since later ones build on them; the last up to ``gap``,
    relative to the value's size.
    """
    count = pairs.num_objectives
    plan = [(i, thresholds[i]) for i in range(count) if thresholds[i] > -np.inf]
    main = len(plan)
    plan += [(i, np.inf) for i in range(count - 1)] * break_ties
    marks = np.zeros(count, dtype=bool)
    floors: dict[int, float] = {}
    bound, prices = np.full(count, -np.inf), np.zeros((count, count))
    binding = np.zeros(count, dtype=bool)
    engine: Engine | None = None
    stage: Maximum | None = None
    for number, (i, threshold) in enumerate(plan):
        if progress is not None:
            progress(f"stage {number + 1} of {len(plan)}: objective {i + 1}")
        marks[i] = True
        settled = restrict_to_finite(pairs, marks)
        if settled is None:
            marks[i] = False
            before = policy_that_keeps(pairs, marks, floors)
            return Optimum(Outcome.INFEASIBLE, i, *before, floors, marks, bound, prices)
        if engine is None or settled is not engine.pairs:
            engine = _build(method, settled, engine, progress)
        others = {j: f for j, f in floors.items() if j != i}
        last = number == len(plan) - 1
        stage = _maximize(engine, i, others, threshold, gap if last else EXACT_GAP)
        scale = max(1.0, abs(stage.value)) if np.isfinite(stage.value) else 1.0
        enough = stage.outcome is Outcome.CAPPED or (
            stage.outcome is Outcome.UNBOUNDED and threshold < np.inf
        )
        if stage.outcome is not Outcome.OPTIMAL and not enough:
            if pairs.gamma < 1 and stage.outcome is Outcome.INFEASIBLE:
                stage = stage._replace(outcome=Outcome.FAILED)
            marks[i] = stage.outcome is not Outcome.INFEASIBLE
            before = policy_that_keeps(pairs, marks, floors)
            return Optimum(stage.outcome, i, *before, floors, marks, bound, prices)
        pairs = settled
        if enough or stage.value > threshold + _EXACT * scale:
            floors[i], bound[i], binding[i] = threshold, threshold, True
            continue
        if number < main:
            bound[i] = min(threshold, stage.bound)
            _price(prices, i, stage, others, binding)
            binding[i] = stage.value >= threshold - _EXACT * scale
        floors[i] = min(threshold, stage.value - (1e-11 * scale if threshold == np.inf else 0.0))
        if last:
            break
        pairs = drop_losing_pairs(engine, stage)
    assert engine is not None
    others = {j: f for j, f in floors.items() if j != plan[-1][0]}
    engine, found = extract_policy(engine, stage, others, plan[-1][0])
    return Optimum(Outcome.OPTIMAL, count - 1, engine.pairs, found, floors, marks, bound, prices)


def _build(
    method: Method,
    pairs: StateActions,
    before: Engine | None,
    progress: Callable[[str], None] | None,
) -> Engine:
    if method == "lp":
        return OccupancyProgram(pairs, before if isinstance(before, OccupancyProgram) else None)
    return ColumnGeneration(
        pairs, before if isinstance(before, ColumnGeneration) else None, progress
    )


def _maximize(
    engine: Engine, objective: int, floors: dict[int, float], threshold: float, gap: float
) -> Maximum:
    if isinstance(engine, OccupancyProgram):
        return engine.maximize(objective, floors)
    cap = threshold + 10 * _EXACT * max(1.0, abs(threshold)) if threshold < np.inf else np.inf
    return engine.maximize(objective, floors, cap, gap)


def drop_losing_pairs(engine: Engine, stage: Maximum) -> StateActions:
    """Only pairs that lose nothing against the stage's weighted sum can keep its value."""
    pairs = engine.pairs
    scale = max(1.0, np.abs(stage.values).max(initial=0.0))
    if not stage.bound - stage.value <= _EXACT * scale:
        return pairs
    gain = pairs.reward @ stage.weights + pairs.next @ stage.values
    keep = gain >= stage.values[pairs.state] - _LOSS * scale
    keep[pairs.best_by_state(gain)] = True
    if isinstance(engine, OccupancyProgram):
        keep |= engine.occupancy > _EXACT
    return pairs.keep(keep, pairs.reached(keep))[0]


def _price(
    prices: np.ndarray, i: int, stage: Maximum, floors: dict[int, float], binding: np.ndarray
) -> None:
    """Multipliers of met thresholds; a kept maximum l in between moves with τ_j itself, by ``prices[j,l]``."""
    kept = [j for j in floors if not binding[j]]
    for j in floors:
        if binding[j]:
            prices[j, i] = stage.weights[j] - sum(stage.weights[m] * prices[j, m] for m in kept)


def extract_policy(
    engine: Engine, stage: Maximum | None, floors: dict[int, float], objective: int
) -> tuple[Engine, Float[np.ndarray, " N"]]:
    """The policy of a stage that was solved, which randomises in few states; and the engine with its pairs."""
    engine, stage = _with_loops_on_the_way(engine, stage, floors, objective)
    return engine, make_sparse(engine.pairs, _policy(engine, stage, floors), floors, objective)


def _with_loops_on_the_way(
    engine: Engine, stage: Maximum | None, floors: dict[int, float], objective: int
) -> tuple[Engine, Maximum | None]:
    """The same optimum from the whole linear program, if columns use loops that none of their policies comes by (γ=1).

    Its vertices mostly run through loops that are on the way.
    """
    pairs = engine.pairs
    if isinstance(engine, OccupancyProgram) or pairs.gamma < 1 or pairs.num_states > _LP_STATES:
        return engine, stage
    occupancy = engine.occupancy()
    if not (occupancy[~pairs.reached(occupancy > 1e-12)[pairs.state]] > 1e-12).any():
        return engine, stage
    program = OccupancyProgram(pairs, time_limit=_LP_SECONDS)
    program.start_at(engine.last)
    again = program.maximize(objective, floors)
    return (program, again) if again.outcome is Outcome.OPTIMAL else (engine, stage)


def policy_that_keeps(
    pairs: StateActions, marks: np.ndarray, floors: dict[int, float]
) -> tuple[StateActions, np.ndarray]:
    """Some policy that keeps the floors of the stages that were solved; the first pairs if there is none."""
    settled = restrict_to_finite(pairs, marks) if marks.any() else None
    if settled is None:
        first = np.zeros(pairs.num_pairs)
        first[pairs.first] = 1.0
        return pairs, first
    columns = ColumnGeneration(settled)
    columns.reach(floors)
    return settled, _policy(columns, None, floors)


def _policy(engine: Engine, stage: Maximum | None, floors: dict[int, float]) -> np.ndarray:
    """The policy of the engine's last occupancy; elsewhere what is best for the stage's weighted sum, or ends."""
    pairs = engine.pairs
    if isinstance(engine, ColumnGeneration):
        occupancy, fill = engine.occupancy(), engine.last
    else:
        occupancy, fill = engine.occupancy, ending_policy(pairs)
        if pairs.gamma < 1 and stage is not None:
            fill = pairs.best_by_state(pairs.reward @ stage.weights + pairs.next @ stage.values)
    if pairs.gamma == 1:
        occupancy = connect(pairs, occupancy, floors)
    return policy_from_occupancy(pairs, occupancy, fill)


def connect(
    pairs: StateActions, occupancy: Float[np.ndarray, " N"], floors: dict[int, float]
) -> Float[np.ndarray, " N"]:
    """Without the loops that nothing leads to, which are a limit of policies but not part of one (γ=1).

    If the floors need such loops, a little of the even walk over all pairs leads to them, and they are used
    as much longer as it takes to keep the floors; only the last objective then pays for the walk.
    """
    reached = pairs.reached(occupancy > 1e-12)[pairs.state]
    near, loops = np.where(reached, occupancy, 0.0), np.where(reached, 0.0, occupancy)
    if not (loops > 1e-12).any():
        return near
    needed = np.array(list(floors.values()))
    returns = pairs.reward[:, list(floors)]
    if (near @ returns >= needed - _EXACT * np.maximum(1.0, np.abs(needed))).all():
        return near
    start = (1 - _LITTLE) * near + _LITTLE * policy_occupancy(pairs, _even_walk(pairs))
    short, gain = needed - start @ returns, loops @ returns
    times = max((s / g for s, g in zip(short, gain, strict=True) if s > 0 and g > 0), default=0.0)
    return start + times * loops if (times * gain >= short - _EXACT).all() else near


def _even_walk(pairs: StateActions) -> np.ndarray:
    """Every action with the same probability; to stay as well, if the walk would not end otherwise."""
    moves = (pairs.action != STAY).astype(float)
    ends = (moves > 0) & pairs.can_end
    goal = np.zeros(pairs.num_states, dtype=bool)
    goal[pairs.state[ends]] = True
    if not pairs.closure(moves > 0, goal, forward=False).all():
        moves = np.ones(pairs.num_pairs)
    return moves / np.bincount(pairs.state, moves)[pairs.state]
