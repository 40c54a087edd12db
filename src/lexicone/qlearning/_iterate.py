"""The exact, model-based limit of thresholded lexicographic Q-learning: sweeps over the whole table.

    u_{n+1}(s,a) = E[r + γ·v_n(s')],    v_n(s') by the rule's update from the table before, 0 in terminal states.

No theorem says that this converges: the operator is not a contraction. A run ends when the table stands still, when
it comes back to where it was (a cycle), or at the limit of sweeps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import SupportsFloat

import numpy as np
from jaxtyping import Float, Int

from lexicone._base.arrays import as_numbers
from lexicone._base.checks import check_range
from lexicone.models._evaluation import evaluate
from lexicone.models._matching import match_order
from lexicone.models._mdp import MDP, check_model
from lexicone.order import Order, OrderLike
from lexicone.qlearning._rules import (
    Rule,
    RuleNumbers,
    acceptable,
    decision_values,
    find_rule,
    greedy,
    successor_values,
)

__all__ = ["Iteration", "IterationStatus", "check_task", "start_table", "tlq_iterate"]


class IterationStatus(StrEnum):
    """How `tlq_iterate` ended."""

    CONVERGED = "converged"
    """The table changes by no more than the tolerance."""
    CYCLE = "cycle"
    """The table, or at the limit of sweeps at least the policy, goes round for ever."""
    SWEEP_LIMIT = "sweep limit"


@dataclass(frozen=True, eq=False, kw_only=True)
class Iteration:
    """The result of `tlq_iterate`."""

    status: IterationStatus
    message: str
    """The status in a sentence."""
    policy: Float[np.ndarray, "S A"]
    """The rule's choice from ``q``: deterministic, unless ties are random."""
    q: Float[np.ndarray, "S A K"]
    """The values as decisions see them (clipped ones clipped)."""
    values: Float[np.ndarray, " K"]
    """What ``policy`` is really worth from the start, by `evaluate`."""
    sweeps: int
    period: int
    """1 if converged, the length of a cycle, 0 if unknown."""
    cycle: Float[np.ndarray, "P S A"]
    """The policies of the P sweeps that follow, once round, back to ``policy``; empty without a cycle."""
    history: Float[np.ndarray, "T K"]
    """What the table promised at the start for the policy of each sweep; T is ``sweeps + 1``."""
    order: Order
    gamma: float
    rule: Rule


def tlq_iterate(
    mdp: MDP,
    order: OrderLike,
    rule: Rule | str = "gabor",
    *,
    gamma: float = 1.0,
    initial: SupportsFloat | Sequence[float] = 0.0,
    max_sweeps: int = 10_000,
    tolerance: float = 1e-12,
) -> Iteration:
    """Run a rule on the model until it settles, cycles or gives up.

    Sweeps are synchronous; `taken` follows the greedy policy of each, without exploration.

    Args:
        mdp: the model.
        order: the thresholds; names are matched with the model's, and results have the order's sequence.
        rule: a `Rule`, or the name of a preset.
        gamma: the discount.
        initial: fills the table: a number, ``[K]`` or ``[S,A,K]``; with γ=1, and for rules that cycle, the result
            depends on it.
        max_sweeps: the limit of sweeps.
        tolerance: what counts as standing still; absolute, relative for values above 1.
    """
    mdp, order, rule, numbers = check_task(mdp, order, rule, gamma)
    check_range("max_sweeps", max_sweeps, 1, whole=True)
    check_range("tolerance", tolerance, 0)
    run = _Sweeps(mdp, rule, numbers, gamma)
    table = start_table(mdp, initial)
    policy, worth = run.decide(table)
    trail, history = [hash(policy.tobytes())], [run.promise(policy, table)]
    mark, marked, sweep = table, 0, 0
    status, period = IterationStatus.SWEEP_LIMIT, 0
    for sweep in range(1, max_sweeps + 1):
        before, table = table, run.back_up(worth)
        policy, worth = run.decide(table)
        trail.append(hash(policy.tobytes()))
        history.append(run.promise(policy, table))
        if _same(before, table, tolerance):
            status, period = IterationStatus.CONVERGED, 1
            break
        if _same(mark, table, tolerance):
            status, period = IterationStatus.CYCLE, sweep - marked
            break
        if sweep >= 2 * marked:  # Brent: a cycle that is reached is found once the mark lies on it
            mark, marked = table, sweep
    if status == IterationStatus.SWEEP_LIMIT:
        period = _repetition(np.array(trail))
        status = IterationStatus.CYCLE if period else status
    cycle, onward = [], worth
    for _ in range(period if status == IterationStatus.CYCLE else 0):
        turned, onward = run.decide(run.back_up(onward))
        cycle.append(turned)
    return Iteration(
        status=status,
        message=_explain(status, sweep, period),
        policy=policy,
        q=decision_values(rule, numbers, table),
        values=evaluate(mdp, policy, gamma),
        sweeps=sweep,
        period=period,
        cycle=np.array(cycle).reshape(len(cycle), *policy.shape),
        history=np.array(history),
        order=order,
        gamma=gamma,
        rule=rule,
    )


def start_table(mdp: MDP, initial: SupportsFloat | Sequence[float]) -> Float[np.ndarray, "S A K"]:
    """The first table, from a number, ``[K]`` or ``[S,A,K]``. Terminal states have the value 0."""
    shape = (mdp.num_states, mdp.num_actions, mdp.num_objectives)
    given = as_numbers("initial", initial, finite=True)
    if given.shape not in ((), shape[2:], shape):
        raise ValueError(
            f"initial: expected a number, {shape[2]} of them, or shape {shape}, got {given.shape}"
        )
    table = np.array(np.broadcast_to(given, shape), dtype=float)
    table[mdp.terminal] = 0.0
    return table


@dataclass(frozen=True, eq=False)
class _Sweeps:
    """What one sweep does: decide by the table, then back up what successors are worth."""

    mdp: MDP
    rule: Rule
    numbers: RuleNumbers
    gamma: float

    def decide(self, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The policy ``[S,A]`` and the values of states as successors ``[S,K]``."""
        q = decision_values(self.rule, self.numbers, table)
        sets = acceptable(self.rule, self.numbers, q, self.mdp.available)
        policy = greedy(self.rule, self.numbers, q, sets.strict)
        worth = successor_values(self.rule, self.numbers, q, sets, policy)
        worth[self.mdp.terminal] = 0.0
        return policy, worth

    def back_up(self, worth: np.ndarray) -> np.ndarray:
        mdp = self.mdp
        ahead = np.einsum("sab,sabk->sak", mdp.probability, worth[mdp.next_state])
        return mdp.expected_reward + self.gamma * ahead

    def promise(self, policy: np.ndarray, table: np.ndarray) -> np.ndarray:
        q = decision_values(self.rule, self.numbers, table)
        return np.einsum("s,sa,sak->k", self.mdp.initial, policy, q)


def check_task(
    mdp: MDP, order: OrderLike, rule: Rule | str, gamma: float
) -> tuple[MDP, Order, Rule, RuleNumbers]:
    """What `tlq_iterate` and `tlq` demand of their first arguments; model and order, matched by names."""
    rule = find_rule(rule)
    check_model(mdp, gamma)
    mdp, order = match_order(mdp, order, gamma=gamma)
    rule.check_actions(mdp.num_actions)
    return mdp, order, rule, rule.numbers(order)


def _same(first: np.ndarray, second: np.ndarray, tolerance: float) -> bool:
    room = tolerance * np.maximum(1.0, np.abs(second))
    return bool((np.abs(first - second) <= room).all())


def _repetition(trail: Int[np.ndarray, " T"]) -> int:
    """The shortest period above 1 with which the second half of the trail repeats, thrice at least; or 0."""
    ids = trail[len(trail) // 2 :]
    if (ids == ids[0]).all():
        return 0
    for period in range(2, len(ids) // 3 + 1):
        if (ids[period:] == ids[:-period]).all():
            return period
    return 0


def _explain(status: IterationStatus, sweeps: int, period: int) -> str:
    return {
        IterationStatus.CONVERGED: f"The values settled after {sweeps} sweeps.",
        IterationStatus.CYCLE: f"It goes round a cycle of {period} sweeps, after {sweeps}.",
        IterationStatus.SWEEP_LIMIT: f"The values still change after {sweeps} sweeps.",
    }[status]
