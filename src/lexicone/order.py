"""The thresholded lexicographic order (section Background of the paper).

Objectives are listed from the most to the least important. Each but the last has a threshold: how good
is good enough. Value vectors are compared as tuples ``(min(v₁,τ₁), …, min(v_{K−1},τ_{K−1}), v_K)``.
Everything else in lexicone asks an `Order` when it has to decide what is better.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from lexicone._base.arrays import (
    as_floats,
    as_numbers,
    broadcast_leading,
    is_true,
    namespace,
    plain,
)
from lexicone._base.checks import (
    as_texts,
    check_flags,
    check_gamma,
    check_index,
    check_range,
    is_listing,
)
from lexicone._base.entries import as_levels, split_mapping
from lexicone._base.levels import Level, check_chance, make_level, order_html

__all__ = [
    "Criterion",
    "Entry",
    "Level",
    "Order",
    "OrderLike",
    "as_order",
    "at_least",
    "at_most",
    "highest",
    "lowest",
    "match_names",
]

Criterion = Literal["expected", "episode", "chance"]
"""What thresholds hold for: expected returns, the return of every episode, or of a share of episodes that each says."""


def at_least(
    amount: float | int,
    *,
    per_step: bool = False,
    horizon: float | int | None = None,
    chance: float | int | None = None,
    worst: float | int | None = None,
) -> Level:
    """A threshold on what should be large: ``value ≥ amount``. As a total it is what a plain number says too.

    Args:
        amount: of the total.
        per_step: the amount is a mean per step, as in a service level of 95 %: the total has to reach
            ``amount·Σ_t γ^t``, which is ``amount/(1−γ)``, or ``amount·H`` with γ=1; ended episodes count on, with 0.
        horizon: H, so many steps, which must be given with ``per_step`` where γ=1.
        chance: not the mean but this share of episodes shall reach it, ``P(R ≥ amount) ≥ chance``; for
            ``criterion="chance"``.
        worst: the mean over this share of episodes, the worst ones, shall reach it (the conditional value-at-risk); for
            `search` with that criterion.
    """
    check_range("amount", amount)
    return make_level(amount, 1, per_step, horizon, chance, worst)


def at_most(
    amount: float | int,
    *,
    per_step: bool = False,
    horizon: float | int | None = None,
    chance: float | int | None = None,
    worst: float | int | None = None,
) -> Level:
    """A threshold on a cost: ``−value ≤ amount``. The model still pays *minus* the cost: larger is better everywhere.

    So ``at_most(200)`` is the threshold −200, said and shown as 200.

    Args:
        amount, per_step, horizon, chance, worst: as in `at_least`.
    """
    check_range("amount", amount)
    return make_level(amount, -1, per_step, horizon, chance, worst)


def highest(
    *,
    per_step: bool = False,
    horizon: float | int | None = None,
    worst: float | int | None = None,
) -> Level:
    """As large as possible: the last objective, whose values are shown so; before it, a threshold of ∞.

    Options are as in `at_least`: ``worst=0.05`` makes the mean over the worst 5 % of episodes as large as possible.
    """
    return make_level(None, 1, per_step, horizon, None, worst)


def lowest(
    *,
    per_step: bool = False,
    horizon: float | int | None = None,
    worst: float | int | None = None,
) -> Level:
    """A cost, as small as possible: the last objective, shown as minus its value; before it, a threshold of ∞."""
    return make_level(None, -1, per_step, horizon, None, worst)


_OPEN_ENDS = ((highest, Level(None)), (lowest, Level(None, -1)))

Entry = float | int | Level | Callable[..., Level] | None
"""What may stand in an order for one objective; None for the last, or `lowest` itself."""


@dataclass(frozen=True, init=False, repr=False)
class Order:
    """K ordered objectives with K−1 thresholds, most important first.

    >>> order = Order({"safety": -0.5, "time": None})      # Order([-0.5]) without names
    >>> order.better([-0.5, -3.0], [-0.1, -4.0])           # both safe enough, so the faster one
    True
    >>> order.better([-0.6, -3.0], [-0.1, -4.0])           # not safe enough
    False
    >>> len(Order([]))                                     # K=1: plain comparison
    1

    Entries may be said in other units: ``at_most(200)`` of a cost, ``at_least(0.95, per_step=True)``, ``lowest()`` for
    the last; tables then show them so. Values themselves stay totals of which larger is better: see `in_units`.

    A threshold of −∞ is always met (the objective never matters); +∞ never is (plain lexicographic).
    ``break_ties`` compares vectors that are still equal by their unclipped values, most important first.
    The paper's order does not, so it is off by default.

    Where a model or an environment has names too, they are matched: the same names in another sequence reorder *its*
    objectives, so that all results come in the order's sequence, and other names are refused.

    An `Order` is immutable and hashable. Its methods take NumPy, JAX or PyTorch arrays, or lists, whose last
    axis has length K, broadcast over leading axes, and work inside ``jax.jit``.
    """

    levels: tuple[Level, ...]
    """One for each of the K objectives, in the units of whoever wrote them."""
    names: tuple[str, ...] | None
    break_ties: bool
    _repr_html_ = order_html

    def __init__(
        self,
        thresholds: Iterable[Entry] | Mapping[str, Entry],
        *,
        names: Sequence[str] | None = None,
        break_ties: bool = False,
    ) -> None:
        if isinstance(thresholds, Mapping):
            if names is not None:
                raise ValueError("names: give them as keys of thresholds or as names, not both")
            names, thresholds = split_mapping(thresholds, _OPEN_ENDS)
        names = None if names is None else as_texts("names", names)
        check_flags(break_ties=break_ties)
        object.__setattr__(self, "levels", as_levels(thresholds, names, _OPEN_ENDS))
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "break_ties", bool(break_ties))
        if names is not None:
            if len(names) != len(self):
                raise ValueError(
                    f"names: {len(self) - 1} thresholds make {len(self)} objectives, "
                    f"got {len(names)} names"
                )
            if len(set(names)) != len(names):
                raise ValueError(f"names: must differ from each other, got {list(names)}")

    def __len__(self) -> int:
        return len(self.levels)

    @cached_property
    def thresholds(self) -> tuple[float, ...]:
        """The K−1 thresholds on totals, larger is better. Amounts per step need to know γ first: see `at_gamma`."""
        return tuple(
            level.threshold(label)
            for level, label in zip(self.levels[:-1], self.labels, strict=False)
        )

    @property
    def chances(self) -> tuple[float | None, ...]:
        """For each threshold the share of episodes that shall meet it, None where it holds for the mean return."""
        return tuple(level.chance for level in self.levels[:-1])

    def with_chances(self, chances: Any) -> "Order":
        """The same thresholds, each for a share of episodes: one for all, or one for each, None where for the mean.

        ``with_chances(None)`` takes all chances away. What was for the worst episodes is for a share, or the mean.
        """
        count = len(self) - 1
        shares = list(chances) if is_listing(chances) else [chances] * count
        if len(shares) != count:
            raise ValueError(f"chances: the order has {count} thresholds, got {len(shares)}")
        shares = [check_chance("chances", share) for share in shares]
        shares.append(None)
        levels = (
            replace(v, chance=p, worst=None) for v, p in zip(self.levels, shares, strict=True)
        )
        return self._with_levels(tuple(levels))

    def at_gamma(self, gamma: float) -> "Order":
        """The same order where returns are discounted by γ: amounts per step become totals (see `at_least`)."""
        check_gamma(gamma)
        return self._with_levels(tuple(level.at_gamma(gamma) for level in self.levels))

    def moved(self, objective: int, threshold: float) -> "Order":
        """The same order with another threshold on one total; its unit stays."""
        check_index("objective", objective, len(self))
        check_range("threshold", threshold)
        level = self.levels[objective].moved(threshold, self.labels[objective])
        return self._with_levels((*self.levels[:objective], level, *self.levels[objective + 1 :]))

    def in_units(self, values: Any) -> Float[Any, "*batch objectives"]:
        """Values as their user speaks of them: costs with their own sign, per step where thresholds are. ``[…,K]``."""
        values = self._shaped("values", values)
        xp = namespace(values)
        factors = [level.sign / n for level, n in zip(self.levels, self._steps, strict=True)]
        return values * as_floats(xp, "units", factors, like=values) + 0.0

    def prices_in_units(self, prices: Any) -> Float[Any, "thresholds objectives"]:
        """What a threshold that is one of its units *stricter* costs of each later objective, in units of that."""
        steps = self._steps
        table = as_numbers("prices", prices)
        if table.shape != (len(self) - 1, len(self)):
            shape = (len(self) - 1, len(self))
            raise ValueError(f"prices: expected shape {shape}, got {table.shape}")
        return table * np.divide.outer(steps[:-1], steps)

    @property
    def _steps(self) -> tuple[float, ...]:
        return tuple(
            level.spread(label) for level, label in zip(self.levels, self.labels, strict=True)
        )

    def _with_levels(self, levels: tuple[Level, ...]) -> "Order":
        if levels == self.levels:
            return self
        return Order(levels, names=self.names, break_ties=self.break_ties)

    def __repr__(self) -> str:
        entries = [level.amount if level.plain else level for level in self.levels]
        if self.names is not None:
            shown = repr(dict(zip(self.names, entries, strict=True)))
        else:
            open_end = entries[-1] is None and not (
                len(entries) > 1 and self.levels[-2].amount is None
            )
            shown = repr(entries[:-1] if open_end else entries)
        return f"Order({shown}{', break_ties=True' if self.break_ties else ''})"

    @property
    def labels(self) -> tuple[str, ...]:
        """The K names, or "objective 1", "objective 2", … where none were given."""
        return self.names or tuple(f"objective {i + 1}" for i in range(len(self)))

    def key(self, values: Any) -> Float[Any, "*batch keys"]:
        """``(min(v₁,τ₁), …, v_K)``: larger in lexicographic order is better. ``[…,K] → […,K]``.

        With ``break_ties`` the unclipped ``v₁ … v_{K−1}`` follow: ``[…,2K−1]``.
        """
        return self._key("values", values)

    def _key(self, name: str, values: Any) -> Any:
        values = self._checked(name, values)
        xp = namespace(values)
        last = len(self) - 1
        limits = xp.broadcast_to(
            as_floats(xp, "thresholds", self.thresholds, like=values), (*values.shape[:-1], last)
        )
        clipped = xp.minimum(values[..., :last], limits)
        parts = [clipped, values[..., last:]] + [values[..., :last]] * self.break_ties
        return xp.concat(parts, axis=-1)

    def compare(self, first: Any, second: Any) -> Int[Any, "*batch"] | int:
        """1 where ``first`` is better, −1 where it is worse, 0 where they are equal. ``[…,K], […,K] → […]``."""
        first, second = self._key("first", first), self._key("second", second)
        xp = namespace(first, second)
        first, second = broadcast_leading(xp, "first, second", first, second)
        result = xp.zeros_like(first[..., 0], dtype=xp.int32)
        for k in reversed(range(first.shape[-1])):
            a, b = first[..., k], second[..., k]
            result = xp.where(a > b, 1, xp.where(a < b, -1, result))
        return plain(xp.astype(result, xp.int32))

    def better(self, first: Any, second: Any) -> Bool[Any, "*batch"] | bool:
        """Whether ``first >^τ second``. ``[…,K], […,K] → […]``."""
        return self.compare(first, second) > 0

    def satisfied(self, values: Any) -> Bool[Any, "*batch thresholds"]:
        """Which thresholds are met, ``v_j ≥ τ_j``, one by one. ``[…,K] → […,K−1]``."""
        values = self._checked("values", values)
        xp = namespace(values)
        last = len(self) - 1
        limits = as_floats(xp, "thresholds", self.thresholds, like=values)
        return values[..., :last] >= xp.broadcast_to(limits, (*values.shape[:-1], last))

    def maximizers(self, rows: Any) -> Bool[Any, "*batch rows"]:
        """Marks every row that no other row beats. ``[…,N,K] → […,N]``."""
        keys = self._key("rows", rows)
        if keys.ndim < 2 or keys.shape[-2] == 0:
            raise ValueError(
                f"rows: need at least one row of {len(self)} values, got shape {_shape(rows)}"
            )
        xp = namespace(keys)
        best = keys[..., 0] == keys[..., 0]  # all true
        for k in range(keys.shape[-1]):
            column = xp.where(best, keys[..., k], -math.inf)
            best = best & (column == xp.max(column, axis=-1, keepdims=True))
        return best

    def argmax(self, rows: Any) -> Int[Any, "*batch"] | int:
        """The first of the best rows. ``[…,N,K] → […]``."""
        best = self.maximizers(rows)
        xp = namespace(best)
        return plain(xp.argmax(xp.astype(best, xp.int32), axis=-1))

    def gap(self, values: Any, best: Any) -> Float[Any, "*batch objectives"]:
        """How far ``values`` stay behind ``best``, objective by objective, both clipped: ``[…,K]``.

        Positive is worse; what lies above a threshold on both sides counts as no gap.
        """
        strict = Order(self.thresholds)
        values, best = strict._key("values", values), strict._key("best", best)
        xp = namespace(values, best)
        values, best = broadcast_leading(xp, "values, best", values, best)
        equal = values == best  # also −∞ on both sides, whose difference would be NaN
        return xp.where(equal, 0.0, xp.where(equal, 0.0, best) - xp.where(equal, 0.0, values))

    def _checked(self, name: str, values: Any) -> Any:
        values = self._shaped(name, values)
        xp = namespace(values)
        if is_true(xp.any(xp.isnan(values))):
            raise ValueError(f"{name}: contains NaN, which no order can place")
        return values

    def _shaped(self, name: str, values: Any) -> Any:
        values = as_floats(namespace(values), name, values)
        if values.ndim == 0 or values.shape[-1] != len(self):
            raise ValueError(
                f"{name}: the last axis must have {len(self)} objectives "
                f"({len(self) - 1} thresholds + 1), got shape {_shape(values)}"
            )
        return values


OrderLike = Order | Iterable[Entry] | Mapping[str, Entry]
"""What functions take as an order: an `Order`, a list of thresholds, or a mapping from names to them."""


def _shape(array: Any) -> tuple[int, ...]:
    return tuple(getattr(array, "shape", ()))


def as_order(order: Any, objectives: int | None = None, *, name: str = "order") -> Order:
    """An order from what stands for one: an `Order`, a list of thresholds, or a mapping from names to them.

    With ``objectives`` it must have so many; ``name`` is that of the argument.
    """
    if not isinstance(order, Order):
        if not is_listing(order):
            raise ValueError(
                f"{name}: expected an Order or a list of thresholds, or a mapping from names to them, got {order!r}"
            )
        order = Order(order)
    if objectives is not None and len(order) != objectives:
        raise ValueError(
            f"{name}: has {len(order)} objectives ({len(order) - 1} thresholds + 1), "
            f"but the model has {objectives}"
        )
    return order


def match_names(
    order: Order, names: Sequence[str] | None, whose: str = "the model", *, name: str = "order"
) -> list[int]:
    """Where each of the order's objectives stands among ``names``: ``names[place[i]] == order.names[i]``.

    Where one of them has no names, nothing is matched: 0, 1, …, K−1. Names that are not the same are a ValueError.
    """
    if order.names is None or names is None or tuple(names) == order.names:
        return list(range(len(order)))
    if sorted(names) != sorted(order.names):
        raise ValueError(
            f"{name}: has the objectives {', '.join(order.names)}, but {whose} has {', '.join(names)}"
        )
    return [tuple(names).index(name) for name in order.names]
