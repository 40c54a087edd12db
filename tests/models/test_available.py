"""Actions that are not available everywhere: respected by everything that takes a model."""

import itertools
from typing import Any

import gymnasium
import numpy as np
import pytest

import lexicone as lx
from lexicone.gym import MDPEnv, MDPVectorEnv
from lexicone.models import environment
from lexicone.models._rows import Rows


def shop() -> lx.MDP:
    """Two steps to the end. "sell" at once would pay most of all.

    From state 0: buy (0) leads to 1 and costs 1, wait (1) leads to 2. From 1: sell (2) pays 3. From 2: wait (1) pays 1.
    What the tables say of other actions is nonsense that must not count.
    """
    available = np.array([[1, 1, 0], [0, 0, 1], [0, 1, 0], [0, 0, 0]], bool)
    next_state = np.array([[[1], [2], [3]], [[3], [3], [3]], [[0], [3], [3]], [[3], [3], [3]]])
    reward = np.full((4, 3, 1, 2), 100.0)
    reward[3] = 0.0
    reward[0, 0], reward[0, 1] = [-1.0, 0.0], [0.0, 0.0]
    reward[1, 2], reward[2, 1] = [0.0, 3.0], [0.0, 1.0]
    return lx.MDP(
        next_state=next_state,
        probability=np.ones((4, 3, 1)),
        reward=reward,
        initial=[1, 0, 0, 0],
        terminal=[False, False, False, True],
        available=available,
        action_names=("buy", "wait", "sell"),
    )


def random_model(seed: int, states: int = 5, actions: int = 3) -> lx.MDP:
    rng = np.random.default_rng(seed)
    transition = rng.dirichlet(np.ones(states), (states, actions))
    transition[..., -1] += 0.3
    transition /= transition.sum(axis=2, keepdims=True)
    terminal = np.arange(states) == states - 1
    available = rng.random((states, actions)) < 0.5
    available[np.arange(states), rng.integers(actions, size=states)] = True
    transition[terminal] = 0.0
    transition[terminal, :, -1] = 1.0
    reward = rng.normal(size=(states, actions, 2))
    reward[terminal] = 0.0
    return lx.MDP.from_dense(transition, reward, np.eye(states)[0], terminal, available=available)


def allowed_policies(mdp: lx.MDP) -> list[np.ndarray]:
    choices = [
        np.flatnonzero(row)[: 1 if end else None]
        for row, end in zip(mdp.available, mdp.terminal, strict=True)
    ]
    return [np.array(policy) for policy in itertools.product(*choices)]


def test_what_tables_say_of_missing_actions_does_not_count():
    mdp = shop()
    assert (mdp.probability[~mdp.available] == 0).all()
    assert (mdp.reward[~mdp.available] == 0).all()
    assert mdp.available[3].all()  # an end is an end, whatever one does


@pytest.mark.parametrize("method", ["lp", "columns"])
def test_solve_takes_none(method):
    found = lx.solve(shop(), lx.Order([-np.inf]), method=method)
    assert found.values == pytest.approx([-1, 3])
    assert not (found.policy[~shop().available] > 0).any()
    assert lx.solve(shop(), lx.Order([0.0]), method=method).values == pytest.approx([0, 1])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("gamma", [0.9, 1.0])
def test_the_best_deterministic_policy_is_that_of_brute_force(seed, gamma):
    mdp = random_model(seed)
    order = lx.Order([0.1])
    best = max(tuple(order.key(lx.evaluate(mdp, p, gamma=gamma))) for p in allowed_policies(mdp))
    found = lx.solve(mdp, order, gamma=gamma, policies="deterministic")
    assert found.key == pytest.approx(best, abs=1e-9)
    mixed = lx.solve(mdp, order, gamma=gamma)
    assert tuple(mixed.key + 1e-9) >= best
    assert not (mixed.policy[~mdp.available] > 0).any()


@pytest.mark.parametrize("policy", [[2, 2, 1, 0], np.full((4, 3), 1 / 3)])
def test_a_policy_that_takes_one_is_refused(policy):
    with pytest.raises(
        ValueError, match=r"policy\[0\] \(state 0\): takes action 2 'sell', which is not available"
    ):
        lx.evaluate(shop(), policy)


def test_a_state_without_any_is_refused_unless_it_is_an_end():
    with pytest.raises(
        ValueError, match=r"available\[0\] \(state 0\): has no action and is not terminal"
    ):
        lx.MDP(
            next_state=[[[1]], [[1]]],
            probability=np.ones((2, 1, 1)),
            reward=np.zeros((2, 1, 1, 1)),
            initial=[1, 0],
            terminal=[False, True],
            available=[[False], [True]],
        )
    with pytest.raises(
        ValueError, match=r"available: expected shape \[S,A\] = \(2, 1\), got \(2,\)"
    ):
        lx.MDP(
            next_state=[[[1]], [[1]]],
            probability=np.ones((2, 1, 1)),
            reward=np.zeros((2, 1, 1, 1)),
            initial=[1, 0],
            terminal=[False, True],
            available=[True, True],
        )


@pytest.mark.parametrize("seed", range(4))
def test_rows_and_tables_are_the_same_model(seed):
    mdp = random_model(seed)
    again = lx.MDP.from_rows(mdp.rows, mdp.initial, mdp.terminal, num_actions=mdp.num_actions)
    assert again.is_sparse
    policy = allowed_policies(mdp)[-1]
    assert lx.evaluate(again, policy) == pytest.approx(lx.evaluate(mdp, policy), abs=1e-12)
    assert lx.solve(again, [0.1] and lx.Order([0.1])).values == pytest.approx(
        lx.solve(mdp, lx.Order([0.1])).values
    )
    assert again.is_sparse  # nothing above made the tables
    for table in ("next_state", "probability", "reward", "available"):
        np.testing.assert_array_equal(getattr(again, table), getattr(mdp, table))
    assert not again.is_sparse


def test_rows_with_defects_name_the_place():
    good = shop().rows

    def changed(**arrays):
        names = ("offsets", "action", "ends", "next_state", "probability", "reward")
        return Rows(**{name: getattr(good, name) for name in names} | arrays)

    def refuse(rows, match):
        with pytest.raises(ValueError, match=match):
            lx.MDP.from_rows(rows, [1, 0, 0, 0], [False, False, False, True])

    half = good.probability.copy()
    half[2] = 0.5
    refuse(changed(probability=half), r"probability \(state 1, action 2\): sums to 0.5, not 1")
    refuse(changed(next_state=np.array([1, 2, 9, 3])), r"next_state \(state 1, action 2\): is 9")
    refuse(
        changed(action=np.array([1, 1, 2, 1])), r"action \(state 0, action 1\): must be listed once"
    )
    with pytest.raises(
        ValueError, match=r"action\[3\] \(state 3\): has no action and is not terminal"
    ):
        lx.MDP.from_rows(good, [1, 0, 0, 0], [False] * 4)


@pytest.mark.parametrize("name", ["initial", "terminal"])
@pytest.mark.parametrize("change", [lambda a: a[:-1], lambda a: a[None], lambda a: a[-1]])
def test_rows_need_a_start_and_an_end_of_each_state(name, change):
    given: dict[str, Any] = {
        "initial": np.array([1.0, 0, 0, 0]),
        "terminal": np.array([False] * 3 + [True]),
    }
    lx.MDP.from_rows(shop().rows, **given)
    with pytest.raises(ValueError, match=rf"^{name}: expected one entry per state \(4,\)"):
        lx.MDP.from_rows(shop().rows, **given | {name: change(given[name])})


def test_the_exact_limit_of_tlq_takes_none():
    found = lx.tlq_iterate(shop(), lx.Order([-0.5]), "gabor")
    assert not (found.policy[~shop().available] > 0).any()
    assert found.values == pytest.approx([0, 1])


@pytest.mark.parametrize("exploration", [None, "softmax"])
def test_learned_tlq_tries_none(exploration):
    from lexicone.qlearning import Softmax

    options: dict[str, Any] = {} if exploration is None else {"exploration": Softmax(0.5)}
    found = lx.tlq(shop(), lx.Order([-0.5]), "gabor", seeds=3, steps=600, **options)
    assert found.visits.sum() == 3 * 600
    assert not found.visits[:, ~shop().available].any()
    assert not (found.policy[:, ~shop().available] > 0).any()


@pytest.mark.slow
@pytest.mark.parametrize(
    "learner",
    [
        lx.PPO(batch=16),
        lx.A2C(batch=16),
        lx.Reinforce(batch=8),
        lx.Reinforce(batch=8, dropout=0.0, entropy=0.1),
    ],
    ids=["PPO", "A2C", "Reinforce", "Reinforce with entropy"],
)
def test_learners_take_none(learner):
    trained = lx.train(shop(), lx.Order([-0.5]), learner, seeds=2, updates=40)
    for seed in range(2):
        policy = trained.policy(seed)
        assert not (policy[~shop().available] > 0).any()
        assert np.isfinite(policy).all()


def test_augmentation_and_search_take_none():
    augmented = lx.augmentation(shop(), lx.Order([-0.5]))
    np.testing.assert_array_equal(augmented.mdp.available, shop().available[augmented.state])
    assert lx.search(shop(), lx.Order([-0.5])).values == pytest.approx([-0.5, 2], abs=1e-6)
    by_episode = lx.search(shop(), lx.Order([-0.5]), criterion="episode")
    assert by_episode.values == pytest.approx([0, 1], abs=1e-6)


@pytest.mark.slow
def test_the_lagrangian_takes_none():
    found = lx.search(shop(), lx.Order([-0.5]), solver="lagrangian", steps=20_000, seeds=2)
    assert found.values == pytest.approx([-0.5, 2], abs=0.2)


@pytest.mark.slow
def test_saved_and_loaded_it_is_the_same(tmp_path):
    shop().save(tmp_path / "shop.npz")
    np.testing.assert_array_equal(lx.MDP.load(tmp_path / "shop.npz").available, shop().available)
    trained = lx.train(shop(), [-0.5], lx.PPO(batch=4), seeds=1, updates=2)
    trained.save(tmp_path / "run.safetensors")
    again = lx.load(tmp_path / "run.safetensors")
    np.testing.assert_array_equal(again.policy(0), trained.policy(0))


def test_rows_are_saved_as_rows(tmp_path):
    mdp = lx.MDP.from_function(
        (0, 1), ["on"], lambda s, a: (1.0, (1, s[1]) if s[0] == 0 else None, -1)
    )
    mdp.save(tmp_path / "rows.npz")
    again = lx.MDP.load(tmp_path / "rows.npz")
    assert again.is_sparse
    assert again.state_names == mdp.state_names
    assert again.factors is not None
    assert again.factors.names == ("factor 1", "factor 2")
    assert lx.evaluate(again, [0, 0, 0]) == pytest.approx([-2])


def test_environments_tell_what_is_available():
    env = MDPEnv(shop())
    _, info = env.reset(seed=0)
    assert info["action_mask"].tolist() == [1, 1, 0]
    assert env.action_space.sample(info["action_mask"]) in (0, 1)
    with pytest.raises(ValueError, match="action: action 2 'sell' is not available in state 0"):
        env.step(2)
    assert env.step(0)[4]["action_mask"].tolist() == [0, 0, 1]
    vector = MDPVectorEnv(shop(), 2, max_steps=1)
    _, info = vector.reset(seed=0)
    assert info["action_mask"].tolist() == [[1, 1, 0]] * 2
    with pytest.raises(
        ValueError, match=r"actions\[1\]: action 2 'sell' is not available in state 0"
    ):
        vector.step(np.array([0, 2]))
    vector.step(np.array([0, 1]))
    vector.step(np.array([0, 0]))  # both begin anew: whatever is said now is ignored
    assert gymnasium.vector.VectorEnv in type(vector).__mro__


def test_where_all_actions_are_available_nothing_is_said():
    mdp = lx.tasks.maze("small")
    assert mdp.available.all()
    assert environment(mdp).available is None
    assert MDPEnv(mdp).reset(seed=0)[1] == {}
