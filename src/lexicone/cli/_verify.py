"""The subcommand ``lexicone verify``: whether a saved solution is what it says it is."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from tyro.conf import Positional

from lexicone.cli._models import SOLUTION_FILE
from lexicone.cli._options import build

__all__ = ["Verify"]

_WORDS = {True: "proven", False: "NOT PROVEN", None: "not looked at"}


@dataclass(frozen=True)
class Verify:
    """Prove the claims of a saved solution of a task, apart from the solver: values, thresholds, bounds, status.

    Exits with 0 if all claims are proven, 1 if not, 2 if files cannot be read.

    Examples:
      lexicone solve space-traders --thresholds 0.88 --out runs
      lexicone verify space-traders runs
      lexicone verify model.npz runs/solution.safetensors --exact
    """

    task: Positional[str]
    """NAME, NAME:VARIANT, maze:FILE.txt (a drawing), road_trip:FILE.csv, or a model saved as FILE.npz."""
    solution: Positional[Path]
    """What `lexicone solve --out FOLDER` wrote: the folder, or the file in it."""
    set: tuple[str, ...] = ()
    """Options of the task, as NAME=VALUE."""
    objectives: tuple[str, ...] = ()
    """The properties of a file of a model checker, as they were given to `lexicone solve`."""
    const: tuple[str, ...] = ()
    """Constants of a PRISM or JANI file, as NAME=VALUE."""
    exact: bool = False
    """In whole numbers, without any rounding (up to 1,000 states)."""
    tolerance: float = 1e-6
    """How far stated numbers may be from proven ones, relative where they are above 1."""
    json: bool = False
    """Print JSON instead of a table."""

    def run(self, console: Console) -> None:
        """Verifies, prints a table, and exits with 1 if anything is not proven."""
        from lexicone.exact._solution import Solution
        from lexicone.proofs._verify import verify

        path = self.solution / SOLUTION_FILE if self.solution.is_dir() else self.solution
        solution = Solution.load(path)
        mdp = build(
            self.task, self.set, self.objectives, constants=self.const, gamma=solution.gamma
        )
        found = verify(mdp, solution, exact=self.exact, tolerance=self.tolerance)
        if self.json:
            claims = [vars(claim) for claim in found.claims]
            shown = {"ok": found.ok, "status": found.status, "exact": found.exact, "claims": claims}
            print(json.dumps(_without_infinity(shown), indent=2, ensure_ascii=False))
        else:
            table = Table()
            for column in ("claim", "", "what is known", "error at most"):
                table.add_column(column, justify="right" if column.startswith("error") else "left")
            for claim in found.claims:
                error = "" if claim.holds is None else f"{claim.error:.2g}"
                table.add_row(escape(claim.name), _WORDS[claim.holds], escape(claim.text), error)
            console.print(table)
            verdict = "verified" if found.ok else "not verified"
            console.print(
                f"{found.status}: {verdict} ({found.message})", highlight=False, markup=False
            )
        if not found.ok:
            sys.exit(1)


def _without_infinity(shown: dict) -> dict:
    """JSON has no infinity: an error without a limit is text."""
    for claim in shown["claims"]:
        if claim["error"] == float("inf"):
            claim["error"] = "inf"
    return shown
