"""Valid calls: orders, models, tasks and Gymnasium's door."""

import inspect
from typing import Any

import jax
import numpy as np
from scipy import sparse

import lexicone as lx
from lexicone import models, tasks
from tests.fuzz import material as m
from tests.fuzz.calls import Call, call

OF_ORDERS = ("thresholds", "names", "amount", "horizon", "per_step", "order", "break_ties")
OF_MODELS = (
    *("next_state", "probability", "reward", "initial", "terminal", "available", "action"),
    *("state_names", "action_names", "objective_names", "layout", "factors", "num_actions"),
    *("max_states", "objectives", "starts", "progress", "rows"),
)


def model_calls() -> list[Call]:
    """Of ``lexicone``, ``lexicone.models``, ``lexicone.tasks`` and ``lexicone.gym``."""
    return [*_orders(), *_models(), *_values(), *_tasks(), *_gym()]


def _orders() -> list[Call]:
    named = {"thresholds": {"safety": -0.5, "speed": lx.at_most(3), "time": None}}
    order, rows = lx.Order([-0.5, lx.at_most(2.0)]), np.arange(12.0).reshape(4, 3)
    amount = {"amount": 0.5, "per_step": True, "horizon": 10}
    unit = {"per_step": True, "horizon": 10}
    share = {"amount": 0.5, "chance": 0.9}
    return [
        call("lexicone.Order", lx.Order, named),
        call("lexicone.Order", lx.Order, {"thresholds": [0.5, 1], "names": ["a", "b", "c"]}),
        call("lexicone.Order", lx.Order, {"thresholds": np.array([0.5, 1]), "break_ties": True}),
        call("lexicone.Order.argmax", order.argmax, {"rows": rows}),
        call("lexicone.Order.maximizers", order.maximizers, {"rows": rows.tolist()}),
        call("lexicone.Order.at_gamma", order.at_gamma, {"gamma": 0.9}),
        call("lexicone.Order.better", order.better, {"first": rows, "second": rows[0]}),
        call("lexicone.Order.compare", order.compare, {"first": rows[1], "second": rows[0]}),
        call("lexicone.Order.gap", order.gap, {"values": rows[1], "best": rows[0]}),
        call("lexicone.Order.in_units", order.in_units, {"values": rows}),
        call("lexicone.Order.key", order.key, {"values": rows}),
        call("lexicone.Order.satisfied", order.satisfied, {"values": rows[2]}),
        call("lexicone.Order.moved", order.moved, {"objective": 1, "threshold": 0.3}),
        call("lexicone.Order.prices_in_units", order.prices_in_units, {"prices": rows[:2]}),
        call("lexicone.Order.with_chances", order.with_chances, {"chances": [0.9, None]}),
        call("lexicone.at_least", lx.at_least, amount),
        call("lexicone.at_least", lx.at_least, share),
        call("lexicone.highest", lx.highest, {"worst": 0.1}),
        call("lexicone.at_most", lx.at_most, amount),
        call("lexicone.highest", lx.highest, unit),
        call("lexicone.lowest", lx.lowest, unit),
    ]


def _step(money: int, action: str) -> Any:
    return [(0.4, money + 1, [1.0, 0.0]), (0.6, money - 1, [-1.0, 0.5])]


def _models() -> list[Call]:
    tables, small = m.tables(), m.small()
    dense, matrices = small.to_dense(), small.to_sparse()
    places = {"rows": ("S.", "#G"), "positions": np.array([[0, 0], [0, 1], [1, 1]])}
    names = {"state_names": ["a", "b", "c"], "action_names": ("x", "y"), "objective_names": "pq"}
    frozen = {"initial": tables["initial"], "terminal": tables["terminal"]}
    rows = [("home", "car", 0.9, "work", -5), ("home", "car", 0.1, "home", -9)]
    explored = {
        "starts": {2: 0.5, 1: 0.5},
        "actions": lambda money: ["bet"] if 0 < money < 3 else [],
        "step": _step,
        "terminal": lambda money: money == 3,
        "max_states": 10,
        "objective_names": ("coins", "luck"),
    }
    toy: Any = {"env": __import__("gymnasium").make("FrozenLake-v1", map_name="4x4")}
    model = {"words": OF_MODELS}
    labels = {**places, "labels": ("a", "b", "")}
    return [
        call("lexicone.models.MDP", lx.MDP, tables, **model, weight=3),
        call("lexicone.models.MDP", lx.MDP, {**tables, **names}, **model),
        call("lexicone.models.MDP", lx.MDP, {**tables, "layout": lx.Layout(**places)}, **model),
        call("lexicone.models.MDP", lx.MDP, {**tables, "available": np.eye(3, 2) == 0}, **model),
        call("lexicone.models.MDP.from_dense", lx.MDP.from_dense, dense._asdict(), **model),
        call(
            "lexicone.models.MDP.from_sparse",
            lx.MDP.from_sparse,
            {"transition": [sparse.csr_array(t) for t in matrices.transition]}
            | {"reward": small.expected_reward, **frozen},
            **model,
        ),
        call("lexicone.models.MDP.from_sparse", lx.MDP.from_sparse, matrices._asdict(), **model),
        call(
            "lexicone.models.MDP.from_rows",
            lx.MDP.from_rows,
            {"rows": small.rows, **frozen, "num_actions": 2},
            **model,
        ),
        call(
            "lexicone.models.MDP.from_function",
            lx.MDP.from_function,
            explored,
            **model,
            long=("max_states",),
        ),
        call(
            "lexicone.models.MDP.from_transitions",
            lx.MDP.from_transitions,
            {"rows": rows, "starts": "home", "objective_names": ["time"]},
            **model,
        ),
        call(
            "lexicone.models.MDP.from_transitions",
            lx.MDP.from_transitions,
            lambda: {"rows": m.files()["text"]},
            **model,
        ),
        call("lexicone.models.MDP.from_gym", lx.MDP.from_gym, toy, **model, weight=0.2),
        call("lexicone.models.MDP.load", lx.MDP.load, lambda: {"path": m.files()["model"]}),
        call("lexicone.models.MDP.save", small.save, lambda: {"path": m.folder() / "saved.npz"}),
        call("lexicone.models.MDP.state_label", m.traders().state_label, {"state": 1}),
        call("lexicone.models.MDP.action_label", m.traders().action_label, {"action": 1}),
        call("lexicone.models.MDP.chain", small.chain, {"policy": m.policy()}),
        call("lexicone.models.MDP.policy_reward", small.policy_reward, {"policy": m.policy()}),
        call(
            "lexicone.models.MDP.policy_table", small.policy_table, {"policy": np.array([0, 1, 1])}
        ),
        call("lexicone.models.MDP.reorder", m.maze().reorder, {"objectives": ["tiles", "goal"]}),
        call("lexicone.models.MDP.validate", small.validate, {"episodic": True}, **model),
        call("lexicone.models.Layout", lx.Layout, labels),
        call("lexicone.models.LinearQuadratic", lx.LinearQuadratic, m.linear_quadratic()),
        call(
            "lexicone.models.LinearQuadratic",
            lx.LinearQuadratic,
            {**m.linear_quadratic(), "initial": np.eye(2), "objective_names": ("comfort", "fuel")},
        ),
    ]


def _values() -> list[Call]:
    given = {"mdp": m.small(), "policy": m.policy()}
    gain = {"gain": np.array([[-0.1, -0.2]]), "noise": np.array([[0.1]])}
    control = m.controlled()
    env, key = models.environment(m.small()), jax.random.key(0)
    begun = models.reset(env, key)
    moved = {"env": env, "episode": begun, "action": 1, "key": key, "max_steps": 5}
    returns = np.arange(8.0).reshape(4, 2)
    shares = {"returns": returns, "order": lx.Order({"a": 1.0, "b": None}), "names": ("b", "a")}
    return [
        call("lexicone.models.evaluate", lx.evaluate, {**given, "gamma": 0.9}, long=("horizon",)),
        call("lexicone.models.evaluate", lx.evaluate, {**given, "horizon": 5}, long=("horizon",)),
        call("lexicone.models.state_values", lx.state_values, {**given, "gamma": 0.5}),
        call(
            "lexicone.models.simulate",
            lx.simulate,
            {**given, "episodes": 3, "seed": 1, "max_steps": 5},
            long=("max_steps", "episodes"),
            weight=0.5,
        ),
        call("lexicone.models.satisfaction", lx.satisfaction, shares, words=OF_ORDERS),
        call("lexicone.models.environment", models.environment, {"mdp": m.small()}, weight=0.3),
        call("lexicone.models.reset", models.reset, {"env": env, "key": key}, weight=0.3),
        call("lexicone.models.step", models.step, moved, weight=0.5),
        call("lexicone.models.LinearQuadratic.evaluate", control.evaluate, gain),
        call("lexicone.models.LinearQuadratic.moments", control.moments, gain),
        call(
            "lexicone.models.LinearQuadratic.simulate",
            control.simulate,
            {**gain, "episodes": 4},
            long=("episodes",),
        ),
        call("lexicone.models.LinearQuadratic.reorder", control.reorder, {"objectives": [1, 0]}),
    ]


def _tasks() -> list[Call]:
    sea = np.array([[0, 0, 0], [1, 0, 0], [-10, 3, 0]])
    drawn = {"drawing": "S.h\n..G", "objectives": {"reach": "goal", "avoid": "tiles"}}
    trip = {"start": "a", "destinations": ["c"], "costs": ("toll",)}
    options = [inspect.signature(task.build).parameters for task in tasks.TASKS.values()]
    dam, car = tasks.dam(), tasks.suspension()
    everything = (*OF_MODELS, *(name for names in options for name in names))
    return [
        call("lexicone.tasks.maze", tasks.maze, {"drawing": "small", "slip": 0.1}),
        call("lexicone.tasks.maze", tasks.maze, {**drawn, "high_penalty": -3.0}),
        call("lexicone.tasks.parse_maze", tasks.parse_maze, {"drawing": "S.h\n..G"}),
        call("lexicone.tasks.deep_sea_treasure", tasks.deep_sea_treasure, {"sea": "convex"}),
        call(
            "lexicone.tasks.deep_sea_treasure",
            tasks.deep_sea_treasure,
            {"sea": sea, "objectives": ("time", "treasure"), "start": (0, 2)},
        ),
        call("lexicone.tasks.fruit_tree", tasks.fruit_tree, {"depth": 2, "seed": 1}),
        call("lexicone.tasks.fruit_tree", tasks.fruit_tree, {"depth": 5, "objectives": [2, 0]}),
        call("lexicone.tasks.fruit_tree", tasks.fruit_tree, {"depth": 1, "fruits": np.eye(2)}),
        call(
            "lexicone.tasks.garnet",
            tasks.garnet,
            {"num_states": 4, "num_actions": 2, "num_successors": 2, "num_objectives": 2},
        ),
        call("lexicone.tasks.grid", tasks.grid, {"rows": 2, "columns": 3, "num_objectives": 2}),
        call("lexicone.tasks.find", tasks.find, {"name": "maze"}),
        call("lexicone.tasks.make", tasks.make, {"name": "maze:small"}, words=everything),
        call(
            "lexicone.tasks.make", tasks.make, {"name": "garnet", "num_states": 4}, words=everything
        ),
        call("lexicone.tasks.world", tasks.world, {"name": "dam"}, weight=0.5),
        call("lexicone.tasks.known_optimum", tasks.known_optimum, {"name": "dam"}, weight=0.5),
        call(
            "lexicone.tasks.BoxWorld.optimum",
            dam.optimum,
            {"order": [-150.0, -510.0], "grid": 0},
            words=OF_ORDERS,
            weight=0.3,
        ),
        call(
            "lexicone.tasks.LinearWorld.optimum",
            car.optimum,
            {"order": [-12.0, -70.0]},
            words=OF_ORDERS,
            weight=0.3,
        ),
        call(
            "lexicone.tasks.BoxWorld.simulate",
            dam.simulate,
            lambda: {"optimum": dam.optimum(grid=0), "episodes": 3, "seed": 1},
            long=("episodes",),
            weight=0.2,
        ),
        call(
            "lexicone.tasks.LinearWorld.simulate",
            car.simulate,
            lambda: {"optimum": car.optimum(), "episodes": 3, "seed": 1},
            long=("episodes",),
            weight=0.2,
        ),
        call("lexicone.tasks.resource_gathering", tasks.resource_gathering, {"danger": 0.1}),
        call("lexicone.tasks.road_trip", tasks.road_trip, lambda: {"roads": m.roads(), **trip}),
    ]


def _gym() -> list[Call]:
    from lexicone import gym

    def of(name: str, make: Any, arguments: dict[str, Any], words: tuple[str, ...] = ()) -> Call:
        return Call(f"lexicone.gym.{name}", lambda: (make(), dict(arguments)), words, weight=0.5)

    def budgets() -> Any:
        return m.begun(gym.BudgetObservation(m.make_env(), [-0.5]))

    def several() -> Any:
        return m.begun(gym.MDPVectorEnv(m.small(), 2))

    begin = {"seed": 3, "options": {"state": 1}}
    capped = {"max_steps": 5, "render_mode": "ansi"}
    return [
        of("MDPEnv", lambda: gym.MDPEnv, {"mdp": m.small(), **capped}),
        of("MDPEnv.reset", lambda: m.make_env().reset, begin),
        of("MDPEnv.step", lambda: m.begun(m.make_env()).step, {"action": 1}),
        of("MDPVectorEnv", lambda: gym.MDPVectorEnv, {"mdp": m.small(), "num_envs": 3, **capped}),
        of("MDPVectorEnv.reset", lambda: several().reset, {"seed": 3, "options": None}),
        of(
            "MDPVectorEnv.reset",
            lambda: several().reset,
            {"options": {"reset_mask": np.array([True, False])}},
        ),
        of("MDPVectorEnv.step", lambda: several().step, {"actions": np.array([0, 1])}),
        of(
            "make_env",
            lambda: gym.make_env,
            {"task": "maze:small", **capped},
            ("name", "drawing", *OF_MODELS),
        ),
        of(
            "make_vector_env",
            lambda: gym.make_vector_env,
            {"task": "maze:small", "num_envs": 2, **capped},
            ("name", "drawing", *OF_MODELS),
        ),
        of(
            "BudgetObservation",
            lambda: gym.BudgetObservation,
            {"env": m.make_env(), "order": m.order(), "gamma": 0.9, "rewards": "clipped"},
            OF_ORDERS,
        ),
        of("BudgetObservation.reset", lambda: budgets().reset, begin),
        of("BudgetObservation.step", lambda: budgets().step, {"action": 1}),
    ]
