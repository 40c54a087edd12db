"""The subcommands for models: ``lexicone tasks``, ``show`` and ``solve``."""

import ast
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rich.console import Console
from rich.table import Table
from tyro.conf import Positional

from lexicone.mdp import MDP

__all__ = ["Show", "Solve", "Tasks", "build", "check_folder", "plain_numbers"]


@dataclass(frozen=True)
class Tasks:
    """List the tasks with their objectives and sizes.

    Examples:
      lexicone tasks
    """

    def run(self, console: Console) -> None:
        """Builds each task once and prints a table."""
        from lexicone.tasks import TASKS

        table = Table()
        for column in ("task", "variants", "objectives", "states × actions"):
            table.add_column(column)
        for task in TASKS.values():
            try:
                mdp = task.build()
                size = f"{mdp.num_states} × {mdp.num_actions}"
            except (ImportError, ValueError) as error:
                size = f"needs lexicone[{task.needs}]" if task.needs else str(error)
            table.add_row(task.name, ", ".join(task.variants), task.objectives, size)
        console.print(table)
        for task in TASKS.values():
            console.print(f"{task.name}: {task.description}", highlight=False)


@dataclass(frozen=True)
class Show:
    """Draw a task, on the terminal and as PNG and SVG.

    Examples:
      lexicone show maze:extended --set objectives=path
      lexicone show deep-sea-treasure:concave --out figures
      lexicone show maze:mymaze.txt
    """

    task: Positional[str]
    """NAME, NAME:VARIANT, maze:FILE.txt (a drawing), road_trip:FILE.csv, or a model saved as FILE.npz."""
    set: tuple[str, ...] = ()
    """Options of the task, as NAME=VALUE."""
    out: Path | None = None
    """The folder to write PNG and SVG to."""

    def run(self, console: Console) -> None:
        """Prints the model's size, objectives and map."""
        from lexicone.sketch import sketch

        if self.out is not None:
            check_folder(self.out)
        mdp = build(self.task, self.set)
        console.print(
            f"{self.task}: {mdp.num_states} states, {mdp.num_actions} actions, at most "
            f"{mdp.num_successors} successors; objectives: {', '.join(mdp.objective_labels)}",
            highlight=False,
        )
        console.print(sketch(mdp), highlight=False, markup=False)
        if self.out is not None:
            _save_figure(mdp, None, None, self.task, self.out, console)


@dataclass(frozen=True)
class Solve:
    """The exact lexicographic optimum of a task: values, thresholds met or missed, and the best policy.

    Examples:
      lexicone solve maze:extended --set objectives=path --thresholds -3
      lexicone solve space-traders --thresholds 0.88 --policies deterministic
      lexicone solve grid:100 --thresholds -1 -1 --gamma 0.99 --json
    """

    task: Positional[str]
    """NAME, NAME:VARIANT, maze:FILE.txt (a drawing), road_trip:FILE.csv, or a model saved as FILE.npz."""
    thresholds: tuple[float, ...]
    """K−1 thresholds on expected returns, most important first; inf means: maximise."""
    set: tuple[str, ...] = ()
    """Options of the task, as NAME=VALUE."""
    gamma: float = 1.0
    """Discount factor, 0 to 1."""
    policies: Literal["stochastic", "deterministic"] = "stochastic"
    """Whether policies may choose at random; deterministic ones only for small models."""
    method: Literal["auto", "lp", "columns"] = "auto"
    """The linear program as a whole, or column generation for large models."""
    out: Path | None = None
    """The folder to write the policy to, as PNG and SVG."""
    json: bool = False
    """Print JSON instead of a table."""

    def run(self, console: Console) -> None:
        """Solves, prints and draws."""
        from lexicone.order import Order
        from lexicone.sketch import sketch
        from lexicone.solve import solve

        if self.out is not None:
            check_folder(self.out)
        mdp = build(self.task, self.set)
        order = Order(self.thresholds, names=mdp.objective_names)
        options: dict[str, Any] = {"policies": self.policies, "method": self.method}
        if self.json:
            solution = solve(mdp, order, self.gamma, **options)
            print(json.dumps(_as_json(mdp, solution), indent=2, ensure_ascii=False))
            return
        with console.status("solving …") as status:

            def progress(line: str) -> None:
                status.update(f"solving … {line}")

            solution = solve(mdp, order, self.gamma, progress=progress, **options)
        _print_values(mdp, solution, console)
        how = f"γ={self.gamma:g}, {self.policies} policies, {solution.method}"
        told = "" if solution.status == "optimal" else f": {solution.message}"
        console.print(
            f"{solution.status}{told} ({how}; thresholds hold for expected returns)",
            highlight=False,
        )
        console.print(
            sketch(mdp, solution.policy, solution.occupancy), highlight=False, markup=False
        )
        _explain_chance(mdp, solution, console)
        if self.out is not None:
            numbers = ", ".join(f"{v:.4g}" for v in solution.values)
            title = f"{self.task}, thresholds {', '.join(f'{t:g}' for t in self.thresholds)}: ({numbers})"
            _save_figure(mdp, solution.policy, solution.occupancy, title, self.out, console)


def build(task: str, options: tuple[str, ...] = ()) -> MDP:
    """The model behind a name on the command line."""
    from lexicone.tasks import make

    if task.endswith(".npz"):
        return MDP.load(task)
    settings = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not equals or not name:
            raise ValueError(f"--set: expected NAME=VALUE, got {option!r}")
        try:
            settings[name.replace("-", "_")] = ast.literal_eval(value)
        except (SyntaxError, ValueError):
            settings[name.replace("-", "_")] = value
    name, _, variant = task.partition(":")
    if name.replace("-", "_") == "maze" and variant.endswith(".txt"):
        from lexicone.tasks import maze

        return maze(Path(variant).read_text(), **settings)
    try:
        return make(task, **settings)
    except TypeError as error:
        raise ValueError(f"--set: {error}") from None


def _print_values(mdp: MDP, solution: Any, console: Console) -> None:
    table = Table()
    for column in ("objective", "threshold", "value", "", "one more unit of it costs"):
        table.add_column(column, justify="left" if column in ("objective", "") else "right")
    limits = [*solution.order.thresholds, None]
    for k, label in enumerate(mdp.objective_labels):
        met, cost = "", ""
        if limits[k] is not None:
            met = "met" if solution.satisfied[k] else "missed"
            prices = solution.prices[k]
            cost = ", ".join(
                f"{prices[i]:.4g} of {mdp.objective_labels[i]}"
                for i in range(k + 1, len(prices))
                if np.isfinite(prices[i]) and abs(prices[i]) > 1e-9
            )
        limit = "" if limits[k] is None else f"{limits[k]:g}"
        table.add_row(label, limit, f"{solution.values[k]:.6g}", met, cost)
    console.print(table)


def _explain_chance(mdp: MDP, solution: Any, console: Console) -> None:
    """One line for each coin that the policy flips, and one that says what it gains."""
    from lexicone.deterministic import MAX_STATES
    from lexicone.sketch import describe_choices
    from lexicone.solve import solve

    if not solution.randomises:
        return
    for s in solution.randomises[:5]:
        choice = describe_choices(mdp, solution.policy, s)
        console.print(f"At {mdp.state_label(s)} it chooses at random: {choice}.", highlight=False)
    if mdp.num_states > MAX_STATES:
        return
    fixed = solve(mdp, solution.order, solution.gamma, policies="deterministic")
    ours, theirs = (", ".join(f"{v:.4g}" for v in s.values) for s in (solution, fixed))
    console.print(
        f"Why: thresholds hold on average, so a mixture of paths can meet them exactly. It has "
        f"({ours}); the best policy that never flips a coin has ({theirs}).",
        highlight=False,
    )


def _as_json(mdp: MDP, solution: Any) -> dict[str, Any]:
    visited = np.flatnonzero(solution.occupancy.sum(axis=1) > 0)
    return {
        "status": solution.status,
        "message": solution.message,
        "objectives": list(mdp.objective_labels),
        "thresholds": plain_numbers(solution.order.thresholds),
        "values": plain_numbers(solution.values),
        "satisfied": solution.satisfied.tolist(),
        "bound": plain_numbers(solution.bound),
        "prices": [plain_numbers(row) for row in solution.prices],
        "gamma": solution.gamma,
        "criterion": solution.criterion,
        "policies": solution.policies,
        "method": solution.method,
        "policy": {int(s): solution.policy[s].tolist() for s in visited},
    }


def plain_numbers(numbers: Any) -> list[float | str]:
    """JSON has no infinity: those, and NaN, become text."""
    return [float(v) if np.isfinite(v) else str(float(v)) for v in numbers]


def check_folder(out: Path) -> None:
    """Makes the folder before any work, so that a mistake is told at once."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"--out: cannot write to {out}: {error.strerror}") from None


def _save_figure(
    mdp: MDP, policy: Any, occupancy: Any, title: str, out: Path, console: Console
) -> None:
    from lexicone import plots

    figure = plots.draw_model(mdp, policy, occupancy, title)
    name = "policy" if policy is not None else "model"
    for path in plots.save(figure, out / name):
        console.print(str(path), highlight=False)
