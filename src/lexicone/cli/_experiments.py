"""The paper's experiments with policy gradients: ``lexicone reproduce exp1``, ``exp2`` and ``ftn``."""

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from lexicone._base.checks import check_range
from lexicone.cli._options import Drawn, check_folder

__all__ = ["ReproduceExp1", "ReproduceExp2", "ReproduceFtn"]


@dataclass(frozen=True)
class _Reproduce(Drawn):
    """What the paper's three experiments share."""

    seeds: int = 10
    """How many independent runs."""
    seed: int = 0
    """Where all randomness comes from."""
    episodes: int | None = None
    """Episodes of every part, instead of its own number."""
    resume: bool = False
    """Go on where an interrupted run with the same options stopped."""

    def _options(self) -> Any:
        from lexicone.studies.policy_gradient import Options

        for name in ("seeds", "episodes"):
            value = getattr(self, name)
            if value is not None:
                check_range(f"--{name}", value, 1)
        return Options(self.seeds, self.seed, self.episodes, self.resume)

    def _run_maze(self, name: str, out: Path, console: Console) -> None:
        check_folder(out)
        from lexicone.studies import policy_gradient

        module = importlib.import_module(f"lexicone.studies.{name}")
        results = policy_gradient.run(module.experiment(), self._options(), out)
        _finish(policy_gradient, results, out, console)


@dataclass(frozen=True)
class ReproduceExp1(_Reproduce):
    """The paper's experiment 1: the extended maze, bad tiles first, then time; its learner and a batched one.

    Examples:
      lexicone reproduce exp1
      lexicone reproduce exp1 --seeds 30 --out results --resume
    """

    out: Path = Path("runs/exp1")
    """The folder to write to: results.json, figures, and the trained policies."""

    def run(self, console: Console) -> None:
        """Trains, prints and draws."""
        self._run_maze("exp1", self.out, console)


@dataclass(frozen=True)
class ReproduceExp2(_Reproduce):
    """The paper's experiment 2: the 3×5 maze, reach the goal first, then no bad tiles; its learner and a batched one.

    Examples:
      lexicone reproduce exp2
      lexicone reproduce exp2 --seeds 30 --out results --resume
    """

    out: Path = Path("runs/exp2")
    """The folder to write to: results.json, figures, and the trained policies."""

    def run(self, console: Console) -> None:
        """Trains, prints and draws."""
        self._run_maze("exp2", self.out, console)


@dataclass(frozen=True)
class ReproduceFtn(_Reproduce):
    """The paper's experiment 3: how often the desired fruit of a tree is reached, for several Δ, and for TLQ.

    Examples:
      lexicone reproduce ftn
      lexicone reproduce ftn --leaf 10 --seeds 5
    """

    seeds: int = 3
    """How many independent runs."""
    leaf: int = 13
    """The desired leaf, from 0 at the left to 31."""
    out: Path = Path("runs/ftn")
    """The folder to write to: results.json, the figure, and the trained policies."""

    def run(self, console: Console) -> None:
        """Trains, prints and draws."""
        check_folder(self.out)
        options = self._options()
        from lexicone.studies import fruit_tree

        results = fruit_tree.run(options, self.out, self.leaf)
        _finish(fruit_tree, results, self.out, console)


def _finish(module: Any, results: dict[str, Any], out: Path, console: Console) -> None:
    from lexicone.studies.results import write

    write(results, out / "results.json")
    module.report(results, console)
    with console.status("drawing …"):
        module.draw(results, out)
    console.print(f"results.json, figures and trained policies are in {out}/")
