"""What a model with budgets pays so that totals are chances: ``criterion="chance"``.

Objective j with a chance p_j pays the change of ``1{c_j ≥ 0}`` at each step, and that of the start once. Over an
episode that is 1 if its return reaches τ_j, else 0. So the expected total is ``P(R_j ≥ τ_j)``, and p_j its threshold:

    (min(P(R_1 ≥ τ_1), p_1), …, E[R_K])   in lexicographic order, with min(E[R_j], τ_j) where j has no chance.

All of these are linear in how often the augmented model's actions are taken. The first chance that is missed is made as
large as it can be, and kept so.

With a discount, returns are discounted and chances are not. Then time is part of the state as long as a budget is open:
a step at time t pays ``γ^t·r``. Once all are decided, discounting is the same as ending with probability 1−γ at each
step, and it takes one state whatever the time was: who comes there at time t goes on with probability γ^t.
"""

import math

import numpy as np
from jaxtyping import Float

from lexicone.criteria._augment_rewards import BudgetRewards, vector_rewards
from lexicone.criteria._budgets import BudgetTable
from lexicone.models._mdp import MDP
from lexicone.order import Level, Order

__all__ = ["chance_rewards", "order_of_chances", "with_ends", "with_one_more_end"]


def chance_rewards(
    mdp: MDP,
    table: BudgetTable,
    order: Order,
    thresholds: dict[int, float],
    cuts: dict[int, float],
) -> BudgetRewards:
    """The change of ``1{c_j ≥ 0}`` for thresholds with a chance, which is certain from the start if τ_j is infinite.

    Objectives without a chance are paid as they are, those with a cut b the change of ``min(R, b)``. ``thresholds`` has
    the objectives with a budget, in the table's sequence.
    """
    reward = mdp.reward[table.state].copy()
    at_start = np.zeros((len(table.start), mdp.num_objectives))
    if cuts:
        clipped = vector_rewards(mdp, table, thresholds)
        for j in cuts:
            reward[..., j], at_start[:, j] = clipped.reward[..., j], clipped.at_start[:, j]
    columns = dict(zip(thresholds, table.budget.T, strict=True))
    for j, (threshold, chance) in enumerate(zip(order.thresholds, order.chances, strict=True)):
        if chance is None:
            continue
        met = (
            columns[j] >= 0 if np.isfinite(threshold) else np.full(len(table.state), threshold < 0)
        )
        met = met.astype(float)
        reward[..., j] = met[table.next] - met[:, None, None]
        at_start[:, j] = met[table.start]
    return BudgetRewards(reward, at_start)


def order_of_chances(order: Order, cuts: dict[int, float]) -> Order:
    """The order of what the augmented model pays: a threshold with a chance is that chance; of 0, none at all.

    With a cut b, ``b + (E[min(R,b)] − b)/α ≥ τ`` is ``E[min(R,b)] ≥ b + α(τ − b)``.
    """
    levels = []
    for j, level in enumerate(order.levels):
        if level.worst is not None and level.amount is not None:
            threshold = order.thresholds[j]
            level = Level(cuts[j] + level.worst * (threshold - cuts[j]))
        elif level.worst is not None:
            level = Level(None)
        elif level.chance is not None:
            level = Level(level.chance or -math.inf)
        levels.append(level)
    return Order(levels, names=order.names, break_ties=order.break_ties)


def with_one_more_end(mdp: MDP) -> MDP:
    """The same model with one more terminal state, which nothing leads to."""
    end = mdp.num_states

    def more(table: np.ndarray, fill: float | int) -> np.ndarray:
        return np.concatenate([table, np.full((1, *table.shape[1:]), fill, table.dtype)])

    probability = more(mdp.probability, 0.0)
    probability[end, :, 0] = 1.0
    names = mdp.state_names
    return MDP(
        next_state=more(mdp.next_state, end),
        probability=probability,
        reward=more(mdp.reward, 0.0),
        initial=more(mdp.initial, 0.0),
        terminal=more(mdp.terminal, True),
        available=more(mdp.available, True),
        state_names=None if names is None else (*names, "ended"),
        action_names=mdp.action_names,
        objective_names=mdp.objective_names,
    )


def with_ends(mdp: MDP, clock: Float[np.ndarray, " N"], gamma: float, order: Order) -> MDP:
    """The model without a discount whose totals are discounted returns, and chances: see the module's docstring.

    Its last state is the end that stands for discounting; ``clock`` is NaN where all budgets are decided.
    """
    mdp = with_one_more_end(mdp)
    clock = np.append(clock, np.nan)
    is_open = ~np.isnan(clock)
    weight = np.where(is_open, gamma ** np.where(is_open, clock, 0.0), 1.0)
    reward = mdp.reward.copy()
    for k in range(mdp.num_objectives):
        if k == mdp.num_objectives - 1 or order.chances[k] is None:
            reward[..., k] *= weight[:, None, None]
    lasting = np.where(is_open, gamma * weight, gamma)[:, None, None]
    ends = ~is_open[mdp.next_state] & ~mdp.terminal[mdp.next_state]
    staying = np.where(ends, lasting, 1.0)
    probability = np.concatenate([mdp.probability * staying, mdp.probability * (1 - staying)], 2)
    end = np.full_like(mdp.next_state, mdp.num_states - 1)
    return MDP(
        next_state=np.concatenate([mdp.next_state, end], 2),
        probability=probability,
        reward=np.where(probability[..., None] > 0, np.concatenate([reward, reward], 2), 0.0),
        initial=mdp.initial,
        terminal=mdp.terminal,
        available=mdp.available,
        state_names=mdp.state_names,
        action_names=mdp.action_names,
        objective_names=mdp.objective_names,
    )
