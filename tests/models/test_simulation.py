import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from lexicone.models import _simulation as simulation
from lexicone.models._environment import (
    EpisodeState,
    cumulative_shares,
    draw_index,
    environment,
    reset,
    step,
)
from lexicone.models._evaluation import evaluate
from lexicone.models._mdp import MDP
from lexicone.models._simulation import satisfaction, simulate
from lexicone.order import Order
from lexicone.tasks import TASKS, garnet, grid, maze, space_traders


def uniform(mdp):
    return np.full((mdp.num_states, mdp.num_actions), 1 / mdp.num_actions)


def agreement(mdp, run):
    """The p-value of recorded steps under the model's table, all states and actions together.

    Steps that the table does not list, or that pay something else, are an error.
    """
    states, actions, rewards = run.trajectories
    alive = np.arange(actions.shape[1]) < run.lengths[:, None]
    before, after = states[:, :-1][alive], states[:, 1:][alive]
    taken, paid = actions[alive], rewards[alive]
    listed = (mdp.next_state[before, taken] == after[:, None]) & (
        mdp.probability[before, taken] > 0
    )
    fits = np.isclose(mdp.reward[before, taken], paid[:, None, :]).all(axis=-1)
    assert (listed & fits).any(axis=1).all()

    counts = np.zeros((mdp.num_states, mdp.num_actions, mdp.num_states))
    np.add.at(counts, (before, taken, after), 1)
    visits = counts.sum(axis=-1, keepdims=True)
    expected = visits * mdp.to_dense().transition
    often = ((expected >= 5) | (expected == 0)).all(axis=-1) & (visits[..., 0] > 0)
    cells = expected[often] > 0
    freedom = cells.sum() - often.sum()
    if freedom == 0:  # deterministic
        return 1.0
    statistic = (counts[often] - expected[often])[cells] ** 2 / expected[often][cells]
    return stats.chi2.sf(statistic.sum(), freedom)


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_every_task_is_simulated_at_the_frequencies_of_its_table(name):
    mdp = TASKS[name].build()
    run = simulate(mdp, uniform(mdp), 2000, seed=3, max_steps=40, record=True)
    assert agreement(mdp, run) > 1e-4
    assert run.trajectories is not None
    taken = run.trajectories.actions[np.arange(40) < run.lengths[:, None]]
    assert stats.chisquare(np.bincount(taken, minlength=mdp.num_actions)).pvalue > 1e-4


@pytest.mark.slow
def test_other_frequencies_are_noticed():
    mdp, other = (grid(5, slip=slip) for slip in (0.2, 0.25))
    run = simulate(mdp, uniform(mdp), 2000, max_steps=40, record=True)
    assert agreement(mdp, run) > 1e-4
    assert agreement(other, run) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [0.9, 1.0])
def test_mean_returns_are_the_exact_values(gamma):
    mdp = maze("extended", objectives="path", slip=0.2)
    policy = np.random.default_rng(0).dirichlet(np.ones(4), size=mdp.num_states)
    run = simulate(mdp, policy, 10_000, seed=1, max_steps=5000, gamma=gamma)
    assert run.terminated.all()
    error = run.returns.std(axis=0) / np.sqrt(len(run.returns))
    deviation = (run.returns.mean(axis=0) - evaluate(mdp, policy, gamma)) / error
    assert (np.abs(deviation) < 4.5).all()
    other = 1.0 if gamma < 1 else 0.9
    assert (np.abs(run.returns.mean(axis=0) - evaluate(mdp, policy, other)) / error > 4.5).all()


@pytest.mark.slow
def test_starts_follow_the_initial_distribution():
    mdp = maze("S.G\nS..")
    weights = np.zeros(mdp.num_states)
    weights[[0, 3]] = 0.25, 0.75
    mdp = MDP(
        next_state=mdp.next_state,
        probability=mdp.probability,
        reward=mdp.reward,
        initial=weights,
        terminal=mdp.terminal,
    )
    run = simulate(mdp, uniform(mdp), 4000, max_steps=1, record=True)
    assert run.trajectories is not None
    counts = np.bincount(run.trajectories.states[:, 0], minlength=mdp.num_states)
    assert counts[weights == 0].sum() == 0
    assert stats.chisquare(counts[weights > 0], 4000 * weights[weights > 0]).pvalue > 1e-4


def test_truncation_is_not_termination():
    mdp = maze("S..G", objectives=("goal", "time"))
    right = np.full(mdp.num_states, 3)
    ended = simulate(mdp, right, 3, max_steps=3)
    assert ended.terminated.all()
    assert not ended.truncated.any()
    assert ended.lengths.tolist() == [3, 3, 3]
    assert ended.returns.tolist() == [[1, -2]] * 3
    cut = simulate(mdp, right, 3, max_steps=2)
    assert cut.truncated.all()
    assert not cut.terminated.any()
    assert cut.returns.tolist() == [[0, -2]] * 3


def test_an_episode_may_begin_at_its_end():
    mdp = maze("SG")
    ended = MDP(
        next_state=mdp.next_state,
        probability=mdp.probability,
        reward=mdp.reward,
        initial=mdp.terminal.astype(float),
        terminal=mdp.terminal,
    )
    run = simulate(ended, uniform(ended), 5)
    assert run.terminated.all()
    assert not run.lengths.any()
    assert not run.returns.any()


def test_step_is_pure_and_tells_both_ends_apart():
    mdp = maze("S.G", objectives=("goal", "time"))
    env, key = environment(mdp), jax.random.key(0)
    episode = reset(env, key)
    assert (int(episode.state), int(episode.time)) == (0, 0)
    move = jax.jit(step)
    first = move(env, episode, 3, key, 1)
    assert (bool(first.terminated), bool(first.truncated)) == (False, True)
    second = move(env, first.episode, 3, key, 2)
    assert (bool(second.terminated), bool(second.truncated)) == (True, False)
    assert second.reward.tolist() == [1, 0]
    after = move(env, second.episode, 0, key, 9)  # nothing moves or is paid at the end
    assert int(after.episode.state) == int(second.episode.state)
    assert after.reward.tolist() == [0, 0]


@pytest.mark.slow
def test_vmapped_steps_are_the_steps_of_a_loop():
    mdp = garnet(20, 3, 4)
    env = environment(mdp)
    keys = jax.random.split(jax.random.key(1), 8)
    states, actions = jnp.arange(8), jnp.arange(8) % 3
    episodes = EpisodeState(states, jnp.zeros(8, dtype=jnp.int32))
    batch = jax.vmap(step, in_axes=(None, 0, 0, 0, None))(env, episodes, actions, keys, 10)
    for i in range(8):
        alone = step(env, EpisodeState(states[i], jnp.int32(0)), actions[i], keys[i], 10)
        assert int(batch.episode.state[i]) == int(alone.episode.state)
        np.testing.assert_array_equal(batch.reward[i], alone.reward)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_episodes_however_many():
    mdp = maze("extended", objectives="path", slip=0.1)
    few, many = (simulate(mdp, uniform(mdp), n, seed=5, max_steps=50) for n in (10, 40))
    np.testing.assert_array_equal(few.returns, many.returns[:10])
    other = simulate(mdp, uniform(mdp), 40, seed=6, max_steps=50)
    assert (other.returns != many.returns).any()
    keyed = simulate(mdp, uniform(mdp), 10, seed=jax.random.key(5), max_steps=50)
    np.testing.assert_array_equal(few.returns, keyed.returns)


@pytest.mark.slow
def test_recorded_episodes_are_those_that_are_not_recorded():
    mdp = maze("extended", objectives="path", slip=0.1)
    plain, kept = (
        simulate(mdp, uniform(mdp), 20, seed=2, max_steps=60, gamma=0.9, record=r)
        for r in (False, True)
    )
    assert plain.trajectories is None
    np.testing.assert_allclose(plain.returns, kept.returns)
    np.testing.assert_array_equal(plain.lengths, kept.lengths)
    assert kept.trajectories is not None
    states, actions, rewards = kept.trajectories
    assert (states.shape, actions.shape, rewards.shape) == ((20, 61), (20, 60), (20, 60, 2))
    discounts = 0.9 ** np.arange(60)
    np.testing.assert_allclose(np.einsum("t,ntk->nk", discounts, rewards), kept.returns)


@pytest.mark.slow
def test_compiled_once_for_all_policies_seeds_discounts_and_caps():
    mdp = maze("concave")
    simulate(mdp, uniform(mdp), 7, max_steps=11)
    compiled: Any = simulation._run
    before = compiled._cache_size()
    simulate(mdp, np.zeros(mdp.num_states, dtype=int), 7, seed=3, max_steps=13, gamma=0.5)
    assert compiled._cache_size() == before
    simulate(mdp, uniform(mdp), 8, max_steps=11)
    assert compiled._cache_size() == before + 1


@pytest.mark.slow
@settings(max_examples=15)
@given(st.integers(0, 10**6))
def test_entries_of_probability_zero_are_never_drawn(seed):
    rng = np.random.default_rng(seed)
    width = int(rng.integers(1, 100))
    weights = np.where(rng.random(width) < 0.5, 0.0, rng.random(width))
    weights[rng.integers(width)] += 0.1
    weights /= weights.sum()
    cumulative = jnp.asarray(cumulative_shares(weights))
    edges = np.concatenate([[0.0, np.nextafter(1, 0)], np.cumsum(weights), rng.random(50)])
    drawn = jax.vmap(lambda u: draw_index(cumulative, u))(jnp.asarray(edges[edges < 1]))
    assert (weights[np.asarray(drawn)] > 0).all()


def test_satisfaction_rates_and_wilson_intervals():
    order = Order([0.0, 10.0])
    returns = np.array([[0, 10, 1], [1, 9, 1], [-1, 11, 1], [2, 20, 1]], dtype=float)
    result = satisfaction(returns, order)
    assert result.rates.tolist() == [0.75, 0.75]
    assert result.overall == 0.5
    assert result.episodes == 4
    z = stats.norm.ppf(0.975)  # Wilson's interval, written out
    centre, half = 0.5, z / (1 + z * z / 4) * np.sqrt(0.25 / 4 + z * z / 64)
    np.testing.assert_allclose(result.overall_interval, (centre - half, centre + half))
    assert result.intervals.shape == (2, 2)
    narrow = satisfaction(returns, order, confidence=0.5)
    assert narrow.intervals[0, 0] > result.intervals[0, 0]
    alone = satisfaction([[1.0], [2.0]], Order([]))
    assert alone.overall == 1
    assert alone.intervals.shape == (0, 2)


@pytest.mark.slow
def test_intervals_hold_the_true_rate_as_often_as_they_should():
    mdp, order, size = space_traders(), Order([1.0]), 100
    policy = np.array([1, 0, 0, 0])  # comes back with probability 0.9
    returns = simulate(mdp, policy, 400 * size, seed=11).returns.reshape(400, size, 2)

    def holds(hits):
        low, high = satisfaction(np.arange(size)[:, None] < [hits, 0], order).overall_interval
        return low <= 0.9 <= high

    exact = float(np.sum([stats.binom.pmf(n, size, 0.9) for n in range(size + 1) if holds(n)]))
    inside = sum(holds(int(batch[:, 0].sum())) for batch in returns)
    assert exact > 0.92
    assert stats.binomtest(inside, 400, exact).pvalue > 1e-3


def test_a_threshold_that_is_reached_up_to_rounding_is_met():
    steps = np.full(10, -0.1, dtype=np.float32)
    total = np.cumsum(steps)[-1]
    assert total < -1  # rounding
    rows, order = np.array([[total, 0], [-1.001, 0]]), Order([-1.0])
    assert satisfaction(rows, order).rates.tolist() == [0.5]
    assert satisfaction(rows, order, tolerance=0.0).rates.tolist() == [0.0]
    assert satisfaction(rows, order, tolerance=0.01).rates.tolist() == [1.0]
    large = Order([1e6])  # relative to the threshold
    assert satisfaction(np.array([[1e6 - 5, 0], [1e6 - 15, 0]]), large).rates.tolist() == [0.5]
    open_ended = (
        satisfaction(rows, Order([-np.inf])).rates,
        satisfaction(rows, Order([np.inf])).rates,
    )
    assert [r.tolist() for r in open_ended] == [[1.0], [0.0]]
    with pytest.raises(ValueError, match=r"^tolerance: must be at least 0"):
        satisfaction(rows, order, tolerance=-1.0)


@pytest.mark.slow
def test_wrong_types_get_one_line_that_names_the_argument():
    """In a process of its own: here the types of arguments are checked before our own checks see them."""
    program = """
import numpy as np
import lexicone as lx
mdp, order = lx.tasks.space_traders(), lx.Order([0.5])
calls = {
    "objective": lambda: lx.sensitivity(mdp, order, "a"),
    "gamma 1": lambda: lx.solve(mdp, order, gamma="x"),
    "gamma 2": lambda: lx.evaluate(mdp, [0, 0, 0, 0], None),
    "gamma 3": lambda: lx.pareto(mdp, gamma="x"),
    "gamma 4": lambda: lx.lvi(mdp, [0.1], gamma="x"),
    "gamma 5": lambda: lx.simulate(mdp, [0, 0, 0, 0], gamma="x"),
    "points 1": lambda: lx.pareto(mdp, points=2.5),
    "points 2": lambda: lx.sensitivity(mdp, order, 0, points=2.5),
    "thresholds": lambda: lx.sensitivity(mdp, order, 0, thresholds=["a"]),
    "seed": lambda: lx.simulate(mdp, [0, 0, 0, 0], seed="a"),
    "episodes": lambda: lx.simulate(mdp, [0, 0, 0, 0], 2.5),
    "policy": lambda: lx.simulate(mdp, "left"),
    "mdp 1": lambda: lx.evaluate(None, [0]),
    "mdp 2": lambda: lx.lvi(None, [0.1], gamma=0.9),
    "mdp 3": lambda: lx.state_values(None, [0]),
    "mdp 4": lambda: lx.simulate(None, [0]),
    "mdp 5": lambda: lx.sensitivity(None, order, 0),
    "slacks": lambda: lx.lvi(mdp, "a", gamma=0.9),
    "returns": lambda: lx.satisfaction("a", order),
}
for name, call in calls.items():
    try:
        call()
        print("accepted", name)
    except ValueError as error:
        right = str(error).startswith(name.split()[0] + ":") and len(str(error).splitlines()) == 1
        print("right" if right else f"wrong {name}: {error}")
lx.simulate(mdp, [0, 0, 0, 0], 3, seed=np.int64(4), max_steps=np.int32(5), gamma=np.float32(0.5))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert set(done.stdout.splitlines()) == {"right"}
    assert len(done.stdout.splitlines()) == 19


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"episodes": 0}, r"^episodes: must be a whole number of at least 1, got 0"),
        ({"max_steps": 0}, r"^max_steps: must be a whole number of at least 1, got 0"),
        ({"gamma": 2.0}, r"^gamma: must be between 0 and 1"),
        ({"policy": np.ones((9, 4))}, r"^policy\[0\]"),
    ],
)
def test_bad_arguments(options, message):
    mdp = maze("small")
    with pytest.raises(ValueError, match=message):
        simulate(mdp, **{"policy": uniform(mdp), **options})


@pytest.mark.parametrize(
    ("returns", "message"),
    [
        (np.zeros((0, 2)), r"^returns: expected shape \[episodes, 2\]"),
        (np.zeros(2), r"^returns: expected shape"),
        (np.zeros((3, 3)), r"^returns: expected shape \[episodes, 2\], got"),
    ],
)
def test_bad_returns(returns, message):
    with pytest.raises(ValueError, match=message):
        satisfaction(returns, Order([0.0]))


@pytest.mark.parametrize(
    ("confidence", "message"),
    [(1, "above 0 and below 1, got 1"), (0.0, "above 0 and below 1"), ("a", "a number, got 'a'")],
)
def test_confidence_is_between_0_and_1(confidence, message, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(ValueError, match=rf"^confidence: must be {message}"):
        satisfaction(np.zeros((3, 2)), Order([0.0]), confidence=confidence)
