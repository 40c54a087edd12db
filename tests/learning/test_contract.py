"""What `train` promises of every learner: the same key gives the same result, many at once are those of a loop, and
numbers that one may sweep are compiled once."""

import dataclasses
import json
from collections.abc import Iterator
from typing import Any, get_args

import jax
import numpy as np
import pytest

from lexicone.learning._learner import EnvLearner, Learner, as_pytree
from lexicone.learning._result_model import Trained
from lexicone.learning._train import train, train_many
from lexicone.learning._train_model import advance
from lexicone.learning.algos._gradient_rules import GradientRule
from lexicone.learning.algos._ppo import PPO
from lexicone.learning.algos._registry import LEARNERS
from lexicone.learning.algos._reinforce import Reinforce
from lexicone.models._mdp import MDP
from lexicone.order import Order
from tests.helpers.trainings import MAZE, ORDER, assert_same, other_maze, programs

SIZES: dict[str, Any] = {"hidden": (4,), "batch": 4, "max_steps": 8}
LEARNING: dict[str, Any] = {name: kind(**SIZES) for name, kind in LEARNERS.items()}
LEARNING["Reinforce without dropout"] = Reinforce(**SIZES, dropout=0.0)
RULES = {f"PPO, {rule}": PPO(**SIZES, rule=rule) for rule in get_args(GradientRule)[1:]}
UPDATES = 6

every_learner = pytest.mark.parametrize("name", LEARNING)
every_kind = pytest.mark.parametrize("kind", LEARNERS.values(), ids=LEARNERS)


def run(learner: Learner, order: Order = ORDER, seed: int = 0, task: MDP = MAZE) -> Trained:
    return train(task, order, learner, seeds=2, updates=UPDATES, seed=seed)


@pytest.mark.slow
@pytest.mark.float32
@every_learner
def test_same_key_same_result(name):
    learner = LEARNING[name]
    trained = run(learner)
    assert_same(run(learner), trained)
    assert not np.allclose(run(learner, seed=1).policies, trained.policies)
    assert not np.allclose(trained.policies[0], trained.policies[1])


@pytest.mark.slow
@every_learner
def test_many_at_once_are_those_of_a_loop(name):
    learner = LEARNING[name]
    variants = [
        (ORDER, learner),
        (Order([-9.0]), dataclasses.replace(learner, delta=0.2, gamma=0.5)),
        (ORDER, dataclasses.replace(learner, learning_rate=0.5)),
    ]
    many = train_many(MAZE, variants, seeds=2, updates=UPDATES)
    for (order, own), ours in zip(variants, many, strict=True):
        alone = run(own, order)
        assert ours.learner == own
        np.testing.assert_array_equal(ours.history["returns"][:, 0], alone.history["returns"][:, 0])
        np.testing.assert_allclose(ours.policies, alone.policies, atol=1e-9)
    assert not np.allclose(many[0].policies, many[2].policies)


@pytest.mark.parametrize(
    "name", [*LEARNING, *(pytest.param(name, marks=pytest.mark.slow) for name in RULES)]
)
def test_compiled_once_for_all_numbers(name):
    learner = {**LEARNING, **RULES}[name]
    run(learner)
    before = programs(advance)
    numbers = {field: 0.5 * getattr(learner, field) for field in learner.traced}
    changed = run(dataclasses.replace(learner, **numbers), Order([3.0]), seed=9)
    assert changed.run.update == UPDATES
    run(learner, task=other_maze())
    assert programs(advance) == before
    run(dataclasses.replace(learner, hidden=()))
    assert programs(advance) == before + 1


@every_kind
def test_to_jax_a_learner_is_its_traced_numbers(kind):
    """Put together again with anything in their place: what the constructor checks is for people."""
    learner = kind()
    as_pytree(learner)
    leaves, structure = jax.tree.flatten(learner)
    assert leaves == [getattr(learner, name) for name in kind.traced]
    assert jax.tree.unflatten(structure, leaves) == learner
    strange = jax.tree.unflatten(structure, [object()] * len(leaves))
    assert strange.batch == learner.batch
    other = jax.tree.structure(dataclasses.replace(learner, batch=7))
    assert structure == jax.tree.structure(dataclasses.replace(learner, gamma=0.5)) != other


def numbers_of(kind: type) -> Iterator[tuple[str, dict[str, float]]]:
    for field in dataclasses.fields(kind):
        if field.type is float:
            yield field.name, field.metadata["range"]


@every_kind
def test_every_number_has_a_range_beside_it(kind):
    found = dict(numbers_of(kind))
    assert set(kind.traced) <= set(found)
    for name, ends in found.items():
        with pytest.raises(ValueError, match=rf"^{name}: must be "):
            kind(**{name: ends["low"] - 1e-9})
        with pytest.raises(ValueError, match=rf"^{name}: must be "):
            kind(**{name: ends["high"] + 1e-9})


@every_kind
def test_settings_survive_a_file(kind):
    learner = kind(hidden=(3, 2))
    settings = json.loads(json.dumps(dataclasses.asdict(learner)))
    settings = {name: tuple(v) if isinstance(v, list) else v for name, v in settings.items()}
    assert kind(**settings) == learner
    assert isinstance(learner, Learner)
    assert isinstance(learner, EnvLearner) == (kind is Reinforce)  # others take segments there
