"""The subcommand ``lexicone study``."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from tyro.conf import Positional

from lexicone._base.checks import check_range
from lexicone._base.files import write_text
from lexicone._base.text import plain_numbers
from lexicone.cli._options import Drawn

__all__ = ["RunStudy"]


@dataclass(frozen=True)
class RunStudy(Drawn):
    """Learners × settings × tasks over many seeds, described by a TOML file; what is done already is not done again.

    Results are kept in the folder, one file for each cell, so that a study that was killed goes on, and several
    machines that share the folder can work on it. Writes table.tex, comparisons.tex, results.json and comparison.png,
    .svg and .pdf.

    Examples:
      lexicone study traders.toml
      lexicone study traders.toml --out shared/traders --ray auto
      lexicone study traders.toml --out shared/traders --report
      lexicone study experiments/learners.toml --out experiments/learners
    """

    file: Positional[Path]
    """The study: tables [tasks.NAME], [learners.NAME], [vary.NAME], and seeds, steps or episodes, evaluation."""
    out: Path | None = None
    """The folder to keep results in; by default runs/NAME of the file."""
    ray: str | None = None
    """Run on a Ray cluster (extra cluster): its address, auto for the one on this machine, or local to start one."""
    cpus: float = 1
    """Processors that Ray gives to each group of cells."""
    gpus: float = 0
    """GPUs that Ray gives to each group of cells."""
    report: bool = False
    """Run nothing: show what there is by now."""
    json: bool = False
    """Print JSON instead of a table."""

    def run(self, console: Console) -> None:
        """Runs what is missing, prints and draws."""
        from lexicone import plots
        from lexicone.studies.learners.study_file import is_learners_file
        from lexicone.studies.sweeps.store import Store
        from lexicone.studies.sweeps.study import results_of, run_study
        from lexicone.studies.sweeps.study_file import read_study, read_toml

        check_range("--cpus", self.cpus, 0, above=True)
        check_range("--gpus", self.gpus, 0)
        out = self.out or Path("runs") / self.file.stem
        where: dict[str, Any] = {
            "ray": False if self.ray is None else self.ray == "local" or self.ray,
            "cpus": self.cpus,
            "gpus": self.gpus,
            "progress": not self.json,
            "console": console,
        }
        if is_learners_file(given := read_toml(self.file)):
            self._run_learners(given, out, where, console)
            return
        plan = read_study(self.file)
        found = results_of(plan, Store(out)) if self.report else run_study(plan, out, **where)
        if not found.cells:
            raise ValueError(f"--out: {out} has no results of this study yet")
        write_text(out / "table.tex", found.latex() + "\n")
        write_text(out / "comparisons.tex", found.comparison_latex() + "\n")
        results = {"missing": found.missing, "cells": found.cells}
        write_text(out / "results.json", json.dumps(results) + "\n")
        plots.save(found.figure(), out / "comparison")
        if self.json:
            print(json.dumps(_as_json(found), indent=2))
            return
        head, *rows = found.rows()
        table = Table()
        for i, column in enumerate(head):
            table.add_column(column, justify="left" if i < 2 else "right")
        for row in rows:
            table.add_row(*row)
        console.print(table)
        console.print(found.verdict(), highlight=False, markup=False)
        if found.missing:
            console.print(f"{found.missing} cells are not done yet.")
        console.print(f"results.json, table.tex, comparisons.tex and comparison are in {out}/")

    def _run_learners(
        self, given: dict[str, Any], out: Path, where: dict[str, Any], console: Console
    ) -> None:
        from lexicone.cli._learners import show
        from lexicone.studies.learners.study_file import read_parts, results_of_parts, run_parts

        parts = read_parts(given)
        found = results_of_parts(parts, out) if self.report else run_parts(parts, out, **where)
        if not found:
            raise ValueError(f"--out: {out} has no results of this study yet")
        if self.json:
            print(json.dumps(found, indent=1, ensure_ascii=False))
        else:
            show(found, out, console)


def _as_json(found: object) -> dict[str, object]:
    from lexicone.studies.sweeps.outcome import StudyResult

    assert isinstance(found, StudyResult)
    return {
        "missing": found.missing,
        "cells": [
            {
                "task": s.task,
                "learner": s.learner,
                "seeds": s.seeds,
                "held": plain_numbers(s.held),
                "last": plain_numbers(s.last),
                "values": plain_numbers(s.values),
                "exact": None if s.exact is None else plain_numbers(s.exact),
                "steps": s.steps,
                "seconds": s.seconds,
            }
            for s in found.summaries
        ],
        "comparisons": [
            {
                "task": c.task,
                "learner": c.learner,
                "other": c.other,
                "better": plain_numbers(c.better),
                "last": plain_numbers(c.last),
                "p": c.chance,
            }
            for c in found.comparisons
        ],
        "verdict": found.verdict(),
    }
