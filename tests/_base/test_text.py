import json

import numpy as np
import pytest

from lexicone._base.text import as_typed, plain_numbers, read_assignment, vector_text


def test_vectors():
    assert vector_text([1.0, 0.123456, -0.0]) == "(1, 0.1235, 0)"
    assert vector_text(np.array([1.0, 2.0]), 2, brackets=False) == "1, 2"
    assert vector_text(["inf", np.inf, -1e-5]) == "(inf, inf, -1e-05)"
    assert vector_text([]) == "()"


def test_json_gets_words_for_what_is_no_number():
    found = plain_numbers(np.array([0.5, np.inf, -np.inf, np.nan]))
    assert found == [0.5, "inf", "-inf", "nan"]
    assert json.loads(json.dumps(found, allow_nan=False)) == found


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("slip=0.1", ("slip", 0.1)),
        ("tie-break=first", ("tie_break", "first")),
        ("costs=('toll','hours')", ("costs", ("toll", "hours"))),
        ("name=a=b", ("name", "a=b")),
        ("name=", ("name", "")),
        ("=3", None),
        ("name", None),
    ],
)
def test_assignments(given, read):
    assert read_assignment(given) == read


def test_arguments_of_a_c_locale_are_read_as_they_were_typed():
    unread = "cost ≥ [/b]".encode().decode("ascii", "surrogateescape")
    assert as_typed(unread) == as_typed("cost ≥ [/b]") == "cost ≥ [/b]"
    assert as_typed(b"\xff".decode("ascii", "surrogateescape")) == "\N{REPLACEMENT CHARACTER}"
