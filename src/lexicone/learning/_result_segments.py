"""What `train` returns where one learns from segments: policies that act, evaluation, the history, and files."""

import dataclasses
import math
import os
from functools import cached_property, partial
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lexicone._base.arrays import as_numbers
from lexicone._base.checks import check_flags, check_path, check_seed, check_whole
from lexicone.learning._environments import refuse_import
from lexicone.learning._open_world import OpenedWorld, WorldFacts
from lexicone.learning._policy_file import Policy
from lexicone.learning._prepare import prepare
from lexicone.learning._problem import chances_of
from lexicone.learning._result import Evaluation, TrainingResult, judge_episodes
from lexicone.learning._worlds_jax import CompiledWorld
from lexicone.learning.algos._segment_ppo import SegmentProblem, SegmentSizes, choose
from lexicone.models._matching import check_criterion
from lexicone.order import Order
from lexicone.tasks._worlds import best_values, is_world

__all__ = ["TrainedSegments", "segment_problem"]

_OF_EPISODES = ("returns", "satisfied", "terminated")  # sums over those that ended
_HIDDEN = ("finished", "broken", "cut")
_AT_ONCE = 32  # episodes that are evaluated together


def segment_problem(facts: WorldFacts, order: Order) -> SegmentProblem:
    """What is learned in this world."""
    sizes = SegmentSizes(facts.inputs, facts.action_spec, facts.objectives)
    chances = jnp.asarray(chances_of(order), float)
    return SegmentProblem(jnp.asarray(order.thresholds, float), chances, sizes)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class TrainedSegments(TrainingResult):
    """N runs of a learner in an environment, a vector of copies or a compiled world."""

    facts: WorldFacts
    known: OpenedWorld | CompiledWorld | None = None
    """The world as the training has opened it; None in a loaded one."""
    task: Any = None
    """What a loaded one opens; None where there was none to be had."""
    given: dict[str, Any] = dataclasses.field(default_factory=dict)
    """``features``, ``actions`` and ``rewards`` with which it does so."""
    extra: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    """What a file holds besides: where the copies are."""

    @cached_property
    def world(self) -> OpenedWorld | CompiledWorld:
        """The world; of a loaded training it is opened now, and must be like the one that was trained in."""
        if self.known is not None:
            return self.known
        facts, given = self.facts, self.given
        if self.task is None and facts.environment_id is not None:
            raise refuse_import(facts.environment_id)
        if self.task is None:
            raise ValueError(
                f"task: {facts.environment} was given to train as an object or a function; give it to load as task"
            )
        for name, needed in (
            ("features", facts.observations is None),
            ("rewards", facts.own_rewards),
        ):
            if needed and given.get(name) is None:
                raise ValueError(f"{name}: were a function in training; give it to load as {name}")
        learner = dataclasses.replace(self.learner, max_steps=None)
        prepared = prepare(self.task, self.order, learner, **given)
        for name in ("world", "observations", "inputs", "actions", "objectives", "own_rewards"):
            ours, theirs = getattr(prepared.facts, name), getattr(facts, name)
            if ours != theirs:
                raise ValueError(
                    f"task: is not like the environment of the training: its {name.replace('_', ' ')} is {ours}, "
                    f"not {theirs}"
                )
        return prepared.world

    @cached_property
    def history(self) -> dict[str, np.ndarray]:
        """What happened, in L rows of ``every`` updates each (the last row may have fewer); means over the row.

        ``update`` ``[L]``; ``steps`` and ``episodes`` ``[N,L]``: how many there were by the end of the row.
        ``returns`` ``[N,L,K]``, ``satisfied`` ``[N,L,K−1]`` and ``terminated`` ``[N,L]``: of the episodes that ended in
        the row; where none did, of the row before, and NaN at the beginning. ``weights`` ``[N,L,K]``: how the
        objectives' advantages were mixed. ``improved``, ``found`` and ``cosines`` as on a model. ``kl`` and ``entropy``
        of the policy; ``stepped``: the share of its steps that the KL watch let pass.
        """
        done = int(self.run.update)
        rows = math.ceil(done / self.every)
        ends = np.minimum(np.arange(1, rows + 1) * self.every, done)
        sizes = np.diff(ends, prepend=0)
        log = {
            name: np.moveaxis(np.asarray(sums, dtype=float)[:rows], 0, 1)
            for name, sums in self.run.log.items()
        }
        finished = log["finished"]
        history = {"update": ends, "episodes": _counts(finished), "steps": _counts(log["steps"])}
        latest = np.maximum.accumulate(np.where(finished > 0, np.arange(rows)[None], -1), axis=1)
        for name, part in log.items():
            if name in _HIDDEN or name == "steps":
                continue
            if name not in _OF_EPISODES:
                history[name] = part / sizes.reshape(1, rows, *[1] * (part.ndim - 2))
                continue
            count = finished.reshape(*finished.shape, *[1] * (part.ndim - 2))
            mean = part / np.where(count > 0, count, np.nan)
            place = np.maximum(latest, 0).reshape(count.shape)
            history[name] = np.take_along_axis(mean, np.broadcast_to(place, mean.shape), axis=1)
        return history

    @property
    def problem(self) -> Any:
        """The sizes and the thresholds."""
        return segment_problem(self.facts, self.order)

    @property
    def identity(self) -> dict[str, Any]:
        """As for any `TrainingResult`, and what is known of the world."""
        facts = self.facts._asdict()
        if facts["reward_names"] is None:
            del facts["reward_names"]
        return {**super().identity, **facts, "segments": True}

    def _task_arrays(self) -> dict[str, np.ndarray]:
        return self.extra

    def policy(self, seed: int = 0, *, greedy: bool = False) -> Policy:
        """One seed's policy. It samples its actions, from a generator of its own, or is greedy."""
        self._check_seed(seed)
        check_flags(greedy=greedy)
        agent = jax.tree.map(lambda leaf: np.asarray(leaf)[seed], self.run.states.learning.average)
        known = self.given.get("features") if self.known is None else self.known.features
        return Policy(
            tuple(layer.weight for layer in agent.policy.layers),
            tuple(layer.bias for layer in agent.policy.layers),
            agent.policy.activation,
            agent.seen.mean,
            agent.seen.square,
            agent.log_std,
            self.facts.action_spec,
            self.facts.observations,
            known,
            greedy,
            np.random.default_rng(int(seed)),
        )

    def export(self, path: str | os.PathLike[str], seed: int = 0) -> None:
        """Write one seed's policy to a file with which `load_policy` acts: NumPy alone, no environment, no JAX."""
        check_path("path", path)
        self.policy(seed).save(path)

    def gap(
        self, exact: Any = None, *, episodes: int = 1000, greedy: bool = False, seed: int = 0
    ) -> Float[np.ndarray, "N K"]:
        """How far every seed's mean returns of fresh episodes stay behind an optimum, both clipped at thresholds.

        ``exact`` is an `Optimum`, a `Solution` or K values in the order's sequence; not needed for the continuous
        worlds of `lexicone.tasks`, whose optimum is known. Means of episodes have an error of their own.
        """
        check_criterion(self.order, "expected")
        if exact is None:
            name = self.facts.environment_id
            if not is_world(name):
                raise ValueError(
                    f"exact: the optimum of {self.facts.environment} is not known; give its values"
                )
            exact = best_values(cast(str, name), self.order)
        best = as_numbers("exact", getattr(exact, "values", exact), (len(self.order),))
        means = self.evaluate(episodes, greedy=greedy, seed=seed).returns.mean(axis=1, dtype=float)
        return np.asarray(self.order.gap(means, best))

    def evaluate(
        self,
        episodes: int = 100,
        *,
        greedy: bool = False,
        seed: int = 0,
        max_steps: int | None = None,
    ) -> Evaluation:
        """Run each seed's policy for ``episodes`` episodes in fresh environments, by sampling actions or greedily.

        ``max_steps`` is the learner's cap unless given; the environment may cut episodes off before.
        """
        cap = self.learner.max_steps if max_steps is None else max_steps
        check_whole(episodes=episodes, max_steps=cap)
        check_seed(seed)
        check_flags(greedy=greedy)
        self._check_numbers(range(self.seeds))
        world = self.world
        if isinstance(world, CompiledWorld):
            key = jax.random.fold_in(jax.random.key(seed), episodes)
            agents = jax.tree.map(jnp.asarray, self.run.states.learning.average)
            found = _evaluate_compiled(world, agents, key, episodes, cap, greedy)
            return judge_episodes(self.order, *map(np.asarray, found))
        from lexicone.learning._play_world import play_episodes

        runs = [
            play_episodes(world, self.policy(i), episodes, cap, None if greedy else [seed, i])
            for i in range(self.seeds)
        ]
        return judge_episodes(self.order, *(np.stack(part) for part in zip(*runs, strict=True)))


def _counts(part: np.ndarray) -> np.ndarray:
    return np.cumsum(part, axis=1).round().astype(np.int64)


@partial(jax.jit, static_argnames=("world", "episodes", "cap", "greedy"))
def _evaluate_compiled(
    world: CompiledWorld, agents: Any, key: Any, episodes: int, cap: int, greedy: bool
) -> tuple[Array, Array, Array]:
    """Returns ``[N,E,K]``, lengths ``[N,E]`` and whether they terminated."""

    def one(agent: Any, key: Any) -> tuple[Array, Array, Array]:
        begin_key, run_key = jax.random.split(key)
        rows, states = jax.vmap(world.reset)(jax.random.split(begin_key, episodes))
        rows = rows.astype(agent.log_std.dtype)

        def step(carry: Any) -> Any:
            time, rows, states, total, length, alive, terminated = carry
            act_key, step_key = jax.random.split(jax.random.fold_in(run_key, time))
            chosen = choose(world.actions, agent, rows, act_key, greedy=greedy)
            keys = jax.random.split(step_key, episodes)
            new, states, reward, over, cut, _ = jax.vmap(world.step)(
                keys, states, world.actions.to_world(chosen, jnp)
            )
            total = total + jnp.where(alive[:, None], reward, 0.0).astype(total.dtype)
            length, terminated = length + alive, terminated | (over & alive)
            return (
                time + 1,
                new.astype(rows.dtype),
                states,
                total,
                length,
                alive & ~(over | cut),
                terminated,
            )

        no = jnp.zeros(episodes, bool)
        total = jnp.zeros((episodes, world.objectives), rows.dtype)
        begin = (jnp.int32(0), rows, states, total, jnp.zeros(episodes, jnp.int32), ~no, no)
        end = jax.lax.while_loop(lambda c: (c[0] < cap) & jnp.any(c[5]), step, begin)
        return end[3], end[4], end[6]

    count = agents.log_std.shape[0]
    return jax.vmap(one)(agents, jax.random.split(key, count))
