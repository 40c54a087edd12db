"""A world that was opened, and the learner with its settings for it: all that `train` finds out before any work."""

import warnings
from typing import Any, NamedTuple

import jax.numpy as jnp

from lexicone.learning._defaults import SEEDS
from lexicone.learning._learner import as_pytree
from lexicone.learning._named_worlds import NamedWorld, find_world, is_in_file
from lexicone.learning._open_world import MadeInJax, OpenedWorld, WorldFacts, open_world
from lexicone.learning._policy_file import describe_actions
from lexicone.learning._settings import in_segments
from lexicone.learning._worlds_jax import CompiledWorld, is_jax_world, open_jax_world
from lexicone.order import Order
from lexicone.tasks._world import World
from lexicone.tasks._worlds import is_world

__all__ = ["Prepared", "prepare"]

_UNLIMITED = 1000  # steps after which episodes are cut off where no limit is known


class Prepared(NamedTuple):
    """A world that was opened, and the learner with its settings for it."""

    world: CompiledWorld | OpenedWorld
    facts: WorldFacts
    learner: Any
    unlimited: bool
    """Whether nobody has said how long episodes may be."""

    @property
    def runs(self) -> int:
        """How many there are if nothing else is said."""
        return 1 if isinstance(self.world, OpenedWorld) and not self.world.owned else SEEDS

    @property
    def steps(self) -> int:
        """Of one update of one run."""
        return self.learner.copies * self.learner.length


def prepare(
    task: Any,
    order: Order,
    learner: Any,
    *,
    features: Any = None,
    actions: Any = None,
    rewards: Any = None,
) -> Prepared:
    """Open the world, and find the settings that depend on it."""
    dtype, known, options = str(jnp.zeros(()).dtype), None, {}
    if is_in_file(task) or is_world(task):
        task = find_world(task)
    elif isinstance(task, World) and is_world(task.name):
        task = NamedWorld(task, task.name, {})
    if isinstance(task, NamedWorld):
        known, options, task = task.id, task.options, task.world
    if is_jax_world(task):
        world = open_jax_world(task, order, actions=actions, rewards=rewards, features=features)
        facts = WorldFacts(
            environment=world.name,
            environment_id=known,
            environment_options=options,
            world="jax",
            observations=world.observations,
            inputs=world.inputs,
            actions=describe_actions(world.actions),
            objectives=len(order),
            own_rewards=world.own_rewards,
            first_steps="",
            reward_names=world.reward_names,
        )
    else:
        try:
            world = open_world(task, len(order), features=features, rewards=rewards, dtype=dtype)
        except MadeInJax as made:
            given = {"features": features, "actions": actions, "rewards": rewards}
            return prepare(made.named, order, learner, **given)
        if actions is not None:
            raise ValueError("actions: an environment of Gymnasium says itself what can be done")
        if world.facts.objectives != len(order):
            raise ValueError(
                f"order: has {len(order)} objectives, and {world.facts.environment} has {world.facts.objectives}"
            )
        world = world.matched(order)
        facts = world.facts
    limit, cap = world.limit, learner.max_steps
    settings: dict[str, Any] = {"max_steps": cap or limit or _UNLIMITED}
    if isinstance(world, OpenedWorld) and world.vector:
        if cap is not None:
            raise ValueError(
                "max_steps: a VectorEnv ends its own episodes; wrap what it is made of"
            )
        settings["copies"] = world.copies
    if cap is not None and limit is not None and cap < limit:
        warnings.warn(
            f"max_steps: {facts.environment} has episodes of up to {limit} steps; the learner's setting cuts them off "
            f"after {cap}",
            stacklevel=4,
        )
    learner = in_segments(learner, **settings)
    as_pytree(learner)
    if learner.copies * learner.length < learner.minibatches:
        raise ValueError(
            f"minibatches: {learner.copies} copies × {learner.length} steps cannot be parted in {learner.minibatches}"
        )
    return Prepared(world, facts, learner, cap is None and limit is None)
