"""The subcommand ``lexicone watch``."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from tyro.conf import Positional

from lexicone._base.checks import check_range

__all__ = ["Watch"]


@dataclass(frozen=True)
class Watch:
    """Film episodes of a trained policy; or draw their course, where there is nothing to render.

    Environments are rendered, models move on their map; worlds in JAX, and models without a map, have a figure of what
    episodes earned, saw and did.

    Examples:
      lexicone watch runs/train
      lexicone watch runs/train --run-number 3 --episodes 2 --greedy --out third.mp4
      lexicone watch runs/arm --task robots.py:Arm
    """

    path: Positional[Path]
    """A folder that `lexicone train` wrote to, or a saved training."""
    run_number: int = 0
    """Which seed's policy."""
    episodes: int = 1
    """How many, one after another."""
    greedy: bool = False
    """Take the most probable action instead of sampling."""
    seed: int = 0
    """Of the episodes: another one, other episodes."""
    max_steps: int | None = None
    """Cut episodes off after so many steps."""
    out: Path | None = None
    """FILE.gif or FILE.mp4 (extra `video`), or FILE.png for a figure. By default watch.gif or watch.png beside the
    training."""
    task: str | None = None
    """The id of the environment, where it is MODULE:NAME or FILE.py:NAME: a file may not ask for it to be imported."""

    def run(self, console: Console) -> None:
        """Plays and writes."""
        check_range("--episodes", self.episodes, 1, whole=True)
        from lexicone.learning._saved import load
        from lexicone.learning._watch import NothingToRender

        trained = load(self.path, task=self.task)
        beside = self.path if self.path.is_dir() else self.path.parent
        out = self.out or beside / "watch.gif"
        options = {
            "episodes": self.episodes,
            "greedy": self.greedy,
            "start": self.seed,
            "max_steps": self.max_steps,
        }
        try:
            trained.watch(out, self.run_number, **options)
        except NothingToRender:
            if self.out is not None:
                raise
            out = out.with_suffix(".png")
            trained.watch(out, self.run_number, **options)
        console.print(str(out), highlight=False)
