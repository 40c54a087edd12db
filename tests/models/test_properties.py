"""Objectives as PRISM writes them."""

import numpy as np
import pytest

import lexicone as lx
from lexicone.models._properties import read_properties, read_property

LABELS = {
    "a": np.array([True, True, False, False]),
    "b": np.array([True, False, True, False]),
}


@pytest.mark.parametrize(
    ("formula", "holds"),
    [
        ('"a"', [1, 1, 0, 0]),
        ('!"a"', [0, 0, 1, 1]),
        ('"a" & "b"', [1, 0, 0, 0]),
        ('"a"|"b"', [1, 1, 1, 0]),
        ('!"a" & "b" | "a" & !"b"', [0, 1, 1, 0]),  # & binds more tightly than |
        ('!("a" & "b")', [0, 1, 1, 1]),
        ('!!"a" & true', [1, 1, 0, 0]),
        ("false", [0, 0, 0, 0]),
    ],
)
def test_formulas(formula, holds):
    asked = read_property(f"Pmax=? [F {formula}]")
    assert asked.right is not None
    np.testing.assert_array_equal(asked.right(LABELS), np.array(holds, dtype=bool))


@pytest.mark.parametrize(
    ("text", "kind", "maximise", "bound", "path", "reward"),
    [
        ('Pmax=? [F "a"]', "P", True, None, "F", None),
        ('P min =? [ G "a" ]', "P", False, None, "G", None),
        ('P>=0.9 ["a" U "b"]', "P", True, 0.9, "U", None),
        ('P<=1e-3 [true U "b"]', "P", False, 1e-3, "U", None),
        ('R{"cost"}min=? [F "a"]', "R", False, None, "F", "cost"),
        ("Rmax=? [C]", "R", True, None, "C", None),
        ('R{"my cost"}<=10 [ C ]', "R", False, 10.0, "C", "my cost"),
    ],
)
def test_properties(text, kind, maximise, bound, path, reward):
    asked = read_property(text)
    found = (asked.kind, asked.maximise, asked.bound, asked.path, asked.reward)
    assert found == (kind, maximise, bound, path, reward)


@pytest.mark.parametrize(
    ("text", "place", "why"),
    [
        ("Pmax=? [F goal]", "at character 11 (goal)", 'labels are in quotes: "goal"'),
        ('Qmax=? [F "a"]', "at character 1 (Qmax)", "expected P or R"),
        ('P=? [F "a"]', "at character 2 (=?)", "expected max=?, min=?, >= or <="),
        ('P>0.5 [F "a"]', "at character 2 (>)", "write >= or <="),
        ('Pmax=? [F "a"', "at its end", "expected ]"),
        ('Pmax=? [F<=5 "a"]', "at character 10 (<=)", "bounds on steps"),
        ("Rmin=? [C<=5]", "at character 10 (<=)", "bounds on steps"),
        ('Pmax=? [X "a"]', "at character 9 (X)", "the next step is not served"),
        ("Rmax=? [S]", "at character 9 (S)", "the long run is not served"),
        ('Pmax=? ["a"]', "at character 12 (])", "expected U"),
        ('Pmax=? [F "a" &]', "at character 16 (])", "expected a label"),
        ('Pmax=? [F "a"] + 1', "at character 16 (+)", "expected nothing more"),
        ('R{cost}min=? [F "a"]', "at character 3 (cost)", "in quotes"),
        ("", "at its end", "expected P or R"),
    ],
)
def test_what_cannot_be_read_says_where(text, place, why):
    with pytest.raises(ValueError, match=r"^objectives: cannot read") as error:
        read_property(text)
    assert place in str(error.value)
    assert why in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_thresholds_are_in_the_terms_of_properties():
    objectives = ['R{"cost"}min=? [F "a"]', 'Pmax=? [F "a"]', "Rmin=? [C]"]
    order = lx.order_of(objectives, [10, 0.5])
    assert order.thresholds == (-10.0, 0.5)
    assert order.names == tuple(objectives)
    np.testing.assert_allclose(order.in_units([-4.0, 0.7, -3.0]), [4.0, 0.7, 3.0])
    assert lx.order_of(objectives, [lx.at_most(10), lx.highest]).thresholds == (-10.0, np.inf)
    own = {"cost": 'R{"cost"}<=10 [F "a"]', "chance": 'P>=0.5 [F "a"]', "rest": "Rmin=? [C]"}
    assert lx.order_of(own).thresholds == (-10.0, 0.5)
    assert lx.order_of({"one": "Rmin=? [C]"}).levels[0].sign == -1


@pytest.mark.parametrize(
    ("objectives", "thresholds", "message"),
    [
        ("Rmin=? [C]", (), "objectives: expected a list"),
        ([], (), "objectives: there must be at least one"),
        ([3], (), "objectives[0]: expected a property as text"),
        (["Rmin=? [C]", "Rmin=? [C]"], (1,), "objectives[1]: Rmin=? [C] is listed twice"),
        (["Rmin=? [C]", "Rmax=? [C]"], (), "thresholds[0]: Rmin=? [C] needs one"),
        (["Rmin=? [C]", "Rmax=? [C]"], (1, 2), "thresholds: 2 objectives take 1, got 2"),
        (["Rmin<=3 [C]", "Rmax=? [C]"], (1,), "objectives[0]: cannot read"),
        (["R<=3 [C]", "Rmax=? [C]"], (1,), "thresholds[0]: R<=3 [C] brings its own"),
        (["Rmax=? [C]", "R<=3 [C]"], (1,), "objectives[1]: the last objective has no threshold"),
        (["Rmax=? [C]", "Rmin=? [C]"], ("x",), "thresholds[0]: expected a number"),
        (["Rmax=? [C]", "Rmin=? [C]"], 3, "thresholds: expected a list of numbers"),
        (["Rmax=? [C]", "Rmin=? [C]"], np.array(3), "thresholds: expected a list of numbers"),
        (["Rmax=? [C]", "Rmin=? [C]"], (lx.at_most(3),), "thresholds[0]: ≤ 3 does not suit"),
        (["Rmin=? [C]", "Rmax=? [C]"], (lx.highest,), "thresholds[0]: highest does not suit"),
    ],
)
def test_orders_that_cannot_be(objectives, thresholds, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        lx.order_of(objectives, thresholds)
    assert str(error.value).startswith(message)


def test_there_can_be_only_so_many():
    with pytest.raises(ValueError, match="objectives: at most 16"):
        read_properties([f'R{{"{n}"}}min=? [C]' for n in range(17)])
