"""The command ``lexicone``. Each subcommand is a frozen dataclass; JAX is imported only when one runs."""

import functools
import inspect
import operator
import os
import sys
import time
import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated, Any

import tyro
from rich.console import Console
from tyro.conf import OmitArgPrefixes, subcommand

from lexicone import __version__
from lexicone._base.checks import check_range
from lexicone._base.console import make_console, write_any_text
from lexicone._base.files import release_folders
from lexicone.cli._ascent import Figure, Maximize, ReproduceLpa
from lexicone.cli._compare import Augment, Compare
from lexicone.cli._compile_cache import keep_programs
from lexicone.cli._evaluate import Evaluate
from lexicone.cli._experiments import ReproduceExp1, ReproduceExp2, ReproduceFtn
from lexicone.cli._explore import Explore
from lexicone.cli._front import Pareto
from lexicone.cli._guard import was_interrupted
from lexicone.cli._learners import CompareLearners
from lexicone.cli._models import Show, Solve, Tasks
from lexicone.cli._options import Drawn, as_width
from lexicone.cli._report import Report, record
from lexicone.cli._reproduce_all import ReproduceAll
from lexicone.cli._study import RunStudy
from lexicone.cli._tlq import Inspect, ReproduceTlq
from lexicone.cli._train import Train
from lexicone.cli._verify import Verify
from lexicone.cli._watch import Watch

__all__ = ["COMMANDS", "EXPERIMENTS", "main"]

_DESCRIPTION = """\
Decisions with ordered objectives: safety first, as far as good enough; then the next.

Commands compute with 64 bits. Learners (train, evaluate, watch, study, compare-learners, reproduce exp1, exp2 and \
ftn, also in all) keep to what JAX is set to: 32 bits, or 64 with JAX_ENABLE_X64=1 in the environment. What is \
compiled is kept for the next time; LEXICONE_CACHE=off switches that off.
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
    "all": ReproduceAll,
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
      lexicone reproduce all
    """

    experiment: _Experiment  # type: ignore[valid-type]
    """Which one."""

    def run(self, console: Console) -> None:
        """Runs the experiment."""
        self.experiment.run(console)


COMMANDS: dict[str, type] = {
    "tasks": Tasks,
    "show": Show,
    "explore": Explore,
    "solve": Solve,
    "verify": Verify,
    "pareto": Pareto,
    "train": Train,
    "evaluate": Evaluate,
    "watch": Watch,
    "study": RunStudy,
    "compare-learners": CompareLearners,
    "compare": Compare,
    "augment": Augment,
    "inspect": Inspect,
    "maximize": Maximize,
    "reproduce": Reproduce,
    "figure": Figure,
    "report": Report,
}
"""The subcommands of ``lexicone``."""
_LEARNERS = (
    *(Train, Evaluate, Watch, RunStudy, CompareLearners),
    *(ReproduceExp1, ReproduceExp2, ReproduceFtn, ReproduceAll),
)
_RECORDED = (Solve, Train, RunStudy, CompareLearners, *EXPERIMENTS.values())


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line; a user's mistake ends with one line and exit code 2."""
    arguments = sys.argv[1:] if arguments is None else arguments
    write_any_text()
    if arguments == ["--version"]:
        print(f"lexicone {__version__}")
        return
    if not arguments or arguments[0] in ("--help", "-h"):
        print(_short_help())
        sys.exit(0)
    for given, known in ((arguments[:1], COMMANDS), (arguments[1:2], EXPERIMENTS)):
        _check_command(given[0] if given else "-", known)
        if given != ["reproduce"]:
            break
    command: Any = tyro.cli(
        OmitArgPrefixes[_one_of(COMMANDS)],
        prog="lexicone",
        description=_DESCRIPTION,
        args=arguments,
    )
    warnings.showwarning = _say
    try:
        _check_seed(command)
        keep_programs()
        begin = time.perf_counter()
        with _precision_for(command), _figures_of(command):
            command.run(make_console())
        inner = getattr(command, "experiment", command)
        if isinstance(inner, _RECORDED):
            record(inner, arguments, time.perf_counter() - begin)
    except BrokenPipeError:  # the reader has seen enough, as in `lexicone … | head`
        raise
    except (ValueError, OSError, ImportError) as error:
        if was_interrupted():
            raise KeyboardInterrupt from error
        _say(str(error))
        sys.exit(2)
    except MemoryError:
        _say("there is not enough memory for this")
        sys.exit(2)
    finally:
        release_folders()


def _short_help() -> str:
    """One line for each command."""
    width = max(map(len, COMMANDS))
    lines = [
        f"  {name:<{width}}  {inspect.cleandoc(command.__doc__ or '').splitlines()[0]}"
        for name, command in COMMANDS.items()
    ]
    return "\n".join(
        [
            f"usage: lexicone {{{','.join(COMMANDS)}}} [OPTIONS]",
            "",
            *_DESCRIPTION.splitlines()[:1],
            "",
            *lines,
            "",
            "lexicone COMMAND --help has its options and examples; lexicone --version the version.",
            "",
            *_DESCRIPTION.splitlines()[2:],
            "",
            "Examples:",
            "  lexicone tasks",
            "  lexicone solve maze:extended --set objectives=path --thresholds -3",
            "  lexicone train maze:concave --thresholds 0.5 --settings criterion=episode --episodes 4000",
        ]
    )


def _check_command(given: str, known: dict[str, type]) -> None:
    """Exit code 2 for a word that is no command, with the ones that it may have been meant to be."""
    if given.startswith("-") or given in known:
        return
    near = get_close_matches(given.lower(), known, 2, 0.55)
    meant = f"; did you mean {' or '.join(near)}?" if near else "."
    _say(f"there is no command {given!r}{meant} There are {', '.join(known)}")
    sys.exit(2)


def _check_seed(command: Any) -> None:
    """A ValueError that names the option, before whatever draws numbers finds other words."""
    seed = getattr(getattr(command, "experiment", command), "seed", 0)
    check_range("--seed", seed, 0, 2**32 - 1, whole=True)


def _say(message: Warning | str, *_: Any) -> None:
    """A warning, in one line."""
    print(f"lexicone: {' '.join(str(message).split())}", file=sys.stderr)


def _figures_of(command: Any) -> AbstractContextManager[Any]:
    """How figures are written; matplotlib takes time, so only commands that draw ask for it."""
    inner = getattr(command, "experiment", command)
    if not isinstance(inner, Drawn) or (inner.format, inner.width) == (Drawn.format, Drawn.width):
        return nullcontext()
    if not inner.format:
        raise ValueError("--format: expected at least one of png, svg, pdf")
    width = as_width(inner.width)
    from lexicone.plots._style import figure_defaults

    return figure_defaults(inner.format, width)


def _precision_for(command: Any) -> AbstractContextManager[Any]:
    """64 bits for all commands but those of learners, which keep to JAX's own setting, by default 32 bits.

    Learners gain nothing from more, and a saved training can only go on with the precision that it began with. JAX
    itself is imported later, and by few commands: until then its setting is a variable of the environment.
    """
    inner = getattr(command, "experiment", command)
    if isinstance(inner, _LEARNERS) or (isinstance(inner, Report) and inner.learns):
        return nullcontext()
    if "jax" in sys.modules:
        import jax

        return jax.enable_x64(True)
    os.environ["JAX_ENABLE_X64"] = "1"
    return nullcontext()
