"""What a `Rule` of thresholded Q-learning is made of: acceptable actions, selections, updates.

Each part is a small frozen object: its methods are the equations, its flags say what a rule has to provide for it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, SupportsFloat

from jaxtyping import Bool, Float

from lexicone._base.arrays import namespace
from lexicone._base.checks import check_range, is_listing
from lexicone.qlearning._best_actions import best_allowed, largest_allowed

__all__ = [
    "Accept",
    "Select",
    "Update",
    "absolute_slack",
    "absolute_threshold",
    "clipped",
    "cyclic",
    "informed",
    "optimal",
    "ordered",
    "relative_slack",
    "taken",
]


# Which actions are acceptable


@dataclass(frozen=True)
class Accept:
    """Which actions are good enough. Made by `absolute_threshold`, `absolute_slack` or `relative_slack`."""

    amounts: float | tuple[float, ...] | None
    """Slacks or ratios, for all objectives or for each; with thresholds that of the last objective, or None."""
    name: ClassVar[str]
    by_threshold: ClassVar[bool] = False
    """Whether the limits are the order's thresholds."""

    def limit(self, best: Any, amount: Any) -> Any:
        """An action is acceptable from this value on. Never above ``best``."""
        raise NotImplementedError


class _AbsoluteThreshold(Accept):
    name = "absolute_threshold"
    by_threshold = True

    def limit(self, best: Any, amount: Any) -> Any:
        return namespace(best).minimum(best, amount)


class _AbsoluteSlack(Accept):
    name = "absolute_slack"

    def limit(self, best: Any, amount: Any) -> Any:
        return best - amount


class _RelativeSlack(Accept):
    name = "relative_slack"

    def limit(self, best: Any, amount: Any) -> Any:
        return best - amount * namespace(best).abs(best)


def absolute_threshold(last: SupportsFloat | None = None) -> Accept:
    """Acceptable from ``min(best, τ_k)`` on, τ from the order: what reaches τ, else only the best.

    ``last`` is a threshold for the unconstrained objective, which `cyclic` selection needs.
    """
    return _AbsoluteThreshold(None if last is None else _number("last", last))


def absolute_slack(slack: SupportsFloat | Sequence[SupportsFloat]) -> Accept:
    """Acceptable from ``best − δ_k`` on. One ``slack`` δ ≥ 0 for all objectives, or a list.

    Thresholds of the order are then used by the `clipped` update only. A list has a δ for each objective but the
    last (for each objective with `cyclic` selection).
    """
    amounts = _numbers("slack", slack)
    for value in _as_tuple(amounts):
        if not value >= 0:
            raise ValueError(f"slack: must not be negative, got {value:g}")
    return _AbsoluteSlack(amounts)


def relative_slack(ratio: SupportsFloat | Sequence[SupportsFloat]) -> Accept:
    """Acceptable from ``best − η_k·|best|`` on. One ``ratio`` η ∈ (0,1], or a list as in `absolute_slack`.

    For best ≥ 0 this is the paper's ``(1−η)·best``. For best < 0 that would exclude even the best action; here it
    is ``(1+η)·best``: up to the share η worse, whatever the sign. At best = 0 nothing but 0 is acceptable.
    """
    amounts = _numbers("ratio", ratio)
    for value in _as_tuple(amounts):
        check_range("ratio", value, 0, 1, above=True)
    return _RelativeSlack(amounts)


# Which of the acceptable actions is taken


@dataclass(frozen=True)
class Select:
    """Which of the acceptable actions may be taken: `ordered` or `cyclic`."""

    limits_last: ClassVar[bool]
    """Whether the last objective has a limit too, which the rule's `Accept` must then give."""

    def __call__(
        self, q: Float[Any, "... A K"], sets: tuple[Any, ...], tolerance: Any
    ) -> Bool[Any, "... A"]:
        """A mask of actions, from the K+1 nested acceptable sets."""
        raise NotImplementedError


class _Ordered(Select):
    limits_last = False

    def __call__(self, q: Any, sets: tuple[Any, ...], tolerance: Any) -> Any:
        last = q.shape[-1] - 1
        return best_allowed(q[..., last], sets[last], tolerance)


class _Cyclic(Select):
    limits_last = True

    def __call__(self, q: Any, sets: tuple[Any, ...], tolerance: Any) -> Any:
        return best_allowed(q[..., 0], sets[q.shape[-1]], tolerance)


ordered = _Ordered()
"""The paper's ActionSelection: the best of A_{K−1} for the last objective."""

cyclic = _Cyclic()
"""The paper's CyclicActionSelection: the best of A_K for the *first* objective.

Its early returns for sets of one action agree with this, as A_{k+1} always holds the best of A_k. With K
objectives each in turn reduces the set, the last one too, and the choice goes back to the first."""


# What a successor is worth


@dataclass(frozen=True)
class Update:
    """What a successor is worth. One of `clipped`, `optimal`, `taken`, or made by `informed`."""

    name: str
    clips: bool = False
    """The table is read through ``min(τ, ·)``."""
    buffer: float = 0.0
    on_policy: ClassVar[bool] = False
    """Whether targets use the action that is really taken next."""
    informs: ClassVar[bool] = False
    """Whether targets use the action that the order would choose."""

    def worth(
        self,
        q: Float[Any, "... A K"],
        sets: tuple[Any, ...],
        followed: Float[Any, "... A"] | None,
        chosen: Callable[[], Float[Any, "... A"]],
    ) -> Float[Any, "... K"]:
        """From the acceptable sets, the policy that is ``followed``, or that the order has ``chosen`` from
        enlarged sets (computed when called)."""
        raise NotImplementedError


class _BestAcceptable(Update):
    def worth(self, q: Any, sets: Any, followed: Any, chosen: Any) -> Any:
        best = [largest_allowed(q[..., k], sets[k])[..., 0] for k in range(q.shape[-1])]
        return namespace(q).stack(best, axis=-1)


class _Followed(Update):
    on_policy = True

    def worth(self, q: Any, sets: Any, followed: Any, chosen: Any) -> Any:
        return namespace(q).sum(followed[..., None] * q, axis=-2)


class _Chosen(_BestAcceptable):
    informs = True

    def worth(self, q: Any, sets: Any, followed: Any, chosen: Any) -> Any:
        """All objectives but the last by the order's choice; that one by its best acceptable action."""
        xp = namespace(q)
        own = xp.sum(chosen()[..., None] * q, axis=-2)
        best = super().worth(q, sets, followed, chosen)
        return xp.concat([own[..., :-1], best[..., -1:]], axis=-1)


clipped = _BestAcceptable("clipped", clips=True)
"""Gábor et al. 1998: ``q̂_i(s,a) = min(τ_i, E[r_i + γ·max_{A_i(s')} q̂_i(s',·)])``.

Not ``min(τ, q*)``, as the paper says: clipping inside the recursion has another fixed point."""

optimal = _BestAcceptable("optimal")
"""Li & Czarnecki 2019: ``q_i(s,a) = E[r_i + γ·max_{A_i(s')} q_i(s',·)]``."""

taken = _Followed("taken")
"""TL-SARSA: ``q_i(s,a) = E[r_i + γ·q_i(s',a')]``, a' the next action of the policy that is followed."""


def informed(buffer: SupportsFloat = 0.0) -> Update:
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
    return _Chosen("informed", buffer=value)


def _number(name: str, value: Any) -> float:
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}: expected a number, got {value!r}") from None
    if math.isnan(number):
        raise ValueError(f"{name}: is NaN")
    return number


def _numbers(name: str, values: Any) -> float | tuple[float, ...]:
    if not is_listing(values):
        return _number(name, values)
    return tuple(_number(name, value) for value in values)


def _as_tuple(values: float | tuple[float, ...]) -> tuple[float, ...]:
    return values if isinstance(values, tuple) else (values,)
