"""An `MDP` from a list of transitions: tuples, a data frame, or a CSV file. Nobody has to number anything."""

import csv
import os
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

from lexicone._base.checks import check_path, is_listing
from lexicone.models._exploration import RowCollector, as_distribution, as_reward
from lexicone.models._mdp import MDP

__all__ = ["from_transitions"]

_FROM, _DO, _CHANCE, _TO = "state", "action", "probability", "next_state"
_Outcome = tuple[float, Any, tuple[float, ...]]


def from_transitions(
    rows: Any, *, starts: Any = None, objective_names: Sequence[str] | None = None
) -> MDP:
    """See `MDP.from_transitions`."""
    named, entries = _read(rows)
    if objective_names is None:
        objective_names = named
    by_state: dict[Hashable, dict[Hashable, list[_Outcome]]] = {}
    actions: dict[Hashable, None] = {}
    for number, row in enumerate(entries):
        place = f"rows[{number}]"
        if len(row) < 5:
            raise ValueError(
                f"{place}: expected (state, action, probability, next state, reward, …), got {row!r}"
            )
        state, action, chance, following, *reward = row
        if len(reward) == 1 and is_listing(reward[0]):  # K rewards as one entry
            reward = reward[0]
        try:
            outcomes = by_state.setdefault(state, {}).setdefault(action, [])
        except TypeError:
            raise ValueError(f"{place}: states and actions must be hashable, got {row!r}") from None
        actions.setdefault(action)
        outcomes.append((_float(place, chance), following, as_reward(place, reward)))
    if not by_state:
        raise ValueError("rows: there are none")
    begin = as_distribution("starts", next(iter(by_state)) if starts is None else starts)
    collector = RowCollector("rows")
    collector.actions = {action: number for number, action in enumerate(actions)}
    for state in (*begin, *by_state):
        collector.number(state)
    for state in collector.states:  # which grows while it is read
        for action, outcomes in by_state.get(state, {}).items():
            collector.add(action, outcomes)
        collector.close()
    missing = [state for state in begin if state not in by_state and state not in collector.reached]
    if missing:
        raise ValueError(f"starts: {missing[0]!r} is a state of no row")
    return collector.model(begin, objective_names)


def _read(rows: Any) -> tuple[tuple[str, ...] | None, Iterator[Sequence[Any]]]:
    """The objectives' names, where there is a heading, and the rows."""
    if isinstance(rows, str | os.PathLike):
        check_path("rows", rows)
        try:
            with open(rows, newline="", encoding="utf-8-sig") as file:
                lines = list(csv.reader(file))
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise ValueError(f"rows: cannot read {os.fspath(rows)!r}: {error}") from None
        if not lines:
            raise ValueError(f"rows: the file {os.fspath(rows)!r} is empty")
        return _with_heading(lines[0], (line for line in lines[1:] if line))
    columns = getattr(rows, "columns", None)
    if columns is not None and hasattr(rows, "itertuples"):
        return _with_heading([str(c) for c in columns], rows.itertuples(index=False, name=None))
    if not is_listing(rows):
        raise ValueError(
            f"rows: expected tuples, a data frame or the path of a CSV file, got {rows!r}"
        )
    return None, (tuple(row) if is_listing(row) else (row,) for row in rows)


def _with_heading(
    heading: Sequence[str], lines: Iterable[Sequence[Any]]
) -> tuple[tuple[str, ...], Iterator[Sequence[Any]]]:
    names = [name.strip() for name in heading]
    for name in (_FROM, _DO, _TO):
        if name not in names:
            raise ValueError(f"rows: there is no column {name!r} among {', '.join(names)}")
    paid = [name for name in names if name not in (_FROM, _DO, _CHANCE, _TO)]
    if not paid:
        raise ValueError("rows: there is no column of rewards")
    place = {name: n for n, name in enumerate(names)}

    def ordered() -> Iterator[Sequence[Any]]:
        for number, line in enumerate(lines):
            if len(line) != len(names):
                raise ValueError(
                    f"rows[{number}]: has {len(line)} entries, the heading {len(names)}"
                )
            chance = line[place[_CHANCE]] if _CHANCE in place else 1.0
            keys = line[place[_FROM]], line[place[_DO]], chance, line[place[_TO]]
            yield (*keys, *(line[place[name]] for name in paid))

    return tuple(paid), ordered()


def _float(place: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{place}: a probability must be a number, got {value!r}") from None
