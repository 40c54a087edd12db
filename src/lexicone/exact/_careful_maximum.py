"""One stage's maximum that can be relied on: the other method where one fails, and no loops that policies cannot enter.

What floating-point programs say is checked by what it can be: where discounting makes every total finite, nothing is
unbounded; floors that the stages before have reached are not infeasible but rounded.
"""

import time
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from lexicone.exact._accessible import accessible_pairs
from lexicone.exact._column_generation import ColumnGeneration
from lexicone.exact._end_components import restrict_to_finite
from lexicone.exact._highs import Outcome
from lexicone.exact._maximizer import Maximizer, StageMaximum
from lexicone.exact._occupancy_program import OccupancyProgram
from lexicone.exact._tolerances import EXACT_GAP

__all__ = ["Question", "careful_maximum"]

_WIDE_GAP = 1e-7  # of the value's size: with a wider one, the other method is tried
_LOWERED = (
    0.0,
    1e-9,
    1e-8,
    1e-7,
)  # of a floor's size: how far floors are lowered, one try after the other
_MOST_STATES = 20_000  # larger models are not given to the whole linear program
_MOST_SECONDS = 60.0  # for the other method


class Question(NamedTuple):
    """What is to be maximised, given what."""

    objective: int
    floors: dict[int, float]
    relevant: Bool[np.ndarray, " K"]
    """The objectives that must not be −∞."""
    cap: float = np.inf
    gap: float = EXACT_GAP
    reached: bool = True
    """Whether the floors are known to be reached by some policy, up to rounding."""


def careful_maximum(
    maximizer: Maximizer, question: Question, deadline: float = np.inf
) -> tuple[Maximizer, StageMaximum]:
    """The maximum, and the method that found it, whose pairs may be fewer (γ=1)."""
    while True:
        maximizer, found = _by_either_method(maximizer, question, deadline)
        pairs = maximizer.pairs
        if pairs.gamma < 1 or found.outcome not in (
            Outcome.OPTIMAL,
            Outcome.CAPPED,
            Outcome.UNBOUNDED,
        ):
            return maximizer, found
        if found.outcome is not Outcome.UNBOUNDED and not pairs.has_lone_loops(
            maximizer.occupancy()
        ):
            return maximizer, found
        usable = accessible_pairs(pairs, question.floors, deadline)
        if usable.pairs.all():
            return maximizer, found
        fewer, _ = pairs.keep(usable.pairs, pairs.reached(usable.pairs))
        rest = restrict_to_finite(fewer, question.relevant)
        if rest is None:
            return maximizer, found
        maximizer = maximizer.restricted(rest)


def _by_either_method(
    maximizer: Maximizer, question: Question, deadline: float
) -> tuple[Maximizer, StageMaximum]:
    """By the method at hand; if its answer cannot be right or is not exact, by the other one, or with lower floors."""
    engines: list[Maximizer] = [maximizer]
    best: tuple[Maximizer, StageMaximum] | None = None
    bound, weights, values = np.inf, np.empty(0), np.empty(0)
    slacks = list(_LOWERED if question.floors and question.reached else _LOWERED[:1])
    while slacks:
        slack = slacks.pop(0)
        for second in (False, True):
            if second and len(engines) == 1:
                engines += _other(maximizer, deadline)
            if second >= len(engines):
                continue
            engine = engines[second]
            floors = {j: f - slack * max(1.0, abs(f)) for j, f in question.floors.items()}
            found = engine.maximize(question.objective, floors, question.cap, question.gap)
            if found.outcome is Outcome.TIME_LIMIT and time.monotonic() < deadline:
                found = found._replace(outcome=Outcome.FAILED)
            if found.outcome is Outcome.OPTIMAL:
                # what the weights prove, they prove for the floors as they were
                proven = found.bound - sum(
                    found.weights[j] * (f - floors[j]) for j, f in question.floors.items()
                )
                if proven < bound:
                    bound, weights, values = float(proven), found.weights, found.state_values
                found = found._replace(bound=bound, weights=weights, state_values=values)
            if _reliable(engine, found, question):
                return engine, found
            if best is None or _doubt(found) < _doubt(best[1]):
                best = engine, found
        assert best is not None
        just = _enough(best[1], question.floors) if slack == 0 else np.inf
        if slacks and just < slacks[0]:
            slacks.insert(0, just)
    assert best is not None
    return best


def _enough(found: StageMaximum, floors: dict[int, float]) -> float:
    """By how much of their size floors have to be lowered so that what is left open is gained, twice.

    A floor that is nearly a maximum costs so much that more would be gained than was ever in doubt.
    """
    if found.outcome is not Outcome.OPTIMAL or not np.isfinite(found.bound):
        return np.inf
    price = sum(found.weights[j] * max(1.0, abs(f)) for j, f in floors.items())
    return float(2 * max(found.bound - found.value, 0.0) / price) if price > 0 else np.inf


def _reliable(engine: Maximizer, found: StageMaximum, question: Question) -> bool:
    if found.outcome in (Outcome.CAPPED, Outcome.TIME_LIMIT):
        return True
    if found.outcome is Outcome.OPTIMAL:
        closed = _doubt(found) <= max(_WIDE_GAP, 2 * question.gap)
        return bool(closed or found.value >= question.cap)
    # column generation has a loop, or weights for which no policy is good enough, to show
    shown = not (engine.pairs.gamma == 1 and engine.is_vertex)
    if found.outcome is Outcome.UNBOUNDED:
        return shown and engine.pairs.gamma == 1
    return found.outcome is Outcome.INFEASIBLE and shown and not question.reached


def _doubt(found: StageMaximum) -> float:
    """What is open between value and bound, relative to the value's size; without a maximum, what to believe last."""
    if found.outcome is Outcome.OPTIMAL and np.isfinite(found.value):
        return float(max(found.bound - found.value, 0.0) / max(1.0, abs(found.value)))
    return {Outcome.FAILED: 1e299, Outcome.UNBOUNDED: 1e300}.get(found.outcome, np.inf)


def _other(maximizer: Maximizer, deadline: float) -> list[Maximizer]:
    """The other method on the same pairs; none if they are too many for it."""
    pairs = maximizer.pairs
    if maximizer.is_vertex:
        return [ColumnGeneration(pairs, deadline)]
    if pairs.num_states > _MOST_STATES:
        return []
    soon = min(deadline, time.monotonic() + _MOST_SECONDS)
    return [OccupancyProgram(pairs, soon, tight=True)]
