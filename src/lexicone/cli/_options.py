"""What several subcommands do with their options: build the task, order its objectives, check folder and angle."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.constructors import PrimitiveConstructorSpec

from lexicone._base.checks import check_range
from lexicone._base.files import check_writable, hold_folder
from lexicone._base.levels import Level, level_from_text
from lexicone._base.text import read_assignment
from lexicone.models._mdp import MDP
from lexicone.order import Entry, Order

__all__ = [
    "PLANNER_FILES",
    "Drawn",
    "Threshold",
    "as_width",
    "build",
    "check_folder",
    "is_planner_file",
    "make_order",
    "order_of_rewards",
    "radians",
    "read_objectives",
    "read_option",
    "signs_of",
    "with_chances",
]


Threshold = Annotated[
    Level,
    PrimitiveConstructorSpec(
        nargs=1,
        metavar="NUMBER",
        instance_from_str=lambda words: level_from_text(words[0]),
        is_instance=lambda given: isinstance(given, Level),
        str_from_instance=lambda level: [str(level)],
    ),
]
"""A threshold on the command line: a number, or one with its unit."""


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """What commands that draw have in common."""

    format: tuple[Literal["png", "svg", "pdf"], ...] = ("png", "svg", "pdf")
    """In which formats figures are written."""
    width: str = ""
    """Of figures: "column" or "page" of a paper in two columns, or inches; by default each its own."""


def as_width(width: str) -> str | float | None:
    """The option ``--width``, checked: a word, inches, or None for a figure's own."""
    from lexicone.plots._style import WIDTHS

    if not width or width in WIDTHS:
        return width or None
    try:
        inches = float(width)
    except ValueError:
        raise ValueError(
            f"--width: expected {', '.join(WIDTHS)} or inches, got {width!r}"
        ) from None
    check_range("--width", inches, 0.5, 50)
    return inches


PLANNER_FILES = (".prism", ".nm", ".pm", ".jani", ".drn", ".umb")
"""How files of model checkers end."""


def is_planner_file(task: str) -> bool:
    """Whether its objectives are PRISM properties."""
    return task.endswith(PLANNER_FILES)


def build(
    task: str,
    options: tuple[str, ...] = (),
    objectives: tuple[str, ...] = (),
    *,
    constants: tuple[str, ...] = (),
    gamma: float = 1.0,
) -> MDP:
    """The model behind a name on the command line, with these of its objectives in this sequence; all by default.

    Files of model checkers (`is_planner_file`) have properties as objectives, and constants.
    """
    from lexicone.cli._task_text import build_from_text

    if is_planner_file(task):
        return _build_planner(task, (*options, *constants), objectives, gamma)
    if constants:
        raise ValueError(f"--const: is for PRISM and JANI files, got {' '.join(constants)!r}")
    if not task.endswith(".npz"):
        mdp = build_from_text(task, options)
    elif options:
        raise ValueError(f"--set: a saved model has no options, got {' '.join(options)!r}")
    else:
        mdp = MDP.load(task)
    if not objectives:
        return mdp
    return mdp.reorder(read_objectives(objectives, mdp.objective_names, mdp.num_objectives, task))


def _build_planner(
    task: str, constants: tuple[str, ...], objectives: tuple[str, ...], gamma: float
) -> MDP:
    if not objectives:
        raise ValueError(
            f"--objectives: {task} needs properties, most important first, such as 'Pmax=? [F \"goal\"]'"
        )
    discounted = gamma < 1
    explicit = {".drn": MDP.from_drn, ".umb": MDP.from_umb}.get(Path(task).suffix)
    if explicit is None:
        values = dict(_read_constant(given) for given in constants)
        return MDP.from_prism(task, objectives, constants=values, discounted=discounted)
    if constants:
        raise ValueError(f"--const: {task} has no constants, got {' '.join(constants)!r}")
    return explicit(task, objectives, discounted=discounted)


def _read_constant(given: str) -> tuple[str, Any]:
    """``K=2``; the name stays as it is written."""
    assignment = read_assignment(given)
    if assignment is None:
        raise ValueError(f"--const: expected NAME=VALUE, got {given!r}")
    value = {"true": True, "false": False}.get(str(assignment[1]), assignment[1])
    return given.partition("=")[0].strip(), value


def read_objectives(
    objectives: tuple[str, ...], names: tuple[str, ...] | None, count: int, task: str
) -> list[int]:
    """The places, from 0, of objectives given by name or by number from 1."""
    known = names or tuple(str(k + 1) for k in range(count))
    numbers = {str(k + 1): k for k in range(count)}
    places = [known.index(o) if o in known else numbers.get(o, -1) for o in objectives]
    if -1 in places:
        wrong = objectives[places.index(-1)]
        raise ValueError(
            f"--objectives: {task} has no objective {wrong!r}; it has {', '.join(known)}"
        )
    if len(set(places)) != len(places):
        raise ValueError(f"--objectives: each may come once, got {' '.join(objectives)}")
    return places


def read_option(option: str) -> tuple[str, Any]:
    """The name and value that ``--set NAME=VALUE`` gives."""
    assignment = read_assignment(option)
    if assignment is None:
        raise ValueError(f"--set: expected NAME=VALUE, got {option!r}")
    return assignment


def make_order(
    mdp: MDP,
    thresholds: Sequence[Entry],
    task: str = "the model",
    properties: tuple[str, ...] = (),
) -> Order:
    """The order of a model's objectives with thresholds from the command line; says how many there must be.

    One more may say that the last objective is shown as a cost: lowest. Of ``properties``, thresholds are in their own
    terms, and those that bring one take none.
    """
    if is_planner_file(task):
        return _order_of_properties(properties, thresholds)
    *limited, last = mdp.objective_labels
    if len(thresholds) == len(limited) + 1 and getattr(thresholds[-1], "amount", 0.0) is None:
        return Order(thresholds, names=mdp.objective_names)
    if len(thresholds) != len(limited):
        takes = f"{len(limited)} threshold{'' if len(limited) == 1 else 's'}"
        whose = f" ({', '.join(limited)})" if limited else ""
        raise ValueError(
            f"--thresholds: {task} takes {takes}{whose}, and none for its last objective ({last}); "
            f"got {len(thresholds)}"
        )
    return Order(thresholds, names=mdp.objective_names)


def with_chances(order: Order, chances: tuple[float, ...]) -> Order:
    """Thresholds with ``--chances``: one for all, or one for each; nan where a threshold holds for the mean."""
    if not chances:
        return order
    count = len(order) - 1
    if len(chances) not in (1, count):
        takes = (
            "one threshold takes one"
            if count == 1
            else f"{count} thresholds take one for all, or {count}"
        )
        raise ValueError(f"--chances: {takes}; got {len(chances)}")
    for chance in chances:
        if not math.isnan(chance):
            check_range("--chances", chance, 0, 1)
    shares = [None if math.isnan(chance) else chance for chance in chances]
    return order.with_chances(shares if len(shares) == count else shares * count)


def signs_of(mdp: MDP, task: str, properties: tuple[str, ...]) -> list[int]:
    """−1 for objectives whose values are shown with the other sign: properties that are minimised."""
    from lexicone.models._properties import read_properties

    if not is_planner_file(task):
        return [1] * mdp.num_objectives
    return [asked.sign for asked in read_properties(properties).values()]


def order_of_rewards(
    task: str,
    names: tuple[str, ...] | None,
    count: int,
    objectives: tuple[str, ...],
    thresholds: tuple[Level, ...],
) -> Order:
    """Of an environment that pays ``count`` rewards, in the sequence of ``--objectives``."""
    if len(thresholds) != count - 1:
        raise ValueError(
            f"--thresholds: {task} has {count} objectives and takes a threshold for each but the last; "
            f"got {len(thresholds)}"
        )
    if objectives:
        if names is None:
            raise ValueError(f"--objectives: the rewards of {task} have no names")
        places = read_objectives(objectives, names, count, task)
        if len(places) != count:
            raise ValueError(f"--objectives: expected all of {', '.join(names)}, in some sequence")
        names = tuple(names[k] for k in places)
    return Order(thresholds, names=names)


def _order_of_properties(properties: tuple[str, ...], thresholds: Sequence[Entry]) -> Order:
    from lexicone.models._properties import order_of, read_properties

    *limited, _ = read_properties(properties).values()
    missing = [asked.text for asked in limited if asked.bound is None]
    if len(thresholds) != len(missing):
        listed = f" ({', '.join(missing)})" if missing else ""
        raise ValueError(
            f"--thresholds: these objectives take {len(missing)}{listed}, and the last takes none; "
            f"got {len(thresholds)}"
        )
    given = iter(thresholds)
    return order_of(properties, [next(given) if p.bound is None else None for p in limited])


def check_folder(out: Path | None) -> None:
    """Makes the folder, if one is wanted, before any work, and keeps others from writing to it until we end.

    A mistake is reported at once.
    """
    if out is None:
        return
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"--out: cannot write to {out}: {error.strerror}") from None
    check_writable("--out", out / "results.json")
    hold_folder("--out", out)


def radians(delta_deg: float) -> float:
    """Δ, which the command line takes in degrees."""
    check_range("--delta-deg", delta_deg, 0, 90, below=True)
    return math.radians(delta_deg)
