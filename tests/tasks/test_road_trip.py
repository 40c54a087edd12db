import numpy as np
import pytest

from lexicone.tasks import (
    road_trip,
)
from tests.helpers.paths import front, simple_paths


def test_the_best_road_trip_within_a_budget():
    mdp = road_trip()
    trips = [tuple(total) for total, _, _ in simple_paths(mdp)]

    def best(budget):
        return max(pleasure for toll, pleasure in trips if toll >= -budget)

    assert [best(b) for b in (2, 5, 6, 10, 11)] == [2, 2, 5, 5, 9]
    hours = road_trip(costs=("toll", "hours"))
    assert hours.objective_names == ("toll", "hours", "pleasure")
    assert front((t, p) for t, _, p in (total for total, _, _ in simple_paths(hours))) == front(
        trips
    )


def test_roads_from_a_file(tmp_path):
    path = tmp_path / "roads.csv"
    path.write_text("from, to, toll, pleasure\nHome, Sea, 3, 4\nHome, Inn, 1,\nInn, Sea, 1, 4\n")
    mdp = road_trip(path)
    assert mdp.state_names == ("Home", "Sea", "Inn")
    assert sorted({tuple(total) for total, _, _ in simple_paths(mdp)}) == [(-3, 4), (-2, 4)]
    np.testing.assert_array_equal(
        mdp.next_state[2], [[1], [1]]
    )  # Inn has one road for both actions
    ended = road_trip(path, destinations=["Sea", "Inn"], start="Home")
    assert ended.terminal.tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("from,to\na,b\n", {}, r"^roads: r\.csv: line 1: has no column toll"),
        ("from,to,toll\na,b,x\n", {}, r"^roads: r\.csv: line 2: toll 'x' is not a finite number"),
        ("from,to,toll\na,b,1\na,,1\n", {}, r"line 3: from or to is empty"),
        ("from,to,toll\n", {}, r"lists no road"),
        ("from,to,toll\na,b,1\n", {}, r"^destinations: no city has positive pleasure"),
        (
            "from,to,toll,pleasure\na,b,1,2\nb,c,1,0\n",
            {"start": "z"},
            r"^start: there is no city 'z'",
        ),
        ("from,to,toll\na,b,1\n", {"destinations": ["a"]}, r"^roads: no road leads out of 'b'"),
        (
            "from,to,toll,pleasure\na,b,1,2\nc,b,1,3\n",
            {},
            r"^roads: 'b' has pleasure 2 in one line",
        ),
        (
            "from,to,toll,pleasure\na,d,1,0\nd,a,1,0\nc,b,1,3\n",
            {},
            r"^destinations: none can be reached from 'a'",
        ),
        ("from,to,toll\na,b,1\n", {"costs": ()}, r"^costs: expected different names"),
    ],
)
def test_bad_roads(tmp_path, text, options, message):
    path = tmp_path / "r.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        road_trip(path, **options)


def test_a_missing_file_of_roads(tmp_path):
    with pytest.raises(ValueError, match=r"^roads: there is no file"):
        road_trip(tmp_path / "none.csv")
