"""Value iteration through the strong components: one pass where nothing goes in circles, never too high elsewhere."""

import numpy as np
import pytest

from lexicone.exact._state_actions import StateActions, all_state_actions
from lexicone.models import MDP


def layered(seed: int, layers: int = 12, width: int = 40, back: float = 0.0) -> MDP:
    """Each state leads to later layers, or stays where it is; with ``back`` some lead to a neighbour instead."""
    rng = np.random.default_rng(seed)
    count = layers * width
    rows = []
    for s in range(count):
        for action in range(int(rng.integers(1, 4))):
            ahead = rng.integers(min(count, (s // width + 1) * width), count + 1, 2).tolist()
            chance = rng.dirichlet(np.ones(3))
            other = s ^ 1 if rng.random() < back else s
            for target, p in zip([*ahead, other], chance, strict=True):
                rows.append((s, action, p, target, rng.normal()))
    return MDP.from_transitions(rows, starts=list(range(count)))


def plain(pairs: StateActions, values: np.ndarray, sweeps: int) -> np.ndarray:
    for _ in range(sweeps):
        values = pairs.highest_by_state(pairs.reward[:, 0] + pairs.next @ values)
    return values


@pytest.mark.parametrize("seed", range(3))
def test_one_pass_where_only_single_states_repeat(seed):
    pairs = all_state_actions(layered(seed), 1.0)
    sweep = pairs.component_sweep
    assert sweep is not None
    low = np.full(pairs.num_states, -100.0)
    found = sweep.run(pairs.reward[:, 0], low, 1)
    assert np.allclose(found, plain(pairs, low, 5000), atol=1e-9)
    assert not np.allclose(found, plain(pairs, low, 5), atol=1e-3)  # as many sweeps at once do not


@pytest.mark.parametrize("seed", range(3))
def test_circles_take_more_and_values_stay_below_the_best(seed):
    pairs = all_state_actions(layered(seed, back=0.3), 1.0)
    sweep = pairs.component_sweep
    assert sweep is not None
    low = np.full(pairs.num_states, -100.0)
    best, before = plain(pairs, low, 5000), low
    for most in (1, 3, 1000):
        found = sweep.run(pairs.reward[:, 0], low, most)
        assert (found <= best + 1e-9).all()
        assert (found >= before - 1e-9).all()
        before = found
    assert np.allclose(before, best, atol=1e-6)


def test_no_sweep_where_all_is_one_circle_or_a_long_row():
    circle = MDP.from_transitions([(s, 0, 1, (s + 1) % 50, 0) for s in range(50)])
    row = MDP.from_transitions([(s, 0, 1, s + 1, 0) for s in range(50)])
    for model in (circle, row):
        assert all_state_actions(model, 1.0).component_sweep is None


@pytest.mark.parametrize("most_actions", [2, 9])
def test_the_highest_and_the_best_of_each_state(most_actions):
    rng = np.random.default_rng(0)
    rows = [(s, a, 1, s, 0) for s in range(80) for a in range(rng.integers(1, most_actions + 1))]
    pairs = all_state_actions(MDP.from_transitions(rows, starts=list(range(80))), 1.0)
    score = rng.integers(0, 4, pairs.num_pairs).astype(float)  # with ties
    blocks = [slice(*pairs.offsets[s : s + 2]) for s in range(80)]
    assert pairs.highest_by_state(score).tolist() == [score[b].max() for b in blocks]
    assert pairs.best_by_state(score).tolist() == [b.start + score[b].argmax() for b in blocks]
