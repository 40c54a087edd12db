"""Whether trained seeds succeeded at a goal, and how sure the rate is."""

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from lexicone.learning._result_model import Trained
from lexicone.models._evaluation import evaluate
from lexicone.studies.learners.tasks import LearningGoal, LearningTask
from lexicone.studies.sweeps.running import REACHED

__all__ = ["GAP", "REACHED", "Judged", "judge", "rate_interval"]

GAP = 0.05
"""In expectation it succeeds if no objective stays further behind, in its unit (`LearningTask.scale`)."""
_ALONG = 100  # episodes for each snapshot
_SLACK = 1e-3  # by which a return may miss what it needs: numbers are single precision


class Judged(NamedTuple):
    """N runs for one goal."""

    success: np.ndarray
    """Whether each seed succeeded, ``[N]``."""
    share: np.ndarray
    """The share of evaluation episodes that reached what the goal needs."""
    gap: np.ndarray
    """To the optimum, in the worst objective, in its unit."""
    variant: str
    steps: float
    """Steps of the environment that a seed learned from, mean."""
    curve: dict[str, Any] | None


def judge(
    task: LearningTask, goal: LearningGoal, label: str, trained: Trained, episodes: int
) -> Judged:
    """Sample ``episodes`` episodes of every seed's policy, and compare it with the optimum."""
    returns = trained.evaluate(episodes, seed=1).returns
    share = _reaches(goal, returns).mean(axis=1)
    values = returns.mean(axis=1)
    if task.criterion == "expected":
        # Within the steps of an episode: arriving some day is not enough.
        cap = trained.learner.max_steps
        values = np.stack([evaluate(task.mdp, each, horizon=cap) for each in trained.policies])
    best = np.array(goal.best)
    unit = np.maximum(1.0, np.abs(best)) if task.scale is None else np.array(task.scale)
    gap = (np.asarray(goal.order.gap(values, best)) / unit).max(axis=1)
    success = gap <= GAP if task.criterion == "expected" else share >= REACHED
    curve = None
    if task.curves:
        times, tables = trained.snapshots
        flat = tables.reshape(-1, *tables.shape[2:])
        along = _reaches(goal, trained.evaluate(_ALONG, policies=flat, seed=2).returns)
        curve = {
            "episodes": (times * trained.learner.batch).tolist(),
            "share": along.mean(axis=1).reshape(tables.shape[:2]).T.round(3).tolist(),
        }
    steps = float(trained.history["steps"][:, -1].mean())
    return Judged(success, share, gap, label, steps, curve)


def _reaches(goal: LearningGoal, returns: np.ndarray) -> Any:
    return np.all(returns >= np.array(goal.needs) - _SLACK, axis=-1)


def rate_interval(success: np.ndarray) -> tuple[float, float, float, str]:
    """The rate over goals and seeds ``[G,N]``, and a 95 % interval: low, high, and how it was made.

    A percentile bootstrap that draws whole seeds: one seed's runs for different goals share their random numbers. Where
    all seeds have the same rate it would have no width, and at 0 or 1 Wilson's interval for N seeds stands in.
    """
    seeds = success.mean(axis=0)
    rate = float(seeds.mean())
    if rate in (0.0, 1.0):
        found = stats.binomtest(round(rate * len(seeds)), len(seeds)).proportion_ci(method="wilson")
        return rate, float(found.low), float(found.high), "Wilson"
    if np.ptp(seeds) == 0:
        return rate, rate, rate, "none: all seeds alike"
    found = stats.bootstrap(
        (seeds,), np.mean, method="percentile", rng=np.random.default_rng(0)
    ).confidence_interval
    return rate, float(found.low), float(found.high), "bootstrap"
