"""What the table of claims is made of: cells, and what a policy on a map does, in words."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from lexicone.models._arrays import NEVER
from lexicone.models._mdp import MDP
from lexicone.order import Order
from lexicone.qlearning._iterate import Iteration, tlq_iterate
from lexicone.qlearning._parts import absolute_slack, optimal, relative_slack
from lexicone.qlearning._rules import Rule, acceptable, greedy

__all__ = [
    "Cell",
    "Finding",
    "Tally",
    "Walk",
    "Watch",
    "acceptance_levels",
    "actions_of",
    "cell",
    "happened",
    "names",
    "policies_of",
    "sweep",
    "walk",
]

CHANCE = -1  # in place of an action: one of several at random


Watch = Callable[[Sequence[Any], str], Iterable[Any]]
"""Goes through items and shows, under a title, how far it is."""


class Tally(NamedTuple):
    """A sweep: over so many settings, each with the policies that its ties leave open."""

    settings: int = 0
    lucky: int = 0
    """Settings in which at least one policy does what was wanted."""
    policies: int = 0
    reached: int = 0
    """Policies that do."""

    def plus(self, other: "Tally") -> "Tally":
        """Both sweeps together."""
        return Tally(*(a + b for a, b in zip(self, other, strict=True)))

    def __str__(self) -> str:
        return f"{self.lucky} of {self.settings}"


@dataclass(frozen=True)
class Cell:
    """One row of the table: a run that is shown, and the sweep around it."""

    preset: str
    setting: str
    happened: str
    trajectory: tuple[str, ...]
    values: tuple[float, ...]
    optimum: tuple[float, ...]
    """The exact lexicographic optimum in this setting."""
    holds: bool
    """Whether the paper's claim holds here."""
    swept: str = ""
    """What else was tried, and how often it did what was wanted."""
    reason: str = ""
    """Why, where it differs from the paper."""


@dataclass(frozen=True)
class Finding:
    """What was found about one claim."""

    cells: tuple[Cell, ...]
    summary: str
    data: dict[str, Any] = field(default_factory=dict)
    """What the figures draw."""


class Walk(NamedTuple):
    """Where a policy leads from the start, without chance in the model."""

    states: tuple[int, ...]
    """Up to the end, or to the first state that comes again."""
    ends: str
    """``"goal"``, ``"loop"``, or ``"chance"`` where the policy chooses at random."""


def actions_of(policy: Any) -> np.ndarray:
    """The action of each state, `CHANCE` where there are several: ``[S,A] → [S]``."""
    return np.where((policy > NEVER).sum(axis=1) > 1, CHANCE, policy.argmax(axis=1))


def walk(mdp: MDP, actions: np.ndarray) -> Walk:
    """Follow one action per state from the most probable start."""
    state, seen = int(mdp.initial.argmax()), []
    while state not in seen:
        seen.append(state)
        if mdp.terminal[state]:
            return Walk(tuple(seen), "goal")
        if actions[state] == CHANCE:
            return Walk(tuple(seen), "chance")
        state = int(mdp.next_state[state, actions[state], 0])
    return Walk((*seen, state), "loop")


def names(mdp: MDP, states: Sequence[int]) -> tuple[str, ...]:
    """States as the model calls them."""
    return tuple(mdp.state_names[s] if mdp.state_names else str(s) for s in states)


def happened(mdp: MDP, found: Iteration) -> str:
    """The end of an iteration, and where its policies lead, in words."""
    if found.status == "cycle":
        walks = [walk(mdp, actions_of(policy)) for policy in found.cycle]
        arrive = sum(w.ends == "goal" for w in walks)
        return f"cycle of {found.period} sweeps; {arrive} of its {len(walks)} policies reach G"
    way = walk(mdp, actions_of(found.policy))
    if way.ends == "goal":
        words = f"reaches G in {len(way.states) - 1} steps"
    elif way.ends == "chance":
        words = "walks at random"
    elif way.states[-1] == way.states[-2]:
        words = f"stays at {names(mdp, way.states[-1:])[0]}"
    else:
        again = way.states.index(way.states[-1])
        words = f"goes round {' → '.join(names(mdp, way.states[again:]))}"
    return words if found.status == "converged" else f"{found.status}; {words}"


def cell(
    preset: str, setting: str, mdp: MDP, found: Iteration, optimum: Any, holds: bool, **rest: str
) -> Cell:
    """The cell of an iteration on a map."""
    way = walk(mdp, actions_of(found.policy))
    return Cell(
        preset,
        setting,
        happened(mdp, found),
        names(mdp, way.states),
        tuple(np.asarray(found.values).tolist()),
        tuple(np.asarray(optimum).tolist()),
        holds,
        **rest,
    )


def policies_of(found: Iteration) -> Iterator[np.ndarray]:
    """Every policy that the values leave open, one action per state ``[S]``.

    Where targets do not depend on ties (`clipped`, `optimal`) these are the policies of all orders of the actions and
    of ties broken by objective. Else there is the one that was found.
    """
    rule = found.rule
    if rule.update.on_policy or rule.update.informs:
        yield actions_of(found.policy)
        return
    numbers = rule.numbers(found.order)
    sets = acceptable(rule, numbers, found.q).strict

    def policy(ties: str) -> np.ndarray:
        return greedy(replace(rule, ties=ties, action_order=None), numbers, found.q, sets)

    tied = policy("random") > 0
    for order in permutations(range(tied.shape[1])):
        yield np.array(order)[tied[:, order].argmax(axis=1)]
    yield policy("by_objective").argmax(axis=1)


def sweep(
    mdp: MDP, settings: Iterable[tuple[Order, Rule]], gamma: float, wanted: Sequence[str]
) -> Tally:
    """How many settings, and policies of them, walk from the start to the end as ``wanted``.

    A cycle of policies counts if all of them do.
    """
    total = Tally()
    for order, rule in settings:
        found = tlq_iterate(mdp, order, rule, gamma=gamma, max_sweeps=1000)
        if found.status == "cycle":
            ways = [walk(mdp, actions_of(policy)) for policy in found.cycle]
            right = [all(names(mdp, way.states) == tuple(wanted) for way in ways)]
        else:
            right = [
                names(mdp, walk(mdp, actions).states) == tuple(wanted)
                for actions in policies_of(found)
            ]
        total = total.plus(Tally(1, int(any(right)), len(right), sum(right)))
    return total


def acceptance_levels(mdp: MDP, gamma: float, kind: str) -> list[float]:
    """All that matters of τ, δ or η for the first objective: other numbers accept the same actions as one of these.

    ``kind`` is ``"threshold"`` (the values q₁ themselves), ``"slack"`` (best − q₁) or ``"ratio"`` (that over |best|).
    """
    exact = tlq_iterate(
        mdp,
        Order([np.inf] * (mdp.num_objectives - 1)),
        Rule(optimal, absolute_slack(0)),
        gamma=gamma,
    )
    q = exact.q[~mdp.terminal][..., 0]
    best = q.max(axis=1, keepdims=True)
    if kind == "threshold":
        levels = q
    elif kind == "slack":
        levels = best - q
    else:
        size = np.abs(np.broadcast_to(best, q.shape))
        share = np.divide(best - q, size, out=np.full(q.shape, np.inf), where=size > 0)
        levels = np.append(share[(share > 1e-9) & (share <= 1)], 1.0)
    return np.unique(levels.round(9)).tolist()


def slack_rules(preset_rule: Rule, levels: Iterable[float], kind: str) -> list[Rule]:
    """The rule with each slack (``"slack"``) or ratio (``"ratio"``)."""
    accept = absolute_slack if kind == "slack" else relative_slack
    return [replace(preset_rule, accept=accept(level)) for level in levels]
