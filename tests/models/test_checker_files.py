"""Files of model checkers: what is read, and one clear line for what cannot be."""

import json
from typing import Any

import numpy as np
import pytest

import lexicone as lx
from lexicone._base import memory
from lexicone.models._drn import read_drn
from lexicone.models._umb import read_umb
from tests.helpers.checker_files import (
    HOME,
    ROBOT,
    ROBOT_PROGRAM,
    TIME,
    UMB_ARRAYS as ARRAYS,
    UMB_INDEX as INDEX,
    bits,
    drn,
    write_umb,
)

pytestmark = pytest.mark.usefixtures("without_shape_checks")
GOAL = ['Pmax=? [F "goal"]']
GOOD = drn(("init", 0, [("go", 1, {1: 0.5, 0: 0.5})]), ("goal", 0, [("stay", 0, {1: 1})]))


@pytest.mark.parametrize("compression", ["", "gz", "xz"])
def test_a_umb_file(tmp_path, compression):
    path = write_umb(tmp_path / "model.umb", INDEX, ARRAYS, compression)
    found = read_umb(path)
    assert found.initial == 0
    assert found.factors is not None
    assert found.factors.names == ("x", "b", "y")
    np.testing.assert_array_equal(found.factors.values, [[-1, 1, -2], [0, 0, 3]])
    mdp = lx.MDP.from_umb(path, ['Rmin=? [F "goal"]'])
    assert mdp.action_names == ("walk", "run")
    assert mdp.state_names == ("x=-1,b=1,y=-2", "end")
    np.testing.assert_allclose(lx.solve(mdp, []).values, [-10])  # run: 1 + 4 + 5
    walk = lx.evaluate(mdp, np.array([0, 0]))
    np.testing.assert_allclose(walk, [-12])  # twice 1 + 2, and 6 on arrival


def test_fractions(tmp_path):
    index = json.loads(json.dumps(INDEX))
    kind = {"type": "rational", "size": 128}
    index["transition-system"]["branch-probability-type"] = kind
    halves = np.array([1, 2, 1, 2, 3, 3, 1, 1], dtype="<u8")
    path = write_umb(tmp_path / "model.umb", index, {**ARRAYS, "branch-to-probability.bin": halves})
    np.testing.assert_array_equal(read_umb(path).probability, [0.5, 0.5, 1, 1])
    exact = tmp_path / "exact.drn"
    exact.write_text(GOOD.replace("1 : 0.5", "1 : 1/3").replace("0 : 0.5", "0 : 2/3"))
    np.testing.assert_allclose(read_drn(exact).probability, [1 / 3, 2 / 3, 1])


def test_a_text_file_as_storm_writes_it(tmp_path):
    path = tmp_path / "model.drn"
    path.write_text(
        "// Exported by storm\n// Original model type: MDP\n@type: MDP\n@value_type: double\n@parameters\n\n"
        "@reward_models\ncost time \n@nr_states\n2\n@nr_choices\n3\n@model\nstate 0 [1, 0] init\n//[s=0]\n"
        "\taction __NOLABEL__ [0, 1]\n\t\t0 : 0.5\n\t\t1 : 0.5\n\taction b [2, 0.5]\n\t\t1 : 1\n"
        "state 1 [0, 0] done goal\n//[s=4]\n\taction __NOLABEL__ [0, 0]\n\t\t1 : 1\n"
    )
    found = read_drn(path)
    assert list(found.labels) == ["init", "done", "goal"]
    assert found.choice_names == ("", "b")
    np.testing.assert_array_equal(found.rewards["time"].choice, [1, 0.5, 0])
    np.testing.assert_array_equal(found.rewards["cost"].state, [1, 0])
    np.testing.assert_array_equal(found.next_state, [0, 1, 1, 1])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("@type: MDP", "@type: CTMC", "line 1: a model of the type CTMC cannot be read"),
        ("@model", "", "there is no @model"),
        ("0 : 0.5", "0 : half", "line 14: 'half' is no number"),
        ("0 : 0.5", "0 : -0.5", "line 14: -0.5 is no probability"),
        ("0 : 0.5", "nowhere", "line 14: cannot read 'nowhere'"),
        ("0 : 0.5", "7 : 0.5", "a branch leads to state 7, but there are 2 states"),
        ("state 1", "state 2", "line 15: expected state 1, got '2'"),
        ("[1]", "[1, 2]", "line 12: has 2 rewards for 1 reward models"),
        ("[1]", "[1", "line 12: a bracket is not closed"),
        ("\taction stay [0]\n\t\t1 : 1\n", "", "state 1 has no choice, a deadlock"),
        ("\t\t1 : 1\n", "", "an action leads nowhere"),
        ("@nr_states\n2", "@nr_states\n3", "2 states are listed, but nr_states is 3"),
        (" init", "", "has no initial states; it needs exactly one"),
        (" goal", " goal init", "has 2 initial states (0, 1); it needs exactly one"),
        ("@parameters\n", "@parameters\np\n", "it has parameters (p)"),
    ],
)
def test_bad_text_files(tmp_path, old, new, message):
    path = tmp_path / "bad.drn"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(ValueError, match=r"^path: ") as error:
        lx.MDP.from_drn(path, GOAL)
    assert message in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_probabilities_have_to_sum_to_one(tmp_path):
    path = tmp_path / "bad.drn"
    path.write_text(GOOD.replace("0 : 0.5", "0 : 0.4"))
    with pytest.raises(ValueError, match=r"probability.*sums to 0.9, not 1"):
        lx.MDP.from_drn(path, GOAL)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("time", "stochastic", "no MDP in discrete time"),
        ("#players", 2, "no MDP in discrete time"),
        ("#observations", 2, "only partly observed"),
        ("#choices", 4, "state-to-choices.bin does not count up to 4"),
        ("#states", 3, "state-to-choices.bin has 24 bytes, not 32"),
        ("branch-probability-type", {"type": "double-interval"}, "double-interval"),
    ],
)
def test_bad_archives(tmp_path, place, value, message):
    index = json.loads(json.dumps(INDEX))
    index["transition-system"][place] = value
    path = write_umb(tmp_path / "bad.umb", index, ARRAYS)
    with pytest.raises(ValueError, match=r"^path: ") as error:
        lx.MDP.from_umb(path, GOAL)
    assert message in str(error.value)


def test_what_is_no_archive_or_has_other_starts(tmp_path):
    path = tmp_path / "bad.umb"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(
        ValueError, match=r"^path: .*bad.umb' is no UMB file: .*, or cut short$"
    ) as error:
        lx.MDP.from_umb(path, GOAL)
    assert "\n" not in str(error.value)  # one line
    write_umb(path, {}, ARRAYS)
    with pytest.raises(ValueError, match="it has no index"):
        lx.MDP.from_umb(path, GOAL)
    write_umb(path, {**INDEX, "format-version": 2}, ARRAYS)
    with pytest.raises(ValueError, match="version 1 can be read, it has 2"):
        lx.MDP.from_umb(path, GOAL)
    write_umb(path, INDEX, {**ARRAYS, "state-is-initial.bin": bits([1, 1])})
    with pytest.raises(ValueError, match=r"^path: has 2 initial states \(0, 1\)"):
        lx.MDP.from_umb(path, GOAL)
    index = json.loads(json.dumps(INDEX))
    index["transition-system"] |= {"#choices": 2, "#branches": 3}
    arrays = {
        **ARRAYS,
        "state-to-choices.bin": np.array([0, 2, 2], dtype="<u8"),
        "choice-to-branches.bin": np.array([0, 2, 3], dtype="<u8"),
        "branch-to-target.bin": np.array([0, 1, 1], dtype="<u8"),
        "branch-to-probability.bin": np.array([0.5, 0.5, 1]),
        "actions/choices/values.bin": np.array([0, 1], dtype="<u4"),
        "annotations/rewards/cost/choices/values.bin": np.zeros(2),
        "annotations/rewards/cost/branches/values.bin": np.zeros(3),
    }
    write_umb(path, index, arrays)
    with pytest.raises(ValueError, match=r"^path: state 1 has no choice, a deadlock"):
        lx.MDP.from_umb(path, GOAL)


def test_sizes_are_looked_at_before_memory_is_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 8 * 10**9)
    path = tmp_path / "large.drn"
    path.write_text(GOOD.replace("@nr_states\n2", "@nr_states\n100000000"))
    with pytest.raises(ValueError, match=r"^path: a model of 100,000,000 states would take about"):
        lx.MDP.from_drn(path, GOAL)
    index = json.loads(json.dumps(INDEX))
    index["transition-system"]["#states"] = 10**8
    with pytest.raises(ValueError, match=r"^path: a model of 100,000,000 states would take about"):
        lx.MDP.from_umb(write_umb(tmp_path / "large.umb", index, ARRAYS), GOAL)
    index["transition-system"]["#states"] = 10**12
    with pytest.raises(ValueError, match=r"^path: has 1,000,000,000,000 states; at most"):
        lx.MDP.from_umb(write_umb(tmp_path / "large.umb", index, ARRAYS), GOAL)


def test_arguments_are_checked_before_files_are_read(tmp_path):
    wrong: Any = 3
    with pytest.raises(ValueError, match=r"^path: expected the path"):
        lx.MDP.from_drn(wrong, GOAL)
    with pytest.raises(ValueError, match=r"^path: there is no file"):
        lx.MDP.from_umb(tmp_path / "none.umb", GOAL)
    with pytest.raises(ValueError, match=r"^objectives\[0\]: cannot read"):
        lx.MDP.from_drn(ROBOT, ["P"])
    with pytest.raises(ValueError, match=r"^discounted: must be True or False"):
        lx.MDP.from_drn(ROBOT, GOAL, discounted=wrong)
    with pytest.raises(ValueError, match=r"^model: expected a sparse model of stormpy, got int"):
        lx.MDP.from_storm(3, GOAL)
    with pytest.raises(ValueError, match=r"^constants: expected a mapping"):
        lx.MDP.from_prism(ROBOT_PROGRAM, GOAL, constants=3)


def test_the_model_is_never_padded():
    mdp = lx.MDP.from_drn(ROBOT, [HOME, TIME])
    lx.solve(mdp, lx.order_of([HOME, TIME], [0.85]))
    assert mdp.is_sparse
