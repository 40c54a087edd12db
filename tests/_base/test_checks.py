import math
import re

import jax.numpy as jnp
import numpy as np
import pytest

from lexicone._base.checks import check_kind, check_range, check_seed, check_whole


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
