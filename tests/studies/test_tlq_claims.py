"""How a policy is described, and each claim about TLQ by itself."""

import itertools
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from lexicone.exact._solve import solve
from lexicone.models._evaluation import evaluate
from lexicone.order import Order
from lexicone.qlearning._iterate import tlq_iterate
from lexicone.qlearning._parts import absolute_slack, optimal
from lexicone.qlearning._rules import preset
from lexicone.studies.tlq import figures as tlq_figures
from lexicone.studies.tlq.cells import (
    CHANCE,
    acceptance_levels,
    actions_of,
    happened,
    names,
    policies_of,
    sweep,
    walk,
)
from lexicone.studies.tlq.claims import as_markdown, check_claims, run
from lexicone.studies.tlq.early_late import (
    NATURAL,
    attempt,
    drawn_maze,
    drawn_policies,
    example,
    is_natural,
    ordered_mazes,
)
from lexicone.studies.tlq.goal import (
    GOLDEN,
    ROUTE,
    boundary,
    claim_other_reward,
    claim_undiscounted,
)
from lexicone.studies.tlq.settings import Tlq
from lexicone.studies.tlq.tasks import (
    claim_fruit_tree,
    scalarised,
)
from lexicone.studies.tlq.variants import OSCILLATIONS, record
from lexicone.tasks import deep_sea_treasure, maze
from tests.helpers.names import state_number

SMALL = maze("small")
QUICK = Tlq(points=4, tables=8, leaves=2, seeds=2, steps=20_000)


def watch(sequence, title):
    return sequence


# What a policy does, in words


def test_walks():
    up, down, right = 0, 1, 3
    actions = np.full(9, up)
    straight = walk(SMALL, actions)
    assert (names(SMALL, straight.states), straight.ends) == (("(1,0)", "(1,1)", "(1,2)"), "goal")
    stays = walk(SMALL, np.full(9, down))
    assert (names(SMALL, stays.states), stays.ends) == (("(1,0)", "(1,0)"), "loop")
    around = np.full(9, up)
    around[state_number(SMALL, "(1,0)")] = right
    around[state_number(SMALL, "(2,0)")] = up
    around[state_number(SMALL, "(2,1)")] = down
    assert names(SMALL, walk(SMALL, around).states) == ("(1,0)", "(2,0)", "(2,1)", "(2,0)")
    around[state_number(SMALL, "(2,1)")] = CHANCE
    assert walk(SMALL, around).ends == "chance"


@pytest.mark.parametrize(
    ("rule", "threshold", "gamma", "told"),
    [
        ("gabor", 0.7, 0.9, "reaches G in 2 steps"),
        ("urban", 0.7, 0.9, "stays at (1,0)"),
        ("sarsa", 0.5, 0.9, "cycle of 7 sweeps; 1 of its 7 policies reach G"),
        (preset("gabor", ties="random"), 1.0, 1.0, "walks at random"),
    ],
)
def test_what_happened_in_words(rule, threshold, gamma, told):
    if rule == "urban":
        rule = preset("urban", accept=absolute_slack(0.171))
    found = tlq_iterate(SMALL, Order([threshold]), rule, gamma=gamma)
    assert happened(SMALL, found) == told


@pytest.mark.parametrize(
    "rule",
    [preset("gabor"), preset("urban", accept=absolute_slack(0.4)), preset("cyclic", ties="random")],
)
def test_policies_of_all_ties_are_those_of_all_runs(rule):
    """One table read 25 times, against 25 iterations."""
    order = Order([0.3])
    open_ones = list(policies_of(tlq_iterate(SMALL, order, rule, gamma=0.5)))
    assert len(open_ones) == 25
    ways = [
        replace(rule, ties="first", action_order=p) for p in itertools.permutations(range(4))
    ] + [replace(rule, ties="by_objective")]
    for actions, way in zip(open_ones, ways, strict=True):
        alone = tlq_iterate(SMALL, order, way, gamma=0.5).policy.argmax(axis=1)
        np.testing.assert_array_equal(actions[~SMALL.terminal], alone[~SMALL.terminal])


def test_targets_that_depend_on_ties_leave_one_policy():
    found = tlq_iterate(SMALL, Order([0.5]), "informed", gamma=0.9)
    (only,) = policies_of(found)
    np.testing.assert_array_equal(only, actions_of(found.policy))


def test_acceptance_levels_by_hand():
    """q₁ of an action is γ to the power of the steps that are left after it, 0 to 3 here."""
    np.testing.assert_allclose(
        acceptance_levels(SMALL, 0.5, "threshold"), [0.125, 0.25, 0.5, 1], atol=1e-9
    )
    # (2,2): 1, ½ and ¼; (1,0): ½, ¼, ⅛; (2,0): ¼, ⅛; (2,1): ½, ¼, ⅛
    np.testing.assert_allclose(
        acceptance_levels(SMALL, 0.5, "slack"), [0, 0.125, 0.25, 0.375, 0.5, 0.75], atol=1e-9
    )
    np.testing.assert_allclose(acceptance_levels(SMALL, 0.5, "ratio"), [0.5, 0.75, 1], atol=1e-9)


# Claims 1 to 3


@pytest.mark.slow
def test_the_boundary_is_the_golden_ratio():
    assert boundary(SMALL, width=1e-3) == pytest.approx(GOLDEN, abs=1e-3)
    assert boundary(SMALL, low=0.63, width=1e-2) == 0.63  # nothing works up there


def test_the_sweep_sees_what_works():
    """Beside the 0 of all other tests: at γ=½ the slack 0.4 works, 0.3 and 0.6 do not."""
    for slack, lucky in ((0.4, 1), (0.3, 0), (0.6, 0)):
        rule = preset("urban", accept=absolute_slack(slack))
        tally = sweep(SMALL, [(Order([1.0]), rule)], 0.5, ROUTE)
        assert (tally.lucky, tally.reached) == (lucky, 2 * lucky)


def test_claim_2_is_about_ties():
    cells = claim_undiscounted(QUICK, watch).cells
    assert [cell.holds for cell in cells] == [True, False] * 2
    assert cells[0].trajectory == ("(1,0)", "(1,0)")
    np.testing.assert_allclose(cells[1].values, (1, 0), atol=1e-9)
    assert "46 steps" in cells[1].reason


def test_the_random_walk_takes_46_steps():
    """By hand: states without a bad tile, each move to one that has none is equally likely."""
    walkers = {  # (x,y): where its four moves lead, bad tiles left out
        (1, 0): [(1, 0), (0, 0), (2, 0)],
        (0, 0): [(0, 0), (0, 0), (1, 0)],
        (2, 0): [(2, 1), (2, 0), (2, 0), (1, 0)],
        (2, 1): [(2, 2), (2, 0), (2, 1)],
        (2, 2): [(2, 2), (2, 1), (2, 2), None],
    }
    states = list(walkers)
    chain = np.zeros((5, 5))
    for i, state in enumerate(states):
        for to in walkers[state]:
            if to is not None:
                chain[i, states.index(to)] += 1 / len(walkers[state])
    steps = np.linalg.solve(np.eye(5) - chain, np.ones(5))[0]
    timed = maze("small", ("goal", "tiles", "time"))
    drift = tlq_iterate(SMALL, Order([1.0]), preset("gabor", ties="random")).policy
    assert 1 - evaluate(timed, drift)[2] == pytest.approx(steps)


@pytest.mark.slow
def test_claim_3():
    found = claim_other_reward(QUICK, watch)
    assert all(cell.holds for cell in found.cells)
    np.testing.assert_allclose(found.cells[0].optimum, (-3, 0), atol=1e-6)
    assert "6 of 12" in found.summary  # below the golden ratio ratios do work


# Claim 4


@pytest.mark.parametrize("number", range(4))
def test_the_natural_policy_is_the_optimum_of_every_task(number):
    task = ordered_mazes()[number]
    best = solve(task.mdp, Order([task.threshold]), gamma=task.gamma, policies="deterministic")
    costs = maze("early-late", ("tiles", "time"))
    np.testing.assert_allclose(evaluate(costs, best.policy), NATURAL, atol=1e-6)
    assert is_natural(best.policy.argmax(axis=1))
    assert not is_natural(np.zeros(task.mdp.num_states, int))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gabor", "unclipped", "sarsa", "informed"])
def test_claim_4_holds_with_the_goal_first_and_not_with_the_tiles_first(name):
    goal_first, tiles_first = attempt(drawn_maze(), name), attempt(ordered_mazes()[3], name)
    assert goal_first.natural == 0
    assert goal_first.cell.holds
    assert tiles_first.cell.holds == (name == "gabor")


def test_slacks_cannot_tell_early_from_late():
    _, goal_first, _, tiles_first = ordered_mazes()
    for name in ("urban", "relative", "cyclic"):
        rule, _ = example(goal_first, name)
        found = tlq_iterate(
            goal_first.mdp, Order([goal_first.threshold]), rule, gamma=goal_first.gamma
        )
        assert not any(is_natural(actions) for actions in policies_of(found))
    rule, _ = example(tiles_first, "urban")
    found = tlq_iterate(tiles_first.mdp, Order([-8.0]), rule)
    assert any(is_natural(actions) for actions in policies_of(found))


# Claim 5


def test_a_recorded_run_goes_on_round_the_cycle():
    state, threshold, rule = OSCILLATIONS["TL-SARSA, τ=0.5"]
    kept = record(SMALL, state, Order([threshold]), rule, 0.9)
    policies = np.array(kept["policies"])
    np.testing.assert_array_equal(policies[10:-7], policies[17:])
    assert (policies[10:-3] != policies[13:]).any()
    third = tlq_iterate(SMALL, Order([threshold]), rule, gamma=0.9, max_sweeps=3)
    np.testing.assert_array_equal(policies[2], actions_of(third.policy))
    np.testing.assert_allclose(kept["q1"][2], third.q[state_number(SMALL, state), :, 0])


# Claims 6 to 8


@pytest.mark.parametrize("weight", [0.05, 0.1, 0.128, 0.13, 0.5])
def test_scalarisation_takes_the_best_point_of_the_front(weight):
    """1·w−1·(1−w) < 124·w−19·(1−w) from w=18/141 on."""
    front = np.array([(1, -1), (2, -3), (3, -5), (5, -7), (8, -8), (16, -9), (124, -19)])
    weights = np.array([weight, 1 - weight])
    assert scalarised(deep_sea_treasure(), weights) == tuple(front[np.argmax(front @ weights)])


@pytest.mark.slow
def test_claim_8_is_one_of_learning():
    """A rate of 1 repairs what 0.1 cannot do in these few steps."""
    exact, slow, _, quick = claim_fruit_tree(QUICK, watch).cells
    assert exact.happened == "the desired leaf for 2 of 2"
    assert not exact.holds
    assert slow.holds
    assert quick.happened.startswith("the desired leaf in 4 of 4 runs")
    assert not quick.holds


def test_optimal_values_without_clipping_are_a_rule_of_their_own():
    """Negative control of the table's first two rows: they differ."""
    order = Order([0.7])
    clipped = tlq_iterate(SMALL, order, "gabor", gamma=0.9)
    unclipped = tlq_iterate(SMALL, order, preset("gabor", update=optimal), gamma=0.9)
    assert walk(SMALL, actions_of(clipped.policy)).ends == "goal"
    assert walk(SMALL, actions_of(unclipped.policy)).ends == "loop"


# The whole


def test_an_unreadable_file_is_told(tmp_path):
    (tmp_path / "results.json").write_text("{")
    with pytest.raises(ValueError, match=r"results\.json: cannot be read"):
        run(QUICK, tmp_path, [2])


def test_the_early_late_figure_has_a_panel_for_each():
    task = drawn_maze()
    rule, numbers = example(task, "gabor")
    data = drawn_policies(
        {"gabor": tlq_iterate(task.mdp, Order([task.threshold]), rule, gamma=task.gamma)}
    )
    assert data["optimum"]["outcome"] == "tiles -8\n12 steps"
    up = [0] * task.mdp.num_states
    data["policies"]["up"] = {
        "numbers": "τ=1",
        "outcome": "as told",
        "policy": up,
        "states": [3, 2],
    }
    axes = tlq_figures.FIGURES["tlq-early-late"].make(data).axes
    assert [a.get_title() for a in axes] == [
        "optimum\ntiles -8\n12 steps",
        f"gabor\n{numbers}\n{data['policies']['gabor']['outcome']}",
        "up\nτ=1\nas told",
    ]


@pytest.mark.slow
def test_no_model_is_built_at_import():
    program = (
        "import importlib, pkgutil\n"
        "from lexicone.models._mdp import MDP\n"
        "import lexicone.studies as studies\n"
        "def refuse(*_, **__): raise AssertionError('a model at import')\n"
        "MDP.__init__ = refuse\n"
        "for found in pkgutil.walk_packages(studies.__path__, 'lexicone.studies.'):\n"
        "    importlib.import_module(found.name)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_markdown_without_results():
    assert as_markdown({}).startswith("# ")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Tlq(points=1).check(), "points: must be at least 2, got 1"),
        (lambda: Tlq(steps=0).check(), "steps: must be at least 1"),
        (lambda: Tlq(leaves=33).check(), "leaves: the tree has 32"),
        (lambda: Tlq(seed=-1).check(), "seed: must be at least 0"),
        (lambda: check_claims([3, 9]), "claims: there are 1 to 8, got 9"),
    ],
)
def test_mistakes(build, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        build()
    assert check_claims([5, 1, 5]) == (1, 5)
    assert check_claims([]) == tuple(range(1, 9))


def test_an_extra_that_is_missing_is_named_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mo_gymnasium.envs.fruit_tree.fruit_tree", None)
    with pytest.raises(ImportError, match=r"pip install 'lexicone\[gym\]'"):
        run(Tlq(points=2), tmp_path, [2, 8])
    assert not list(tmp_path.iterdir())
    assert set(run(Tlq(points=2), tmp_path, [2])) == {"2"}
