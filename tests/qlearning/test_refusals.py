"""Settings that mean nothing, and mistakes."""

from typing import Any, cast

import jaxtyping
import numpy as np
import pytest

from lexicone.order import Order
from lexicone.qlearning._exploration import EpsilonGreedy, Schedule, Softmax, Visits
from lexicone.qlearning._iterate import tlq_iterate
from lexicone.qlearning._learn import tlq
from lexicone.qlearning._parts import (
    absolute_slack,
    absolute_threshold,
    cyclic,
    informed,
    optimal,
    relative_slack,
)
from lexicone.qlearning._rules import (
    Rule,
    preset,
)
from lexicone.tasks import space_traders


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: absolute_slack(-0.1), r"^slack: must not be negative, got -0.1"),
        (lambda: absolute_slack([0.1, float("nan")]), r"^slack: is NaN"),
        (lambda: absolute_slack(cast("Any", "much")), r"^slack: expected a number, got 'much'"),
        (lambda: relative_slack(0.0), r"^ratio: must be above 0 and at most 1, got 0"),
        (lambda: relative_slack([0.5, 1.5]), r"^ratio: must be above 0 and at most 1, got 1.5"),
        (lambda: informed(-1), r"^buffer: must be a finite number"),
        (lambda: Rule(optimal, absolute_threshold(), cyclic), r"^accept: cyclic selection needs"),
        (lambda: Rule(optimal, absolute_threshold(last=1)), r"^accept: ordered selection never"),
        (lambda: preset("gabor", ties="last"), r"^ties: expected one of first, random, by_obj"),
        (lambda: preset("gabor", tie_tolerance=-1.0), r"^tie_tolerance:"),
        (lambda: preset("gabor", ties="random", action_order=(0, 1)), r"^action_order: random"),
        (lambda: preset("q-learning"), r"^rule: expected one of gabor, .*'q-learning'"),
        (lambda: Schedule(1.0, 0.0, shape="geometric"), r"^end:"),
        (lambda: Schedule(1.0, 0.0, shape=cast("Any", "cosine")), r"^shape:"),
        (lambda: Schedule(1.0, over=0.0), r"^over:"),
        (lambda: EpsilonGreedy(1.5), r"^rate:"),
        (lambda: Softmax(0.0), r"^temperature:"),
        (lambda: Visits(start=2.0), r"^start:"),
        (lambda: Visits(half=0.0), r"^half:"),
    ],
)
def test_settings_that_mean_nothing_are_refused(build, message, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize("run", [tlq_iterate, tlq])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"order": Order([])}, r"^order: has 1 objectives .*, but the model has 2"),
        ({"gamma": 1.5}, r"^gamma:"),
        ({"rule": "best"}, r"^rule:"),
        ({"rule": [1]}, r"^rule: expected one of .* or a Rule, got \[1\]"),
        ({"rule": Rule(optimal, absolute_slack([0.1, 0.1]))}, r"^accept: absolute_slack has 2 .*1"),
        (
            {"rule": Rule(optimal, relative_slack([0.1]), cyclic)},
            r"^accept: relative_slack has 1 values, but 2 objectives need 2, one for each objective$",
        ),
        ({"rule": preset("gabor", action_order=(0, 1))}, r"^action_order:"),
        ({"order": Order([-np.inf])}, r"^order: the threshold −∞ of objective 1"),
        ({"initial": [1.0, 2.0, 3.0]}, r"^initial:"),
        ({"initial": np.nan}, r"^initial:"),
    ],
)
def test_mistakes(run, changes, message, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    arguments = {"mdp": space_traders(), "order": Order([0.88]), "rule": "gabor"} | changes
    with pytest.raises(ValueError, match=message):
        run(**arguments)


def test_mistakes_of_each_function(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    mdp, order = space_traders(), Order([0.88])
    for name in ("seeds", "steps", "max_episode_steps", "log_points"):
        zero: Any = {name: 0}
        with pytest.raises(ValueError, match=rf"^{name}: must be at least 1, got 0"):
            tlq(mdp, order, **zero)
    for name in ("seeds", "steps", "max_episode_steps", "log_points", "seed"):
        broken: Any = {name: 2.5}
        with pytest.raises(ValueError, match=rf"^{name}: must be a whole number, got 2.5"):
            tlq(mdp, order, **broken)
    with pytest.raises(ValueError, match=r"^seed:"):
        tlq(mdp, order, seed=-1)
    with pytest.raises(ValueError, match=r"^learning_rate:"):
        tlq(mdp, order, learning_rate=0.0)
    with pytest.raises(ValueError, match=r"^exploration:"):
        tlq(mdp, order, exploration=cast("Any", 0.1))
    with pytest.raises(ValueError, match=r"^max_sweeps:"):
        tlq_iterate(mdp, order, max_sweeps=0)
    with pytest.raises(ValueError, match=r"^max_sweeps: must be a whole number, got 2.5"):
        tlq_iterate(mdp, order, max_sweeps=cast("Any", 2.5))
    with pytest.raises(ValueError, match=r"^tolerance: must be a number, got 'a'"):
        tlq_iterate(mdp, order, tolerance=cast("Any", "a"))
    with pytest.raises(ValueError, match=r"^tolerance:"):
        tlq_iterate(mdp, order, tolerance=-1.0)
