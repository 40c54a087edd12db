"""Names of states, actions and objectives."""

from collections.abc import Sequence
from typing import Any

from lexicone._base.checks import as_texts, is_listing

__all__ = ["as_names", "check_names"]


def as_names(
    state_names: Sequence[str] | None,
    action_names: Sequence[str] | None,
    objective_names: Sequence[str] | None,
) -> dict[str, tuple[str, ...] | None]:
    """All three as tuples of text, where they are given."""
    given = {
        "state_names": state_names,
        "action_names": action_names,
        "objective_names": objective_names,
    }
    return {name: None if n is None else _texts(name, n) for name, n in given.items()}


def _texts(name: str, given: Any) -> tuple[str, ...]:
    """Numbers may be names too."""
    return as_texts(name, map(str, given) if is_listing(given) else given)


def check_names(model: Any, sizes: tuple[int, ...], objectives: tuple[int, ...]) -> None:
    """A ValueError unless there are as many names as states, actions and objectives, all different."""
    counts = {"state": sizes[:1], "action": sizes[1:2], "objective": objectives}
    for name, count in counts.items():
        names = getattr(model, f"{name}_names")
        if names is not None and count and len(names) != count[0]:
            raise ValueError(f"{name}_names: expected {count[0]} names, got {len(names)}")
        if names is not None and len(set(names)) != len(names):
            seen: set[str] = set()
            twice = next(n for n in names if n in seen or seen.add(n))
            raise ValueError(f"{name}_names: {twice!r} appears twice")
