"""The subcommands for learners: ``lexicone train`` and ``lexicone evaluate``."""

import ast
import dataclasses
import importlib
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from tyro.conf import Positional

from lexicone.cli_models import build, check_folder, make_order, plain_numbers

__all__ = ["Evaluate", "Train", "judge", "make_learner"]

_FILE = "training.safetensors"
_RARE = 0.01  # actions less likely than that are not drawn


@dataclass(frozen=True)
class Train:
    """Learn a policy for a task from samples, several seeds at once, and compare it with the exact optimum.

    Writes training.safetensors (everything, for `lexicone evaluate` and lx.load), results.json and figures.
    Interrupted or killed, it goes on with --resume and ends as if nothing had happened.

    Examples:
      lexicone train maze:concave --thresholds 0.5 --settings criterion=episode --episodes 4000
      lexicone train maze:extended --set objectives=path --thresholds -3
      lexicone train maze:extended --set objectives=path --thresholds 0 --learner reinforce --settings gamma=0.91
      lexicone train space-traders --thresholds 0.88 --out runs/traders --resume
    """

    task: Positional[str]
    """NAME, NAME:VARIANT, maze:FILE.txt (a drawing), road_trip:FILE.csv, or a model saved as FILE.npz."""
    thresholds: tuple[float, ...]
    """K−1 thresholds on returns, most important first; inf means: maximise."""
    set: tuple[str, ...] = ()
    """Options of the task, as NAME=VALUE."""
    learner: str = "ppo"
    """Which learner: ppo, a2c, or reinforce, the paper's algorithm."""
    settings: tuple[str, ...] = ()
    """Settings of the learner, as NAME=VALUE; a wrong name lists them all."""
    delta_deg: float | None = None
    """Conservativeness Δ in degrees, 0 to below 90, instead of the learner's own."""
    episodes: int = 20_000
    """How many episodes each seed learns from."""
    seeds: int = 10
    """How many independent runs."""
    seed: int = 0
    """Where all randomness comes from."""
    out: Path = Path("runs/train")
    """The folder to write to."""
    resume: bool = False
    """Go on from the folder's training.safetensors, if it is there."""
    json: bool = False
    """Print JSON instead of a progress bar and a table."""

    def run(self, console: Console) -> None:
        """Trains, judges, draws."""
        check_folder(self.out)
        mdp = build(self.task, self.set)
        from lexicone.solve import solve
        from lexicone.train import train

        order = make_order(mdp, self.thresholds, self.task)
        trained = train(
            mdp,
            order,
            make_learner(self.learner, self.settings, self.delta_deg),
            seeds=self.seeds,
            episodes=self.episodes,
            key=self.seed,
            progress=not self.json,
            checkpoint=self.out / _FILE,
            resume=self.resume,
        )
        exact = solve(mdp, order)
        results = judge(trained, exact, 100, False, 1)
        (self.out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
        _draw(trained, exact, results, self.task, self.out)
        if self.json:
            print(json.dumps(results, indent=2))
            return
        _print_table(results, console)
        console.print(f"{_FILE}, results.json and figures (PNG, SVG) are in {self.out}/")


@dataclass(frozen=True)
class Evaluate:
    """Run trained policies again, and compare them with the exact optimum.

    Examples:
      lexicone evaluate runs/train
      lexicone evaluate runs/train --episodes 1000 --greedy --json
    """

    path: Positional[Path]
    """A folder that `lexicone train` wrote to, or a saved training."""
    episodes: int = 100
    """Evaluation episodes per seed."""
    greedy: bool = False
    """Take the most probable action instead of sampling; where nothing rewards speed, that can loop."""
    seed: int = 0
    """Of the evaluation."""
    json: bool = False
    """Print JSON instead of a table."""

    def run(self, console: Console) -> None:
        """Evaluates and prints."""
        if self.episodes < 1:
            raise ValueError(f"--episodes: must be at least 1, got {self.episodes}")
        from lexicone.solve import solve
        from lexicone.trained import load

        trained = load(self.path / _FILE if self.path.is_dir() else self.path)
        exact = solve(trained.mdp, trained.order)
        results = judge(trained, exact, self.episodes, self.greedy, self.seed)
        if self.json:
            print(json.dumps(results, indent=2))
            return
        done, total = int(trained.run.update), trained.updates
        if done < total:
            console.print(f"The training is not finished: {done} of {total} updates are done.")
        _print_table(results, console)


def make_learner(name: str, settings: tuple[str, ...], delta_deg: float | None = None) -> Any:
    """The learner that the command line describes."""
    from lexicone.trained import LEARNERS

    known = {key.lower(): key for key in LEARNERS}
    if name.lower() not in known:
        raise ValueError(f"--learner: there is no {name!r}; there are {', '.join(known)}")
    kind = known[name.lower()]
    cls = getattr(importlib.import_module(LEARNERS[kind]), kind)
    fields = {field.name: field.default for field in dataclasses.fields(cls)}
    given: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        key = key.replace("-", "_")
        if not equals or key not in fields:
            listed = ", ".join(f"{n}={v!r}" for n, v in fields.items())
            raise ValueError(f"--settings: {setting!r} is none of NAME=VALUE with {listed}")
        given[key] = _read(key, text, fields[key])
    if delta_deg is not None:
        if "delta" in given:
            raise ValueError("--delta-deg: delta is among the settings already")
        if not 0 <= delta_deg < 90:
            raise ValueError(f"--delta-deg: must be at least 0 and below 90, got {delta_deg:g}")
        given["delta"] = math.radians(delta_deg)
    return cls(**given)


def _read(name: str, text: str, default: Any) -> Any:
    """A setting's text as what its default is."""
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        value = {"true": True, "false": False}.get(text.lower(), text)
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if isinstance(default, tuple) and isinstance(value, int | list):
        value = tuple(value) if isinstance(value, list) else (value,)
    if default is not dataclasses.MISSING and type(value) is not type(default):
        raise ValueError(f"--settings: {name} is like {default!r}, got {text!r}")
    return value


def judge(trained: Any, exact: Any, episodes: int, greedy: bool, seed: int) -> dict[str, Any]:
    """Every seed's satisfaction, exact values and gap to the exact optimum, as JSON can hold them."""
    found = trained.evaluate(episodes, greedy=greedy, seed=seed)
    values = trained.values()
    return {
        "objectives": list(trained.order.labels),
        "thresholds": plain_numbers(trained.order.thresholds),
        "learner": type(trained.learner).__name__,
        "episodes": int(trained.run.update) * trained.learner.batch,
        "steps": trained.history["steps"][:, -1].tolist(),
        "evaluation_episodes": episodes,
        "greedy": greedy,
        "success": found.success.tolist(),
        "satisfied": found.satisfied.tolist(),
        "returns": found.returns.mean(axis=1).tolist(),
        "terminated": found.terminated.mean(axis=1).tolist(),
        "values": [plain_numbers(row) for row in values],
        "gap": [plain_numbers(row) for row in trained.gap(exact)],
        "exact": plain_numbers(exact.values),
        "exact_status": str(exact.status),
    }


def _print_table(results: dict[str, Any], console: Console) -> None:
    table = Table()
    table.add_column("seed", justify="right")
    for name, threshold in zip(results["objectives"], results["thresholds"], strict=False):
        bound = threshold if isinstance(threshold, str) else f"{threshold:g}"
        table.add_column(f"{name} ≥ {bound}", justify="right")
    for column in ("all", "mean returns", "gap to the exact optimum"):
        table.add_column(column, justify="right")
    for i, share in enumerate(results["success"]):
        met = [f"{rate:.0%}" for rate in results["satisfied"][i]]
        numbers = (_vector(results[name][i]) for name in ("returns", "gap"))
        table.add_row(str(i), *met, f"{share:.0%}", *numbers)
    console.print(table)
    how = "greedy actions" if results["greedy"] else "sampled actions"
    console.print(
        f"Shares of {results['evaluation_episodes']} episodes ({how}). The gap is that of exact expected values, both "
        f"clipped at the thresholds, to the optimum {_vector(results['exact'])} ({results['exact_status']}).",
        highlight=False,
    )


def _draw(trained: Any, exact: Any, results: dict[str, Any], task: str, out: Path) -> None:
    from lexicone import plots, plots_training

    title = f"{task}, {results['learner']}, {trained.seeds} seeds"
    figure = plots_training.history(trained.history, trained.order, title)
    plots.save(figure, out / "history")
    if trained.mdp.layout is None:
        return
    from lexicone.plots_compare import Panel, beside

    best = int(np.argmax(results["success"]))
    table = trained.policy(best)
    table = np.where(table < _RARE, 0.0, table)
    table /= table.sum(axis=1, keepdims=True)
    visited = np.ones_like(table)
    panels = [
        Panel(f"seed {best}: met {results['success'][best]:.0%}", table, visited),
        Panel("exact, in expectation", exact.policy, exact.occupancy),
    ]
    plots.save(beside(trained.mdp, panels), out / "policy")


def _vector(values: Any) -> str:
    return ", ".join(v if isinstance(v, str) else f"{v:.3g}" for v in values)
