"""One data type for every tabular task: successor tables, a start distribution and a terminal mask.

In state s under action a, successor b comes with ``probability[s,a,b]``, is ``next_state[s,a,b]``
and pays the K rewards ``reward[s,a,b]``. Solvers, learners, the compiled environment and the
Gymnasium adapter all read this type.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse

from lexicone._base.checks import check_gamma
from lexicone.models._arrays import SUM_TOLERANCE, as_array, read_only, scale_to_one
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
from lexicone.models._reachability import reachable
from lexicone.models._saved_models import read_fields, write_fields

__all__ = ["MDP", "Dense", "Layout", "Sparse", "check_model", "decision_states"]


@dataclass(frozen=True, eq=False, init=False)
class MDP:
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
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
        objective_names: Sequence[str] | None = None,
        layout: Layout | None = None,
    ) -> None:
        given: dict[str, Any] = {
            "next_state": read_only("next_state", next_state, np.int32),
            "probability": read_only("probability", probability, np.float64),
            "reward": read_only("reward", reward, np.float64),
            "initial": read_only("initial", initial, np.float64),
            "terminal": read_only("terminal", terminal, np.bool_),
            "state_names": None if state_names is None else tuple(map(str, state_names)),
            "action_names": None if action_names is None else tuple(map(str, action_names)),
            "objective_names": None
            if objective_names is None
            else tuple(map(str, objective_names)),
            "layout": layout,
        }
        for name, value in given.items():
            object.__setattr__(self, name, value)
        self.validate()
        for name in ("probability", "initial"):
            object.__setattr__(self, name, scale_to_one(given[name]))

    @property
    def num_states(self) -> int:
        """S."""
        return self.next_state.shape[0]

    @property
    def num_actions(self) -> int:
        """A."""
        return self.next_state.shape[1]

    @property
    def num_successors(self) -> int:
        """B, the largest number of successors of any state and action."""
        return self.next_state.shape[2]

    @property
    def num_objectives(self) -> int:
        """K."""
        return self.reward.shape[3]

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
        """``Σ_b p(b|s,a)·r(s,a,b)``."""
        table = np.einsum("sab,sabk->sak", self.probability, self.reward)
        table.flags.writeable = False
        return table

    @cached_property
    def graph(self) -> sparse.csr_array:
        """Which state can lead to which in one step, under some action: boolean ``[S,S]``."""
        keep = self.probability > 0
        source = np.broadcast_to(np.arange(self.num_states)[:, None, None], keep.shape)[keep]
        entries = (np.ones(len(source), dtype=bool), (source, self.next_state[keep]))
        return sparse.csr_array(entries, shape=(self.num_states, self.num_states))

    def reachable(self) -> Bool[np.ndarray, " S"]:
        """The states that some policy visits with positive probability."""
        return reachable(self.graph, self.initial > 0)

    def can_terminate(self) -> Bool[np.ndarray, " S"]:
        """The states from which some policy can reach a terminal state (terminal ones included)."""
        return reachable(self.graph, self.terminal, backward=True)

    def policy_table(self, policy: Any) -> Float[np.ndarray, "S A"]:
        """A policy as probabilities, from ``[S,A]`` of them or one action per state ``[S]``."""
        given = as_array("policy", policy)
        if given.ndim == 1 and given.shape == (self.num_states,) and given.dtype.kind in "iu":
            bad = (given < 0) | (given >= self.num_actions)
            if bad.any():
                s = int(np.argmax(bad))
                raise ValueError(
                    f"policy[{s}] ({self.state_label(s)}): is {given[s]}, "
                    f"but actions are numbered from 0 to {self.num_actions - 1}"
                )
            return np.eye(self.num_actions)[given]
        if given.shape != (self.num_states, self.num_actions) or given.dtype.kind not in "fiub":
            raise ValueError(
                f"policy: expected probabilities of shape {(self.num_states, self.num_actions)} "
                f"or {self.num_states} action numbers, got {given.dtype} of shape {given.shape}"
            )
        table = given.astype(float)
        sums = table.sum(axis=1)
        bad = ~(table >= 0).all(axis=1) | ~(np.abs(sums - 1) <= SUM_TOLERANCE)
        if bad.any():
            s = int(np.argmax(bad))
            raise ValueError(
                f"policy[{s}] ({self.state_label(s)}): must be probabilities that sum to 1, "
                f"got {table[s].tolist()}"
            )
        return scale_to_one(table)

    def chain(self, policy: Any) -> sparse.csr_array:
        """The policy's Markov chain, ``P[s,t] = Σ_a π(a|s) p(t|s,a)``: sparse ``[S,S]``."""
        weights = self.policy_table(policy)[:, :, None] * self.probability
        keep = weights > 0
        source = np.broadcast_to(np.arange(self.num_states)[:, None, None], keep.shape)[keep]
        entries = (weights[keep], (source, self.next_state[keep]))
        matrix = sparse.csr_array(entries, shape=(self.num_states, self.num_states))
        matrix.sum_duplicates()
        return matrix

    def policy_reward(self, policy: Any) -> Float[np.ndarray, "S K"]:
        """``Σ_a π(a|s) r(s,a)``: the expected reward of one step."""
        return np.einsum("sa,sak->sk", self.policy_table(policy), self.expected_reward)

    def validate(self, *, episodic: bool = False) -> None:
        """Raise a ValueError that lists every defect with its place; do nothing if there is none.

        ``episodic`` also demands that a terminal state can be reached from wherever one can get.
        """
        for name, count in (
            ("state", self.next_state.shape[:1]),
            ("action", self.next_state.shape[1:2]),
            ("objective", self.reward.shape[3:]),
        ):
            names = getattr(self, f"{name}_names")
            if names is not None and count and len(names) != count[0]:
                raise ValueError(f"{name}_names: expected {count[0]} names, got {len(names)}")
            if names is not None and len(set(names)) != len(names):
                twice = next(n for n in names if names.count(n) > 1)
                raise ValueError(f"{name}_names: {twice!r} appears twice")
        defects = find_defects(
            self.next_state,
            self.probability,
            self.reward,
            self.initial,
            self.terminal,
            self.state_label,
            self.action_label,
        )
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
        write_fields(path, {field.name: getattr(self, field.name) for field in fields(self)})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "MDP":
        """Read what `save` wrote; the tables are validated again."""
        return cls(**read_fields(path))


def decision_states(mdp: MDP) -> Bool[np.ndarray, " S"]:
    """The states in which actions matter: those that can be reached and are not terminal."""
    return mdp.reachable() & ~mdp.terminal


def check_model(mdp: Any, gamma: Any = 1.0) -> None:
    """What everything that computes with a model asks of it and of the discount."""
    if not isinstance(mdp, MDP):
        raise ValueError(f"mdp: expected an MDP, got {type(mdp).__name__}")
    check_gamma(gamma)
