"""``lexicone reproduce all``: every experiment of the paper, and one report of them."""

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from lexicone._base.checks import check_range
from lexicone.cli._ascent import ReproduceLpa
from lexicone.cli._experiments import ReproduceExp1, ReproduceExp2, ReproduceFtn
from lexicone.cli._options import Drawn, check_folder
from lexicone.cli._tlq import ReproduceTlq

__all__ = ["ReproduceAll"]


@dataclass(frozen=True)
class ReproduceAll(Drawn):
    """Every experiment of the paper, each in a folder of its own, and report.html: its figures and numbers beside ours.

    With the usual settings it takes up to twenty minutes on two cores, less if they are quiet. Trainings go on with
    --resume; claims about Q-learning that are finished are not computed again.

    Examples:
      lexicone reproduce all
      lexicone reproduce all --seeds 2 --episodes 200 --out runs/quick
    """

    seeds: int = 10
    """How many independent runs of experiments 1 and 2; experiment 3 has three at most, as in the paper."""
    seed: int = 0
    """Where all randomness comes from."""
    episodes: int | None = None
    """Episodes of every part, instead of its own number."""
    resume: bool = False
    """Go on where an interrupted run with the same options stopped."""
    out: Path = Path("runs/paper")
    """The folder to write to."""

    def run(self, console: Console) -> None:
        """Learners first, in JAX's own precision; then what is computed with 64 bits; then the page."""
        check_range("--seeds", self.seeds, 1)
        check_folder(self.out)
        import jax

        from lexicone.reports._report import report

        learned: dict[str, Any] = {
            "seed": self.seed,
            "episodes": self.episodes,
            "resume": self.resume,
        }
        parts: list[tuple[Any, bool]] = [
            (ReproduceExp1(seeds=self.seeds, out=self.out / "exp1", **learned), False),
            (ReproduceExp2(seeds=self.seeds, out=self.out / "exp2", **learned), False),
            (ReproduceFtn(seeds=min(3, self.seeds), out=self.out / "ftn", **learned), False),
            (ReproduceLpa(out=self.out / "lpa", seed=self.seed), True),
            (ReproduceTlq(out=self.out / "tlq"), True),
        ]
        for part, double in parts:
            console.rule(part.out.name)
            with jax.enable_x64(True) if double else nullcontext():
                part.run(console)
        with console.status("writing the report …"), jax.enable_x64(True):
            page = report(self.out, self.out / "report.html")
        console.print(str(page), highlight=False, markup=False)
