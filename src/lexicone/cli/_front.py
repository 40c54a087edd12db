"""The subcommand ``lexicone pareto``: what can be had of two or three objectives together."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text
from tyro.conf import Positional

from lexicone._base.console import make_console
from lexicone._base.text import as_typed, plain_numbers
from lexicone.cli._options import Drawn, build, check_folder, signs_of

__all__ = ["Pareto"]


@dataclass(frozen=True)
class Pareto(Drawn):
    """The Pareto front of a task with two or three objectives, as a table and as PNG, SVG and PDF.

    Examples:
      lexicone pareto deep-sea-treasure --out figures
      lexicone pareto maze:extended --set objectives=path --policies deterministic
      lexicone pareto grid:10 --gamma 0.99 --points 8 --json
    """

    task: Positional[str]
    """NAME, NAME:VARIANT, maze:FILE.txt (a drawing), road_trip:FILE.csv, or a model saved as FILE.npz."""
    set: tuple[str, ...] = ()
    """Options of the task, as NAME=VALUE."""
    objectives: tuple[str, ...] = ()
    """The task's objectives in this sequence, by name or number from 1; those not listed are left out. Of
    files of model checkers: PRISM properties."""
    gamma: float = 1.0
    """Discount factor, 0 to 1."""
    policies: Literal["stochastic", "deterministic"] = "stochastic"
    """Whether policies may choose at random; deterministic ones for two objectives and small models."""
    points: int = 25
    """Thresholds to try for each objective but the last; the most points of a deterministic front."""
    time_limit: float = math.inf
    """In seconds; then the points found so far are printed, marked as such."""
    out: Path | None = None
    """The folder to write the front to, as PNG, SVG and PDF."""
    json: bool = False
    """Print JSON instead of a table."""

    def run(self, console: Console) -> None:
        """Computes, prints and draws."""
        from lexicone.exact._front import pareto

        check_folder(self.out)
        mdp = build(self.task, self.set, self.objectives, gamma=self.gamma)
        options: dict[str, Any] = {
            "policies": self.policies,
            "points": self.points,
            "time_limit": self.time_limit,
        }
        with make_console(stderr=True).status("computing the front …") as status:

            def progress(line: str) -> None:
                status.update(Text(f"computing the front … {line}"))

            front = pareto(mdp, gamma=self.gamma, progress=progress, **options)
        signs = np.array(signs_of(mdp, self.task, self.objectives))
        if self.json:
            found = {
                "objectives": list(mdp.objective_labels),
                "values": [plain_numbers(row) for row in front.values],
                "values_in_units": [plain_numbers(row * signs) for row in front.values],
                "complete": front.complete,
                "message": front.message,
                "gamma": front.gamma,
                "policies": front.policies,
            }
            print(json.dumps(found, indent=2))
        else:
            table = Table()
            for label in mdp.objective_labels:
                table.add_column(label, justify="right")
            for row in front.values * signs:
                table.add_row(*(f"{value + 0.0:.6g}" for value in row))
            console.print(table)
            which = "all of them" if front.complete else "samples of the front"
            count = len(front.values)
            console.print(
                f"{count} {'point' if count == 1 else 'points'}, {which} (γ={self.gamma:g}, {self.policies} policies)",
                highlight=False,
            )
            if front.message:
                console.print(front.message, highlight=False, markup=False)
        if self.out is not None:
            from lexicone import plots

            pairs = zip(mdp.objective_labels, signs, strict=True)
            names = [label if sign > 0 else f"−{label}" for label, sign in pairs]
            figure = plots.draw_front(front, names=names, title=as_typed(self.task))
            for path in plots.save(figure, self.out / "front"):
                if not self.json:
                    console.print(str(path), highlight=False)
