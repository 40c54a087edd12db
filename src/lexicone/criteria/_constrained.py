"""One constrained problem: maximise an objective over the policies that keep floors under others; solved exactly.

`lexicone.search` strings such problems together. Each is one linear program on occupancy measures (or column generation
for large models), and the next starts from its basis or columns.
"""

from enum import StrEnum
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from lexicone.exact._careful_maximum import Question, careful_maximum
from lexicone.exact._highs import Outcome
from lexicone.exact._maximizer import Maximizer, StageMaximum
from lexicone.exact._policy_extraction import extract_policy, policy_that_keeps
from lexicone.exact._prepared import Prepared
from lexicone.exact._report import Report
from lexicone.exact._solution import Solution
from lexicone.exact._solve_model import PROGRAM_STATES
from lexicone.exact._stages import Optimum, drop_losing_pairs, new_maximizer
from lexicone.exact._state_actions import STAY, StateActions
from lexicone.exact._tolerances import EQUAL_VALUES, KEPT_FLOOR, SAME_MAXIMUM
from lexicone.models._mdp import MDP
from lexicone.order import Order

__all__ = ["Answer", "ConstrainedSolver", "ExactSolver", "Subproblem", "rounding_room"]


class Answer(StrEnum):
    """What came of a constrained problem."""

    MET = "met"
    """The objective reaches its threshold while the floors are kept."""
    MISSED = "missed"
    """The floors are kept, but the objective's maximum is below its threshold."""
    INFEASIBLE = "infeasible"
    """No policy keeps the floors, or none has a finite total of the objective: proven."""
    UNBOUNDED = "unbounded"
    NOT_FOUND = "not found"
    """A learner found no policy that keeps the floors within its budget: not a proof."""
    FAILED = "failed"


class Subproblem(NamedTuple):
    """A constrained problem and its answer."""

    objective: int
    threshold: float
    floors: dict[int, float]
    answer: Answer
    value: float
    """The maximum; NaN if there is none."""
    values: Float[np.ndarray, " K"]
    """What the policy found has of every objective; NaN where that is not known: where it stays for ever (γ=1), it
    may pay for objectives that the problem does not mention."""
    weights: Float[np.ndarray, " K"]
    """From the duals: 1 for the objective, the price of its floor for each of the others."""
    limit: float
    """The certificate of an exact answer: no policy has ``weights·V`` above this (behind an objective that is kept
    at its maximum: no policy that keeps it there). With MISSED it is below what meeting the floors and
    the threshold would need. NaN without a proof."""
    attained: bool = True
    """False if the maximum is a limit that no policy has (γ=1): proven."""


@runtime_checkable
class ConstrainedSolver(Protocol):
    """What a search needs of whoever answers its problems, exactly or by learning."""

    def maximize(self, objective: int, threshold: float, floors: dict[int, float]) -> Subproblem:
        """Maximise one objective given floors under others, all in the model's own units."""
        ...

    def decide(self, found: Subproblem) -> float:
        """The floor under an objective once its answer is known."""
        ...


class ExactSolver:
    """The constrained problems of one model; pairs that cannot keep what was decided are dropped on the way."""

    def __init__(self, mdp: MDP, order: Order, gamma: float) -> None:
        self.mdp, self.order, self.gamma = mdp, order, gamma
        model = Prepared(mdp, gamma)
        self.scale = model.scale
        self.known = model.known(self.scale)
        self.pairs = self.known.pairs
        small = self.pairs.num_states <= PROGRAM_STATES
        self.method: Literal["lp", "columns"] = "lp" if small else "columns"
        self.maximizer: Maximizer | None = None
        self.maximum: StageMaximum | None = None

    def maximize(self, objective: int, threshold: float, floors: dict[int, float]) -> Subproblem:
        """Maximise one objective given floors under others, all in the model's own units."""
        relevant = np.isin(np.arange(len(self.order)), [objective, *floors])
        usable = self.known.finite(self.pairs, relevant)
        if usable is None:
            return self._answer(Answer.INFEASIBLE, objective, threshold, floors)
        scaled = {j: f / self.scale[j] for j, f in floors.items()}
        if self.maximizer is None or self.maximizer.pairs is not usable:
            self.maximizer = self.known.maximizer(
                self.method, usable, lambda: self._maximizer_for(usable)
            )
        question = Question(objective, scaled, relevant, reached=False)
        self.maximizer, self.maximum = careful_maximum(self.maximizer, question)
        maximum = self.maximum
        answer = {
            Outcome.INFEASIBLE: Answer.INFEASIBLE,
            Outcome.UNBOUNDED: Answer.UNBOUNDED if threshold == np.inf else Answer.MET,
        }.get(maximum.outcome, Answer.FAILED)
        if maximum.outcome is Outcome.OPTIMAL:
            enough = threshold / self.scale[objective]
            room = rounding_room(maximum.value, EQUAL_VALUES)
            answer = Answer.MET if maximum.value >= enough - room else Answer.MISSED
            if maximum.value <= enough + room and self._is_limit(objective, scaled):
                return self._answer(answer, objective, threshold, floors)._replace(attained=False)
        return self._answer(answer, objective, threshold, floors)

    def _is_limit(self, objective: int, floors: dict[int, float]) -> bool:
        """Whether no policy attains the last maximum (γ=1)."""
        maximizer, maximum = self.maximizer, self.maximum
        if maximizer is None or maximum is None or self.gamma < 1:
            return False
        if not maximizer.pairs.has_lone_loops(maximizer.occupancy()):
            return False
        return not extract_policy(maximizer, maximum, floors, objective).attained

    def decide(self, found: Subproblem) -> float:
        """Keep the objective at what was found from now on; returns its floor."""
        floor = min(found.value, found.threshold)
        maximum, maximizer = self.maximum, self.maximizer
        if maximum is None or maximizer is None or not self._solved:
            return floor
        room = rounding_room(maximum.value, SAME_MAXIMUM)
        reached = min(maximum.value, maximum.bound)
        if reached <= found.threshold / self.scale[found.objective] + room:
            self.pairs = drop_losing_pairs(maximizer, maximum)
            self.maximizer = None
            floor = min(floor, reached * self.scale[found.objective])
            floor -= rounding_room(maximum.value, KEPT_FLOOR) * self.scale[found.objective]
        return float(floor)

    def solution(
        self, outcome: Outcome, objective: int, floors: dict[int, float], tolerance: float
    ) -> Solution:
        """The policy that ends the search, and the proof of its values."""
        problem = Report(self.mdp, self.order, self.gamma, tolerance, self.scale)
        if not self.pairs.num_states:
            return problem.ended("stochastic")
        count = len(self.order)
        scaled = {j: f / self.scale[j] for j, f in floors.items()}
        relevant = np.isin(np.arange(count), [*floors])
        bound = np.full(count, -np.inf)
        for j, floor in scaled.items():
            bound[j] = floor
        others = {j: f for j, f in scaled.items() if j != objective}
        attained = True
        if outcome is Outcome.OPTIMAL:
            assert self.maximizer is not None
            assert self.maximum is not None
            bound[objective] = self.maximum.bound
            pairs, found, attained = extract_policy(self.maximizer, self.maximum, others, objective)
        else:
            relevant[objective] = outcome is Outcome.UNBOUNDED
            pairs, found = policy_that_keeps(self.pairs, relevant, others)
        nothing = np.zeros((count, count))
        result = Optimum(
            outcome, objective, pairs, found, scaled, relevant, bound, nothing, (), attained
        )
        return problem.stochastic(result, self.method)

    def _maximizer_for(self, pairs: StateActions) -> Maximizer:
        before = self.maximizer
        known = before is not None and bool(np.isin(pairs.states, before.pairs.states).all())
        if before is None or not known or before.is_vertex != (self.method == "lp"):
            return new_maximizer(self.method, pairs)
        return before.restricted(pairs)

    def _answer(
        self, answer: Answer, objective: int, threshold: float, floors: dict[int, float]
    ) -> Subproblem:
        count = len(self.order)
        values, weights, limit, value = np.full(count, np.nan), np.zeros(count), np.nan, np.nan
        maximum = self.maximum
        if answer is Answer.UNBOUNDED or (answer is Answer.MET and not self._solved):
            value = np.inf
        elif answer in (Answer.MET, Answer.MISSED):
            assert maximum is not None
            values = self._values([objective, *floors])
            weights = maximum.weights * self.scale[objective] / self.scale
            value = maximum.value * self.scale[objective]
            limit = maximum.bound * self.scale[objective]
            limit += sum(weights[j] * f for j, f in floors.items())
        return Subproblem(
            objective, threshold, dict(floors), answer, float(value), values, weights, float(limit)
        )

    def _values(self, mentioned: list[int]) -> np.ndarray:
        """What the last solution has of every objective; those not mentioned only if it never stays for ever."""
        maximizer = self.maximizer
        assert maximizer is not None
        occupancy = maximizer.occupancy()
        values = occupancy @ maximizer.pairs.reward * self.scale
        stays = occupancy[maximizer.pairs.action == STAY].sum() > EQUAL_VALUES
        unknown = stays & ~np.isin(np.arange(len(values)), mentioned)
        return np.where(unknown, np.nan, values)

    @property
    def _solved(self) -> bool:
        """Whether the last program has an optimum."""
        return self.maximum is not None and self.maximum.outcome is Outcome.OPTIMAL


def rounding_room(value: float, tolerance: float) -> float:
    """How far from a value another still counts as equal: the tolerance times its size; 0 if it is infinite."""
    return tolerance * max(1.0, abs(value)) if np.isfinite(value) else 0.0
