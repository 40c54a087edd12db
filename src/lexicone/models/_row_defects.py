"""What can be wrong with a model that is given as rows: every kind of defect, in words and with its place."""

from collections.abc import Callable

import numpy as np

from lexicone.models._arrays import SUM_TOLERANCE
from lexicone.models._rows import Rows

__all__ = ["find_row_defects"]


def check_per_state(states: int, **tables: np.ndarray) -> None:
    """A ValueError for the first that has not one entry for each state."""
    for name, table in tables.items():
        if table.shape != (states,):
            raise ValueError(f"{name}: expected one entry per state {(states,)}, got {table.shape}")


def find_row_defects(
    rows: Rows,
    initial: np.ndarray,
    terminal: np.ndarray,
    state_name: Callable[[int], str],
    action_name: Callable[[int], str],
) -> list[str]:
    """Every kind of defect, each with its first place and how many more there are."""
    defects: list[str] = []
    states = rows.num_states

    def report(
        name: str, bad: np.ndarray, says: Callable[[int], str], choice: np.ndarray | None = None
    ) -> None:
        found = np.flatnonzero(bad)
        if len(found):
            first = int(found[0])
            place = f"[{first}] ({state_name(first)})"
            if choice is not None:
                c = int(choice[first])
                place = f" ({state_name(int(rows.state[c]))}, {action_name(int(rows.action[c]))})"
            more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
            defects.append(f"{name}{place}: {says(first)}{more}")

    each = np.arange(rows.num_choices)
    outside = (rows.next_state < 0) | (rows.next_state >= states)
    report(
        "next_state",
        outside,
        lambda e: f"is {rows.next_state[e]}, but states are numbered from 0 to {states - 1}",
        rows.choice,
    )
    report(
        "probability",
        ~(np.isfinite(rows.probability) & (rows.probability >= 0)),
        lambda e: f"is {rows.probability[e]}, not a probability",
        rows.choice,
    )
    report(
        "reward",
        np.logical_not(np.isfinite(rows.reward).all(axis=1)),
        lambda e: f"is {rows.reward[e].tolist()}, not finite numbers",
        rows.choice,
    )
    report(
        "initial",
        ~(np.isfinite(initial) & (initial >= 0)),
        lambda s: f"is {initial[s]}, not a probability",
    )
    if defects:
        return defects
    sums = np.asarray(rows.transition.sum(axis=1)).ravel()
    report(
        "probability",
        np.abs(sums - 1) > SUM_TOLERANCE,
        lambda c: f"sums to {sums[c]:.9g}, not 1",
        each,
    )
    if abs(initial.sum() - 1) > SUM_TOLERANCE:
        defects.append(f"initial: sums to {initial.sum():.9g}, not 1")
    count = np.diff(rows.offsets)
    report("action", (count == 0) & ~terminal, lambda s: "has no action and is not terminal")
    report("action", (count > 0) & terminal, lambda s: "is terminal and has actions")
    twice = np.zeros(rows.num_choices, dtype=bool)
    twice[1:] = (np.diff(rows.state) == 0) & (np.diff(rows.action) <= 0)
    report("action", twice, lambda c: "must be listed once, in rising order", each)
    return defects
