"""What `solve` returns: the best policy with its proof, and how the search ended."""

import os
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float

from lexicone._base.checks import check_seed
from lexicone._base.frames import as_csv, as_frame, write_csv
from lexicone.exact._explanation import explain_solution
from lexicone.exact._saved_solutions import read_solution, write_solution
from lexicone.exact._solution_views import (
    find_state,
    policy_columns,
    solution_html,
    solution_line,
)
from lexicone.exact._tables import solution_table
from lexicone.order import Order
from lexicone.proofs._certificate import Certificate

__all__ = ["Policies", "Solution", "Status", "unproven"]

Policies = Literal["stochastic", "deterministic"]


class Status(StrEnum):
    """How `solve` ended."""

    OPTIMAL = "optimal"
    UNBOUNDED = "unbounded"
    """An objective that nothing limits can be made as large as one likes (γ=1)."""
    DIVERGENT = "divergent"
    """Every policy that keeps what is more important pays for an objective for ever: it is −∞ (γ=1).
    Loops whose rewards cancel count as no better, nor does a loop that gains from another start make up for it."""
    SUPREMUM = "supremum"
    """``bound`` is approached, but no policy attains it: the nearer, the rarer and longer a loop is
    used (γ=1). The policy is one that comes near."""
    NEEDS_MEMORY = "needs memory"
    """Optimal, but not by a stationary policy alone: see `Solution.stay` (γ=1)."""
    LIMIT = "limit"
    """The time limit, or the most nodes of a search for a deterministic policy: the best policy so far, and a bound."""
    FAILED = "failed"
    """The linear program could not be solved to the tolerance."""


def unproven(
    bound: Float[np.ndarray, " K"], key: Float[np.ndarray, " keys"]
) -> Float[np.ndarray, " K"]:
    """``bound − key``, objective by objective; 0 where both are the same infinity, or the key is ∞."""
    key = key[: len(bound)]
    same = (bound == key) | (key == np.inf)
    return np.where(same, 0.0, np.where(same, 0.0, bound) - np.where(same, 0.0, key))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Solution:
    """The best policy of a model, as `solve` found it."""

    status: Status
    message: str
    """The status in a sentence, with the objective's name."""
    values: Float[np.ndarray, " K"]
    """The expected returns of `policy` (with `stay`, if there is one), in the order's sequence: totals, larger is
    better; ``order.in_units(values)`` has the order's units."""
    key: Float[np.ndarray, " keys"]
    """``order.key(values)``."""
    policy: Float[np.ndarray, "S A"]
    """One stationary policy; it randomises in at most K−1 states that it visits, unless it stays in a
    loop that pays for ever, or the time was over."""
    occupancy: Float[np.ndarray, "S A"]
    """The expected discounted number of times that each action is taken; ∞ where it stays for ever."""
    satisfied: Bool[np.ndarray, " K-1"]
    """Which thresholds are met, up to the tolerance."""
    prices: Float[np.ndarray, "K-1 K"]
    """``prices[j,i]``: what one more unit of threshold j costs of objective i > j at least (0 where j is not met).

    They are duals, slopes of a concave front. At its corners there are two slopes, and this is one of them or one
    between; where threshold j is the most that can be had it is 0, for there is no more."""
    bound: Float[np.ndarray, " K"]
    """From the duals: no policy that has ``bound[j]`` of every objective j < i has more than ``bound[i]``, both cut at
    the thresholds."""
    stay: Float[np.ndarray, " S"] | None
    """With status "needs memory", and sometimes "limit": with this probability, decided anew at each visit, stop
    following `policy` and walk for ever where that costs nothing. None otherwise."""
    order: Order
    gamma: float
    policies: Policies
    method: str
    """"lp", "columns" or "branch and bound"."""
    criterion: str = "expected"
    certificate: Certificate | None = None
    """The duals of each stage, for `verify`; None for deterministic policies, whose search leaves none."""
    state_names: tuple[str, ...] | None = None
    """As the model calls them, if it does."""
    action_names: tuple[str, ...] | None = None
    objective_names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        return solution_line(self)

    def _repr_html_(self) -> str:
        """In notebooks: the table, and what `explain` says."""
        return solution_html(self)

    def __str__(self) -> str:
        """A table of objectives, thresholds, values and prices, in the order's units."""
        return solution_table(self)

    @property
    def labels(self) -> tuple[str, ...]:
        """What the objectives are called: by the order, or else by the model."""
        return self.order.names or self.objective_names or self.order.labels

    @property
    def gap(self) -> Float[np.ndarray, " K"]:
        """``bound − key``, objective by objective: what is left unproven."""
        return unproven(self.bound, self.key)

    @property
    def randomises(self) -> list[int]:
        """The states in which the policy chooses at random, of those that it visits."""
        taken = (self.policy > 0) & (self.occupancy > 0)
        return np.flatnonzero(taken.sum(axis=1) > 1).tolist()

    def act(self, state: Any, seed: Any = None) -> int:
        """An action for a state, by number, drawn with the policy's probabilities.

        ``stay``, where there is one, is not part of it: whether to stop there is yours to decide.

        Args:
            state: its number, or its label: a text, or the tuple that a model made of a function has in its place.
            seed: a whole number, with which a state always has the same answer; a ``numpy.random.Generator``, which
                goes on from call to call, so that an episode can be repeated; or None, for new random numbers.
        """
        place = find_state(self, state)
        if seed is not None and not isinstance(seed, np.random.Generator):
            check_seed(seed)
        reached = np.cumsum(self.policy[place])
        draw = np.random.default_rng(seed).random() * reached[-1]
        last = int(np.flatnonzero(self.policy[place])[-1])
        return min(int(np.searchsorted(reached, draw, side="right")), last)

    def to_frame(self) -> Any:
        """The policy as a data frame of pandas (extra ``frames``): a row for each action that may be taken, all states.

        Columns are ``state``, ``state_name``, ``action``, ``action_name``, ``probability`` and ``visits``, the expected
        (discounted) number of times. What stands at states that end an episode has no meaning.
        """
        return as_frame(policy_columns(self))

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """The rows of `to_frame` as CSV, without pandas: written to a file, or returned as text if there is none."""
        if path is None:
            return as_csv(policy_columns(self))
        return write_csv(path, policy_columns(self))

    def explain(self, mdp: Any = None) -> str:
        """In a few sentences: where it goes, where it flips a coin and why, what thresholds cost, what conflicts.

        With the model it also says, of each coin, what its sides would lead to on their own.
        """
        return explain_solution(self, mdp)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all of it to a file, with a digest (no pickle). The file appears complete or not at all."""
        write_solution(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Solution":
        """Read what `save` wrote; a ValueError for what was changed since, or is no solution.

        A digest does not make it true: `verify` asks the model.
        """
        fields = read_solution(path)
        try:
            fields["status"] = Status(fields["status"])
        except ValueError:
            raise ValueError(
                f"path: {os.fspath(path)!r} has the status {fields['status']!r}"
            ) from None
        return cls(**fields)
