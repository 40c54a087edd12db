"""Worlds written in JAX: trained in from end to end in one compiled program.

Anything with ``reset(key[, params]) -> (observation, state)`` and ``step(key, state, action[, params]) -> (observation,
state, reward, terminated, truncated, info)``, as gymnax 1.0 has it, or a pair of such functions, or of a world and its
parameters (what ``gymnax.make`` returns). Before 1.0 gymnax had one ``done`` for both ends: it counts as cut off where
time is up. Episodes are begun anew here, never by the world (`step_env` is used where there is one), so that the final
observation is always at hand.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from lexicone.learning._segments import Segment
from lexicone.learning._spaces import Actions, check_no_image, read_actions
from lexicone.learning._world_keys import with_keys, without_keys
from lexicone.order import Order, match_names

__all__ = [
    "CompiledWorld",
    "JaxWorld",
    "Places",
    "begin_places",
    "is_jax_world",
    "names_in_jax",
    "open_jax_world",
    "run_segment",
]


@runtime_checkable
class JaxWorld(Protocol):
    """What has ``reset`` and ``step``, for type checkers; `is_jax_world` looks closer."""

    @property
    def reset(self) -> Callable[..., Any]:
        """``key[, params] -> (observation, state)``."""
        ...

    @property
    def step(self) -> Callable[..., Any]:
        """``key, state, action[, params] -> (observation, state, reward, terminated, truncated, info)``."""
        ...


@dataclass(frozen=True, eq=False)
class CompiledWorld:
    """A world that can be compiled; compared by identity, so that one world is one program."""

    name: str
    reset: Callable[[Any], tuple[Any, Any]]
    """``key -> (row [D], state)``."""
    step: Callable[[Any, Any, Any], tuple[Any, Any, Any, Any, Any, Any]]
    """``key, state, action -> (row [D], state, reward [K], terminated, truncated, survival)``."""
    actions: Actions
    inputs: int
    objectives: int
    observations: Any
    """For `Policy`: how they become numbers; None where a function of the user's does it."""
    own_rewards: bool
    features: Callable[[Any], Any] | None
    limit: int | None
    """After how many steps it cuts episodes off, where it says so."""
    reward_names: tuple[str, ...] | None


class Places(NamedTuple):
    """Where N copies are."""

    row: Float[Array, "N D"]
    state: PyTree
    time: Int[Array, " N"]
    """Steps of the present episodes."""


def is_jax_world(task: Any) -> bool:
    """A pair of functions, or something whose ``reset`` takes a key and whose ``step`` a key, a state and an action.

    Or a pair of such a thing and its parameters.
    """
    if isinstance(task, tuple | list):
        return len(task) == 2 and (all(map(callable, task)) or _has_params(task))
    if isinstance(task, type | str) or not (hasattr(task, "reset") and hasattr(task, "step")):
        return False
    try:
        names = list(inspect.signature(task.reset).parameters)
        return (
            bool(names)
            and "seed" not in names
            and len(inspect.signature(task.step).parameters) >= 3
        )
    except (TypeError, ValueError):
        return False


def _has_params(pair: Any) -> bool:
    return not isinstance(pair[0], tuple | list) and is_jax_world(pair[0])


def open_jax_world(
    task: Any, order: Order, *, actions: Any = None, rewards: Any = None, features: Any = None
) -> CompiledWorld:
    """What is known of a world, by tracing one step of it: mistakes show here, before any work.

    Args:
        task: an object or a pair of functions.
        order: of the rewards that it should pay. Where both have names, rewards come in the order's sequence.
        actions: what can be done, where the world does not say; see `read_actions`.
        rewards: ``(state, action, next state) -> K rewards`` instead of the world's own.
        features: from an observation to a vector, in JAX; by default its numbers.
    """
    names = names_in_jax(task) if rewards is None else None
    names = names if names is not None and len(names) == len(order) else None
    places = tuple(match_names(order, names, _name(task)))
    names = names and tuple(names[k] for k in places)
    held = _Held(actions)
    try:
        return _open(task, places, names, repr(actions), rewards, features, held)
    except TypeError:  # something that has no hash
        return _open.__wrapped__(task, places, names, "", rewards, features, held)


def names_in_jax(task: Any) -> tuple[str, ...] | None:
    """The names of a world's rewards: its attribute ``reward_names``, if there is one."""
    world = task[0] if isinstance(task, tuple | list) else task
    names = getattr(world, "reward_names", None)
    return None if names is None else tuple(map(str, names))


class _Held(NamedTuple):
    """Something that is the same to a cache whatever it holds."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held)

    def __hash__(self) -> int:
        return 0


@functools.lru_cache(maxsize=16)
def _open(
    task: Any,
    places: tuple[int, ...],
    names: tuple[str, ...] | None,
    described: str,
    rewards: Any,
    features: Any,
    held: _Held,
) -> CompiledWorld:
    """The same world for the same arguments, so that it is compiled once; ``described`` are the ``held`` actions.

    ``places`` and ``names`` are those of the rewards, in the order's sequence.
    """
    actions, objectives = held.value, len(places)
    name = _name(task)
    params = getattr(task, "default_params", None)
    if isinstance(task, tuple | list) and _has_params(task):
        task, params = task
    pair = isinstance(task, tuple | list)
    raw_reset = task[0] if pair else getattr(task, "reset_env", task.reset)
    raw_step = task[1] if pair else getattr(task, "step_env", task.step)
    with_params = [
        _takes(raw_reset, 2) and params is not None,
        _takes(raw_step, 4) and params is not None,
    ]
    space = actions if actions is not None else _own_actions(task, params, name)
    spec = read_actions(space, "actions" if actions is not None else f"task: {name}")

    def see(observation: Any) -> Array:
        if features is None:
            try:
                check_no_image(name, jax.tree.leaves(observation))
            except ValueError as error:
                raise _Misfit(str(error)) from None
        shown = observation if features is None else features(observation)
        leaves = [jnp.ravel(jnp.asarray(leaf, float)) for leaf in jax.tree.leaves(shown)]
        return jnp.concatenate(leaves)

    def reset(key: Any) -> tuple[Array, Any]:
        observation, state = raw_reset(key, params) if with_params[0] else raw_reset(key)
        return see(observation), without_keys(state)

    def step(key: Any, state: Any, action: Any) -> tuple[Array, Any, Array, Array, Array, Array]:
        state = with_keys(state)
        found = (
            raw_step(key, state, action, params) if with_params[1] else raw_step(key, state, action)
        )
        observation, after, reward, terminated, truncated, info = _read_step(found, params, name)
        paid = reward if rewards is None else rewards(state, action, after)
        paid = jnp.atleast_1d(
            jnp.asarray(jnp.stack(paid) if isinstance(paid, tuple | list) else paid, float)
        )
        if paid.shape != (objectives,):
            hint = (
                ""
                if rewards is not None
                else "; rewards= makes them from (state, action, next state)"
            )
            raise _Misfit(
                f"order: has {objectives} objectives, and {name} pays rewards of shape {paid.shape}{hint}"
            )
        ends = [jnp.asarray(end, bool).reshape(()) for end in (terminated, truncated)]
        paid = paid if places == tuple(range(objectives)) else paid[jnp.asarray(places)]
        survival = _survival(info, ends[0], name)
        return see(observation), without_keys(after), paid, ends[0], ends[1], survival

    def once(key: Any) -> Any:
        row, state = reset(key)
        action = spec.to_world(jnp.zeros(spec.parts, jnp.int32 if spec.discrete else float), jnp)
        return (row, state), step(key, state, action)

    key = jax.random.key(0)
    try:
        (row, state), after = jax.eval_shape(once, key)
    except _Misfit as error:
        raise ValueError(str(error)) from None  # without what JAX adds
    except Exception as error:  # whatever a user's function raises while it is traced
        raise ValueError(
            f"task: {name} cannot be traced: {type(error).__name__}: {error}"
        ) from error
    if jax.tree.structure(state) != jax.tree.structure(after[1]) or row.shape != after[0].shape:
        raise ValueError(
            f"task: {name} returns another kind of state or observation from step than from reset"
        )
    _check_alike(state, after[1], name)
    limit = getattr(params, "max_steps_in_episode", None) or getattr(task, "max_steps", None)
    limit = int(limit) if isinstance(limit, int | np.integer) else None
    shown = {"kind": "tree"} if features is None else None
    return CompiledWorld(
        name,
        reset,
        step,
        spec,
        row.shape[0],
        objectives,
        shown,
        rewards is not None,
        features,
        limit,
        names,
    )


def _survival(info: Any, terminated: Array, name: str) -> Array:
    """With which chance the episode goes on: ``info["survival"]``; else 1 or 0, as it did or did not."""
    if not isinstance(info, dict) or "survival" not in info:
        return jnp.where(terminated, 0.0, 1.0)
    survival = jnp.asarray(info["survival"], float)
    if survival.size != 1:
        raise _Misfit(f"task: {name} says survival of shape {survival.shape}, expected one number")
    return jnp.clip(survival.reshape(()), 0.0, 1.0)


def _read_step(found: Any, params: Any, name: str) -> tuple[Any, Any, Any, Any, Any, Any]:
    """What a step returned; one ``done`` for both ends is told apart by the time."""
    if isinstance(found, tuple) and len(found) == 6:
        return found
    if not isinstance(found, tuple) or len(found) != 5:
        count = len(found) if isinstance(found, tuple) else 1
        raise _Misfit(
            f"task: the step of {name} returns {count} values; expected (observation, state, reward, terminated, "
            "truncated, info)"
        )
    observation, after, reward, done, info = found
    most, time = getattr(params, "max_steps_in_episode", None), getattr(after, "time", None)
    done = jnp.asarray(done, bool)
    late = done & (time >= most) if most is not None and time is not None else jnp.zeros_like(done)
    return observation, after, reward, done & ~late, late, info


def _check_alike(before: Any, after: Any, name: str) -> None:
    """A ValueError for the first part of a state that a step makes another kind of array."""
    leaves = jax.tree.leaves(after)
    for (path, old), new in zip(jax.tree.leaves_with_path(before), leaves, strict=True):
        if (old.shape, old.dtype) != (new.shape, new.dtype):
            place, *kinds = (
                jax.tree_util.keystr(path),
                *(f"{x.dtype}{list(x.shape)}" for x in (old, new)),
            )
            raise ValueError(
                f"task: {name} returns a state{place} of {kinds[0]} from reset and of {kinds[1]} from step; they must "
                "be alike"
            )


class _Misfit(ValueError):
    """A mistake that is found while a world is traced: by us, not in the user's functions."""


def _name(task: Any) -> str:
    if isinstance(task, tuple | list) and _has_params(task):
        task = task[0]
    if isinstance(task, tuple | list):
        return f"({', '.join(getattr(part, '__name__', 'function') for part in task)})"
    name = getattr(task, "name", None)
    return name if isinstance(name, str) else type(task).__name__


def _takes(function: Any, count: int) -> bool:
    """Whether a function takes so many arguments."""
    try:
        inspect.signature(function).bind(*range(count))
    except (TypeError, ValueError):
        return False
    return True


def _own_actions(task: Any, params: Any, name: str) -> Any:
    """What a world says can be done: ``action_space``, with or without parameters, ``actions`` or ``num_actions``."""
    for attribute in ("action_space", "actions", "num_actions"):
        space = getattr(task, attribute, None)
        if callable(space) and not hasattr(space, "n") and not hasattr(space, "low"):
            space = space(params) if _takes(space, 1) else space()
        if space is not None:
            return space
    raise ValueError(
        f"actions: {name} does not say what can be done; give a number of choices, several, or bounds (low, high)"
    )


def begin_places(world: CompiledWorld, key: Any, copies: int) -> Places:
    """All copies at the beginning of an episode."""
    rows, states = jax.vmap(world.reset)(jax.random.split(key, copies))
    dtype = jnp.zeros(()).dtype
    return Places(rows.astype(dtype), states, jnp.zeros(copies, jnp.int32))


def run_segment(
    world: CompiledWorld,
    act: Callable[[Float[Array, "N D"], Any], Array],
    places: Places,
    key: Any,
    length: int,
    cap: int,
) -> tuple[Places, Segment, Int[Array, ""]]:
    """T steps of N copies with what ``act(rows, key)`` chooses; after an end a copy begins anew.

    Last, how many episodes only ``cap`` ended.

    Args:
        world: where.
        act: the policy.
        places: where the copies are.
        key: for all randomness.
        length: T.
        cap: episodes are cut off after so many steps.
    """

    def one(place: Places, action: Array, key: Any) -> tuple[Places, Any]:
        step_key, reset_key = jax.random.split(key)
        row, state, reward, terminated, truncated, survival = world.step(
            step_key, place.state, world.actions.to_world(action, jnp)
        )
        row, reward, survival = (x.astype(place.row.dtype) for x in (row, reward, survival))
        time = place.time + 1
        late = truncated | (time >= cap)  # and sure to end: no matter of chance
        own, ended = terminated | truncated, terminated | late
        terminated = terminated & ~(late & (survival > 0))
        new_row, new_state = world.reset(reset_key)
        pick = lambda new, old: jnp.where(ended, jnp.asarray(new, jnp.asarray(old).dtype), old)  # noqa: E731
        after = Places(
            pick(new_row, row), jax.tree.map(pick, new_state, state), jnp.where(ended, 0, time)
        )
        return after, (reward, row, terminated, ended, survival, ended & ~own)

    def step(places: Places, key: Any) -> tuple[Places, tuple[Segment, Array]]:
        act_key, world_key = jax.random.split(key)
        action = act(places.row, act_key)
        keys = jax.random.split(world_key, action.shape[0])
        after, (reward, row, terminated, ended, survival, cut) = jax.vmap(one)(places, action, keys)
        valid = jnp.ones_like(ended)
        segment = Segment(places.row, action, reward, row, terminated, ended, valid, survival)
        return after, (segment, cut)

    places, (segment, cut) = jax.lax.scan(step, places, jax.random.split(key, length))
    return places, segment, jnp.sum(cut)
