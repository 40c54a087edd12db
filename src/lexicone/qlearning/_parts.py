"""What a rule of thresholded Q-learning is made of: updates, acceptable actions, selections; see `tlq_rules`."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lexicone._base.arrays import namespace

__all__ = [
    "Accept",
    "Update",
    "absolute_slack",
    "absolute_threshold",
    "best_of",
    "clipped",
    "cyclic",
    "informed",
    "largest",
    "optimal",
    "ordered",
    "relative_slack",
    "room_around",
    "taken",
]


@dataclass(frozen=True)
class Accept:
    """Which actions are good enough. Made by `absolute_threshold`, `absolute_slack` or `relative_slack`."""

    name: str
    limit: Callable[[Any, Any], Any]
    """``limit(best, amount)``: an action is acceptable from this value on. Never above ``best``."""
    amounts: float | tuple[float, ...] | None = None

    @property
    def by_threshold(self) -> bool:
        """Whether the limits are the order's thresholds."""
        return self.limit is _reach


@dataclass(frozen=True)
class Update:
    """What a successor is worth. One of `clipped`, `optimal`, `taken`, or made by `informed`."""

    name: str
    worth: Callable[[Any, tuple[Any, ...], Any, Callable[[], Any]], Any]
    """``worth(q, sets, followed, chosen)``, ``[…,A,K] → […,K]``, from the acceptable sets, the policy that is
    followed and (a function that gives) the one that the order would choose from enlarged sets."""
    clips: bool = False
    """The table is read through ``min(τ, ·)``."""
    buffer: float = 0.0

    @property
    def on_policy(self) -> bool:
        """Whether targets use the action that is really taken next."""
        return self.worth is _of_followed

    @property
    def informs(self) -> bool:
        """Whether targets use the action that the order would choose."""
        return self.worth is _of_chosen


def _reach(best: Any, amount: Any) -> Any:
    return namespace(best).minimum(best, amount)


def _below(best: Any, amount: Any) -> Any:
    return best - amount


def _share(best: Any, amount: Any) -> Any:
    return best - amount * namespace(best).abs(best)


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected a number, got {value!r}") from None
    if math.isnan(number):
        raise ValueError(f"{name}: is NaN")
    return number


def _numbers(name: str, values: Any) -> float | tuple[float, ...]:
    if isinstance(values, str) or np.ndim(values) == 0:
        return _number(name, values)
    return tuple(_number(name, value) for value in values)


def _as_tuple(values: float | tuple[float, ...]) -> tuple[float, ...]:
    return values if isinstance(values, tuple) else (values,)


def _of_best(q: Any, sets: tuple[Any, ...], followed: Any, chosen: Callable[[], Any]) -> Any:
    best = [largest(q[..., k], sets[k])[..., 0] for k in range(q.shape[-1])]
    return namespace(q).stack(best, axis=-1)


def _of_followed(q: Any, sets: tuple[Any, ...], followed: Any, chosen: Callable[[], Any]) -> Any:
    return namespace(q).sum(followed[..., None] * q, axis=-2)


def _of_chosen(q: Any, sets: tuple[Any, ...], followed: Any, chosen: Callable[[], Any]) -> Any:
    """All objectives but the last by the order's choice; that one by its best acceptable action."""
    own = namespace(q).sum(chosen()[..., None] * q, axis=-2)
    return namespace(q).concat(
        [own[..., :-1], _of_best(q, sets, followed, chosen)[..., -1:]], axis=-1
    )


clipped = Update("clipped", _of_best, clips=True)
"""Gábor et al. 1998: ``q̂_i(s,a) = min(τ_i, E[r_i + γ·max_{A_i(s')} q̂_i(s',·)])``.

Not ``min(τ, q*)``, as the paper says: clipping inside the recursion has another fixed point."""

optimal = Update("optimal", _of_best)
"""Li & Czarnecki 2019: ``q_i(s,a) = E[r_i + γ·max_{A_i(s')} q_i(s',·)]``."""

taken = Update("taken", _of_followed)
"""TL-SARSA: ``q_i(s,a) = E[r_i + γ·q_i(s',a')]``, a' the next action of the policy that is followed."""


def informed(buffer: Any = 0.0) -> Update:
    """Informed targets: ``q_1(s,a) = E[r_1 + γ·q_1(s', argmax_{Â(s')} q_2)]``; q_2 as in `optimal`.

    Â(s') accepts ``buffer`` (b ≥ 0) more than the rule's limit, only in targets: actions are still selected
    with the rule's own limits. With K objectives all but the last are worth what the action has that the
    selection would choose in s' from the enlarged sets, and the last is worth its best acceptable value: each
    value but the last is that of following the order from s' on. For K=2 this is the paper's equation (with the
    γ that it omits), for K=1 it is Q-learning.
    """
    value = _number("buffer", buffer)
    if not 0 <= value < math.inf:
        raise ValueError(f"buffer: must be a finite number of at least 0, got {buffer}")
    return Update("informed", _of_chosen, buffer=value)


def absolute_threshold(last: Any = None) -> Accept:
    """Acceptable from ``min(best, τ_k)`` on, τ from the order: what reaches τ, else only the best.

    ``last`` is a threshold for the unconstrained objective, which `cyclic` selection needs.
    """
    return Accept("absolute_threshold", _reach, None if last is None else _number("last", last))


def absolute_slack(slack: Any) -> Accept:
    """Acceptable from ``best − δ_k`` on. One ``slack`` δ ≥ 0 for all objectives, or a list.

    Thresholds of the order are then used by the `clipped` update only. A list has a δ for each objective but the
    last (for each objective with `cyclic` selection).
    """
    amounts = _numbers("slack", slack)
    for value in _as_tuple(amounts):
        if not value >= 0:
            raise ValueError(f"slack: must not be negative, got {value:g}")
    return Accept("absolute_slack", _below, amounts)


def relative_slack(ratio: Any) -> Accept:
    """Acceptable from ``best − η_k·|best|`` on. One ``ratio`` η ∈ (0,1], or a list as in `absolute_slack`.

    For best ≥ 0 this is the paper's ``(1−η)·best``. For best < 0 that would exclude even the best action; here it
    is ``(1+η)·best``: up to the share η worse, whatever the sign. At best = 0 nothing but 0 is acceptable.
    """
    amounts = _numbers("ratio", ratio)
    for value in _as_tuple(amounts):
        if not 0 < value <= 1:
            raise ValueError(f"ratio: must be above 0 and at most 1, got {value:g}")
    return Accept("relative_slack", _share, amounts)


def ordered(q: Any, sets: tuple[Any, ...], tolerance: Any) -> Any:
    """The paper's ActionSelection: the best of A_{K−1} for the last objective. ``[…,A,K] → […,A]``, a mask."""
    last = q.shape[-1] - 1
    return best_of(q[..., last], sets[last], tolerance)


def cyclic(q: Any, sets: tuple[Any, ...], tolerance: Any) -> Any:
    """The paper's CyclicActionSelection: the best of A_K for the *first* objective. ``[…,A,K] → […,A]``.

    Its early returns for sets of one action agree with this, as A_{k+1} always holds the best of A_k. With K
    objectives each in turn reduces the set, the last one too, and the choice goes back to the first.
    """
    return best_of(q[..., 0], sets[q.shape[-1]], tolerance)


def largest(column: Any, allowed: Any) -> Any:
    """The maximum over allowed actions, with the axis kept: ``[…,A] → […,1]``."""
    xp = namespace(column)
    return xp.max(xp.where(allowed, column, -math.inf), axis=-1, keepdims=True)


def best_of(column: Any, allowed: Any, tolerance: Any) -> Any:
    """The allowed actions with the largest value, up to the tolerance: a mask."""
    best = largest(column, allowed)
    return allowed & (column >= best - room_around(best, tolerance))


def room_around(value: Any, tolerance: Any) -> Any:
    """The tolerance around a value; an infinite value needs none."""
    xp = namespace(value)
    size = xp.where(xp.isfinite(value), xp.abs(value), 1.0)
    return tolerance * xp.maximum(size, xp.ones_like(size))
