"""Tasks that others published: Space Traders, deep sea treasure, resource gathering, the fruit tree."""

import importlib
import itertools
import warnings

import numpy as np
import pytest
from scipy.sparse import csgraph

from lexicone.models._evaluation import evaluate, state_values
from lexicone.models._mdp import MDP
from lexicone.plots._text import sketch
from lexicone.tasks import (
    deep_sea_treasure,
    fruit_tree,
    maze,
    resource_gathering,
    space_traders,
)
from lexicone.tasks._fruit_tree import fruits_of
from tests.helpers.names import state_name
from tests.helpers.paths import front


def theirs(name, **options):
    """An environment of MO-Gymnasium without limits on length; its imports and spaces warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("mo_gymnasium").make(name, **options).unwrapped


def test_the_nine_policies_of_space_traders():
    expected = {
        "II": (1, -22),
        "ID": (0.9, -19.9),
        "DI": (0.9, -14.5),
        "IT": (0.85, -12),
        "TI": (0.85, -8.5),
        "DD": (0.81, -12.61),
        "DT": (0.765, -5.5),
        "TD": (0.765, -6.715),
        "TT": (0.7225, 0),
    }
    mdp = space_traders()
    for pair in itertools.product(range(3), repeat=2):
        name = "".join((mdp.action_names or "???")[a][0] for a in pair)
        np.testing.assert_allclose(evaluate(mdp, [*pair, 0, 0], 1.0), expected[name], atol=1e-12)


def hypervolume(points, reference):
    """Of a front of two objectives: the area between it and the reference."""
    area, level = 0.0, reference[1]
    for x, y in sorted(points, reverse=True):
        area += (x - reference[0]) * max(y - level, 0)
        level = max(level, y)
    return area


def treasure_front(mdp):
    steps = csgraph.shortest_path(mdp.graph, indices=int(np.argmax(mdp.initial)), unweighted=True)
    ends = np.flatnonzero(mdp.terminal)
    worth = [mdp.reward[..., 0][mdp.next_state == s].max() for s in ends]
    return front(zip(worth, -steps[ends], strict=True))


@pytest.mark.parametrize("sea", ["concave", "mirrored"])
def test_the_hypervolume_of_deep_sea_treasure(sea):
    points = treasure_front(deep_sea_treasure(sea))
    assert [worth for worth, _ in points] == [1, 2, 3, 5, 8, 16, 24, 50, 74, 124]
    assert hypervolume(points, (0, -25)) == 1155
    assert hypervolume(points, (0, -50)) == 4255


def test_the_convex_front_is_the_one_that_mo_gymnasium_states():
    stated = theirs("deep-sea-treasure-v0").pareto_front(gamma=1.0)
    np.testing.assert_allclose(
        treasure_front(deep_sea_treasure("convex")), sorted(map(tuple, stated))
    )


def test_deep_sea_treasure_options():
    swapped = deep_sea_treasure("concave", objectives=("time", "treasure"))
    np.testing.assert_array_equal(swapped.reward[..., ::-1], deep_sea_treasure().reward)
    own = deep_sea_treasure(np.array([[0, 0], [-10, 7.0]]))
    assert treasure_front(own) == [(7, -2)]
    with pytest.raises(ValueError, match=r"^start: \(1, 0\) is not open water"):
        deep_sea_treasure(np.array([[0, 0], [-10, 7.0]]), start=(1, 0))
    with pytest.raises(ValueError, match=r"^sea: expected one of convex, concave, mirrored"):
        deep_sea_treasure("flat")
    with pytest.raises(ValueError, match=r"^objectives: expected treasure and time"):
        deep_sea_treasure(objectives=("time", "fuel"))


def walk_together(env, mdp, seed, episodes=30, cap=200):
    """Random walks in both; where ours is deterministic both must agree in every step."""
    rng = np.random.default_rng(seed)
    number = {state_name(mdp, s): s for s in range(mdp.num_states)}
    for _ in range(episodes):
        observation, _ = env.reset(seed=int(rng.integers(2**31)))
        state = int(np.argmax(mdp.initial))
        for _ in range(cap):
            assert state == number[f"({observation[0]},{observation[1]})"]
            action = int(rng.integers(mdp.num_actions))
            observation, reward, terminated, _, _ = env.step(action)
            np.testing.assert_allclose(mdp.reward[state, action, 0], reward, rtol=1e-6)
            state = int(mdp.next_state[state, action, 0])
            assert mdp.terminal[state] == terminated
            if terminated:
                break


@pytest.mark.parametrize(
    ("name", "options", "build"),
    [
        ("fruit-tree-v0", {"depth": 5}, lambda: fruit_tree(5)),
        ("fruit-tree-v0", {"depth": 6}, lambda: fruit_tree(6)),
        ("fruit-tree-v0", {"depth": 7}, lambda: fruit_tree(7)),
        ("deep-sea-treasure-v0", {}, lambda: deep_sea_treasure("convex")),
        ("deep-sea-treasure-concave-v0", {}, lambda: deep_sea_treasure("concave")),
        ("deep-sea-treasure-mirrored-v0", {}, lambda: deep_sea_treasure("mirrored")),
    ],
)
def test_steps_and_enumeration_agree_with_mo_gymnasium(name, options, build):
    env, mdp = theirs(name, **options), build()
    walk_together(env, mdp, seed=1)
    listed = MDP.from_gym(env)
    assert listed.num_states == mdp.reachable().sum()
    number = {state_name(listed, s): s for s in range(listed.num_states)}
    ours = np.flatnonzero(mdp.reachable())
    match = [number[state_name(mdp, int(s))] for s in ours]
    uniform = [np.full((m.num_states, m.num_actions), 1 / m.num_actions) for m in (mdp, listed)]
    values = state_values(mdp, uniform[0], gamma=0.9)[ours]
    np.testing.assert_allclose(
        state_values(listed, uniform[1], gamma=0.9)[match], values, rtol=1e-5
    )


def test_resource_gathering_takes_the_steps_of_mo_gymnasium():
    env, mdp = theirs("resource-gathering-v0"), resource_gathering()
    rng = np.random.default_rng(0)
    shape = (5, 5, 2, 2)
    risky = killed = 0
    for seed in range(600):
        observation, _ = env.reset(seed=seed)
        state = int(np.argmax(mdp.initial))
        for _ in range(60):
            assert state == np.ravel_multi_index(tuple(observation), shape)
            action = int(rng.integers(4))
            observation, reward, terminated, _, _ = env.step(action)
            dead = reward[0] < 0
            danger = mdp.probability[state, action, 1]
            risky, killed = risky + (danger > 0), killed + dead
            assert danger == pytest.approx(0.1) or not dead
            np.testing.assert_array_equal(mdp.reward[state, action, int(dead)], reward)
            state = int(mdp.next_state[state, action, int(dead)])
            assert mdp.terminal[state] == terminated
            if terminated:
                break
    assert risky > 300
    assert abs(killed / risky - 0.1) < 4 * np.sqrt(0.09 / risky)


def test_the_way_to_the_diamond_is_safe():
    mdp = resource_gathering()
    policy = np.zeros(mdp.num_states, dtype=int)
    state = int(np.argmax(mdp.initial))
    for action in (3, 3, 0, 0, 0, 1, 1, 1, 2, 2):  # there and back, past no enemy
        policy[state] = action
        state = int(mdp.next_state[state, action, 0])
    assert state_name(mdp, state) == "home"
    np.testing.assert_allclose(evaluate(mdp, policy, 0.9), [0, 0, 0.9**9])
    policy[policy == 3] = 0  # straight up instead: past the enemy to the gold
    assert evaluate(mdp, policy, 1.0)[0] < 0


def test_all_fruits_of_depth_5_are_on_the_front():
    tree = fruit_tree(5)
    leaves = fruits_of(tree)
    assert len(front(leaves)) == 32
    arrives = tree.terminal[tree.next_state[..., 0]] & ~tree.terminal[:, None]
    np.testing.assert_array_equal(leaves, tree.reward[:, :, 0][arrives])


def test_random_and_own_trees():
    tree = fruit_tree(3, seed=4, num_objectives=2)
    np.testing.assert_allclose(np.linalg.norm(tree.reward[3:7], axis=-1), 10)
    np.testing.assert_array_equal(fruit_tree(3, seed=4, num_objectives=2).reward, tree.reward)
    assert (fruit_tree(3, seed=5, num_objectives=2).reward != tree.reward).any()
    assert fruit_tree(9, seed=0).num_states == 1023
    own = fruit_tree(1, fruits=[[1, 2, 3], [4, 5, 6]], objectives=[2, 0])
    assert own.reward[0, :, 0].tolist() == [[3, 1], [6, 4]]
    assert fruit_tree(5, objectives=[5, 0]).objective_names == ("water", "protein")
    with pytest.raises(ValueError, match=r"^depth: mo-gymnasium has fruits for depth 5, 6, 7"):
        fruit_tree(4)
    with pytest.raises(ValueError, match=r"^fruits: expected shape \[4, K\] for depth 2"):
        fruit_tree(2, fruits=np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"^objectives: there is no 6; there are 0 to 5"):
        fruit_tree(5, objectives=[6])


def test_a_treasure_shows_its_worth():
    mdp = deep_sea_treasure()
    assert mdp.layout is not None
    marks = mdp.layout.marks()
    assert marks[0, 0] == "S"
    found = {float(mark) for place, mark in marks.items() if place != (0, 0)}
    assert found == set(mdp.reward[..., 0].ravel().tolist()) - {0.0}
    drawing = sketch(mdp).splitlines()
    assert drawing[21].split("|")[10] == "124"
    assert len({len(line) for line in sketch(deep_sea_treasure("convex")).splitlines()}) == 1


def test_without_mo_gymnasium_the_extra_is_named(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(importlib, "import_module", missing)
    for build in (fruit_tree, deep_sea_treasure, resource_gathering):
        with pytest.raises(ImportError, match=r"pip install 'lexicone\[gym\]'"):
            build()
    maze("small")
    fruit_tree(3, seed=0)
