"""Episodes of a policy, step by step, with what is left of each threshold's budget."""

from typing import Any

import numpy as np

from lexicone._base.checks import check_range
from lexicone._base.text import plain_numbers
from lexicone.web._questions import Question
from lexicone.web._solving import Best, Progress

__all__ = ["play"]

EPISODES = 20
LONGEST = 300
"""Steps of an episode that are shown."""


def play(question: Question, best: Best, seed: Any, progress: Progress) -> dict[str, Any]:
    """Episodes with their states, actions and rewards; the same seed gives the same ones.

    Budgets are the page's business: after some steps, ``Σ γ^t r_t − τ``.
    """
    check_range("seed", seed, 0, 2**32 - 1, whole=True)
    rng = np.random.default_rng(int(seed))
    if best.solution is not None:
        policy, stay = best.solution.policy, best.solution.stay
        found = [_stationary(question, policy, stay, rng) for _ in _counted(progress)]
    else:
        found = [_with_memory(question, best.lifted.policy, rng) for _ in _counted(progress)]
    return {"episodes": found, "longest": LONGEST}


def _counted(progress: Progress) -> Any:
    for number in range(EPISODES):
        progress(f"episode {number + 1}")
        yield number


def _stationary(
    question: Question, policy: np.ndarray, stay: np.ndarray | None, rng: np.random.Generator
) -> dict[str, Any]:
    mdp = question.mdp
    state, log = _draw(mdp.initial, rng), _Log(question)
    while not mdp.terminal[state] and log.open:
        if stay is not None and rng.random() < stay[state]:
            return log.done(state, "stays there for ever")
        action = _draw(policy[state], rng)
        following, reward = _step(question, state, action, rng)
        log.add(state, action, reward)
        state = following
    return log.done(state, "ends" if mdp.terminal[state] else "goes on")


def _with_memory(question: Question, lifted: Any, rng: np.random.Generator) -> dict[str, Any]:
    mdp = question.mdp
    state, log = _draw(mdp.initial, rng), _Log(question)
    memory = lifted.begin(state)
    while not mdp.terminal[state] and log.open:
        action = lifted.act(memory, rng)
        following, reward = _step(question, state, action, rng)
        memory = lifted.advance(memory, action, following, reward)
        log.add(state, action, reward)
        state = following
    return log.done(state, "ends" if mdp.terminal[state] else "goes on")


def _step(
    question: Question, state: int, action: int, rng: np.random.Generator
) -> tuple[int, np.ndarray]:
    tables = question.mdp
    b = _draw(tables.probability[state, action], rng)
    return int(tables.next_state[state, action, b]), tables.reward[state, action, b]


def _draw(shares: np.ndarray, rng: np.random.Generator) -> int:
    """An index with these probabilities; never one of probability 0."""
    cumulative = np.cumsum(shares)
    return int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))


class _Log:
    """One episode as it is written down."""

    def __init__(self, question: Question) -> None:
        self.question, self.steps = question, []
        self.total, self.discount = np.zeros(question.mdp.num_objectives), 1.0

    @property
    def open(self) -> bool:
        return len(self.steps) < LONGEST

    def add(self, state: int, action: int, reward: np.ndarray) -> None:
        self.total = self.total + self.discount * reward
        self.discount *= self.question.gamma
        self.steps.append([state, action, plain_numbers(reward), plain_numbers(self.total)])

    def done(self, state: int, ending: str) -> dict[str, Any]:
        order = self.question.order
        close = 1e-9 * np.maximum(1.0, np.abs(self.total[:-1]))
        met = self.total[:-1] >= np.array(order.thresholds) - close
        return {
            "steps": self.steps,
            "last": state,
            "ending": ending,
            "total": plain_numbers(self.total),
            "met": met.tolist(),
        }
