import math
import re

import pytest

from lexicone._base.checks import check_kind, check_range, check_whole


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


def test_the_ends_belong_to_a_range():
    check_range("size", 0, 0, 1)
    check_range("size", 1.0, 0, 1)
    check_range("size", math.inf, 0)


def test_kinds_and_whole_numbers():
    check_kind("ties", "first", ["first", "random"])
    with pytest.raises(
        ValueError, match=r"^ties: expected one of \('first', 'random'\), got 'last'$"
    ):
        check_kind("ties", "last", ["first", "random"])
    check_whole(steps=1, seeds=3)
    check_whole(0, steps=0)
    with pytest.raises(
        ValueError, match=r"^seeds: must be a whole number of at least 1, got 0\.5$"
    ):
        check_whole(steps=1, seeds=0.5)
