"""The best deterministic policy: branch and bound on the integer program, stage by stage.

The integer program is the occupancy program with one pair per state. Its relaxation, the linear program, has
solutions that randomise in few states; branching decides one of those. No big constants are
needed: to fix a state's pair is to drop the others. Every candidate is evaluated exactly.
"""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from lexicone.exact._end_components import restrict_to_finite
from lexicone.exact._highs import Outcome
from lexicone.exact._occupancy_program import OccupancyProgram
from lexicone.exact._policy_iteration_total import ending_policy
from lexicone.exact._sparse_policy import policy_from_occupancy
from lexicone.exact._stages import stage_plan
from lexicone.exact._state_actions import STAY, StateActions
from lexicone.exact._tolerances import EQUAL_VALUES

__all__ = ["MAX_STATES", "DeterministicOptimum", "solve_deterministic", "too_many_states"]

MAX_STATES = 400
"""Largest model, in states that can be reached; the search may grow exponentially with it."""

_MAX_NODES = 20_000


def too_many_states(count: int) -> str:
    """Why a model with that many states to decide in is not searched; empty if it is."""
    if count <= MAX_STATES:
        return ""
    return (
        f"takes models of up to {MAX_STATES} states that can be reached and are not terminal; "
        f"this one has {count}"
    )


class DeterministicOptimum(NamedTuple):
    """The best deterministic policy found."""

    outcome: Outcome
    """OPTIMAL, INFEASIBLE (``objective`` is −∞), UNBOUNDED (it is +∞) or TIME_LIMIT (too long, or too many nodes)."""
    objective: int
    policy: Int[np.ndarray, " S"]
    """The number of the pair in each state."""
    bound: Float[np.ndarray, " K"]


def solve_deterministic(
    pairs: StateActions,
    thresholds: Float[np.ndarray, " K"],
    evaluate: Callable[[np.ndarray], np.ndarray],
    *,
    break_ties: bool = False,
    starts: Sequence[Int[np.ndarray, " S"]] = (),
    finite: bool = False,
    deadline: float = np.inf,
    progress: Callable[[str], None] | None = None,
) -> DeterministicOptimum:
    """Stage i searches for the deterministic policy with the largest ``min(V_i, τ_i)`` that keeps the floors.

    ``evaluate`` gives the K values of a policy (one pair per state). Pairs must not include staying.
    ``starts`` are policies to start from: what cannot beat them is never searched. If ``finite``, no objective may be
    −∞, from the first stage on (γ=1). After ``deadline`` (of
    `time.monotonic`) the search is cut short.
    """
    count = pairs.num_objectives
    plan, thresholded = stage_plan(thresholds, break_ties)
    relevant = np.full(count, finite)
    floors: dict[int, float] = {}
    bound = np.full(count, -np.inf)
    best = starts[0] if starts else pairs.first
    for number, (i, threshold) in enumerate(plan):
        relevant[i] = True
        search = _Search(pairs, i, threshold, dict(floors), relevant, evaluate, finite, progress)
        for policy in (best, *starts):
            search.consider(policy)
        search.run(deadline)
        if search.best is not None:
            best = search.best
        if number < thresholded:
            bound[i] = min(threshold, max(search.bound, search.value))
        if search.value == np.inf and threshold == np.inf:
            bound[i:] = np.inf
            return DeterministicOptimum(Outcome.UNBOUNDED, i, best, bound)
        if search.cut or search.nodes >= _MAX_NODES:
            bound[i + 1 :] = np.inf
            return DeterministicOptimum(Outcome.TIME_LIMIT, i, best, bound)
        if search.best is None or search.value == -np.inf:
            bound[i + 1 :] = np.inf
            return DeterministicOptimum(Outcome.INFEASIBLE, i, best, bound)
        floors[i] = min(threshold, search.value)
    return DeterministicOptimum(Outcome.OPTIMAL, count - 1, best, bound)


class _Search:
    """Depth-first branch and bound for one stage."""

    def __init__(
        self,
        pairs: StateActions,
        objective: int,
        threshold: float,
        floors: dict[int, float],
        relevant: np.ndarray,
        evaluate: Callable[[np.ndarray], np.ndarray],
        finite: bool,
        progress: Callable[[str], None] | None,
    ) -> None:
        self.pairs, self.objective, self.threshold = pairs, objective, threshold
        self.floors = {j: f for j, f in floors.items() if j != objective}
        self.relevant, self.evaluate, self.progress = relevant.copy(), evaluate, progress
        self.finite = finite
        self.best: np.ndarray | None = None
        self.value = -np.inf
        self.bound = -np.inf
        """Of what the search left out; it stays −∞ if that is nothing."""
        self.nodes = 0
        self.cut = False

    def consider(self, policy: np.ndarray) -> float:
        """Take the policy if it is the best so far; its value, −∞ if it falls below a floor."""
        values = self.evaluate(policy)
        if self.finite and (values == -np.inf).any():
            return -np.inf
        for j, floor in self.floors.items():
            if values[j] < floor - EQUAL_VALUES * max(1.0, abs(floor)):
                return -np.inf
        value = min(values[self.objective], self.threshold)
        if value > self.value or self.best is None:
            self.best, self.value = policy, value
        return value

    def run(self, deadline: float) -> None:
        """Search all pairs; the nodes still open after the limits only leave their bound."""
        stack = [(np.ones(self.pairs.num_pairs, dtype=bool), self.threshold)]
        while stack:
            allowed, above = stack.pop()
            if not above > self.value + self._slack():
                continue
            self.cut = self.cut or self.nodes >= _MAX_NODES or time.monotonic() > deadline
            if self.cut:
                self.bound = max(self.bound, above)
                continue
            self.nodes += 1
            if self.progress is not None and self.nodes % 200 == 0:
                self.progress(
                    f"objective {self.objective + 1}: {self.nodes} nodes, best {self.value:.9g}"
                )
            stack.extend(self._branch(allowed, above))

    def _slack(self) -> float:
        return EQUAL_VALUES * max(1.0, abs(self.value)) if np.isfinite(self.value) else 0.0

    def _branch(self, allowed: np.ndarray, above: float) -> list[tuple[np.ndarray, float]]:
        pairs = self.pairs
        open_pairs, rows = pairs.keep(allowed, pairs.reached(allowed))
        usable = restrict_to_finite(open_pairs, self.relevant)
        if usable is None:
            return []
        program = OccupancyProgram(usable)
        stage = program.maximize(self.objective, self.floors)
        fill = ending_policy(usable)
        if stage.outcome is Outcome.OPTIMAL:
            above = min(above, stage.bound)
            weights = policy_from_occupancy(usable, program.occupancy(), fill)
        elif stage.outcome is Outcome.UNBOUNDED:
            weights = np.zeros(usable.num_pairs)
            weights[fill] = 1.0
        else:
            return []
        if not above > self.value + self._slack():
            return []
        used = np.zeros(pairs.num_pairs)
        place = np.searchsorted(open_pairs.states, usable.states)
        moves = np.flatnonzero(usable.action != STAY)
        number = {
            key: n
            for n, key in enumerate(
                zip(open_pairs.state.tolist(), open_pairs.action.tolist(), strict=True)
            )
        }
        for n in moves.tolist():
            key = (int(place[usable.state[n]]), int(usable.action[n]))
            used[rows[number[key]]] = weights[n]
        value = self.consider(pairs.best_by_state(np.where(allowed, used, -1.0)))
        if value >= min(above, self.threshold) - self._slack():
            return []
        state = self._undecided(allowed, used)
        if state is None:
            return []
        options = np.flatnonzero(allowed & (pairs.state == state))
        children = []
        # the last, the likeliest, is searched first
        for n in options[np.argsort(used[options], kind="stable")]:
            child = allowed.copy()
            child[options] = False
            child[n] = True
            children.append((child, above))
        return children

    def _undecided(self, allowed: np.ndarray, used: np.ndarray) -> int | None:
        """A reached state with several pairs: one that randomises, else one that is visited, else any."""
        pairs = self.pairs
        open_states = np.bincount(pairs.state[allowed], minlength=pairs.num_states) > 1
        open_states &= pairs.reached(allowed)
        if not open_states.any():
            return None
        active = np.bincount(pairs.state[used > 0], minlength=pairs.num_states)
        return int(np.argmax(np.where(open_states, 1 + np.minimum(active, 2), 0)))
