"""The thresholded lexicographic order (section Background of the paper).

Objectives are listed from the most to the least important. Each but the last has a threshold: how good
is good enough. Value vectors are compared as tuples ``(min(v₁,τ₁), …, min(v_{K−1},τ_{K−1}), v_K)``.
Everything else in lexicone asks an `Order` when it has to decide what is better.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

from jaxtyping import Bool, Float, Int

from lexicone._base.arrays import as_floats, is_true, namespace, plain

__all__ = ["Criterion", "Order", "OrderLike", "as_order", "find_places", "match_names"]

Criterion = Literal["expected", "episode"]
"""What thresholds hold for: expected returns, or the return of every episode."""


@dataclass(frozen=True, init=False)
class Order:
    """K ordered objectives with K−1 thresholds, most important first.

    >>> order = Order({"safety": -0.5, "time": None})      # Order([-0.5]) without names
    >>> order.better([-0.5, -3.0], [-0.1, -4.0])           # both safe enough, so the faster one
    True
    >>> order.better([-0.6, -3.0], [-0.1, -4.0])           # not safe enough
    False
    >>> len(Order([]))                                     # K=1: plain comparison
    1

    A threshold of −∞ is always met (the objective never matters); +∞ never is (plain lexicographic).
    ``break_ties`` compares vectors that are still equal by their unclipped values, most important first.
    The paper's order does not, so it is off by default.

    Where a model or an environment has names too, they are matched: the same names in another sequence reorder *its*
    objectives, so that all results come in the order's sequence, and other names are refused.

    An `Order` is immutable and hashable. Its methods take NumPy, JAX or PyTorch arrays, or lists, whose last
    axis has length K, broadcast over leading axes, and work inside ``jax.jit``.
    """

    thresholds: tuple[float, ...]
    names: tuple[str, ...] | None
    break_ties: bool

    def __init__(
        self,
        thresholds: Iterable[float | int | None] | Mapping[str, float | int | None],
        *,
        names: Sequence[str] | None = None,
        break_ties: bool = False,
    ) -> None:
        if isinstance(thresholds, Mapping):
            if names is not None:
                raise ValueError("names: give them as keys of thresholds or as names, not both")
            names, thresholds = _split_mapping(thresholds)
        object.__setattr__(self, "thresholds", _check_thresholds(thresholds, names))
        object.__setattr__(self, "names", None if names is None else tuple(names))
        object.__setattr__(self, "break_ties", break_ties)
        if names is not None:
            if len(names) != len(self):
                raise ValueError(
                    f"names: {len(self.thresholds)} thresholds make {len(self)} objectives, "
                    f"got {len(names)} names"
                )
            if len(set(names)) != len(names):
                raise ValueError(f"names: must differ from each other, got {list(names)}")

    def __len__(self) -> int:
        return len(self.thresholds) + 1

    @property
    def labels(self) -> tuple[str, ...]:
        """The K names, or "objective 1", "objective 2", … where none were given."""
        return self.names or tuple(f"objective {i + 1}" for i in range(len(self)))

    def key(self, values: Any) -> Float[Any, "*batch keys"]:
        """``(min(v₁,τ₁), …, v_K)``: larger in lexicographic order is better. ``[…,K] → […,K]``.

        With ``break_ties`` the unclipped ``v₁ … v_{K−1}`` follow: ``[…,2K−1]``.
        """
        values = self._checked("values", values)
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
        first, second = self.key(first), self.key(second)
        xp = namespace(first, second)
        first, second = _broadcast(xp, first, second)
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
        keys = self.key(rows)
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
        values, best = strict.key(values), strict.key(best)
        xp = namespace(values, best)
        values, best = _broadcast(xp, values, best)
        equal = values == best  # also −∞ on both sides, whose difference would be NaN
        return xp.where(equal, 0.0, xp.where(equal, 0.0, best) - xp.where(equal, 0.0, values))

    def _checked(self, name: str, values: Any) -> Any:
        values = as_floats(namespace(values), name, values)
        if values.ndim == 0 or values.shape[-1] != len(self):
            raise ValueError(
                f"{name}: the last axis must have {len(self)} objectives "
                f"({len(self.thresholds)} thresholds + 1), got shape {_shape(values)}"
            )
        xp = namespace(values)
        if is_true(xp.any(xp.isnan(values))):
            raise ValueError(f"{name}: contains NaN, which no order can place")
        return values


OrderLike = Order | Iterable[float | int | None] | Mapping[str, float | int | None]
"""What functions take as an order: an `Order`, a list of thresholds, or a mapping from names to them."""


def _split_mapping(
    mapping: Mapping[Any, float | int | None],
) -> tuple[tuple[str, ...], tuple[float | int | None, ...]]:
    names, thresholds = tuple(mapping.keys()), tuple(mapping.values())
    if not names:
        raise ValueError("thresholds: the mapping is empty; name at least one objective")
    if thresholds[-1] is not None:
        raise ValueError(
            f"thresholds: the last objective {names[-1]!r} is open-ended and takes None, "
            f"got {thresholds[-1]!r}"
        )
    return names, thresholds


def _check_thresholds(thresholds: Any, names: Sequence[str] | None) -> tuple[float, ...]:
    try:
        entries = list(thresholds)
    except TypeError:
        raise ValueError(f"thresholds: expected a sequence, got {thresholds!r}") from None
    if entries and entries[-1] is None:  # the open-ended last objective may be spelled out
        entries.pop()
    checked = []
    for i, entry in enumerate(entries):
        where = f"thresholds[{names[i]!r}]" if names and i < len(names) else f"thresholds[{i}]"
        if entry is None:
            raise ValueError(f"{where}: only the last objective goes without a threshold")
        try:
            value = float(entry)
        except (TypeError, ValueError):
            raise ValueError(f"{where}: expected a number, got {entry!r}") from None
        if math.isnan(value):
            raise ValueError(f"{where}: is NaN")
        checked.append(value)
    return tuple(checked)


def _broadcast(xp: Any, first: Any, second: Any) -> tuple[Any, Any]:
    first, second = xp.asarray(first), xp.asarray(second)
    rank = max(first.ndim, second.ndim)
    first, second = (xp.reshape(a, (1,) * (rank - a.ndim) + a.shape) for a in (first, second))
    return tuple(xp.broadcast_arrays(first, second))


def _shape(array: Any) -> tuple[int, ...]:
    return tuple(getattr(array, "shape", ()))


def as_order(order: Any, objectives: int | None = None, *, name: str = "order") -> Order:
    """An order from what stands for one: an `Order`, a list of thresholds, or a mapping from names to them.

    With ``objectives`` it must have so many; ``name`` is that of the argument.
    """
    if not isinstance(order, Order):
        if isinstance(order, str | bytes) or not hasattr(order, "__iter__"):
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


def find_places(
    objectives: Any, names: Sequence[str] | None, count: int, name: str = "objectives"
) -> list[int]:
    """The numbers, from 0, of objectives given by name or number; each at most once, at least one."""
    if isinstance(objectives, str | bytes) or not isinstance(objectives, Iterable):
        raise ValueError(f"{name}: expected a list of names or numbers, got {objectives!r}")
    places = []
    for given in objectives:
        if isinstance(given, str) and given in (names or ()):
            places.append(tuple(names or ()).index(given))
        elif (
            isinstance(given, Integral) and not isinstance(given, bool) and 0 <= int(given) < count
        ):
            places.append(int(given))
        else:
            known = f"{', '.join(names)}, or 0 to {count - 1}" if names else f"0 to {count - 1}"
            raise ValueError(f"{name}: there is no {given!r}; there are {known}")
    if not places or len(set(places)) != len(places):
        raise ValueError(f"{name}: expected at least one, each once, got {list(objectives)!r}")
    return places
