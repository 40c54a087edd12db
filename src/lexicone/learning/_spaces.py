"""What one sees and what one can do, as JSON can hold it: for networks, for files, and for NumPy alone (no JAX)."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from lexicone._base.arrays import as_numbers

__all__ = ["Actions", "check_no_image", "describe_observations", "flatten", "read_actions"]


class Actions(NamedTuple):
    """What can be done: some choices of numbered things, or numbers between bounds."""

    sizes: tuple[int, ...]
    """How many each choice is from; none where actions are numbers."""
    first: tuple[int, ...]
    """What the first of each is called."""
    low: tuple[float, ...]
    high: tuple[float, ...]
    """Bounds of each number, ±∞ where there are none; none where actions are choices."""
    shape: tuple[int, ...]
    """Of an action as the environment takes it."""
    dtype: str

    @property
    def discrete(self) -> bool:
        """Choices, no numbers."""
        return bool(self.sizes)

    @property
    def parts(self) -> int:
        """How many choices or numbers make one action."""
        return len(self.sizes) or len(self.low)

    @property
    def outputs(self) -> int:
        """Of a policy network: a logit for each thing to choose, or the mean of each number."""
        return sum(self.sizes) or len(self.low)

    @property
    def own_bounds(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Those of a policy's numbers: ±1 where both are finite, else the environment's."""
        pairs = [
            (-1.0, 1.0) if math.isfinite(low) and math.isfinite(high) else (low, high)
            for low, high in zip(self.low, self.high, strict=True)
        ]
        return tuple(low for low, _ in pairs), tuple(high for _, high in pairs)

    def to_world(self, chosen: Any, xp: Any = np) -> Any:
        """Actions ``[…,parts]`` as the environment takes them, ``[…,*shape]``.

        Choices count from 0 here. A number u means ``low + (u+1)/2·(high−low)`` where both bounds are finite and u
        itself elsewhere, in any case moved into the bounds.
        """
        wide = (1,) * (chosen.ndim - 1) + (-1,)
        if self.discrete:
            taken = chosen + xp.asarray(self.first, dtype=chosen.dtype).reshape(wide)
        else:
            low, high = (
                xp.asarray(bound, dtype=chosen.dtype).reshape(wide)
                for bound in (self.low, self.high)
            )
            bounded = xp.isfinite(low) & xp.isfinite(high)
            least, most = xp.where(bounded, low, -1.0), xp.where(bounded, high, 1.0)
            centre, half = (least + most) / 2, (most - least) / 2
            taken = xp.clip(xp.where(bounded, centre, 0.0) + half * chosen, low, high)
        return taken.reshape(chosen.shape[:-1] + self.shape).astype(self.dtype)


def read_actions(given: Any, name: str = "task") -> Actions:
    """From a number of things, several such numbers, a pair (low, high) of floats or arrays, or a space.

    A space is recognised by what it has: ``n`` and perhaps ``start``, ``nvec``, or ``low`` and ``high``.
    """
    if isinstance(given, int | np.integer) and not isinstance(given, bool) and given >= 1:
        return Actions((int(given),), (0,), (), (), (), "int32")
    space: Any = given
    if hasattr(space, "nvec"):
        sizes = np.asarray(space.nvec).reshape(-1)
        start = np.zeros_like(sizes) if getattr(space, "start", None) is None else space.start
        first = np.broadcast_to(np.asarray(start).reshape(-1), sizes.shape)
        return _choices(sizes, first, np.shape(space.nvec), space)
    if hasattr(space, "low") and hasattr(space, "high"):
        shape = tuple(getattr(space, "shape", None) or np.shape(space.low))
        return _numbers(space.low, space.high, shape, str(np.dtype(space.dtype)), name)
    if hasattr(space, "n"):
        if np.ndim(space.n) or type(space).__name__ == "MultiBinary":
            shape = tuple(space.shape)
            return _choices(np.full(math.prod(shape), 2), np.zeros(math.prod(shape)), shape, space)
        return _choices([space.n], [getattr(space, "start", 0)], (), space)
    if isinstance(space, tuple | list) and space:
        if all(isinstance(n, int | np.integer) and n >= 1 for n in space):
            return _choices(space, [0] * len(space), (len(space),), None)
        if len(space) == 2:
            try:
                low, high = np.broadcast_arrays(*(as_numbers(name, bound) for bound in space))
            except ValueError as error:
                raise ValueError(f"{name}: has bounds {space!r} that do not fit: {error}") from None
            return _numbers(low, high, low.shape, "float32", name)
    raise ValueError(
        f"{name}: has actions {space!r}; they can be a number of choices, several such numbers, bounds (low, high), or "
        "a Discrete, MultiDiscrete, MultiBinary or Box space"
    )


def _choices(sizes: Any, first: Any, shape: tuple[int, ...], space: Any) -> Actions:
    dtype = str(np.dtype(getattr(space, "dtype", None) or "int32"))
    return Actions(tuple(map(int, sizes)), tuple(map(int, first)), (), (), shape, dtype)


def _numbers(low: Any, high: Any, shape: tuple[int, ...], dtype: str, name: str) -> Actions:
    low, high = (np.broadcast_to(np.asarray(b, float), shape).reshape(-1) for b in (low, high))
    if not np.issubdtype(np.dtype(dtype), np.floating) or not len(low) or not (low < high).all():
        raise ValueError(
            f"{name}: has actions from {low.tolist()} to {high.tolist()} of type {dtype}; numbers to choose must be "
            "floats with low < high"
        )
    return Actions((), (), tuple(low.tolist()), tuple(high.tolist()), shape, dtype)


def check_no_image(name: str, arrays: Iterable[Any]) -> None:
    """A ValueError for the first array, or space of arrays, that looks like an image."""
    for array in arrays:
        shape = tuple(getattr(array, "shape", None) or ())
        if len(shape) >= 3 or (len(shape) == 2 and array.dtype == np.uint8):
            raise ValueError(
                f"task: {name} has observations of shape {shape}, images as it seems; give a function from them to a "
                "vector as features"
            )


def describe_observations(space: Any) -> Any:
    """A space as JSON: what `flatten` needs to know. None where observations have no fixed number of numbers."""
    kind = type(space).__name__
    if kind in ("Box", "MultiBinary"):
        return {"kind": "numbers", "size": math.prod(space.shape)}
    if kind == "Discrete":
        return {"kind": "choices", "sizes": [int(space.n)], "first": [int(space.start)]}
    if kind == "MultiDiscrete":
        sizes = np.asarray(space.nvec).reshape(-1)
        first = np.broadcast_to(np.asarray(getattr(space, "start", 0)).reshape(-1), sizes.shape)
        return {"kind": "choices", "sizes": sizes.tolist(), "first": first.tolist()}
    if kind == "Dict":
        parts = {name: describe_observations(part) for name, part in space.spaces.items()}
        return None if None in parts.values() else {"kind": "dict", "parts": parts}
    if kind == "Tuple":
        parts = [describe_observations(part) for part in space.spaces]
        return None if None in parts else {"kind": "tuple", "parts": parts}
    return None


def flatten(description: Any, observation: Any) -> np.ndarray:
    """An observation as numbers ``[D]``: choices become one-hot vectors, parts follow each other."""
    kind = description["kind"]
    if kind == "numbers":
        return np.asarray(observation, dtype=float).reshape(-1)
    if kind == "tree":
        return np.concatenate(
            [np.asarray(leaf, float).reshape(-1) for leaf in _leaves(observation)]
        )
    if kind == "choices":
        chosen = np.asarray(observation).reshape(-1)
        rows = [np.zeros(size) for size in description["sizes"]]
        for row, number, first in zip(rows, chosen, description["first"], strict=True):
            place = int(number) - first
            if place < 0:
                raise ValueError(f"{number} is below {first}")
            row[place] = 1.0
        return np.concatenate(rows)
    parts = description["parts"]
    pairs = (
        [(part, observation[name]) for name, part in parts.items()]
        if kind == "dict"
        else zip(parts, observation, strict=True)
    )
    return np.concatenate([flatten(part, own) for part, own in pairs])


def _leaves(tree: Any) -> Sequence[Any]:
    """As JAX orders them: entries of dictionaries by their names."""
    if isinstance(tree, dict):
        return [leaf for name in sorted(tree) for leaf in _leaves(tree[name])]
    if isinstance(tree, tuple | list):
        return [leaf for part in tree for leaf in _leaves(part)]
    return [tree]
