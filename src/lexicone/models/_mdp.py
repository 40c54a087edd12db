"""One data type for every tabular task: what can be done in each state, a start distribution and a terminal mask.

In state s under action a, successor b comes with ``probability[s,a,b]``, is ``next_state[s,a,b]``
and pays the K rewards ``reward[s,a,b]``. Solvers, learners, the compiled environment and the
Gymnasium adapter all read this type. A model is held as such tables or as rows of what exists (`_rows`), whichever it
was made from; the other form is made when it is asked for. The exact solvers read rows only.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from lexicone._base.checks import (
    check_flags,
    check_gamma,
    check_index,
    check_type,
    check_whole,
    find_places,
)
from lexicone._base.memory import check_memory
from lexicone.models._arrays import read_only, scale_to_one
from lexicone.models._available import (
    all_available,
    available_or_end,
    scale_available,
    without_missing,
)
from lexicone.models._checker_files import CheckerFiles
from lexicone.models._defects import find_defects
from lexicone.models._display import Display
from lexicone.models._dynamics import Dynamics
from lexicone.models._factors import Factors, check_parts
from lexicone.models._layout import Layout
from lexicone.models._names import as_names, check_names
from lexicone.models._packing import (
    Dense,
    Sparse,
    pack_dense,
    pack_sparse,
    unpack_dense,
    unpack_sparse,
)
from lexicone.models._policies import as_policy
from lexicone.models._row_defects import check_per_state, find_row_defects
from lexicone.models._rows import Rows, Tables, rows_of_tables, tables_of_rows
from lexicone.models._saved_models import read_fields, write_fields

__all__ = ["MDP", "Dense", "Layout", "Sparse", "check_model", "decision_states", "first_actions"]


@dataclass(frozen=True, eq=False, init=False, repr=False)
class MDP(Display, CheckerFiles, Dynamics):
    """A Markov decision process with S states, A actions, at most B successors and K rewards.

    Terminal states loop on themselves with reward 0. Successors with probability 0 are fillers.
    Distributions may miss a sum of 1 by 10⁻⁶ and are then scaled. Tables are copied, converted and
    made read-only; what is wrong with them raises a ValueError that lists every defect and its
    place.
    """

    next_state: Int[np.ndarray, "S A B"]
    probability: Float[np.ndarray, "S A B"]
    reward: Float[np.ndarray, "S A B K"]
    initial: Float[np.ndarray, " S"]
    terminal: Bool[np.ndarray, " S"]
    available: Bool[np.ndarray, "S A"]
    """Which actions there are in which state; all of them in terminal states."""
    state_names: tuple[str, ...] | None
    action_names: tuple[str, ...] | None
    objective_names: tuple[str, ...] | None
    layout: Layout | None
    factors: Factors | None
    """The numbers that make up each state, where states are tuples of numbers."""
    origin: Any = field(default=None, init=False, repr=False)
    """Where it was read from, if it was (`Origin`): for schedulers. It is not saved."""

    def __init__(
        self,
        *,
        next_state: Any,
        probability: Any,
        reward: Any,
        initial: Any,
        terminal: Any,
        available: Any = None,
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
        objective_names: Sequence[str] | None = None,
        layout: Layout | None = None,
        factors: Factors | None = None,
    ) -> None:
        tables = Tables(
            read_only("next_state", next_state, np.int32),
            read_only("probability", probability, np.float64),
            read_only("reward", reward, np.float64),
        )
        ends = read_only("terminal", terminal, np.bool_)
        mask = all_available(tables.next_state.shape[:2])
        if available is not None:
            mask = available_or_end(read_only("available", available, np.bool_), ends)
            tables = without_missing(tables, mask)
        check_parts(layout, factors)
        self._set(
            **tables._asdict(),
            initial=read_only("initial", initial, np.float64),
            terminal=ends,
            available=mask,
            **as_names(state_names, action_names, objective_names),
            layout=layout,
            factors=factors,
        )
        self.validate()
        self._set(
            probability=scale_available(self.probability, self.available),
            initial=scale_to_one(self.initial),
        )

    @classmethod
    def from_rows(
        cls,
        rows: Rows,
        initial: Any,
        terminal: Any,
        *,
        num_actions: int | None = None,
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
        objective_names: Sequence[str] | None = None,
        layout: Layout | None = None,
        factors: Factors | None = None,
    ) -> "MDP":
        """From rows (see `Rows`), which are kept as they are: successor tables are only made if they are asked for."""
        self = object.__new__(cls)
        check_type("rows", rows, Rows, "rows of a model")
        check_parts(layout, factors)
        names = as_names(state_names, action_names, objective_names)
        most = int(rows.action.max(initial=0)) + 1
        if num_actions is not None:
            check_whole(most, num_actions=num_actions)
            most = int(num_actions)
            check_memory("num_actions", 3 * rows.num_states * most, f"tables of {most} actions")
        most = max(most, len(names["action_names"] or ()))
        mask = np.zeros((rows.num_states, most), dtype=bool)
        mask[rows.state, rows.action] = True
        start = read_only("initial", initial, np.float64)
        ends = read_only("terminal", terminal, np.bool_)
        check_per_state(rows.num_states, initial=start, terminal=ends)
        parts = {"available": available_or_end(mask, ends), "layout": layout, "factors": factors}
        self._set(rows=rows, initial=start, terminal=ends, **parts, **names)
        self.validate()
        self._set(rows=rows.scaled(), initial=scale_to_one(self.initial))
        return self

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @cached_property
    def rows(self) -> Rows:
        """What can be chosen, without what fills tables up."""
        tables = Tables(self.next_state, self.probability, self.reward)
        return rows_of_tables(tables, self.available, self.terminal)

    def __getattr__(self, name: str) -> Any:
        """Successor tables of a model that was made from rows, when they are asked for."""
        if name not in Tables._fields or "rows" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self._set(**tables_of_rows(self.rows, self.num_actions)._asdict())
        return self.__dict__[name]

    @property
    def is_sparse(self) -> bool:
        """Whether it is held as rows, and no successor tables have been made of it."""
        return "next_state" not in self.__dict__

    @property
    def num_states(self) -> int:
        """S."""
        return len(self.initial)

    @property
    def num_actions(self) -> int:
        """A."""
        return self.available.shape[1]

    @property
    def num_successors(self) -> int:
        """B, the largest number of successors of any state and action."""
        return self.rows.most_successors if self.is_sparse else self.next_state.shape[2]

    @property
    def num_objectives(self) -> int:
        """K."""
        return self.rows.num_objectives if self.is_sparse else self.reward.shape[3]

    @property
    def objective_labels(self) -> tuple[str, ...]:
        """The K names, or "objective 1", "objective 2", … where none were given."""
        return self.objective_names or tuple(
            f"objective {k + 1}" for k in range(self.num_objectives)
        )

    def state_label(self, state: int) -> str:
        """How messages call a state."""
        check_index("state", state, self.num_states)
        return f"state {state}" + (f" {self.state_names[state]!r}" if self.state_names else "")

    def action_label(self, action: int) -> str:
        """How messages call an action."""
        check_index("action", action, self.num_actions)
        return f"action {action}" + (f" {self.action_names[action]!r}" if self.action_names else "")

    def policy_table(self, policy: Any) -> Float[np.ndarray, "S A"]:
        """A policy as probabilities, from ``[S,A]`` of them or one action per state ``[S]``."""
        return as_policy(policy, self.available, self.state_label, self.action_label)

    def validate(self, *, episodic: bool = False) -> None:
        """Raise a ValueError that lists every defect with its place; do nothing if there is none.

        ``episodic`` also demands that a terminal state can be reached from wherever one can get.
        """
        check_flags(episodic=episodic)
        labels = self.state_label, self.action_label
        if self.is_sparse:
            check_names(self, self.available.shape, self.rows.reward.shape[1:])
            defects = find_row_defects(self.rows, self.initial, self.terminal, *labels)
        else:
            check_names(self, self.next_state.shape, self.reward.shape[3:])
            tables = self.next_state, self.probability, self.reward
            defects = find_defects(*tables, self.initial, self.terminal, self.available, *labels)
        if not defects and self.layout and len(self.layout.positions) != self.num_states:
            defects = [
                f"layout: has {len(self.layout.positions)} positions for {self.num_states} states"
            ]
        if not defects and episodic:
            stuck = self.reachable() & ~self.can_terminate()
            if stuck.any():
                s = int(np.argmax(stuck))
                more = f" (nor from {stuck.sum() - 1} more)" if stuck.sum() > 1 else ""
                defects = [f"terminal: cannot be reached from {self.state_label(s)}{more}"]
        if defects:
            raise ValueError("\n".join(defects))

    def reorder(self, objectives: Sequence[str | int]) -> "MDP":
        """The same model with these objectives, by name or number (from 0), in this sequence.

        Objectives that are not listed are left out. An order with names does the same by itself (see `Order`).
        """
        places = find_places(objectives, self.objective_names, self.num_objectives)
        names = self.objective_names and [self.objective_names[k] for k in places]
        if not self.is_sparse:
            return replace(self, reward=self.reward[..., places], objective_names=names)
        found = MDP.from_rows(
            self.rows.with_entries(reward=self.rows.reward[:, places]),
            self.initial,
            self.terminal,
            num_actions=self.num_actions,
            state_names=self.state_names,
            action_names=self.action_names,
            objective_names=names,
            layout=self.layout,
            factors=self.factors,
        )
        found._set(origin=self.origin)
        return found

    @classmethod
    def from_dense(
        cls, transition: Any, reward: Any, initial: Any, terminal: Any, **names: Any
    ) -> "MDP":
        """``transition[S,A,S]``, ``reward[S,A,K]`` or ``[S,A,S,K]``, ``initial``, ``terminal``.

        Terminal rows may loop or be all 0. ``names`` are ``state_names``, ``action_names``,
        ``objective_names`` and ``layout``.
        """
        next_state, probability, packed = pack_dense(transition, reward, terminal)
        return cls(
            next_state=next_state,
            probability=probability,
            reward=packed,
            initial=initial,
            terminal=terminal,
            **names,
        )

    def to_dense(self) -> Dense:
        """Arrays ``[S,A,S]`` and ``[S,A,S,K]``, as `from_dense` reads them.

        Successors that are the same state are merged, their rewards averaged.
        """
        tables = unpack_dense(self.next_state, self.probability, self.reward)
        return Dense(*tables, self.initial, self.terminal)

    @classmethod
    def from_sparse(
        cls, transition: Sequence[Any], reward: Any, initial: Any, terminal: Any, **names: Any
    ) -> "MDP":
        """From one sparse ``[S,S]`` matrix per action.

        ``reward`` is an array ``[S,A,K]`` or ``reward[k][a]``, sparse ``[S,S]``; the rest is as in
        `from_dense`.
        """
        next_state, probability, packed = pack_sparse(transition, reward, terminal)
        return cls(
            next_state=next_state,
            probability=probability,
            reward=packed,
            initial=initial,
            terminal=terminal,
            **names,
        )

    def to_sparse(self) -> Sparse:
        """One matrix per action, as `from_sparse` reads them; merges successors like `to_dense`."""
        tables = unpack_sparse(self.next_state, self.probability, self.reward)
        return Sparse(*tables, self.initial, self.terminal)

    @classmethod
    def from_function(cls, starts: Any, actions: Any, step: Any, **options: Any) -> "MDP":
        """Explore every state that can be reached, breadth first; states may be anything hashable, such as tuples.

        >>> def step(money, action):                # bet a coin until 0 or 3 coins are left
        ...     return [(0.4, money + 1, [1]), (0.6, money - 1, [-1])]
        >>> MDP.from_function(2, lambda money: ["bet"] if 0 < money < 3 else [], step).num_states
        4

        Args:
            starts: one state; a list of states, equally likely; or a mapping from states to probabilities.
            actions: a function from a state to what can be done there (nothing: the episode ends), or a list for all.
            step: ``step(state, action)`` gives rows ``(probability, next state, rewards)``, or a single one. A next
                state of None ends the episode; rewards are K numbers, or one.
            **options: ``terminal``, a function that says in which states the episode ends; ``max_states``, by default
                a million; ``objective_names``; ``progress``, to show a progress bar.
        """
        from lexicone.models._exploration import explore

        return explore(starts, actions, step, **options)

    @classmethod
    def from_transitions(cls, rows: Any, **options: Any) -> "MDP":
        """From rows ``(state, action, probability, next state, reward, …)``, a data frame or a CSV file.

        >>> rows = [("home", "car", 0.9, "work", -5), ("home", "car", 0.1, "home", -9), ("home", "bike", 1, "work", -8)]
        >>> MDP.from_transitions(rows).action_names
        ('car', 'bike')

        Args:
            rows: tuples, with one reward for each objective; or an object with ``columns``, as pandas has it, or the
                path of a CSV file with a heading: ``state``, ``action``, ``probability`` (1 if there is no such
                column), ``next_state``, and an objective for each other column. Several rows for the same state and
                action are what may follow. States without rows are ends.
            **options: ``starts``, as in `from_function`, by default the state of the first row; ``objective_names``.
        """
        from lexicone.models._transitions import from_transitions

        return from_transitions(rows, **options)

    @classmethod
    def from_gym(cls, env: Any, **options: Any) -> "MDP":
        """By enumeration of a tabular Gymnasium environment; see `enumerate_env`."""
        from lexicone.models._enumeration import enumerate_env

        return enumerate_env(env, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an npz file (plain arrays, no pickle). It appears complete or not at all."""
        write_fields(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "MDP":
        """Read what `save` wrote; the tables are validated again."""
        fields = read_fields(path)
        return cls.from_rows(**fields) if "rows" in fields else cls(**fields)


def decision_states(mdp: MDP) -> Bool[np.ndarray, " S"]:
    """The states in which actions matter: those that can be reached and are not terminal."""
    return mdp.reachable() & ~mdp.terminal


def first_actions(mdp: MDP) -> Float[np.ndarray, "S A"]:
    """The policy that always takes the first action that is available."""
    return np.eye(mdp.num_actions)[mdp.available.argmax(axis=1)]


def check_model(mdp: Any, gamma: Any = 1.0) -> None:
    """What everything that computes with a model asks of it and of the discount."""
    check_type("mdp", mdp, MDP, "an MDP")
    check_gamma(gamma)
