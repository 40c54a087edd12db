"""The subcommands for models: ``lexicone tasks``, ``show`` and ``solve``."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text
from tyro.conf import Positional

from lexicone._base.text import as_typed, plain_numbers, vector_text
from lexicone.cli._options import (
    Drawn,
    Threshold,
    build,
    check_folder,
    make_order,
    with_chances,
)
from lexicone.models._mdp import MDP, decision_states

__all__ = ["SOLUTION_FILE", "Show", "Solve", "Tasks", "print_values"]

SOLUTION_FILE, _MODEL_FILE = "solution.safetensors", "model.npz"
"""What `lexicone solve --out` calls the solution, and its model."""
_MOST_SAVED = 5_000_000  # successors of a model that is saved beside its solution

_MAX_SEARCHED_STATES = 60  # up to which a policy without a coin is searched, to explain the coin
_SEARCH_SECONDS = 10.0  # for that search


@dataclass(frozen=True)
class Tasks:
    """List the tasks with their objectives, sizes and thresholds to try; or tell all about one, with its options.

    Examples:
      lexicone tasks
      lexicone tasks maze
    """

    name: Positional[str] = ""
    """One task, for its details."""

    def run(self, console: Console) -> None:
        """Builds each task once and prints a table."""
        from lexicone.cli._task_text import describe, size_and_thresholds
        from lexicone.cli._worlds import describe_world, list_worlds
        from lexicone.tasks import TASKS, find
        from lexicone.tasks._worlds import is_world

        if self.name:
            text = describe_world(self.name) if is_world(self.name) else describe(find(self.name))
            console.print(text, highlight=False, markup=False)
            return
        table = Table()
        table.add_column("task", no_wrap=True)
        for column in ("variants", "objectives", "states × actions", "thresholds"):
            table.add_column(column)
        for task in TASKS.values():
            size, limits = size_and_thresholds(task)
            table.add_row(task.name, ", ".join(task.variants), task.objectives, size, limits)
        console.print(table)
        for task in TASKS.values():
            console.print(f"{task.name}: {task.description}", highlight=False)
        list_worlds(console)
        console.print(
            "Objectives of the default task, most important first, and thresholds to try. "
            "lexicone tasks NAME tells more about one, with its options for --set.",
            highlight=False,
        )


@dataclass(frozen=True)
class Show(Drawn):
    """Draw a task, on the terminal and as PNG, SVG and PDF.

    Examples:
      lexicone show maze:extended --set objectives=path
      lexicone show deep-sea-treasure:concave --out figures
      lexicone show maze:mymaze.txt
    """

    task: Positional[str]
    """NAME, NAME:VARIANT, maze:FILE.txt (a drawing), road_trip:FILE.csv, or a model saved as FILE.npz."""
    set: tuple[str, ...] = ()
    """Options of the task, as NAME=VALUE."""
    objectives: tuple[str, ...] = ()
    """The task's objectives in this sequence, by name or number from 1; those not listed are left out."""
    out: Path | None = None
    """The folder to write PNG, SVG and PDF to."""

    def run(self, console: Console) -> None:
        """Prints the model's size, objectives and map."""
        from lexicone.plots._text import sketch

        check_folder(self.out)
        mdp = build(self.task, self.set, self.objectives)
        console.print(
            f"{self.task}: {mdp.num_states} states, {mdp.num_actions} actions, at most "
            f"{mdp.num_successors} successors; objectives: {', '.join(mdp.objective_labels)}",
            highlight=False,
        )
        console.print(sketch(mdp), highlight=False, markup=False)
        if self.out is not None:
            _save_figure(mdp, None, None, self.task, self.out, console)


@dataclass(frozen=True)
class Solve(Drawn):
    """The exact lexicographic optimum of a task: values, thresholds met or missed, and the best policy.

    Examples:
      lexicone solve maze:extended --set objectives=path --thresholds -3
      lexicone solve space-traders --thresholds 0.88 --policies deterministic
      lexicone solve grid:100 --thresholds -1 -1 --gamma 0.99 --json
      lexicone solve road-trip --thresholds at-most:10 --chances 0.95
      lexicone solve robot.prism --const N=5 --objectives 'Pmax=? [F "done"]' 'Rmin=? [F "done"]' --thresholds 0.9
    """

    task: Positional[str]
    """NAME, NAME:VARIANT, maze:FILE.txt (a drawing), road_trip:FILE.csv, a model saved as FILE.npz, or FILE.prism,
    FILE.jani (both with the extra storm), FILE.drn or FILE.umb."""
    thresholds: tuple[Threshold, ...] = ()
    """K−1 thresholds on expected returns, most important first; inf means: maximise. Of costs, and per step:
    at-most:200, at-least:0.95/step; one more, lowest, shows the last objective as a cost too. Of properties: in their
    own terms, at least so much of a max, at most so much of a min; highest and lowest for as good as possible."""
    set: tuple[str, ...] = ()
    """Options of the task, as NAME=VALUE."""
    objectives: tuple[str, ...] = ()
    """The task's objectives in this sequence, by name or number from 1; those not listed are left out. Of
    files of model checkers: PRISM properties, most important first; P>=0.9 [F "done"] brings its own threshold."""
    const: tuple[str, ...] = ()
    """Constants of a PRISM or JANI file, as NAME=VALUE."""
    gamma: float = 1.0
    """Discount factor, 0 to 1."""
    criterion: Literal["expected", "episode", "chance"] | None = None
    """What thresholds hold for: expected returns, each episode, or a share of episodes; chance with --chances, else
    expected. The policy of the last two sees what is left of each budget."""
    chances: tuple[float, ...] = ()
    """The share of episodes that shall meet each threshold, one for all or one for each; nan for one that holds for
    the mean."""
    policies: Literal["stochastic", "deterministic"] = "stochastic"
    """Whether policies may choose at random; deterministic ones only for small models."""
    method: Literal["auto", "lp", "columns"] = "auto"
    """The linear program as a whole, or column generation for large models."""
    out: Path | None = None
    """The folder to write the solution to, for `lexicone verify`, and the policy as PNG, SVG and PDF."""
    json: bool = False
    """Print JSON instead of a table."""

    def run(self, console: Console) -> None:
        """Solves, prints and draws."""
        from lexicone.exact._solve import solve
        from lexicone.plots._text import sketch
        from lexicone.tasks._worlds import is_world

        if is_world(self.task):
            from lexicone.cli._worlds import solve_world

            solve_world(self.task, self.thresholds, self.json, console)
            return
        check_folder(self.out)
        mdp = build(self.task, self.set, self.objectives, constants=self.const, gamma=self.gamma)
        order = make_order(mdp, self.thresholds, self.task, self.objectives)
        order = with_chances(order, self.chances)
        criterion = self.criterion or ("chance" if self.chances else "expected")
        if criterion == "chance" and not self.chances:
            raise ValueError(
                "--criterion: chance needs --chances, the share of episodes that shall meet a threshold"
            )
        if criterion != "expected":
            from lexicone.cli._solve_criteria import solve_with_budgets

            if (self.policies, self.method) != ("stochastic", "auto"):
                raise ValueError("--policies, --method: are for the expected criterion")
            solve_with_budgets(
                mdp, order, criterion, self.gamma, self.out, as_json=self.json, console=console
            )
            return
        options: dict[str, Any] = {"policies": self.policies, "method": self.method}
        if self.json:
            solution = solve(mdp, order, gamma=self.gamma, **options)
            if self.out is not None:
                _save_solution(mdp, solution, self.out)
            print(json.dumps(_as_json(mdp, solution), indent=2))
            return
        with console.status("solving …") as status:

            def progress(line: str) -> None:
                status.update(Text(f"solving … {line}"))

            solution = solve(mdp, order, gamma=self.gamma, progress=progress, **options)
        print_values(solution, console)
        how = f"γ={self.gamma:g}, {self.policies} policies, {solution.method}"
        reason = "" if solution.status == "optimal" else f": {solution.message}"
        console.print(
            f"{solution.status}{reason} ({how}; thresholds hold for expected returns)",
            highlight=False,
        )
        console.print(
            sketch(mdp, solution.policy, solution.occupancy), highlight=False, markup=False
        )
        _explain_chance(mdp, solution, console)
        if self.out is not None:
            for path in _save_solution(mdp, solution, self.out):
                console.print(str(path), highlight=False, markup=False)
            limits = ", ".join(map(str, order.levels[:-1]))
            title = f"{self.task}, thresholds {limits}: {vector_text(solution.order.in_units(solution.values))}"
            _save_figure(mdp, solution.policy, solution.occupancy, title, self.out, console)


def _save_solution(mdp: MDP, solution: Any, out: Path) -> list[Path]:
    """The solution, its policy as a table, its model unless that is very large, and a scheduler.

    The latter for a file of a model checker, with the states of that file.
    """
    solution.save(out / SOLUTION_FILE)
    solution.to_csv(out / "policy.csv")
    written = [out / SOLUTION_FILE, out / "policy.csv"]
    if len(mdp.rows.next_state) <= _MOST_SAVED:
        written.append(out / _MODEL_FILE)
        mdp.save(written[-1])
    else:  # one of an earlier solution would be taken for this one's
        (out / _MODEL_FILE).unlink(missing_ok=True)
    if mdp.origin is not None:
        written.append(out / "scheduler.json")
        mdp.write_policy(written[-1], solution, "storm")
    return written


def print_values(solution: Any, console: Console) -> None:
    """A row for each objective: threshold, value, met or missed, and what it costs."""
    from lexicone.exact._tables import PRICE_COLUMN, solution_rows

    table = Table()
    for column in ("objective", "threshold", "value", "", PRICE_COLUMN):
        table.add_column(column, justify="left" if column in ("objective", "") else "right")
    for row in solution_rows(solution):
        table.add_row(*row)
    console.print(table)


def _explain_chance(mdp: MDP, solution: Any, console: Console) -> None:
    """One line for each coin that the policy flips, and one that says what it gains."""
    from lexicone.exact._solve import Status
    from lexicone.plots._text import describe_choices

    if not solution.randomises:
        return
    for s in solution.randomises[:5]:
        choice = describe_choices(mdp, solution.policy, s)
        console.print(f"At {mdp.state_label(s)} it chooses at random: {choice}.", highlight=False)
    if solution.status is not Status.OPTIMAL:  # then a coin may have other reasons
        return
    console.print(
        f"Why: thresholds hold on average, so a mixture of paths can meet them exactly. It has "
        f"{vector_text(solution.order.in_units(solution.values))}{_without_chance(mdp, solution, console)}.",
        highlight=False,
    )


def _without_chance(mdp: MDP, solution: Any, console: Console) -> str:
    """What is known, after a short search of a small model, about policies that never flip a coin."""
    from lexicone.exact._deterministic import MAX_STATES
    from lexicone.exact._solve import Status, solve

    states = int(decision_states(mdp).sum())
    unknown = "; --policies deterministic searches the best policy that never flips a coin"
    if states > _MAX_SEARCHED_STATES:
        return unknown if states <= MAX_STATES else ""
    begin = time.monotonic()
    with console.status("searching the best policy that never flips a coin …") as status:

        def progress(line: str) -> None:
            status.update(Text(f"searching the best policy that never flips a coin … {line}"))

        fixed = solve(
            mdp,
            solution.order,
            gamma=solution.gamma,
            policies="deterministic",
            time_limit=_SEARCH_SECONDS,
            progress=progress,
        )
    if fixed.status is Status.LIMIT and time.monotonic() - begin > _SEARCH_SECONDS:
        return f"{unknown} (not found within {_SEARCH_SECONDS:g} seconds)"
    if fixed.status is Status.OPTIMAL:
        return f"; the best policy that never flips a coin has {vector_text(fixed.order.in_units(fixed.values))}"
    return f"; of policies that never flip a coin only this is known: {fixed.message}"


def _as_json(mdp: MDP, solution: Any) -> dict[str, Any]:
    every = range(mdp.num_states)
    stay = solution.stay
    more: dict[str, Any] = {}
    if stay is not None:
        more["stay"] = {int(s): float(stay[s]) for s in np.flatnonzero(stay)}
    if mdp.action_names is not None:
        more["action_names"] = list(mdp.action_names)
    if mdp.state_names is not None:
        more["state_names"] = {s: mdp.state_names[s] for s in every}
    return {
        "status": solution.status,
        "message": solution.message,
        "objectives": list(mdp.objective_labels),
        "thresholds": plain_numbers(solution.order.thresholds),
        "values": plain_numbers(solution.values),
        "values_in_units": plain_numbers(solution.order.in_units(solution.values)),
        "key": plain_numbers(solution.key),
        "satisfied": solution.satisfied.tolist(),
        "bound": plain_numbers(solution.bound),
        "prices": [plain_numbers(row) for row in solution.prices],
        "gamma": solution.gamma,
        "criterion": solution.criterion,
        "policies": solution.policies,
        "method": solution.method,
        "policy": {s: solution.policy[s].tolist() for s in every},
        "visits": plain_numbers(solution.occupancy.sum(axis=1)),
        "explanation": solution.explain(),
        **more,
    }


def _save_figure(
    mdp: MDP, policy: Any, occupancy: Any, title: str, out: Path, console: Console
) -> None:
    from lexicone import plots

    figure = plots.draw_model(mdp, policy, occupancy, as_typed(title))
    name = "policy" if policy is not None else "model"
    for path in plots.save(figure, out / name):
        console.print(str(path), highlight=False)
