import re
from pathlib import Path

import numpy as np
import pytest

from lexicone.exact._lvi import lvi
from lexicone.exact._solve import solve
from lexicone.order import Order
from tests.helpers.small_models import deterministic_values, drawn, random_model


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_slack_is_never_exceeded(seed):
    mdp = random_model(seed, 5, 3, 3, "any", False)
    slack = np.random.default_rng(seed).random(2) * 2
    found = lvi(mdp, slack, gamma=0.9)
    assert (found.values[:2] >= found.best[:2] - slack - 1e-9).all()
    rows = deterministic_values(mdp, 0.9)
    np.testing.assert_allclose(found.best[0], rows[:, 0].max(), atol=1e-8)


@pytest.mark.parametrize("seed", range(10))
def test_without_slack_it_is_the_lexicographic_optimum(seed):
    mdp = random_model(seed, 5, 3, 3, "ties", False)
    found = lvi(mdp, [0.0, 0.0], gamma=0.9)
    best = solve(mdp, Order([np.inf, np.inf]), gamma=0.9)
    # that optimum is the best from the start; value iteration wants the best from every state
    np.testing.assert_allclose(found.values[0], best.values[0], atol=1e-8)
    assert not Order([np.inf, np.inf]).better(found.values, best.values + 1e-7)


def test_with_unlimited_slack_only_the_last_objective_counts():
    mdp = random_model(1, 5, 3, 2, "any", False)
    found = lvi(mdp, [np.inf], gamma=0.9)
    np.testing.assert_allclose(
        found.values[1], deterministic_values(mdp, 0.9)[:, 1].max(), atol=1e-8
    )


def test_slack_and_thresholds_differ():
    """One decision that costs 0.5 of the first objective and gains 1 of the second, and four states on the way.

    The threshold V₁ ≥ V₁* − 0.5 allows it. Slack 0.5 does not: at each step only (1−γ)·0.5 may be lost. With slack
    0.5/(1−γ) it is allowed, and so would be a loss of 0.5 at each of the steps before.
    """
    moves = {s: [(s + 1, (0, 0)), (s + 1, (-0.5, 0.1))] for s in range(3)}
    mdp = drawn(5, {**moves, 3: [(4, (0, 0)), (4, (-0.5, 1))]}, [4])
    gamma = 0.9
    threshold = -0.5 * gamma**3
    best = solve(mdp, Order([threshold]), gamma=gamma)
    np.testing.assert_allclose(best.values, [threshold, gamma**3], atol=1e-9)
    table = {
        slack: lvi(mdp, [slack], gamma=gamma).values
        for slack in (0.5 * gamma**3, 0.5 / (1 - gamma))
    }
    tight, loose = table.values()
    np.testing.assert_allclose(tight, [0, 0], atol=1e-12)
    everything = 1 + gamma + gamma**2
    np.testing.assert_allclose(
        loose, [-0.5 * (everything + gamma**3), 0.1 * everything + gamma**3], atol=1e-9
    )
    order = Order([threshold])
    assert order.better(best.values, tight)
    assert order.better(best.values, loose)


@pytest.mark.slow
def test_the_page_on_models_prints_what_it_says(capsys):
    """All its examples, one after the other: statuses, prices, and where slack and thresholds differ."""
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text()
    exec("\n".join(re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)), {})
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 16
    for line in printed:
        assert line in page


def test_mistakes():
    mdp = random_model(1, 3, 2, 2, "any", False)
    with pytest.raises(ValueError, match=r"^slacks:"):
        lvi(mdp, [0.1, 0.1], gamma=0.9)
    with pytest.raises(ValueError, match=r"^slacks:"):
        lvi(mdp, [-0.1], gamma=0.9)
    with pytest.raises(ValueError, match=r"^gamma:"):
        lvi(mdp, [0.1], gamma=1.0)
