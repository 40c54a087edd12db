"""From a model with labels and rewards by name, and properties, to an `MDP`: what has been decided is remembered.

An objective is *open* until its property is decided: until the goal was reached, or cannot be any more. States of the
`MDP` are pairs of a state and the set of open objectives; only those that can be reached are made. Where nothing is
open, the episode ends. Rewards are such that larger is better: minus what is minimised.

    P [F g]      1 on arrival in g                    P [l U g]    the same, decided without it where neither l nor g
    P [G g]      1 at the start, −1 on leaving g      R [C]        what is paid
    R [F g]      what is paid before g; see `_surely`
"""

import os
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from lexicone._base.memory import check_memory
from lexicone.models._drn import read_drn
from lexicone.models._explicit import Explicit, Rewards
from lexicone.models._factors import Factors
from lexicone.models._mdp import MDP
from lexicone.models._properties import Formula, Property, read_properties
from lexicone.models._reachability import reachable
from lexicone.models._rows import Rows
from lexicone.models._surely import Until, until_goal
from lexicone.models._umb import read_umb

__all__ = ["Origin", "check_before", "check_properties", "make_model", "read_model"]

_NAMED_STATES = 100_000  # up to here states have names
_FEW_NAMES = 16  # as many names of choices are always taken as actions


class Origin(NamedTuple):
    """Where the states and choices of an `MDP` come from."""

    state: Int[np.ndarray, " S"]
    """Of the model that was read; −1 for the end."""
    open: Int[np.ndarray, " S"]
    """The objectives that are not decided, as bits."""
    choice: Int[np.ndarray, " C"]
    """Of the model that was read; −1 for a choice that it does not have."""
    choice_labels: tuple[str, ...] | None
    """Of each choice of the model that was read; "" where it has none."""
    variables: Factors | None
    booleans: frozenset[str]


def read_model(form: str, path: Any, objectives: Any, discounted: Any) -> MDP:
    """See `MDP.from_drn` and `MDP.from_umb`."""
    check_before(path, objectives, discounted)
    return make_model(read_drn(path) if form == "drn" else read_umb(path), objectives, discounted)


def check_before(path: Any, objectives: Any, discounted: Any) -> None:
    """What can be said of the arguments without reading the file."""
    if not isinstance(path, str | os.PathLike):
        raise ValueError(f"path: expected the path of a file, got {path!r}")
    if not os.path.isfile(path):
        raise ValueError(f"path: there is no file {os.fspath(path)!r}")
    check_properties(objectives, discounted)


def check_properties(objectives: Any, discounted: Any) -> None:
    """The same where there is no file."""
    read_properties(objectives)
    if not isinstance(discounted, bool):
        raise ValueError(f"discounted: must be True or False, got {discounted!r}")


def make_model(model: Explicit, objectives: Any, discounted: bool) -> MDP:
    """The `MDP` with these properties as objectives."""
    properties = read_properties(objectives)
    parts = [_Objective.of(model, asked, discounted) for asked in properties.values()]
    return _Product(model, parts).mdp(tuple(properties))


@dataclass(frozen=True)
class _Objective:
    """One property on one model."""

    sign: int
    closes: Bool[np.ndarray, " S"]
    """On arrival here the property is decided."""
    arrival: Float[np.ndarray, " S"] | None = None
    """What that pays, before the sign."""
    paid: Float[np.ndarray, " E"] | None = None
    start: float = 0.0
    until: Until | None = None

    @classmethod
    def of(cls, model: Explicit, asked: Property, discounted: bool) -> "_Objective":
        if asked.kind == "R":
            return cls._rewards(model, asked, discounted)
        right = _where(model, asked, asked.right)
        if asked.path == "G":
            left, goal, weight, start = np.ones_like(right), ~right, -1.0, 1.0
        else:
            left = np.ones_like(right) if asked.left is None else _where(model, asked, asked.left)
            goal, weight, start = right, 1.0, 0.0
        on_the_way = (left & ~goal)[model.source]
        can_come = reachable(model.graph(on_the_way), goal, backward=True)
        return cls(asked.sign, goal | ~can_come, np.where(goal, weight, 0.0), None, start)

    @classmethod
    def _rewards(cls, model: Explicit, asked: Property, discounted: bool) -> "_Objective":
        paid = model.paid(_find_rewards(model, asked))
        if not np.isfinite(paid).all():
            raise ValueError(f"{asked.where}: the rewards of {asked.text} are not all finite")
        if not discounted and paid.min(initial=0.0) < 0 < paid.max(initial=0.0):
            raise ValueError(
                f"{asked.where}: the rewards of {asked.text} have both signs, from {paid.min():g} to {paid.max():g}; "
                "such totals are only defined with discounting"
            )
        if asked.path == "C":
            everywhere = np.ones(len(model.next_state), dtype=bool)
            sources = np.zeros(model.num_states, dtype=bool)
            sources[model.source[paid != 0]] = True
            earns = reachable(model.graph(everywhere), sources, backward=True)
            return cls(asked.sign, ~earns, None, paid)
        goal = _where(model, asked, asked.right)
        until = None if discounted else until_goal(model, goal, paid)
        return cls(asked.sign, goal, None, paid, 0.0, until)

    def rewards(self, model: Explicit, branches: np.ndarray) -> np.ndarray:
        """What branches pay while it is open, larger is better."""
        source, target = model.source[branches], model.next_state[branches]
        if self.paid is None:
            assert self.arrival is not None
            return self.sign * self.arrival[target]
        found = self.sign * self.paid[branches]
        if self.until is not None:
            worst = -(np.abs(self.paid).max(initial=0.0) or 1.0)
            found = np.where(self.until.lost[source], worst, found)
            found += self.until.potential[source] - self.until.potential[target]
        return found

    def at_start(self, initial: int) -> float:
        """What is decided before the first step."""
        arrived = 0.0 if self.arrival is None else float(self.arrival[initial])
        return self.sign * (self.start + arrived)


def _where(model: Explicit, asked: Property, formula: Formula | None) -> np.ndarray:
    assert formula is not None
    try:
        return formula(model.labels)
    except KeyError as missing:
        known = ", ".join(f'"{name}"' for name in model.labels)
        raise ValueError(
            f'{asked.where}: there is no label "{missing.args[0]}"; there are {known}'
        ) from None


def _find_rewards(model: Explicit, asked: Property) -> Rewards:
    known = ", ".join(f'"{name}"' for name in model.rewards) or "none"
    if asked.reward is None:
        if len(model.rewards) == 1:
            return next(iter(model.rewards.values()))
        raise ValueError(f'{asked.where}: say which rewards, as in R{{"name"}}; there are {known}')
    if asked.reward not in model.rewards:
        raise ValueError(f'{asked.where}: there are no rewards "{asked.reward}"; there are {known}')
    return model.rewards[asked.reward]


class _Block(NamedTuple):
    """Some of the states, their choices and what may follow."""

    sizes: Int[np.ndarray, " N"]
    """How many choices each has."""
    choice: Int[np.ndarray, " C"]
    """Of the model that was read."""
    lengths: Int[np.ndarray, " C"]
    next_state: Int[np.ndarray, " E"]
    probability: Float[np.ndarray, " E"]
    reward: Float[np.ndarray, "E K"]


class _Product:
    """Layers of states, from many open objectives to few; the end is the last state.

    Where something is decided before the first step, the start is a state apart, whose choices pay that too.
    """

    def __init__(self, model: Explicit, objectives: list[_Objective]) -> None:
        self.model, self.objectives = model, objectives
        bits = [1 << k for k in range(len(objectives))]
        self.closing = sum(
            (np.where(o.closes, bit, 0) for o, bit in zip(objectives, bits, strict=True)),
            start=np.zeros(model.num_states, dtype=np.int64),
        )
        self.first_open = sum(bits) & ~int(self.closing[model.initial])
        self.offset = np.array([o.at_start(model.initial) for o in objectives])
        self.begins_apart = bool(self.offset.any()) or self.first_open == 0
        self.layers = self._find_layers()
        self.action, self.action_names = _number_actions(model)
        self.place: dict[int, Int[np.ndarray, " S"]] = {}
        count = int(self.begins_apart)
        for opened, states in self.layers.items():
            self.place[opened] = np.full(model.num_states, -1, dtype=np.int32)
            self.place[opened][states] = np.arange(count, count + len(states))
            count += len(states)
        self.end = count

    def _find_layers(self) -> dict[int, Int[np.ndarray, " N"]]:
        """The states that can be reached, by what is open there."""
        model = self.model
        entered = {self.first_open: np.zeros(model.num_states, dtype=bool)}
        entered[self.first_open][model.initial] = True
        layers = {}
        while entered:
            opened = max(entered, key=lambda bits: (bits.bit_count(), bits))
            begin = entered.pop(opened)
            if not opened:
                break
            keeps = (self.closing[model.next_state] & opened) == 0
            states = reachable(model.graph(keeps), begin)
            layers[opened] = np.flatnonzero(states)
            leaving = ~keeps & states[model.source]
            target = model.next_state[leaving]
            left = opened & ~self.closing[target]
            for bits in np.unique(left).tolist():
                mark = entered.setdefault(bits, np.zeros(model.num_states, dtype=bool))
                mark[target[left == bits]] = True
        return layers

    def mdp(self, names: tuple[str, ...]) -> MDP:
        """With these names of objectives."""
        model = self.model
        each = len(model.next_state) / model.num_states * (60 + 16 * len(names))
        check_memory("objectives", self.end * (100 + each), f"a model of {self.end:,} states")
        blocks = [self._start()] if self.begins_apart else []
        blocks += [self._block(states, opened) for opened, states in self.layers.items()]
        choice = np.concatenate([block.choice for block in blocks])
        rows = Rows(
            offsets=_sums([*(block.sizes for block in blocks), np.zeros(1, dtype=np.int64)]),
            action=np.where(choice < 0, 0, self.action[choice]),
            ends=_sums([block.lengths for block in blocks]),
            next_state=np.concatenate([block.next_state for block in blocks]),
            probability=np.concatenate([block.probability for block in blocks]),
            reward=np.concatenate([block.reward for block in blocks]),
        )
        state, opened = self._states()
        initial = np.zeros(self.end + 1)
        initial[0 if self.begins_apart else self.place[self.first_open][model.initial]] = 1.0
        found = MDP.from_rows(
            rows,
            initial,
            np.arange(self.end + 1) == self.end,
            state_names=self._state_names(state, opened),
            action_names=self.action_names,
            objective_names=names,
            factors=_of_states(model.factors, state),
        )
        labels = None
        if model.choice_names is not None and model.choice_name is not None:
            labels = tuple(model.choice_names[n] for n in model.choice_name.tolist())
        variables = model.factors, model.booleans
        found._set(origin=Origin(state, opened, choice, labels, *variables))
        return found

    def _start(self) -> _Block:
        """The initial state once more, with what is decided before the first step."""
        if self.first_open:
            block = self._block(np.array([self.model.initial]), self.first_open)
            return block._replace(reward=block.reward + self.offset)
        one = np.ones(1, dtype=np.int64)
        return _Block(one, -one, one, self.end * one, np.ones(1), self.offset[None])

    def _block(self, states: Int[np.ndarray, " N"], opened: int) -> _Block:
        model = self.model
        choice = _ranges(model.offsets, states)
        owner = np.repeat(np.arange(len(states)), np.diff(model.offsets)[states])
        order = np.lexsort((self.action[choice], owner))
        choice, owner = choice[order], owner[order]
        branches = _ranges(model.ends, choice)
        of = np.repeat(np.arange(len(choice)), np.diff(model.ends)[choice])
        reward = np.zeros((len(branches), len(self.objectives)))
        stays = np.zeros(len(choice), dtype=bool)
        for k, objective in enumerate(self.objectives):
            if opened >> k & 1:
                reward[:, k] = objective.rewards(model, branches)
                if objective.until is not None:
                    stays |= objective.until.idle[choice]
        gains = np.zeros(len(choice), dtype=bool)
        gains[of[(reward > 0).any(axis=1)]] = True
        kept = ~stays | gains
        there = kept[of]
        target = model.next_state[branches[there]]
        left = opened & ~self.closing[target]
        next_state = np.full(len(target), self.end)
        for bits in np.unique(left[left > 0]).tolist():
            next_state[left == bits] = self.place[bits][target[left == bits]]
        return _Block(
            np.bincount(owner[kept], minlength=len(states)),
            choice[kept],
            np.diff(model.ends)[choice[kept]],
            next_state,
            model.probability[branches[there]],
            reward[there],
        )

    def _states(self) -> tuple[Int[np.ndarray, " S"], Int[np.ndarray, " S"]]:
        """The state and what is open, of each; the end has none."""
        begin = [(self.first_open, np.array([self.model.initial]))] * self.begins_apart
        parts = [*begin, *self.layers.items(), (0, np.array([-1]))]
        state = np.concatenate([states for _, states in parts])
        return state, np.repeat([opened for opened, _ in parts], [len(s) for _, s in parts])

    def _state_names(self, state: np.ndarray, opened: np.ndarray) -> tuple[str, ...] | None:
        if len(state) > _NAMED_STATES:
            return None
        texts, known = list(map(str, range(self.model.num_states))), self.model.factors
        if known is not None:
            valued = [
                ",".join(f"{name}={value:g}" for name, value in zip(known.names, row, strict=True))
                for row in known.values.tolist()
            ]
            texts = valued if len(set(valued)) == len(valued) else texts
        told = {
            bits: f" [{', '.join(str(k + 1) for k in range(len(self.objectives)) if bits >> k & 1)} open]"
            for bits in self.layers
        }
        if len(told) < 2:
            told = dict.fromkeys(told, "")
        names = [
            texts[s] + told.get(bits, "") for s, bits in zip(state[:-1], opened[:-1], strict=True)
        ]
        if self.begins_apart:
            names[0] = "start"
        return (*names, "end")


def _number_actions(model: Explicit) -> tuple[Int[np.ndarray, " C"], tuple[str, ...] | None]:
    """Names of choices are actions if no state has one twice, and there are not too many; else each state counts."""
    names, which = model.choice_names, model.choice_name
    sizes = np.diff(model.offsets)
    if names is not None and which is not None:
        few = len(names) <= max(_FEW_NAMES, int(sizes.max()))
        if few and len(np.unique(model.state * len(names) + which)) == len(which):
            return which, tuple(name or "(no name)" for name in names)
    return np.arange(len(model.state)) - model.offsets[model.state], None


def _of_states(factors: Factors | None, state: np.ndarray) -> Factors | None:
    if factors is None:
        return None
    values = np.where((state >= 0)[:, None], factors.values[state], np.nan)
    return Factors(factors.names, values)


def _ranges(offsets: np.ndarray, which: np.ndarray) -> np.ndarray:
    """``offsets[w] … offsets[w+1]−1`` for each w, one after the other."""
    sizes = np.diff(offsets)[which]
    begin = np.repeat(offsets[which] - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
    return begin + np.arange(sizes.sum())


def _sums(sizes: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
