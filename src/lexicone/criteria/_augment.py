"""State augmentation: budgets in the state, so that thresholds hold for episodes (appendix "State Augmentation").

A stationary policy cannot know what an episode has already spent. In the augmented model a state is (s, c): a state of
the model and the budgets ``c_j = Σ r_j − τ_j`` left, so its policies do know. This is ``criterion="episode"``: the best
policy is the one with the best ``(E[min(R_1,τ_1)], …, E[R_K])`` in lexicographic order, R being the returns of
one episode. Among episodes of a deterministic model that is the thresholded order itself.

>>> import lexicone as lx
>>> mdp, order = lx.tasks.maze("concave"), lx.Order([0.5])
>>> found = augmentation(mdp, order)
>>> solution = lx.solve(found.mdp, order)                      # the same order for both models
>>> solution.values.round(6).tolist()
[0.5, 0.0]
>>> found.lift(solution.policy).simulate(episodes=100).returns.shape  # the policy with memory, on the model itself
(100, 2)
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from jaxtyping import Float, Int

from lexicone._base.checks import check_kind, check_range, check_whole, is_listing, is_number
from lexicone.criteria._augment_rewards import (
    BudgetRewards,
    MissPenalty,
    check_totals,
    find_penalty,
    scalar_rewards,
    vector_rewards,
    with_rewards,
)
from lexicone.criteria._budgets import LOST, PLENTY, BudgetTable, enumerate_budgets
from lexicone.criteria._chance_rewards import (
    chance_rewards,
    order_of_chances,
    with_ends,
    with_one_more_end,
)
from lexicone.criteria._policy_with_memory import Lifted
from lexicone.models._evaluation import evaluate
from lexicone.models._layout import Layout
from lexicone.models._matching import match_order
from lexicone.models._mdp import MDP, check_model
from lexicone.order import Order, OrderLike

__all__ = [
    "Augmented",
    "Chances",
    "Rewards",
    "augment",
    "augmentation",
    "augmentation_with_cuts",
]

Rewards = Literal["vector", "endpoint", "accumulated", "penalty", "chance"]

_MAX_STATES = 200_000
_TOLERANCE = 1e-9


class Chances(NamedTuple):
    """How probable it is that an episode meets the thresholds."""

    rates: Float[np.ndarray, " J"]
    """NaN for thresholds that hold for the mean, beside others that have a chance: those have no budget."""
    overall: float
    """That it meets all of them; of mixed ones, all that have a chance."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Augmented:
    """A model with budgets in its states, and what its states are."""

    mdp: MDP
    """The augmented model: N states, the actions of the original."""
    tracked: MDP
    """The same with the original's K rewards."""
    original: MDP
    order: Order
    gamma: float
    rewards: Rewards
    state: Int[np.ndarray, " N"]
    """The original's state in each."""
    budget: Float[np.ndarray, "N J"]
    """What is left: +∞ more than any continuation can use, −∞ lost for certain, NaN where τ is infinite."""
    penalty: MissPenalty | None
    """λ and C of the scalar rewards."""
    asked: Order
    """The order of what `mdp` pays: with ``rewards="chance"`` chances are its thresholds; scalar rewards have none."""
    solve_gamma: float
    """The discount with which `mdp` is to be solved: 1 with ``rewards="chance"``."""

    def lift(self, policy: Any) -> Lifted:
        """A policy of the augmented model (``[N,A]`` probabilities or ``[N]`` actions) as one with memory."""
        return Lifted(augmented=self, table=self.mdp.policy_table(policy))

    def spread(self, policy: Any) -> Float[np.ndarray, "N A"]:
        """A stationary policy of the original, as one that ignores the budgets."""
        return self.original.policy_table(policy)[self.state]

    def chances(self, policy: Any) -> Chances:
        """Exactly how probable it is that an episode of an augmented policy meets the thresholds.

        An episode that never ends counts by the budget that it stays at.
        """
        limits = np.array(self.order.thresholds)
        with np.errstate(invalid="ignore"):
            met = np.where(np.isfinite(limits), self.budget >= 0, limits < 0)
        unknown = np.array([self.rewards == "chance" and p is None for p in self.order.chances])
        unknown = unknown.astype(bool)
        met = np.column_stack([met, (met | unknown).all(axis=1)]).astype(float)
        tables = self.tracked
        changes = met[tables.next_state] - met[:, None, None, :]
        model = with_rewards(tables, np.where(tables.terminal[:, None, None, None], 0.0, changes))
        found = tables.initial @ met + evaluate(model, policy, 1.0)
        found = np.clip(found, 0.0, 1.0)
        overall = math.nan if len(unknown) and unknown.all() else float(found[-1])
        return Chances(np.where(unknown, np.nan, found[:-1]), overall)


def augment(
    mdp: MDP,
    order: OrderLike,
    rewards: Rewards = "vector",
    *,
    gamma: float = 1.0,
    multiplier: float | Sequence[float] | None = None,
    tolerance: float = _TOLERANCE,
    max_states: int = _MAX_STATES,
) -> MDP:
    """The model with budgets in its states: `augmentation` without what is needed to lift policies back.

    Args:
        mdp, order, rewards, gamma, multiplier, tolerance, max_states: as in `augmentation`.
    """
    return augmentation(
        mdp,
        order,
        rewards,
        gamma=gamma,
        multiplier=multiplier,
        tolerance=tolerance,
        max_states=max_states,
    ).mdp


def augmentation(
    mdp: MDP,
    order: OrderLike,
    rewards: Rewards = "vector",
    *,
    gamma: float = 1.0,
    multiplier: float | Sequence[float] | None = None,
    tolerance: float = _TOLERANCE,
    max_states: int = _MAX_STATES,
) -> Augmented:
    """Every state of the model with every budget that it can be reached with.

    Args:
        mdp: the model.
        order: the thresholds, on the returns of single episodes; those of ±∞ need no budget. Names are matched with
            the model's, and the result has the order's sequence.
        rewards: ``"vector"`` keeps the K objectives and the order (any model, any number of constraints).
            ``"endpoint"``, ``"accumulated"`` and ``"penalty"`` are the paper's: one objective, whose total orders
            the episodes that end (see `lexicone.criteria._augment_rewards`). In a stochastic model they weigh the
            chance of missing a threshold against p by their constants, as the paper's do: its proof is about
            episodes. ``"chance"`` keeps the K objectives too: those whose thresholds have a chance pay 1 in
            episodes that meet them, so that totals are chances (see `lexicone.criteria._chance_rewards`).
        gamma: the discount of the returns that thresholds are compared with, above 0. Solve the result
            with the same γ, or with 1 for ``"chance"``. The scalar rewards take 1 only.
        multiplier: λ of the scalar rewards, for each constraint or for all; computed if left out.
        tolerance: of an objective's scale (the largest of its rewards and its threshold): budgets nearer to each
            other than that are one. Refused where some reward is so much smaller that it would be lost.
        max_states: more are refused, with the objective that is to blame.

    With ``"vector"``, episodes pay ``min(0, τ_j)`` once at the start; with the others, the penalty for what a positive
    τ_j still lacks. For that the start states have copies, which are left at the first step; one that is terminal
    takes a step to itself.
    """
    check_model(mdp, gamma)
    gamma = float(gamma)
    check_kind("rewards", rewards, get_args(Rewards))
    criterion = "chance" if rewards == "chance" else "episode"
    mdp, order = match_order(mdp, order, gamma=gamma, criterion=criterion)
    _check(mdp, order, rewards, gamma, multiplier, tolerance, max_states)
    if any(level.worst is not None for level in order.levels):
        raise ValueError("order: one model does not do for the worst episodes; use search")
    return augmentation_with_cuts(
        mdp,
        order,
        rewards,
        {},
        gamma=gamma,
        multiplier=multiplier,
        tolerance=tolerance,
        max_states=max_states,
    )


def augmentation_with_cuts(
    mdp: MDP,
    order: Order,
    rewards: Rewards,
    cuts: dict[int, float],
    *,
    gamma: float,
    multiplier: float | Sequence[float] | None = None,
    tolerance: float = _TOLERANCE,
    max_states: int = _MAX_STATES,
) -> Augmented:
    """`augmentation` of what has been checked; objectives with a cut b pay ``min(R, b)`` (see `_tails`)."""
    by_chance = rewards == "chance"
    thresholds = {
        j: t
        for j, t in enumerate(order.thresholds)
        if np.isfinite(t) and not (by_chance and order.chances[j] is None)
    }
    thresholds = dict(sorted({**thresholds, **cuts}.items()))
    multipliers = None if multiplier is None else _multipliers(multiplier, len(thresholds))

    def enumerated(with_total: bool) -> BudgetTable:
        return enumerate_budgets(
            mdp,
            thresholds,
            gamma,
            with_total=with_total,
            with_clock=by_chance and gamma < 1,
            tolerance=tolerance,
            max_states=max_states,
        )

    table, penalty = enumerated(with_total=False), None
    if rewards == "accumulated":
        check_totals(mdp, table)
        table = enumerated(with_total=True)
    if rewards == "vector":
        paid = vector_rewards(mdp, table, thresholds)
    elif rewards == "chance":
        paid = chance_rewards(mdp, table, order, thresholds, cuts)
    else:
        penalty = find_penalty(mdp, table, thresholds, rewards, multipliers)
        paid = scalar_rewards(mdp, table, thresholds, rewards, penalty)
    original = BudgetRewards(
        mdp.reward[table.state], np.zeros((len(table.start), mdp.num_objectives))
    )
    copies = bool(paid.at_start.any())
    names = mdp.objective_names if rewards in ("vector", "chance") else ("episode",)
    budget = np.full((len(table.state), len(order)), np.nan)
    budget[:, list(thresholds)] = table.budget
    budget = budget[:, :-1]
    again = table.start if copies else np.zeros(0, dtype=np.int64)
    model = _model(mdp, table, paid, copies, names, thresholds)
    tracked = _model(mdp, table, original, copies, mdp.objective_names, thresholds)
    rows = np.concatenate([np.arange(len(table.state)), again])
    if table.clock is not None:
        model = with_ends(model, table.clock[rows], gamma, order)
        tracked = with_one_more_end(tracked)
        rows = np.append(rows, 0)  # the end stands for any state
    asked = order if rewards == "vector" else Order([])
    return Augmented(
        mdp=model,
        tracked=tracked,
        original=mdp,
        order=order,
        gamma=gamma,
        rewards=rewards,
        state=table.state[rows],
        budget=budget[rows],
        penalty=penalty,
        asked=order_of_chances(order, cuts) if by_chance else asked,
        solve_gamma=1.0 if by_chance else gamma,
    )


def _model(
    mdp: MDP,
    table: BudgetTable,
    paid: BudgetRewards,
    copies: bool,
    objective_names: tuple[str, ...] | None,
    thresholds: dict[int, float],
) -> MDP:
    """The tables of the augmented model, with copies of the start states at their end."""
    state, start, following = table.state, table.start, table.next
    probability, reward = mdp.probability[state], paid.reward
    reward = np.where(probability[..., None] > 0, reward, 0.0)
    terminal, initial = mdp.terminal[state], np.zeros(len(state))
    available = mdp.available[state]
    initial[start] = mdp.initial[mdp.initial > 0]
    names = _names(mdp, table, thresholds)
    if copies:
        state = np.concatenate([state, state[start]])
        following = np.concatenate([following, following[start]])
        probability = np.concatenate([probability, probability[start]])
        available = np.concatenate([available, available[start]])
        at_start = reward[start] + paid.at_start[:, None, None, :]
        reward = np.concatenate([reward, at_start])
        terminal = np.concatenate([terminal, np.zeros(len(start), dtype=bool)])
        initial = np.concatenate([np.zeros(len(initial)), initial[start]])
        names = (*names, *(f"{names[n]}, start" for n in start))
    layout = mdp.layout and Layout(mdp.layout.rows, mdp.layout.positions[state])
    return MDP(
        next_state=following,
        probability=probability,
        reward=reward,
        initial=initial,
        terminal=terminal,
        available=available,
        state_names=names,
        action_names=mdp.action_names,
        objective_names=objective_names,
        layout=layout,
    )


def _names(mdp: MDP, table: BudgetTable, thresholds: dict[int, float]) -> tuple[str, ...]:
    """ "(1,0) | 3": the state and its budgets; numbered where two look the same."""
    words = {PLENTY: "plenty", LOST: "lost"}
    columns = table.budget.T if table.total is None else [*table.budget.T, table.total]
    texts = [[words.get(c, f"{c:.6g}") for c in column.tolist()] for column in columns]
    names = []
    seen: dict[str, int] = {}
    for n, s in enumerate(table.state.tolist()):
        own = ", ".join(text[n] for text in texts if text[n] != "nan")
        label = mdp.state_names[s] if mdp.state_names else f"state {s}"
        name = f"{label} | {own}" if thresholds else label
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return tuple(names)


def _multipliers(multiplier: Any, count: int) -> tuple[float, ...]:
    several = tuple(multiplier) if is_listing(multiplier) else (multiplier,) * count
    if len(several) != count or not all(is_number(m) and 0 < float(m) < math.inf for m in several):
        raise ValueError(
            f"multiplier: expected a positive number or {count} of them, got {multiplier!r}"
        )
    return tuple(map(float, several))


def _check(
    mdp: MDP,
    order: Order,
    rewards: str,
    gamma: float,
    multiplier: float | Sequence[float] | None,
    tolerance: float,
    max_states: int,
) -> None:
    check_range("gamma", gamma, 0, 1, above=True)
    check_range("tolerance", tolerance, 0, 1, above=True, below=True)
    check_whole(max_states=max_states)
    if rewards in ("vector", "chance"):
        if multiplier is not None:
            raise ValueError(f'multiplier: rewards="{rewards}" has none')
        return
    if gamma < 1:
        raise ValueError(f'gamma: rewards={rewards!r} adds up whole episodes; use rewards="vector"')
    if np.inf in order.thresholds:
        j = order.thresholds.index(np.inf)
        raise ValueError(
            f"order: a threshold of ∞ ({order.labels[j]}) has no budget, so that one reward cannot "
            'stand for it; use rewards="vector"'
        )
    if rewards == "endpoint":
        early = (mdp.reward[..., -1] != 0) & (mdp.probability > 0) & ~mdp.terminal[mdp.next_state]
        if early.any():
            s, a, _ = np.argwhere(early)[0]
            raise ValueError(
                f"rewards: the last objective is paid before the end, in {mdp.state_label(int(s))} "
                f'under {mdp.action_label(int(a))}; use "accumulated" or "penalty"'
            )
