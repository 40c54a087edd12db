"""Random small models and orders whose answers are known otherwise: by a linear program, or by trying all policies.

The program is on occupancy measures: ``x[s,a] ≥ 0`` with ``Σ_a x[s,a] = initial[s] + γ·Σ x[s′,a′]·p(s|s′,a′)``.
Objectives are maximised one after the other, each cut at its threshold, with what was reached as a floor. Without a
discount one may also stop for good wherever staying for ever pays nothing of the objectives so far.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog

import lexicone as lx

TOLERANCE = 1e-6
_SLACK = 1e-9  # of floors, so that rounding does not make a program infeasible
_KINDS = ("any", "whole", "costs", "gains", "rare")


class Problem(NamedTuple):
    """A model as plain arrays, and thresholds."""

    transition: np.ndarray
    reward: np.ndarray
    initial: np.ndarray
    terminal: np.ndarray
    gamma: float
    thresholds: list[float]

    @property
    def mdp(self) -> lx.MDP:
        """The same for the package."""
        return lx.MDP.from_dense(self.transition, self.reward, self.initial, self.terminal)


def random_problem(rng: np.random.Generator) -> Problem:
    """Up to five states; discounted, or with an end that every step may lead to, or with loops that only cost."""
    states, actions = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    objectives = int(rng.integers(1, 4))
    gamma = float(rng.choice([0.0, 0.3, 0.9, 0.99, 1.0, 1.0]))
    transition = np.zeros((states, actions, states))
    for s, a in np.ndindex(states, actions):
        following = rng.choice(states, rng.integers(1, min(states, 3) + 1), replace=False)
        transition[s, a, following] = rng.dirichlet(np.ones(len(following)))
    kind = str(rng.choice(_KINDS))
    reward = _rewards(rng, kind, (states, actions, objectives))
    terminal = np.zeros(states, bool)
    terminal[-1] = states > 1 and (gamma == 1 or rng.random() < 0.5)
    if gamma == 1:
        if rng.random() < 0.5:
            reward = -np.abs(reward)  # loops cost or pay nothing
        elif states > 1:
            transition = 0.8 * transition
            transition[..., -1] += 0.2  # every step may be the last
        else:
            reward *= 0.0
    transition[terminal], reward[terminal] = 0.0, 0.0
    transition[terminal, :, terminal] = 1.0
    initial = rng.dirichlet(np.ones(states)) if rng.random() < 0.5 else np.eye(states)[0]
    bare = Problem(transition, reward, initial, terminal, gamma, [])
    return bare._replace(thresholds=_thresholds(rng, bare, objectives))


def _rewards(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    whole = rng.integers(-2, 3, shape).astype(float)
    return {
        "any": rng.normal(size=shape),
        "whole": whole,
        "costs": -np.abs(whole),
        "gains": np.abs(whole),
        "rare": rng.normal(size=shape) * (rng.random(shape) < 0.3),
    }[kind]


def _thresholds(rng: np.random.Generator, bare: Problem, objectives: int) -> list[float]:
    """At the largest value of each objective, near it, far from it, or infinite."""
    found = []
    for k in range(objectives - 1):
        best, _ = best_total(bare, k, {})
        best = 0.0 if best is None else best
        near = best + float(rng.choice([0.0, 1e-9, -1e-9, 1.0, -1.0, -0.1])) * max(1.0, abs(best))
        found.append(float(rng.choice([near, near, near, np.inf, -np.inf])))
    return found


def best_total(
    problem: Problem, objective: int, floors: dict[int, float]
) -> tuple[float | None, float]:
    """The largest total of an objective with floors on others, None if there is none; and what floors cost at most."""
    transition, reward, initial, terminal, gamma, _ = problem
    alive = np.flatnonzero(~terminal)
    if not len(alive):
        return 0.0, 0.0
    actions = transition.shape[1]
    leaves = np.repeat(np.eye(len(alive)), actions, axis=0)
    arrives = transition[alive][:, :, alive].reshape(-1, len(alive))
    listed = list(floors)
    rests = resting(problem, [*listed, objective])[alive] & (gamma == 1)
    stops = np.eye(len(alive))[rests]
    paid = reward[alive].reshape(-1, reward.shape[2])
    paid = np.concatenate([paid, np.zeros((len(stops), paid.shape[1]))])
    found = linprog(
        -paid[:, objective],
        A_eq=np.concatenate([leaves - gamma * arrives, stops]).T,
        b_eq=initial[alive],
        A_ub=-paid[:, listed].T if listed else None,
        b_ub=[-floors[j] for j in listed] if listed else None,
    )
    if found.status != 0:
        return None, 0.0
    prices = float(np.abs(found.ineqlin.marginals).sum()) if listed else 0.0
    return -found.fun, prices


def resting(problem: Problem, objectives: list[int]) -> np.ndarray:
    """The states in which one can stay among themselves for ever without being paid or charged any of these."""
    free = ~problem.reward[..., objectives].any(axis=2) & ~problem.terminal[:, None]
    inside = free.any(axis=1)
    while True:
        closed = free & ~(problem.transition[:, :, ~inside] > 0).any(axis=2)
        smaller = inside & closed.any(axis=1)
        if (smaller == inside).all():
            return np.asarray(inside)
        inside = smaller


def check_solution(problem: Problem, found: Any = None) -> str:
    """What is wrong with the answer of `solve`, or with another one; nothing if it is right.

    Its key must be within the tolerance of the program's, stage by stage: no less than with the program's own floors,
    and no more than with the floors that it has itself.
    """
    if found is None:
        found = lx.solve(problem.mdp, problem.thresholds, gamma=problem.gamma)
    limits = [*problem.thresholds, np.inf]
    ours: dict[int, float] = {}
    theirs: dict[int, float] = {}
    for k, limit in enumerate(limits):
        if limit == -np.inf:
            continue
        floors = {j: v - _SLACK * max(1.0, abs(v)) for j, v in ours.items()}
        best, prices = best_total(problem, k, floors)
        if best is None:
            return "" if found.status == "divergent" else f"{found.status}, and none has a total"
        best, own = min(best, limit), float(found.key[k])
        if found.status == "divergent":  # then a later objective must have no total
            ours[k] = best
            continue
        if found.status not in ("optimal", "needs memory"):
            break
        room = TOLERANCE * max(1.0, abs(best)) + _SLACK * prices * max(
            [1.0, *map(abs, ours.values())]
        )
        floors = {j: v - TOLERANCE * max(1.0, abs(v)) for j, v in theirs.items()}
        most, _ = best_total(problem, k, floors)
        highest = np.inf if most is None else min(most, limit)
        if own < best - 2 * room or own > highest + 2 * room:
            return f"objective {k + 1} is {own}, and should be {best} (at most {highest})"
        ours[k], theirs[k] = best, own
    right = found.status in ("optimal", "needs memory")
    return "" if right else f"{found.status}: {found.message}"


def check_deterministic(problem: Problem) -> str:
    """The same for policies without chance, which are tried one by one; with a discount only."""
    if problem.gamma == 1 or problem.transition.shape[1] ** len(problem.initial) > 300:
        return ""
    keys = [_key(problem, values) for values in all_values(problem)]
    found = lx.solve(problem.mdp, problem.thresholds, gamma=problem.gamma, policies="deterministic")
    if found.status != "optimal":
        return f"{found.status}: {found.message}"
    own = np.asarray(found.key)
    for key in keys:
        if _is_better(key, own, TOLERANCE) and _is_better(key, own, _SLACK):
            return f"a policy has {key}, which is better than {own}"
    if not any(np.allclose(key, own, atol=TOLERANCE, rtol=TOLERANCE) for key in keys):
        return f"no policy has {own}"
    return ""


def all_values(problem: Problem) -> list[np.ndarray]:
    """Of every deterministic policy, from its linear equations."""
    states, actions, _ = problem.transition.shape
    found = []
    for policy in itertools.product(range(actions), repeat=states):
        chain = problem.transition[range(states), policy]
        paid = problem.reward[range(states), policy]
        values = np.linalg.solve(np.eye(states) - problem.gamma * chain, paid)
        found.append(problem.initial @ values)
    return found


def _key(problem: Problem, values: np.ndarray) -> np.ndarray:
    return np.minimum(values, [*problem.thresholds, np.inf])


def _is_better(first: np.ndarray, second: np.ndarray, tolerance: float) -> bool:
    """Lexicographically, where differences below the tolerance count as none."""
    for a, b in zip(first, second, strict=True):
        if a != b and abs(a - b) > 2 * tolerance * max(1.0, abs(b)):
            return bool(a > b)
    return False


def check_direction(rng: np.random.Generator) -> str:
    """Of random gradients, with `exact` cones: in all of them, and no direction in them is nearer to the gradient."""
    size, space = int(rng.integers(2, 6)), int(rng.integers(1, 7))
    rows = rng.normal(size=(size, space)) * 10.0 ** rng.integers(-3, 4, (size, 1))
    if rng.random() < 0.3:
        rows[rng.integers(size)] = -rows[rng.integers(size)] * rng.random()
    delta = float(rng.choice([0.0, 0.05, 0.3, 1.0]))
    gram: Any = rows @ rows.T
    gram = (gram + gram.T) / 2
    found = lx.find_direction(gram, np.zeros(size), np.zeros(size - 1), delta=delta, method="exact")
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    direction = np.asarray(found.weights) @ rows
    tries = units.T @ rng.normal(size=(size, 2000)) if space > 1 else np.array([[1.0, -1.0]])
    tries = np.concatenate([tries, rng.normal(size=(space, 2000)), units.T], axis=1)
    lengths = np.linalg.norm(tries, axis=0)
    angles = units @ (tries / np.where(lengths > 0, lengths, 1.0))
    inside = (angles[:-1] >= np.sin(delta) + 1e-6).all(axis=0) & (lengths > 0)
    if not found.found:
        ascends = inside & (angles[-1] >= max(np.sin(delta), 1e-4) + 1e-6)
        return f"{ascends.sum()} directions were overlooked" if ascends.any() else ""
    length = np.linalg.norm(direction)
    kept = units @ (direction / length)
    if (kept[:-1] < np.sin(delta) - 1e-5).any():
        return f"the direction leaves a cone: {kept}"
    nearest = angles[-1][inside].max(initial=-1.0)
    return f"a direction is nearer: {nearest} > {kept[-1]}" if nearest > kept[-1] + 1e-5 else ""
