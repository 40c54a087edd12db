"""An `MDP` from functions or from a list of transitions: states and actions are whatever one likes to call them.

States are explored breadth first from the starts and numbered as they are met. Where there is nothing to do, the
episode ends. States that are tuples of numbers are remembered as such: their *factors*.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from lexicone._base.checks import check_flags, check_whole, is_listing, is_number
from lexicone._base.progress import counting
from lexicone.models._factors import find_factors
from lexicone.models._mdp import MDP
from lexicone.models._rows import Rows

__all__ = ["RowCollector", "explore"]


def explore(
    starts: Any,
    actions: Any,
    step: Any,
    *,
    terminal: Any = None,
    max_states: int = 1_000_000,
    objective_names: Any = None,
    progress: bool = False,
) -> MDP:
    """Every state that can be reached from a start, as an `MDP`; see `MDP.from_function`."""
    check_whole(max_states=max_states)
    check_flags(progress=progress)
    if not callable(step):
        raise ValueError(f"step: expected a function of a state and an action, got {step!r}")
    if terminal is not None and not callable(terminal):
        raise ValueError(f"terminal: expected a function of a state, got {terminal!r}")
    offered = _actions_of(actions)
    rows = RowCollector("step")
    begin = as_distribution("starts", starts)
    for state in begin:
        rows.number(state)
    with counting("exploring states", shown=progress) as count:
        for place, state in enumerate(rows.states):  # which grows while it is read
            if not (state is END or (terminal is not None and terminal(state))):
                for action in _listed(offered(state), state):
                    rows.add(action, _outcomes(step(state, action), state, action))
            rows.close()
            if len(rows.states) > max_states:
                raise ValueError(
                    f"max_states: more than {max_states} states can be reached; one is {state!r}"
                )
            count(place + 1, len(rows.states))
    return rows.model(begin, objective_names)


END = type("End", (), {"__repr__": lambda self: "end"})()
"""The state of an episode that is over: what `step` calls None."""


class RowCollector:
    """Rows as they come, state by state; names of states and actions become numbers."""

    def __init__(self, argument: str) -> None:
        self.argument = argument
        self.states: list[Any] = []
        self.actions: dict[Hashable, int] = {}
        self._numbers: dict[Hashable, int] = {}
        self._offsets, self._ends = [0], [0]
        self._taken: list[int] = []
        self._next: list[int] = []
        self._probability: list[float] = []
        self._reward: list[tuple[float, ...]] = []
        self._own: list[tuple[int, list[tuple[float, Any, tuple[float, ...]]]]] = []

    @property
    def reached(self) -> set[Any]:
        """The states that follow some action."""
        return {self.states[number] for number in self._next}

    def number(self, state: Any) -> int:
        """Of a state, a new one if it was not met before."""
        state = END if state is None else state
        try:
            found = self._numbers.setdefault(state, len(self.states))
        except TypeError:
            raise ValueError(f"{self.argument}: states must be hashable, got {state!r}") from None
        if found == len(self.states):
            self.states.append(state)
        return found

    def add(self, action: Hashable, outcomes: list[tuple[float, Any, tuple[float, ...]]]) -> None:
        """What may follow an action in the state at hand."""
        try:
            number = self.actions.setdefault(action, len(self.actions))
        except TypeError:
            raise ValueError(f"actions: must be hashable, got {action!r}") from None
        self._own.append((number, outcomes))

    def close(self) -> None:
        """The state at hand is complete; its actions are sorted by number."""
        for action, outcomes in sorted(self._own, key=lambda own: own[0]):
            self._taken.append(action)
            for probability, following, reward in outcomes:
                self._next.append(self.number(following))
                self._probability.append(probability)
                self._reward.append(reward)
            self._ends.append(len(self._next))
        self._own.clear()
        self._offsets.append(len(self._taken))

    def model(self, begin: Mapping[Any, float], objective_names: Sequence[str] | None) -> MDP:
        """The model of all rows."""
        sizes = {len(reward) for reward in self._reward}
        if not sizes:
            raise ValueError(
                f"{self.argument}: no state has an action, so there is nothing to decide"
            )
        if len(sizes) > 1:
            raise ValueError(
                f"{self.argument}: rewards have different lengths, {sorted(sizes)}: each needs one for every objective"
            )
        rows = Rows(
            offsets=np.array(self._offsets),
            action=np.array(self._taken),
            ends=np.array(self._ends),
            next_state=np.array(self._next),
            probability=np.array(self._probability, dtype=float),
            reward=np.array(self._reward, dtype=float),
        )
        initial = np.zeros(len(self.states))
        for state, share in begin.items():
            initial[self.number(state)] = share
        return MDP.from_rows(
            rows,
            initial,
            np.diff(rows.offsets) == 0,
            state_names=_texts(self.states),
            action_names=_texts(list(self.actions)),
            objective_names=objective_names,
            factors=find_factors([() if s is END else s for s in self.states]),
        )


def as_distribution(name: str, starts: Any) -> dict[Hashable, float]:
    """A mapping from states to probabilities; a list of states, equally likely; or one state."""
    if isinstance(starts, Mapping):
        return {state: _number(f"{name}[{state!r}]", share) for state, share in starts.items()}
    if isinstance(starts, list):
        if not starts:
            raise ValueError(f"{name}: there must be at least one")
        shares: dict[Hashable, float] = {}
        for state in starts:
            _check_hashable(name, state)
            shares[state] = shares.get(state, 0.0) + 1 / len(starts)
        return shares
    _check_hashable(name, starts)
    return {starts: 1.0}


def _check_hashable(name: str, state: Any) -> None:
    try:
        hash(state)
    except TypeError:
        raise ValueError(f"{name}: states must be hashable, got {state!r}") from None


def as_reward(place: str, reward: Any) -> tuple[float, ...]:
    """K numbers, or one."""
    if is_number(reward):
        return (float(reward),)
    try:
        if isinstance(reward, str | bytes):
            raise TypeError
        found = tuple(float(r) for r in reward)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{place}: rewards must be numbers, got {reward!r}") from None
    if not found:
        raise ValueError(f"{place}: there must be at least one reward")
    return found


def _actions_of(actions: Any) -> Any:
    """A function from a state to what can be done there."""
    if callable(actions):
        return actions
    if not is_listing(actions):
        raise ValueError(
            f"actions: expected a function of a state, or a list for all states, got {actions!r}"
        )
    same = tuple(actions)
    return lambda state: same


def _listed(actions: Any, state: Any) -> Iterable[Any]:
    if not is_listing(actions):
        raise ValueError(
            f"actions({state!r}): expected a list of what can be done, got {actions!r}"
        )
    return actions


def _outcomes(given: Any, state: Any, action: Any) -> list[tuple[float, Any, tuple[float, ...]]]:
    """``(probability, next state, rewards)`` rows, or a single one."""
    place = f"step({state!r}, {action!r})"
    single = isinstance(given, tuple) and len(given) == 3 and is_number(given[0])
    try:
        rows: list[Any] = [given] if single else [tuple(row) for row in given]
    except TypeError:
        rows = []
    if not rows or any(len(row) != 3 for row in rows):
        raise ValueError(
            f"{place}: expected (probability, next state, rewards), or a list of such rows; got {given!r}"
        )
    return [(_number(place, p), following, as_reward(place, r)) for p, following, r in rows]


def _number(place: str, value: Any) -> float:
    if not is_number(value):
        raise ValueError(f"{place}: a probability must be a number, got {value!r}")
    return float(value)


def _texts(names: list[Any]) -> tuple[str, ...]:
    """As text; where two look the same, numbered."""
    texts = [str(name).replace(" ", "") if isinstance(name, tuple) else str(name) for name in names]
    if len(set(texts)) == len(texts):
        return tuple(texts)
    return tuple(f"{text} #{number}" for number, text in enumerate(texts))
