"""The subcommands for ascent along directions: ``lexicone maximize``, ``reproduce lpa`` and ``figure``."""

import importlib
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rich.console import Console
from tyro.conf import Positional

from lexicone._base.checks import check_range
from lexicone._base.progress import progress_bars
from lexicone._base.text import plain_numbers
from lexicone.cli._options import Drawn, check_folder, radians
from lexicone.directions._find_direction import DirectionMethod

__all__ = ["Figure", "Maximize", "ReproduceLpa"]

FigureName = Literal[
    "all",
    "values",
    "trajectory",
    "values-active",
    "trajectory-active",
    "halfspace",
    "cone",
    "geometry",
]


@dataclass(frozen=True)
class Maximize:
    """Maximise JAX functions in order of importance, each but the last as far as its threshold.

    Examples:
      lexicone maximize benchmark --x0 1.5 1.5 --thresholds -0.5
      lexicone maximize mymodel.py:losses --x0 0 0 0 --thresholds -0.1 2 --method exact --step safe
      lexicone maximize benchmark --x0 1.5 1.5 --thresholds -0.5 --method flow --step safe
    """

    function: Positional[str]
    """FILE.py:NAME or MODULE:NAME of a JAX function from a vector to K values, or "benchmark" (the paper's)."""
    x0: tuple[float, ...]
    """Where to start."""
    thresholds: tuple[float, ...]
    """K−1 thresholds, most important first (none for K=1)."""
    delta_deg: float = 2.0
    """Conservativeness Δ in degrees, 0 to below 90."""
    method: DirectionMethod = "sequential"
    """How to project: the paper's pass, the exact projection, half-spaces (Δ=0); or the flow, which needs no Δ."""
    step: Literal["fixed", "safe"] = "fixed"
    """Take every step, or only steps that keep the satisfied objectives."""
    step_size: float = 0.02
    """The step size α, or the first to try."""
    max_steps: int = 1000
    """Stop after so many steps."""
    active_constraints: bool = False
    """Protect only objectives that are within the buffer of their thresholds."""
    buffer: float = 0.0
    """How far above its threshold an objective must be before it may fall."""
    json: bool = False
    """Print JSON instead of a table."""

    def run(self, console: Console) -> None:
        """Maximises and prints the result."""
        from lexicone.directions._maximize import maximize
        from lexicone.order import Order

        order = Order(self.thresholds)
        result = maximize(
            _find_function(self.function),
            self.x0,
            order,
            delta=radians(self.delta_deg),
            step_size=self.step_size,
            max_steps=self.max_steps,
            step=self.step,
            method=self.method,
            active_constraints=self.active_constraints,
            buffer=self.buffer,
            progress=not self.json,
        )
        met = result.values[:-1] >= np.array(order.thresholds)  # NaN meets nothing
        if self.json:
            found = {
                "x": result.x.tolist(),
                "values": plain_numbers(result.values),
                "satisfied": met.tolist(),
                "status": result.status,
                "reason": result.reason,
                "steps": result.steps,
            }
            print(json.dumps(found, indent=2))
            return
        words = [*("met" if s else "missed" for s in met), ""]
        for label, value, threshold, word in zip(
            order.labels, result.values, [*order.thresholds, None], words, strict=True
        ):
            bound = "" if threshold is None else f"   threshold {threshold:g}: {word}"
            console.print(f"{label:14} {value:12.7g}{bound}", highlight=False)
        console.print(
            f"{'x':14} {' '.join(f'{v:.7g}' for v in result.x.tolist())}", highlight=False
        )
        console.print(f"{'status':14} {result.status} after {result.steps} steps: {result.reason}")


@dataclass(frozen=True)
class ReproduceLpa(Drawn):
    """The optimisation benchmark for the Lexicographic Projection Algorithm.

    Examples:
      lexicone reproduce lpa
      lexicone reproduce lpa --out results --starts 200
    """

    out: Path = Path("runs/lpa")
    """The folder to write to."""
    starts: int = 50
    """How many random start points the safe ascent is tried from."""
    seed: int = 0
    """Seed of the start points."""

    def run(self, console: Console) -> None:
        """Runs, prints and draws the experiment."""
        check_folder(self.out)
        check_range("--seed", self.seed, 0)
        from lexicone.studies import lpa, results

        found = lpa.run(lpa.Lpa(starts=self.starts, seed=self.seed))
        lpa.report(found, console)
        results.write(found, self.out / "results.json", indent=2)
        with progress_bars(transient=False) as progress:
            for name in progress.track(lpa.FIGURES, description="figures"):
                lpa.draw(name, self.out)
        console.print(f"Figures and results.json are in {self.out}/")


@dataclass(frozen=True)
class Figure(Drawn):
    """Draw a figure of the paper as PNG, SVG and PDF.

    values, trajectory: the LPA on the paper's benchmark, values over steps and path over level curves;
    values-active, trajectory-active: the same with active constraints; halfspace: why the half-space fails;
    cone: how the hypercone differs; geometry: how a vector is projected onto a hypercone.

    Examples:
      lexicone figure trajectory
      lexicone figure cone --delta-deg 30 --out talk/figures
    """

    name: Positional[FigureName]
    """Which figure, or all of them."""
    out: Path = Path("runs/figures")
    """The folder to write to."""
    delta_deg: float | None = None
    """Δ of the figure in degrees, instead of its usual value."""

    def run(self, console: Console) -> None:
        """Draws and says where."""
        check_folder(self.out)
        if self.delta_deg is not None and self.name == "halfspace":
            raise ValueError("--delta-deg: the half-space has Δ=0; use the figure cone")
        delta = None if self.delta_deg is None else radians(self.delta_deg)
        from lexicone.studies import lpa

        for name in lpa.FIGURES if self.name == "all" else [self.name]:
            for path in lpa.draw(name, self.out, delta):
                console.print(str(path), highlight=False)


def _find_function(name: str) -> Callable[[Any], Any]:
    """The function behind "benchmark", "file.py:name" or "module:name"."""
    if name == "benchmark":
        from lexicone.studies.lpa import objectives

        return objectives
    place, _, attribute = name.rpartition(":")
    if not place or not attribute:
        raise ValueError(
            f'function: expected FILE.py:NAME, MODULE:NAME or "benchmark", got {name!r}'
        )
    file = Path(place)
    folder = str(file.resolve().parent) if place.endswith(".py") else str(Path.cwd())
    sys.path.insert(0, folder)  # so that what lies beside it can be imported
    try:
        module = importlib.import_module(file.stem if place.endswith(".py") else place)
        if place.endswith(".py") and not file.is_file():
            raise ImportError("no such file")
    except Exception as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"function: cannot import {place!r}: {reason}") from None
    finally:
        sys.path.remove(folder)
    found = getattr(module, attribute, None)
    if not callable(found):
        raise ValueError(f"function: {place!r} has no function {attribute!r}")
    return found
