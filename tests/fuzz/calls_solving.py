"""Valid calls: directions, exact solvers, proofs, criteria and Q-learning."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

import lexicone as lx
from lexicone import criteria, directions, exact, models, qlearning
from tests.fuzz import material as m
from tests.fuzz.calls import Call, call, then
from tests.fuzz.calls_models import OF_MODELS, OF_ORDERS


def solving_calls() -> list[Call]:
    """Of ``lexicone.directions``, ``exact``, ``proofs``, ``criteria`` and ``qlearning``."""
    return [*_directions(), *_gradients(), *_exact(), *_criteria(), *_memory(), *_qlearning()]


def _values(x: Any) -> Any:
    return jnp.stack([-jnp.sum(x**2), -jnp.sum((x - 1) ** 2)])


def _directions() -> list[Call]:
    gram = np.array([[2.0, -0.5, 0.1], [-0.5, 1.0, 0.3], [0.1, 0.3, 0.5]])
    found = {"gram": gram, "values": np.array([1.0, 0.0, 2.0]), "thresholds": [0.5, 1.0]}
    flow = {"spread": 1.0, "margin": 0.1, "rate": 0.5, "prices": 10.0, "fastest": 2.0}
    climb = {"fun": _values, "x0": np.array([0.3, 0.2]), "order": [-0.5], "max_steps": 3}
    cone = {"g": np.array([1.0, 0.2]), "axis": np.array([0.0, 1.0]), "delta": 0.3}
    tree = {"w": jnp.ones((2, 3)), "b": jnp.ones((2,))}
    find, climb_to = directions.find_direction, directions.maximize
    return [
        call("lexicone.directions.project_cone", directions.project_cone, cone),
        call("lexicone.directions.find_direction", find, {**found, "delta": 0.2}, weight=2),
        call("lexicone.directions.find_direction", find, {**found, "method": "exact"}),
        call("lexicone.directions.find_direction", find, {**found, **flow, "method": "flow"}),
        call(
            "lexicone.directions.find_direction",
            find,
            {**found, "active_constraints": True, "buffer": 0.1},
        ),
        call("lexicone.directions.is_stationary", directions.is_stationary, {"gram": gram}),
        call(
            "lexicone.directions.ascent_bound",
            directions.ascent_bound,
            {"gram": gram, "delta": 0.2, "strong_concavity": 1.0},
        ),
        call("lexicone.directions.gram", directions.gram, {"gradients": tree}),
        call(
            "lexicone.directions.combine",
            directions.combine,
            {"weights": jnp.array([0.5, 1.0]), "gradients": tree},
        ),
        call(
            "lexicone.directions.values_and_gradients",
            directions.values_and_gradients,
            {"fun": _values, "x": jnp.array([0.3, 0.2])},
            weight=0.3,
        ),
        call(
            "lexicone.directions.maximize",
            climb_to,
            {**climb, "step_size": 0.1},
            words=OF_ORDERS,
            long=("max_steps",),
            weight=0.15,
        ),
        call(
            "lexicone.directions.maximize",
            climb_to,
            {**climb, "optimizer": optax.sgd(0.1), "method": "exact", "delta": 0.1},
            words=OF_ORDERS,
            long=("max_steps",),
            weight=0.1,
        ),
    ]


def _losses(params: Any) -> Any:
    return jnp.stack([jnp.sum(params**2), jnp.sum((params - 1) ** 2)])


def _gradients() -> list[Call]:
    made = directions.ordered_gradient(_losses, [1.0])
    params = jnp.array([0.3, 0.2])
    state = made.init(params)
    _, gradients = made.gradients(params)
    of = "lexicone.directions.OrderedGradient"
    options = {"smoothing": 0.5, "method": "exact", "delta": 0.1}
    given = {"losses": _losses(params), "gradients": gradients, "state": state}
    rare = {"words": (*OF_ORDERS, "losses"), "weight": 0.2}
    return [
        call(
            "lexicone.directions.ordered_gradient",
            directions.ordered_gradient,
            {"losses": _losses, "order": [1.0], **options},
            words=(*OF_ORDERS, *options),
        ),
        call(f"{of}.init", made.init, {"params": params}, **rare),
        call(f"{of}.gradients", made.gradients, {"params": params}, **rare),
        call(f"{of}.combine", made.combine, given, **rare),
        call(f"{of}.update", made.update, {"params": params, "state": state}, **rare),
    ]


def _exact() -> list[Call]:
    given = {"mdp": m.small(), "order": m.order(), "gamma": 0.9}
    words = {"words": OF_ORDERS}
    moved = {"mdp": m.traders(), "order": [0.8], "objective": 0, "thresholds": [0.7, 0.9]}
    solve = exact.solve
    controlled = exact.solve(m.controlled(), [-5.0])
    again = exact.Solver(m.small(), 0.9).solve
    return [
        call("lexicone.exact.Solver", exact.Solver, {"mdp": m.small(), "gamma": 0.9}),
        call("lexicone.exact.Solver.solve", again, {"order": m.order()}, **words),
        call(
            "lexicone.exact.Solver.solve",
            again,
            {"order": m.order(), "method": "columns", "tolerance": 1e-6, "time_limit": 5.0},
            **words,
        ),
        call("lexicone.exact.solve", solve, given, **words, weight=2),
        call("lexicone.exact.solve", solve, {**given, "gamma": 1.0, "method": "lp"}, **words),
        call("lexicone.exact.solve", solve, {**given, "method": "columns"}, **words),
        call("lexicone.exact.solve", solve, {**given, "policies": "deterministic"}, **words),
        call(
            "lexicone.exact.solve",
            solve,
            {**given, "tolerance": 1e-6, "time_limit": 5.0, "start": m.policy()},
            **words,
        ),
        call("lexicone.exact.solve", solve, {"mdp": m.controlled(), "order": [-5.0]}, **words),
        call(
            "lexicone.exact.LinearQuadraticSolution.act",
            controlled.act,
            {"state": np.array([0.1, 0.2]), "rng": np.random.default_rng(0)},
        ),
        call(
            "lexicone.exact.pareto",
            exact.pareto,
            {"mdp": m.traders(), "points": 3},
            long=("points",),
        ),
        call(
            "lexicone.exact.pareto",
            exact.pareto,
            {"mdp": m.small(), "gamma": 0.9, "policies": "deterministic"},
            long=("points",),
        ),
        call("lexicone.exact.sensitivity", exact.sensitivity, moved, **words, long=("points",)),
        call(
            "lexicone.exact.lvi",
            exact.lvi,
            {"mdp": m.random_model(), "slacks": [0.1, 0.2], "gamma": 0.9},
            **words,
        ),
        call(
            "lexicone.exact.Solution.load",
            lx.Solution.load,
            lambda: {"path": m.files()["solution"]},
        ),
        call(
            "lexicone.reports.report",
            lx.report,
            lambda: {
                "result": m.solution(),
                "path": m.folder() / "r.html",
                "mdp": m.small(),
                "title": "t",
                "command": "c",
                "beside": True,
            },
            weight=0.05,
        ),
        call("lexicone.exact.Solution.act", m.solution().act, {"state": 1, "seed": 3}),
        call("lexicone.exact.Solution.explain", m.solution().explain, lambda: {"mdp": m.small()}),
        call(
            "lexicone.exact.Solution.to_csv",
            m.solution().to_csv,
            lambda: {"path": m.folder() / "p.csv"},
        ),
        call("lexicone.exact.Solution.save", m.solution().save, lambda: {"path": m.folder() / "s"}),
        call(
            "lexicone.proofs.verify",
            lx.verify,
            {"mdp": m.small(), "solution": m.solution(), "exact": True},
            weight=0.5,
        ),
    ]


def _criteria() -> list[Call]:
    concave = lx.tasks.maze("concave")
    given = {"mdp": concave, "order": [0.5]}
    words = {"words": (*OF_ORDERS, *OF_MODELS)}
    env = models.environment(m.small())
    reset, step = criteria.from_table(env, 5)
    searched = {**given, "strategy": "one_by_one", "criterion": "episode"}
    by_chance = {**given, "order": [lx.at_least(0.5, chance=0.9)], "criterion": "chance"}
    long = ("steps", "rounds", "seeds")
    key = jax.random.key(0)

    def walk(pair: Any) -> Any:
        """Begin an episode and take a step: what is wrong with functions shows when they are called."""
        begin, advance = pair
        return advance(begin(key)[0], 0, key)

    return [
        call("lexicone.criteria.augment", criteria.augment, given, **words, weight=0.5),
        call(
            "lexicone.criteria.augment",
            criteria.augment,
            {**given, "rewards": "vector", "gamma": 0.9, "tolerance": 1e-6, "max_states": 300},
            **words,
            weight=0.3,
        ),
        call(
            "lexicone.criteria.augmentation",
            criteria.augmentation,
            {**given, "rewards": "penalty", "multiplier": 2.0},
            **words,
            weight=0.5,
        ),
        call(
            "lexicone.criteria.compare",
            then(criteria.compare, list),
            {"mdp": m.small(), "order": [-0.5], "max_states": 50, "seconds": 1.0},
            **words,
            long=("max_states", "seconds"),
            weight=0.2,
        ),
        call("lexicone.criteria.search", criteria.search, given, **words, long=long, weight=0.3),
        call(
            "lexicone.criteria.search", criteria.search, by_chance, **words, long=long, weight=0.3
        ),
        call("lexicone.criteria.search", criteria.search, searched, **words, long=long, weight=0.3),
        call(
            "lexicone.criteria.from_table",
            then(criteria.from_table, walk),
            {"env": env, "max_steps": 4},
            weight=0.3,
        ),
        call(
            "lexicone.criteria.with_budgets",
            then(criteria.with_budgets, walk),
            {"reset": reset, "step": step, "order": [0.5], "gamma": 0.9, "rewards": "clipped"},
            **words,
            weight=0.3,
        ),
    ]


def _memory() -> list[Call]:
    augmented, lifted = m.augmented(), m.lifted()
    table = lifted.table
    state = int(np.flatnonzero(augmented.original.initial)[0])
    memory = lifted.begin(state)
    tracked = augmented.tracked
    following = {
        "memory": memory,
        "action": 0,
        "next_state": int(augmented.state[tracked.next_state[memory, 0, 0]]),
        "reward": tracked.reward[memory, 0, 0],
    }
    of = "lexicone.criteria"
    draws = {"episodes": 3, "seed": 0, "max_steps": 5}
    return [
        call(f"{of}.Augmented.chances", augmented.chances, {"policy": table}),
        call(f"{of}.Augmented.lift", augmented.lift, {"policy": table}),
        call(
            f"{of}.Augmented.spread",
            augmented.spread,
            {"policy": np.zeros(augmented.original.num_states, int)},
        ),
        call(f"{of}.Lifted.begin", lifted.begin, {"state": state}),
        call(f"{of}.Lifted.act", lifted.act, {"memory": memory, "rng": np.random.default_rng(0)}),
        call(f"{of}.Lifted.advance", lifted.advance, following),
        call(
            f"{of}.Lifted.simulate",
            lifted.simulate,
            draws,
            words=("gamma", "record", "max_steps", "seed"),
            long=("episodes", "max_steps"),
            weight=0.2,
        ),
        call(f"{of}.Lifted.draw", lifted.draw, {"title": "a"}, weight=0.1),
    ]


def _qlearning() -> list[Call]:
    q = qlearning
    given = {"mdp": m.small(), "order": [-0.5], "gamma": 0.9}
    words = {"words": (*OF_ORDERS, "accept", "action_order", "ties")}
    rule = q.Rule(q.optimal, q.absolute_slack(0.1), action_order=(1, 0))
    learned = {**given, "rule": "urban", "seeds": 2, "steps": 4, "log_points": 2}
    rates = {"learning_rate": q.Visits(), "exploration": q.Softmax(0.5), "initial": [0.0, 1.0]}
    changed = {"name": "urban", "ties": "random", "accept": q.absolute_slack(0.2)}
    parts = {"update": q.clipped, "accept": q.absolute_threshold(), "action_order": [1, 0]}
    of = "lexicone.qlearning"
    long = {"long": ("steps", "max_episode_steps", "seeds")}
    return [
        call(f"{of}.tlq", q.tlq, learned, **words, **long, weight=0.15),
        call(f"{of}.tlq", q.tlq, {**learned, **rates}, **words, **long, weight=0.15),
        call(f"{of}.tlq_iterate", q.tlq_iterate, given, **words),
        call(
            f"{of}.tlq_iterate",
            q.tlq_iterate,
            {**given, "rule": rule, "initial": [0.0, 1.0], "max_sweeps": 50, "tolerance": 1e-9},
            **words,
        ),
        call(f"{of}.classify", q.classify, given, **words, long=("horizon",)),
        call(f"{of}.predict", q.predict, {**given, "horizon": 9}, **words, long=("horizon",)),
        call(f"{of}.preset", q.preset, changed, words=("ties", "accept", "rule", "action_order")),
        call(f"{of}.Rule", q.Rule, parts),
        call(f"{of}.Rule", q.Rule, {"update": q.taken, "accept": q.relative_slack(0.1)}),
        call(f"{of}.Rule.check_actions", rule.check_actions, {"count": 2}, words=("action_order",)),
        call(f"{of}.Rule.numbers", rule.numbers, {"order": m.order()}, **words),
        call(f"{of}.absolute_slack", q.absolute_slack, {"slack": [0.1, 0.2]}),
        call(f"{of}.relative_slack", q.relative_slack, {"ratio": 0.1}),
        call(f"{of}.absolute_threshold", q.absolute_threshold, {"last": 1.0}),
        call(f"{of}.informed", q.informed, {"buffer": 0.1}),
        call(f"{of}.EpsilonGreedy", q.EpsilonGreedy, {"rate": q.Schedule(1.0, 0.1)}),
        call(f"{of}.Softmax", q.Softmax, {"temperature": 0.5}),
        call(f"{of}.Schedule", q.Schedule, {"start": 1.0, "end": 0.5, "over": 0.5}),
        call(f"{of}.Visits", q.Visits, {"start": 1.0, "half": 10.0}),
    ]
