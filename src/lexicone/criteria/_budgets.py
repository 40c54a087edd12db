"""Budgets: what is left of each constrained return, in every state that can be reached with it.

The budget of objective j after some steps is ``c_j = Σ r_j − τ_j``; the episode meets the threshold if it ends with
``c_j ≥ 0``. With a discount γ it is counted in today's units: it starts at −τ_j, and a step takes it to
``(c_j + r_j)/γ``.

Two kinds of budgets need no number. *Plenty*: whatever comes, c_j never falls below 0. *Lost*: whatever comes, it stays
below 0. They are written +∞ and −∞. All budgets of one kind are merged, so that the table stays finite where a loop
only costs or only pays.
"""

from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse

from lexicone.models._mdp import MDP
from lexicone.models._reachability import strong_components

__all__ = [
    "LOST",
    "PLENTY",
    "BudgetTable",
    "BudgetsNotEnumerable",
    "PossibleSteps",
    "enumerate_budgets",
    "largest_walk_total",
    "possible_steps",
]

PLENTY = np.inf
"""The budget that never falls below 0, whatever comes."""
LOST = -np.inf
"""The budget that stays below 0, whatever comes."""
_ROUNDING = 1e-12  # of the largest reward: what is smaller is no improvement
_NOISE = 1e-15  # of an objective's scale: what is smaller is no reward


class BudgetsNotEnumerable(ValueError):
    """There are too many budgets, or so fine ones that the tolerance would merge them."""


class PossibleSteps(NamedTuple):
    """The possible steps between states, sorted by where they start; terminal states have none."""

    source: Int[np.ndarray, " E"]
    target: Int[np.ndarray, " E"]
    reward: Float[np.ndarray, "E K"]
    num_states: int


class BudgetTable(NamedTuple):
    """States with budgets, numbered in the order in which a breadth-first search from the start finds them."""

    state: Int[np.ndarray, " N"]
    """The state of the model."""
    budget: Float[np.ndarray, "N J"]
    """One column for each tracked objective, in the model's order; +∞ plenty, −∞ lost."""
    total: Float[np.ndarray, " N"] | None
    """The last objective's total so far, where it was asked for and still matters; NaN where it does not."""
    next: Int[np.ndarray, "N A B"]
    start: Int[np.ndarray, " M"]
    """The M numbers of the model's start states, in their order."""
    clock: Float[np.ndarray, " N"] | None = None
    """How many steps have been taken, where it was asked for and a budget is still open; NaN where none is."""


def possible_steps(mdp: MDP) -> PossibleSteps:
    """All steps of positive probability from states that are not terminal."""
    keep = (mdp.probability > 0) & ~mdp.terminal[:, None, None]
    source = np.broadcast_to(np.arange(mdp.num_states)[:, None, None], keep.shape)[keep]
    return PossibleSteps(source, mdp.next_state[keep], mdp.reward[keep], mdp.num_states)


def largest_walk_total(
    steps: PossibleSteps,
    weight: Float[np.ndarray, " E"],
    final: Float[np.ndarray, " S"],
    gamma: float = 1.0,
) -> Float[np.ndarray, " S"]:
    """The largest ``Σ_t γ^t·weight + γ^T·final`` of any walk from each state; +∞ if a loop pays for ever.

    ``final`` is what it is worth to stop in a state, −∞ where one may not. For γ<1 the result is not too small,
    and too large by rounding alone.
    """
    value = final.astype(float)
    if not len(weight):
        return value
    scale = max(1.0, float(np.abs(weight).max()))
    first = np.flatnonzero(np.diff(steps.source, prepend=-1))
    owner = steps.source[first]
    if gamma == 1:
        value[_paying_components(steps, weight, np.isfinite(final))] = np.inf
    sweeps = 0
    while True:
        found = np.maximum(
            value[owner], np.maximum.reduceat(weight + gamma * value[steps.target], first)
        )
        with np.errstate(invalid="ignore"):
            better = found > value[owner] + _ROUNDING * scale
        if not better.any():
            break
        sweeps += 1
        if gamma == 1 and sweeps > steps.num_states:  # a walk without loops would be done
            found = np.where(better, np.inf, found)
        value[owner] = found
    if gamma < 1:
        value[owner] += _ROUNDING * scale / (1 - gamma)
    return value


def _paying_components(
    steps: PossibleSteps, weight: np.ndarray, may_stop: np.ndarray
) -> np.ndarray:
    """States of strongly connected parts in which some step pays, none costs, and from which one may stop."""
    graph = sparse.csr_array(
        (np.ones(len(weight), dtype=bool), (steps.source, steps.target)),
        shape=(steps.num_states, steps.num_states),
    )
    label, leaves = strong_components(graph)
    inside = label[steps.source] == label[steps.target]
    pays, costs, stops = np.zeros((3, len(leaves)), dtype=bool)
    pays[label[steps.source[inside & (weight > 0)]]] = True
    costs[label[steps.source[inside & (weight < 0)]]] = True
    stops[label[may_stop]] = True
    return (pays & ~costs & stops)[label]


def enumerate_budgets(
    mdp: MDP,
    thresholds: dict[int, float],
    gamma: float,
    *,
    with_total: bool = False,
    with_clock: bool = False,
    tolerance: float,
    max_states: int,
) -> BudgetTable:
    """Every state with every budget it can be reached with; ``thresholds`` has the tracked objectives.

    Budgets that differ by less than about ``tolerance`` times the objective's scale are one; the first that was
    found stands for them. ``with_total`` also tracks the last objective's total, until every budget is plenty or
    one is lost. ``with_clock`` counts the steps instead, until every budget is plenty or lost.
    """
    extra = "total" if with_total else "clock" if with_clock else None
    return _Enumeration(mdp, thresholds, gamma, extra, tolerance, max_states).run()


class _Enumeration:
    """Breadth first, a level at a time."""

    def __init__(
        self,
        mdp: MDP,
        thresholds: dict[int, float],
        gamma: float,
        extra: Literal["total", "clock"] | None,
        tolerance: float,
        max_states: int,
    ) -> None:
        self.mdp, self.gamma, self.extra, self.max_states = mdp, gamma, extra, max_states
        self.tracked = [*thresholds]
        self.columns = [*self.tracked]
        first = [-threshold for threshold in thresholds.values()]
        if extra is not None:
            self.columns.append(mdp.num_objectives - 1)
            first.append(0.0)
        self.first = np.array(first)
        steps = possible_steps(mdp)
        self.paid = np.abs(steps.reward[mdp.reachable()[steps.source]][:, self.columns])
        self.scale = np.maximum(self.paid.max(axis=0, initial=1e-300), np.abs(self.first))
        self.resolution = tolerance * self.scale
        if extra == "clock":
            self.resolution[-1] = 1.0
        anywhere = np.zeros(mdp.num_states)
        self.most_to_come = np.array(
            [largest_walk_total(steps, steps.reward[:, j], anywhere, gamma) for j in self.tracked]
        ).reshape(-1, mdp.num_states)
        self.least_to_come = -np.array(
            [largest_walk_total(steps, -steps.reward[:, j], anywhere, gamma) for j in self.tracked]
        ).reshape(-1, mdp.num_states)
        self.number: dict[bytes, int] = {}
        self.states: list[np.ndarray] = []
        self.budgets: list[np.ndarray] = []

    def run(self) -> BudgetTable:
        begin = np.flatnonzero(self.mdp.initial)
        budget = self._merged(begin, np.tile(self.first, (len(begin), 1)))
        self._check_resolution(np.asarray(np.isfinite(budget).any(axis=0)))
        start, state, budget = self._number(begin, budget)
        levels = []
        while len(state):
            moves, *reached = self._successors(state, budget)
            numbers, state, budget = self._number(*reached)
            levels.append((moves, numbers))
        return self._table(start, levels)

    def _check_resolution(self, is_open: np.ndarray) -> None:
        """Refuse to merge budgets that a single reward tells apart."""
        for column in np.flatnonzero(is_open):
            if self.extra == "clock" and column == len(self.tracked):
                continue
            scale, paid = self.scale[column], self.paid[:, column]
            same = max(self.resolution[column], _ROUNDING * scale)
            least = paid[paid > _NOISE * scale].min(initial=np.inf)
            if same >= 0.5 * least:
                j = self.columns[column]
                raise BudgetsNotEnumerable(
                    f"tolerance: objective {j + 1} ({self.mdp.objective_labels[j]}) has rewards or a "
                    f"threshold of size {scale:.6g}, and budgets that differ by {same:.6g} are taken for "
                    f"one; its rewards of size {least:.6g} would be lost. Lower the tolerance, or "
                    "take smaller numbers for what is out of reach in any case (-inf: no threshold)"
                )

    def _merged(self, state: np.ndarray, budget: np.ndarray) -> np.ndarray:
        """Budgets ``[n,D]`` with plenty and lost ones as such; total or clock dropped once nothing is open."""
        count = len(self.tracked)
        budget = budget.copy()
        own, room = budget[:, :count], self.resolution[:count]
        with np.errstate(invalid="ignore"):  # ∞ − ∞ is neither
            plenty = own + self.least_to_come.T[state] >= -room
            lost = own + self.most_to_come.T[state] < -room
        own[plenty & (own != LOST)] = PLENTY
        own[lost & ~plenty] = LOST
        own[np.abs(own) <= room] = 0.0
        if self.extra == "total":
            decided = (own == PLENTY).all(axis=1) | (own == LOST).any(axis=1)
            budget[decided, count] = np.nan
        elif self.extra == "clock":
            budget[np.isinf(own).all(axis=1), count] = np.nan
        return budget

    def _successors(
        self, state: np.ndarray, budget: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Which entries ``[n,A,B]`` are steps, and the states and budgets that those lead to."""
        mdp = self.mdp
        moves = (mdp.probability[state] > 0) & ~mdp.terminal[state][:, None, None]
        reward = mdp.reward[state][..., self.columns]
        after = (budget[:, None, None, :] + reward) / self.gamma
        if self.extra == "clock":
            after[..., -1] = budget[:, None, None, -1] + 1.0
        target = mdp.next_state[state][moves]
        return moves, target, self._merged(target, after[moves])

    def _number(
        self, state: np.ndarray, budget: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The numbers of these rows, and the states and budgets of those that are new."""
        grid = np.rint(budget / self.resolution)
        grid = np.nan_to_num(grid, nan=2.0**61, posinf=2.0**60, neginf=-(2.0**60)).astype(np.int64)
        rows = np.concatenate([state[:, None].astype(np.int64), grid], axis=1)
        _, chosen, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        numbers = np.empty(len(chosen), dtype=np.int64)
        new = []
        for u in np.argsort(chosen).tolist():  # in the order in which they were found
            row, known = int(chosen[u]), len(self.number)
            numbers[u] = self.number.setdefault(rows[row].tobytes(), known)
            if numbers[u] == known:
                new.append(row)
        self.states.append(state[new])
        self.budgets.append(budget[new])
        if len(self.number) > self.max_states:
            self._refuse_too_many()
        return numbers[inverse.reshape(-1)], state[new], budget[new]

    def _table(self, start: np.ndarray, levels: list[tuple[np.ndarray, np.ndarray]]) -> BudgetTable:
        state, budget = np.concatenate(self.states), np.concatenate(self.budgets)
        shape = (len(state), self.mdp.num_actions, self.mdp.num_successors)
        table = np.broadcast_to(np.arange(len(state))[:, None, None], shape).copy()
        row = 0
        for moves, numbers in levels:
            table[row : row + len(moves)][moves] = numbers
            row += len(moves)
        count = len(self.tracked)
        last = None if self.extra is None else budget[:, count]
        total, clock = (last if self.extra == e else None for e in ("total", "clock"))
        return BudgetTable(state, budget[:, :count], total, table, start, clock)

    def _refuse_too_many(self) -> None:
        """Too many: say how many there are so far, and which objective has the most different budgets."""
        budget = np.concatenate(self.budgets)
        different = []
        for column, step in zip(budget.T, self.resolution, strict=True):
            numbers = column[np.isfinite(column)]
            different.append(len(np.unique(np.rint(numbers / step))))
        worst = int(np.argmax(different[:-1] if self.extra == "clock" else different))
        what = "totals" if worst == len(self.tracked) else "budgets"
        label = self.mdp.objective_labels[self.columns[worst]]
        raise BudgetsNotEnumerable(
            f"max_states: more than {self.max_states} states with their budgets; after "
            f"{len(self.states)} levels there are {len(budget)}, for {self.mdp.num_states} states of "
            f"the model. Objective {self.columns[worst] + 1} ({label}) is to blame: it takes "
            f"{different[worst]} different {what} so far. Round its rewards to a common unit, raise "
            f"tolerance or max_states, or let no loop both pay and cost it"
        )
