"""What `train` returns for a model: policies, their values and gaps to the exact optimum."""

import dataclasses
import math
from functools import cached_property
from typing import Any, cast

import jax
import numpy as np
from jaxtyping import Bool, Float, Int

from lexicone._base import checkpoint
from lexicone._base.arrays import as_numbers
from lexicone._base.checks import check_flags, check_seed, check_whole, is_number
from lexicone.learning._problem import Problem, model_problem
from lexicone.learning._result import (
    Evaluation,
    TrainingResult,
    judge_episodes,
    probabilities,
)
from lexicone.models._evaluation import evaluate
from lexicone.models._matching import check_criterion
from lexicone.models._mdp import MDP
from lexicone.models._saved_models import NAMES, TABLES
from lexicone.models._simulation import simulate
from lexicone.order import Order, match_names

__all__ = ["Trained"]


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Trained(TrainingResult):
    """N runs of a learner on a model."""

    mdp: MDP
    features: Float[np.ndarray, "S D"] | None

    @property
    def problem(self) -> Problem:
        """The model on the device."""
        return model_problem(self.mdp, self.features, self.order)

    def _own_names(self) -> tuple[str, ...] | None:
        return self.mdp.objective_names

    @property
    def policies(self) -> Float[np.ndarray, "N S A"]:
        """Every seed's policy as probabilities, dropout off. A ValueError names seeds that `diverged`."""
        self._check_numbers(range(self.seeds))
        return self._tables

    def policy(self, seed: int = 0) -> Float[np.ndarray, "S A"]:
        """One seed's policy as probabilities."""
        self._check_seed(seed)
        return self._tables[seed]

    @cached_property
    def diverged(self) -> Bool[np.ndarray, " N"]:
        """As for any `TrainingResult`; or the seeds whose parameters are too large to make a policy."""
        return super().diverged | np.isnan(self._tables).any(axis=(1, 2))

    @cached_property
    def _tables(self) -> Float[np.ndarray, "N S A"]:
        problem = self.problem
        of_all = jax.jit(jax.vmap(lambda state: self.learner.log_policy(problem, state)))
        return probabilities(of_all(self.run.states))

    def evaluate(
        self,
        episodes: int = 100,
        *,
        greedy: bool = False,
        seed: int = 0,
        max_steps: int | None = None,
        policies: Any = None,
    ) -> Evaluation:
        """Run each seed's policy for ``episodes`` episodes, by sampling its actions or greedily.

        Greedy actions can go round in circles where nothing rewards speed. ``max_steps`` is the learner's cap unless
        given. ``policies`` evaluates other tables ``[N,S,A]``, such as those of `snapshots`.
        """
        check_flags(greedy=greedy)
        check_seed(seed)
        shape = (None, self.mdp.num_states, self.mdp.num_actions)
        tables = self.policies if policies is None else as_numbers("policies", policies, shape)
        tables = _most_probable(tables) if greedy else tables
        cap = self.learner.max_steps if max_steps is None else max_steps
        key = jax.random.key(seed)
        runs = [
            simulate(self.mdp, table, episodes, seed=jax.random.fold_in(key, i), max_steps=cap)
            for i, table in enumerate(tables)
        ]
        return judge_episodes(
            self.order,
            np.stack([run.returns for run in runs]),
            np.stack([run.lengths for run in runs]),
            np.stack([run.terminated for run in runs]),
        )

    def values(
        self, *, gamma: float = 1.0, horizon: int | float | None = None, greedy: bool = False
    ) -> Float[np.ndarray, "N K"]:
        """The exact expected returns of every seed's policy, sampled or greedy, within the steps of an episode.

        ``horizon`` is how many steps count: the learner's ``max_steps`` unless given, and with ``math.inf`` all. A
        policy that reaches its goal some day, but in few episodes, has the goal's full value only without an end.
        """
        check_flags(greedy=greedy)
        steps = self.learner.max_steps if horizon is None else horizon
        endless = is_number(steps) and steps == math.inf
        if not endless:
            check_whole(horizon=steps)
        count = None if endless else int(steps)
        tables = _most_probable(self.policies) if greedy else self.policies
        return np.stack([evaluate(self.mdp, table, gamma, horizon=count) for table in tables])

    def gap(
        self,
        exact: Any,
        *,
        gamma: float | None = None,
        horizon: int | float | None = None,
        greedy: bool = False,
    ) -> Float[np.ndarray, "N K"]:
        """How far every seed's exact values stay behind a `Solution` (or its values), both clipped at thresholds.

        A solution whose objectives have the same names in another sequence is brought into that of this training.
        ``horizon`` and ``greedy`` are those of `values`: by default what an episode of the training can earn. The
        solution's own values have no such end; where its policy takes longer than that, even that policy has a gap.
        """
        if gamma is None:
            gamma = cast(float, getattr(exact, "gamma", 1.0))
        check_criterion(self.order, "expected")
        given = getattr(exact, "values", exact)
        best = as_numbers("exact", given, (len(self.order),))
        if isinstance(theirs := getattr(exact, "order", None), Order) and len(theirs) == len(best):
            best = best[match_names(self.order, theirs.names, "the solution")]
        values = self.values(gamma=gamma, horizon=horizon, greedy=greedy)
        return np.asarray(self.order.gap(values, best))

    @property
    def snapshots(self) -> tuple[Int[np.ndarray, " P"], Float[np.ndarray, "P N S A"]]:
        """Policies along the way: after how many updates, and the probabilities."""
        count = self.run.snapshots.shape[0]
        times = -(-np.arange(1, count + 1) * self.updates // max(1, count))
        taken = times <= int(self.run.update)
        return times[taken], probabilities(np.asarray(self.run.snapshots)[taken])

    @property
    def identity(self) -> dict[str, Any]:
        """As for any `TrainingResult`, and the model."""
        tables = self._task_arrays()
        tables.pop("mdp.layout", None)
        layout = self.mdp.layout
        return {
            **super().identity,
            "model": checkpoint.digest(tables),
            "model_names": {name: getattr(self.mdp, name) for name in NAMES},
            "map": None if layout is None else layout.rows,
            "map_labels": None if layout is None else layout.labels,
        }

    def _task_arrays(self) -> dict[str, np.ndarray]:
        arrays = {f"mdp.{name}": getattr(self.mdp, name) for name in TABLES}
        if not self.mdp.available.all():
            arrays["mdp.available"] = self.mdp.available
        if self.mdp.layout is not None:
            arrays["mdp.layout"] = self.mdp.layout.positions
        if self.features is not None:
            arrays["features"] = np.asarray(self.features)
        return arrays


def _most_probable(policies: np.ndarray) -> np.ndarray:
    """Greedy policies: the most probable action of each state, the first of several."""
    return np.eye(policies.shape[-1])[np.argmax(policies, axis=-1)]
