"""The subcommand ``lexicone explore``: the page on which one moves thresholds and sees the optimum."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from rich.console import Console
from tyro.conf import Positional

from lexicone._base.checks import check_range
from lexicone.cli._options import Threshold, build, is_planner_file, make_order, read_option

if TYPE_CHECKING:
    from lexicone.web._sources import Opened

__all__ = ["Explore"]

_PAGE_OPTIONS = ("objectives", "slip", "high_penalty", "low_penalty", "goal_reward")


@dataclass(frozen=True)
class Explore:
    """A page in your browser: choose or draw a task, order objectives, move thresholds, and see the optimum at once.

    It also shows the front, the criteria beside each other, episodes step by step, and trainings, live. Needs the extra
    web: pip install 'lexicone[web]'. Without internet it works as well. It listens to this computer only, unless --host
    says otherwise.

    Examples:
      lexicone explore
      lexicone explore maze:extended --set objectives=path --thresholds -3
      lexicone explore model.npz
      lexicone explore runs/train
    """

    task: Positional[str] = ""
    """NAME, NAME:VARIANT, maze:FILE.txt, a model saved as FILE.npz, a file of a model checker; or a folder that
    `lexicone train` wrote or writes to. With nothing the page begins with a maze of the paper."""
    thresholds: tuple[Threshold, ...] = ()
    """K−1 thresholds to begin with, most important first."""
    set: tuple[str, ...] = ()
    """Options of the task, as NAME=VALUE."""
    objectives: tuple[str, ...] = ()
    """The task's objectives in this sequence, by name or number from 1. Of files of model checkers: properties."""
    const: tuple[str, ...] = ()
    """Constants of a PRISM or JANI file, as NAME=VALUE."""
    host: str = "127.0.0.1"
    """The address to listen at; 0.0.0.0 lets everyone in your network use the page, and see what you opened."""
    name: tuple[str, ...] = ()
    """Names by which other computers call this one; requests to any other name are refused."""
    port: int = 8421
    """The port to listen at; if it is taken, or 0, another one."""
    seconds: float = 60.0
    """How long a single question may take."""
    workers: int = 3
    """Processes that compute."""
    no_browser: bool = False
    """Only print the address."""

    def run(self, console: Console) -> None:
        """Serves the page until it is interrupted."""
        check_range("--port", self.port, 0, 65535, whole=True)
        check_range("--seconds", self.seconds, 1)
        check_range("--workers", self.workers, 1, 32, whole=True)
        try:
            from lexicone.web._server import Settings, serve
        except ImportError as error:
            raise ImportError(
                f"explore: needs the extra web: pip install 'lexicone[web]' ({error})"
            ) from None
        import tempfile

        settings = Settings(self.host, self.port, self.name, self.workers, self.seconds)
        with tempfile.TemporaryDirectory(prefix="lexicone-opened-") as folder:
            opened = self.open(Path(folder))

            def say(line: str) -> None:
                console.print(line, highlight=False, markup=False, soft_wrap=True)

            serve(opened, settings, say, not self.no_browser)

    def open(self, folder: Path) -> "Opened":
        """What the page begins with; a model that it cannot make by itself is put into the folder."""
        from lexicone.web._sources import Opened

        if not self.task:
            self._refuse_options("give a task first")
            return Opened()
        if Path(self.task).is_dir() or self.task.endswith(".safetensors"):
            return self._open_run()
        mdp = build(self.task, self.set, self.objectives, constants=self.const)
        state = self._own_state()
        if self.thresholds:
            order = make_order(mdp, self.thresholds, self.task, self.objectives)
            limits = ",".join(f"{t:g}" for t in order.thresholds)
            state = f"{state}&t={limits}"
        if state.startswith("task="):
            return Opened(state=state)
        path = folder / "opened.npz"
        mdp.save(path)
        return Opened("model", str(path), self.task, tuple(self._lines()), state)

    def _own_state(self) -> str:
        """How the page says it: by name where it can make the task itself, else as what was opened."""
        options = dict(read_option(option) for option in self.set)
        label, _, variant = self.task.partition(":")
        known = label == "maze" and set(options) <= {*_PAGE_OPTIONS}
        texts = isinstance(options.get("objectives", ""), str)
        plain = (known and texts) or not options
        file = self.task.endswith((".npz", ".txt", ".csv")) or is_planner_file(self.task)
        if self.objectives or file or not plain or not _is_listed(label, variant):
            return "opened=1"
        if label == "maze":
            options = {"objectives": "endpoint", **options}  # what other commands take
        given = "".join(f"&{name}={quote(str(value))}" for name, value in options.items())
        return f"task={quote(self.task, safe=':')}{given}"

    def _open_run(self) -> "Opened":
        from lexicone.learning._defaults import TRAINING_FILE
        from lexicone.web._sources import Opened

        self._refuse_options("a training has its own")
        path = Path(self.task)
        file = path / TRAINING_FILE if path.is_dir() else path
        if not file.is_file():
            raise ValueError(f"task: {self.task} has no {TRAINING_FILE}: it is no training")
        lines = (f"trained = lx.load({self.task!r})", "mdp = trained.mdp")
        return Opened("run", str(file.resolve()), self.task, lines, "opened=1&view=training")

    def _refuse_options(self, why: str) -> None:
        for name in ("thresholds", "set", "objectives", "const"):
            if getattr(self, name):
                raise ValueError(f"--{name}: {why}")

    def _lines(self) -> list[str]:
        """Python that makes the opened model again, as far as one line can."""
        if self.task.endswith(".npz"):
            lines = [f"mdp = lx.MDP.load({self.task!r})"]
        elif is_planner_file(self.task):
            reader = {".drn": "from_drn", ".umb": "from_umb"}.get(
                Path(self.task).suffix, "from_prism"
            )
            constants = dict(read_option(given) for given in self.const)
            more = f", constants={constants!r}" if constants else ""
            return [f"mdp = lx.MDP.{reader}({self.task!r}, {list(self.objectives)!r}{more})"]
        elif self.task.endswith(".txt"):
            label, _, file = self.task.partition(":")
            options = dict(read_option(option) for option in self.set)
            more = "".join(f", {name}={value!r}" for name, value in options.items())
            lines = [
                "from pathlib import Path",
                f"mdp = lx.tasks.{label}(Path({file!r}).read_text(){more})",
            ]
        else:
            options = dict(read_option(option) for option in self.set)
            more = "".join(f", {name}={value!r}" for name, value in options.items())
            lines = [f"mdp = lx.tasks.make({self.task!r}{more})"]
        if self.objectives:
            lines.append(f"mdp = mdp.reorder({[_place(o) for o in self.objectives]!r})")
        return lines


def _is_listed(label: str, variant: str) -> bool:
    from lexicone.tasks._registry import find

    return not variant or variant in find(label).variants


def _place(objective: str) -> str | int:
    """By name, or by number from 0 as Python has it."""
    return int(objective) - 1 if objective.isdecimal() else objective
