"""What a model with budgets in its states pays, so that its best policy is the best for the thresholds.

``vector_rewards`` keeps K objectives: over an episode, objective j < K pays ``min(R_j, τ_j)`` and the last R_K. Then
the order itself compares the expected totals, in stochastic models too. The three scalar rewards of the paper
(appendix "State Augmentation") follow, with c the budgets at the end, p the last objective and λ, C ≥ 0:

    endpoint      p at the end if all c ≥ 0, else Σ_j λ_j·min(c_j, 0) − C          (p is paid at the end only)
    accumulated   the same with the total of p, which becomes part of the state    (Alternative 1)
    penalty       p at every step; at the end nothing more if all c ≥ 0, else that penalty      (Alternative 2)

Where the paper differs. It has λ·min_j c_j for several constraints, which is not lexicographic. It has no C in the
first two, which is right for p ≥ 0: there C is 0. In the third it leaves p of the last step out of a missed
episode, which orders episodes that miss alike by an incomplete p; here it is kept. In the first two such episodes tie.
What the end would pay is paid on the way: at each moment an episode has what it would get if it ended there, a penalty
while a budget is below 0, which is paid back if the budget recovers. The sum at the end is the same, and
who goes round for ever does not escape: it keeps what the budgets are worth where it stays.
"""

import math
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from lexicone.criteria._budgets import (
    LOST,
    PLENTY,
    BudgetTable,
    PossibleSteps,
    largest_walk_total,
    possible_steps,
)
from lexicone.models._mdp import MDP

__all__ = [
    "BudgetRewards",
    "MissPenalty",
    "Scalar",
    "check_totals",
    "common_unit",
    "find_penalty",
    "scalar_rewards",
    "vector_rewards",
    "with_rewards",
]

Scalar = Literal["endpoint", "accumulated", "penalty"]

_SMALLEST_UNIT = 1e-6  # of an objective's scale: a common unit below this is none


class BudgetRewards(NamedTuple):
    """Rewards of a model with budgets."""

    reward: Float[np.ndarray, "N A B R"]
    at_start: Float[np.ndarray, "M R"]
    """BudgetRewards once, whatever happens, in each of the start states."""


class MissPenalty(NamedTuple):
    """What missing thresholds costs."""

    multipliers: tuple[float, ...]
    """λ, one for each tracked objective."""
    constant: float
    """C, the paper's C_l."""


def vector_rewards(mdp: MDP, table: BudgetTable, thresholds: dict[int, float]) -> BudgetRewards:
    """The change of ``min(R_j so far, τ_j)`` at each step; objectives without a budget are paid as they are."""
    reward = mdp.reward[table.state].copy()
    at_start = np.zeros((len(table.start), mdp.num_objectives))
    for column, (j, threshold) in enumerate(thresholds.items()):
        before = table.budget[:, column][:, None, None]
        plenty = table.budget[:, column][table.next] == PLENTY
        paid = reward[..., j]
        with np.errstate(invalid="ignore"):
            change = np.where(plenty, 0.0, np.minimum(before + paid, 0)) - np.minimum(before, 0)
        reward[..., j] = np.where(before == LOST, paid, np.where(before == PLENTY, 0.0, change))
        at_start[:, j] = min(0.0, threshold)
    return BudgetRewards(reward, at_start)


def scalar_rewards(
    mdp: MDP, table: BudgetTable, thresholds: dict[int, float], kind: Scalar, penalty: MissPenalty
) -> BudgetRewards:
    """One objective, as the module's docstring says: the change of what an end would pay here."""
    reward = mdp.reward[table.state]
    last_reward = reward[..., -1]
    short = np.asarray((table.budget < 0).any(axis=1))
    misses = short[table.next]
    if kind == "penalty":
        paid = last_reward.copy()
    elif kind == "endpoint":
        paid = np.where(misses, 0.0, last_reward)
    else:
        assert table.total is not None
        total = np.nan_to_num(table.total)[:, None, None]
        paid = np.where(misses, 0.0, total + last_reward)
        paid -= np.where(short[:, None, None], 0.0, total)
    paid -= penalty.constant * (misses.astype(float) - short[:, None, None])
    at_start = -penalty.constant * short[table.start]
    shortfalls = vector_rewards(mdp, table, thresholds)
    for multiplier, (j, threshold) in zip(penalty.multipliers, thresholds.items(), strict=True):
        paid += multiplier * shortfalls.reward[..., j]
        at_start -= multiplier * max(threshold, 0.0)
    paid[mdp.terminal[table.state]] = 0.0
    return BudgetRewards(paid[..., None], at_start[:, None])


def find_penalty(
    mdp: MDP,
    table: BudgetTable,
    thresholds: dict[int, float],
    kind: Scalar,
    multipliers: tuple[float, ...] | None = None,
) -> MissPenalty:
    """λ and C from the model: large enough, and no larger than that takes.

    Where totals are bounded, all episodes are in order: one unit of a missed budget outweighs everything less
    important, and C is the range of p. Where p has no lower bound (each step costs time) no constants can do that; if
    the thresholds can be met, C then covers what the best episode that meets them gives up, and the optimum is right.
    """
    gain, bottom = _range(mdp, kind)
    shortfall = _shortfalls(mdp, thresholds)
    bounded = math.isfinite(bottom) and all(map(math.isfinite, shortfall[1:]))
    if not math.isfinite(bottom):
        best = _best_that_meets(mdp, table)[table.start]
        met = best > -np.inf
        bottom = float(best[met].min(initial=np.inf)) if met.any() else gain
        meets = bool(met.all())
    else:
        meets = bounded or bool((_best_that_meets(mdp, table)[table.start] > -np.inf).all())
    constant = max(0.0, gain - bottom)
    if multipliers is not None:
        return MissPenalty(multipliers, constant)
    if not bounded and not meets:
        raise ValueError(
            "multiplier: cannot be computed, as totals have no lower bound and no episode that ends "
            'meets the thresholds; give one, or use rewards="vector"'
        )
    if not bounded:
        return MissPenalty((1.0,) * len(thresholds), constant)
    margin = float(np.abs(mdp.reward[..., -1]).max(initial=0.0)) or 1.0
    needed = constant if kind == "penalty" else 0.0
    found: list[float] = []
    for (j, threshold), most in zip(reversed(thresholds.items()), reversed(shortfall), strict=True):
        unit = common_unit(np.append(mdp.reward[..., j][mdp.probability > 0], threshold))
        if unit is None and needed > 0 and most > 0:
            raise ValueError(
                f"multiplier: cannot be computed, as the rewards of objective {j + 1} "
                f"({mdp.objective_labels[j]}) and its threshold have no common unit; give one"
            )
        found.append((needed + margin) / (unit or 1.0))
        needed += found[-1] * most
    return MissPenalty(tuple(reversed(found)), constant)


def _range(mdp: MDP, kind: Scalar) -> tuple[float, float]:
    """The largest p that a missed episode is paid, and the smallest total of p."""
    steps, nothing = possible_steps(mdp), np.zeros(mdp.num_states)
    starts = mdp.initial > 0
    bottom = -float(largest_walk_total(steps, -steps.reward[:, -1], nothing)[starts].max())
    if kind != "penalty":
        return 0.0, bottom
    top = float(largest_walk_total(steps, steps.reward[:, -1], nothing)[starts].max())
    if math.isinf(top):
        raise ValueError(
            f"rewards: the last objective ({mdp.objective_labels[-1]}) can be collected for ever, so "
            f'that no penalty outweighs it; use rewards="vector"'
        )
    return top, bottom


def _shortfalls(mdp: MDP, thresholds: dict[int, float]) -> list[float]:
    """By how much each threshold can be missed at most."""
    steps, nothing = possible_steps(mdp), np.zeros(mdp.num_states)
    worst = [
        -largest_walk_total(steps, -steps.reward[:, j], nothing)[mdp.initial > 0].max()
        for j in thresholds
    ]
    return [max(0.0, float(t - w)) for t, w in zip(thresholds.values(), worst, strict=True)]


def _best_that_meets(mdp: MDP, table: BudgetTable) -> np.ndarray:
    """The largest total of p on any way to an end that meets all thresholds, from each state with budgets."""
    terminal = mdp.terminal[table.state]
    steps = _steps_with_budgets(mdp, table)
    good = terminal & (table.budget == PLENTY).all(axis=1)
    return largest_walk_total(steps, steps.reward[:, 0], np.where(good, 0.0, -np.inf))


def check_totals(mdp: MDP, table: BudgetTable) -> None:
    """Refuse "accumulated" where the total of p can change for ever while no budget is decided."""
    is_open = ~(table.budget == PLENTY).all(axis=1) & ~(table.budget == LOST).any(axis=1)
    steps, nothing = _steps_with_budgets(mdp, table), np.zeros(len(table.state))
    inside = is_open[steps.source] & is_open[steps.target]
    steps = PossibleSteps(
        steps.source[inside], steps.target[inside], steps.reward[inside], len(nothing)
    )
    paid = steps.reward[:, 0]
    endless = np.isinf(largest_walk_total(steps, paid, nothing)) | np.isinf(
        largest_walk_total(steps, -paid, nothing)
    )
    if endless.any():
        where = mdp.state_label(int(table.state[np.argmax(endless)]))
        raise ValueError(
            f'rewards: "accumulated" has no end of states, as a loop after {where} changes the total of '
            f"the last objective ({mdp.objective_labels[-1]}) for ever while it is open whether the "
            'thresholds are met; use "penalty" or "vector"'
        )


def _steps_with_budgets(mdp: MDP, table: BudgetTable) -> PossibleSteps:
    """The steps between states with budgets, and what they pay of p."""
    terminal = mdp.terminal[table.state]
    keep = (mdp.probability[table.state] > 0) & ~terminal[:, None, None]
    source = np.broadcast_to(np.arange(len(terminal))[:, None, None], keep.shape)[keep]
    last_reward = mdp.reward[table.state][..., -1][keep]
    return PossibleSteps(source, table.next[keep], last_reward[:, None], len(terminal))


def with_rewards(mdp: MDP, reward: Float[np.ndarray, "S A B R"]) -> MDP:
    """The same model that pays something else, without names."""
    return MDP(
        next_state=mdp.next_state,
        probability=mdp.probability,
        reward=reward,
        initial=mdp.initial,
        terminal=mdp.terminal,
        available=mdp.available,
    )


def common_unit(numbers: Float[np.ndarray, " n"]) -> float | None:
    """The largest number that all are multiples of, up to rounding (Euclid); None if there is no such number."""
    left = np.unique(np.abs(numbers))
    if not left.any():
        return None
    rounding = 1e-9 * left[-1]
    unit = 0.0
    for number in left:
        while number > rounding:
            rest = unit % number
            unit, number = number, 0.0 if number - rest <= rounding else rest
        if 0 < unit < _SMALLEST_UNIT * left[-1]:
            return None
    return float(unit)
