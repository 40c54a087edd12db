"""The same inequality in whole numbers: floating-point tables are fractions, and nothing is rounded.

A probability or reward is ``m·2^e``, so with a common denominator every row is whole numbers; rows count as divided by
their sum. State values are fractions with one common denominator.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import Any, NamedTuple

import numpy as np

from lexicone.models._mdp import MDP
from lexicone.proofs._rows import Rows

__all__ = ["Integers", "Values", "model_integers", "policy_integers", "simple_fraction"]

_BITS = 300  # of the denominator of state values
_SIMPLE = 10**9  # the largest denominator that a rounded value is taken for
_SIMPLE_STATES = 300


class Values(NamedTuple):
    """State values ``numerators/denominator``."""

    numerators: Any
    denominator: int


class Integers:
    """Rows of whole numbers.

    ``part[n,b] / whole[n]`` is the probability of successor ``target[n,b]`` (S: the end), and
    ``paid[n,k] / (whole[n]·unit)`` the expected reward. ``start`` has parts for the states and their whole, too.
    """

    exact = True
    refinements = 2

    def __init__(
        self, rows: Rows, target: Any, part: Any, whole: Any, paid: Any, unit: int, start: Any
    ) -> None:
        self.rows = rows
        self.target, self.part, self.whole, self.paid = target, part, whole, paid
        self.unit, self.start = unit, start
        self.gamma = Fraction(rows.gamma)

    def lift(self, values: np.ndarray) -> Values:
        """Rounded to the denominator: any values will do, as long as they are checked."""
        denominator = 1 << _BITS
        return Values(_scaled(values, denominator), denominator)

    def add(self, values: Values, more: np.ndarray) -> Values:
        """Rounded to the denominator."""
        numerators, denominator = values
        return Values(numerators + _scaled(more, denominator), denominator)

    def excess(self, weights: Sequence[Any], values: Values) -> tuple[np.ndarray, np.ndarray]:
        """Exactly computed, then rounded to a float of the same sign."""
        numerators, denominator = values
        fractions = [Fraction(w) for w in weights]
        common = lcm(*(f.denominator for f in fractions), 1)
        prices = [f.numerator * (common // f.denominator) for f in fractions]
        paid = sum(self.paid[:, k] * price for k, price in enumerate(prices))
        padded = np.append(numerators, 0)
        ahead = (self.part * padded[self.target]).sum(axis=1)
        scale = common * self.unit
        top, bottom = self.gamma.numerator, self.gamma.denominator
        surplus = (
            paid * (denominator * bottom)
            + ahead * (top * scale)
            - self.whole * numerators[self.rows.state] * (bottom * scale)
        )
        below = self.whole * (denominator * bottom * scale)
        return _ratios(surplus, below), np.zeros(len(surplus))

    def at_start(self, values: Values) -> Fraction:
        """``Σ initial·h``."""
        initial, whole = self.start
        total = sum((a * h for a, h in zip(initial, values.numerators, strict=True)), 0)
        return Fraction(total, whole * values.denominator)

    def floats(self, values: Values) -> np.ndarray:
        """Rounded, with the right sign."""
        count = len(values.numerators)
        return _ratios(values.numerators, np.full(count, values.denominator, dtype=object))

    def level(self, values: np.ndarray, error: np.ndarray) -> float:
        """Far above what is left after the refinements, far below any loss of a choice."""
        return 1e-25 * (1 + float(np.abs(values).max(initial=0.0)))

    def loop_slack(self, error: np.ndarray) -> float:
        """None: a loop must not gain at all."""
        return 0.0

    def simplified(self, values: Values) -> Values | None:
        """Each as the simplest fraction within 2⁻¹⁰⁰ of it, if all have denominators below 10⁹."""
        if len(values.numerators) > _SIMPLE_STATES:
            return None
        found = []
        for numerator in values.numerators:
            value = Fraction(int(numerator), values.denominator)
            simple = value.limit_denominator(_SIMPLE)
            if abs(simple - value) > Fraction(1, 1 << 80) * (1 + abs(value)):
                simple = value
            found.append(simple)
        common = lcm(*(f.denominator for f in found), 1 << 64)
        exact = [f.numerator * (common // f.denominator) for f in found]
        return Values(_objects(exact), common)


def simple_fraction(number: float) -> Fraction:
    """The simplest fraction that a float may be the rounding of."""
    value = Fraction(number)
    simple = value.limit_denominator(10**4)
    return simple if abs(simple - value) <= abs(value) * Fraction(1, 10**13) else value


def model_integers(mdp: MDP, rows: Rows) -> Integers:
    """Every row of the model, in the order of ``rows``."""
    states, model = rows.states, mdp.rows
    place = np.full(mdp.num_states, len(states))
    place[states] = np.arange(len(states))
    kept = np.flatnonzero(place[model.state] < len(states))
    width = model.most_successors
    slot = np.arange(width)
    used = slot < np.diff(model.ends)[kept][:, None]
    entry = np.where(used, model.ends[kept][:, None] + slot, 0)
    part, _ = _whole(np.where(used, model.probability[entry], 0.0))
    reward, unit = _whole(np.where(used[:, :, None], model.reward[entry], 0.0))
    paid = (part[:, :, None] * reward).sum(axis=1)
    paid[rows.nothing] = 0
    target = np.where(used, place[model.next_state[entry]], len(states))
    initial, _ = _whole(mdp.initial)
    start = (initial[states], int(initial.sum()))
    return Integers(rows, target, part, part.sum(axis=1), paid, unit, start)


def policy_integers(
    model: Integers, chain: Rows, policy: np.ndarray, stay: np.ndarray | None
) -> Integers:
    """The one row per state of a policy, whose probabilities count as divided by their sum."""
    count = len(policy)
    shares, _ = _whole(policy)
    going, one = np.ones(count), 1
    if stay is not None:
        staying, one = _whole(stay)
        going = one - staying
    targets, parts, wholes, paids = [], [], [], []
    first = np.searchsorted(model.rows.state, np.arange(count + 1))
    for s in range(count):
        choices = np.arange(first[s], first[s + 1])
        rows = choices[policy[s, model.rows.action[choices]] > 0]
        taken = model.rows.action[rows]
        product = 1
        for n in rows:
            product *= int(model.whole[n])
        total = int(sum(shares[s, taken])) * int(one)
        entries: dict[int, int] = {}
        paid = [0] * model.paid.shape[1]
        for a, n in zip(taken, rows, strict=True):
            factor = int(shares[s, a]) * int(going[s]) * (product // int(model.whole[n]))
            for t, p in zip(model.target[n].tolist(), model.part[n].tolist(), strict=True):
                if p:
                    entries[t] = entries.get(t, 0) + factor * p
            for k in range(len(paid)):
                paid[k] += factor * int(model.paid[n, k])
        targets.append(list(entries))
        parts.append(list(entries.values()))
        wholes.append(total * product)
        paids.append(paid)
    width = max((len(row) for row in targets), default=0)
    target = np.array([row + [count] * (width - len(row)) for row in targets], dtype=np.int64)
    part = np.array([row + [0] * (width - len(row)) for row in parts], dtype=object)
    shape = (count, width)
    paid_table = np.array(paids, dtype=object).reshape(count, model.paid.shape[1])
    return Integers(
        chain,
        target.reshape(shape),
        part.reshape(shape),
        _objects(wholes),
        paid_table,
        model.unit,
        model.start,
    )


def _whole(table: np.ndarray) -> tuple[Any, int]:
    """A table of floats as whole numbers and their common denominator, a power of 2."""
    mantissa, exponent = np.frexp(table)
    digits = (mantissa * 2.0**53).astype(np.int64)
    used = digits != 0
    lowest = int(exponent[used].min(initial=53)) - 53
    lowest = min(lowest, 0)
    shift = np.where(used, exponent - 53 - lowest, 0)
    numbers = _objects(
        [d << s for d, s in zip(digits.ravel().tolist(), shift.ravel().tolist(), strict=True)]
    )
    return numbers.reshape(table.shape), 1 << -lowest


def _scaled(values: np.ndarray, denominator: int) -> Any:
    """Rounded up."""
    found = []
    for value in values.tolist():
        top, bottom = value.as_integer_ratio()
        found.append(-(-top * denominator // bottom))
    return _objects(found)


def _objects(numbers: list[int]) -> Any:
    array = np.empty(len(numbers), dtype=object)
    array[:] = numbers
    return array


def _ratios(top: Any, bottom: Any) -> np.ndarray:
    """Quotients of whole numbers as floats; what is not 0 does not become 0."""
    found = np.zeros(len(top))
    for n, (a, b) in enumerate(zip(top.tolist(), bottom.tolist(), strict=True)):
        if a:
            quotient = a / b
            found[n] = quotient if quotient else (5e-324 if (a > 0) == (b > 0) else -5e-324)
    return found
