"""Valid calls: figures and text maps."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from lexicone import plots
from tests.fuzz import material as m
from tests.fuzz.calls import Call
from tests.fuzz.calls_models import OF_ORDERS


def plot_calls() -> list[Call]:
    """Of ``lexicone.plots``."""

    def of(name: str, weight: float = 0.25, **arguments: Any) -> Call:
        function = getattr(plots, name)
        return Call(
            f"lexicone.plots.{name}", lambda: (function, dict(arguments)), OF_ORDERS, weight=weight
        )

    def functions(points: Any) -> Any:
        points = np.asarray(points)
        return np.stack([-(points**2).sum(-1), -((points - 1) ** 2).sum(-1)], axis=-1)

    maze, policy = m.maze(), np.zeros((9, 4)) + 0.25
    drawn = {"mdp": maze, "policy": policy, "occupancy": np.ones((9, 4)), "title": "a"}
    episodes, rates = np.array([1, 2, 3]), np.full((2, 3), 0.5)
    curves = {"one": (episodes, rates), "two": (episodes, rates)}
    path = np.array([[0.0, 0.0], [0.2, 0.1], [0.4, 0.4]])
    gradients = np.ones((3, 2, 2))
    points = np.array([[0.0, 3.0], [1.0, 2.0]])
    run = {"state": 0, "threshold": 0.5, "q1": np.zeros((5, 4)), "policies": np.zeros((5, 9), int)}
    found = {"episodes": episodes, "returns": np.zeros((2, 3, 2)), "satisfied": np.ones((2, 3, 1))}
    saved = {"figure": Figure(), "stem": m.folder() / "figure", "formats": ("svg",), "width": 3.0}
    return [
        of("cone_geometry", delta=0.3),
        of("cone_keeps", 0.1, delta=0.3, step=0.5),
        of("halfspace_fails", 0.1, step=0.5),
        of("trajectory", 0.1, functions=functions, path=path, gradients=gradients, order=[-0.5]),
        of("values_over_steps", history=np.zeros((4, 2)), order=[0.5]),
        Call(
            "lexicone.plots.draw_front",
            lambda: (plots.draw_front, {"*fronts": [m.front()], "names": ["a", "b"], "title": "t"}),
            weight=0.25,
        ),
        of("draw_sensitivity", found=m.moved_threshold(), names=("a", "b"), title="t"),
        of("by_delta", curves={"one": (episodes, rates.T)}, intervals={"one": rates.T}, title="t"),
        of("heat_table", rows="ab", columns="cde", rate=rates, words=["abc", "def"], title="t"),
        of("over_training", panels={"task": curves}, ylabel="successes"),
        of("draw_maze", **drawn, trajectory=[0, 1]),
        of("draw_model", **drawn),
        of("draw_model", mdp=m.traders(), policy=np.zeros(m.traders().num_states, int)),
        of("maze_on", axes=Figure().subplots(), **drawn, arrow_width=0.5),
        of("fronts", front=points, found=points, linear=points, mixed=points, labels=["a", "b"]),
        of("oscillations", runs={"one": run}, mdp=maze),
        of(
            "outcome_maps",
            first=np.array([0.1, 0.2]),
            second=np.array([0.1, 0.2, 0.3]),
            maps={"a": np.zeros((3, 2), int)},
            outcomes=["good", "bad", "worse", "worst"],
        ),
        of("panels", mdp=maze, shown=[("a", policy, [0, 1]), ("b", policy, [0])]),
        of(
            "region",
            gammas=np.array([0.5, 0.6]),
            slacks=np.array([0.1, 0.2, 0.3]),
            reached=np.ones((2, 3), int),
            boundary=0.55,
        ),
        of("value_maps", mdp=maze, columns={"a": np.zeros((9, 2))}),
        of("beside", 0.03, mdp=maze, panels=[plots.Panel("a", policy, np.ones((9, 4)))]),
        of("save", **saved),
        of("describe_choices", mdp=maze, policy=policy, state=1),
        of("sketch", mdp=maze, policy=policy, occupancy=np.ones((9, 4))),
        of("sketch", mdp=m.small(), policy=m.policy()),
        of("history", found=found, order=[0.5], title="t"),
        of("leaf_probabilities", panels={"a": curves}, levels={"best": 0.9}, title="t"),
        of(
            "learning_curves",
            found={"a": found, "b": found},
            order=[0.5],
            title="t",
            optimum=[1.0, 2.0],
        ),
        of("line_style", number=3),
        of("one_seed", episodes=episodes, rates={"a": rates[0]}, title="t"),
        of("over_seeds", curves=curves, ylabel="y", title="t"),
    ]
