"""What can be wrong with successor tables: every kind of defect, in words and with its place."""

from collections.abc import Callable

import numpy as np

from lexicone.models._arrays import SUM_TOLERANCE

__all__ = ["find_defects"]


def find_defects(
    next_state: np.ndarray,
    probability: np.ndarray,
    reward: np.ndarray,
    initial: np.ndarray,
    terminal: np.ndarray,
    available: np.ndarray,
    state_name: Callable[[int], str] = "state {}".format,
    action_name: Callable[[int], str] = "action {}".format,
) -> list[str]:
    """Every kind of defect, each with its first place and how many more there are; wrong shapes alone if there are any.

    Args:
        next_state: ``[S,A,B]``, numbers of states.
        probability: ``[S,A,B]``, at least 0; each row must sum to 1 up to `SUM_TOLERANCE`.
        reward: ``[S,A,B,K]``, finite.
        initial: ``[S]``, at least 0; must sum to 1 up to `SUM_TOLERANCE`.
        terminal: ``[S]``; these states must loop on themselves and pay nothing.
        available: ``[S,A]``; rows of other actions are 0. Every state needs one.
        state_name: how a message calls a state.
        action_name: how a message calls an action.
    """
    shapes = _shape_defects(next_state, probability, reward, initial, terminal)
    if shapes:
        return shapes
    defects: list[str] = []
    states = next_state.shape[0]

    def report(name: str, bad: np.ndarray, says: Callable[..., str]) -> None:
        places = np.argwhere(bad)
        if len(places):
            first = tuple(int(i) for i in places[0])
            parts = [state_name(first[0])] if first else []
            parts += [action_name(first[1])] if len(first) > 1 else []
            parts += [f"successor {first[2]}"] if len(first) > 2 else []
            parts += [f"objective {first[3] + 1}"] if len(first) > 3 else []
            more = f" (and {len(places) - 1} more)" if len(places) > 1 else ""
            index = ",".join(map(str, first))
            defects.append(f"{name}[{index}] ({', '.join(parts)}): {says(*first)}{more}")

    outside = (next_state < 0) | (next_state >= states)
    report(
        "next_state",
        outside,
        lambda *i: f"is {next_state[i]}, but states are numbered from 0 to {states - 1}",
    )
    for name, table in (("probability", probability), ("reward", reward), ("initial", initial)):
        report(
            name, ~np.isfinite(table), lambda *i, table=table: f"is {table[i]}, not a finite number"
        )
    for name, table in (("probability", probability), ("initial", initial)):
        report(name, table < 0, lambda *i, table=table: f"is {table[i]:.6g}, below 0")
    with np.errstate(invalid="ignore"):
        sums, start = probability.sum(axis=-1), initial.sum()
    wrong = available & np.isfinite(sums) & (np.abs(sums - 1) > SUM_TOLERANCE)
    report("probability", wrong, lambda s, a: f"sums to {sums[s, a]:.9g}, not 1")
    if np.isfinite(start) and abs(start - 1) > SUM_TOLERANCE:
        defects.append(f"initial: sums to {start:.9g}, not 1")
    report(
        "available",
        np.logical_not(available.any(axis=1)),
        lambda s: "has no action and is not terminal",
    )
    possible = (probability > 0) & terminal[:, None, None]
    moves = possible & ~outside & (next_state != np.arange(states)[:, None, None])
    report(
        "terminal",
        moves,
        lambda s, a, b: (
            f"a terminal state must loop on itself, but moves to state {next_state[s, a, b]}"
        ),
    )
    with np.errstate(invalid="ignore"):
        pays = possible[..., None] & (reward != 0)
    report(
        "terminal",
        pays,
        lambda *i: f"a terminal state must not pay, but has reward {reward[i]:.6g}",
    )
    return defects


def _shape_defects(
    next_state: np.ndarray,
    probability: np.ndarray,
    reward: np.ndarray,
    initial: np.ndarray,
    terminal: np.ndarray,
) -> list[str]:
    if next_state.ndim != 3 or 0 in next_state.shape:
        return [
            f"next_state: expected shape [states, actions, successors], none of them 0, "
            f"got {next_state.shape}"
        ]
    shape = next_state.shape
    defects = []
    if probability.shape != shape:
        defects.append(
            f"probability: expected the shape of next_state {shape}, got {probability.shape}"
        )
    if reward.ndim != 4 or reward.shape[:3] != shape or reward.shape[3] == 0:
        defects.append(f"reward: expected shape {(*shape, 'K')}, got {reward.shape}")
    for name, table in (("initial", initial), ("terminal", terminal)):
        if table.shape != shape[:1]:
            defects.append(f"{name}: expected one entry per state {shape[:1]}, got {table.shape}")
    return defects
