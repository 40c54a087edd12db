"""A solver that remembers: the answers of `solve`, for less work. (Each is verified, as all solutions in tests are.)"""

from typing import Any

import numpy as np
import pytest

import lexicone as lx
from lexicone.exact._column_generation import ColumnGeneration
from lexicone.exact._prepared import Prepared

INF = float("inf")


def orders(mdp: lx.MDP, gamma: float, rng: np.random.Generator) -> list[lx.Order]:
    """Thresholds that bind, that cannot be met, that do not matter, in turns; some with ties broken."""
    best = lx.solve(mdp, lx.Order([INF, INF]), gamma=gamma).values
    last = lx.solve(mdp, lx.Order([-INF, -INF]), gamma=gamma).values
    between = [last + (best - last) * rng.uniform(0, 1, 3) for _ in range(3)]
    found = [lx.Order(v[:2]) for v in between[:3]]
    found += [lx.Order([INF, INF]), lx.Order([-INF, best[1]]), lx.Order([best[0], INF])]
    found += [lx.Order([-INF, -INF], break_ties=True), lx.Order([best[0] + 1.0, last[1]])]
    return [found[n] for n in rng.permutation(len(found))]


def walk_home(size: int, rng: np.random.Generator) -> lx.MDP:
    """Without discounting: states on a line, ways to the end of different lengths and prices, and a place to rest."""
    rows: list[tuple[Any, ...]] = []
    for s in range(size):
        for action in range(3):
            ahead = min(s + 1 + action, size)
            back = max(0, s - int(rng.integers(0, 4)))
            chance = float(rng.uniform(0.6, 0.95))
            paid = (-rng.uniform(0.1, 1) - 0.3 * action, -1.0, -rng.uniform(0, 2))
            rows.append((s, str(action), chance, ahead, *paid))
            rows.append((s, str(action), 1 - chance, back, *paid))
    rows.append((size - 1, "rest", 1.0, size - 1, 0.0, 0.0, 0.0))
    return lx.MDP.from_transitions(rows)


@pytest.mark.parametrize(
    ("gamma", "method"), [(0.97, "columns"), (0.95, "lp"), (1.0, "columns"), (1.0, "lp")]
)
def test_answers_are_those_of_solve(gamma: float, method: Any) -> None:
    rng = np.random.default_rng(3)
    mdp = lx.tasks.garnet(40, seed=4) if gamma < 1 else walk_home(40, rng)
    solver = lx.Solver(mdp, gamma)
    asked = orders(mdp, gamma, rng)
    first = solver.solve(asked[0], method=method)
    for order in asked:
        ours, theirs = solver.solve(order, method=method), lx.solve(mdp, order, gamma=gamma)
        assert ours.status == theirs.status
        np.testing.assert_allclose(ours.key, theirs.key, rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(ours.satisfied, theirs.satisfied)
        np.testing.assert_allclose(lx.evaluate(mdp, ours.policy, gamma), ours.values, atol=1e-6)
        again = solver.solve(asked[0], method=method)
        np.testing.assert_allclose(again.key, first.key, rtol=1e-6, atol=1e-6)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many best policies were looked for, in a list of one number."""
    count = [0]
    plain = ColumnGeneration._best_policy_for

    def count_one(self: ColumnGeneration, *rest: Any) -> Any:
        count[0] += 1
        return plain(self, *rest)

    monkeypatch.setattr(ColumnGeneration, "_best_policy_for", count_one)
    return count


def test_the_same_again_costs_no_policy_and_nearby_ones_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mdp, count = lx.tasks.garnet(210, num_objectives=2, seed=1), counted(monkeypatch)
    ends = [lx.solve(mdp, [t], gamma=0.95).values[0] for t in (-INF, INF)]
    solver = lx.Solver(mdp, 0.95)
    count[0] = 0
    for share in np.linspace(0.05, 0.95, 10):
        solver.solve([ends[0] + share * (ends[1] - ends[0])])
    together, count[0] = count[0], 0
    for share in np.linspace(0.05, 0.95, 10):
        solver.solve([ends[0] + share * (ends[1] - ends[0])])
    assert count[0] == 0
    for share in np.linspace(0.05, 0.95, 10):
        lx.solve(mdp, [ends[0] + share * (ends[1] - ends[0])], gamma=0.95)
    assert together < 0.75 * count[0]


def test_names_in_another_sequence() -> None:
    mdp = lx.tasks.garnet(210, num_objectives=2, seed=2)
    mdp = lx.MDP.from_rows(mdp.rows, mdp.initial, mdp.terminal, objective_names=["a", "b"])
    solver = lx.Solver(mdp, gamma=0.9)
    for order in ({"a": 5.5, "b": None}, {"b": 5.5, "a": None}, {"a": 5.6, "b": None}):
        found, other = solver.solve(order), lx.solve(mdp, order, gamma=0.9)
        np.testing.assert_allclose(found.key, other.key, rtol=1e-6)
    with pytest.raises(ValueError, match="order: has the objectives"):
        solver.solve({"a": 1, "c": None})


def test_after_a_time_limit_it_goes_on() -> None:
    mdp = lx.tasks.garnet(2000, seed=5)
    order, solver = lx.Order([INF, INF]), lx.Solver(mdp, 0.99)
    cut = solver.solve(order, time_limit=1e-3)
    assert cut.status == "limit"
    whole = solver.solve(order)
    assert whole.status == "optimal"
    assert cut.bound[0] >= whole.values[0] - 1e-6
    assert cut.values[0] <= whole.values[0] + 1e-6


def test_a_full_memory_is_emptied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lexicone.exact._prepared._MOST_BYTES", 0)
    mdp = lx.tasks.garnet(210, seed=6)
    solver = lx.Solver(mdp, 0.9)
    for order in (lx.Order([5.0, 5.0]), lx.Order([5.2, 5.0])):
        first, again = solver.solve(order), lx.solve(mdp, order, gamma=0.9)
        np.testing.assert_allclose(first.key, again.key, rtol=1e-6)
    [model] = solver._models.values()
    assert isinstance(model, Prepared)
    assert model.known(model.scale).num_bytes == 0


def test_mistakes_are_named() -> None:
    mdp = lx.tasks.garnet(20)
    with pytest.raises(ValueError, match="gamma"):
        lx.Solver(mdp, 1.5)
    with pytest.raises(ValueError, match="time_limit"):
        lx.Solver(mdp, 0.9).solve([1, 1], time_limit=-1.0)
