"""What a learner is, and what all learners share.

A learner is a frozen dataclass: its fields are its settings, its methods the algorithm. `train` does the rest (seeds,
the compiled loop, progress, history, checkpoints). To write your own, give it

    batch, max_steps      fields: episodes per update, and the cap on an episode. Where that is None, the learner has a
                          ``usual_steps``, and is given the environment's own limit, or these, before it begins
    traced                class attribute: names of fields that hold numbers one may sweep without compiling again
    init(problem, key)                    -> state: any pytree of arrays
    update(problem, state, key, share)    -> (state, metrics); share is the part of the training that is over, 0 to 1
    log_policy(problem, state)            -> [S,A] ln π as it shall be evaluated (dropout off)

To train in environments that are Python code, a learner also has what `update` then is made of:

    act(state, features, key, time)       -> [N,A] ln π with which N episodes are acted in at one time
    learn(problem, state, episodes, key, share)   -> (state, metrics)

Every step of such episodes is a state of its own: ``problem.features`` has a row for each time and episode, time first,
then a row for the state in which each episode stopped. ``key`` is the same for `learn` and the `act` before it.

`update` is called under ``jit`` and ``vmap``: no Python branches on data. Its metrics are a dictionary of numbers or
arrays of fixed shape; `progress_metrics` makes the usual ones. To JAX a learner is a pytree (`as_pytree`): its traced
fields are the leaves, and so tracers inside of `update`; all other fields are constants of the program.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from lexicone.directions._find_direction import Direction, Reason, find_direction
from lexicone.directions._gradients import pair_cosines
from lexicone.learning._episodes import Episodes
from lexicone.learning._problem import Problem
from lexicone.learning._returns import allow_rounding

__all__ = [
    "Activation",
    "AnyLearner",
    "EnvLearner",
    "Learner",
    "OnNone",
    "Optimizer",
    "as_pytree",
    "check_learner",
    "choose_direction",
    "make_optimizer",
    "progress_metrics",
    "with_arrays",
    "with_cap",
]

Activation = Literal["relu", "tanh"]
Optimizer = Literal["adam", "sgd", "rmsprop"]
OnNone = Literal["skip", "gradient", "first"]
_OPTIMIZERS = {"adam": optax.adam, "sgd": optax.sgd, "rmsprop": optax.rmsprop}


@runtime_checkable
class AnyLearner(Protocol):
    """What all learners have: see the module's docstring."""

    traced: ClassVar[tuple[str, ...]]

    @property
    def batch(self) -> int:
        """Episodes per update."""
        ...

    @property
    def max_steps(self) -> int | None:
        """The cap on an episode; None for the environment's own, or the learner's usual one."""
        ...

    def init(self, problem: Problem, key: Any) -> Any:
        """The state before the first update."""
        ...

    def log_policy(self, problem: Problem, state: Any) -> Float[Array, "S A"]:
        """``ln π`` of every state, as it is evaluated."""
        ...


@runtime_checkable
class Learner(AnyLearner, Protocol):
    """A learner for models: a frozen dataclass whose fields are its settings and whose methods are the algorithm.

    ``traced`` names the fields that hold numbers one may sweep without compiling again. `update` is called under
    ``jit`` and ``vmap``, with the part of the training that is over, from 0 to 1, as ``share``.
    """

    def update(
        self, problem: Problem, state: Any, key: Any, share: Array
    ) -> tuple[Any, dict[str, Array]]:
        """One update."""
        ...


@runtime_checkable
class EnvLearner(AnyLearner, Protocol):
    """A learner for environments that are Python code."""

    def act(
        self, state: Any, features: Float[Array, "N D"], key: Any, time: Any
    ) -> Float[Array, "N A"]:
        """``ln π`` with which N episodes are acted in at one time."""
        ...

    def learn(
        self, problem: Problem, state: Any, episodes: Episodes, key: Any, share: Array
    ) -> tuple[Any, dict[str, Array]]:
        """One update from episodes."""
        ...


def check_learner(learner: Any, *methods: str) -> None:
    """A ValueError unless it has what any learner has, and these methods. Its class becomes a pytree."""
    shared = ("traced", "batch", "max_steps", "init", "log_policy")
    missing = [name for name in (*shared, *methods) if not hasattr(learner, name)]
    if missing:
        raise ValueError(f"learner: {learner!r} has no {', '.join(missing)}")
    traced = tuple(learner.traced)
    if isinstance(learner, type):
        raise ValueError(f"learner: give an instance, {learner.__name__}(), not the class")
    if not dataclasses.is_dataclass(learner):
        raise ValueError(f"learner: {learner!r} is not a dataclass")
    settings = {field.name for field in dataclasses.fields(learner)}
    unknown = [name for name in traced if name not in settings]
    if unknown:
        raise ValueError(f"learner: traced names {unknown[0]}, which is no field")
    as_pytree(learner)


def as_pytree(learner: Any) -> None:
    """Make the learner's class a pytree, unless it is one: traced fields are leaves, the others part of the structure.

    JAX puts learners together again with tracers in them, and past ``__init__``: what that checks is what people write.
    (``jax.tree_util.register_dataclass`` goes through it.)
    """
    if not jax.tree_util.all_leaves([learner]):
        return
    kind, traced = type(learner), tuple(learner.traced)
    fixed = tuple(f.name for f in dataclasses.fields(kind) if f.name not in traced)

    def flatten(learner: Any) -> tuple[Iterable[Any], tuple[Any, ...]]:
        return [getattr(learner, n) for n in traced], tuple(getattr(learner, n) for n in fixed)

    def unflatten(constants: tuple[Any, ...], leaves: Iterable[Any]) -> Any:
        again = object.__new__(kind)
        for name, value in zip((*fixed, *traced), (*constants, *leaves), strict=True):
            object.__setattr__(again, name, value)
        return again

    jax.tree_util.register_pytree_node(kind, flatten, unflatten)


def with_cap(learner: Any, limit: int | None = None) -> Any:
    """The learner with a cap on episodes: its own setting, else ``limit``, else what is usual for it."""
    if learner.max_steps is not None:
        return learner
    return dataclasses.replace(learner, max_steps=limit or learner.usual_steps)


def with_arrays(learners: Sequence[Any], dtype: Any) -> Any:
    """Learners that differ in traced numbers only as one learner, whose traced fields are arrays ``[N]``."""
    return jax.tree.map(lambda *each: jnp.asarray([float(n) for n in each], dtype), *learners)


def make_optimizer(learner: Any) -> optax.GradientTransformation:
    """The optax optimiser that the settings ``optimizer`` and ``learning_rate`` name."""
    return _OPTIMIZERS[learner.optimizer](learner.learning_rate)


def choose_direction(
    learner: Any,
    products: Float[Array, "K K"],
    values: Float[Array, " K"],
    limits: Float[Array, " K-1"],
) -> Direction:
    """`find_direction` with a learner's settings, and what its ``on_none`` says where there is none.

    A gradient that vanishes is no direction whatever ``on_none`` says. ``reason`` still tells what was found.
    """
    direction = find_direction(
        products,
        values,
        limits,
        delta=learner.delta,
        active_constraints=learner.active_constraints,
        buffer=learner.buffer,
        method=learner.method,
    )
    if learner.on_none == "skip":
        return direction
    instead = direction.objective if learner.on_none == "gradient" else 0
    plain = jax.nn.one_hot(instead, values.shape[0], dtype=direction.weights.dtype)
    lost = (direction.reason == Reason.STATIONARY) | (direction.reason == Reason.MISSED)
    return direction._replace(
        weights=jnp.where(lost, plain, direction.weights), found=direction.found | lost
    )


def progress_metrics(
    episodes: Episodes,
    thresholds: Float[Array, " thresholds"],
    direction: Direction,
    products: Float[Array, "K K"],
) -> dict[str, Array]:
    """What every learner reports of an update; `Trained.history` says what the entries are."""
    returns = episodes.returns
    dtype = returns.dtype
    met = returns[:, :-1] >= jnp.broadcast_to(allow_rounding(thresholds), returns[:, :-1].shape)
    return {
        "returns": jnp.mean(returns, axis=0),
        "satisfied": jnp.mean(met.astype(dtype), axis=0),
        "improved": jax.nn.one_hot(direction.objective, returns.shape[1], dtype=dtype),
        "found": jnp.where(
            direction.reason == Reason.NOT_FINITE,
            jnp.nan,  # the training stops here
            (direction.reason == Reason.FOUND).astype(dtype),
        ),
        "cosines": pair_cosines(products).astype(dtype),
        "terminated": jnp.mean(episodes.terminated.astype(dtype)),
        "steps": episodes.steps.astype(dtype),
    }
