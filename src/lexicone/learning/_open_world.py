"""What is known of a Gymnasium environment or a vector of them before one learns in it from segments."""

import dataclasses
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lexicone._base.checkpoint import digest
from lexicone.learning._environments import (
    EnvSource,
    check_finite,
    gymnasium_of,
    own_limit,
    read_reward,
    source_of,
)
from lexicone.learning._named_worlds import NamedWorld
from lexicone.learning._overflow import largest_reward
from lexicone.learning._policy_file import actions_from, describe_actions
from lexicone.learning._spaces import (
    Actions,
    check_no_image,
    describe_observations,
    flatten,
    read_actions,
)
from lexicone.learning._worlds_jax import is_jax_world
from lexicone.models._matching import names_of_rewards
from lexicone.order import Order, match_names

__all__ = ["MadeInJax", "OpenedWorld", "WorldFacts", "open_world"]

_PROBE = 4  # steps that are tried before the training


class MadeInJax(ValueError):
    """The class or the function that was given makes a world in JAX, no environment."""

    def __init__(self, source: EnvSource, world: Any) -> None:
        super().__init__("task: makes a world in JAX, no environment; give the world itself")
        named = source.id is not None
        self.named = NamedWorld(world, str(source.id), source.options) if named else world
        """The world, with what it was found by if there is a name."""


class WorldFacts(NamedTuple):
    """What is known of a world, as JSON can hold it: two that agree in it are taken for the same."""

    environment: str
    environment_id: str | None
    environment_options: dict[str, Any]
    world: str
    """``"environment"``, ``"vector"`` or ``"jax"``."""
    observations: Any
    """How they become numbers; None where a function of the user's does it."""
    inputs: int
    actions: dict[str, Any]
    objectives: int
    own_rewards: bool
    """Whether a function of the user's makes rewards."""
    first_steps: str
    """A digest of what the first steps show and pay; "vary" where the same seed gives others each time."""
    reward_names: tuple[str, ...] | None = None
    """Of the rewards, in the sequence in which they are learned; None where the world has none."""

    @property
    def action_spec(self) -> Actions:
        """What can be done."""
        return actions_from(self.actions)

    def in_sequence(self, places: Sequence[int]) -> "WorldFacts":
        """The same with names in the sequence of an order."""
        names = self.reward_names
        return self._replace(reward_names=names and tuple(names[k] for k in places))


@dataclass(frozen=True, eq=False)
class OpenedWorld:
    """An environment, or a vector of copies, that was opened once and looked at."""

    facts: WorldFacts
    source: EnvSource
    features: Callable[[Any], Any] | None
    rewards: Callable[[Any, Any, Any], Any] | None
    limit: int | None
    vector: bool
    copies: int
    """Of a vector; 0 for an environment."""
    owned: bool
    """Whether it is made, and closed, here."""
    space: Any
    spec: Actions
    dtype: str
    places: tuple[int, ...] = ()
    """Where each objective stands in the environment's rewards."""

    def matched(self, order: Order) -> "OpenedWorld":
        """The same with rewards in the order's sequence, where both have names."""
        places = match_names(order, self.facts.reward_names, self.facts.environment)
        return dataclasses.replace(
            self,
            facts=self.facts.in_sequence(places),
            places=tuple(self.places[k] for k in places),
        )

    def make(self) -> Any:
        """One more environment or vector."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they were shown when it was looked at
            return self.source.make()

    def row(self, observation: Any) -> np.ndarray:
        """What networks see of an observation, ``[D]``."""
        if self.facts.observations is not None:
            row = flatten(self.facts.observations, observation)
        else:
            assert self.features is not None
            row = np.asarray(self.features(observation), dtype=float).reshape(-1)
        if len(row) != self.facts.inputs:
            raise ValueError(
                f"task: {self.facts.environment} showed {row.size} numbers at one time and {self.facts.inputs} at "
                "another; they must stay as many"
            )
        return row

    def paid(self, reward: Any, before: Any, action: Any, after: Any) -> np.ndarray:
        """K rewards: the environment's, or what the user's function makes of two observations and an action."""
        given = reward if self.rewards is None else self.rewards(before, action, after)
        return read_reward(given, self.facts.environment, self.facts.objectives)[list(self.places)]

    def check(
        self,
        reward: np.ndarray,
        following: np.ndarray,
        cap: int,
        where: Callable[[int], str],
    ) -> None:
        """A ValueError for the first of M copies that showed or paid what cannot be learned from, ``where`` it was."""
        name = self.facts.environment
        for what, rows in (("an observation", following), ("a reward", reward)):
            good = np.isfinite(rows).all(axis=1)
            if not good.all():
                m = int(np.argmin(good))
                wrong = int(np.argmin(np.isfinite(rows[m]))) + 1
                which = f" of objective {wrong}" if rows is reward else ""
                raise ValueError(
                    f"task: {name} gave {what}{which} that is not finite, {rows[m].tolist()}, in {where(m)}"
                )
        most = largest_reward(self.dtype, cap)
        if np.abs(reward).max() > most:
            m, k = map(int, np.argwhere(np.abs(reward) > most)[0])
            raise ValueError(
                f"task: {name} paid {reward[m, k]:.3g} of objective {k + 1} in {where(m)}; learners with "
                f"{np.finfo(self.dtype).bits} bits and episodes of {cap} steps take at most {most:.3g} in a step"
            )

    def to_world(self, chosen: np.ndarray) -> Any:
        """Actions of M copies as environments take them."""
        taken = self.spec.to_world(chosen)
        return taken.tolist() if self.spec.discrete and taken.ndim == 1 else taken

    def split(self, observations: Any, count: int) -> list[Any]:
        """The observations of a vector, one by one."""
        if isinstance(observations, np.ndarray) or not isinstance(observations, dict):
            return list(observations)
        gymnasium = gymnasium_of()
        parts = gymnasium.vector.utils.iterate(self.space, observations)
        return list(parts)[:count]


def open_world(
    task: Any,
    objectives: int | None,
    *,
    features: Any = None,
    rewards: Any = None,
    dtype: str = "float32",
) -> OpenedWorld:
    """Make one environment, look at its spaces, and try a few steps: mistakes show here, before any work.

    Args:
        task: whatever `train` takes as an environment.
        objectives: how many rewards it should pay; None for as many as it does.
        features: from an observation to a vector; by default its numbers, choices as one-hot vectors.
        rewards: ``(observation, action, next observation) -> K rewards`` instead of the environment's own.
        dtype: of what networks see.
    """
    if isinstance(task, OpenedWorld):
        if features is not None or rewards is not None:
            raise ValueError("features, rewards: give them when the environment is opened")
        return dataclasses.replace(task, dtype=dtype)
    for argument, given in (("features", features), ("rewards", rewards)):
        if given is not None and not callable(given):
            raise ValueError(
                f"{argument}: an environment takes a function, got {type(given).__name__}"
            )
    gymnasium = gymnasium_of()
    owned = not isinstance(task, gymnasium.vector.VectorEnv)
    source = source_of(task) if owned else EnvSource(lambda: task)
    env = source.make()
    vector = isinstance(env, gymnasium.vector.VectorEnv)
    if not vector and not isinstance(env, gymnasium.Env):
        if is_jax_world(env):
            raise MadeInJax(source, env)
        raise ValueError(f"task: made a {type(env).__name__}, not a gymnasium.Env")
    name = source.id or type(env.unwrapped).__qualname__
    try:
        space = env.single_observation_space if vector else env.observation_space
        spec = read_actions(
            env.single_action_space if vector else env.action_space, f"task: {name}"
        )
        described = None if features is not None else _check_space(space, name)
        facts = WorldFacts(
            name,
            source.id,
            source.options,
            "vector" if vector else "environment",
            described,
            0,
            describe_actions(spec),
            objectives or 0,
            rewards is not None,
            "vary",
        )
        limit = None if vector else own_limit(env)
        count = env.num_envs if vector else 0
        opened = OpenedWorld(
            facts, source, features, rewards, limit, vector, count, owned, space, spec, dtype
        )
        facts = facts._replace(**_probe(opened, env))
        names = _names(env, vector) if rewards is None else None
        if names is not None and len(names) == facts.objectives:
            facts = facts._replace(reward_names=names)
    finally:
        if owned:
            env.close()
    return dataclasses.replace(opened, facts=facts, places=tuple(range(facts.objectives)))


def _names(env: Any, vector: bool) -> tuple[str, ...] | None:
    """Of the rewards, as an environment, a vector, or the first of its copies in this process says."""
    if not vector:
        return names_of_rewards(env)
    names = getattr(env, "reward_names", None)
    if names is None and getattr(env, "envs", None):
        return names_of_rewards(env.envs[0])
    return None if names is None else tuple(map(str, names))


def _check_space(space: Any, name: str) -> Any:
    """How observations become numbers; images and the like need a function."""
    described = describe_observations(space)
    if described is None:
        raise ValueError(
            f"task: {name} has observations {space}, which have no fixed number of numbers; "
            "give a function from them to a vector as features"
        )
    check_no_image(name, _arrays_of(space))
    return described


def _arrays_of(space: Any) -> Iterator[Any]:
    """The spaces of arrays that a space of several parts is made of."""
    parts = getattr(space, "spaces", None)
    if parts is None:
        yield space
        return
    for part in parts.values() if isinstance(parts, dict) else parts:
        yield from _arrays_of(part)


def _probe(opened: OpenedWorld, env: Any) -> dict[str, Any]:
    """What the first steps show and pay: how many numbers, how many objectives, and a digest of them."""
    traces, inputs = [], 0
    for _ in range(1 if opened.vector else 2):
        rows, rewards, facts = [], [], opened.facts
        count = max(opened.copies, 1)
        observation, _ = env.reset(seed=0)
        first = opened.split(observation, count)[0] if opened.vector else observation
        inputs = _size(opened, first)
        opened_now = _with(opened, inputs=inputs)
        rows.append(opened_now.row(first))
        check_finite("observation", rows[-1][None], facts.environment, 0)
        for i in range(_PROBE):
            chosen = _example(opened.spec, i, count)
            action = opened.spec.to_world(chosen) if opened.vector else opened.to_world(chosen)[0]
            observation, reward, ended, cut, _ = env.step(action)
            after = opened.split(observation, count)[0] if opened.vector else observation
            taken = action[0] if opened.vector else action
            paid = reward[0] if opened.vector else reward
            paid = paid if opened.rewards is None else opened.rewards(first, taken, after)
            first = after
            wanted = facts.objectives or int(np.size(paid))
            try:
                rewards.append(read_reward(paid, facts.environment, wanted))
            except ValueError as error:
                hint = "; rewards= makes them from (observation, action, next observation)"
                raise ValueError(f"{error}{hint if opened.rewards is None else ''}") from None
            rows.append(opened_now.row(after))
            check_finite("observation", rows[-1][None], facts.environment, i + 1)
            check_finite("reward", rewards[-1][None], facts.environment, i + 1)
            if np.any(ended) or np.any(cut):
                break
        traces.append({"rows": np.stack(rows), "rewards": np.stack(rewards)})
    same = len(traces) == 2 and digest(traces[0]) == digest(traces[1])
    return {
        "inputs": inputs,
        "objectives": traces[0]["rewards"].shape[1],
        "first_steps": digest(traces[0]) if same else "vary",
    }


def _with(opened: OpenedWorld, **facts: Any) -> OpenedWorld:
    return dataclasses.replace(opened, facts=opened.facts._replace(**facts))


def _size(opened: OpenedWorld, observation: Any) -> int:
    if opened.facts.observations is not None:
        return len(flatten(opened.facts.observations, observation))
    assert opened.features is not None
    return int(np.size(opened.features(observation)))


def _example(spec: Actions, i: int, count: int) -> np.ndarray:
    """Some action, the same for all copies."""
    one = np.array([i % n for n in spec.sizes]) if spec.discrete else np.zeros(spec.parts)
    return np.tile(one, (count, 1))
