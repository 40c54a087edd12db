"""Bounds on the values of all policies, from weights and state values: the step that proves.

If ``w·r(s,a) + γ P h ≤ h(s)`` for every choice, then ``Σ_j w_j V_j ≤ Σ_s initial(s)·h(s)`` for every policy: add the
inequality up along an episode. With γ=1 the sum is over episodes that end or stay for ever, so h must be at least 0
wherever one may stay.

State values found in floating point miss the inequality by rounding, once per step. They are raised by a function e
with ``e(s) ≥ c(s,a) + γ P e`` where c is by how much it is missed: that is the total of the slips, and it grows
with the episode. Then the inequality is checked once more, with every rounding counted.
"""

from fractions import Fraction
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from lexicone.proofs._best_total import Loop, Merged, Search, best_total, merge_states
from lexicone.proofs._regions import Usable, end_components
from lexicone.proofs._rows import Rows

__all__ = ["Arithmetic", "Bound", "Floats", "prove_bound"]

_ATTEMPTS = 4
_LEVEL = 100.0  # roundings
_LARGE = 3000  # states: larger models with discounting are not solved again
_SWEEPS = 100


@runtime_checkable
class Arithmetic(Protocol):
    """How the inequality is checked: with rounding counted, or without any."""

    rows: Rows
    exact: bool
    refinements: int
    """How often state values are improved before they are checked."""

    def lift(self, values: Float[np.ndarray, " S"]) -> Any:
        """State values in this arithmetic."""
        ...

    def add(self, values: Any, more: Float[np.ndarray, " S"]) -> Any:
        """Their sum."""
        ...

    def excess(self, weights: Any, values: Any) -> tuple[np.ndarray, np.ndarray]:
        """``w·r + γ P h − h`` for each choice, and how far rounding may have moved it; signs of both are right."""
        ...

    def at_start(self, values: Any) -> Fraction:
        """At least ``Σ initial·h``."""
        ...

    def floats(self, values: Any) -> Float[np.ndarray, " S"]:
        """Rounded."""
        ...

    def level(self, values: np.ndarray, error: np.ndarray) -> Any:
        """A choice that loses no more may be part of a loop that loses nothing."""
        ...

    def loop_slack(self, error: np.ndarray) -> Any:
        """What a choice of such a loop may seem to gain."""
        ...

    def simplified(self, values: Any) -> Any:
        """Values with small denominators, if these are rounded ones; None if that cannot be told."""
        ...


class Floats:
    """Floating point, with a bound on the rounding of every sum."""

    exact = False
    refinements = 0

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def lift(self, values: np.ndarray) -> np.ndarray:
        """As they are."""
        return values

    def add(self, values: np.ndarray, more: np.ndarray) -> np.ndarray:
        """Rounded: the check comes after."""
        return values + more

    def excess(self, weights: Any, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `Rows.excess`."""
        return self.rows.excess(np.array([float(w) for w in weights]), values)

    def at_start(self, values: np.ndarray) -> Fraction:
        """Rounded up."""
        total, error = self.rows.total(values)
        return Fraction(total) + Fraction(error) if np.isfinite(total) else Fraction(0)

    def floats(self, values: np.ndarray) -> np.ndarray:
        """As they are."""
        return values

    def level(self, values: np.ndarray, error: np.ndarray) -> np.ndarray:
        """What rounding may make of 0, some times over: the values are solutions of rounded systems."""
        return _LEVEL * error

    def loop_slack(self, error: np.ndarray) -> np.ndarray:
        """The same: a loop whose rewards cancel up to rounding is taken to pay nothing."""
        return _LEVEL * error

    def simplified(self, values: np.ndarray) -> None:
        """They cannot be."""


class Bound(NamedTuple):
    """What ``Σ_j w_j V_j`` cannot exceed."""

    total: Fraction | None
    """None if it could not be proven."""
    values: Float[np.ndarray, " S"]
    """State values that prove it, rounded."""
    loop: Loop | None
    """A loop that pays on average, if that is why; choices to stay are −1."""
    reason: str = ""


def prove_bound(
    arithmetic: Arithmetic,
    usable: Usable,
    weights: Any,
    hint: Float[np.ndarray, " S"] | None = None,
) -> Bound:
    """The smallest bound on ``Σ_j w_j V_j`` that can be proven, over all policies of the usable choices.

    Finds state values by policy iteration (from ``hint``), improves them, raises them until the
    inequality holds everywhere, and checks that.
    """
    rows = arithmetic.rows
    count = rows.num_states
    plain = np.array([float(w) for w in weights])
    nothing = np.zeros(count)
    if not usable.safe[rows.initial > 0].all():
        return Bound(None, nothing, None, "no policy has a total from every start")
    region, inner = np.full(count, -1), np.zeros(len(rows.state), dtype=bool)
    if rows.gamma == 1:
        reached = rows.reached(usable.choices)
        choices = usable.choices & reached[rows.state]
        usable = Usable(choices, usable.stay & reached, usable.safe & reached)
        # where moves cost nothing all states are worth the same
        free = usable.choices & (rows.nothing | (plain == 0)).all(axis=1)
        region, inner = end_components(rows, free)
    merged = merge_states(rows, usable, region, inner)
    if merged is None:
        return Bound(None, nothing, None, "a state has no way on")
    if count > _LARGE and rows.gamma < 1 and hint is not None and not arithmetic.exact:
        values = _swept(rows, merged, plain, hint)
        return _raise(arithmetic, usable, weights, values, merged, None)
    found = best_total(
        merged, merged.reward_of(rows.reward @ plain), _greedy(merged, rows, plain, hint)
    )
    if found.loop is not None:
        return Bound(None, nothing, _in_rows(merged, found.loop), "a loop pays for ever")
    if not np.isfinite(found.values).all():
        return Bound(None, nothing, None, "episodes are too long for floating point")
    values = arithmetic.lift(merged.spread(found.values))
    for _ in range(arithmetic.refinements):
        excess, _ = arithmetic.excess(weights, values)
        staying = -merged.gather(arithmetic.floats(values))
        step = best_total(merged, merged.reward_of(excess, staying), found.policy)
        if step.loop is not None or not np.isfinite(step.values).all():
            break
        found = Search(found.values, step.policy, None)
        values = arithmetic.add(values, merged.spread(step.values))
    return _raise(arithmetic, usable, weights, values, merged, found.policy)


def _raise(
    arithmetic: Arithmetic, usable: Usable, weights: Any, values: Any, merged: Merged, policy: Any
) -> Bound:
    """Raise the values until the inequality holds for every usable choice, rounding included."""
    rows = arithmetic.rows
    checked = np.zeros(len(rows.state), dtype=bool)
    checked[merged.choice[merged.choice >= 0]] = True
    for attempt in range(_ATTEMPTS):
        excess, error = arithmetic.excess(weights, values)
        low = arithmetic.floats(values)
        if attempt == 0 and rows.gamma == 1:
            level = usable.choices & (~checked | (excess >= -arithmetic.level(low, error)))
            region, inner = end_components(rows, level)
            if (inner & checked).any():
                simple = arithmetic.simplified(values)
                values = values if simple is None else simple
                excess, error = arithmetic.excess(weights, values)
                low = arithmetic.floats(values)
                gains = excess[inner & checked] > arithmetic.loop_slack(error[inner & checked])
                again = None if gains.any() else merge_states(rows, usable, region, inner)
                if again is not None:
                    merged, policy, checked = again, None, checked & ~inner
        upper = excess + error
        worst = max(
            float(upper[checked].max(initial=0.0)), float((-low[usable.stay]).max(initial=0.0))
        )
        if worst <= 0:
            return Bound(arithmetic.at_start(values), low, None)
        # what is computed then is rounded again: hence some roundings more than the check itself needs
        slip = excess + 4.0 ** (attempt + 1) * error
        if rows.gamma < 1:
            most = float(slip[checked].max(initial=0.0)) * (1 + 1e-9)
            values = arithmetic.add(values, np.full(rows.num_states, most / (1 - rows.gamma)))
            continue
        slips = merged.reward_of(slip + worst * 4.0**attempt * 1e-2, merged.gather(-low))
        step = best_total(merged, slips, policy)
        if step.loop is not None:
            loop = _in_rows(merged, step.loop)
            return Bound(None, low, loop, "the slips of a loop add up for ever")
        if not np.isfinite(step.values).all():
            break
        values, policy = arithmetic.add(values, merged.spread(step.values)), step.policy
    return Bound(None, arithmetic.floats(values), None, "episodes are too long for the arithmetic")


def _swept(
    rows: Rows, merged: Merged, weights: np.ndarray, values: np.ndarray
) -> Float[np.ndarray, " S"]:
    """A few sweeps of value iteration in place of policy iteration, whose systems would be too large."""
    reward = rows.reward @ weights
    first = np.searchsorted(merged.state, np.arange(merged.num_states))
    for _ in range(_SWEEPS):
        better = np.maximum.reduceat(reward + rows.gamma * (rows.matrix @ values), first)
        change = float(np.abs(better - values).max(initial=0.0))
        values = better
        if change <= 1e-13 * np.abs(values).max(initial=0.0):
            break
    return values


def _in_rows(merged: Merged, loop: Loop) -> Loop:
    return Loop(merged.choice[loop.choices], loop.shares)


def _greedy(
    merged: Merged, rows: Rows, weights: np.ndarray, hint: np.ndarray | None
) -> np.ndarray | None:
    """The policy that a hint suggests (γ<1)."""
    if hint is None or rows.gamma == 1 or not np.isfinite(hint).all():
        return None
    score = merged.reward_of(rows.reward @ weights) + merged.matrix @ merged.gather(hint)
    first = np.searchsorted(merged.state, np.arange(merged.num_states))
    highest = np.maximum.reduceat(score, first)
    hit = np.flatnonzero(score >= highest[merged.state])
    return hit[np.unique(merged.state[hit], return_index=True)[1]]
