import math
import re
from fractions import Fraction
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lexicone._base.arrays import as_numbers
from lexicone._base.checks import (
    as_texts,
    check_flags,
    check_function,
    check_index,
    check_kind,
    check_mapping,
    check_path,
    check_range,
    check_seed,
    check_text,
    check_type,
    check_whole,
    is_listing,
    is_number,
)


@pytest.mark.parametrize(
    ("value", "limits", "words"),
    [
        (-1, {"low": 0}, "at least 0, got -1"),
        (2.5, {"low": 0, "high": 1}, "between 0 and 1, got 2.5"),
        (0.0, {"low": 0, "above": True}, "positive, got 0.0"),
        (90.0, {"low": 0, "high": 90, "below": True}, "at least 0 and below 90, got 90.0"),
        (math.inf, {"high": math.inf, "below": True}, "finite, got inf"),
        (math.nan, {}, "a number, got nan"),
    ],
)
def test_what_is_out_of_range_is_named(value, limits, words):
    with pytest.raises(ValueError, match=re.escape(f"size: must be {words}")):
        check_range("size", value, **limits)


@pytest.mark.parametrize("value", ["1", None, [1], 1j, True, np.array([1.0]), np.array("a")])
def test_a_range_is_of_numbers(value):
    with pytest.raises(ValueError, match=r"^size: must be a number, got "):
        check_range("size", value, 0)
    with pytest.raises(ValueError, match=r"^size: must be a whole number, got "):
        check_range("size", value, 0, whole=True)


def test_whole_numbers_in_a_range():
    with pytest.raises(ValueError, match=r"^size: must be a whole number, got 2\.5$"):
        check_range("size", 2.5, 1, whole=True)
    with pytest.raises(ValueError, match=r"^size: must be at least 1, got 0$"):
        check_range("size", 0, 1, whole=True)
    check_range("size", np.int64(2), 1, whole=True)


@pytest.mark.parametrize("value", [np.float32(0.5), np.array(0.5), jnp.float32(0.5)])
def test_numbers_of_arrays_are_numbers(value):
    check_range("size", value, 0, 1)
    with pytest.raises(ValueError, match=r"^size: must be at least 1"):
        check_range("size", value, 1)


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, "a", None])
def test_seeds_have_32_bits(seed):
    check_seed(2**32 - 1)
    with pytest.raises(ValueError, match=r"^seed: must be a"):
        check_seed(seed)


def test_the_ends_belong_to_a_range():
    check_range("size", 0, 0, 1)
    check_range("size", 1.0, 0, 1)
    check_range("size", math.inf, 0)


def test_kinds_and_whole_numbers():
    check_kind("ties", "first", ["first", "random"])
    with pytest.raises(ValueError, match=r"^ties: expected one of first, random, got 'last'$"):
        check_kind("ties", "last", ["first", "random"])
    with pytest.raises(ValueError, match=r"^ties: expected one of first, random, got \['first'\]$"):
        check_kind("ties", ["first"], ["first", "random"])
    check_whole(steps=1, seeds=3)
    check_whole(0, steps=0)
    with pytest.raises(
        ValueError, match=r"^seeds: must be a whole number of at least 1, got 0\.5$"
    ):
        check_whole(steps=1, seeds=0.5)
    with pytest.raises(ValueError, match=r"^seeds: must be a whole number .* got True$"):
        check_whole(seeds=True)


def test_what_arrays_cannot_hold_is_no_number():
    assert is_number(2**64)
    assert not is_number(10**400)
    assert not is_number(Fraction(1, 2))
    assert not is_number(jax.random.key(0))
    with pytest.raises(ValueError, match=r"^size: must be a whole number"):
        check_whole(size=10**400)


@pytest.mark.parametrize(
    ("check", "says"),
    [
        (lambda: check_index("state", 3, 3), "expected a whole number from 0 to 2, got 3"),
        (lambda: check_index("state", True, 3), "expected a whole number"),
        (lambda: check_flags(state=1), "must be True or False, got 1"),
        (lambda: check_function("state", 1), "expected a function, got 1"),
        (lambda: check_text("state", b"a"), "expected text, got b'a'"),
        (lambda: check_text("state", None), "expected text, got None"),
        (lambda: check_type("state", int, int, "a number"), "expected a number, got the class int"),
        (lambda: check_type("state", "a", int, "a number"), "expected a number, got str"),
        (
            lambda: check_mapping("state", [1], "a to b"),
            r"expected a mapping from a to b, got \[1\]",
        ),
        (lambda: check_mapping("state", {}, "a to b"), "there must be at least one"),
        (lambda: check_mapping("state", {1: 2}, "a to b"), "expected text, got 1"),
        (lambda: as_texts("state", 5), "expected a list of names, got 5"),
        (lambda: as_texts("state", np.array("a")), "expected a list of names"),
        (lambda: as_texts("state", ["a", 1]), "expected a list of names, got 1 among them"),
        (lambda: as_texts("state", ["a"], 2), "expected 2 names, got 1"),
        (lambda: as_numbers("state", "1"), "expected numbers in a regular array"),
        (lambda: as_numbers("state", [[1], [1, 2]]), "expected numbers in a regular array"),
        (lambda: as_numbers("state", [1j]), "expected numbers in a regular array"),
        (lambda: as_numbers("state", [1.0, 2.0], (3,)), r"expected shape \[3\], got \(2,\)"),
        (lambda: as_numbers("state", np.zeros((0, 2)), (None, 2)), r"expected shape \[N, 2\]"),
        (lambda: as_numbers("state", [np.nan], finite=True), "contains NaN or infinity"),
    ],
)
def test_each_check_names_the_argument(check, says):
    with pytest.raises(ValueError, match=f"^state: {says}"):
        check()


def test_what_is_right_passes():
    check_index("state", np.int64(2), 3)
    check_flags(one=True, two=np.bool_(False))
    check_function("f", None, optional=True)
    check_text("title", None, optional=True)
    check_type("size", 1, int, "a number")
    assert as_texts("names", (n for n in "ab"), 2) == ("a", "b")
    assert as_numbers("rows", [[1, True]], (None, 2)).tolist() == [[1.0, 1.0]]
    assert [is_listing(v) for v in ([1], {1}, np.ones(1), range(2))] == [True] * 4
    assert [is_listing(v) for v in ("a", b"a", np.array(1), 5, None)] == [False] * 5


@pytest.mark.parametrize("path", [None, 3, b"bytes", "", "a\0b", ["a"], 1.5])
def test_paths_are_texts_or_paths(path):
    check_path("path", Path("a"))
    with pytest.raises(ValueError, match=r"^path: expected a path"):
        check_path("path", path)
