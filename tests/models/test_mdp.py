import dataclasses
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from lexicone.models import _evaluation as evaluation
from lexicone.models._evaluation import evaluate, state_values
from lexicone.models._layout import Layout
from lexicone.models._mdp import MDP


def random_mdp(seed, states=6, actions=3, objectives=2, terminals=1, successors=3):
    """Every state reaches every other; the last ones are terminal."""
    rng = np.random.default_rng(seed)
    transition = np.zeros((states, actions, states))
    for s, a in np.ndindex(states, actions):
        chosen = rng.choice(states, size=min(successors, states), replace=False)
        transition[s, a, chosen] = rng.dirichlet(np.ones(len(chosen)))
        transition[s, a, (s + 1) % states] += 0.2
    transition /= transition.sum(axis=-1, keepdims=True)
    reward = rng.normal(size=(states, actions, states, objectives))
    terminal = np.arange(states) >= states - terminals
    transition[terminal], reward[terminal] = 0.0, 0.0
    return MDP.from_dense(transition, reward, rng.dirichlet(np.ones(states)), terminal)


def random_policy(mdp, seed):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(mdp.num_actions), size=mdp.num_states)


def chain_mdp(transition, reward, initial=0, terminal=None):
    """One action: what evaluation sees of any policy."""
    transition, reward = np.array(transition, dtype=float), np.array(reward, dtype=float)
    count = len(transition)
    ends = np.zeros(count, dtype=bool) if terminal is None else np.arange(count) == terminal
    return MDP.from_dense(
        transition[:, None, :], reward.reshape(count, 1, -1), np.eye(count)[initial], ends
    )


ONLY = {
    "next_state": [[[1, 0], [0, 0]], [[1, 1], [1, 1]]],
    "probability": [[[0.5, 0.5], [1.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]]],
    "reward": np.array([[[[1.0], [2]], [[3], [9]]], [[[0], [0]], [[0], [0]]]]),
    "initial": [1.0, 0.0],
    "terminal": [False, True],
}


def changed(**entries):
    """The tables of ``ONLY`` with some entries set: name=(index, value)."""
    tables = {name: np.array(table) for name, table in ONLY.items()}
    for name, (index, value) in entries.items():
        tables[name][index] = value
    return tables


def test_tables_are_converted_copied_and_frozen():
    reward = np.array(ONLY["reward"])
    mdp = MDP(**{**ONLY, "reward": reward})
    reward[0, 0, 0] = 99
    assert mdp.reward[0, 0, 0, 0] == 1
    assert mdp.next_state.dtype == np.int32
    assert mdp.probability.dtype == np.float64
    assert (mdp.num_states, mdp.num_actions, mdp.num_successors, mdp.num_objectives) == (2, 2, 2, 1)
    with pytest.raises(ValueError, match="read-only"):
        mdp.reward[0] = 0
    np.testing.assert_allclose(mdp.expected_reward[0, :, 0], [1.5, 3.0])  # the filler's 9 is unused


def test_a_field_can_be_replaced():
    mdp = dataclasses.replace(MDP(**ONLY), action_names=("go", "stay"))
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
def test_a_defect_is_named_with_its_place(entries, message):
    MDP(**changed())
    with pytest.raises(ValueError, match=message):
        MDP(**changed(**entries))


def test_all_defects_are_listed_at_once_and_counted():
    tables = changed(
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
def test_wrong_shapes_and_types(change, message):
    with pytest.raises(ValueError, match=message):
        MDP(**{**ONLY, **change})


def test_a_state_off_the_map_is_an_error():
    with pytest.raises(ValueError, match=r"positions\[1\]: \(0, 2\) is not on the map of 1 × 2"):
        Layout(("..",), np.array([(0, 0), (0, 2)]))
    with pytest.raises(ValueError, match=r"^labels: expected one for each of 2 states, got 1"):
        Layout(("..",), np.array([(0, 0), (0, 1)]), ("a",))


def test_small_misses_are_scaled_and_larger_ones_are_not():
    third = np.float32(1) / np.float32(3)
    mdp = MDP(**changed(probability=((0, 0), (2 * third, third))))
    assert mdp.probability[0, 0].sum() == pytest.approx(1, abs=1e-15)
    with pytest.raises(ValueError, match="sums to"):
        MDP(**changed(probability=((0, 0), (0.5, 0.5 - 1e-5))))


def test_unreachable_terminals_matter_only_to_episodic_tasks():
    mdp = MDP(**changed(next_state=((0, 0, 0), 0)))
    mdp.validate()
    assert mdp.reachable().tolist() == [True, False]
    assert mdp.can_terminate().tolist() == [False, True]
    with pytest.raises(ValueError, match="terminal: cannot be reached from state 0"):
        mdp.validate(episodic=True)
    MDP(**ONLY).validate(episodic=True)


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 4), st.integers(1, 3))
def test_dense_sparse_and_file_are_the_same_model(seed, states, actions, objectives):
    mdp = random_mdp(seed, states, actions, objectives, terminals=seed % states)
    dense = mdp.to_dense()
    np.testing.assert_allclose(dense.transition.sum(axis=-1), 1)
    for other in (MDP.from_dense(*dense), MDP.from_sparse(*mdp.to_sparse())):
        for ours, theirs in zip(dense, other.to_dense(), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-12)
    np.testing.assert_allclose(
        np.einsum("sat,satk->sak", dense.transition, dense.reward), mdp.expected_reward
    )


def test_equal_successors_are_merged_with_their_average_reward():
    tables = changed(next_state=((0, 0), (0, 0)), probability=((0, 0), (0.25, 0.75)))
    dense = MDP(**tables).to_dense()
    assert dense.transition[0, 0].tolist() == [1, 0]
    assert dense.reward[0, 0, 0, 0] == pytest.approx(0.25 * 1 + 0.75 * 2)


def test_sparse_rewards_by_state_and_action():
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
def test_from_dense_names_what_is_wrong(transition, reward, message):
    with pytest.raises(ValueError, match=message):
        MDP.from_dense(transition, reward, [1.0, 0], [False, False])


@pytest.mark.parametrize("row", ["empty", "loop"])
def test_terminal_rows_must_not_pay_however_they_are_written(row):
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


def test_save_and_load(tmp_path):
    layout = Layout(("S#",), np.array([(0, 0), (-1, -1)]), ("home", ""))
    mdp = MDP(**ONLY, state_names=("α", "end"), objective_names=("gain",), layout=layout)
    path = tmp_path / "model.npz"
    path.write_text("an older file")
    mdp.save(path)
    again = MDP.load(path)
    for name in ("next_state", "probability", "reward", "initial", "terminal"):
        np.testing.assert_array_equal(getattr(again, name), getattr(mdp, name))
    assert (again.state_names, again.action_names) == (("α", "end"), None)
    assert again.objective_names == ("gain",)
    assert again.layout is not None
    assert again.layout.rows == ("S#",)
    assert again.layout.labels == ("home", "")
    assert os.listdir(tmp_path) == ["model.npz"]  # no draft is left behind


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.npz"
    MDP(**ONLY).save(path)
    before = path.read_bytes()

    def fail(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(OSError, match="disk full"):
        random_mdp(0).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.npz"]


def test_load_refuses_other_files(tmp_path):
    text, other, pickled = (tmp_path / name for name in ("a.npz", "b.npz", "c.npz"))
    text.write_text("hello")
    np.savez(other, x=np.zeros(3))
    np.savez(pickled, allow_pickle=True, format=np.array("lexicone-mdp-1"), reward=[None, {}])
    empty, array, cut = (tmp_path / name for name in ("d.npz", "e.npz", "f.npz"))
    empty.write_bytes(b"")
    with array.open("wb") as file:
        np.save(file, np.zeros(3))
    MDP(**ONLY).save(cut)
    cut.write_bytes(cut.read_bytes()[:-60])
    for path in (text, other, pickled, empty, array, cut):
        with pytest.raises(ValueError, match=r"^path: .*is not a saved MDP") as caught:
            MDP.load(path)
        assert "pickle" not in str(caught.value)
        assert "\n" not in str(caught.value)
    np.savez(other, format=np.array("lexicone-mdp-1"), reward=np.zeros(3))
    with pytest.raises(ValueError, match=r"has no next_state, probability, initial, terminal"):
        MDP.load(other)
    arrays = {name: np.array(table) for name, table in ONLY.items()}
    arrays["format"] = np.array("lexicone-mdp-1")
    np.savez(other, **arrays)
    MDP.load(other)
    np.savez(other, **arrays, discount=np.array(0.9), horizon=np.array(3))
    with pytest.raises(ValueError, match=r"has fields that no MDP has: discount, horizon$"):
        MDP.load(other)
    np.savez(other, **arrays, layout_rows=np.array(["S."]))
    with pytest.raises(ValueError, match=r"has no layout_positions$"):
        MDP.load(other)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ([0, 2], r"^policy\[1\] \(state 1\): is 2, but actions are numbered from 0 to 1"),
        ([[0.5, 0.5], [0.9, 0.2]], r"^policy\[1\] .*sum to 1, got \[0.9, 0.2\]"),
        ([[1.5, -0.5], [1, 0]], r"^policy\[0\]"),
        ([[np.nan, 1], [1, 0]], r"^policy\[0\]"),
        ([0.0, 1.0], r"^policy: expected probabilities of shape \(2, 2\)"),
        ([0, 1, 1], r"^policy: expected"),
        ([[1.0, 0.0], [1.0]], r"^policy: expected a regular array"),
        (None, r"^policy: expected"),
    ],
)
def test_a_bad_policy_is_named(policy, message):
    with pytest.raises(ValueError, match=message):
        evaluate(MDP(**ONLY), policy, 0.9)


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.5, 0.99, 1.0]))
def test_values_solve_the_bellman_equation(seed, gamma):
    mdp = random_mdp(seed, states=7, terminals=2)
    policy = random_policy(mdp, seed)
    values = state_values(mdp, policy, gamma)
    dense = mdp.to_dense()
    chain = np.einsum("sa,sat->st", policy, dense.transition)
    reward = np.einsum("sa,sat,satk->sk", policy, dense.transition, dense.reward)
    np.testing.assert_allclose(values, reward + gamma * chain @ values, atol=1e-9)
    np.testing.assert_array_equal(values[mdp.terminal], 0)
    np.testing.assert_allclose(evaluate(mdp, policy, gamma), mdp.initial @ values, atol=1e-9)


@given(st.integers(0, 10**6), st.integers(1, 5), st.sampled_from([0.5, 1.0]))
def test_a_horizon_counts_so_many_steps(seed, horizon, gamma):
    mdp = random_mdp(seed, states=5, terminals=1)
    policy = random_policy(mdp, seed)
    dense = mdp.to_dense()
    chain = np.einsum("sa,sat->st", policy, dense.transition)
    reward = np.einsum("sa,sat,satk->sk", policy, dense.transition, dense.reward)
    steps = [gamma**t * mdp.initial @ np.linalg.matrix_power(chain, t) for t in range(horizon)]
    np.testing.assert_allclose(
        evaluate(mdp, policy, gamma, horizon), np.sum(steps, axis=0) @ reward, atol=1e-9
    )
    with pytest.raises(ValueError, match=r"^horizon: must be at least 1"):
        evaluate(mdp, policy, gamma, 0)


@given(st.integers(0, 10**6))
def test_actions_and_one_hot_probabilities_are_the_same_policy(seed):
    mdp = random_mdp(seed)
    actions = np.random.default_rng(seed).integers(mdp.num_actions, size=mdp.num_states)
    np.testing.assert_allclose(
        evaluate(mdp, actions, 0.9), evaluate(mdp, np.eye(mdp.num_actions)[actions], 0.9)
    )


@given(st.integers(0, 10**6))
def test_undiscounted_values_are_the_limit_of_discounted_ones(seed):
    mdp = random_mdp(seed, terminals=1)
    policy = random_policy(mdp, seed)
    close, exact = state_values(mdp, policy, 1 - 1e-9), state_values(mdp, policy, 1.0)
    np.testing.assert_allclose(close, exact, rtol=1e-5, atol=1e-5)


def test_a_loop_that_pays_nothing_counts_nothing():
    # 0 → 1 with reward 3, then 1 ↔ 2 for ever without reward
    mdp = chain_mdp([[0, 1, 0], [0, 0, 1], [0, 1, 0]], [3, 0, 0])
    np.testing.assert_array_equal(state_values(mdp, [0, 0, 0], 1.0)[:, 0], [3, 0, 0])


@pytest.mark.parametrize(("paid", "value"), [((1, 0), np.inf), ((-2, 1), -np.inf)])
def test_a_loop_that_pays_diverges_by_the_sign_of_its_average(paid, value):
    mdp = chain_mdp([[0.5, 0.5, 0], [0, 0, 1], [0, 1, 0]], [0, *paid])
    assert evaluate(mdp, [0, 0, 0], 1.0)[0] == value
    assert np.isfinite(evaluate(mdp, [0, 0, 0], 0.999)[0])


def test_divergence_is_reported_per_objective_and_only_where_it_is_reached():
    transition = np.array([[0, 0.5, 0.5, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    reward = np.array([[0, 5.0], [1, 0], [2, 2], [0, 0]])
    mdp = chain_mdp(transition, reward, terminal=3)
    policy = np.zeros(4, dtype=int)
    np.testing.assert_array_equal(
        state_values(mdp, policy, 1.0), [[np.inf, 6], [np.inf, 0], [2, 2], [0, 0]]
    )
    elsewhere = chain_mdp(transition, reward, initial=2, terminal=3)
    np.testing.assert_array_equal(evaluate(elsewhere, policy, 1.0), [2, 2])


def test_opposite_loops_are_weighed_by_how_likely_they_are():
    def value(up):
        chain = [[0, up, 1 - up], [0, 1, 0], [0, 0, 1]]
        return evaluate(chain_mdp(chain, [7, 1, -1]), [0, 0, 0], 1.0)[0]

    assert value(0.6) == np.inf
    assert value(0.4) == -np.inf
    assert value(0.5) == pytest.approx(7)  # what is won in one is lost in the other


def test_gains_of_several_starts_are_netted():
    mdp = chain_mdp([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [2, -1, 0])

    def value(*initial):
        return evaluate(dataclasses.replace(mdp, initial=np.array(initial)), [0, 0, 0], 1.0)[0]

    assert value(1 / 3, 2 / 3, 0.0) == pytest.approx(0)
    assert value(0.4, 0.6, 0.0) == np.inf
    assert value(0.3, 0.7, 0.0) == -np.inf


@given(st.integers(0, 10**6))
def test_many_loops_of_different_lengths(seed):
    """Loops of 1 to 4 states in random places: the gain is the mean reward, the bias that of walking round."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 5, size=40)
    place = rng.permutation(lengths.sum())
    loops = np.split(place, np.cumsum(lengths)[:-1])
    following = np.empty(len(place), dtype=int)
    for loop in loops:
        following[loop] = np.roll(loop, -1)
    reward = rng.normal(size=(len(place), 2))
    gain, bias = evaluation._undiscounted(
        sparse.csr_array((np.ones(len(place)), (np.arange(len(place)), following))), reward
    )
    for loop in loops:
        np.testing.assert_allclose(gain[loop], np.tile(reward[loop].mean(axis=0), (len(loop), 1)))
        np.testing.assert_allclose(bias[loop].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(bias, reward - gain + bias[following], atol=1e-12)


def test_the_loop_that_is_reached_first_is_ahead_by_what_it_paid_meanwhile():
    # 0 → 1 → 3, which pays 1 for ever, or 0 → 2 → 5 → 4, which costs 1 for ever
    chain = np.zeros((6, 6))
    chain[0, [1, 2]] = 0.5
    chain[[1, 2, 3, 4, 5], [3, 5, 3, 4, 4]] = 1.0
    mdp, policy = chain_mdp(chain, [0, 0, 0, 1, -1, 0]), np.zeros(6, dtype=int)
    assert evaluate(mdp, policy, 1.0)[0] == pytest.approx(0.5)
    assert evaluate(mdp, policy, 1 - 1e-8)[0] == pytest.approx(0.5, abs=1e-6)


def test_rewards_that_cancel_in_a_loop_have_the_abel_sum():
    mdp = chain_mdp([[0, 1], [1, 0]], [1, -1])
    values = state_values(mdp, [0, 0], 1.0)[:, 0]
    np.testing.assert_allclose(values, [0.5, -0.5])
    np.testing.assert_allclose(state_values(mdp, [0, 0], 1 - 1e-8)[:, 0], values, atol=1e-7)


@given(st.integers(0, 10**6))
def test_cancelling_rewards_in_random_recurrent_chains(seed):
    rng = np.random.default_rng(seed)
    chain = 0.8 * rng.dirichlet(np.ones(5), size=5) + 0.04  # mixes quickly
    weights = np.linalg.matrix_power(chain, 200)[0]
    reward = rng.normal(size=5)
    mdp = chain_mdp(chain, reward - weights @ reward)
    exact = state_values(mdp, np.zeros(5, int), 1.0)[:, 0]
    total = sum(np.linalg.matrix_power(chain, t) @ (reward - weights @ reward) for t in range(200))
    np.testing.assert_allclose(exact, total, atol=1e-8)


@pytest.mark.parametrize("gamma", [0.95, 1.0])
def test_iterative_and_direct_solutions_agree(gamma, monkeypatch):
    from lexicone.tasks import grid

    mdp = grid(12, num_objectives=3, slip=0.3)
    policy = random_policy(mdp, 1)
    direct = state_values(mdp, policy, gamma)
    calls = []
    solve = evaluation._Inverse._iterate

    def counted(self, right):
        found = solve(self, right)
        calls.append(found is not None)
        return found

    monkeypatch.setattr(evaluation, "_DIRECT_SIZE", 10)
    monkeypatch.setattr(evaluation._Inverse, "_iterate", counted)
    np.testing.assert_allclose(state_values(mdp, policy, gamma), direct, rtol=1e-10)
    assert calls
    assert all(calls)
    monkeypatch.setattr(evaluation._Inverse, "_iterate", lambda self, right: None)  # it gives up
    np.testing.assert_allclose(state_values(mdp, policy, gamma), direct, rtol=1e-10)


@pytest.mark.parametrize("gamma", [-0.1, 1.1, np.nan])
def test_gamma_is_checked(gamma):
    with pytest.raises(ValueError, match=r"^gamma: must be between 0 and 1"):
        evaluate(MDP(**ONLY), [0, 0], gamma)


def test_models_and_tasks_do_not_import_jax():
    code = (
        "import sys, lexicone.models._mdp, lexicone.models._evaluation, lexicone.tasks\n"
        "lexicone.tasks.maze('small')\n"
        "sys.exit('jax' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
