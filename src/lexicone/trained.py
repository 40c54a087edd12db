"""What `train` returns: policies, their values and gaps, the history, and a file that keeps all of it."""

import dataclasses
import importlib
import math
import os
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int, PyTree

from lexicone import checkpoint
from lexicone.evaluation import evaluate
from lexicone.layout import Layout
from lexicone.mdp import MDP
from lexicone.order import Order
from lexicone.rollout import Problem
from lexicone.simulate import environment, simulate

__all__ = ["Evaluation", "Run", "Trained", "load", "problem_of"]

LEARNERS = {"A2C": "lexicone.a2c", "PPO": "lexicone.ppo", "Reinforce": "lexicone.reinforce"}
"""Learners that a file can name, and where they are; another one is handed to `load`."""
_TABLES = ("next_state", "probability", "reward", "initial", "terminal")


class Run(NamedTuple):
    """N runs under way: a pytree whose leaves, but for ``update``, have the runs as their first or second axis."""

    update: Int[Any, ""]
    """How many updates are done."""
    states: PyTree
    """The learner's states, leaves ``[N,…]``."""
    log: dict[str, Any]
    """Sums of each metric over windows of updates, ``[L,N,…]``."""
    snapshots: Float[Any, "P N S A"]
    """``ln π`` at P times."""


class Evaluation(NamedTuple):
    """E episodes with the policy of each of N seeds."""

    returns: Float[np.ndarray, "N E K"]
    lengths: Int[np.ndarray, "N E"]
    terminated: Bool[np.ndarray, "N E"]
    satisfied: Float[np.ndarray, "N K-1"]
    """The share of episodes that meet each threshold."""
    success: Float[np.ndarray, " N"]
    """The share of episodes that meet all thresholds."""


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Trained:
    """N runs of a learner, which differ in their seed."""

    mdp: MDP
    order: Order
    learner: Any
    features: Float[np.ndarray, "S D"] | None
    key: tuple[int, ...]
    updates: int
    """How many the training was meant to have; ``run.update`` are done."""
    every: int
    """Updates per row of the history."""
    run: Run

    @property
    def seeds(self) -> int:
        """N."""
        return next(iter(self.run.log.values())).shape[1]

    @cached_property
    def policies(self) -> Float[np.ndarray, "N S A"]:
        """Every seed's policy as probabilities, dropout off."""
        problem = problem_of(self.mdp, self.features, self.order)
        of_all = jax.jit(jax.vmap(lambda state: self.learner.log_policy(problem, state)))
        return _probabilities(of_all(self.run.states))

    def policy(self, seed: int = 0) -> Float[np.ndarray, "S A"]:
        """One seed's policy as probabilities."""
        if not 0 <= seed < self.seeds:
            raise ValueError(f"seed: expected 0 to {self.seeds - 1}, got {seed}")
        return self.policies[seed]

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
        tables = self.policies if policies is None else np.asarray(policies)
        if greedy:
            tables = np.eye(self.mdp.num_actions)[np.argmax(tables, axis=-1)]
        cap = self.learner.max_steps if max_steps is None else max_steps
        key = jax.random.key(seed)
        runs = [
            simulate(self.mdp, table, episodes, seed=jax.random.fold_in(key, i), max_steps=cap)
            for i, table in enumerate(tables)
        ]
        returns = np.stack([run.returns for run in runs])
        met = np.asarray(self.order.satisfied(returns))
        return Evaluation(
            returns,
            np.stack([run.lengths for run in runs]),
            np.stack([run.terminated for run in runs]),
            met.mean(axis=1),
            met.all(axis=-1).mean(axis=1),
        )

    def values(self, gamma: float = 1.0) -> Float[np.ndarray, "N K"]:
        """The exact expected returns of every seed's policy."""
        return np.stack([evaluate(self.mdp, policy, gamma) for policy in self.policies])

    def gap(self, exact: Any, gamma: float | None = None) -> Float[np.ndarray, "N K"]:
        """How far every seed's exact values stay behind a `Solution` (or its values), both clipped at thresholds."""
        if gamma is None:
            gamma = float(getattr(exact, "gamma", 1.0))
        best = np.asarray(getattr(exact, "values", exact), dtype=float)
        return np.asarray(self.order.gap(self.values(gamma), best))

    @cached_property
    def history(self) -> dict[str, np.ndarray]:
        """What happened, in L rows of ``every`` updates each (the last row may have fewer); means over the row.

        ``update`` and ``episodes`` ``[L]``, and ``steps`` ``[N,L]``: how many there were by the end of the row.
        ``returns`` ``[N,L,K]``: of the episodes that were learned from, dropout on. ``satisfied`` ``[N,L,K−1]``: the
        share of them that met each threshold. ``terminated``: the share that reached an end. ``improved`` ``[N,L,K]``:
        how often each objective was the one to improve. ``found`` ``[N,L]``: how often there was a direction.
        ``cosines`` ``[N,L,K(K−1)/2]``: of the angles between gradients (0,1), (0,2), …, (1,2), … And whatever else
        the learner reports.
        """
        done = int(self.run.update)
        rows = math.ceil(done / self.every)
        ends = np.minimum(np.arange(1, rows + 1) * self.every, done)
        sizes = np.diff(ends, prepend=0)
        history = {"update": ends, "episodes": ends * self.learner.batch}
        for name, sums in self.run.log.items():
            part = np.moveaxis(np.asarray(sums, dtype=float)[:rows], 0, 1)
            if name == "steps":
                history[name] = np.cumsum(part, axis=1).round().astype(np.int64)
            else:
                history[name] = part / sizes.reshape(1, rows, *[1] * (part.ndim - 2))
        return history

    @property
    def snapshots(self) -> tuple[Int[np.ndarray, " P"], Float[np.ndarray, "P N S A"]]:
        """Policies along the way: after how many updates, and the probabilities."""
        count = self.run.snapshots.shape[0]
        times = -(-np.arange(1, count + 1) * self.updates // max(1, count))
        taken = times <= int(self.run.update)
        return times[taken], _probabilities(np.asarray(self.run.snapshots)[taken])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, whole or not at all; `load` reads it."""
        arrays = {f"mdp.{name}": getattr(self.mdp, name) for name in _TABLES}
        if self.mdp.layout is not None:
            arrays["mdp.layout"] = self.mdp.layout.positions
        if self.features is not None:
            arrays["features"] = np.asarray(self.features)
        arrays |= {name: np.asarray(leaf) for name, leaf in _named(self.run)}
        checkpoint.write(path, arrays, {**self.identity, "done": int(self.run.update)})

    @property
    def identity(self) -> dict[str, Any]:
        """All that decides the numbers, as JSON can hold it; two trainings that agree in it have the same result."""
        model = {f"mdp.{name}": getattr(self.mdp, name) for name in _TABLES}
        if self.features is not None:
            model["features"] = np.asarray(self.features)
        layout = self.mdp.layout
        return {
            "learner": type(self.learner).__name__,
            "settings": dataclasses.asdict(self.learner),
            "thresholds": [str(t) for t in self.order.thresholds],
            "names": self.order.names,
            "break_ties": self.order.break_ties,
            "key": list(self.key),
            "seeds": self.seeds,
            "updates": self.updates,
            "every": self.every,
            "snapshots": self.run.snapshots.shape[0],
            "precision": str(np.asarray(self.run.snapshots).dtype),
            "model": checkpoint.digest(model),
            "model_names": {
                name: getattr(self.mdp, name)
                for name in ("state_names", "action_names", "objective_names")
            },
            "map": None if layout is None else layout.rows,
        }


def load(path: str | os.PathLike[str], learner: Any = None) -> Trained:
    """A `Trained` from a file, finished or not. For a learner that is not lexicone's own, give it as ``learner``."""
    name = os.fspath(path)
    arrays, facts = checkpoint.read(path)
    if "settings" not in facts:
        raise ValueError(f"path: {name!r} holds no training")
    learner = _make_learner(name, facts) if learner is None else learner
    layout = Layout(tuple(facts["map"]), arrays["mdp.layout"]) if facts["map"] else None
    mdp = MDP(
        **{table: arrays[f"mdp.{table}"] for table in _TABLES},
        **facts["model_names"],
        layout=layout,
    )
    order = Order(
        [float(t) for t in facts["thresholds"]],
        names=facts["names"],
        break_ties=facts["break_ties"],
    )
    features = arrays.get("features")
    form = jax.eval_shape(
        jax.vmap(lambda key: learner.init(problem_of(mdp, features, order), key)),
        jax.random.split(jax.random.key(0), facts["seeds"]),
    )
    leaves = []
    for key, leaf in _named(Run(jnp.int32(0), form, {}, jnp.zeros(0))):
        if not key.startswith("run.states"):
            continue
        if key not in arrays or arrays[key].shape != leaf.shape:
            raise ValueError(f"path: {name!r} does not fit the learner: {key} is not {leaf.shape}")
        leaves.append(jnp.asarray(arrays[key]))
    prefix = "run.log."
    run = Run(
        jnp.asarray(arrays["run.update"]),
        jax.tree.unflatten(jax.tree.structure(form), leaves),
        {k.removeprefix(prefix): jnp.asarray(arrays[k]) for k in arrays if k.startswith(prefix)},
        jnp.asarray(arrays["run.snapshots"]),
    )
    return Trained(
        mdp=mdp,
        order=order,
        learner=learner,
        features=features,
        key=tuple(facts["key"]),
        updates=facts["updates"],
        every=facts["every"],
        run=run,
    )


def problem_of(mdp: MDP, features: Any, order: Order) -> Problem:
    """The task on the device."""
    env = environment(mdp)
    dtype = env.reward.dtype
    return Problem(
        env,
        None if features is None else jnp.asarray(features, dtype),
        jnp.asarray(order.thresholds, dtype),
        jnp.max(jnp.abs(env.reward), axis=(0, 1, 2)),
    )


def _make_learner(name: str, facts: dict[str, Any]) -> Any:
    kind = facts["learner"]
    if kind not in LEARNERS:
        raise ValueError(f"learner: {name!r} was trained by {kind!r}; give that learner to load")
    settings = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in facts["settings"].items()
    }
    return getattr(importlib.import_module(LEARNERS[kind]), kind)(**settings)


def _named(run: Run) -> list[tuple[str, Any]]:
    """The leaves of a run with names that say where they are."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(run)
    return [
        ("run." + jax.tree_util.keystr(path, simple=True, separator="."), leaf)
        for path, leaf in leaves
    ]


def _probabilities(log_table: Any) -> np.ndarray:
    table = np.exp(np.asarray(log_table, dtype=float))
    return table / table.sum(axis=-1, keepdims=True)
