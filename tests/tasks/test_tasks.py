import importlib
import itertools
import time
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csgraph

from lexicone.models._evaluation import evaluate, state_values
from lexicone.models._mdp import MDP
from lexicone.plots._text import sketch
from lexicone.tasks import (
    TASKS,
    deep_sea_treasure,
    fruit_tree,
    garnet,
    grid,
    make,
    maze,
    parse_maze,
    resource_gathering,
    road_trip,
    space_traders,
)
from lexicone.tasks._catalogue import describe


def theirs(name, **options):
    """An environment of MO-Gymnasium without limits on length; its imports and spaces warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("mo_gymnasium").make(name, **options).unwrapped


def simple_paths(mdp):
    """The returns and actions of every path from the start to an end that repeats no state."""
    start = int(np.argmax(mdp.initial))
    stack = [(start, (start,), (), np.zeros(mdp.num_objectives))]
    while stack:
        state, seen, actions, total = stack.pop()
        if mdp.terminal[state]:
            yield total, seen, actions
            continue
        for a in range(mdp.num_actions):
            after = int(mdp.next_state[state, a, 0])
            if after not in seen:
                paid = total + mdp.reward[state, a, 0]
                stack.append((after, (*seen, after), (*actions, a), paid))


def front(points):
    points = {tuple(p) for p in points}
    return sorted(
        p for p in points if not any(q != p and all(np.array(q) >= np.array(p)) for q in points)
    )


def path_front(mdp):
    """The front of all paths of a deterministic model, extended step by step."""
    reached = {int(np.argmax(mdp.initial)): {(0.0,) * mdp.num_objectives}}
    ends = set()
    for _ in range(mdp.num_states):
        longer = {}
        for state, totals in reached.items():
            for a, total in itertools.product(range(mdp.num_actions), totals):
                after = int(mdp.next_state[state, a, 0])
                paid = tuple(float(v) for v in total + mdp.reward[state, a, 0])
                (ends if mdp.terminal[after] else longer.setdefault(after, set())).add(paid)
        reached = {state: set(front(totals)) for state, totals in longer.items()}
    return front(ends)


def policy_along(mdp, seen, actions):
    policy = np.zeros(mdp.num_states, dtype=int)
    policy[list(seen[:-1])] = actions
    return policy


# mazes


@pytest.mark.parametrize(
    ("name", "rows", "start", "goal"),
    [
        ("small", (".G.", "HH.", ".S."), "(1,0)", "(1,2)"),
        ("extended", (".G..", ".hhh", "....", "HHH.", "S..."), "(0,0)", "(1,4)"),
        ("concave", (".G.", ".hh", "...", "HH.", "S.."), "(0,0)", "(1,4)"),
        (
            "early-late",
            (".G.", "HH.", "...", ".hh", "...", "...", "...", ".hh", "...", "HH.", ".S."),
            "(1,0)",
            "(1,10)",
        ),
    ],
)
def test_the_mazes_of_the_paper(name, rows, start, goal):
    mdp = maze(name)
    assert parse_maze(name) == rows
    assert mdp.state_names[int(np.argmax(mdp.initial))] == start
    assert [mdp.state_names[s] for s in np.flatnonzero(mdp.terminal)] == [goal]
    np.testing.assert_array_equal(maze("\n".join(rows)).reward, mdp.reward)


def test_the_front_of_experiment_1():
    mdp = maze("extended", objectives="path")
    paths = list(simple_paths(mdp))
    assert front(total for total, _, _ in paths) == [(-4, -4), (-3, -8), (1, -10)]
    assert path_front(mdp) == [(-4, -4), (-3, -8), (1, -10)]
    for total, seen, actions in paths[::50]:
        np.testing.assert_allclose(evaluate(mdp, policy_along(mdp, seen, actions), 1.0), total)
    milder = maze("extended", objectives="path", high_penalty=-0.5)
    assert front(total for total, _, _ in simple_paths(milder)) != [(-4, -4), (-3, -8), (1, -10)]


def test_a_coin_flip_beats_every_path_of_experiment_1_in_expectation():
    mdp = maze("extended", objectives="path")
    paths = {tuple(total): (seen, actions) for total, seen, actions in simple_paths(mdp)}
    policy = np.eye(4)[policy_along(mdp, *paths[1.0, -10.0])]
    start, up = int(np.argmax(mdp.initial)), mdp.action_names.index("Up")
    policy[mdp.state_names.index("(0,1)")] = np.eye(4)[up]  # the short way joins the long one
    policy[start] = 0.2 * policy[start] + 0.8 * np.eye(4)[up]
    np.testing.assert_allclose(evaluate(mdp, policy, 1.0), [-3, -5.2])
    assert max(time for tiles, time in paths if tiles >= -3) == -8


def test_the_path_that_the_paper_wants_in_the_small_maze():
    mdp = maze("small", objectives="endpoint")
    wanted = ["(1,0)", "(2,0)", "(2,1)", "(2,2)", "(1,2)"]
    found = {
        tuple(mdp.state_names[s] for s in seen): tuple(total)
        for total, seen, _ in simple_paths(mdp)
    }
    assert found[tuple(wanted)] == (1, 0)
    assert found["(1,0)", "(1,1)", "(1,2)"] == (1, -5)


def test_what_detours_cost_in_the_early_late_maze():
    mdp = maze("early-late", objectives=("tiles", "time"))
    # through all bad tiles; through both hh (the natural policy); through one HH; past them all
    assert path_front(mdp) == [(-18, -9), (-8, -11), (-5, -13), (0, -15)]
    even = maze("early-late", objectives=("tiles", "time"), high_penalty=0.0, low_penalty=0.0)
    assert path_front(even) == [(0, -9)]


def test_reward_variants_in_any_order():
    both = maze("extended", objectives="path")
    turned = maze("extended", objectives=("time", "tiles+goal"))
    np.testing.assert_array_equal(both.reward[..., ::-1], turned.reward)
    parts = maze("extended", objectives=["tiles", "goal", "time"], goal_reward=3.0)
    assert parts.objective_names == ("tiles", "goal", "time")
    assert parts.reward[..., 1].max() == 3
    variant = maze("small", objectives="endpoint-time")
    assert variant.objective_names == ("time", "tiles")
    assert set(variant.reward[~variant.terminal][..., 0].ravel()) == {0.0, -1.0}


def test_a_users_function_is_an_objective():
    def leftward(before, action, after):
        assert action in ("Up", "Down", "Left", "Right")
        return float(before.x - after.x) + (after.kind == "G")

    mdp = maze("small", objectives={"tiles": "tiles", "left": leftward})
    assert mdp.objective_names == ("tiles", "left")
    for total, seen, actions in simple_paths(mdp):
        steps = actions.count(2) - actions.count(3)
        assert total[1] == steps + 1, seen
    assert maze("small", objectives=[leftward]).objective_names == ("leftward",)


def test_moves_off_the_grid_and_into_walls_stay_and_pay_again():
    mdp = maze("GhS\n..#", objectives=("tiles", "time"))
    names = list(mdp.state_names)
    here = names.index("(2,1)")
    assert mdp.num_states == 5
    assert [mdp.next_state[here, a, 0] == here for a in range(4)] == [True, True, False, True]
    bad = names.index("(1,1)")
    assert mdp.reward[bad, 0, 0].tolist() == [-4, -1]
    assert mdp.reward[names.index("(1,0)"), 2, 0].tolist() == [0, -1]


@given(st.floats(0.01, 1))
def test_slip_goes_to_the_sides(slip):
    sure, slippery = maze("extended").to_dense(), maze("extended", slip=slip).to_dense()
    sides = {0: (2, 3), 1: (2, 3), 2: (0, 1), 3: (0, 1)}
    for a, (one, other) in sides.items():
        mixed = (1 - slip) * sure.transition[:, a]
        mixed = mixed + slip / 2 * (sure.transition[:, one] + sure.transition[:, other])
        np.testing.assert_allclose(slippery.transition[:, a], mixed, atol=1e-12)


@pytest.mark.parametrize(
    ("drawing", "message"),
    [
        ("SG\n.x", r"row 2, column 2: 'x' is not a tile"),
        ("|S_|G_|\n|__|hH|", r"row 2, column 2: 'hH' is not a tile"),
        ("|S_|G_|\n|__|", r"row 2 has 1 columns, the first row has 2"),
        ("SG\n...", r"row 2 has 3 columns"),
        ("S.\n..", r"has no goal G"),
        ("G.\n..", r"has no start S"),
        ("S#G", r"no way leads from S at row 1, column 1 to a G"),
        ("SG\nS.\n##\nS#", r"from S at row 4, column 1"),
        ("", r"is empty"),
        ("extendet", r"no maze is called 'extendet'; there are small, extended"),
        ("|S_|G_|\nhello", r"after row 1: 'hello' is not a row"),
    ],
)
def test_a_bad_drawing_is_named_by_row_and_column(drawing, message):
    with pytest.raises(ValueError, match=r"^drawing: .*" + message):
        maze(drawing)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objectives": "paths"}, r"^objectives: expected one of endpoint, path"),
        ({"objectives": ["gold"]}, r"^objectives\['gold'\]"),
        ({"objectives": []}, r"^objectives: need at least one"),
        ({"objectives": ["time", "time"]}, r"^objectives: .*not all different"),
        ({"slip": 1.5}, r"^slip: must be a probability"),
        ({"low_penalty": np.nan}, r"^reward\[.*is nan"),
    ],
)
def test_bad_options_of_a_maze(options, message):
    with pytest.raises(ValueError, match=message):
        maze("extended", **options)


# the tasks of the field


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
        name = "".join(mdp.action_names[a][0] for a in pair)
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
    number = {name: s for s, name in enumerate(mdp.state_names)}
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
    number = {state: s for s, state in enumerate(listed.state_names)}
    ours = np.flatnonzero(mdp.reachable())
    match = [number[mdp.state_names[s]] for s in ours]
    uniform = [np.full((m.num_states, m.num_actions), 1 / m.num_actions) for m in (mdp, listed)]
    values = state_values(mdp, uniform[0], 0.9)[ours]
    np.testing.assert_allclose(state_values(listed, uniform[1], 0.9)[match], values, rtol=1e-5)


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
    assert mdp.state_names[state] == "home"
    np.testing.assert_allclose(evaluate(mdp, policy, 0.9), [0, 0, 0.9**9])
    policy[policy == 3] = 0  # straight up instead: past the enemy to the gold
    assert evaluate(mdp, policy, 1.0)[0] < 0


def test_all_fruits_of_depth_5_are_on_the_front():
    leaves = fruit_tree(5).reward[15:31].reshape(32, 6)
    assert len(front(leaves)) == 32


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
    with pytest.raises(ValueError, match=r"^objectives: expected different columns"):
        fruit_tree(5, objectives=[6])


# the paper's car


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


# families for tests of scale


@given(st.integers(0, 1000), st.integers(1, 12), st.integers(1, 12))
def test_garnets(seed, states, successors):
    if successors > states:
        with pytest.raises(ValueError, match=r"^num_successors"):
            garnet(states, 2, successors, seed=seed)
        return
    mdp = garnet(states, 2, successors, 2, terminal_states=seed % states, seed=seed)
    alive = mdp.next_state[~mdp.terminal]
    assert (np.diff(np.sort(alive, axis=-1), axis=-1) > 0).all()
    assert mdp.terminal.sum() == seed % states
    np.testing.assert_array_equal(
        garnet(states, 2, successors, 2, terminal_states=seed % states, seed=seed).reward,
        mdp.reward,
    )


def test_families_build_a_hundred_thousand_states_quickly():
    begin = time.perf_counter()
    large = [garnet(100_000, 4, 4), grid(320)]
    assert time.perf_counter() - begin < 20
    assert all(mdp.num_states >= 100_000 for mdp in large)
    assert large[1].can_terminate().all()


def test_a_grid_without_hazards_is_a_shortest_path():
    mdp = grid(4, 6, density=0.0, slip=0.0)
    policy = np.where(mdp.layout.positions[:, 1] < 5, 3, 1)
    np.testing.assert_allclose(evaluate(mdp, policy, 1.0), [0, 0, -8])
    assert (evaluate(grid(4, 6, density=1.0, slip=0.0), policy, 1.0)[:2] < 0).all()


# the registry


@pytest.mark.parametrize("name", TASKS)
def test_every_task_of_the_registry(name, tmp_path):
    task = TASKS[name]
    for variant in ("", *(f":{v}" for v in task.variants if len(v) < 5 or not v.isdigit())):
        mdp = make(name + variant)
        mdp.validate(episodic=bool(mdp.terminal.any()))
    mdp = task.build()
    assert len(task.thresholds) == mdp.num_objectives - 1
    assert eval(task.example, {"lx": importlib.import_module("lexicone")}) is not None
    assert task.description
    assert task.description.count("\n") == 0
    assert "|" not in task.objectives
    if mdp.objective_names is not None:
        assert task.objectives == ", ".join(mdp.objective_names)
    told = describe(task)
    for option, default in task.options.items():
        assert f"{option} " in told + " "
        assert default is None or repr(default) in told
    mdp.save(tmp_path / "task.npz")
    np.testing.assert_array_equal(MDP.load(tmp_path / "task.npz").reward, mdp.reward)


def test_make_by_name():
    assert make("fruit-tree:6").num_states == 127
    assert make("maze:extended", objectives="path").objective_names == ("tiles+goal", "time")
    with pytest.raises(ValueError, match=r"^name: there is no task 'mase'; there are maze, fruit"):
        make("mase")
    with pytest.raises(ValueError, match=r"^name: space-traders has no variants"):
        make("space-traders:fast")
    message = r"^name: garnet takes a whole number after the colon, like garnet:100, got 'abc'"
    with pytest.raises(ValueError, match=message):
        make("garnet:abc")
    with pytest.raises(ValueError, match=r"^name: fruit-tree takes a whole number .*got '-1'"):
        make("fruit-tree:-1")
    with pytest.raises(ValueError, match=r"^roads: there is no file '5'"):
        make("road-trip:5")


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
