"""A solution as columns, as one line, and as HTML for notebooks."""

from typing import TYPE_CHECKING, Any

import numpy as np

from lexicone._base.checks import check_index
from lexicone._base.html import block, paragraphs, table
from lexicone.exact._tables import PRICE_COLUMN, solution_rows

if TYPE_CHECKING:
    from lexicone.exact._linear_quadratic import LinearQuadraticSolution
    from lexicone.exact._solution import Solution

__all__ = ["action_name", "find_state", "policy_columns", "solution_html", "solution_line"]


def action_name(solution: "Solution", action: int) -> str:
    """As the model calls it."""
    names = solution.action_names
    return names[action] if names else f"action {action}"


def find_state(solution: "Solution", state: Any) -> int:
    """The number of a state that is given by number or by label; a tuple is the label that it makes as text."""
    if isinstance(state, tuple):
        state = str(state).replace(" ", "")
    if not isinstance(state, str):
        check_index("state", state, len(solution.policy))
        return int(state)
    if solution.state_names is None:
        raise ValueError(f"state: states of this model have no names, got {state!r}")
    places = [s for s, name in enumerate(solution.state_names) if name == state]
    if not places:
        raise ValueError(f"state: there is none called {state!r}")
    if len(places) > 1:
        raise ValueError(f"state: {len(places)} are called {state!r}; say which by its number")
    return places[0]


def policy_columns(solution: "Solution") -> dict[str, list[Any]]:
    """A row for each action that may be taken, of all states; ``visits`` is how often it is, on average."""
    state, action = np.nonzero(solution.policy > 0)
    states, actions = solution.state_names, solution.action_names
    columns: dict[str, list[Any]] = {"state": state.tolist()}
    columns["state_name"] = [states[s] if states else None for s in state]
    columns["action"] = action.tolist()
    columns["action_name"] = [actions[a] if actions else None for a in action]
    columns["probability"] = solution.policy[state, action].tolist()
    columns["visits"] = solution.occupancy[state, action].tolist()
    return columns


def solution_line(solution: "Solution | LinearQuadraticSolution") -> str:
    """The status, and each objective with its value and whether its threshold is met."""
    parts = []
    for row in solution_rows(solution):
        threshold = f" ({row.met}: {row.threshold})" if row.met else ""
        parts.append(f"{row.objective} {row.value}{threshold}")
    return f"{type(solution).__name__}({solution.status}; {', '.join(parts)}; γ={solution.gamma:g})"


def solution_html(solution: "Solution | LinearQuadraticSolution") -> str:
    """The table of objectives, and what `explain` says."""
    head = ("objective", "threshold", "value", "", PRICE_COLUMN)
    return block(
        f"{type(solution).__name__}: {solution.status}",
        table(head, solution_rows(solution)),
        paragraphs(solution.explain()),
    )
