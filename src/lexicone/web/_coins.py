"""Why the best policy flips a coin: what always one side, or always the other, would give."""

from typing import Any

import numpy as np

from lexicone._base.text import plain_numbers
from lexicone.exact._solution import Solution, Status
from lexicone.models._arrays import NEVER
from lexicone.models._evaluation import evaluate
from lexicone.models._mdp import decision_states
from lexicone.web._answers import state_name
from lexicone.web._questions import Question
from lexicone.web._solving import Progress, solve_deterministic

__all__ = ["explain_coins"]

_MOST_COINS = 3
_MOST_STATES = 20_000
_SEARCHED_STATES = 60
_SEARCH_SECONDS = 4.0


def explain_coins(
    question: Question, best: Solution, seconds: float, progress: Progress
) -> dict[str, Any]:
    """Each coin with the values of both its sides, and the best policy without a coin where that is quickly found."""
    if not best.randomises:
        return {"coins": [], "without": None}
    coins = [_coin(question, best, s, progress) for s in best.randomises[:_MOST_COINS]]
    return {"coins": coins, "without": _without(question, best, seconds, progress)}


def _coin(question: Question, best: Solution, state: int, progress: Progress) -> dict[str, Any]:
    mdp = question.mdp
    names = mdp.action_names or tuple(f"action {a}" for a in range(mdp.num_actions))
    sides = []
    shares = best.policy[state]
    for action in np.argsort(-shares, kind="stable").tolist():
        if not shares[action] > NEVER:
            continue
        progress("coins")
        values = None
        if mdp.num_states <= _MOST_STATES and best.stay is None:
            policy = best.policy.copy()
            policy[state] = np.eye(mdp.num_actions)[action]
            values = plain_numbers(evaluate(mdp, policy, question.gamma))
        sides.append({"action": names[action], "share": float(shares[action]), "values": values})
    return {"state": state, "name": state_name(mdp, state), "sides": sides}


def _without(
    question: Question, best: Solution, seconds: float, progress: Progress
) -> list[Any] | None:
    """The values of the best policy that never flips a coin; None if that is not known soon."""
    few = decision_states(question.mdp).sum() <= _SEARCHED_STATES
    if not few or best.status is not Status.OPTIMAL:
        return None
    found = solve_deterministic(question, min(_SEARCH_SECONDS, 0.2 * seconds), progress)
    return plain_numbers(found.values) if found.status is Status.OPTIMAL else None
