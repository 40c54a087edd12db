"""Models as data: what is wrong with their tables, and dense and sparse models in them."""

import dataclasses
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import sparse

from lexicone.models._layout import Layout
from lexicone.models._mdp import MDP
from tests.helpers.tables import TWO_STATES, random_mdp, two_states_with


def test_tables_are_converted_copied_and_frozen() -> None:
    reward = np.array(TWO_STATES["reward"])
    mdp = MDP(**{**TWO_STATES, "reward": reward})
    reward[0, 0, 0] = 99
    assert mdp.reward[0, 0, 0, 0] == 1
    assert mdp.next_state.dtype == np.int32
    assert mdp.probability.dtype == np.float64
    assert (mdp.num_states, mdp.num_actions, mdp.num_successors, mdp.num_objectives) == (2, 2, 2, 1)
    with pytest.raises(ValueError, match="read-only"):
        mdp.reward[0] = 0
    np.testing.assert_allclose(mdp.expected_reward[0, :, 0], [1.5, 3.0])  # the filler's 9 is unused


def test_a_model_is_shown_in_one_line() -> None:
    mdp = dataclasses.replace(MDP(**TWO_STATES), objective_names=("time",))
    assert repr(mdp) == "MDP(states: 2, actions: 2, successors: 2, objectives: time)"


def test_a_field_can_be_replaced() -> None:
    mdp = dataclasses.replace(MDP(**TWO_STATES), action_names=("go", "stay"))
    assert mdp.action_label(1) == "action 1 'stay'"
    with pytest.raises(ValueError, match="initial: sums to 2"):
        dataclasses.replace(mdp, initial=np.ones(2))


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"next_state": ((0, 1, 0), 2)}, r"next_state\[0,1,0\] \(state 0, action 1, successor 0\)"),
        ({"next_state": ((0, 1, 1), -1)}, r"next_state\[0,1,1\].*is -1"),
        ({"probability": ((0, 0, 0), 0.4)}, r"probability\[0,0\] .* sums to 0\.9, not 1"),
        ({"probability": ((0, 0), (1.5, -0.5))}, r"probability\[0,0,1\].* is -0\.5, below 0"),
        ({"probability": ((0, 0, 0), np.nan)}, r"probability\[0,0,0\].* is nan"),
        ({"reward": ((0, 1, 0), np.inf)}, r"reward\[0,1,0,0\].*objective 1\): is inf"),
        ({"initial": (0, 0.5)}, r"initial: sums to 0\.5, not 1"),
        ({"initial": ((), (-1.0, 2.0))}, r"initial\[0\] \(state 0\): is -1"),
        ({"next_state": ((1, 1, 0), 0)}, r"terminal\[1,1,0\].*must loop on itself.*state 0"),
        ({"reward": ((1, 0, 0), 5.0)}, r"terminal\[1,0,0,0\].*must not pay.*5"),
    ],
)
def test_a_defect_is_named_with_its_place(entries: Any, message: str) -> None:
    MDP(**two_states_with())
    with pytest.raises(ValueError, match=message):
        MDP(**two_states_with(**entries))


def test_all_defects_are_listed_at_once_and_counted() -> None:
    tables = two_states_with(
        next_state=((0, 0, 0), 7), probability=((0, slice(None), 0), 0.1), initial=(1, 3.0)
    )
    with pytest.raises(ValueError, match=r"next_state") as caught:
        MDP(**tables, state_names=("here", "there"), action_names=("go", "stay"))
    lines = str(caught.value).splitlines()
    assert [line.split("[")[0].split(":")[0] for line in lines] == [
        "next_state",
        "probability",
        "initial",
    ]
    assert "state 0 'here', action 0 'go'" in lines[1]
    assert "(and 1 more)" in lines[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"next_state": np.zeros((2, 2), int)}, r"^next_state: expected shape"),
        ({"next_state": np.zeros((2, 2, 2))}, r"^next_state: expected whole numbers, got float64"),
        ({"next_state": np.full((2, 2, 2), 2**40)}, r"^next_state: .* does not fit"),
        (
            {"next_state": np.full((2, 2, 2), -(2**63))},
            r"^next_state: -9223372036854775808 does not fit into 32 bits",
        ),
        (
            {"next_state": np.full((2, 2, 2), 2**64 - 1, dtype=np.uint64)},
            r"^next_state: 18446744073709551615 does not fit",
        ),
        ({"probability": np.ones((2, 2, 3))}, r"^probability: expected the shape of next_state"),
        ({"reward": np.ones((2, 2, 2))}, r"^reward: expected shape \(2, 2, 2, 'K'\)"),
        ({"initial": [1.0]}, r"^initial: expected one entry per state"),
        ({"terminal": [0.0, 1.0]}, r"^terminal: expected True or False"),
        ({"reward": [[1], [2, 3]]}, r"^reward: expected a regular array"),
        ({"state_names": ("a",)}, r"^state_names: expected 2 names, got 1"),
        ({"action_names": ("a", "a")}, r"^action_names: 'a' appears twice"),
        ({"layout": Layout(("..",), np.zeros((3, 2), int))}, r"^layout: has 3 positions for 2"),
    ],
)
def test_wrong_shapes_and_types(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MDP(**{**TWO_STATES, **change})


def test_a_state_off_the_map_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"positions\[1\]: \(0, 2\) is not on the map of 1 × 2"):
        Layout(("..",), np.array([(0, 0), (0, 2)]))
    with pytest.raises(ValueError, match=r"^labels: expected one for each of 2 states, got 1"):
        Layout(("..",), np.array([(0, 0), (0, 1)]), ("a",))


def test_small_misses_are_scaled_and_larger_ones_are_not() -> None:
    third = np.float32(1) / np.float32(3)
    mdp = MDP(**two_states_with(probability=((0, 0), (2 * third, third))))
    assert mdp.probability[0, 0].sum() == pytest.approx(1, abs=1e-15)
    with pytest.raises(ValueError, match="sums to"):
        MDP(**two_states_with(probability=((0, 0), (0.5, 0.5 - 1e-5))))


def test_unreachable_terminals_matter_only_to_episodic_tasks() -> None:
    mdp = MDP(**two_states_with(next_state=((0, 0, 0), 0)))
    mdp.validate()
    assert mdp.reachable().tolist() == [True, False]
    assert mdp.can_terminate().tolist() == [False, True]
    with pytest.raises(ValueError, match="terminal: cannot be reached from state 0"):
        mdp.validate(episodic=True)
    MDP(**TWO_STATES).validate(episodic=True)


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 4), st.integers(1, 3))
def test_dense_sparse_and_file_are_the_same_model(
    seed: int, states: int, actions: int, objectives: int
) -> None:
    mdp = random_mdp(seed, states, actions, objectives, terminals=seed % states)
    dense = mdp.to_dense()
    np.testing.assert_allclose(dense.transition.sum(axis=-1), 1)
    for other in (MDP.from_dense(*dense), MDP.from_sparse(*mdp.to_sparse())):
        for ours, theirs in zip(dense, other.to_dense(), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-12)
    np.testing.assert_allclose(
        np.einsum("sat,satk->sak", dense.transition, dense.reward), mdp.expected_reward
    )


def test_equal_successors_are_merged_with_their_average_reward() -> None:
    tables = two_states_with(next_state=((0, 0), (0, 0)), probability=((0, 0), (0.25, 0.75)))
    dense = MDP(**tables).to_dense()
    assert dense.transition[0, 0].tolist() == [1, 0]
    assert dense.reward[0, 0, 0, 0] == pytest.approx(0.25 * 1 + 0.75 * 2)


def test_sparse_rewards_by_state_and_action() -> None:
    moves = [sparse.csr_array([[0.0, 1], [0, 0]]), sparse.csr_array([[1.0, 0], [0, 0]])]
    mdp = MDP.from_sparse(moves, [[[1.0], [2.0]], [[0.0], [0.0]]], [1.0, 0], [False, True])
    np.testing.assert_allclose(mdp.expected_reward[0, :, 0], [1, 2])
    with pytest.raises(ValueError, match=r"^reward\[0\]\[1\]: pays for state 0 to 1"):
        MDP.from_sparse(moves, [[moves[0], moves[0]]], [1.0, 0], [False, True])
    with pytest.raises(ValueError, match=r"^transition\[1\]: expected shape \(2, 2\)"):
        MDP.from_sparse([moves[0], sparse.eye_array(3)], [[[1.0]]], [1.0, 0], [False, True])


@pytest.mark.parametrize(
    ("transition", "reward", "message"),
    [
        (np.ones((2, 1, 3)), np.zeros((2, 1, 1)), r"^transition: expected shape \[S,A,S\]"),
        (np.ones((2, 1, 2)) / 2, np.zeros((2, 2, 1)), r"^reward: expected shape"),
        (np.ones((2, 1, 2)) / 3, np.zeros((2, 1, 1)), r"probability\[0,0\].*sums to 0\.66"),
    ],
)
def test_from_dense_names_what_is_wrong(
    transition: np.ndarray, reward: np.ndarray, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        MDP.from_dense(transition, reward, [1.0, 0], [False, False])


@pytest.mark.parametrize("row", ["empty", "loop"])
def test_terminal_rows_must_not_pay_however_they_are_written(row: str) -> None:
    transition = np.zeros((2, 1, 2))
    transition[0, 0, 1] = 1.0
    transition[1, 0, 1] = row == "loop"
    reward = np.zeros((2, 1, 1))
    ends = ([1.0, 0], [False, True])
    assert MDP.from_dense(transition, reward, *ends).probability[1].tolist() == [[1.0]]
    assert MDP.from_sparse([sparse.csr_array(transition[:, 0])], reward, *ends).terminal[1]
    reward[1, 0, 0] = 5.0
    message = r"^terminal\[1,0,0,0\] .*a terminal state must not pay, but has reward 5"
    with pytest.raises(ValueError, match=message):
        MDP.from_dense(transition, reward, *ends)
    with pytest.raises(ValueError, match=message):
        MDP.from_dense(transition, np.repeat(reward[:, :, None], 2, axis=2), *ends)
    with pytest.raises(ValueError, match=message):
        MDP.from_sparse([sparse.csr_array(transition[:, 0])], reward, *ends)
    # rewards of moves that cannot happen are not looked at
    by_target = np.zeros((2, 1, 2, 1))
    by_target[1, 0, 0] = 5.0
    MDP.from_dense(transition, by_target, *ends)


def test_models_and_tasks_do_not_import_jax() -> None:
    code = (
        "import sys, lexicone.models._mdp, lexicone.models._evaluation, lexicone.tasks\n"
        "lexicone.tasks.maze('small')\n"
        "sys.exit('jax' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_read_only_view_does_not_let_the_caller_change_the_model():
    base = np.ones((1, 1, 1, 1))
    view = base[:]
    view.flags.writeable = False
    tables = {
        "next_state": [[[0]]],
        "probability": [[[1.0]]],
        "initial": [1.0],
        "terminal": [False],
    }
    mdp = MDP(**tables, reward=view)
    base[:] = np.nan
    assert mdp.reward.tolist() == [[[[1.0]]]]
    shared = MDP(**tables, reward=mdp.reward)  # nobody can write to that
    assert shared.reward is mdp.reward or np.shares_memory(shared.reward, mdp.reward)
