"""From a valid call to a wild one: one argument or several are replaced, twisted, swapped or left out."""

import dataclasses
import inspect
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import lexicone as lx
from tests.fuzz import material as m
from tests.fuzz.calls import Arguments, Call

HUGE = (2**31, 2**63, 10**12, 10**30, 10**400)
_LONGEST = 60  # of numbers that say how long to work
_NUMBERS = (0, -1, 1, 2, 7, 0.0, -0.0, 0.5, 1.0, 1e-12, 1e-320, 1e9, 1e300, 1.7e308)
_ODD_NUMBERS = (math.nan, math.inf, -math.inf, True, False, 1j, complex(0.5, 0))
_WORDS = ("", "unknown", "0.5", "x", "a\0b", "ü[/b]", "exact", "first", "goal", "1", " ", "nan")


def nothing(*args: Any, **kwargs: Any) -> None:
    """A function that returns nothing."""


def text(*args: Any, **kwargs: Any) -> str:
    """A function that returns text."""
    return "text"


def number(*args: Any, **kwargs: Any) -> float:
    """A function that returns a number."""
    return 0.5


def ragged(*args: Any, **kwargs: Any) -> Any:
    """A function that returns what makes no array."""
    return [[1.0], [1.0, 2.0]]


FUNCTIONS: tuple[Callable[..., Any], ...] = (nothing, text, number, ragged)


@cache
def junk() -> tuple[Callable[[], Any], ...]:
    """What nobody should hand over, or hardly ever; each made anew."""
    import jax.numpy as jnp

    fixed: list[Any] = [
        *_NUMBERS, *_ODD_NUMBERS, *HUGE, *_WORDS, *FUNCTIONS,
        None, b"bytes", object(), (), frozenset(), np.float32(0.5), np.int8(3), np.bool_(True),
        Decimal("0.5"), Fraction(1, 2), np.datetime64("2020-01-01"), slice(None), Ellipsis,
        int, lx.MDP, lx.Order, lx.PPO, np, m.small(), m.traders(), m.order(), m.controlled(),
        lx.Order({"a": 1.0, "b": None}), lx.at_least(0.5, per_step=True), lx.lowest, lx.PPO(),
        m.small().rows, m.solution(), Path("missing") / "folder", Path("."), range(3),
    ]  # fmt: skip
    made: list[Callable[[], Any]] = [
        list, dict, set, m.make_env,
        lambda: [0.5], lambda: [None], lambda: ["a", "b"], lambda: [[1.0], [1.0, 2.0]],
        lambda: [[[]]], lambda: {"a": 1.0}, lambda: {1: "x"}, lambda: {"a": None, "b": 1.0},
        lambda: [math.nan, 1.0], lambda: [object()], lambda: [1, "2", None], lambda: [True, False],
        lambda: np.array([]), lambda: np.zeros((0, 3)), lambda: np.zeros((2, 2)), lambda: np.eye(3),
        lambda: np.array(0.5), lambda: np.array("text"), lambda: np.array([None, 1], object),
        lambda: np.array([1j, 2]), lambda: np.full((3, 2), np.nan), lambda: np.zeros((1,) * 5),
        lambda: np.arange(3), lambda: np.array(["a", "b"]), lambda: jnp.array([0.5, 1.0]),
        lambda: jnp.zeros(()), lambda: (i for i in range(2)), lambda: iter([0.5]), bytearray,
        lambda: m.files()["text"], lambda: m.files()["model"], m.folder, lambda: bytes(3),
        lambda: np.random.default_rng(0), lambda: memoryview(b"ab"), lambda: [m.small()],
        lambda: {"mdp": m.small()}, lambda: np.ma.masked_array([1.0, 2.0], [True, False]),
    ]  # fmt: skip
    return (*(lambda value=value: value for value in fixed), *made)


def mutate(call: Call, given: Arguments, function: Any, rng: np.random.Generator) -> Arguments:
    """Wild arguments: what changed is new, what did not is the very same object."""
    known = _optional(function) | given
    names = list(known)
    wild = dict(given)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        name = names[rng.integers(len(names))]
        value = known[name]
        kind = rng.random()
        if kind < 0.02:
            wild.pop(name, None)
            continue
        if kind < 0.03:
            wild["no_such_name"] = 1
            continue
        if kind < 0.08:
            value = known[names[rng.integers(len(names))]]
        elif kind < 0.45:
            value = junk()[rng.integers(len(junk()))]()
        else:
            value = twist(value, rng)
        if name in _called(function, known) and callable(value) and value not in FUNCTIONS:
            value = nothing  # what others raise when they are called is their own
        if name.startswith("*"):
            value = value if isinstance(value, list) else [value]
        wild[name] = _shortened(value) if name in call.long else value
    return wild


def _optional(function: Any) -> Arguments:
    """Parameters that have defaults."""
    kinds = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in kinds if p.default is not p.empty}


def _called(function: Any, known: Arguments) -> set[str]:
    """Parameters for functions, which the call will call."""
    kinds = inspect.signature(function).parameters.values()
    said = {p.name for p in kinds if "Callable" in str(p.annotation)}
    return said | {name for name, value in known.items() if inspect.isfunction(value)}


def _shortened(value: Any) -> Any:
    """The same, unless it asks for much."""
    if isinstance(value, int | np.integer) and value > _LONGEST:
        return _LONGEST
    if isinstance(value, float) and _LONGEST < value < math.inf:
        return float(_LONGEST)
    return value


def twist(value: Any, rng: np.random.Generator) -> Any:
    """Almost what it was."""

    def one(*options: Any) -> Any:
        return options[rng.integers(len(options))]

    if isinstance(value, bool | np.bool_) or value is None:
        return one(None, 0, 1, "yes", not value, np.bool_(True), [value], math.nan)
    if isinstance(value, int | np.integer):
        near = (value + 1, value - 1, -value, 2 * value, float(value), value + 0.5, np.int64(value))
        return one(*near, np.array(value), np.uint8(abs(value) % 200), str(value), *HUGE, *_NUMBERS)
    if isinstance(value, float | np.floating):
        near = (-value, value * 10, value / 10, 1 / (value or 1.0), np.float32(value), str(value))
        numbers = (np.array(value), np.float16(value), np.longdouble(value), [value], value + 1)
        return one(*near, *numbers, *_NUMBERS, *_ODD_NUMBERS)
    if isinstance(value, str):
        near = (value + "x", value[:-1], value.upper(), value.encode(), list(value), value * 50)
        return one(*near, f" {value}", f"{value}\n", [value], np.array(value), *_WORDS)
    if isinstance(value, Path):
        return one(str(value), str(value).encode(), value / "x", value.parent, f"{value}\0", 3, "")
    if isinstance(value, np.ndarray) or _is_jax(value):
        return twist_array(value, rng)
    if isinstance(value, lx.Order):
        return twist([*value.thresholds], rng) if rng.random() < 0.7 else _other_order(value, one)
    if isinstance(value, Mapping):
        return _twist_mapping(dict(value), rng)
    if isinstance(value, tuple) and hasattr(value, "_replace"):
        if not isinstance(value, lx.plots.Panel):  # the others are made by functions only
            return one(tuple(value), type(value), [value], None, 0.5)
        field = one(*value._fields)  # pyright: ignore
        return value._replace(**{field: twist(getattr(value, field), rng)})  # pyright: ignore
    if isinstance(value, list | tuple):
        changed = _twist_list(list(value), rng)
        return tuple(changed) if isinstance(changed, list) and isinstance(value, tuple) else changed
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return one(type(value), vars(value) if hasattr(value, "__dict__") else None, [value])
    if callable(value):
        return one(*FUNCTIONS)
    return junk()[rng.integers(len(junk()))]()


def _is_jax(value: Any) -> bool:
    import jax
    import jax.numpy as jnp

    return isinstance(value, jax.Array) and not jnp.issubdtype(value.dtype, jax.dtypes.prng_key)


def _other_order(order: lx.Order, one: Callable[..., Any]) -> Any:
    levels = order.levels
    named = dict.fromkeys((f"o{i}" for i in range(len(order))), 0.5)
    return one(
        lx.Order([0.5] * len(order)),
        lx.Order([]),
        lx.Order([math.inf] * (len(order) - 1)),
        lx.Order([-math.inf] * (len(order) - 1)),
        named,
        {**named, "last": None},
        [lx.at_least(0.5, per_step=True)] * (len(order) - 1),
        [lx.at_most(1e300)] * (len(order) - 1),
        levels,
        lx.Order,
    )


def twist_array(value: Any, rng: np.random.Generator) -> Any:
    """An array with a number, a shape or a type changed."""
    array = np.asarray(value)
    numeric = array.dtype.kind in "fiub"
    ways: list[Callable[[], Any]] = [
        lambda: array.tolist(), lambda: array[:0], lambda: array[None], lambda: array.T,
        lambda: array.ravel(), lambda: np.concatenate([array, array], axis=-1),
        lambda: array[..., :-1], lambda: array[1:], lambda: array.astype(object), lambda: "text",
        lambda: array.astype(str), lambda: np.array(0.0), lambda: np.repeat(array, 2, 0)[::2],
        lambda: np.asfortranarray(array), lambda: [*array.tolist(), [1.0]], lambda: array[::-1],
        lambda: np.squeeze(array), lambda: array.tobytes(), lambda: None, lambda: array.shape,
        lambda: [None] * len(array), lambda: [["a"] * 2] * len(array),
    ]  # fmt: skip
    if numeric:
        ways += [
            lambda: array.astype(complex), lambda: array.astype(bool), lambda: array.astype(int),
            lambda: array.astype(np.float32), lambda: array.astype(np.float16), lambda: array * -1,
            lambda: array * 1e9, lambda: array * 0, lambda: array + 0.25, lambda: array.astype("i1"),
        ]  # fmt: skip
        ways += [lambda: _with_number(array, rng)] * 20
    if array.ndim == 0:
        return twist(array.item(), rng)
    return ways[rng.integers(len(ways))]()


def _with_number(array: np.ndarray, rng: np.random.Generator) -> Any:
    """One entry is another number."""
    changed = array.astype(float)
    if changed.size:
        odd = (math.nan, math.inf, -math.inf, -1.0, 0.0, 0.5, 2.0, 1e300, 1e-300, 1e9, -1e300)
        changed.flat[rng.integers(changed.size)] = odd[rng.integers(len(odd))]
    return changed.astype(array.dtype) if array.dtype.kind == "f" or rng.random() < 0.5 else changed


def _twist_mapping(value: dict[Any, Any], rng: np.random.Generator) -> Any:
    way = rng.integers(8)
    keys = list(value)
    if way == 0 and keys:
        value.pop(keys[rng.integers(len(keys))])
    elif way == 1:
        value["extra"] = junk()[rng.integers(len(junk()))]()
    elif way == 2:
        return list(value.items())
    elif way == 3:
        return list(value.values())
    elif way == 4:
        return dict(enumerate(value.values()))
    elif keys:
        key = keys[rng.integers(len(keys))]
        value[key] = twist(value[key], rng) if way < 7 else junk()[rng.integers(len(junk()))]()
    return value


def _twist_list(value: list[Any], rng: np.random.Generator) -> Any:
    way = rng.integers(10)
    place = int(rng.integers(max(1, len(value))))
    if way == 0:
        value.append(value[0] if value else 0.5)
    elif way == 1:
        del value[place:]
    elif way == 2:
        value.insert(place, junk()[rng.integers(len(junk()))]())
    elif way == 3:
        return [value]
    elif way == 4:
        return iter(value)
    elif way == 5:
        value.reverse()
    elif way == 6 and value:
        value[place] = junk()[rng.integers(len(junk()))]()
    elif value:
        value[place] = twist(value[place], rng)
    return value
