"""What no memory holds is refused before it is taken, and names what to make smaller."""

import subprocess
import sys

import numpy as np
import pytest

from lexicone._base.memory import available_bytes, bytes_text, check_memory
from lexicone.exact._front import pareto, sensitivity
from lexicone.learning._train import train, train_many
from lexicone.learning.algos._a2c import A2C
from lexicone.learning.algos._ppo import PPO
from lexicone.learning.algos._reinforce import Reinforce
from lexicone.models._simulation import simulate
from lexicone.qlearning._learn import tlq
from tests.helpers.bets import BETS, Wager
from tests.helpers.trainings import MAZE, ORDER


@pytest.mark.parametrize(
    ("learner", "options", "named"),
    [
        (PPO(max_steps=10**9), {}, "max_steps"),
        (Reinforce(max_steps=10**10), {}, "max_steps"),
        (PPO(hidden=(10**10,)), {}, "learner"),
        (A2C(hidden=(10**6, 10**7)), {}, "learner"),
        (Reinforce(hidden=(10**18, 10**18)), {}, "learner"),
        (PPO(), {"seeds": 10**9}, "seeds"),
        (PPO(), {"updates": 10**9, "log_every": 1}, "log_every"),
        (PPO(batch=10**9), {}, "max_steps"),
        (PPO(max_steps=5), {"updates": 10**9, "snapshots": 10**9}, "snapshots"),
    ],
)
def test_a_training_that_is_too_large(learner, options, named):
    with pytest.raises(ValueError, match=rf"^{named}: .* (memory|any memory)"):
        train(MAZE, ORDER, learner, **{"seeds": 2, "updates": 1, **options})
    if named in ("learner", "seeds", "log_every"):
        with pytest.raises(ValueError, match=rf"^{named}: .* (memory|any memory)"):
            train(Wager, BETS, learner, **{"seeds": 2, "updates": 1, **options})


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"length": 10**10}, "length"),
        ({"copies": 10**10}, "length"),
        ({"hidden": (10**4,)}, "seeds"),
    ],
)
def test_segments_that_are_too_large(settings, named):
    with pytest.raises(ValueError, match=rf"^{named}: segments of .* would take about"):
        train(Wager, BETS, PPO(**settings), seeds=100, updates=1)


def test_many_variants_count_together(monkeypatch):
    learner = Reinforce(hidden=(6,), max_steps=12)
    monkeypatch.setattr("lexicone._base.memory.available_bytes", lambda: 10**5)
    train(MAZE, ORDER, learner, seeds=1, updates=1)
    with pytest.raises(ValueError, match=r"^seeds: the state of 300 runs would take"):
        train_many(MAZE, [(ORDER, learner)] * 3, seeds=100, updates=1)


def test_simulations_and_tables_that_are_too_large():
    policy = np.zeros(MAZE.num_states, int)
    with pytest.raises(ValueError, match=r"^episodes: 10000000000000 episodes would take about"):
        simulate(MAZE, policy, 10**13)
    with pytest.raises(ValueError, match=r"^episodes: .* with every step kept would take"):
        simulate(MAZE, policy, 10**5, max_steps=10**8, record=True)
    with pytest.raises(ValueError, match=r"^seeds: the tables of 1000000000 runs would take"):
        tlq(MAZE, ORDER, "gabor", seeds=10**9, steps=10)


def test_fronts_and_curves_of_too_many_points():
    with pytest.raises(
        ValueError, match=r"^points: so many thresholds and their values would take"
    ):
        pareto(MAZE, points=10**13)
    with pytest.raises(
        ValueError, match=r"^points: so many thresholds and their values would take"
    ):
        sensitivity(MAZE, ORDER, 0, points=10**13)


def test_what_is_left_is_known():
    assert 10**6 < available_bytes() <= 2**62
    check_memory("seeds", 1000, "little")
    assert [bytes_text(n) for n in (0, 999, 41e9, 1e40)] == [
        "0 bytes",
        "999 bytes",
        "41 GB",
        "1e+22 EB",
    ]


def test_the_limit_of_the_process_counts():
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2 * 2**30, 2 * 2**30))\n"
        "from lexicone._base.memory import available_bytes; print(available_bytes() < 2 * 2**30)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "True"
