"""Thresholds in the user's units: costs, amounts per step."""

import math
import pickle
from typing import Any

import jax
import numpy as np
import pytest

import lexicone as lx
from lexicone._base.levels import level_for_file, level_from_file, level_from_text
from lexicone.order import Level
from tests.helpers.trainings import Still

MAZE = lx.tasks.maze("extended", objectives="path")
SAID = lx.Order({"time": lx.at_most(6), "tiles+goal": lx.lowest()})
PER_STEP = lx.Order([lx.at_least(0.5, per_step=True), lx.at_most(20), lx.lowest(per_step=True)])


def wrong(function: Any, *given: Any, **options: Any) -> Any:
    """A call that type checkers would refuse."""
    return function(*given, **options)


def test_a_cost_is_minus_the_value():
    assert SAID.thresholds == (-6.0,)
    found, plain = lx.solve(MAZE, SAID), lx.solve(MAZE, {"time": -6, "tiles+goal": None})
    np.testing.assert_array_equal(found.values, plain.values)
    np.testing.assert_allclose(found.order.in_units(found.values), [6, 7 / 3])
    assert "≤ 6" in str(found)
    assert "0.8333 of tiles+goal" in str(found)


def test_a_mean_per_step_is_a_total_of_the_discounted_steps():
    assert PER_STEP.at_gamma(0.75).thresholds == (2.0, -20.0)
    np.testing.assert_allclose(PER_STEP.at_gamma(0.75).in_units([2.0, -8.0, -6.0]), [0.5, 8, 1.5])
    twice = PER_STEP.at_gamma(0.75).at_gamma(0.5)
    assert twice.thresholds == (1.0, -20.0)
    within = lx.Order([lx.at_least(0.5, per_step=True, horizon=2)])
    assert within.thresholds == within.at_gamma(1.0).thresholds == (1.0,)
    assert within.at_gamma(0.5).thresholds == (0.75,)


def test_per_step_without_a_discount_needs_a_horizon():
    for call in (
        lambda: PER_STEP.thresholds,
        lambda: lx.solve(MAZE, [lx.at_least(0.5, per_step=True)]),
        lambda: lx.solve(MAZE, [-3, lx.lowest(per_step=True)]),
        lambda: lx.train(MAZE, [lx.at_least(0.5, per_step=True)], Still(), seeds=1, updates=1),
    ):
        with pytest.raises(ValueError, match=r"^order: objective . is said per step, and without"):
            call()


def test_prices_are_of_the_units():
    mdp = lx.tasks.grid(5)
    plain = lx.solve(mdp, [-0.1, -1.0], gamma=0.9)
    order = lx.Order([lx.at_most(0.01, per_step=True), lx.at_most(1), lx.lowest(per_step=True)])
    said = lx.solve(mdp, order, gamma=0.9)
    np.testing.assert_allclose(said.values, plain.values)
    shown = said.order.prices_in_units(said.prices)
    assert said.prices[0, 2] > 0
    np.testing.assert_allclose(shown[0, 2], said.prices[0, 2])  # per step of both
    np.testing.assert_allclose(shown[1, 2], said.prices[1, 2] / 10)
    np.testing.assert_allclose(shown[0, 1], said.prices[0, 1] * 10)


def test_sensitivity_speaks_the_units_of_the_order():
    found = lx.sensitivity(MAZE, SAID, "time", thresholds=[lx.at_most(5), -6.0])
    np.testing.assert_array_equal(found.thresholds, [-5, -6])
    lines = str(found).splitlines()
    assert lines[1].split() == ["≤", "5", "met", "5", "3.16667", "0.8333", "of", "tiles+goal"]
    assert lines[2].split()[:4] == ["≤", "6", "met", "6"]


def test_orders_stay_hashable_and_work_under_jit():
    same = lx.Order({"time": lx.at_most(6), "tiles+goal": lx.lowest})
    assert hash(same) == hash(SAID)
    assert same == SAID
    assert pickle.loads(pickle.dumps(SAID)) == SAID
    assert lx.Order({"time": -6, "tiles+goal": None}) != SAID  # shown otherwise
    assert jax.jit(SAID.better)(np.array([-5.0, 1.0]), np.array([-7.0, 2.0]))
    np.testing.assert_allclose(jax.jit(SAID.in_units)(np.array([-5.0, 1.0])), [5, -1])


@pytest.mark.parametrize(
    "order",
    [
        SAID,
        PER_STEP,
        lx.Order([-3.0]),
        lx.Order([]),
        lx.Order([lx.lowest(), None]),
        lx.Order([math.inf, lx.at_most(2, per_step=True, horizon=5), lx.lowest()]),
        lx.Order({"a": 1, "b": None}, break_ties=True),
    ],
)
def test_an_order_is_written_as_it_is_read(order):
    known = {
        name: getattr(lx, name) for name in ("Order", "at_least", "at_most", "highest", "lowest")
    }
    assert eval(repr(order), {**known, "inf": math.inf}) == order


def test_a_file_keeps_the_units(tmp_path):
    trained = lx.train(MAZE, SAID, Still(), seeds=1, updates=1)
    trained.save(tmp_path / "file")
    assert lx.load(tmp_path / "file", Still()).order == SAID
    for level in (*PER_STEP.at_gamma(0.5).levels, lx.at_most(math.inf)):
        assert level_from_file(level_for_file(level)) == level


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("-3", Level(-3.0)),
        ("-inf", Level(-math.inf)),
        ("at-most:200", lx.at_most(200)),
        ("at-least:0.95/step", lx.at_least(0.95, per_step=True)),
        ("2/step", lx.at_least(2, per_step=True)),
        ("lowest", lx.lowest()),
        ("highest/step", lx.highest(per_step=True)),
    ],
)
def test_the_command_line_reads(text, level):
    assert level_from_text(text) == level


@pytest.mark.parametrize("text", ["", "x", "at-mos:3", "at-most:", ":3", "3/day", "at-most:x"])
def test_the_command_line_refuses(text):
    with pytest.raises(ValueError, match=r"^expected a number"):
        level_from_text(text)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wrong(lx.at_most, "x"), "^amount: must be a number, got 'x'"),
        (lambda: wrong(lx.at_most, None), "^amount: must be a number, got None"),
        (lambda: lx.at_least(math.nan), "^amount: "),
        (lambda: wrong(lx.at_least, 1, per_step=3), "^per_step: must be True or False, got 3"),
        (lambda: lx.at_least(1, horizon=3), "^horizon: is for amounts per step"),
        (lambda: lx.lowest(per_step=True, horizon=0), "^horizon: must be"),
        (
            lambda: lx.Order({"a": 1, "b": lx.at_most(3)}),
            "^thresholds: the last objective 'b' is open",
        ),
        (lambda: lx.Order([None, 1.0]), r"^thresholds\[0\]: only the last"),
        (lambda: wrong(lx.Order, ["3"]), r"^thresholds\[0\]: expected a number, got '3'"),
    ],
)
def test_mistakes_are_named(call, message, monkeypatch):
    import jaxtyping

    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(ValueError, match=message):
        call()
