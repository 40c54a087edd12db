"""Learners of one's own: what they may leave out, and which mistakes are named. Types of fields are text here."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pytest

from lexicone.learning._progress import describe
from lexicone.learning._settings import check_settings, number
from lexicone.learning._train import train, train_many
from lexicone.learning.algos._ppo import PPO
from lexicone.order import Order
from tests.helpers.trainings import MAZE, ORDER, Still


class Swept(Still):
    traced: ClassVar[tuple[str, ...]] = ("rat", "batch")


def test_progress_needs_no_metrics_of_a_certain_name():
    found = train(MAZE, ORDER, Still(), seeds=2, updates=4, progress=True)
    assert set(found.history) == {"update", "episodes", "share"}


def test_the_progress_bar_says_what_is_there():
    order = Order([0.5], names=("goal", "time"))
    returns, met = np.array([1.0, -2.5]), np.array([0.25])
    assert describe({"returns": returns, "satisfied": met}, order) == "goal 1  time -2.5  met 25%"
    assert describe({"returns": returns}, order) == "goal 1  time -2.5"
    assert describe({"satisfied": met}, order) == "met 25%"
    assert describe({"returns": np.array(3.0)}, order) == "training"


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (Swept(), r"^learner: traced names rat, which is no field"),
        (PPO, r"^learner: give an instance, PPO\(\), not the class"),
    ],
)
def test_mistakes_are_named(learner, message):
    with pytest.raises(ValueError, match=message):
        inspect.unwrap(train)(MAZE, ORDER, learner, updates=2)


def test_without_traced_fields_variants_must_be_the_same():
    with pytest.raises(ValueError, match=r"^variants: learners must be the same$"):
        train_many(MAZE, [(ORDER, Still()), (ORDER, Still(batch=2))], updates=2)


def test_a_setting_that_no_file_holds_is_named(tmp_path):
    learner = Still(table=np.ones(2))
    found = train(MAZE, ORDER, learner, seeds=1, updates=2)
    with pytest.raises(ValueError, match=r"^learner: its table cannot be saved \(.*ndarray"):
        found.save(tmp_path / "own")
    with pytest.raises(ValueError, match=r"^learner: its table cannot be saved"):
        train(MAZE, ORDER, learner, seeds=1, updates=10**9, checkpoint=tmp_path / "own")


@dataclass(frozen=True)
class Settings:
    batch: int = 4
    rate: float = number(0.5, 0, 1)
    criterion: Literal["expected", "episode"] = "expected"

    def __post_init__(self):
        check_settings(self)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch": -3}, r"^batch: must be a whole number of at least 1, got -3"),
        ({"batch": True}, r"^batch: must be a whole number of at least 1, got True"),
        ({"rate": "x"}, r"^rate: must be a number, got 'x'"),
        ({"rate": np.array([0.5])}, r"^rate: must be a number, got array"),
        ({"criterion": np.array(["expected"])}, r"^criterion: expected one of expected, episode"),
    ],
)
def test_types_that_are_written_as_text_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        Settings(**settings)


def test_an_array_without_axes_is_a_number():
    assert type(Settings(rate=np.array(0.25)).rate) is float  # pyright: ignore[reportArgumentType]
    assert Settings(batch=np.int64(3)) == Settings(batch=3)  # pyright: ignore[reportArgumentType]
