"""Models with labels and properties as an `MDP`: values worked out by hand."""

import numpy as np
import pytest

import lexicone as lx
from lexicone.models import _product, _surely
from tests.helpers.checker_files import HOME, ROBOT, TIME, write_drn

pytestmark = pytest.mark.usefixtures("without_shape_checks")


def solve(path, objectives, thresholds=(), **options):
    """The solution, with values in the properties' own terms."""
    mdp = lx.MDP.from_drn(path, objectives, **options)
    order = lx.order_of(objectives, thresholds)
    found = lx.solve(mdp, order, gamma=0.5 if options else 1.0)
    return found, np.asarray(order.in_units(found.values))


@pytest.mark.parametrize(
    ("threshold", "values"),
    [
        (1.0, [1, 11.25]),  # to walk takes 3/0.8 for each room
        (0.9, [0.9, 7.75]),  # to run in the first room: 1 + 0.9·7.5
        (0.85, [0.85, 6.1875]),  # 4/9 of that, 5/9 of running twice: (0.81, 1 + 0.9 + 0.81·3.75)
        (0.2, [0.729, 2.71]),  # always to run
    ],
)
def test_the_robot(threshold, values):
    found, shown = solve(ROBOT, [HOME, TIME], [threshold])
    assert found.status == "optimal"
    np.testing.assert_allclose(shown, values, rtol=1e-7)


@pytest.mark.parametrize(
    ("asked", "value"),
    [
        ('Pmin=? [F "home"]', 0.729),
        ('Pmin=? [F "broken"]', 0.0),
        ('Pmax=? [F "broken"]', 0.271),
        ('Pmax=? [G !"broken"]', 1.0),
        ('Pmin=? [G !"broken"]', 0.729),
        ('Pmax=? [G "init"]', 0.0),
        ('Pmax=? [F "init"]', 1.0),
        ('Pmax=? [!"init" U "home"]', 0.0),
        ('Pmin=? [!"broken" U "home"]', 0.729),
        ("Pmax=? [F false]", 0.0),
        ("Pmin=? [G true]", 1.0),
        ("Rmin=? [C]", 2.71),
        ('R{"time"}max=? [C]', 11.25),
        ('Rmax=? [F "home" | "broken"]', 11.25),
        ('Rmin=? [F "home"]', 11.25),  # who runs may never come home
        ('Rmin=? [F "init"]', 0.0),
    ],
)
def test_one_property_of_the_robot(asked, value):
    found, shown = solve(ROBOT, [asked])
    assert found.status == "optimal"
    np.testing.assert_allclose(shown, [value], rtol=1e-7, atol=1e-9)


def test_goals_that_were_reached_are_remembered(tmp_path):
    """From the crossing one comes to the left room or the right one, and back: both goals can be had, one after the
    other, and the visit to each is paid once for its own property."""
    path = write_drn(
        tmp_path / "rooms.drn",
        ("init", 0, [("left", 1, {1: 1}), ("right", 1, {2: 1}), ("stop", 0, {3: 1})]),
        ("left", 0, [("back", 1, {0: 1})]),
        ("right", 0, [("back", 1, {0: 1})]),
        ("stop", 0, [("loop", 0, {3: 1})]),
    )
    both = ['Pmax=? [F "left"]', 'Pmax=? [F "right"]', "Rmin=? [C]"]
    shown = solve(path, both, [1, 1])[1]
    np.testing.assert_allclose(
        shown, [1, 1, 4]
    )  # there and back again, then there, and back to stop
    shown = solve(path, both, [1, 0.5])[1]
    np.testing.assert_allclose(shown, [1, 0.5, 3])
    ordered = ['Pmax=? [!"left" U "right"]', 'Pmax=? [!"right" U "left"]', "Rmin=? [C]"]
    shown = solve(path, ordered, [0.25, 1])[1]
    np.testing.assert_allclose(shown, [0.25, 0.75, 2])
    mdp = lx.MDP.from_drn(path, both)
    assert (
        mdp.num_states == 9
    )  # one with all open, two and two with one goal reached, three with both, the end
    assert mdp.state_names is not None
    assert "0 [1, 3 open]" in mdp.state_names
    assert "0 [1, 2, 3 open]" in mdp.state_names


def test_rewards_of_states_choices_and_goals(tmp_path):
    """The goal's own reward is not paid, that of the state before it is."""
    path = write_drn(
        tmp_path / "chain.drn",
        ("init", 2, [("go", 1, {1: 1})]),
        ("half", 10, [("go", 0.5, {2: 0.5, 1: 0.5})]),
        ("goal", 100, [("loop", 0, {3: 1})]),
        ("", 0, [("loop", 0, {3: 1})]),
    )
    for asked, value in {
        'Rmin=? [F "half"]': 3,
        'Rmin=? [F "goal"]': 24,
        "Rmin=? [C]": 124,
        'Rmax=? [F "goal"]': 24,
    }.items():
        np.testing.assert_allclose(solve(path, [asked])[1], [value])


class TestUntilAGoal:
    """With loops that cost nothing on the way: to go round for ever is no way out of paying."""

    @pytest.fixture
    def loops(self, tmp_path):
        return write_drn(
            tmp_path / "loops.drn",
            ("init", 0, [("wait", 0, {0: 1}), ("turn", 0, {1: 1}), ("pay", 5, {2: 1})]),
            ("", 0, [("turn", 0, {0: 0.5, 1: 0.5}), ("pay", 3, {2: 0.5, 1: 0.5})]),
            ("goal", 0, [("loop", 0, {2: 1})]),
        )

    def test_to_wait_is_not_to_arrive(self, loops):
        found, shown = solve(loops, ['Rmin=? [F "goal"]'])
        assert found.status == "optimal"
        np.testing.assert_allclose(shown, [5])

    def test_in_total_it_costs_nothing(self, loops):
        np.testing.assert_allclose(solve(loops, ["Rmin=? [C]"])[1], [0], atol=1e-9)

    def test_without_potentials_it_would_be_taken_for_an_end(self, loops, monkeypatch):
        plain = _surely.until_goal

        def without(*arguments):
            found = plain(*arguments)
            return found._replace(potential=0 * found.potential)

        monkeypatch.setattr(_product, "until_goal", without)
        np.testing.assert_allclose(solve(loops, ['Rmin=? [F "goal"]'])[1], [0], atol=1e-9)

    def test_two_ways_out_of_a_loop_are_mixed(self, tmp_path):
        path = write_drn(
            tmp_path / "ways.drn",
            ("init", 0, [("turn", 0, {1: 1}), ("cheap", 1, {2: 1})]),
            ("", 0, [("turn", 0, {0: 1}), ("dear", 9, {3: 1})]),
            ("goal", 0, [("loop", 0, {2: 1})]),
            ("goal prize", 0, [("loop", 0, {3: 1})]),
        )
        found, shown = solve(path, ['Pmax=? [F "prize"]', 'Rmin=? [F "goal"]'], [0.25])
        assert found.status == "optimal"
        np.testing.assert_allclose(shown, [0.25, 3.0])  # a quarter of 9, three quarters of 1

    def test_a_goal_that_may_be_missed_costs_without_end(self):
        found, shown = solve(ROBOT, ['Pmax=? [F "broken"]', 'Rmin=? [F "home"]'], [0.1])
        assert found.status == "divergent"
        assert shown[1] == np.inf

    def test_a_threshold_on_reaching_it_does_not_make_it_cheaper(self, tmp_path):
        """Storm's multi(…) takes the goal as missed in a quarter of all cases, and pays three quarters."""
        path = write_drn(
            tmp_path / "stop.drn",
            ("init", 0, [("go", 1, {1: 0.8, 0: 0.2}), ("stop", 0, {2: 1})]),
            ("goal", 0, [("loop", 0, {1: 1})]),
            ("", 0, [("loop", 0, {2: 1})]),
        )
        found, shown = solve(path, ['Pmax=? [F "goal"]', 'Rmin=? [F "goal"]'], [0.75])
        assert found.status == "optimal"
        np.testing.assert_allclose(shown, [1, 1.25])
        shown = solve(path, ['Pmax=? [F "goal"]', "Rmin=? [C]"], [0.75])[1]
        np.testing.assert_allclose(shown, [0.75, 0.9375])

    def test_with_a_discount_it_need_not_be_reached(self, loops):
        shown = solve(loops, ['Rmin=? [F "goal"]'], discounted=True)[1]
        np.testing.assert_allclose(shown, [0], atol=1e-9)


def test_names_and_factors(tmp_path):
    mdp = lx.MDP.from_drn(ROBOT, {"home": HOME, "time": TIME})
    assert mdp.objective_names == ("home", "time")
    assert mdp.action_names == ("run", "walk", "rest")
    assert mdp.is_sparse
    twice = write_drn(
        tmp_path / "twice.drn",
        ("init", 0, [("go", 1, {1: 1}), ("go", 2, {1: 1})]),
        ("goal", 0, [("go", 0, {1: 1})]),
    )
    mdp = lx.MDP.from_drn(twice, ['Rmin=? [F "goal"]'])
    assert mdp.action_names is None  # two of the same name in one state: they are numbered
    np.testing.assert_allclose(lx.solve(mdp, []).values, [-1])


def test_what_a_model_does_not_have(tmp_path):
    with pytest.raises(
        ValueError, match=r'^objectives\[0\]: there is no label "hme"; there are "init"'
    ):
        lx.MDP.from_drn(ROBOT, ['Pmax=? [F "hme"]'])
    with pytest.raises(
        ValueError, match=r'^objectives\[1\]: there are no rewards "gold"; there are "time"'
    ):
        lx.MDP.from_drn(ROBOT, [HOME, 'R{"gold"}max=? [C]'])
    path = write_drn(
        tmp_path / "two.drn",
        ("init", (1, 0), [("go", (0, 1), {1: 1})]),
        ("goal", (0, 0), [("go", (0, -1), {1: 1})]),
        rewards=("a", "b"),
    )
    with pytest.raises(ValueError, match=r"^objectives\[0\]: say which rewards"):
        lx.MDP.from_drn(path, ["Rmax=? [C]"])
    with pytest.raises(
        ValueError, match=r"^objectives\[0\]: the rewards of .* have both signs, from -1 to 1"
    ):
        lx.MDP.from_drn(path, ['R{"b"}max=? [C]'])
    assert lx.MDP.from_drn(path, ['R{"b"}max=? [C]'], discounted=True).num_states == 3
