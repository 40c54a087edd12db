"""The subcommand ``lexicone compare-learners``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from lexicone._base.files import write_text
from lexicone.cli._options import Drawn, check_folder

__all__ = ["CompareLearners", "show"]


@dataclass(frozen=True)
class CompareLearners(Drawn):
    """Which learner succeeds on which task, on how many seeds: the paper's, ours, and baselines.

    Tasks: exp1, exp1-expected, exp1-low, exp1-low-expected, exp2, exp2-expected, space-traders, treasure, fruit-tree,
    delta (Δ from 2° to 20° on the fruit tree), and when asked for fruit-tree-6 and fruit-tree-7.
    Learners: reinforce (the paper's), a2c, ppo, and PPO with other rules: half-space, lagrangian, linear, penalty.
    Writes results.json after each cell; run again, it goes on where it stopped. The cells of one file may come from
    several commands, with other seeds for other tasks; --report shows all of them.

    Examples:
      lexicone compare-learners --tasks exp1 exp2 --learners reinforce ppo
      lexicone compare-learners --seeds 100 --out results
      lexicone compare-learners --tasks fruit-tree delta --learners ppo --leaves 4
      lexicone compare-learners --report --out experiments/learners
    """

    tasks: tuple[str, ...] = ()
    """Which tasks; all but the two larger trees by default."""
    learners: tuple[str, ...] = ()
    """Which learners; all by default."""
    seeds: int = 10
    """How many independent runs in each cell."""
    seed: int = 0
    """Where all randomness comes from."""
    episodes: int | None = None
    """Episodes that each run learns from; by default those of the task."""
    evaluation: int = 1000
    """Episodes by which each policy is judged."""
    leaves: int = 20
    """Desired leaves of each fruit tree."""
    report: bool = False
    """Run nothing: the table and figures of all cells that results.json has."""
    out: Path = Path("runs/learners")
    """The folder to write to: results.json, table.md and figures."""

    def run(self, console: Console) -> None:
        """Runs what is missing, prints and draws."""
        check_folder(self.out)
        from lexicone.studies.learners import study as learners

        study = learners.Study(
            tasks=self.tasks or learners.Study.tasks,
            learners=self.learners or learners.Study.learners,
            seeds=self.seeds,
            episodes=self.episodes,
            evaluation=self.evaluation,
            leaves=self.leaves,
            key=self.seed,
        )
        kept = learners.all_cells(self.out) if self.report else None
        results = kept or learners.run(study, self.out, console=console)
        show(results, self.out, console)


def show(results: dict[str, Any], out: Path, console: Console) -> None:
    """The table, the page and the figures of such cells."""
    from lexicone.studies.learners import report as learners_report

    learners_report.report(results, console)
    write_text(out / "table.md", learners_report.as_markdown(results))
    with console.status("drawing …"):
        learners_report.draw(results, out)
    console.print(f"results.json, table.md and figures are in {out}/")
