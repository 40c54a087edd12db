"""The lexicographic optimum, stage by stage: maximise an objective up to its threshold, keep it, go on.

Stage i maximises ``V_i``; ``min(V_i, τ_i)`` becomes a floor for all later stages. Where the maximum does not exceed
τ_i, only policies that are best for the stage's weighted sum can keep the floor, and every pair that
loses against that sum is dropped: later stages then cannot trade a rounding error for a gain.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from lexicone.exact._careful_maximum import Question, careful_maximum
from lexicone.exact._column_generation import ColumnGeneration
from lexicone.exact._highs import Outcome
from lexicone.exact._known import Known, KnownMaximum
from lexicone.exact._maximizer import Maximizer, StageMaximum
from lexicone.exact._occupancy_program import OccupancyProgram
from lexicone.exact._policy_extraction import extract_policy, policy_of, policy_that_keeps
from lexicone.exact._state_actions import StateActions
from lexicone.exact._tolerances import EQUAL_VALUES, EXACT_GAP, KEPT_FLOOR, NO_LOSS, SAME_MAXIMUM

__all__ = [
    "Optimum",
    "StageDuals",
    "drop_losing_pairs",
    "new_maximizer",
    "solve_stages",
    "stage_plan",
]


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
    relevant: Bool[np.ndarray, " K"]
    """The objectives that count."""
    bound: Float[np.ndarray, " K"]
    """What ``min(V_i, τ_i)`` cannot exceed, given the objectives before; −∞ where objectives do not count."""
    prices: Float[np.ndarray, "K K"]
    """``prices[j,i]``: what one more unit of τ_j costs of objective i."""
    duals: "Sequence[StageDuals]" = ()
    """Of the stages that were solved, or cut short, in their order."""
    attained: bool = True
    """False if the last maximum is a limit that no policy has: proven."""


class StageDuals(NamedTuple):
    """The weights and state values of a stage's bound, and the states that it looked at."""

    objective: int
    states: Int[np.ndarray, " S"]
    weights: Float[np.ndarray, " K"]
    state_values: Float[np.ndarray, " S"]


def solve_stages(
    known: Known,
    thresholds: Float[np.ndarray, " K"],
    method: Literal["lp", "columns"],
    *,
    break_ties: bool = False,
    gap: float = EXACT_GAP,
    starts: Sequence[Int[np.ndarray, " M"]] = (),
    deadline: float = np.inf,
    progress: Callable[[str], None] | None = None,
) -> Optimum:
    """The optimum for the K thresholds (+∞ for the last).

    Args:
        known: what policies may do, and what earlier solves have found of it.
        thresholds: one for each objective; those of −∞ do not count.
        method: how each stage is solved.
        break_ties: whether each objective but the last is then maximised once more, without its threshold.
        gap: relative to the value's size, for the last stage. All others are solved exactly, since later ones
            build on them.
        starts: deterministic policies of the whole model, one action per state, to start from.
        deadline: of `time.monotonic`; then the outcome is TIME_LIMIT, with the best policy so far.
        progress: called with a line of text now and then.
    """
    return _Stages(known, thresholds, method, break_ties, gap, starts, deadline, progress).run()


def stage_plan(
    thresholds: Float[np.ndarray, " K"], break_ties: bool
) -> tuple[list[tuple[int, float]], int]:
    """The objective and the threshold of each stage; and how many stages there are before ties are broken."""
    plan = [(i, float(t)) for i, t in enumerate(thresholds) if t > -np.inf]
    thresholded = len(plan)
    if break_ties:
        plan += [(i, np.inf) for i in range(len(thresholds) - 1)]
    return plan, thresholded


class _Stages:
    """What the stages solved so far have decided."""

    def __init__(
        self,
        known: Known,
        thresholds: Float[np.ndarray, " K"],
        method: Literal["lp", "columns"],
        break_ties: bool,
        gap: float,
        starts: Sequence[Int[np.ndarray, " M"]],
        deadline: float,
        progress: Callable[[str], None] | None,
    ) -> None:
        count = known.pairs.num_objectives
        self.plan, self.thresholded = stage_plan(thresholds, break_ties)
        self.method: Literal["lp", "columns"] = method
        self.gap, self.starts, self.deadline, self.progress = gap, starts, deadline, progress
        self.known, self.pairs = known, known.pairs
        self.floors: dict[int, float] = {}
        self.relevant = np.zeros(count, dtype=bool)
        self.bound, self.prices = np.full(count, -np.inf), np.zeros((count, count))
        self.binding = np.zeros(count, dtype=bool)
        """The thresholds that are met exactly: they have a price."""
        self.maximizer: Maximizer | None = None
        self.last_solved: tuple[Maximizer, StageMaximum] | None = None
        self.duals: list[StageDuals] = []

    def run(self) -> Optimum:
        """All stages; the first that cannot be solved is the last."""
        for number, (objective, threshold) in enumerate(self.plan):
            if self.progress is not None:
                self.progress(f"stage {number + 1} of {len(self.plan)}: objective {objective + 1}")
            stopped = self._stage(number, objective, threshold)
            if stopped is not None:
                return stopped
        assert self.last_solved is not None
        objective = self.plan[-1][0]
        found = extract_policy(
            *self.last_solved, self._floors_under_others(objective), objective, self.deadline
        )
        return self._optimum(
            Outcome.OPTIMAL, len(self.relevant) - 1, (found.pairs, found.policy), found.attained
        )

    def _stage(self, number: int, objective: int, threshold: float) -> Optimum | None:
        """Maximise one objective and keep what was reached; the end of all stages if that fails."""
        last = number == len(self.plan) - 1
        self.relevant[objective] = True
        usable = self.known.finite(self.pairs, self.relevant)
        if usable is None:
            return self._stop(Outcome.INFEASIBLE, objective)
        whole = usable is self.pairs
        floors = self._floors_under_others(objective)
        cap = np.inf
        if threshold < np.inf:
            cap = threshold + 10 * EQUAL_VALUES * max(1.0, abs(threshold))
        question = Question(objective, floors, self.relevant, cap, self.gap if last else EXACT_GAP)
        answer = self._maximum(usable, question)
        maximizer, found = answer.maximizer, answer.maximum
        usable = maximizer.pairs
        if np.isfinite(found.bound):
            self.duals.append(
                StageDuals(objective, usable.states, found.weights, found.state_values)
            )
        enough = found.outcome is Outcome.CAPPED or (
            found.outcome is Outcome.UNBOUNDED and threshold < np.inf
        )
        if found.outcome is Outcome.TIME_LIMIT:
            return self._cut_short(number, found)
        if found.outcome is not Outcome.OPTIMAL and not enough:
            # the stage before has reached the floors, if no pair had to go since
            never = self.pairs.gamma < 1 or not floors or whole
            failed = never and found.outcome is Outcome.INFEASIBLE
            return self._stop(Outcome.FAILED if failed else found.outcome, objective)
        self.pairs = usable
        self.last_solved = self.maximizer, _ = maximizer, found
        scale = max(1.0, abs(found.value)) if np.isfinite(found.value) else 1.0
        reached = min(found.value, found.bound)
        if enough or reached > threshold + SAME_MAXIMUM * scale:
            self.floors[objective] = self.bound[objective] = threshold
            self.binding[objective] = True
            return None
        if not last and usable.gamma == 1 and usable.has_lone_loops(maximizer.occupancy()):
            best = extract_policy(maximizer, found, floors, objective, self.deadline)
            if not best.attained:  # then nothing is best, and what comes after does not matter
                self.bound[objective], self.bound[objective + 1 :] = found.bound, np.inf
                return self._optimum(Outcome.OPTIMAL, objective, best[:2], False)
        if number < self.thresholded:
            self.bound[objective] = min(threshold, found.bound)
            self._price(objective, found, floors)
            self.binding[objective] = found.value >= threshold - EQUAL_VALUES * scale
        self.floors[objective] = min(threshold, reached - KEPT_FLOOR * scale)
        if not last:
            if answer.keeping is None:
                answer.keeping = drop_losing_pairs(maximizer, found)
            self.pairs = answer.keeping
        return None

    def _maximum(self, pairs: StateActions, question: Question) -> KnownMaximum:
        """The maximum of a stage: an earlier one, or by the method at hand."""
        asked = self.method, pairs, question.objective, question.floors, question.gap
        answer = self.known.recall(*asked)
        if answer is None:
            maximizer = self.known.maximizer(self.method, pairs, lambda: self._maximizer_for(pairs))
            self.maximizer = maximizer
            maximizer.go_on(self.deadline, self.progress)
            found = careful_maximum(maximizer, question, self.deadline)
            return self.known.remember(*asked, found)
        self.maximizer = answer.maximizer
        answer.maximizer.go_on(self.deadline, self.progress)
        if answer.maximum.value >= question.cap:
            capped = answer.maximum._replace(outcome=Outcome.CAPPED, bound=np.inf)
            return replace(answer, maximum=capped)
        return answer

    def _maximizer_for(self, pairs: StateActions) -> Maximizer:
        if self.maximizer is None or self.maximizer.is_vertex != (self.method == "lp"):
            maximizer = new_maximizer(self.method, pairs, self.deadline, self.progress)
            maximizer.start_from_policies(
                [pairs.numbers_of(actions[pairs.states]) for actions in self.starts]
            )
            return maximizer
        if self.maximizer.pairs is not pairs:
            return self.maximizer.restricted(pairs)
        return self.maximizer

    def _floors_under_others(self, objective: int) -> dict[int, float]:
        return {j: f for j, f in self.floors.items() if j != objective}

    def _price(self, objective: int, found: StageMaximum, floors: dict[int, float]) -> None:
        """Multipliers of met thresholds; a kept maximum l in between moves with τ_j itself, by ``prices[j,l]``."""
        kept = [j for j in floors if not self.binding[j]]
        for j in floors:
            if self.binding[j]:
                indirect = sum(found.weights[m] * self.prices[j, m] for m in kept)
                self.prices[j, objective] = found.weights[j] - indirect

    def _stop(self, outcome: Outcome, objective: int) -> Optimum:
        """The stage has no maximum: some policy that keeps what the stages before have decided."""
        self.relevant[objective] = outcome is not Outcome.INFEASIBLE
        kept = policy_that_keeps(self.pairs, self.relevant, self.floors, self.deadline)
        return self._optimum(outcome, objective, kept)

    def _cut_short(self, number: int, found: StageMaximum) -> Optimum:
        """The time is over: the best policy of this stage, or of the one before if this one has none yet."""
        objective, threshold = self.plan[number]
        maximizer, best = self.maximizer, found
        if np.isnan(found.value) and self.last_solved is not None:
            maximizer, best = self.last_solved
        assert maximizer is not None
        policy = policy_of(maximizer, best, self._floors_under_others(objective))
        if number < self.thresholded:
            self.bound[objective] = min(threshold, found.bound)
            self.bound[objective + 1 :] = np.inf
        return self._optimum(Outcome.TIME_LIMIT, objective, (maximizer.pairs, policy))

    def _optimum(
        self,
        outcome: Outcome,
        objective: int,
        policy: tuple[StateActions, np.ndarray],
        attained: bool = True,
    ) -> Optimum:
        return Optimum(
            outcome,
            objective,
            *policy,
            self.floors,
            self.relevant,
            self.bound,
            self.prices,
            self.duals,
            attained,
        )


def new_maximizer(
    method: Literal["lp", "columns"],
    pairs: StateActions,
    deadline: float = np.inf,
    progress: Callable[[str], None] | None = None,
) -> Maximizer:
    """The linear program as a whole, or column generation."""
    if method == "lp":
        return OccupancyProgram(pairs, deadline, tight=True)
    return ColumnGeneration(pairs, deadline, progress)


def drop_losing_pairs(maximizer: Maximizer, maximum: StageMaximum) -> StateActions:
    """Only pairs that lose nothing against the maximum's weighted sum can keep its value."""
    pairs, values = maximizer.pairs, maximum.state_values
    scale = max(1.0, np.abs(values).max(initial=0.0))
    if not abs(maximum.bound - maximum.value) <= EQUAL_VALUES * scale:
        return pairs
    gain = pairs.reward @ maximum.weights + pairs.next @ values
    keep = gain >= values[pairs.state] - NO_LOSS * scale
    keep[pairs.best_by_state(gain)] = True
    keep |= maximizer.needed_pairs()
    return pairs.keep(keep, pairs.reached(keep))[0]
