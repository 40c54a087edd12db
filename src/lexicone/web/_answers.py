"""Results as the page takes them: plain lists and numbers, policies as rows of the states that are visited most."""

from typing import Any

import numpy as np

from lexicone._base.text import plain_numbers
from lexicone.exact._solution import Solution
from lexicone.models._arrays import NEVER
from lexicone.models._mdp import MDP

__all__ = ["describe", "policy_rows", "solution_answer", "state_name"]

MAX_ROWS = 20_000
"""States of a policy that are sent; those visited most."""
_MAX_NAMED = 20_000


def describe(mdp: MDP, labels: tuple[str, ...]) -> dict[str, Any]:
    """What the page needs to draw a model."""
    layout, factors = mdp.layout, mdp.factors
    named = mdp.state_names is not None and mdp.num_states <= _MAX_NAMED
    found: dict[str, Any] = {
        "states": mdp.num_states,
        "actions": _action_names(mdp),
        "labels": list(labels),
        "state_names": list(mdp.state_names or ()) if named else None,
        "terminal": np.flatnonzero(mdp.terminal).tolist()[:MAX_ROWS],
        "starts": np.flatnonzero(mdp.initial).tolist()[:MAX_ROWS],
        "endless": not bool(mdp.terminal.any()),
        "layout": None,
        "factors": None,
    }
    if layout is not None:
        marks = [[row, column, mark] for (row, column), mark in layout.marks().items()]
        found["layout"] = {
            "rows": list(layout.rows),
            "positions": layout.positions.tolist(),
            "marks": marks,
        }
    if factors is not None and mdp.num_states <= _MAX_NAMED:
        found["factors"] = {
            "names": list(factors.names),
            "values": [plain_numbers(row) for row in factors.values],
        }
    return found


def _action_names(mdp: MDP) -> list[str]:
    """Numbers alone would say nothing on the page."""
    names = mdp.action_names or tuple(map(str, range(mdp.num_actions)))
    return [f"action {name}" if name.lstrip("-").isdigit() else name for name in names]


def policy_rows(mdp: MDP, policy: np.ndarray, occupancy: np.ndarray) -> list[list[Any]]:
    """``[state, visits, [[action, probability], …]]`` of the states that are visited, most visited first."""
    visits = np.asarray(occupancy).sum(axis=1)
    states = np.flatnonzero((visits > 0) & ~mdp.terminal)
    states = states[np.argsort(-visits[states], kind="stable")][:MAX_ROWS]
    rows = []
    for s in states.tolist():
        taken = np.flatnonzero(policy[s] > NEVER)
        taken = taken[np.argsort(-policy[s][taken], kind="stable")]
        shares = [[int(a), float(policy[s, a])] for a in taken]
        rows.append([s, plain_numbers([visits[s]])[0], shares])
    return rows


def solution_answer(mdp: MDP, found: Solution) -> dict[str, Any]:
    """All that the page shows of a solution."""
    return {
        "status": str(found.status),
        "message": found.message,
        "method": found.method,
        "values": plain_numbers(found.values),
        "thresholds": plain_numbers(found.order.thresholds),
        "satisfied": found.satisfied.tolist(),
        "prices": [plain_numbers(row) for row in found.prices],
        "bound": plain_numbers(found.bound),
        "coins": found.randomises[:20],
        "stays": found.stay is not None,
        "rows": policy_rows(mdp, found.policy, found.occupancy),
    }


def state_name(mdp: MDP, state: int) -> str:
    """How the page calls a state."""
    return mdp.state_names[state] if mdp.state_names else f"state {state}"
