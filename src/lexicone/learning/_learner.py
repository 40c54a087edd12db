"""What a learner is, and what all learners share.

A learner is a frozen dataclass: its fields are its settings, its methods the algorithm. `train` does the rest (seeds,
the compiled loop, progress, history, checkpoints). To write your own, give it

    batch, max_steps      fields: episodes per update, and the cap on an episode
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
arrays of fixed shape; `progress_metrics` makes the usual ones. Inside, the traced fields of ``self`` are tracers.
"""

import copy
import dataclasses
import math
from numbers import Real
from typing import Any, ClassVar, Literal, Protocol, get_args, get_origin, runtime_checkable

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from lexicone._base.checks import check_whole
from lexicone.directions._find_direction import Direction, Reason, find_direction
from lexicone.directions._gradients import pair_cosines
from lexicone.learning._episodes import Episodes, Problem
from lexicone.learning._returns import nearly

__all__ = [
    "Activation",
    "Learner",
    "OnNone",
    "Optimizer",
    "check_choices",
    "check_numbers",
    "choose_direction",
    "join",
    "make_optimizer",
    "progress_metrics",
    "split",
]

Activation = Literal["relu", "tanh"]
Optimizer = Literal["adam", "sgd", "rmsprop"]
OnNone = Literal["skip", "gradient", "first"]
_OPTIMIZERS = {"adam": optax.adam, "sgd": optax.sgd, "rmsprop": optax.rmsprop}
_RANGES = {  # low, high, and whether high itself is allowed; low is, where it is not 0 that would divide
    "delta": (0.0, math.pi / 2, False),
    "gamma": (0.0, 1.0, True),
    "learning_rate": (0.0, math.inf, False),
    "buffer": (0.0, math.inf, False),
    "correction": (0.0, math.inf, False),
    "confidence": (0.0, 1.0, True),
    "allowance": (0.0, 1.0, True),
    "entropy": (0.0, math.inf, False),
    "barrier": (0.0, math.inf, False),
    "tail": (0.0, 1.0, True),
    "dropout": (0.0, 1.0, False),
    "decay": (0.0, 1.0, True),
    "smoothing": (0.0, 1.0, False),
    "critic_rate": (0.0, math.inf, False),
    "penalty": (0.0, math.inf, False),
    "multiplier_rate": (0.0, math.inf, False),
}


@runtime_checkable
class Learner(Protocol):
    """See the module's docstring."""

    traced: ClassVar[tuple[str, ...]]

    @property
    def batch(self) -> int:
        """Episodes per update."""
        ...

    @property
    def max_steps(self) -> int:
        """The cap on an episode."""
        ...

    def init(self, problem: Problem, key: Any) -> Any:
        """The state before the first update."""
        ...

    def update(
        self, problem: Problem, state: Any, key: Any, share: Array
    ) -> tuple[Any, dict[str, Array]]:
        """One update."""
        ...

    def log_policy(self, problem: Problem, state: Any) -> Float[Array, "S A"]:
        """``ln π`` of every state, as it is evaluated."""
        ...


def split(learner: Any) -> tuple[Any, dict[str, float]]:
    """The form of a learner, for which a program is compiled, and its traced numbers."""
    numbers = {name: float(getattr(learner, name)) for name in learner.traced}
    return join(learner, dict.fromkeys(learner.traced, 0.0)), numbers


def join(form: Any, numbers: dict[str, Any]) -> Any:
    """The learner with these numbers, or tracers of them, in place of its own."""
    whole = copy.copy(form)
    for name, value in numbers.items():
        object.__setattr__(whole, name, value)
    return whole


def check_numbers(learner: Any) -> None:
    """Raise a ValueError for a setting of the wrong type or out of its range; lists become tuples.

    Types are those of the fields. Ranges go by name, and fields that a learner does not have are passed over.
    """
    for field in dataclasses.fields(learner):
        settled = _settle(field.name, field.type, getattr(learner, field.name))
        object.__setattr__(learner, field.name, settled)
    names = {field.name for field in dataclasses.fields(learner)}
    for name in sorted(names & set(_RANGES)):
        low, high, closed = _RANGES[name]
        value = getattr(learner, name)
        if not (low <= value < high or (closed and value == high)):
            end = f"at most {high:g}" if closed else f"below {high:.5g}"
            raise ValueError(f"{name}: must be at least {low:g} and {end}, got {value}")
    if "temperature" in names and not 0 < learner.temperature < math.inf:
        raise ValueError(f"temperature: must be positive and finite, got {learner.temperature}")


def _settle(name: str, kind: Any, value: Any) -> Any:
    """A setting as a plain number, switch or tuple; whole numbers are counts, of at least 1."""
    if kind is bool:
        if not isinstance(value, bool):
            raise ValueError(f"{name}: must be True or False, got {value!r}")
    elif kind is int:
        check_whole(**{name: value})
        return int(value)
    elif kind is float:
        if isinstance(value, bool) or not isinstance(value, Real):
            raise ValueError(f"{name}: must be a number, got {value!r}")
        return float(value)
    elif get_origin(kind) is tuple:
        if not isinstance(value, list | tuple):
            raise ValueError(f"{name}: must be a tuple of numbers, got {value!r}")
        one = get_args(kind)[0]
        value = tuple(_settle(f"{name}[{i}]", one, entry) for i, entry in enumerate(value))
        if not all(map(math.isfinite, value)):
            raise ValueError(f"{name}: must be finite, got {value}")
    elif value is not None and type(None) in get_args(kind):
        return _settle(name, get_args(kind)[0], value)
    return value


def check_choices(learner: Any, **choices: Any) -> None:
    """Raise a ValueError for a setting that is none of its ``Literal`` type."""
    for name, kinds in choices.items():
        if getattr(learner, name) not in get_args(kinds):
            raise ValueError(
                f"{name}: expected one of {', '.join(get_args(kinds))}, got {getattr(learner, name)!r}"
            )


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
    met = returns[:, :-1] >= jnp.broadcast_to(nearly(thresholds), returns[:, :-1].shape)
    return {
        "returns": jnp.mean(returns, axis=0),
        "satisfied": jnp.mean(met.astype(dtype), axis=0),
        "improved": jax.nn.one_hot(direction.objective, returns.shape[1], dtype=dtype),
        "found": (direction.reason == Reason.FOUND).astype(dtype),
        "cosines": pair_cosines(products).astype(dtype),
        "terminated": jnp.mean(episodes.terminated.astype(dtype)),
        "steps": episodes.steps.astype(dtype),
    }
