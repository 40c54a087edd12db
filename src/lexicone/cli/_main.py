"""The command ``lexicone``. Each subcommand is a frozen dataclass; JAX is imported only when one runs."""

import functools
import inspect
import operator
import os
import sys
import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Annotated, Any

import tyro
from rich.console import Console
from tyro.conf import OmitArgPrefixes, subcommand

from lexicone import __version__
from lexicone._base.console import make_console, write_any_text
from lexicone.cli._ascent import Figure, Maximize, ReproduceLpa
from lexicone.cli._compare import Augment, Compare
from lexicone.cli._experiments import ReproduceExp1, ReproduceExp2, ReproduceFtn
from lexicone.cli._front import Pareto
from lexicone.cli._learners import CompareLearners
from lexicone.cli._models import Show, Solve, Tasks
from lexicone.cli._tlq import Inspect, ReproduceTlq
from lexicone.cli._train import Evaluate, Train

__all__ = ["COMMANDS", "EXPERIMENTS", "main"]

_DESCRIPTION = """\
Decisions with ordered objectives: safety first, as far as good enough; then the next.

Commands compute with 64 bits. Learners (train, evaluate, compare-learners, reproduce exp1, exp2 and ftn) keep to what \
JAX is set to: 32 bits, or 64 with JAX_ENABLE_X64=1 in the environment.
"""


def _one_of(commands: dict[str, type]) -> Any:
    """The union of subcommands; the help of each is its whole docstring, examples included."""
    named = [
        Annotated[
            command,
            subcommand(
                name, description=inspect.cleandoc(command.__doc__ or ""), prefix_name=False
            ),
        ]
        for name, command in commands.items()
    ]
    return functools.reduce(operator.or_, named)


EXPERIMENTS: dict[str, type] = {
    "lpa": ReproduceLpa,
    "tlq": ReproduceTlq,
    "exp1": ReproduceExp1,
    "exp2": ReproduceExp2,
    "ftn": ReproduceFtn,
}
"""The subcommands of ``lexicone reproduce``."""
_Experiment: Any = _one_of(EXPERIMENTS)


@dataclass(frozen=True)
class Reproduce:
    """Run an experiment of the paper: a table, figures and a JSON file of the results.

    Examples:
      lexicone reproduce lpa
      lexicone reproduce tlq --claims 1 5
      lexicone reproduce exp1 --seeds 30 --resume
    """

    experiment: _Experiment  # type: ignore[valid-type]
    """Which one."""

    def run(self, console: Console) -> None:
        """Runs the experiment."""
        self.experiment.run(console)


COMMANDS: dict[str, type] = {
    "tasks": Tasks,
    "show": Show,
    "solve": Solve,
    "pareto": Pareto,
    "train": Train,
    "evaluate": Evaluate,
    "compare-learners": CompareLearners,
    "compare": Compare,
    "augment": Augment,
    "inspect": Inspect,
    "maximize": Maximize,
    "reproduce": Reproduce,
    "figure": Figure,
}
"""The subcommands of ``lexicone``."""
_LEARNERS = (Train, Evaluate, CompareLearners, ReproduceExp1, ReproduceExp2, ReproduceFtn)


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line; a user's mistake ends with one line and exit code 2."""
    arguments = sys.argv[1:] if arguments is None else arguments
    write_any_text()
    if arguments == ["--version"]:
        print(f"lexicone {__version__}")
        return
    command: Any = tyro.cli(
        OmitArgPrefixes[_one_of(COMMANDS)],
        prog="lexicone",
        description=_DESCRIPTION,
        args=arguments or ["--help"],
    )
    warnings.showwarning = _say
    try:
        with _precision_for(command):
            command.run(make_console())
    except BrokenPipeError:  # the reader has seen enough, as in `lexicone … | head`
        sys.stderr.close()
    except (ValueError, OSError, ImportError) as error:
        print(f"lexicone: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("lexicone: interrupted", file=sys.stderr)
        sys.exit(130)


def _say(message: Warning | str, *_: Any) -> None:
    """A warning, in one line."""
    print(f"lexicone: {' '.join(str(message).split())}", file=sys.stderr)


def _precision_for(command: Any) -> AbstractContextManager[Any]:
    """64 bits for all commands but those of learners, which keep to JAX's own setting, by default 32 bits.

    Learners gain nothing from more, and a saved training can only go on with the precision that it began with. JAX
    itself is imported later, and by few commands: until then its setting is a variable of the environment.
    """
    if isinstance(getattr(command, "experiment", command), _LEARNERS):
        return nullcontext()
    if "jax" in sys.modules:
        import jax

        return jax.enable_x64(True)
    os.environ["JAX_ENABLE_X64"] = "1"
    return nullcontext()
