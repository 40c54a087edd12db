"""What a learner works on: a model or the sizes of an environment, what networks see, the thresholds."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from lexicone.models._environment import Environment, environment
from lexicone.models._mdp import MDP
from lexicone.order import Order

__all__ = [
    "OWN_THRESHOLDS",
    "Problem",
    "Sizes",
    "chances_of",
    "check_features",
    "env_problem",
    "model_problem",
]


@jax.tree_util.register_static
class Sizes(NamedTuple):
    """Of what goes into networks and comes out of them; to JAX a constant, known also while the rest is traced."""

    inputs: int
    actions: int
    objectives: int


class Problem(NamedTuple):
    """What a learner works on; a pytree, and all of it but the sizes may be traced."""

    env: Environment | None
    """The model's tables; None where episodes come from an environment that is Python code."""
    features: Float[Array, "S D"] | None
    """What networks see of each state; None for one-hot vectors."""
    thresholds: Float[Array, " thresholds"]
    scale: Float[Array, " K"]
    """The largest reward of each objective, as far as it is known beforehand."""
    sizes: Sizes
    chances: Float[Array, " thresholds"] | None = None
    """For ``criterion="chance"``: the share of episodes that shall meet each threshold; NaN where the mean shall."""

    @property
    def available(self) -> Bool[Array, "S A"] | None:
        """Which actions there are in which state of a model; None where all are."""
        return None if self.env is None else self.env.available

    @property
    def model(self) -> Environment:
        """``env``, or a ValueError where there is none."""
        if self.env is None:
            raise ValueError("problem: there is no model here; learn from episodes")
        return self.env


OWN_THRESHOLDS: Any = Problem(None, None, thresholds=0, scale=None, sizes=None, chances=0)  # pyright: ignore
"""The axes of a problem in ``jax.vmap(…, in_axes=…)`` whose thresholds and chances are ``[N,K−1]``, a row a run."""


def model_problem(mdp: MDP, features: Float[np.ndarray, "S D"] | None, order: Order) -> Problem:
    """A model on the device."""
    env = environment(mdp)
    dtype = env.reward.dtype
    return Problem(
        env,
        None if features is None else jnp.asarray(features, dtype),
        jnp.asarray(order.thresholds, dtype),
        jnp.max(jnp.abs(env.reward), axis=(0, 1, 2)),
        Sizes(
            mdp.num_states if features is None else features.shape[1],
            mdp.num_actions,
            mdp.num_objectives,
        ),
        jnp.asarray(chances_of(order), dtype),
    )


def env_problem(sizes: Sizes, order: Order) -> Problem:
    """An environment that is Python code, before anything was seen of it."""
    return Problem(
        None,
        jnp.zeros((0, sizes.inputs)),
        jnp.asarray(order.thresholds, float),
        jnp.zeros(sizes.objectives),
        sizes,
        jnp.asarray(chances_of(order), float),
    )


def chances_of(order: Order) -> Float[np.ndarray, " thresholds"]:
    """The share of episodes that each threshold asks for; NaN where it holds for the mean."""
    if any(level.worst is not None for level in order.levels):
        raise ValueError("order: learners know no worst episodes; use search, or a chance")
    return np.array([np.nan if p is None else p for p in order.chances], dtype=float)


def check_features(task: MDP, features: Any) -> Float[np.ndarray, "S D"] | None:
    """A row for every state of a model."""
    if features is None:
        return None
    try:
        rows = np.array(features, dtype=float)  # a copy, which the caller cannot change
    except (TypeError, ValueError):
        raise ValueError(
            f"features: expected numbers of shape [{task.num_states}, D], got {features!r}"
        ) from None
    if rows.ndim != 2 or rows.shape[0] != task.num_states or not np.isfinite(rows).all():
        raise ValueError(
            f"features: expected finite numbers of shape [{task.num_states}, D], got {rows.shape}"
        )
    return rows
