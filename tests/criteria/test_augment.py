import itertools
import warnings

import gymnasium
import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st

from lexicone.criteria._augment import augment, augmentation
from lexicone.criteria._augment_rewards import common_unit
from lexicone.criteria._budget_observation import Transition, from_table, with_budgets
from lexicone.criteria._search import search
from lexicone.exact._solve import Status, solve
from lexicone.gym._budget import BudgetObservation
from lexicone.gym._env import MDPEnv
from lexicone.models._evaluation import evaluate
from lexicone.models._mdp import MDP
from lexicone.models._simulation import environment, satisfaction, simulate
from lexicone.order import Order
from lexicone.qlearning._iterate import tlq_iterate
from lexicone.tasks import deep_sea_treasure, maze, road_trip, space_traders
from tests.helpers.environments import FreshInfo
from tests.helpers.small_models import drawn, random_model

SCALARS = ("endpoint", "accumulated", "penalty")
recipes = st.tuples(
    st.integers(0, 2**32 - 1), st.integers(1, 3), st.booleans(), st.sampled_from([1.0, 0.1])
)


def layered(seed, constraints, chance, unit, *, endpoint=False):
    """Four layers of states, the last terminal: every episode takes three steps. And thresholds that matter."""
    rng = np.random.default_rng(seed)
    width, actions, branches = 2, 2, 2 if chance else 1
    states = 1 + 3 * width
    layer = np.array([0, *np.repeat([1, 2, 3], width)])
    following = np.empty((states, actions, branches), dtype=int)
    for s in range(states):
        choice = np.flatnonzero(layer == min(layer[s] + 1, 3))
        following[s] = rng.choice(choice, (actions, branches)) if layer[s] < 3 else s
    probability = rng.dirichlet(np.ones(branches), (states, actions))
    reward = unit * rng.integers(-3, 4, (states, actions, branches, constraints + 1))
    if endpoint:
        reward[layer != 2, ..., -1] = 0.0
    reward[layer == 3] = 0.0
    mdp = MDP(
        next_state=following,
        probability=probability,
        reward=reward,
        initial=np.eye(states)[0],
        terminal=layer == 3,
    )
    return mdp, Order(unit * rng.integers(-6, 7, constraints))


def with_waiting(mdp):
    """One more action everywhere: to stay and pay nothing."""
    here = np.arange(mdp.num_states)[:, None, None]
    wait = np.zeros_like(mdp.probability[:, :1])
    wait[..., 0] = 1.0
    return MDP(
        next_state=np.concatenate([mdp.next_state, np.broadcast_to(here, wait.shape)], axis=1),
        probability=np.concatenate([mdp.probability, wait], axis=1),
        reward=np.concatenate([mdp.reward, np.zeros_like(mdp.reward[:, :1])], axis=1),
        initial=mdp.initial,
        terminal=mdp.terminal,
    )


def trajectories(mdp):
    """Every episode that can happen, as ``(actions and branches, returns)``."""
    found = []

    def follow(state, taken, total):
        if mdp.terminal[state]:
            found.append((taken, total))
            return
        for a, b in np.ndindex(*mdp.probability.shape[1:]):
            if mdp.probability[state, a, b] > 0:
                paid = mdp.reward[state, a, b]
                follow(mdp.next_state[state, a, b], [*taken, (a, b)], total + paid)

    follow(int(mdp.initial.argmax()), [], np.zeros(mdp.num_objectives))
    return found


def walk(mdp, taken):
    """The total of the same actions and branches in an augmented model."""
    state, total = int(mdp.initial.argmax()), np.zeros(mdp.num_objectives)
    for a, b in taken:
        total += mdp.reward[state, a, b]
        state = mdp.next_state[state, a, b]
    assert mdp.terminal[state]
    return total


def best_by_history(mdp, order, gamma=1.0):
    """Brute force over all policies that see the whole history: the best ``(E[min(R_1,τ_1)], …, E[R_K])``."""

    def value(state, total, discount):
        if mdp.terminal[state]:
            return tuple(np.asarray(order.key(total)))
        options = []
        for a in range(mdp.num_actions):
            mean = np.zeros(len(order))
            for b in np.flatnonzero(mdp.probability[state, a]):
                after = total + discount * mdp.reward[state, a, b]
                to = mdp.next_state[state, a, b]
                mean += mdp.probability[state, a, b] * np.array(value(to, after, discount * gamma))
            options.append(tuple(np.round(mean, 11)))
        return max(options)

    starts = [
        np.array(value(s, np.zeros(len(order)), 1.0)) * mdp.initial[s]
        for s in np.flatnonzero(mdp.initial)
    ]
    return np.sum(starts, axis=0)


class TestTheClaim:
    """The appendix: the augmented model orders episodes as the thresholded order does."""

    @given(recipes)
    def test_vector_pays_the_key_of_every_episode(self, recipe):
        mdp, order = layered(*recipe)
        model = augment(mdp, order)
        for taken, returns in trajectories(mdp):
            np.testing.assert_allclose(walk(model, taken), order.key(returns), atol=1e-9)

    @given(recipes, st.sampled_from(SCALARS))
    def test_scalar_rewards_order_every_pair(self, recipe, rewards):
        mdp, order = layered(*recipe, endpoint=rewards == "endpoint")
        model = augment(mdp, order, rewards)
        episodes = trajectories(mdp)
        keys = np.round(order.key(np.array([returns for _, returns in episodes])), 9).tolist()
        totals = [round(float(walk(model, taken)[0]), 9) for taken, _ in episodes]
        met = np.round(order.thresholds, 9).tolist()
        for one, two in itertools.combinations(range(len(episodes)), 2):
            wanted = (keys[one] > keys[two]) - (keys[one] < keys[two])
            if rewards != "penalty" and keys[one][:-1] == keys[two][:-1] != met:
                wanted = 0  # the paper's first two forget p in a missed episode
            found = (totals[one] > totals[two]) - (totals[one] < totals[two])
            assert found == wanted, (keys[one], keys[two], totals[one], totals[two])

    def test_a_small_multiplier_breaks_the_order(self):
        """Erratum: Alternative 2 needs λ large enough, not only C."""
        mdp = drawn(3, {0: [(1, [-3.0, 0.0]), (2, [-2.0, -10.0])]}, terminal=(1, 2))
        order = Order([-1.0])
        found = {m: augmentation(mdp, order, "penalty", multiplier=m) for m in (None, 1.0)}
        best = {m: a.lift(solve(a.mdp, Order([])).policy).values for m, a in found.items()}
        np.testing.assert_allclose(best[None], [-2.0, -10.0])
        np.testing.assert_allclose(best[1.0], [-3.0, 0.0])
        np.testing.assert_allclose(solve(augment(mdp, order), order).values, [-2.0, -10.0])

    @pytest.mark.parametrize("rewards", SCALARS)
    def test_who_never_ends_does_not_escape_a_penalty(self, rewards):
        """To wait for ever misses the threshold of 1; to end meets it, and costs 1."""
        mdp = drawn(2, {0: [(0, [0.0, 0.0]), (1, [1.0, -1.0])]}, terminal=(1,))
        found = augmentation(mdp, Order([1.0]), rewards)
        lifted = found.lift(solve(found.mdp, Order([])).policy)
        np.testing.assert_allclose(lifted.values, [1.0, -1.0])
        assert lifted.chances.overall == 1.0
        assert solve(mdp, Order([0.0])).values[1] == 0.0  # where nothing is missed, it waits

    @given(recipes, st.sampled_from([1.0, 0.9]))
    def test_the_optimum_is_that_of_all_histories(self, recipe, gamma):
        mdp, order = layered(*recipe)
        found = solve(augment(mdp, order, gamma=gamma), order, gamma)
        assert found.status is Status.OPTIMAL
        np.testing.assert_allclose(found.key, best_by_history(mdp, order, gamma), atol=1e-6)

    def test_memory_is_needed(self):
        """A toss-up first; only who knows how it went can choose well. No stationary policy is as good."""
        edges = np.zeros((4, 2, 2), dtype=int)
        edges[0], edges[1], edges[2], edges[3] = [[1, 1]] * 2, [[2, 2], [3, 3]], 2, 3
        reward = np.zeros((4, 2, 2, 2))
        reward[0, :, 1, 0] = -4.0
        reward[1, 1, :] = [-5.0, 3.0]
        mdp = MDP(
            next_state=edges,
            probability=np.full((4, 2, 2), 0.5),
            reward=reward,
            initial=np.eye(4)[0],
            terminal=[False, False, True, True],
        )
        order = Order([-5.0])
        found = search(mdp, order, criterion="episode")
        np.testing.assert_allclose(found.values, [-4.5, 1.5])
        np.testing.assert_allclose(found.policy.chances.rates, 1.0)
        for choice in (0, 1):
            policy = np.array([0, choice, 0, 0])
            augmented = augmentation(mdp, order)
            lifted = augmented.lift(augmented.spread(policy))
            assert order.better(found.key, evaluate(augmented.mdp, lifted.table))

    @given(recipes)
    def test_two_scalar_rewards_agree_with_the_vector_on_deterministic_models(self, recipe):
        """Also where an episode may wait for ever: the vector's answer then has to wait, or not, as well."""
        seed, constraints, waits, unit = recipe
        mdp, order = layered(seed, constraints, False, unit)
        mdp = with_waiting(mdp) if waits else mdp
        key = solve(augment(mdp, order), order).key
        for rewards in ("accumulated", "penalty"):
            found = augmentation(mdp, order, rewards)
            values = found.lift(solve(found.mdp, Order([])).policy).values
            counts = len(key)
            if rewards == "accumulated" and not order.satisfied(values + 1e-9).all():
                counts -= 1
            np.testing.assert_allclose(order.key(values)[:counts], key[:counts], atol=1e-6)


class TestThePapersTasks:
    def test_early_and_late_maze_gets_its_natural_policy(self):
        """Avoid HH, ignore hh: two low penalties and the goal make −7."""
        mdp, order = maze("early-late", objectives="path"), Order([-7.0])
        found = search(mdp, order, criterion="episode")
        np.testing.assert_allclose(found.values, [-7.0, -11.0], atol=1e-9)
        states = found.policy.simulate(1, max_steps=20, record=True).trajectories.states[0]
        tiles = [mdp.layout.rows[r][c] for r, c in mdp.layout.positions[states]]
        assert "H" not in tiles
        assert tiles.count("h") == 2
        assert "G" in tiles
        scalar = augmentation(mdp, order, "penalty")
        values = scalar.lift(solve(scalar.mdp, Order([])).policy).values
        np.testing.assert_allclose(values, [-7.0, -11.0], atol=1e-9)

    @pytest.mark.parametrize("rule", ["gabor", "urban", "relative", "cyclic"])
    def test_tlq_does_not_reach_it(self, rule):
        """Nor do thresholds on values to come; `informed` and `sarsa`, whose values follow the policy, do."""
        mdp, order = maze("early-late", objectives="path"), Order([-7.0])
        for gamma in (0.9, 0.99, 1.0):
            values = evaluate(mdp, tlq_iterate(mdp, order, rule, gamma=gamma).policy)
            np.testing.assert_allclose(values, [1.0, -15.0])

    def test_extended_maze(self):
        mdp, order = maze("extended", objectives="path"), Order([-3.0])
        augmented = augmentation(mdp, order)
        assert augmented.mdp.num_states == 49
        np.testing.assert_allclose(solve(augmented.mdp, order).values, [-3, -8], atol=1e-9)
        mixed = solve(mdp, order).policy
        chances = augmented.chances(augmented.spread(mixed))
        np.testing.assert_allclose(chances.rates, [0.2], atol=1e-9)

    @pytest.mark.parametrize("rewards", ["vector", *SCALARS])
    def test_road_trip(self, rewards):
        mdp, order = road_trip(), Order([-11.0])
        found = augmentation(mdp, order, rewards)
        own = order if rewards == "vector" else Order([])
        lifted = found.lift(solve(found.mdp, own).policy)
        np.testing.assert_allclose(lifted.values, [-11.0, 9.0], atol=1e-9)
        less = augment(mdp, Order([-10.0]))
        assert solve(less, Order([-10.0])).values[1] == pytest.approx(5.0)

    def test_two_budgets_on_the_road(self):
        mdp = road_trip(costs=("toll", "hours"))
        for thresholds, best in (
            ([-11, -15], [-11, -15, 9]),
            ([-11, -14], [-11, -14, 5]),
            ([-11, 0], [-11, -5, 5]),
        ):
            order = Order(thresholds)
            np.testing.assert_allclose(solve(augment(mdp, order), order).key, best, atol=1e-9)

    def test_deep_sea_treasure(self):
        mdp = deep_sea_treasure(objectives=("time", "treasure"))
        for budget, treasure in ((1, 1.0), (4, 2.0), (13, 24.0), (19, 124.0)):
            order = Order([-float(budget)])
            assert solve(augment(mdp, order), order).values[1] == pytest.approx(treasure)

    def test_space_traders_by_episodes(self):
        """Expected success of .88 is one thing, success in every episode another."""
        mdp, order = space_traders(), Order([0.88])
        found = search(mdp, order, criterion="episode")
        np.testing.assert_allclose(found.values, [1.0, -22.0], atol=1e-9)
        mixed = solve(mdp, order)
        augmented = augmentation(mdp, order)
        rate = augmented.chances(augmented.spread(mixed.policy)).overall
        assert rate == pytest.approx(0.88)


def any_lifted(mdp, order):
    """A policy that depends on the budgets, and whose episodes end."""
    augmented = augmentation(mdp, order)
    rng = np.random.default_rng(0)
    return augmented.lift(rng.dirichlet(np.full(mdp.num_actions, 0.5), augmented.mdp.num_states))


class TestLifted:
    def test_simulation_evaluation_and_chances_agree(self):
        mdp, order = maze("small", objectives="path", slip=0.3), Order([-9.0])
        found = any_lifted(mdp, order)
        episodes = found.simulate(20_000, max_steps=2000)
        assert episodes.terminated.all()
        spread = 5 * episodes.returns.std(axis=0) / np.sqrt(20_000)
        assert (np.abs(episodes.returns.mean(axis=0) - found.values) <= spread).all()
        low, high = satisfaction(episodes.returns, order, confidence=0.9999).intervals[0]
        assert low <= found.chances.rates[0] <= high
        even = found.augmented.lift(np.full_like(found.table, 0.25))
        assert not low <= even.chances.rates[0] <= high

    def test_it_runs_beside_the_original(self):
        mdp, order = maze("small", objectives="path", slip=0.3), Order([-9.0])
        lifted = any_lifted(mdp, order)
        env, rng = MDPEnv(mdp, max_steps=200), np.random.default_rng(0)
        for seed in range(20):
            state, _ = env.reset(seed=seed)
            memory, total, over = lifted.begin(state), np.zeros(2), False
            while not over:
                action = lifted.act(memory, rng)
                state, reward, ended, cut, _ = env.step(action)
                memory = lifted.advance(memory, action, state, reward)
                total, over = total + reward, ended or cut
                assert lifted.augmented.state[memory] == state
                left = lifted.augmented.budget[memory, 0]
                assert left == total[0] + 9 or (np.isinf(left) and (left > 0) == (total[0] >= -9))
        with pytest.raises(ValueError, match="next_state: "):
            lifted.advance(lifted.begin(mdp.initial.argmax()), 0, 0, reward)
        with pytest.raises(ValueError, match="state: no episode starts in"):
            lifted.begin(0)
        for name, call in {
            "state": lambda: lifted.begin(99),
            "memory": lambda: lifted.advance(10**6, 0, 0, reward),
            "action": lambda: lifted.advance(0, 9, 0, reward),
        }.items():
            with pytest.raises(ValueError, match=f"{name}: expected a whole number from 0"):
                call()

    def test_a_sure_threshold_can_be_too_dear_to_end(self):
        """With slips every way to the goal may miss −4; who must never miss it stays where it is safe for ever."""
        mdp, order = maze("extended", objectives="path", slip=0.3), Order([-4.0])
        found = search(mdp, order, criterion="episode")
        assert found.status == "divergent"
        assert found.policy.chances.overall == pytest.approx(1.0)
        assert found.values[1] == -np.inf
        assert "objective 2 (time) has no finite total" in found.message

    def test_trajectories_are_the_originals(self):
        mdp, order = maze("extended", objectives="path"), Order([-3.0])
        lifted = search(mdp, order, criterion="episode").policy
        steps = lifted.simulate(3, max_steps=12, record=True).trajectories
        assert steps.states.max() < mdp.num_states
        assert (steps.states[:, 0] == mdp.initial.argmax()).all()
        moved = mdp.next_state[steps.states[:, :-1], steps.actions, 0]
        over = mdp.terminal[steps.states[:, :-1]]
        assert (over | (moved == steps.states[:, 1:])).all()

    def test_its_shadow_is_drawn(self):
        mdp, order = maze("extended", objectives="path"), Order([-3.0])
        lifted = search(mdp, order, criterion="episode").policy
        policy, often = lifted.shadow
        np.testing.assert_allclose(evaluate(mdp, policy), [-3.0, -8.0], atol=1e-9)
        np.testing.assert_allclose(often.sum(), 9.0)
        assert lifted.draw("title").axes[0].get_title() == "title"


class TestEdges:
    def test_budgets_that_never_bind_cost_nothing(self):
        mdp = maze("small", objectives=("goal", "time"))
        order = Order([-1.0])  # nothing can fall below it
        found = augmentation(mdp, order)
        assert found.mdp.num_states == mdp.reachable().sum() + 1  # and the start's copy
        assert solve(found.mdp, order).values[1] == solve(mdp, Order([-np.inf])).values[1]
        assert augment(mdp, Order([-np.inf])).num_states == mdp.reachable().sum()

    @pytest.mark.parametrize("threshold", [-1000.0, 1000.0])
    def test_thresholds_below_the_worst_and_above_the_best(self, threshold):
        mdp, order = deep_sea_treasure(), Order([threshold])
        found = solve(augment(mdp, order), order)
        if threshold > 0:
            np.testing.assert_allclose(found.values, [124.0, -19.0], atol=1e-9)
            assert not found.satisfied[0]
        else:
            np.testing.assert_allclose(found.values, [-1000.0, -1.0], atol=1e-9)
            assert found.satisfied[0]

    def test_infinite_thresholds(self):
        mdp = maze("extended", objectives="path")
        for threshold, best in ((np.inf, [1, -10]), (-np.inf, [-4, -4])):
            order = Order([threshold])
            found = augmentation(mdp, order)
            np.testing.assert_allclose(solve(found.mdp, order).values, best, atol=1e-9)
            assert np.isnan(found.budget).all()
            rates = found.chances(solve(found.mdp, order).policy).rates
            np.testing.assert_array_equal(rates, [float(threshold < 0)])

    def test_zero_reward_loops_keep_what_was_spent(self):
        """Waiting for ever is free, but does not undo the toll that led there; ending costs more."""
        edges = {0: [(1, [-2.0, 0.0])], 1: [(1, [0.0, 0.0]), (2, [-3.0, 5.0])]}
        mdp = drawn(3, edges, terminal=(2,))
        for threshold, best in ((-2.0, [-2, 0]), (-5.0, [-5, 5]), (-1.0, [-2, 0])):
            order = Order([threshold])
            found = solve(augment(mdp, order), order)
            np.testing.assert_allclose(found.values, best, atol=1e-9)

    def test_no_terminal_state_at_all(self):
        """A loop that pays nothing beside one that costs; no episode ends."""
        mdp = drawn(2, {0: [(0, [-1.0, 1.0]), (1, [0.0, 0.0])], 1: [(1, [0.0, 0.0])]})
        order = Order([-3.0])
        found = solve(augment(mdp, order), order)
        np.testing.assert_allclose(found.values, [-3.0, 3.0], atol=1e-9)
        assert not mdp.terminal.any()

    def test_unreachable_terminals(self):
        mdp = drawn(3, {0: [(0, [0.0, 0.0]), (1, [-1.0, 2.0])], 1: [(1, [0.0, 0.0])]}, (2,))
        order = Order([-1.0])
        found = augmentation(mdp, order)
        assert not found.mdp.terminal.any()
        np.testing.assert_allclose(solve(found.mdp, order).values, [-1.0, 2.0], atol=1e-9)

    def test_an_episode_that_starts_at_its_end(self):
        """Half the episodes are over at once; their surplus must not pay for the others' misses."""
        tables = drawn(2, {0: [(1, [-4.0, 1.0]), (1, [-2.0, 0.0])]}, terminal=(1,))
        mdp = MDP(
            next_state=tables.next_state,
            probability=tables.probability,
            reward=tables.reward,
            initial=[0.5, 0.5],
            terminal=tables.terminal,
        )
        order = Order([-2.0])
        found = augmentation(mdp, order)
        best = solve(found.mdp, order)
        np.testing.assert_allclose(best.values, [-2.0, 0.0], atol=1e-9)
        np.testing.assert_allclose(found.lift(best.policy).values, [-1.0, 0.0], atol=1e-9)
        assert found.chances(best.policy).overall == 1.0

    def test_tenths_add_up(self):
        """0.1 + 0.2 is not 0.3 in floating point, but it is one budget; a fixed tolerance of 0 would miss it."""
        edges = {
            0: [(1, [-0.1, 0.0]), (1, [-0.2, 0.0])],
            1: [(2, [-0.2, 0.0]), (2, [-0.1, 0.0])],
            2: [(3, [-0.3, 1.0]), (3, [0.0, 0.0])],
        }
        mdp = drawn(4, edges, terminal=(3,))
        order = Order([-0.6])
        found = augmentation(mdp, order)
        assert solve(found.mdp, order).values[1] == 1.0
        assert len(np.unique(found.budget[found.state == 2])) <= 3

    @pytest.mark.parametrize("gamma", [0.5, 0.9])
    def test_discounted_loops(self, gamma):
        """A loop that costs 1 a step: how often it fits into the discounted budget, by hand."""
        mdp = drawn(2, {0: [(0, [-1.0, 1.0]), (1, [0.0, 0.0])]}, terminal=(1,))
        times = 3
        spent = sum(gamma**t for t in range(times))
        order = Order([-spent])
        found = solve(augment(mdp, order, gamma=gamma), order, gamma)
        np.testing.assert_allclose(found.values, [-spent, spent], atol=1e-6)
        less = Order([-spent + 1e-3])
        found = solve(augment(mdp, less, gamma=gamma), less, gamma)
        np.testing.assert_allclose(found.values[1], spent - gamma ** (times - 1), atol=1e-6)

    @given(st.integers(0, 2**32 - 1), st.sampled_from(["costs", "gains"]))
    def test_loops_of_one_sign_stay_finite(self, seed, kind):
        mdp = random_model(seed, 4, 2, 2, kind, True)
        order = Order([-3.0 if kind == "costs" else 3.0])
        found = augmentation(mdp, order)
        assert found.mdp.num_states <= 4 * 7 + 4
        policy = np.full((found.mdp.num_states, 2), 0.5)
        inside = evaluate(found.mdp, policy)
        if np.isfinite(found.lift(policy).values[0]):
            assert inside[0] <= min(order.thresholds[0], found.lift(policy).values[0]) + 1e-9


class TestRefusals:
    def test_totals_that_change_for_ever_are_refused_at_once(self):
        mdp, order = maze("small"), Order([0.5])
        with pytest.raises(ValueError, match=r"rewards: \"accumulated\" has no end .* \(tiles\)"):
            augment(mdp, order, "accumulated", max_states=10_000_000)
        found = augmentation(mdp, order, "penalty")
        values = found.lift(solve(found.mdp, Order([])).policy).values
        np.testing.assert_allclose(values, [1.0, 0.0], atol=1e-9)

    @pytest.mark.parametrize("crash", [1e6, 1e9])
    def test_rewards_too_small_for_their_scale(self, crash):
        """Three tolls of 1 exceed a budget of 2; beside a crash of 1e9 they would all be one budget."""
        edges = {s: [(s + 1, [-1.0, 9.0 * (s == 2)]), (4, [-crash, 0.0])] for s in range(3)}
        edges[0].append((4, [-2.0, 1.0]))
        mdp, order = drawn(5, edges, terminal=(3, 4)), Order([-2.0])
        if crash == 1e9:
            with pytest.raises(ValueError, match=r"tolerance: objective 1 .* size 1 would be lost"):
                augment(mdp, order)
        model = augment(mdp, order, tolerance=1e-9 if crash < 1e9 else 1e-11)
        np.testing.assert_allclose(solve(model, order).values, [-2.0, 1.0], atol=1e-9)
        far = Order([-1e12])  # decided at the start: its size does not matter
        assert augment(mdp, far).num_states <= 6

    def test_the_size_limit_names_the_objective(self):
        mdp = drawn(
            2,
            {0: [(0, [-1.0, -1.0, 0.0]), (0, [-1.0, np.sqrt(2), 0.0]), (1, [0.0, 0.0, 0.0])]},
            terminal=(1,),
        )
        with pytest.raises(
            ValueError, match=r"more than 500 .* there are 5\d\d.*Objective 2"
        ) as told:
            augment(mdp, Order([-1000.0, -5.0]), max_states=500)
        assert "different budgets" in str(told.value)
        assert augment(mdp, Order([-5.0, -np.inf]), max_states=500).num_states < 500

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"order": Order([])}, "order: has 1 objectives"),
            ({"rewards": "sum"}, "rewards: expected one of"),
            ({"gamma": 0.0}, "gamma: must be above 0"),
            ({"gamma": 0.9, "rewards": "penalty"}, "gamma: rewards='penalty' adds up whole"),
            (
                {"rewards": "endpoint"},
                "rewards: the last objective is paid before the end, in state",
            ),
            ({"order": Order([np.inf]), "rewards": "penalty"}, "a threshold of ∞"),
            ({"multiplier": 2.0}, 'multiplier: rewards="vector" has none'),
            ({"multiplier": -2.0, "rewards": "penalty"}, "multiplier: expected a positive"),
            ({"tolerance": 0.0}, "tolerance: must be"),
            ({"max_states": 0}, "max_states: must be"),
            ({"max_states": 2.5}, "max_states: must be a whole number"),
            ({"gamma": "1"}, "gamma: must be"),
            ({"order": -3.0}, "order: expected an Order or a list"),
            ({"multiplier": "a", "rewards": "penalty"}, "multiplier: expected a positive"),
            ({"multiplier": [1.0, 2.0], "rewards": "penalty"}, "multiplier: expected a positive"),
            (
                {"order": Order([2.0]), "rewards": "penalty"},
                "multiplier: cannot be computed, as totals",
            ),
        ],
    )
    def test_mistakes(self, change, message, monkeypatch):
        monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
        arguments = {"mdp": maze("extended", objectives="path"), "order": Order([-3.0]), **change}
        with pytest.raises(ValueError, match=message):
            augment(**arguments)

    def test_lists_are_taken_too(self):
        mdp = maze("extended", objectives="path")
        one, two = (
            augmentation(mdp, o, "penalty", multiplier=m)
            for o, m in (([-3.0], [2.0]), (Order([-3.0]), 2.0))
        )
        assert one.order == two.order
        assert one.penalty == two.penalty

    def test_a_given_multiplier_replaces_what_cannot_be_computed(self):
        mdp = maze("extended", objectives="path")
        found = augmentation(mdp, Order([2.0]), "penalty", multiplier=100.0)
        values = found.lift(solve(found.mdp, Order([])).policy).values
        np.testing.assert_allclose(values, [1.0, -10.0], atol=1e-9)

    def test_what_can_be_collected_for_ever_has_no_penalty(self):
        mdp = drawn(2, {0: [(0, [-1.0, 1.0]), (1, [0.0, 0.0])]}, terminal=(1,))
        with pytest.raises(ValueError, match="can be collected for ever"):
            augment(mdp, Order([-3.0]), "penalty")
        np.testing.assert_allclose(
            solve(augment(mdp, Order([-3.0])), Order([-3.0])).values, [-3.0, 3.0], atol=1e-9
        )

    def test_common_unit(self):
        assert common_unit(np.array([6.0, -4.0, 0.0])) == pytest.approx(2.0)
        assert common_unit(np.array([0.3, 0.1, 0.25])) == pytest.approx(0.05)
        assert common_unit(np.array([1.0, np.sqrt(2)])) is None
        assert common_unit(np.zeros(3)) is None


class TestWrappers:
    def test_gymnasium_with_states(self):
        mdp, order = road_trip(costs=("toll", "hours")), Order([-10.0, np.inf])
        env = BudgetObservation(MDPEnv(mdp), order)
        seen, _ = env.reset(seed=0)
        assert seen["observation"] == 0
        np.testing.assert_allclose(seen["budget"], [10.0])
        seen, reward, *_ = env.step(1)  # to Cold Harbour, toll 1
        np.testing.assert_allclose(seen["budget"], [9.0])
        np.testing.assert_allclose(reward, [-1.0, -4.0, 0.0])
        assert env.observation_space.contains(seen)
        env.reset()
        np.testing.assert_allclose(env.budget, [10.0])

    def test_gymnasium_with_vectors(self):
        flat = gymnasium.wrappers.FlattenObservation(MDPEnv(maze("small", objectives="path")))
        env = BudgetObservation(gymnasium.wrappers.TimeLimit(flat, 50), Order([-3.0]), gamma=0.5)
        seen, _ = env.reset(seed=1)
        assert seen.shape == (10,)
        for action in (0, 0, 3):
            before = env.budget
            seen, reward, *_ = env.step(action)
            np.testing.assert_allclose(seen[-1], (before[0] + reward[0]) / 0.5)

    def test_gymnasium_checker(self):
        mo_gymnasium = pytest.importorskip("mo_gymnasium")
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # the task's own boxes and the checker warn of their precision
            theirs = BudgetObservation(mo_gymnasium.make("deep-sea-treasure-v0"), Order([24.0]))
            ours = BudgetObservation(MDPEnv(deep_sea_treasure(), max_steps=30), Order([24.0]))
            check_env(FreshInfo(mo_gymnasium.wrappers.LinearReward(ours)), skip_render_check=True)
            seen, _ = theirs.reset(seed=0)
        assert seen.tolist() == [0, 0, -24]
        assert theirs.spec.additional_wrappers[-1].kwargs["order"] == Order([24.0])

    def test_gymnasium_clipped_rewards_add_up(self):
        mdp, order = maze("small", objectives="path", slip=0.3), Order([-9.0])
        env = BudgetObservation(MDPEnv(mdp, max_steps=60), order, rewards="clipped")
        rng = np.random.default_rng(0)
        lost = 0
        for seed in range(30):
            env.reset(seed=seed)
            clipped, over = np.zeros(2), False
            while not over:
                _, reward, ended, cut, info = env.step(rng.integers(4))
                clipped, over = clipped + reward, ended or cut
            total = info["budget"][0] + order.thresholds[0]
            np.testing.assert_allclose(clipped[0] - 9.0, min(total, -9.0), atol=1e-5)
            lost += total < -9
        assert 0 < lost < 30

    def test_jax_is_the_same_as_the_table(self):
        """Episodes of the pure environment, and what the augmented table says of the same steps."""
        mdp, order = maze("small", objectives="path", slip=0.3), Order([-9.0])
        reset, step = with_budgets(*from_table(environment(mdp), 30), order, rewards="clipped")

        def episode(key):
            state, first = reset(key)

            def body(carry, key):
                state, alive, total = carry
                action = jax.random.randint(key, (), 0, 4)
                after = step(state, action, key)
                total = total + jnp.where(alive, after.reward, 0.0)
                state = jax.tree.map(lambda a, b: jnp.where(alive, a, b), after.state, state)
                return (state, alive & ~after.terminated, total), after.observation

            start = (state, jnp.array(True), jnp.zeros(2))
            (state, _, total), seen = jax.lax.scan(body, start, jax.random.split(key, 30))
            return first, seen, state.budget, total

        run = jax.jit(jax.vmap(episode))
        first, seen, budget, total = run(jax.random.split(jax.random.key(0), 64))
        assert first.shape == (64, 10)
        assert seen.shape == (64, 30, 10)
        np.testing.assert_allclose(first[:, -1], 9.0)
        np.testing.assert_allclose(total[:, 0], np.minimum(budget[:, 0], 0.0), atol=1e-9)
        assert (np.asarray(budget) < 0).any()
        assert (np.asarray(budget) >= 0).any()

    @pytest.mark.parametrize("kind", ["int32", "float32"])
    def test_whole_rewards_are_not_cut(self, kind):
        """Four steps of −1 with a budget of 2.5: the clipped rewards add up to −1.5."""

        class Costs(gymnasium.Env):
            observation_space = gymnasium.spaces.Box(0, 1, (1,))
            action_space = gymnasium.spaces.Discrete(2)
            reward_space = gymnasium.spaces.Box(-5, 5, (2,))

            def reset(self, *, seed=None, options=None):
                return np.zeros(1, np.float32), {}

            def step(self, action):
                return np.zeros(1, np.float32), np.full(2, -1, kind), False, False, {}

        env = BudgetObservation(Costs(), Order([-2.5]), rewards="clipped")
        env.reset()
        total = sum(env.step(0)[1] for _ in range(4))
        np.testing.assert_allclose(total, [-1.5, -4.0])

        def step(state, action, key):
            no = jnp.array(False)
            return Transition(state, jnp.zeros(1), jnp.full(2, -1, kind), no, no)

        begin, advance = with_budgets(
            lambda key: (0, jnp.zeros(1)), step, Order([-2.5]), rewards="clipped"
        )
        after, total = Transition(begin(0)[0], 0, 0, 0, 0), np.zeros(2)
        for _ in range(4):
            after = advance(after.state, 0, 0)
            total += after.reward
        np.testing.assert_allclose(total, [-1.5, -4.0])
        longer = with_budgets(lambda key: (0, jnp.zeros(1)), step, Order([-2.5, 0.0]))[1]
        with pytest.raises(ValueError, match=r"order: has 3 objectives .* of shape \(2,\)"):
            longer(after.state, 0, 0)

    @pytest.mark.parametrize("make", ["gym", "jax"])
    def test_mistakes(self, make, monkeypatch):
        monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
        mdp = maze("small")

        def wrap(**options):
            if make == "gym":
                return BudgetObservation(MDPEnv(mdp), Order([1.0]), **options)
            return with_budgets(*from_table(environment(mdp), 9), Order([1.0]), **options)

        for gamma in (0.0, "1"):
            with pytest.raises(ValueError, match="gamma: "):
                wrap(gamma=gamma)
        with pytest.raises(ValueError, match="rewards: "):
            wrap(rewards="none")

    def test_scalar_environments_are_refused(self):
        with pytest.raises(ValueError, match="env: expected vector rewards"):
            BudgetObservation(gymnasium.make("CartPole-v1"), Order([1.0]))
        with pytest.raises(ValueError, match="env: expected vector rewards"):
            BudgetObservation(MDPEnv(maze("small")), Order([1.0, 2.0]))


def test_a_stationary_policy_simulates_alike_with_and_without_budgets():
    mdp, order = maze("extended", objectives="path", slip=0.2), Order([-3.0])
    policy = solve(mdp, order).policy
    augmented = augmentation(mdp, order)
    lifted = augmented.lift(augmented.spread(policy))
    np.testing.assert_allclose(lifted.values, evaluate(mdp, policy), atol=1e-9)
    rates = satisfaction(simulate(mdp, policy, 20_000).returns, order, confidence=0.9999)
    assert rates.intervals[0][0] <= lifted.chances.rates[0] <= rates.intervals[0][1]
