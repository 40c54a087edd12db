"""Environments that are Python code: Gymnasium's, with the vector rewards of MO-Gymnasium.

Where copies of one come from, what is known of it, and whether one can learn in it. Gymnasium is an optional extra and
imported only when it is needed.
"""

import importlib
import inspect
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from lexicone._base.checkpoint import digest
from lexicone.learning._problem import Sizes
from lexicone.models._matching import names_of_rewards
from lexicone.order import Order, match_names

__all__ = [
    "Env",
    "EnvFacts",
    "EnvSource",
    "OpenedEnv",
    "UnknownEnvironment",
    "check_finite",
    "copies",
    "gymnasium_of",
    "imports_a_module",
    "open_env",
    "open_task",
    "own_limit",
    "read_reward",
    "read_row",
    "refuse_import",
    "source_of",
]

_PROBE = 4  # steps that are tried before the training


class UnknownEnvironment(ValueError):
    """Gymnasium has no environment of that id."""


@runtime_checkable
class Env(Protocol):
    """A ``gymnasium.Env``, as far as it is used here; Gymnasium is an optional extra."""

    action_space: Any
    observation_space: Any

    def reset(self, *, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        ...

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Observation, reward, whether it terminated, whether it was cut off, and more."""
        ...


@dataclass(frozen=True)
class EnvSource:
    """Where copies of an environment come from."""

    make: Callable[[], Any]
    id: str | None = None
    """What Gymnasium knows it by, and so a file can name it; None for one that was given as a function."""
    options: dict[str, Any] = field(default_factory=dict)
    """Of ``gymnasium.make``, beside the id."""


class EnvFacts(NamedTuple):
    """What is known of an environment, as JSON can hold it: two that agree in it are taken for the same."""

    environment: str
    environment_id: str | None
    environment_options: dict[str, Any]
    observations: str
    inputs: int
    """How many numbers networks see."""
    own_features: bool
    """Whether a function of the user's makes them."""
    actions: int
    first_action: int
    objectives: int
    first_steps: str
    """A digest of what the first steps show and pay; "vary" where the same seed gives others each time."""
    reward_names: tuple[str, ...] | None = None
    """Of the rewards, in the sequence in which they are learned; None where the environment has none."""

    @property
    def sizes(self) -> Sizes:
        """Of networks for it."""
        return Sizes(self.inputs, self.actions, self.objectives)


@dataclass(frozen=True)
class OpenedEnv:
    """An environment that was opened once and looked at: it can be learned in."""

    facts: EnvFacts
    source: EnvSource
    features: Callable[[Any], Any] | None
    """The user's function from an observation to a vector."""
    see: Callable[[Any], np.ndarray]
    """What networks see of an observation."""
    places: tuple[int, ...]
    """Where each objective stands in the environment's rewards."""
    limit: int | None = None
    """After how many steps the environment itself cuts an episode off; None where it does not, or does not say."""

    def matched(self, order: Order) -> "OpenedEnv":
        """The same with rewards in the order's sequence, where both have names."""
        facts = self.facts
        places = match_names(order, facts.reward_names, facts.environment)
        names = facts.reward_names and tuple(facts.reward_names[k] for k in places)
        return replace(
            self,
            facts=facts._replace(reward_names=names),
            places=tuple(self.places[k] for k in places),
        )


def source_of(task: Any, **options: Any) -> EnvSource:
    """Where environments come from, for whatever `train` takes as its task; ``options`` are for an id."""
    if isinstance(task, EnvSource):
        return task
    if not (isinstance(task, str | Env) or callable(task)):
        raise ValueError(
            "task: expected an MDP, a Gymnasium environment, its id, or a function that makes one, "
            f"got {type(task).__name__}"
        )
    gymnasium = gymnasium_of()
    if isinstance(task, str):
        make = lambda: _make_known(gymnasium, task, options)  # noqa: E731
        return EnvSource(make, task, options)
    if callable(task):
        _check_maker(task)
        return EnvSource(task)
    if not isinstance(task, gymnasium.Env):
        raise ValueError(f"task: expected a gymnasium.Env, got {type(task).__name__}")
    env: Any = task
    name = type(env.unwrapped).__qualname__
    if env.spec is None:
        raise ValueError(
            f"task: {name} has no spec from which copies could be made; give a function that makes one, such as "
            f"lambda: {name}(…)"
        )

    def copy() -> Any:
        try:
            return gymnasium.make(env.spec, disable_env_checker=True)
        except (ValueError, gymnasium.error.Error) as error:
            raise ValueError(
                f"task: {name} cannot be made anew from its spec ({error}); give a function that makes one"
            ) from None

    return EnvSource(copy)


def _check_maker(make: Callable[..., Any]) -> None:
    """A ValueError unless it can be called without arguments, as far as Python knows."""
    try:
        signature = inspect.signature(make)
    except (TypeError, ValueError):
        return
    try:
        signature.bind()
    except TypeError as error:
        name = getattr(make, "__qualname__", type(make).__name__)
        raise ValueError(
            f"task: {name} cannot be called without arguments ({error}); give a function that makes an environment, "
            f"such as lambda: {name}(…)"
        ) from None


def imports_a_module(name: str) -> bool:
    """Whether Gymnasium would import a module for an environment of this id, such as ``"module:Name-v0"``."""
    return ":" in str(name)


def refuse_import(name: str) -> ValueError:
    """What to raise where a file names such an environment."""
    return ValueError(
        f"task: the file names the environment {name!r}, for which Python would import a module, and a file may not "
        f"ask for that. If you trust it, give the id to load: task={name!r}"
    )


def open_task(task: Any, features: Any, order: Order) -> OpenedEnv:
    """The environment that `train` was given, opened unless it was before, with rewards in the order's sequence."""
    objectives = len(order)
    if not isinstance(task, OpenedEnv):
        return open_env(source_of(task), features, objectives).matched(order)
    if features is not None:
        raise ValueError("features: give them when the environment is opened")
    if task.facts.objectives != objectives:
        raise ValueError(
            f"order: has {objectives} objectives, and {task.facts.environment} has {task.facts.objectives}"
        )
    return task.matched(order)


def open_env(source: EnvSource, features: Any = None, objectives: int | None = None) -> OpenedEnv:
    """Make one environment, look at its spaces, and try a few steps: mistakes show here, before any work.

    ``features`` is a function from an observation to a vector; by default observations are flattened. ``objectives`` is
    how long rewards should be.
    """
    if features is not None and not callable(features):
        raise ValueError(
            "features: an environment takes a function from an observation to a vector, "
            f"got {type(features).__name__}"
        )
    gymnasium = gymnasium_of()
    env = source.make()
    if not isinstance(env, gymnasium.Env):
        raise ValueError(f"task: made a {type(env).__name__}, not a gymnasium.Env")
    name = source.id or type(env.unwrapped).__qualname__
    try:
        space = env.action_space
        if not isinstance(space, gymnasium.spaces.Discrete):
            raise ValueError(f"task: {name} has actions {space}; only Discrete ones can be learned")
        see = _view(gymnasium.spaces, env.observation_space, name, features)
        first = int(space.start)
        actions = range(first, first + int(space.n))
        trace, again = (_try(env, see, actions, name, objectives) for _ in range(2))
        count, names = trace["rewards"].shape[1], names_of_rewards(env)
        facts = EnvFacts(
            name,
            source.id,
            source.options,
            str(env.observation_space),
            trace["rows"].shape[1],
            features is not None,
            int(space.n),
            first,
            count,
            digest(trace) if digest(trace) == digest(again) else "vary",
            names if names is not None and len(names) == count else None,
        )
        limit = own_limit(env)
    finally:
        env.close()
    return OpenedEnv(facts, source, features, see, tuple(range(count)), limit)


def own_limit(env: Any) -> int | None:
    """The least of what its spec, a ``TimeLimit`` around it, or a model behind it says of the length of episodes."""
    spec, layer = getattr(env, "spec", None), env
    said = [getattr(spec, "max_episode_steps", None)]
    while layer is not None:
        said.append(getattr(layer, "_max_episode_steps", None))  # of gymnasium.wrappers.TimeLimit
        inner = getattr(layer, "env", None)
        if inner is None and type(layer).__module__.startswith("lexicone."):
            said.append(getattr(layer, "max_steps", None))
        layer = inner
    return min((n for n in said if isinstance(n, int) and n > 0), default=None)


@contextmanager
def copies(opened: OpenedEnv, count: int) -> Iterator[list[Any]]:
    """So many environments, closed at the end."""
    made: list[Any] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they were shown when it was looked at
            made.extend(opened.source.make() for _ in range(count))
        yield made
    finally:
        for env in made:
            env.close()


def read_row(opened: OpenedEnv, observation: Any) -> np.ndarray:
    """What networks see of an observation, ``[D]``."""
    row, facts = opened.see(observation), opened.facts
    if row.shape != (facts.inputs,):
        raise ValueError(
            f"task: {facts.environment} showed {row.size} numbers at one time and {facts.inputs} at another; "
            "they must stay as many"
        )
    return row


def read_reward(reward: Any, name: str, objectives: int) -> np.ndarray:
    """A reward as so many numbers; ``name`` is that of the environment."""
    paid = np.atleast_1d(np.asarray(reward, dtype=float))
    if paid.shape != (objectives,):
        raise ValueError(
            f"order: has {objectives} objectives, and {name} pays rewards of shape {np.shape(reward)}"
        )
    return paid


def check_finite(what: str, rows: np.ndarray, name: str, time: int, where: str = "") -> None:
    """A ValueError for the first row ``[N,…]`` that holds a NaN or an infinite number."""
    good = np.isfinite(rows).all(axis=1)
    if not good.all():
        n = int(np.argmin(good))
        raise ValueError(
            f"task: {name} gave a {what} that is not finite, {rows[n].tolist()}, in episode {n}{where}, "
            f"after {time} steps"
        )


def gymnasium_of() -> Any:
    try:
        return importlib.import_module("gymnasium")
    except ImportError as error:
        raise ImportError(
            f"task: environments need Gymnasium: pip install 'lexicone[gym]' ({error})"
        ) from error


def _make_known(gymnasium: Any, name: str, options: dict[str, Any]) -> Any:
    """The environment of that id: Gymnasium's, MO-Gymnasium's or lexicone's own."""
    if name not in gymnasium.registry:
        importlib.import_module("lexicone.gym")
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        with warnings.catch_warnings(), suppress(ImportError):
            warnings.simplefilter("ignore")  # what pygame says about its own imports
            importlib.import_module("mo_gymnasium")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*precision lowered")  # of bounds, no matter
            return gymnasium.make(name, disable_env_checker=True, **options)
    except ModuleNotFoundError as error:
        if name not in gymnasium.registry:
            raise UnknownEnvironment(
                f"task: {name!r} needs a module that there is not ({error})"
            ) from None
        raise ValueError(f"task: {name} needs a module that is not installed ({error})") from None
    except gymnasium.error.UnregisteredEnv as error:
        near = get_close_matches(name, gymnasium.registry, 3, 0.5)
        similar = f"; it knows {', '.join(near)}" if near else ""
        raise UnknownEnvironment(
            f"task: expected an MDP or the id of an environment, and Gymnasium knows no {name!r}{similar} ({error})"
        ) from None
    except gymnasium.error.Error as error:
        raise ValueError(f"task: {name} cannot be made: {error}") from None
    except TypeError as error:
        given = ", ".join(f"{key}={value!r}" for key, value in options.items())
        raise ValueError(
            f"task: {name} cannot be made with {given or 'no options'} ({error})"
        ) from None


def _view(spaces: Any, space: Any, name: str, features: Any) -> Callable[[Any], np.ndarray]:
    """From an observation to the numbers that networks see."""
    if features is not None:
        return lambda observation: np.asarray(features(observation), dtype=float).reshape(-1)
    if isinstance(space, spaces.Box):
        return lambda observation: np.asarray(observation, dtype=float).reshape(-1)
    if not space.is_np_flattenable:
        raise ValueError(
            f"task: {name} has observations {space}, which have no fixed number of numbers; "
            "give a function from them to a vector as features"
        )
    return lambda observation: np.asarray(spaces.flatten(space, observation), dtype=float)


def _try(
    env: Any,
    see: Callable[[Any], np.ndarray],
    actions: Sequence[int],
    name: str,
    objectives: int | None,
) -> dict[str, np.ndarray]:
    """What the first steps of an episode show and pay."""
    rows, rewards = [see(env.reset(seed=0)[0])], []
    for i in range(_PROBE):
        observation, reward, ended, cut, _ = env.step(actions[i % len(actions)])
        rows.append(see(observation))
        rewards.append(
            read_reward(reward, name, np.size(reward) if objectives is None else objectives)
        )
        check_finite("observation", np.stack(rows[-1:]), name, i + 1)
        check_finite("reward", rewards[-1][None], name, i + 1)
        if ended or cut:
            break
    return {"rows": np.stack(rows), "rewards": np.stack(rewards)}
