"""What `train` returns for an environment: policies that act, evaluation, the history, and a file that keeps all."""

import dataclasses
from collections.abc import Callable
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from lexicone._base.checks import check_flags, check_seed, check_whole
from lexicone.learning._environments import (
    Env,
    EnvFacts,
    EnvSource,
    OpenedEnv,
    copies,
    open_env,
    refuse_import,
)
from lexicone.learning._learner import AnyLearner, as_pytree
from lexicone.learning._play import play
from lexicone.learning._problem import Problem, env_problem
from lexicone.learning._result import (
    Evaluation,
    TrainingResult,
    judge_episodes,
    probabilities,
)

__all__ = ["EnvPolicy", "TrainedEnv"]

_AT_ONCE = 32  # episodes that are evaluated together


@dataclasses.dataclass(frozen=True, eq=False)
class EnvPolicy:
    """A policy as a function from an observation to an action."""

    see: Callable[[Any], np.ndarray]
    log_table: Callable[[np.ndarray], Float[Array, "M A"]]
    first_action: int
    greedy: bool
    """Take the most probable action instead of sampling."""
    generator: np.random.Generator
    """Where sampled actions come from."""

    def probabilities(self, observation: Any) -> Float[np.ndarray, " A"]:
        """Of every action, the environment's first one first."""
        try:
            seen = self.see(observation)
        except (TypeError, ValueError, LookupError, OverflowError) as error:
            raise ValueError(f"observation: is none of the environment: {error}") from error
        return probabilities(self.log_table(seen[None]))[0]

    def __call__(self, observation: Any) -> int:
        """What to do."""
        draw = None if self.greedy else self.generator.random(1)
        return self.first_action + int(_choose(self.probabilities(observation)[None], draw)[0])


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class TrainedEnv(TrainingResult):
    """N runs of a learner in an environment."""

    facts: EnvFacts
    source: EnvSource | None
    """Where environments come from; None in a loaded one that was given none."""
    features: Callable[[Any], Any] | None
    known: OpenedEnv | None = None
    """The environment as the training has opened it; None in a loaded one."""

    @property
    def problem(self) -> Problem:
        """The sizes and the thresholds."""
        return env_problem(self.facts.sizes, self.order)

    @cached_property
    def world(self) -> OpenedEnv:
        """The environment; of a loaded training it is opened now, and must be like the one that was trained in."""
        if self.known is not None:
            return self.known
        facts = self.facts
        if self.source is None and facts.environment_id is not None:
            raise refuse_import(facts.environment_id)
        if self.source is None:
            raise ValueError(
                f"task: {facts.environment} was given to train as a function or an environment; give it to load as task"
            )
        if facts.own_features and self.features is None:
            raise ValueError(
                "features: were a function of observations; give it to load as features"
            )
        opened = open_env(self.source, self.features, facts.objectives).matched(self.order)
        for name in ("observations", "inputs", "actions", "first_action"):
            ours, theirs = getattr(opened.facts, name), getattr(facts, name)
            if ours != theirs:
                raise ValueError(
                    f"task: is not like the environment of the training: its {name.replace('_', ' ')} "
                    f"is {ours}, not {theirs}"
                )
        return opened

    @cached_property
    def diverged(self) -> Bool[np.ndarray, " N"]:
        """As for any `TrainingResult`; or the seeds whose parameters are too large to make a policy."""
        row = np.ones((1, self.facts.inputs))
        tables = np.stack([np.asarray(self._log_table(seed)(row)) for seed in range(self.seeds)])
        return super().diverged | np.isnan(tables).any(axis=(1, 2))

    def policy(self, seed: int = 0, *, greedy: bool = False) -> EnvPolicy:
        """One seed's policy, dropout off. It samples its actions, from a generator of its own, or is greedy."""
        check_flags(greedy=greedy)
        self._check_seed(seed)
        generator = np.random.default_rng(int(seed))
        opened = self.world
        return EnvPolicy(
            opened.see, self._log_table(seed), opened.facts.first_action, greedy, generator
        )

    def evaluate(
        self,
        episodes: int = 100,
        *,
        greedy: bool = False,
        seed: int = 0,
        max_steps: int | None = None,
    ) -> Evaluation:
        """Run each seed's policy for ``episodes`` episodes, by sampling its actions or greedily.

        ``max_steps`` is the learner's cap unless given; the environment may cut episodes off before. Episode i is the
        same however many there are.
        """
        cap = self.learner.max_steps if max_steps is None else max_steps
        check_whole(episodes=episodes, max_steps=cap)
        check_seed(seed)
        check_flags(greedy=greedy)
        self._check_numbers(range(self.seeds))
        with copies(self.world, min(episodes, _AT_ONCE)) as envs:
            runs = [
                self._run_episodes(i, envs, episodes, greedy, seed, cap) for i in range(self.seeds)
            ]
        returns, lengths, terminated = (np.stack(part) for part in zip(*runs, strict=True))
        return judge_episodes(self.order, returns, lengths, terminated)

    def _run_episodes(
        self, run: int, envs: list[Env], episodes: int, greedy: bool, seed: int, cap: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns, lengths, and whether each ended, of one seed's policy."""
        log_table, found = self._log_table(run), []
        for begin in range(0, episodes, _AT_ONCE):
            count = min(_AT_ONCE, episodes - begin)
            generator = np.random.default_rng([seed, run, begin])

            def choose(rows: np.ndarray, time: int, generator: Any = generator) -> np.ndarray:
                full = np.zeros((_AT_ONCE, rows.shape[1]), rows.dtype)
                full[: len(rows)] = rows
                draws = None if greedy else generator.random(_AT_ONCE)
                return _choose(probabilities(log_table(full)), draws)[: len(rows)]

            seeds = generator.integers(2**31, size=_AT_ONCE)[:count].tolist()
            where = f" of the evaluation from {begin} on, run {run}"
            found.append(play(self.world, envs, choose, seeds, cap, where))
        return (
            np.concatenate([played.reward.sum(axis=0) for played in found]),
            np.concatenate([played.alive.sum(axis=0) for played in found]),
            np.concatenate([played.terminated for played in found]),
        )

    def _log_table(self, run: int) -> Callable[[np.ndarray], Float[Array, "M A"]]:
        """``ln π`` of rows that networks see."""
        as_pytree(self.learner)
        state = jax.tree.map(lambda leaf: jnp.asarray(leaf[run]), self.run.states)
        problem = self.problem
        return lambda rows: _log_policy(self.learner, problem, state, jnp.asarray(rows, float))

    @property
    def identity(self) -> dict[str, Any]:
        """As for any `TrainingResult`, and what is known of the environment."""
        facts = self.facts._asdict()
        if facts["reward_names"] is None:
            del facts["reward_names"]  # as in files that know no names
        return {**super().identity, **facts}


@jax.jit
def _log_policy(
    learner: AnyLearner, problem: Problem, state: Any, rows: Float[Array, "M D"]
) -> Float[Array, "M A"]:
    return learner.log_policy(problem._replace(features=rows), state)


def _choose(table: np.ndarray, draws: np.ndarray | None) -> np.ndarray:
    """For every row the most probable action, or the one that the draw from [0, 1) falls on."""
    if draws is None:
        return np.argmax(table, axis=-1)
    beyond = np.cumsum(table, axis=-1)
    beyond[:, -1] = 2.0
    return np.sum(draws[:, None] >= beyond, axis=-1)
