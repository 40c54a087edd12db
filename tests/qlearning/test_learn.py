"""Learning from samples: step by step, against the iteration, and at its frequencies."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lexicone.models._environment import environment
from lexicone.models._mdp import MDP
from lexicone.order import Order
from lexicone.qlearning._exploration import EpsilonGreedy, Schedule, Softmax, Visits
from lexicone.qlearning._iterate import tlq_iterate
from lexicone.qlearning._learn import _learn, tlq
from lexicone.qlearning._parts import (
    absolute_slack,
    optimal,
)
from lexicone.qlearning._rules import (
    PRESETS,
    Rule,
    RuleNumbers,
    preset,
)
from lexicone.qlearning._step import (
    StaticSettings,
    TracedSettings,
    init,
    schedule_value,
    step,
    uniform_draws,
)
from lexicone.tasks import space_traders
from tests.helpers.small_models import drawn, fork, random_model


def replay(rule, mdp, order, key, steps, rate, **options):
    """The transitions of one run and its last table, by a plain scan of `step`."""
    env = environment(mdp)
    numbers = RuleNumbers(*map(jnp.asarray, rule.numbers(order)))
    static = StaticSettings(rule.structure, "linear", "epsilon_greedy", "linear")
    limit = jnp.asarray(options.get("max_episode_steps", 1000), jnp.int32)
    constant = jnp.array([rate, rate, steps]), jnp.array([0.3, 0.3, steps])
    traced = TracedSettings(env, numbers, jnp.asarray(0.9), limit, *constant)
    times = jnp.arange(steps)
    draws = uniform_draws(jnp.asarray(key, jnp.uint32), times, jnp.float64)
    first = init(jnp.zeros((mdp.num_states, mdp.num_actions, mdp.num_objectives)))

    @jax.jit
    def scan(traced, first, times, draws):
        return jax.lax.scan(lambda s, now: step(static, traced, s, *now), first, (times, draws))

    final, infos = scan(traced, first, times, draws)
    return jax.tree.map(np.asarray, (final, infos))


@pytest.mark.slow
def test_one_objective_is_q_learning():
    """The table equals that of Q-learning, written out here, on the same transitions; and the run with this seed is
    the same alone as among others."""
    mdp = random_model(4, 5, 3, 1, "any", True)
    steps, rule = 400, PRESETS["gabor"]
    options = {"max_episode_steps": 20}
    final, info = replay(rule, mdp, Order([]), (7, 1), steps, 0.2, **options)
    q = np.zeros((5, 3))
    for t in range(steps):
        s, a, s2 = info.state[t], info.action[t], info.next_state[t]
        ahead = 0.0 if info.terminated[t] else q[s2].max()
        q[s, a] += 0.2 * (info.reward[t, 0] + 0.9 * ahead - q[s, a])
        if t + 1 < steps and not (info.terminated[t] or info.truncated[t]):
            assert info.state[t + 1] == s2
    np.testing.assert_allclose(final.table[..., 0], q, rtol=1e-12, atol=1e-14)
    assert info.terminated.any()
    assert info.truncated.any()
    together = tlq(
        mdp,
        Order([]),
        rule,
        gamma=0.9,
        seeds=3,
        seed=7,
        steps=steps,
        learning_rate=0.2,
        exploration=EpsilonGreedy(0.3),
        log_points=4,
        **options,
    )
    np.testing.assert_allclose(together.q[1], final.table, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(together.visits[1], final.visits)
    assert together.visits.sum(axis=(1, 2)).tolist() == [steps] * 3
    assert not np.array_equal(together.q[0], together.q[1])
    ended = (info.terminated | info.truncated).reshape(4, 100)
    totals = np.where(ended[..., None], info.total.reshape(4, 100, 1), 0).sum(axis=1)
    np.testing.assert_array_equal(together.history.episodes[1], ended.sum(axis=1))
    np.testing.assert_array_equal(
        together.history.terminated[1], info.terminated.reshape(4, 100).sum(axis=1)
    )
    np.testing.assert_allclose(together.history.returns[1], totals / ended.sum(axis=1)[:, None])
    assert together.history.steps.tolist() == [100, 200, 300, 400]


@pytest.mark.slow
def test_sarsa_uses_the_action_that_it_then_takes():
    mdp, steps = random_model(4, 5, 3, 2, "any", True), 300
    final, info = replay(PRESETS["sarsa"], mdp, Order([0.5]), (0, 0), steps + 1, 0.2)
    q = np.zeros((5, 3, 2))
    for t in range(steps):
        ahead = q[info.next_state[t], info.action[t + 1]] * (not info.terminated[t])
        s, a = info.state[t], info.action[t]
        q[s, a] += 0.2 * (info.reward[t] + 0.9 * ahead - q[s, a])
    assert info.terminated.any()
    assert not info.truncated.any()
    untouched = np.ones((5, 3), dtype=bool)
    untouched[info.state[steps], info.action[steps]] = False
    np.testing.assert_allclose(final.table[untouched], q[untouched], rtol=1e-12, atol=1e-14)


def test_a_cut_off_episode_still_has_a_future():
    """A loop that pays 1, cut after each step: after n steps at rate 1 the value is (1−γⁿ)/(1−γ), not 1."""
    mdp = drawn(2, {0: [(0, (1.0,))]}, [1])
    found = tlq(
        mdp,
        Order([]),
        "gabor",
        gamma=0.9,
        seeds=1,
        steps=50,
        learning_rate=1.0,
        max_episode_steps=1,
    )
    np.testing.assert_allclose(found.q[0, 0, 0, 0], (1 - 0.9**50) / 0.1)
    ending = drawn(2, {0: [(1, (1.0,))]}, [1])
    found = tlq(
        ending,
        Order([]),
        "gabor",
        gamma=0.9,
        seeds=1,
        steps=50,
        learning_rate=1.0,
        max_episode_steps=1,
    )
    np.testing.assert_allclose(found.q[0, 0, 0, 0], 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gabor", "informed"])
def test_learning_approaches_the_iteration(name):
    """Space Traders: chance, two stages. No value lies at a limit, where samples would go to and fro."""
    mdp, order = space_traders(), Order([0.88])
    rule = preset(name, tie_tolerance=1e-3)
    exact = tlq_iterate(mdp, order, rule)
    found = tlq(
        mdp,
        order,
        rule,
        seeds=2,
        steps=30_000,
        learning_rate=Visits(half=2.0),
        exploration=EpsilonGreedy(1.0),
        log_points=3,
    )
    alive = ~mdp.terminal
    np.testing.assert_allclose(found.q[:, alive][..., 0], [exact.q[alive][..., 0]] * 2, atol=0.03)
    np.testing.assert_allclose(found.q[:, alive][..., 1], [exact.q[alive][..., 1]] * 2, atol=0.3)
    assert (found.policy.argmax(axis=2) == exact.policy.argmax(axis=1))[:, alive].all()
    np.testing.assert_allclose(found.values, [exact.values] * 2)
    np.testing.assert_allclose(found.history.promise[:, -1], exact.history[[-1, -1]], atol=0.3)


@pytest.mark.slow
def test_learning_clips_the_mean_and_does_not_average_what_is_clipped():
    """0 or 2 with τ=1: min(τ, E[r]) is 1, E[min(τ, r)] would be ½."""
    mdp = MDP(
        next_state=[[[1, 1]], [[1, 1]]],
        probability=[[[0.5, 0.5]], [[1.0, 0.0]]],
        reward=[[[[0.0, 0.0], [2.0, 0.0]]], [[[0.0, 0.0], [0.0, 0.0]]]],
        initial=[1.0, 0.0],
        terminal=[False, True],
    )
    assert tlq_iterate(mdp, Order([1.0])).q[0, 0, 0] == 1.0
    found = tlq(mdp, Order([1.0]), seeds=1, steps=2000, learning_rate=Visits())
    np.testing.assert_allclose(found.q[0, 0, 0, 0], 1.0, atol=0.06)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PRESETS if name != "sarsa"])
def test_learning_without_chance_is_exactly_the_iteration(name):
    rule = preset(name, ties="random" if name == "relative" else "by_objective")
    exact = tlq_iterate(fork(), Order([0.7]), rule, gamma=0.5)
    found = tlq(
        fork(),
        Order([0.7]),
        rule,
        gamma=0.5,
        seeds=1,
        steps=200,
        learning_rate=1.0,
        exploration=EpsilonGreedy(1.0),
    )
    np.testing.assert_allclose(found.q[0], exact.q, atol=1e-12)
    np.testing.assert_allclose(found.policy[0], exact.policy, atol=1e-12)


@pytest.mark.slow
def test_sarsa_learns_the_values_of_what_it_does():
    """A choice (1, 0) or (0, 0) after a step; with ε=½ the second is taken a quarter of the time."""
    choice = [(2, (1.0, 0.0)), (2, (0.0, 0.0))]
    mdp = drawn(3, {0: [(1, (0.0, 0.0))] * 2, 1: choice}, [2])
    options = {
        "seeds": 2,
        "steps": 20_000,
        "learning_rate": Visits(),
        "exploration": EpsilonGreedy(0.5),
    }
    found = tlq(mdp, Order([np.inf]), "sarsa", **options)
    np.testing.assert_allclose(found.q[:, 0, :, 0], 0.75, atol=0.03)
    greedy_target = tlq(mdp, Order([np.inf]), preset("sarsa", update=optimal), **options)
    assert (greedy_target.q[:, 0, :, 0] > 0.99).all()


@pytest.mark.slow
def test_exploration_at_its_frequencies():
    """One decision with known values, b before a before c. Tournament scores are ½, 1 and 0."""
    rows = [(1.0, 1.0), (1.0, 2.0), (0.0, 9.0)]
    mdp = drawn(2, {0: [(1, row) for row in rows]}, [1])
    initial = np.zeros((2, 3, 2))
    initial[0] = rows
    softmax = np.exp(np.array([0.5, 1.0, 0.0]) / 0.4)
    for exploration, expected in (
        (Softmax(0.4), softmax / softmax.sum()),
        (EpsilonGreedy(0.3), np.array([0.1, 0.8, 0.1])),
    ):
        found = tlq(
            mdp,
            Order([0.5]),
            "gabor",
            seeds=1,
            steps=20_000,
            exploration=exploration,
            initial=initial,
        )
        share = found.visits[0, 0] / 20_000
        np.testing.assert_allclose(share, expected, atol=0.015)


def compilations():
    """How many programs `tlq` has compiled so far."""
    return _learn._cache_size()  # type: ignore[attr-defined]


@pytest.mark.slow
def test_same_seed_same_run_and_one_compilation():
    mdp, slack = space_traders(), absolute_slack([0.3])
    short = partial(tlq, mdp, seeds=2, steps=101, log_points=2)
    first = short(order=Order([0.88]), rule=Rule(optimal, slack))
    compiled = compilations()
    again = short(order=Order([0.88]), rule=Rule(optimal, slack))
    np.testing.assert_array_equal(first.q, again.q)
    np.testing.assert_array_equal(first.visits, again.visits)
    others = [
        short(order=Order([0.88]), rule=Rule(optimal, slack), seed=1),
        short(order=Order([0.5]), rule=Rule(optimal, absolute_slack(0.01)), gamma=0.9),
        short(order=Order([0.88]), rule=Rule(optimal, slack, tie_tolerance=0.1), learning_rate=0.5),
        short(order=Order([0.88]), rule=Rule(optimal, slack), max_episode_steps=1, initial=1.0),
        short(
            order=Order([0.88]),
            rule=Rule(optimal, slack),
            exploration=EpsilonGreedy(Schedule(0.5, 0.0, over=0.1)),
        ),
    ]
    assert compilations() == compiled
    assert all(not np.array_equal(first.q, other.q) for other in others)
    assert first.history.steps.tolist() == [50, 100, 101]
    assert first.history.returns.shape == (2, 3, 2)
    assert (first.history.changed[:, 0] == 1).all()


def test_schedules_move_between_their_ends():
    numbers = jnp.array([1.0, 0.01, 100.0])
    np.testing.assert_allclose(
        [schedule_value("linear", numbers, t) for t in (0, 50, 100, 500)], [1, 0.505, 0.01, 0.01]
    )
    np.testing.assert_allclose(
        [schedule_value("geometric", numbers, t) for t in (0, 50, 100, 500)], [1, 0.1, 0.01, 0.01]
    )


@pytest.mark.slow
def test_a_random_start_and_unused_successors():
    """Fillers of probability 0 never count, in sweeps or samples."""
    mdp = MDP(
        next_state=[[[2, 1], [2, 0]], [[2, 0], [2, 2]], [[2, 2], [2, 2]]],
        probability=[[[1.0, 0.0], [1.0, 0.0]], [[0.5, 0.5], [1.0, 0.0]], [[1.0, 0.0]] * 2],
        reward=np.array([1.0, 5.0, 2.0, 4.0, 0.0, 0.0]).reshape(3, 2, 1, 1)
        * np.array([1.0, 0.0]).reshape(1, 1, 2, 1),
        initial=[0.5, 0.5, 0.0],
        terminal=[False, False, True],
    )
    exact = tlq_iterate(mdp, Order([]), "urban")
    np.testing.assert_allclose(exact.q[:2, :, 0], [[1, 5], [0.5 * 2 + 0.5 * 5, 4]])
    found = tlq(mdp, Order([]), "urban", seeds=1, steps=4000, exploration=EpsilonGreedy(1.0))
    np.testing.assert_allclose(found.q[0, 0, :, 0], [1, 5])
    assert abs(found.q[0, 1, 0, 0] - 3.5) < 1.0
