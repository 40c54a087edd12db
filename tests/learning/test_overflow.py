"""What 32 bits cannot carry is refused before any work, or stops with the update and the objective named."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lexicone.exact._solve import solve
from lexicone.learning._saved import load
from lexicone.learning._train import train
from lexicone.learning.algos._ppo import PPO
from lexicone.learning.algos._reinforce import Reinforce
from lexicone.models._mdp import MDP
from lexicone.models._simulation import simulate
from lexicone.order import Order
from lexicone.qlearning._iterate import tlq_iterate
from lexicone.qlearning._taxonomy import classify
from lexicone.tasks import make, maze
from tests.helpers.bets import Wager, altered
from tests.helpers.small_worlds import Bets
from tests.helpers.trainings import LEARNER, MAZE, ORDER, run


@pytest.fixture(autouse=True)
def of_32_bits():
    with jax.enable_x64(False):
        yield


def in_units(size: float) -> MDP:
    tables = {n: getattr(MAZE, n) for n in ("next_state", "probability", "initial", "terminal")}
    return MDP(**tables, reward=MAZE.reward * [1.0, size], objective_names=("tiles+goal", "time"))


@pytest.mark.parametrize("size", [1e300, 1e39, 1e20, 1e-9])
@pytest.mark.parametrize("learner", [PPO(max_steps=20), Reinforce(max_steps=20)])
def test_rewards_that_cannot_be_learned_from_are_refused(size, learner):
    with pytest.raises(
        ValueError, match=r"^mdp: pays .* of time.* units|^mdp: pays .* of time; 32 bits"
    ):
        train(in_units(size), ORDER, learner, seeds=1, updates=1)


def test_rewards_beyond_32_bits_are_not_simulated():
    policy = np.zeros(MAZE.num_states, int)
    with pytest.raises(
        ValueError, match=r"^mdp: pays up to 1e\+39 of time; 32 bits hold at most 3.4"
    ):
        simulate(in_units(1e39), policy)
    with jax.enable_x64(True):
        assert np.isfinite(simulate(in_units(1e39), policy, 2, max_steps=9).returns).all()


@pytest.mark.parametrize("pay", [-1e300, 1e39, 1e20])
def test_an_environment_that_pays_too_much_stops_at_once(pay):
    def step(self: Any, action: int) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        reward = np.array([0.0, pay if self.x > 0.5 else 1.0])
        return np.array([self.x], np.float32), reward, True, False, {}

    for learner, where in (
        (Reinforce(hidden=(), dropout=0.0, batch=16), r"episode \d+ of update 1, run 0"),
        (PPO(hidden=()), r"copy \d+ of run 0, update 1, episode \d, after 1 steps"),
    ):
        name = rf"^task: Altered paid .* of objective 2 in {where}; learners with 32 bits"
        with pytest.raises(ValueError, match=name):
            train(altered(step=step), Order([0.0]), learner, seeds=1, updates=3)


@pytest.mark.parametrize("every", [1, 7])
def test_a_training_that_diverges_stops_with_the_update_and_the_objective(every, tmp_path):
    """The control is the file: it holds the updates before, and going on from there stops in the same one."""
    path = tmp_path / "run.safetensors"
    wild = Reinforce(
        max_steps=12, hidden=(6,), batch=2, temperature=1.0, learning_rate=1e37, optimizer="sgd"
    )
    says = r"^learner: the training of seed \d diverged in update \d+, while improving objective [12] \(ti"
    with pytest.raises(ValueError, match=says) as first:
        run(wild, ORDER, log_every=every, checkpoint=path)
    done = int(load(path).run.update)
    assert f"in update {done + 1}," in str(first.value)
    with pytest.raises(ValueError, match=says) as again:
        run(wild, ORDER, log_every=every, checkpoint=path, resume=True)
    assert str(again.value) == str(first.value)
    assert int(run(LEARNER, ORDER).run.update) == 60


class Breaks(Bets):
    """Now and then one number that cannot be learned from."""

    def __init__(self, kind: str) -> None:
        self.kind, self.name = kind, f"Breaks {kind}"

    def step(self, key: Any, state: Any, action: Any) -> Any:
        row, after, paid, *ends = super().step(key, state, action)
        rare = state > 0.9998
        if self.kind == "observation":
            row = jnp.where(rare, jnp.inf, row)
        else:
            paid = jnp.where(rare, jnp.array([0.0, float(self.kind)]), paid)
        return row, after, paid, *ends


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "given", "every"),
    [
        ("nan", r"a reward of objective 2 \(win\)", 7),
        ("1e30", r"a reward of objective 2 \(win\)", 1),
        ("observation", "an observation", 1),
    ],
)
def test_a_compiled_world_that_breaks_is_told_with_the_update(kind, given, every, tmp_path):
    path = tmp_path / "run.safetensors"
    order = Order({"risk": 0.0, "win": None})
    options: dict[str, Any] = {"seeds": 2, "updates": 200, "log_every": every, "checkpoint": path}
    learner = PPO(hidden=(), copies=4, length=16, epochs=1)
    with pytest.raises(ValueError, match=rf"^task: Breaks {kind} gave {given} that") as found:
        train(Breaks(kind), order, learner, **options)
    done = int(load(path).run.update)
    assert f"in update {done + 1} of run" in str(found.value)
    assert 0 < done < 199


@pytest.mark.slow
@pytest.mark.parametrize("task", [Bets(), Wager])
def test_a_training_on_segments_that_diverges_stops_with_the_update_and_the_objective(
    task, tmp_path
):
    path = tmp_path / "run.safetensors"
    wild = PPO(hidden=(4,), copies=4, length=8, learning_rate=1e37, normalise=False)
    options: dict[str, Any] = {"seeds": 2, "updates": 50, "checkpoint": path}
    says = r"^learner: the training of seed \d diverged in update \d+, while improving objective [12]: "
    with pytest.raises(ValueError, match=says) as first:
        train(task, Order([-0.25]), wild, **options)
    done = int(load(path).run.update)
    assert f"in update {done + 1}," in str(first.value)
    with pytest.raises(ValueError, match=says) as again:
        train(task, Order([-0.25]), wild, **options, resume=True)
    assert str(again.value) == str(first.value)


@pytest.mark.parametrize("gamma", [1 - 1e-10, 1 - 1e-12, np.nextafter(1.0, 0.0)])
def test_a_discount_too_near_to_one_is_refused_with_the_largest_that_is_served(gamma):
    for use in (solve, classify, lambda m, o, gamma: tlq_iterate(m, o, "gabor", gamma=gamma)):
        with pytest.raises(
            ValueError, match=r"^gamma: 0\.9+.* is too near to 1; .* is 0\.999999999$"
        ):
            use(maze("extended", objectives="path"), Order([-3.0]), gamma=gamma)


@pytest.mark.parametrize(("method", "gamma"), [("lp", 0.99999999), ("auto", 0.999999999)])
def test_the_largest_discounts_are_served(method, gamma):
    """By hand: the optimum without discounting, which 10 steps at 1 − 10⁻⁸ change by 10⁻⁷."""
    mdp, order = maze("extended", objectives="path"), Order([-3.0])
    found = solve(mdp, order, gamma=gamma, method=method)
    assert found.status == "optimal"
    np.testing.assert_allclose(found.values, [-3.0, -5.2], atol=1e-6)
    with pytest.raises(
        ValueError,
        match=r"^gamma: .* too near to 1 for method=\"lp\", which takes at most 0.99999999",
    ):
        solve(mdp, order, gamma=0.999999999, method="lp")


def test_a_random_model_has_an_optimum_at_the_largest_discount():
    """It was called unbounded."""
    mdp = make("garnet", seed=3)
    found = solve(mdp, Order([3e8, 3e8]), gamma=0.999999999)
    near = solve(mdp, Order([3e7, 3e7]), gamma=0.99999999)
    assert (found.status, near.status) == ("optimal", "optimal")
    np.testing.assert_allclose(found.values * 1e-9, near.values * 1e-8, rtol=1e-5)
