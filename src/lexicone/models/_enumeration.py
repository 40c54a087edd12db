"""An `MDP` from a tabular Gymnasium or MO-Gymnasium environment, by enumeration of its states.

Two kinds of environments can be enumerated: those that expose their dynamics as ``P[s][a] =
[(probability, next state, reward, terminated), …]`` (Gymnasium's toy-text), and deterministic
ones, whose states are explored by trying every action in every state. Observations must tell
states apart.
"""

import copy
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np

from lexicone._base.checks import check_whole
from lexicone.models._mdp import MDP

__all__ = ["enumerate_env"]

_Outcome = tuple[float, Hashable, np.ndarray, bool]  # probability, successor, reward, terminated


class _Model(NamedTuple):
    starts: dict[Hashable, float]
    outcomes: Callable[[Hashable], list[list[_Outcome]]]
    """One list per action."""


def enumerate_env(
    env: Any,
    *,
    max_states: int = 100_000,
    objective_names: tuple[str, ...] | None = None,
    action_names: tuple[str, ...] | None = None,
) -> MDP:
    """Every state that can be reached from a start, as an `MDP`; limits on length are left out.

    States are named by their observations. A state in which an episode may either end or go on
    (depending on how it was reached) appears twice. Raises a ValueError if the environment is
    random without exposing its dynamics, or has more than ``max_states`` states.
    """
    check_whole(max_states=max_states)
    inner = getattr(env, "unwrapped", env)
    if isinstance(getattr(inner, "mdp", None), MDP):
        return inner.mdp
    count = getattr(getattr(inner, "action_space", None), "n", None)
    if count is None or not hasattr(inner, "step"):
        raise ValueError(
            f"env: expected a discrete action space, got {getattr(inner, 'action_space', None)}"
        )
    offset = int(inner.action_space.start)
    if isinstance(getattr(inner, "P", None), dict):
        model = _exposed(inner, int(count), offset)
    else:
        model = _deterministic(inner, int(count), offset)
    return _assemble(model, int(count), max_states, objective_names, action_names)


def _exposed(env: Any, count: int, offset: int) -> _Model:
    weights = getattr(env, "initial_state_distrib", None)
    if weights is None:
        starts: dict[Hashable, float] = {_key(env.reset(seed=0)[0]): 1.0}
    else:
        weights = np.asarray(weights, dtype=float)
        starts = {int(s): float(weights[s] / weights.sum()) for s in np.flatnonzero(weights)}

    def outcomes(state: Hashable) -> list[list[_Outcome]]:
        return [
            [
                (float(p), int(after), np.atleast_1d(np.asarray(reward, dtype=float)), bool(end))
                for p, after, reward, end in env.P[state][offset + a]
                if p > 0
            ]
            for a in range(count)
        ]

    return _Model(starts, outcomes)


def _deterministic(env: Any, count: int, offset: int) -> _Model:
    """Tries every action in every state, which it reaches anew from the start each time.

    An environment counts as random if a step draws from its generator, or if two tries differ.
    """
    first = [_key(env.reset(seed=seed)[0]) for seed in range(8)]
    if len(set(first)) > 1:
        other = next(key for key in first if key != first[0])
        raise ValueError(
            f"env: starts at random ({_text(first[0])}, {_text(other)}), "
            "and does not expose its dynamics as P"
        )
    ways: dict[Hashable, list[int]] = {first[0]: []}

    def attempt(state: Hashable, action: int, seed: int) -> tuple[_Outcome, bool]:
        env.reset(seed=seed)
        for earlier in ways[state]:
            env.step(earlier)
        before = copy.deepcopy(env.np_random.bit_generator.state)
        observation, reward, end, _, _ = env.step(action)
        drew = before != env.np_random.bit_generator.state
        paid = np.atleast_1d(np.asarray(reward, dtype=float))
        return (1.0, _key(observation), paid, bool(end)), drew

    def outcomes(state: Hashable) -> list[list[_Outcome]]:
        rows = []
        for action in range(offset, offset + count):
            (one, drew), (two, _) = (attempt(state, action, seed) for seed in (0, 1))
            if drew or one[1] != two[1] or one[3] != two[3] or (one[2] != two[2]).any():
                raise ValueError(
                    f"env: action {action} in state {_text(state)} has a random outcome, "
                    "and the environment does not expose its dynamics as P"
                )
            if not one[3]:
                ways.setdefault(one[1], [*ways[state], action])
            rows.append([one])
        return rows

    return _Model({first[0]: 1.0}, outcomes)


def _assemble(
    model: _Model,
    count: int,
    max_states: int,
    objective_names: tuple[str, ...] | None,
    action_names: tuple[str, ...] | None,
) -> MDP:
    """Breadth first from the starts; a state is (observation, whether the episode ended there)."""
    number: dict[tuple[Hashable, bool], int] = {}
    for state in model.starts:
        number[state, False] = len(number)
    queue = list(number)
    table: dict[int, list[list[_Outcome]]] = {}
    for state, ended in queue:  # grows while it is read
        if ended:
            continue
        rows = model.outcomes(state)
        table[number[state, ended]] = rows
        for row in rows:
            for _, after, _, end in row:
                if (after, end) not in number:
                    number[after, end] = len(number)
                    queue.append((after, end))
        if len(number) > max_states:
            raise ValueError(f"max_states: the environment has more than {max_states} states")

    width = max(len(row) for rows in table.values() for row in rows)
    size = next(len(reward) for rows in table.values() for row in rows for _, _, reward, _ in row)
    shape = (len(number), count, width)
    next_state = np.broadcast_to(np.arange(len(number))[:, None, None], shape).copy()
    probability, reward = np.zeros(shape), np.zeros((*shape, size))
    probability[..., 0] = 1.0
    for s, rows in table.items():
        for a, row in enumerate(rows):
            probability[s, a, 0] = 0.0
            for b, (p, after, paid, end) in enumerate(row):
                next_state[s, a, b] = number[after, end]
                probability[s, a, b] = p
                reward[s, a, b] = paid
    initial = np.zeros(len(number))
    for state, weight in model.starts.items():
        initial[number[state, False]] = weight
    return MDP(
        next_state=next_state,
        probability=probability,
        reward=reward,
        initial=initial,
        terminal=np.array([ended for _, ended in number]),
        state_names=tuple(
            _text(state) + (" (end)" if ended and (state, False) in number else "")
            for state, ended in number
        ),
        action_names=action_names,
        objective_names=objective_names,
    )


def _key(observation: Any) -> Hashable:
    """A hashable copy of an observation: numbers, arrays, and tuples or dicts of them."""
    if isinstance(observation, dict):
        return tuple((name, _key(part)) for name, part in sorted(observation.items()))
    if isinstance(observation, (tuple, list)):
        return tuple(_key(part) for part in observation)
    array = np.asarray(observation)
    return array.item() if array.ndim == 0 else tuple(map(_key, array.tolist()))


def _text(key: Hashable) -> str:
    return str(key).replace(" ", "")
