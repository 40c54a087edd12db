"""How the parts (`_parts`) make a rule of thresholded lexicographic Q-learning (section TLQ and its appendices).

A `Rule` is three choices that combine freely, and a way to break ties. With ``q[a,k]`` the values of a state,

    A_0 = all actions,    A_{k+1} = {a ∈ A_k : q[a,k] ≥ limit_k(max_{A_k} q[·,k])},

- *accept* says what limit_k is: `absolute_threshold`, `absolute_slack`, `relative_slack`;
- *select* says which of the remaining actions is taken: `ordered`, `cyclic`;
- *update* says what a successor is worth: `clipped`, `optimal`, `taken`, `informed`.

All functions take NumPy or JAX arrays with any leading axes, so that `tlq_iterate` and `tlq` run the same rule.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from lexicone._base.arrays import namespace
from lexicone._base.checks import check_kind, check_range, check_type, check_whole, is_listing
from lexicone.order import Order
from lexicone.qlearning._best_actions import best_allowed, largest_allowed, tolerance_around
from lexicone.qlearning._parts import (
    Accept,
    Select,
    Update,
    absolute_slack,
    absolute_threshold,
    clipped,
    cyclic,
    informed,
    optimal,
    ordered,
    relative_slack,
    taken,
)

__all__ = [
    "PRESETS",
    "TIES",
    "AcceptableSets",
    "Rule",
    "RuleNumbers",
    "acceptable",
    "decision_values",
    "find_rule",
    "greedy",
    "preset",
    "successor_values",
]

TIES = ("first", "random", "by_objective")


class RuleNumbers(NamedTuple):
    """What a rule's parts are given in numbers: a pytree, traced by the learner."""

    thresholds: Float[Any, " K"]
    """τ, and +∞ for the last objective."""
    amounts: Float[Any, " K"]
    """What the limits are made of: τ, δ or η."""
    buffer: Float[Any, ""]
    tolerance: Float[Any, ""]


class AcceptableSets(NamedTuple):
    """Acceptable actions, K+1 masks ``[…,A]``: entry k is what objective k chooses from."""

    strict: tuple[Bool[Any, "... A"], ...]
    enlarged: tuple[Bool[Any, "... A"], ...]
    """The same, enlarged by the buffer of `informed` (Π̂ in the paper)."""


@dataclass(frozen=True)
class Rule:
    """A member of the family. Meaningless combinations raise a ValueError; doubtful ones are allowed.

    >>> urban = Rule(optimal, absolute_slack(0.1))
    >>> gabor = Rule(clipped, absolute_threshold(), ties="random")
    >>> with_buffer = Rule(informed(buffer=0.05), absolute_threshold(), ties="by_objective")
    """

    update: Update
    accept: Accept
    select: Select = ordered
    ties: str = "first"
    """``"first"`` of ``action_order``, ``"random"`` (each with the same probability), or ``"by_objective"``:
    the larger value of objective 1, then 2, …, then the first."""
    action_order: Sequence[int] | None = None
    """A permutation of the actions; None is 0, 1, 2, …."""
    tie_tolerance: float = 1e-9
    """Values count as equal, and as reaching a limit, up to this (relative above 1)."""

    def __post_init__(self) -> None:
        check_type("update", self.update, Update, "an update, such as clipped or informed()")
        check_type("accept", self.accept, Accept, "what accepts, such as absolute_threshold()")
        check_type("select", self.select, Select, "a selection, ordered or cyclic")
        check_kind("ties", self.ties, TIES)
        check_range("tie_tolerance", self.tie_tolerance, 0, math.inf, below=True)
        if self.action_order is not None:
            object.__setattr__(self, "action_order", _as_actions(self.action_order))
        if self.action_order is not None and self.ties == "random":
            raise ValueError("action_order: random ties are never broken by an order of actions")
        thresholds = self.accept.by_threshold
        if thresholds and self.select.limits_last and self.accept.amounts is None:
            raise ValueError(
                "accept: cyclic selection needs a threshold for the last objective too; "
                "give absolute_threshold(last=…)"
            )
        if thresholds and not self.select.limits_last and self.accept.amounts is not None:
            raise ValueError(
                "accept: ordered selection never compares the last objective with a threshold; "
                "last is for cyclic selection"
            )

    def numbers(self, order: Order) -> RuleNumbers:
        """The thresholds, slacks, buffer and tolerance for K objectives, checked."""
        check_type("order", order, Order, "an Order")
        thresholds = np.array([*order.thresholds, math.inf])
        if self.update.clips and (thresholds == -math.inf).any():
            k = int(np.argmin(thresholds))
            raise ValueError(
                f"order: the threshold −∞ of {order.labels[k]} would clip every value to −∞; "
                "use another update, or leave the objective out"
            )
        return RuleNumbers(
            thresholds,
            self._amounts(order),
            np.array(self.update.buffer),
            np.array(self.tie_tolerance),
        )

    def _amounts(self, order: Order) -> np.ndarray:
        given, count = self.accept.amounts, len(order)
        if self.accept.by_threshold:
            last = math.inf if given is None else given
            return np.array([*order.thresholds, last], dtype=float)
        if not isinstance(given, tuple):
            return np.full(count, given, dtype=float)
        wanted = count if self.select.limits_last else count - 1
        if len(given) != wanted:
            which = "each objective" if self.select.limits_last else "each objective but the last"
            raise ValueError(
                f"accept: {self.accept.name} has {len(given)} values, "
                f"but {count} objectives need {wanted}, one for {which}"
            )
        return np.array([*given, 0.0][:count], dtype=float)

    def check_actions(self, count: int) -> None:
        """Raise a ValueError unless ``action_order`` is a permutation of ``count`` actions."""
        check_whole(count=count)
        own = self.action_order
        if own is not None and (len(own) != count or sorted(own) != list(range(count))):
            raise ValueError(
                f"action_order: expected the numbers 0 to {count - 1} in some order, "
                f"got {self.action_order}"
            )

    @property
    def structure(self) -> "Rule":
        """The rule without its numbers: what a compiled program depends on."""
        amounts = 0.0 if self.accept.amounts is not None else None
        return replace(
            self,
            update=replace(self.update, buffer=0.0),
            accept=replace(self.accept, amounts=amounts),
            tie_tolerance=0.0,
        )


def _as_actions(given: Any) -> tuple[int, ...]:
    if not is_listing(given):
        raise ValueError(f"action_order: expected numbers of actions, got {given!r}")
    actions = tuple(given)
    for action in actions:
        check_range("action_order", action, 0, whole=True)
    return tuple(map(int, actions))


PRESETS = {
    "gabor": Rule(clipped, absolute_threshold()),
    "urban": Rule(optimal, absolute_slack(0.1)),
    "relative": Rule(optimal, relative_slack(0.1)),
    "sarsa": Rule(taken, absolute_threshold()),
    "cyclic": Rule(optimal, absolute_slack(0.1), cyclic),
    "informed": Rule(informed(), absolute_threshold(), ties="by_objective"),
}
"""The paper's variants, with slacks of 0.1 where it names none; see `preset`."""


def preset(name: str, **changes: Any) -> Rule:
    """One of `PRESETS`, changed: ``preset("urban", accept=absolute_slack(0.3), ties="random")``."""
    if not isinstance(name, str) or name not in PRESETS:
        raise ValueError(f"rule: expected one of {', '.join(PRESETS)} or a Rule, got {name!r}")
    return replace(PRESETS[name], **changes)


def find_rule(rule: Rule | str) -> Rule:
    """A `Rule` as it is, or the preset of that name."""
    return rule if isinstance(rule, Rule) else preset(rule)


def decision_values(
    rule: Rule, numbers: RuleNumbers, table: Float[Any, "... A K"]
) -> Float[Any, "... A K"]:
    """The values that decisions are made from: the table, through ``min(τ, ·)`` if the update clips.

    The table itself holds ``E[r + γ·v]`` unclipped, so that samples of it may be averaged.
    """
    if not rule.update.clips:
        return table
    xp = namespace(table)
    return xp.minimum(table, _along_last_axis(numbers.thresholds, table))


def acceptable(
    rule: Rule,
    numbers: RuleNumbers,
    q: Float[Any, "... A K"],
    allowed: Bool[Any, "... A"] | None = None,
) -> AcceptableSets:
    """The nested sets A_0 … A_K, and those enlarged by the buffer if the update is `informed`.

    ``allowed`` restricts A_0; by default all actions. The sets are never empty if A_0 is not.
    """
    xp = namespace(q)
    first = xp.ones_like(q[..., 0], dtype=xp.bool) if allowed is None else allowed
    strict, enlarged = [first], [first]
    for k in range(q.shape[-1]):
        column = q[..., k]
        best = largest_allowed(column, strict[-1])
        limit = rule.accept.limit(best, numbers.amounts[k])
        room = tolerance_around(limit, numbers.tolerance)
        if rule.update.informs:
            enlarged.append(enlarged[-1] & (column >= limit - numbers.buffer - room))
        strict.append(strict[-1] & (column >= limit - room))
    return AcceptableSets(tuple(strict), tuple(enlarged if rule.update.informs else strict))


def greedy(
    rule: Rule, numbers: RuleNumbers, q: Float[Any, "... A K"], sets: tuple[Bool[Any, "... A"], ...]
) -> Float[Any, "... A"]:
    """The policy of the selection, ties broken: probabilities ``[…,A]``."""
    xp = namespace(q)
    chosen = rule.select(q, sets, numbers.tolerance)
    if rule.ties == "by_objective":
        for k in range(q.shape[-1]):
            chosen = best_allowed(q[..., k], chosen, numbers.tolerance)
    if rule.ties != "random":
        count = q.shape[-2]
        sequence = rule.action_order or tuple(range(count))
        rank = xp.asarray([sequence.index(a) for a in range(count)], dtype=xp.int32)
        place = xp.where(chosen, _along_last_axis(rank, chosen), count)
        chosen = place == xp.min(place, axis=-1, keepdims=True)
    weight = xp.astype(chosen, q.dtype)
    return weight / xp.sum(weight, axis=-1, keepdims=True)


def successor_values(
    rule: Rule,
    numbers: RuleNumbers,
    q: Float[Any, "... A K"],
    sets: AcceptableSets,
    followed: Float[Any, "... A"] | None,
) -> Float[Any, "... K"]:
    """What a state is worth as a successor, by the rule's update. ``[…,A,K] → […,K]``.

    ``followed[…,A]`` is the policy that is followed there, or the one action taken; only `taken` uses it.
    """
    return rule.update.worth(
        q, sets.strict, followed, lambda: greedy(rule, numbers, q, sets.enlarged)
    )


def _along_last_axis(vector: Any, like: Any) -> Any:
    """A vector with as many axes as ``like``, for the last one."""
    xp = namespace(like)
    return xp.reshape(xp.asarray(vector), (1,) * (like.ndim - 1) + (-1,))
