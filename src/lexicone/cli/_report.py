"""The subcommand ``lexicone report``, and what other commands leave for it beside their results."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from tyro.conf import Positional, arg

from lexicone._base.files import write_text
from lexicone.cli._options import build

__all__ = ["Report", "record"]


@dataclass(frozen=True)
class Report:
    """One HTML file about a result: the question, the answer, what thresholds cost, how sure, pictures, the command.

    It needs nothing else, opens in every browser and prints on A4.

    Examples:
      lexicone solve maze:extended --set objectives=path --thresholds -3 --out runs/maze
      lexicone report runs/maze -o maze.html
      lexicone report runs/train
      lexicone report solution.safetensors --task space-traders
      lexicone report experiments/learners -o learners.html
    """

    result: Positional[Path]
    """A folder that solve, train, study, compare-learners or reproduce wrote to, a saved solution or training, or
    results.json."""
    out: Annotated[Path, arg(aliases=["-o"])] = Path("report.html")
    """The page to write."""
    task: str = ""
    """The model of a saved solution, where it does not lie beside it, as for `lexicone solve`; or the id of the
    environment of a training, where it is MODULE:NAME."""
    set: tuple[str, ...] = ()
    """Options of that task, as NAME=VALUE."""
    objectives: tuple[str, ...] = ()
    """Its objectives, as they were given to `lexicone solve`."""
    const: tuple[str, ...] = ()
    """Constants of a PRISM or JANI file, as NAME=VALUE."""
    title: str = ""
    """Of the page."""
    beside: bool = False
    """Also save the solution or training beside the page, and its numbers as CSV."""

    @property
    def learns(self) -> bool:
        """Whether it is about a training, which keeps to the precision that it was made with."""
        from lexicone.learning._defaults import TRAINING_FILE

        return self.result.name == TRAINING_FILE or (self.result / TRAINING_FILE).is_file()

    def _find(self) -> tuple[Any, dict[str, Any]]:
        """The result, and what is known of it besides; an environment that a file may not import is given by name."""
        if not self.task:
            return self.result, {}
        if not self.learns:
            mdp = build(self.task, self.set, self.objectives, constants=self.const)
            return self.result, {"mdp": mdp}
        from lexicone.learning._saved import load
        from lexicone.reports._common import Origin

        folder = self.result if self.result.is_dir() else self.result.parent
        return load(self.result, task=self.task), {"command": Origin.read(folder).command or None}

    def run(self, console: Console) -> None:
        """Reads, computes what is missing, writes."""
        from lexicone.reports._report import report

        result, options = self._find()
        with console.status("writing the report …"):
            path = report(result, self.out, title=self.title or None, beside=self.beside, **options)
        console.print(str(path), highlight=False, markup=False)


def record(command: Any, arguments: Sequence[str], seconds: float) -> None:
    """What was asked and with which versions, in the folder of a command's results, for its report."""
    from lexicone.reports._common import RUN_FILE, versions

    out = getattr(command, "out", None)
    if not isinstance(out, Path) or not out.is_dir():
        return
    facts = {
        "task": getattr(command, "task", ""),
        "command": shlex.join(["lexicone", *arguments]),
        "seconds": round(seconds, 3),
        "versions": versions(),
    }
    write_text(out / RUN_FILE, json.dumps(facts, indent=1, ensure_ascii=False) + "\n")
