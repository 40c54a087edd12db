"""`verify` proves what is right and refuses what was tampered with, in floating point and in whole numbers."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import lexicone as lx
from lexicone.exact._solution import Solution, Status
from lexicone.proofs import Certificate, StageProof, verify
from tests.helpers.small_models import drawn, fork, random_model

pytestmark = pytest.mark.usefixtures("without_shape_checks")


def solved(gamma: float) -> tuple[lx.MDP, Solution]:
    """Three objectives: one threshold that binds, one that is maximised, and the last."""
    mdp = random_model(8, 6, 3, 3, "costs", True)
    best = lx.solve(mdp, lx.Order([np.inf, -np.inf]), gamma=gamma)
    last = lx.solve(mdp, lx.Order([-np.inf, -np.inf]), gamma=gamma)
    middle = 0.5 * (best.values[0] + last.values[0])
    return mdp, lx.solve(mdp, lx.Order([middle, np.inf]), gamma=gamma)


MODELS = {gamma: solved(gamma) for gamma in (0.9, 1.0)}
BOTH = pytest.mark.parametrize("exact", [False, True])
GAMMAS = pytest.mark.parametrize("gamma", MODELS)


@BOTH
@GAMMAS
def test_a_solution_is_proven(gamma: float, exact: bool):
    mdp, solution = MODELS[gamma]
    found = verify(mdp, solution, exact=exact)
    assert found.ok, found.message
    assert found.exact is exact
    assert found.status == "optimal"
    names = [claim.name for claim in found.claims]
    assert {"policy", "key", "thresholds met", "value of objective 1"} <= set(names)
    assert "bound on objective 3" in names
    assert all(claim.error <= (1e-20 if exact else 1e-9) for claim in found.claims[:4])


def another_policy(solution: Solution) -> np.ndarray:
    """Another choice where the policy goes most often."""
    policy = solution.policy.copy()
    state = int(solution.occupancy.sum(axis=1).argmax())
    policy[state] = np.roll(policy[state], 1)
    return policy


def other_duals(solution: Solution, field: str) -> Certificate:
    assert solution.certificate is not None
    changed = []
    for stage in solution.certificate.stages:
        weights, values = stage.weights.copy(), stage.state_values.copy()
        if field == "weights":
            weights = np.where(weights == 1, 1.0, 0.5 * weights)
        else:
            values = values - 0.1 * (1 + np.abs(values))
        changed.append(StageProof(stage.objective, weights, values))
    return Certificate(tuple(changed))


TAMPERED = {
    "policy": lambda s: {"policy": another_policy(s)},
    "half a policy": lambda s: {"policy": 0.5 * s.policy},
    "values": lambda s: {"values": s.values + 1e-4, "key": s.order.key(s.values + 1e-4)},
    "key": lambda s: {"key": s.key + 1e-4},
    "satisfied": lambda s: {"satisfied": ~s.satisfied},
    "bound below": lambda s: {"bound": s.bound - np.array([0.0, 0.0, 1e-3])},
    "bound above": lambda s: {"bound": s.bound + np.array([0.0, 0.0, 1e-3])},
    "weights": lambda s: {"certificate": other_duals(s, "weights")},
    "state values": lambda s: {"certificate": other_duals(s, "state_values")},
    "no duals": lambda s: {"certificate": None},
    "unbounded": lambda s: {"status": Status.UNBOUNDED},
    "divergent": lambda s: {"status": Status.DIVERGENT},
    "supremum": lambda s: {"status": Status.SUPREMUM},
    "order": lambda s: {"order": lx.Order([s.order.thresholds[0] - 1.0, np.inf])},
    "fewer objectives": lambda s: {"order": lx.Order([0.0])},
}
BLAMED = {
    "policy": "value of",
    "half a policy": "policy",
    "values": "value of",
    "key": "key",
    "satisfied": "thresholds met",
    "bound below": "bound on objective 3",
    "bound above": "bound on objective 3",
    "state values": "duals",
    "unbounded": "unbounded",
    "divergent": "divergence",
    "fewer objectives": "model",
}


@BOTH
@GAMMAS
@pytest.mark.parametrize("what", TAMPERED)
def test_what_was_tampered_with_is_refused(what: str, gamma: float, exact: bool):
    mdp, solution = MODELS[gamma]
    changed = replace(solution, **TAMPERED[what](solution))
    found = verify(mdp, changed, exact=exact)
    assert not found.ok
    assert found.refuted
    assert found.message.startswith(BLAMED.get(what, "")), found.message


@BOTH
def test_a_solution_of_another_model(exact: bool):
    mdp, solution = MODELS[0.9]
    other = random_model(9, 6, 3, 3, "costs", True)
    assert not verify(other, solution, exact=exact).ok
    larger = random_model(8, 7, 3, 3, "costs", True)
    assert verify(larger, solution, exact=exact).refuted[0].name == "model"
    assert verify(mdp, solution, exact=exact).ok


def test_names_are_matched():
    """A solution for the objectives in another sequence is one of the model; other names are those of another."""
    mdp = lx.tasks.space_traders()
    solution = lx.solve(mdp, lx.Order({"time": -12.0, "success": None}))
    assert verify(mdp, solution).ok, verify(mdp, solution).message
    swapped = replace(solution, order=lx.Order({"success": -12.0, "time": None}))
    assert not verify(mdp, swapped).ok
    other = replace(solution, order=lx.Order({"time": -12.0, "profit": None}))
    assert verify(mdp, other).refuted[0].name == "model"


@BOTH
def test_values_are_known_exactly(exact: bool):
    """The fork: half of the way between (1, 0) and (0.8, 1)."""
    found = verify(fork(), lx.solve(fork(), lx.Order([0.9])), exact=exact)
    assert found.ok, found.message
    errors = [claim.error for claim in found.claims if claim.name.startswith("value")]
    assert max(errors) <= (0.0 if exact else 1e-12)


def test_statuses_without_an_optimum():
    """Each with its witness; and each refuted where it is not so."""
    pays = drawn(2, {0: [(0, (0, 1)), (1, (0, 0))]}, [1])
    unbounded = lx.solve(pays, lx.Order([0.0]))
    costs = drawn(2, {0: [(0, (0, -1)), (1, (-1, -3))]}, [1])
    divergent = lx.solve(costs, lx.Order([0.0]))
    near = drawn(3, {0: [(2, (0, 10)), (1, (0, 0))], 1: [(1, (1, 0)), (2, (0, 0))]}, [2])
    supremum = lx.solve(near, lx.Order([5.0]))
    stays = drawn(2, {0: [(0, (0, 0)), (1, (-10, 5))]}, [1])
    memory = lx.solve(stays, lx.Order([-5.0]))
    cases = [(pays, unbounded), (costs, divergent), (near, supremum), (stays, memory)]
    assert [s.status for _, s in cases] == ["unbounded", "divergent", "supremum", "needs memory"]
    for mdp, solution in cases:
        for exact in (False, True):
            found = verify(mdp, solution, exact=exact)
            assert found.ok, (solution.status, found.message)
    free = drawn(2, {0: [(0, (0, 0)), (1, (0, 0))]}, [1])
    assert not verify(free, unbounded).ok
    assert not verify(free, divergent).ok
    assert not verify(stays, replace(memory, stay=np.zeros(2))).ok
    assert not verify(pays, replace(unbounded, status=Status.OPTIMAL)).ok
    assert not verify(near, replace(supremum, status=Status.OPTIMAL)).ok
    failed = replace(supremum, status=Status.FAILED)
    assert verify(near, failed).ok  # nothing is claimed but the values


def test_deterministic_policies_are_checked_and_their_search_is_not():
    mdp = lx.tasks.space_traders()
    solution = lx.solve(mdp, lx.Order([0.88]), policies="deterministic")
    found = verify(mdp, solution)
    assert not found.ok
    assert not found.refuted
    assert found.message.startswith("bound: the search")
    assert verify(mdp, replace(solution, values=solution.values + 1, key=solution.key + 1)).refuted


def test_mistakes_are_named():
    mdp, solution = MODELS[0.9]
    with pytest.raises(ValueError, match=r"^mdp: "):
        verify("maze", solution)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^tolerance: "):
        verify(mdp, solution, tolerance=0.0)
    large = lx.tasks.grid(40, seed=1)
    solution = lx.solve(large, lx.Order([-1.0, -1.0]), gamma=0.5)
    with pytest.raises(ValueError, match=r"^exact: .*1000"):
        verify(large, solution, exact=True)


@pytest.mark.parametrize("exact", [False, True])
def test_random_models(exact: bool):
    """Values lie in the proven intervals, which are those of an independent solution in fractions."""
    for seed in range(12):
        mdp = random_model(seed, 4, 2, 2, "ties", True)
        gamma = (0.5, 0.875, 1.0)[seed % 3]
        solution = lx.solve(mdp, lx.Order([0.0]), gamma=gamma)
        found = verify(mdp, solution, exact=exact)
        assert not found.refuted, (seed, found.message)
        if gamma == 1 or solution.status is not Status.OPTIMAL:
            continue
        for k, value in enumerate(values_in_fractions(mdp, solution.policy, Fraction(gamma))):
            claim = next(c for c in found.claims if c.name == f"value of objective {k + 1}")
            low, high = (float(word) for word in claim.text.split()[1::2])
            room = 1e-15 * max(1.0, abs(low))
            assert low - room <= value <= high + room


def values_in_fractions(mdp: lx.MDP, policy: np.ndarray, gamma: Fraction) -> list[Fraction]:
    """By Gauss–Jordan elimination, from the dense tables."""
    count, objectives = mdp.num_states, mdp.num_objectives
    rows = [[Fraction(0)] * (count + objectives) for _ in range(count)]
    for s in range(count):
        rows[s][s] += 1
        shares = [Fraction(float(p)) for p in policy[s]]
        for a, share in enumerate(shares):
            parts = [Fraction(float(p)) for p in mdp.probability[s, a]]
            for b, part in enumerate(parts):
                weight = share / sum(shares) * part / sum(parts)
                if not mdp.terminal[s]:
                    rows[s][int(mdp.next_state[s, a, b])] -= gamma * weight
                    for k in range(objectives):
                        rows[s][count + k] += weight * Fraction(float(mdp.reward[s, a, b, k]))
    for s in range(count):
        pivot = next(r for r in range(s, count) if rows[r][s])
        rows[s], rows[pivot] = rows[pivot], rows[s]
        rows[s] = [x / rows[s][s] for x in rows[s]]
        for r in range(count):
            if r != s and rows[r][s]:
                factor = rows[r][s]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[s], strict=True)]
    start = [Fraction(float(p)) for p in mdp.initial]
    return [
        sum((p * rows[s][count + k] for s, p in enumerate(start)), Fraction(0)) / sum(start)
        for k in range(objectives)
    ]


@BOTH
def test_a_loop_that_pays_is_found_beside_those_that_are_left_once_in_a_million(exact: bool):
    """In floating point a linear program takes them for loops that are never left."""
    rare = 1e-6
    moves: list[list[dict[int, float]]] = [
        [{5: 1}, {3: 1 - rare, 4: rare}, {0: 1}],
        [{4: 1 - rare, 5: rare}, {3: rare, 5: 1 - rare}, {0: 0.75, 3: 0.25}],
        [{1: 1}, {2: 1}, {5: 1}],
        [{5: 1}, {0: 0.1, 1: 0.9}, {3: 1}],
        [{0: 0.5, 1: 0.5}, {2: 0.75, 4: 0.25}, {3: 1 - rare, 4: rare}],
    ]
    transition, reward = np.zeros((6, 3, 6)), np.zeros((6, 3, 2))
    for s, a in np.ndindex(5, 3):
        for target, chance in moves[s][a].items():
            transition[s, a, target] = chance
    transition[5, :, 5] = 1.0
    reward[3, 2, 1], reward[4, 2, 1] = -2.0, 2.0
    mdp = lx.MDP.from_dense(transition, reward, np.eye(6)[0], np.arange(6) == 5)
    found = lx.solve(mdp, lx.Order([-0.5]))
    assert found.status is Status.UNBOUNDED
    assert verify(mdp, found, exact=exact).ok
    reward[4, 2, 1] = -1.0  # then nothing pays
    assert not verify(
        lx.MDP.from_dense(transition, reward, np.eye(6)[0], np.arange(6) == 5), found, exact=exact
    ).ok
