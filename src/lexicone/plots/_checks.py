"""What figures ask of their arguments, before anything is drawn: models, policies on them, curves, titles."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from lexicone._base.arrays import as_numbers
from lexicone._base.checks import as_texts, check_index, check_mapping, check_text, is_listing
from lexicone.models._mdp import MDP, check_model

__all__ = [
    "as_curve",
    "as_curves",
    "as_history",
    "as_labels",
    "as_occupancy",
    "as_visits",
    "check_map",
    "check_titles",
]

Curve = tuple[np.ndarray, np.ndarray]
"""Where each point stands ``[P]``, and a row of points for each seed ``[N,P]``."""


def check_titles(**titles: Any) -> None:
    """A ValueError for the first that is neither text nor None."""
    for name, title in titles.items():
        check_text(name, title, optional=True)


def check_map(mdp: Any) -> None:
    """A ValueError unless it is a model with a map."""
    check_model(mdp)
    if mdp.layout is None:
        raise ValueError("mdp: has no layout to draw")


def as_occupancy(mdp: MDP, occupancy: Any) -> np.ndarray | None:
    """How often each action is taken in each state ``[S,A]``; None where it is not given."""
    if occupancy is None:
        return None
    return as_numbers("occupancy", occupancy, (mdp.num_states, mdp.num_actions))


def as_visits(mdp: MDP, trajectory: Any, name: str = "trajectory") -> list[int]:
    """States, one after the other; none where they are not given."""
    if trajectory is None:
        return []
    if not is_listing(trajectory):
        raise ValueError(f"{name}: expected numbers of states, got {trajectory!r}")
    states = list(trajectory)
    for i, state in enumerate(states):
        check_index(f"{name}[{i}]", state, mdp.num_states)
    return [int(state) for state in states]


def as_labels(name: str, names: Any, count: int) -> list[str]:
    """One for each objective; "objective 1", "objective 2", … where they are not given."""
    if names is None:
        return [f"objective {k + 1}" for k in range(count)]
    labels = list(as_texts(name, names))
    if len(labels) != count:
        raise ValueError(f"{name}: expected {count}, one for each objective, got {labels}")
    return labels


def as_curve(name: str, curve: Any, *, by_point: bool = False) -> Curve:
    """Points and rows of numbers over them; with ``by_point`` a row for each point instead, ``[P,N]``."""
    if not isinstance(curve, tuple | list) or len(curve) != 2:
        raise ValueError(f"{name}: expected a pair of points and numbers, got {curve!r}")
    points = as_numbers(name, curve[0], (None,), finite=True)
    shape = (len(points), None) if by_point else (None, len(points))
    return points, as_numbers(name, curve[1], shape)


def as_curves(name: str, curves: Any, *, by_point: bool = False) -> Mapping[str, Curve]:
    """The same for each entry of a mapping."""
    check_mapping(name, curves, "labels to pairs of points and numbers")
    return {
        label: as_curve(f"{name}[{label!r}]", curve, by_point=by_point)
        for label, curve in curves.items()
    }


def as_history(
    name: str, found: Any, *, steps: bool = False
) -> tuple[np.ndarray, str, dict[str, np.ndarray]]:
    """Where its rows are, on which axis, and its tables; over steps where runs have other numbers of episodes.

    With ``steps`` over these wherever they are known, so that learners can be compared.
    """
    check_mapping(name, found, "names to numbers")
    if "episodes" not in found:
        raise ValueError(f"{name}: has no 'episodes'")
    over = "episodes" if np.ndim(found["episodes"]) != 2 else "steps"
    over = "steps" if steps and np.ndim(found.get("steps")) == 2 else over
    at = as_numbers(f"{name}[{over!r}]", found.get(over, []), finite=True)
    if at.ndim != (1 if over == "episodes" else 2) or not at.size:
        raise ValueError(
            f"{name}[{over!r}]: expected a number for each row, of each seed for steps"
        )
    at = at if over == "episodes" else at.mean(axis=0)
    tables = {}
    for entry in ("returns", "satisfied", "improved"):
        table = as_numbers(f"{name}[{entry!r}]", found.get(entry, []))
        if table.ndim == 3 and table.shape[1] != len(at):
            raise ValueError(
                f"{name}[{entry!r}]: has {table.shape[1]} rows, {over!r} another number"
            )
        tables[entry] = table
    return at, over, tables
