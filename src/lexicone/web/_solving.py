"""The best policy for a question, each time from where the last answer left off."""

from collections.abc import Callable
from typing import Any, NamedTuple

from lexicone.criteria._search import search
from lexicone.exact._deterministic import too_many_states
from lexicone.exact._solution import Solution, Status
from lexicone.exact._solve import solve
from lexicone.exact._solver import Solver
from lexicone.models._mdp import decision_states
from lexicone.web._questions import Question

__all__ = ["Best", "Progress", "best_policy", "solve_deterministic", "solve_expected"]

Progress = Callable[[str], None]
MAX_BUDGET_STATES = 50_000
"""Of the model with budgets in its states."""


class Best(NamedTuple):
    """A policy, in whichever form its criterion has it."""

    solution: Solution | None
    """For expected returns, with or without coins."""
    lifted: Any
    """For episodes: a policy with memory, and the `Search` that found it."""


def best_policy(question: Question, seconds: float, progress: Progress) -> Best:
    """What is best under the question's criterion; repeated questions are answered from memory."""
    key = ("best", question.criterion, question.gamma, question.order.thresholds)

    def find() -> Best:
        if question.criterion == "episode":
            return Best(None, _search(question, progress))
        if question.criterion == "deterministic":
            return Best(solve_deterministic(question, seconds, progress), None)
        return Best(solve_expected(question, seconds, progress), None)

    _forget(question, "best")
    best = question.loaded.remember(key, find)
    if best.solution is not None and best.solution.status is Status.LIMIT:
        del question.loaded.found[key]  # with more time there may be a better one
    return best


def solve_expected(question: Question, seconds: float, progress: Progress) -> Solution:
    """The optimum for expected returns."""
    mdp, gamma = question.mdp, question.gamma
    solver: Solver = question.loaded.remember(("solver", gamma), lambda: Solver(mdp, gamma))
    return solver.solve(question.order, time_limit=seconds, progress=progress)


def solve_deterministic(question: Question, seconds: float, progress: Progress) -> Solution:
    """The best policy that never flips a coin."""
    refusal = too_many_states(int(decision_states(question.mdp).sum()))
    if refusal:
        raise ValueError(f"criterion: the search for a policy without coins {refusal}")
    return solve(
        question.mdp,
        question.order,
        gamma=question.gamma,
        policies="deterministic",
        time_limit=seconds,
        progress=progress,
    )


def _search(question: Question, progress: Progress) -> Any:
    return search(
        question.mdp,
        question.order,
        gamma=question.gamma,
        criterion="episode",
        max_states=MAX_BUDGET_STATES,
        progress=progress,
    )


def _forget(question: Question, kind: str, most: int = 40) -> None:
    """Old answers make room."""
    found = question.loaded.found
    old = [key for key in found if isinstance(key, tuple) and key[0] == kind]
    for key in old[: max(0, len(old) - most)]:
        del found[key]
