"""Models and policies as text, for the terminal."""

from typing import Any

import numpy as np

from lexicone._base.checks import check_index
from lexicone.models._arrays import NEVER
from lexicone.models._mdp import MDP, check_model
from lexicone.plots._checks import as_occupancy

__all__ = ["describe_choices", "sketch"]

_ARROWS = {"up": "↑", "down": "↓", "left": "←", "right": "→"}
_LINES = 40


def sketch(mdp: MDP, policy: Any = None, occupancy: Any = None) -> str:
    """The map with an arrow in every state that the policy visits, ``*`` where it chooses at random.

    Models without a map are listed state by state.
    """
    check_model(mdp)
    occupancy = as_occupancy(mdp, occupancy)
    if mdp.layout is None:
        return _list_states(mdp, policy, occupancy)
    marks = mdp.layout.marks()
    width = max(3, *(len(mark) for mark in marks.values()))
    rows = [
        [marks.get((i, j), tile).center(width) for j, tile in enumerate(row)]
        for i, row in enumerate(mdp.layout.rows)
    ]
    if policy is not None:
        shares = mdp.policy_table(policy)
        for s in _visited(mdp, occupancy):
            row, column = mdp.layout.positions[s]
            if row < 0 or mdp.terminal[s]:
                continue
            name = mdp.action_names[int(shares[s].argmax())].lower() if mdp.action_names else ""
            star = "*" if np.sum(shares[s] > NEVER) > 1 else " "
            tile = mdp.layout.rows[row][column]
            arrow = _ARROWS.get(name, str(int(shares[s].argmax())))
            rows[row][column] = f"{' ' if tile == '.' else tile}{arrow}{star}".center(width)
    edge = "+" + ("-" * width + "+") * len(rows[0])
    lines = [edge]
    for row in rows:
        lines += ["|" + "|".join(row) + "|", edge]
    return "\n".join(lines)


def describe_choices(mdp: MDP, policy: Any, state: int) -> str:
    """What a policy does in one state: "Up 0.8, Right 0.2"."""
    check_model(mdp)
    check_index("state", state, mdp.num_states)
    shares = mdp.policy_table(policy)[state]
    actions = np.argsort(-shares, kind="stable")
    names = mdp.action_names or tuple(f"action {a}" for a in range(mdp.num_actions))
    return ", ".join(f"{names[a]} {shares[a]:.4g}" for a in actions if shares[a] > NEVER)


def _visited(mdp: MDP, occupancy: Any) -> np.ndarray:
    if occupancy is None:
        return np.flatnonzero(mdp.reachable())
    return np.flatnonzero(np.asarray(occupancy).sum(axis=1) > 0)


def _list_states(mdp: MDP, policy: Any, occupancy: Any) -> str:
    states = [s for s in _visited(mdp, occupancy) if not mdp.terminal[s]]
    lines = []
    for s in states[:_LINES]:
        label = mdp.state_names[s] if mdp.state_names else f"state {s}"
        if policy is not None:
            lines.append(f"{label}: {describe_choices(mdp, policy, int(s))}")
            continue
        following = sorted(set(mdp.next_state[s][mdp.probability[s] > 0].tolist()))
        names = [mdp.state_names[t] if mdp.state_names else str(t) for t in following[:8]]
        lines.append(f"{label} → {', '.join(names)}{', …' if len(following) > 8 else ''}")
    if len(states) > _LINES:
        lines.append(f"… and {len(states) - _LINES} more states")
    return "\n".join(lines)
