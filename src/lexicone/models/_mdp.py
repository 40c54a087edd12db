"""One data type for every tabular task: what can be done in each state, a start distribution and a terminal mask.

In state s under action a, successor b comes with ``probability[s,a,b]``, is ``next_state[s,a,b]``
and pays the K rewards ``reward[s,a,b]``. Solvers, learners, the compiled environment and the
Gymnasium adapter all read this type. A model is held as such tables or as rows of what exists (`_rows`), whichever it
was made from; the other form is made when it is asked for. The exact solvers read rows only.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse

from lexicone._base.checks import check_gamma
from lexicone.models._arrays import read_only, scale_to_one
from lexicone.models._available import scale_available, without_missing
from lexicone.models._defects import find_defects
from lexicone.models._layout import Layout
from lexicone.models._packing import (
    Dense,
    Sparse,
    pack_dense,
    pack_sparse,
    unpack_dense,
    unpack_sparse,
)
from lexicone.models._policies import as_policy
from lexicone.models._reachability import reachable
from lexicone.models._rows import Rows, Tables, find_row_defects, rows_of_tables, tables_of_rows
from lexicone.models._saved_models import read_fields, write_fields

__all__ = ["MDP", "Dense", "Layout", "Sparse", "check_model", "decision_states", "first_actions"]


@dataclass(frozen=True, eq=False, init=False)
class MDP:
    """A Markov decision process with S states, A actions, at most B successors and K rewards.

    Terminal states loop on themselves with reward 0. Successors with probability 0 are fillers.
    Distributions may miss a sum of 1 by 10⁻⁶ and are then scaled. Tables are copied, converted and
    made read-only; what is wrong with them raises a ValueError that lists every defect and its
    place.
    """

    initial: Float[np.ndarray, " S"]
    terminal: Bool[np.ndarray, " S"]
    available: Bool[np.ndarray, "S A"]
    """Which actions there are in which state; all of them in terminal states."""
    state_names: tuple[str, ...] | None
    action_names: tuple[str, ...] | None
    objective_names: tuple[str, ...] | None
    layout: Layout | None

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
    ) -> None:
        tables = Tables(
            read_only("next_state", next_state, np.int32),
            read_only("probability", probability, np.float64),
            read_only("reward", reward, np.float64),
        )
        if available is not None:
            available = read_only("available", available, np.bool_)
            tables = without_missing(tables, available)
        self._set(
            initial=read_only("initial", initial, np.float64),
            terminal=read_only("terminal", terminal, np.bool_),
            **_names(state_names, action_names, objective_names),
            layout=layout,
            **tables._asdict(),
        )
        self._set(available=self._all_in_ends(tables.next_state.shape[:2], available))
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
    ) -> "MDP":
        """From rows (see `Rows`), which are kept as they are: successor tables are only made if they are asked for."""
        self = object.__new__(cls)
        names = _names(state_names, action_names, objective_names)
        most = int(rows.action.max(initial=0)) + 1 if num_actions is None else num_actions
        most = max(most, len(names["action_names"] or ()))
        self._set(
            rows=rows,
            initial=read_only("initial", initial, np.float64),
            terminal=read_only("terminal", terminal, np.bool_),
            **names,
            layout=layout,
        )
        mask = np.zeros((rows.num_states, most), dtype=bool)
        mask[rows.state, rows.action] = True
        self._set(available=self._all_in_ends(mask.shape, mask))
        self.validate()
        self._set(rows=rows.scaled(), initial=scale_to_one(self.initial))
        return self

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _all_in_ends(self, shape: tuple[int, ...], available: np.ndarray | None) -> np.ndarray:
        if available is None:
            mask = np.ones(shape, dtype=bool)
        elif self.terminal.shape == shape[:1] == available.shape[:1]:
            mask = available | self.terminal[:, None]
        else:
            mask = available  # of the wrong shape: `validate` says so
        mask.flags.writeable = False
        return mask

    @cached_property
    def rows(self) -> Rows:
        """What can be chosen, without what fills tables up."""
        tables = Tables(self.next_state, self.probability, self.reward)
        return rows_of_tables(tables, self.available, self.terminal)

    @cached_property
    def _tables(self) -> Tables:
        return tables_of_rows(self.rows, self.num_actions)

    @cached_property
    def next_state(self) -> Int[np.ndarray, "S A B"]:
        """The successors; a state itself where there is none."""
        return self._tables.next_state

    @cached_property
    def probability(self) -> Float[np.ndarray, "S A B"]:
        """Of each successor; 0 where there is none, or the action is not available."""
        return self._tables.probability

    @cached_property
    def reward(self) -> Float[np.ndarray, "S A B K"]:
        """What each successor pays."""
        return self._tables.reward

    @property
    def is_sparse(self) -> bool:
        """Whether it is held as rows, and no successor tables have been made of it."""
        return "next_state" not in self.__dict__ and "_tables" not in self.__dict__

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
        return f"state {state}" + (f" {self.state_names[state]!r}" if self.state_names else "")

    def action_label(self, action: int) -> str:
        """How messages call an action."""
        return f"action {action}" + (f" {self.action_names[action]!r}" if self.action_names else "")

    @cached_property
    def expected_reward(self) -> Float[np.ndarray, "S A K"]:
        """``Σ_b p(b|s,a)·r(s,a,b)``; 0 where the action is not available."""
        table = np.zeros((self.num_states, self.num_actions, self.num_objectives))
        table[self.rows.state, self.rows.action] = self.rows.expected_reward
        table.flags.writeable = False
        return table

    @cached_property
    def graph(self) -> sparse.csr_array:
        """Which state can lead to which in one step, under some action: boolean ``[S,S]``."""
        return sparse.csr_array(self.rows.graph + sparse.diags_array(self.terminal, dtype=bool))

    def reachable(self) -> Bool[np.ndarray, " S"]:
        """The states that some policy visits with positive probability."""
        return reachable(self.graph, self.initial > 0)

    def can_terminate(self) -> Bool[np.ndarray, " S"]:
        """The states from which some policy can reach a terminal state (terminal ones included)."""
        return reachable(self.graph, self.terminal, backward=True)

    def policy_table(self, policy: Any) -> Float[np.ndarray, "S A"]:
        """A policy as probabilities, from ``[S,A]`` of them or one action per state ``[S]``."""
        return as_policy(policy, self.available, self.state_label, self.action_label)

    def chain(self, policy: Any) -> sparse.csr_array:
        """The policy's Markov chain, ``P[s,t] = Σ_a π(a|s) p(t|s,a)``: sparse ``[S,S]``."""
        rows, weights = self.rows, self._shares(policy)
        taken = weights[rows.choice] * rows.probability
        keep = taken > 0
        ends = np.flatnonzero(self.terminal)
        source = np.concatenate([rows.state[rows.choice[keep]], ends])
        target = np.concatenate([rows.next_state[keep], ends])
        entries = (np.concatenate([taken[keep], np.ones(len(ends))]), (source, target))
        matrix = sparse.csr_array(entries, shape=(self.num_states, self.num_states))
        matrix.sum_duplicates()
        return matrix

    def policy_reward(self, policy: Any) -> Float[np.ndarray, "S K"]:
        """``Σ_a π(a|s) r(s,a)``: the expected reward of one step."""
        rows = self.rows
        paid = self._shares(policy)[:, None] * rows.expected_reward
        return np.stack([np.bincount(rows.state, column, self.num_states) for column in paid.T], 1)

    def _shares(self, policy: Any) -> Float[np.ndarray, " C"]:
        """How likely the policy takes each choice."""
        return self.policy_table(policy)[self.rows.state, self.rows.action]

    def validate(self, *, episodic: bool = False) -> None:
        """Raise a ValueError that lists every defect with its place; do nothing if there is none.

        ``episodic`` also demands that a terminal state can be reached from wherever one can get.
        """
        labels = self.state_label, self.action_label
        if self.is_sparse:
            self._check_names(self.available.shape, self.rows.reward.shape[1:])
            defects = find_row_defects(self.rows, self.initial, self.terminal, *labels)
        else:
            self._check_names(self.next_state.shape, self.reward.shape[3:])
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
        from lexicone.models._matching import find_places

        places = find_places(objectives, self.objective_names, self.num_objectives)
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        own["reward"] = self.reward[..., places]
        if self.objective_names is not None:
            own["objective_names"] = [self.objective_names[k] for k in places]
        return MDP(**own)

    def _check_names(self, sizes: tuple[int, ...], objectives: tuple[int, ...]) -> None:
        counts = {"state": sizes[:1], "action": sizes[1:2], "objective": objectives}
        for name, count in counts.items():
            names = getattr(self, f"{name}_names")
            if names is not None and count and len(names) != count[0]:
                raise ValueError(f"{name}_names: expected {count[0]} names, got {len(names)}")
            if names is not None and len(set(names)) != len(names):
                twice = next(n for n in names if names.count(n) > 1)
                raise ValueError(f"{name}_names: {twice!r} appears twice")

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
        return cls(**read_fields(path))


def _names(
    state_names: Sequence[str] | None,
    action_names: Sequence[str] | None,
    objective_names: Sequence[str] | None,
) -> dict[str, tuple[str, ...] | None]:
    given = {
        "state_names": state_names,
        "action_names": action_names,
        "objective_names": objective_names,
    }
    return {name: None if n is None else tuple(map(str, n)) for name, n in given.items()}


def decision_states(mdp: MDP) -> Bool[np.ndarray, " S"]:
    """The states in which actions matter: those that can be reached and are not terminal."""
    return mdp.reachable() & ~mdp.terminal


def first_actions(mdp: MDP) -> Float[np.ndarray, "S A"]:
    """The policy that always takes the first action that is available."""
    return np.eye(mdp.num_actions)[mdp.available.argmax(axis=1)]


def check_model(mdp: Any, gamma: Any = 1.0) -> None:
    """What everything that computes with a model asks of it and of the discount."""
    if not isinstance(mdp, MDP):
        raise ValueError(f"mdp: expected an MDP, got {type(mdp).__name__}")
    check_gamma(gamma)
