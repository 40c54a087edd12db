"""What can be done with a solution: act, frames, explanations, files."""

import csv
import itertools

import numpy as np
import pandas
import pytest

import lexicone as lx
from lexicone.tasks._fruit_tree import fruits_of


@pytest.fixture(scope="module")
def maze():
    return lx.tasks.maze("extended", objectives="path")


@pytest.fixture(scope="module")
def solved(maze):
    return lx.solve(maze, [-3])


def test_acts_as_often_as_the_policy_says(maze, solved):
    rng = np.random.default_rng(0)
    drawn = [solved.act("(0,0)", rng) for _ in range(2000)]
    shares = np.bincount(drawn, minlength=4) / 2000
    assert shares == pytest.approx(solved.policy[16], abs=0.03)
    assert set(np.flatnonzero(shares)) == set(np.flatnonzero(solved.policy[16]))
    assert {solved.act(16, seed=5) for _ in range(9)} == {solved.act((0, 0), seed=5)}
    assert {solved.act(16) for _ in range(200)} == {0, 3}  # new numbers each time


def test_states_have_to_be_there(solved):
    with pytest.raises(ValueError, match="state: there is none called 'home'"):
        solved.act("home")
    with pytest.raises(ValueError, match="state: expected a whole number from 0 to 19"):
        solved.act(20)
    with pytest.raises(ValueError, match="seed: must be a whole number"):
        solved.act(0, seed="a")


def test_frames_and_csv_have_all_states(maze, solved, tmp_path):
    frame = solved.to_frame()
    assert set(frame["state"]) == set(range(maze.num_states))
    assert frame.groupby("state")["probability"].sum().to_numpy() == pytest.approx(1)
    rebuilt = np.zeros_like(solved.policy)
    rebuilt[frame["state"], frame["action"]] = frame["probability"]
    assert (rebuilt == solved.policy).all()
    assert frame["visits"].sum() == pytest.approx(solved.occupancy.sum())
    solved.to_csv(tmp_path / "policy.csv")
    with open(tmp_path / "policy.csv", newline="") as file:
        assert list(csv.DictReader(file)) == list(csv.DictReader(solved.to_csv().splitlines()))
    read = pandas.read_csv(tmp_path / "policy.csv")
    pandas.testing.assert_frame_equal(read, frame)


def test_the_coin_is_explained(maze, solved):
    text = solved.explain(maze)
    assert "At (0,0) it flips a coin: Up (0.8) or Right (0.2)" in text
    assert (
        "always Up would have (-4, -4) and miss tiles+goal, always Right would have (1, -10) and meet all thresholds"
        in text
    )
    assert "one unit stricter costs at least 1.2 of time" in text
    assert text.index("(0,0), 1×") < text.index("(0,4), 1×")  # of equals, the coin first
    calm = lx.solve(maze, [-4]).explain()
    assert "never flips a coin" in calm
    assert "coin:" not in calm


def test_a_conflict_comes_with_an_inequality_that_no_leaf_breaks():
    """Each policy of a tree is a mixture of leaves, so an inequality that all leaves keep is a proof."""
    tree = lx.tasks.fruit_tree(3, seed=1, num_objectives=3)
    leaves = fruits_of(tree)
    best = leaves.max(axis=0)
    limits = [best[0] - 0.3, best[1] + 1]
    names = {"a": limits[0], "b": limits[1], "c": None}
    found = lx.solve(tree, lx.Order(names))
    assert found.satisfied.tolist() == [True, False]
    text = found.explain()
    assert "conflicts with a ≥" in text
    inequality = text.partition("The proof: ")[2].partition(" for every")[0]
    left, _, right = inequality.partition(" ≤ ")
    weight = float(left.removeprefix("b + ").removesuffix("·a"))
    sums = leaves[:, 1] + weight * leaves[:, 0]
    assert sums.max() <= float(right) + 1e-4
    assert sums.max() == pytest.approx(float(right), abs=1e-3)  # and it is tight
    mixed = [leaves[i] * 0.5 + leaves[j] * 0.5 for i, j in itertools.product(range(8), repeat=2)]
    kept = [values[1] for values in mixed if values[0] >= limits[0]]
    assert max(kept) <= found.values[1] + 1e-9


def test_costs_are_explained_in_their_units():
    sea = lx.tasks.deep_sea_treasure()
    text = lx.solve(sea, {"treasure": 20, "time": lx.lowest()}).explain()
    assert "treasure 20, time 3.78049" in text
    assert "-3.78" not in text


def test_deterministic_policies_claim_no_prices(maze):
    text = lx.solve(maze, [-3], policies="deterministic").explain()
    assert "deterministic policies have no prices" in text
    assert "The best deterministic policy" in text


def test_names_are_kept_in_the_file(solved, tmp_path):
    solved.save(tmp_path / "s")
    again = lx.Solution.load(tmp_path / "s")
    assert again.labels == solved.labels == ("tiles+goal", "time")
    assert again.act("(0,0)", seed=3) == solved.act("(0,0)", seed=3)
    assert again.explain() == solved.explain()


def test_other_models_are_refused(solved):
    with pytest.raises(ValueError, match="mdp: has 9 states"):
        solved.explain(lx.tasks.maze("small"))


def test_continuous_solutions_explain_themselves():
    model = lx.LinearQuadratic(
        np.array([[0.9]]), np.array([[1.0]]), np.array([[0.1]]),
        costs=[np.diag([1.0, 0.0]), np.diag([0.0, 1.0])], gamma=0.9,
    )  # fmt: skip
    text = lx.solve(model, {"error": lx.at_most(1.5), "effort": lx.lowest()}).explain()
    assert "error ≤ 1.5 is met and binds" in text
    assert "of effort" in text
