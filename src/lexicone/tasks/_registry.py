"""The registry of tasks, and how one is made by its name."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lexicone._base.checks import check_text
from lexicone.models._mdp import MDP
from lexicone.tasks._deep_sea_treasure import deep_sea_treasure
from lexicone.tasks._fruit_tree import fruit_tree
from lexicone.tasks._garnet import garnet
from lexicone.tasks._grid import grid
from lexicone.tasks._maze import MAZES, maze
from lexicone.tasks._resource_gathering import resource_gathering
from lexicone.tasks._road_trip import road_trip
from lexicone.tasks._space_traders import space_traders

__all__ = ["TASKS", "Task", "find", "make"]


@dataclass(frozen=True)
class Task:
    """One entry of the registry."""

    name: str
    build: Callable[..., MDP]
    description: str
    objectives: str
    """Those of the default task, most important first."""
    variants: tuple[str, ...] = ()
    """Values of the first argument that have a name."""
    thresholds: tuple[float, ...] = ()
    """Thresholds that make the default task interesting; K−1 of them."""
    needs: str | None = None
    """The optional extra that has to be installed."""

    @property
    def example(self) -> str:
        """A call that builds it."""
        first = self.variants[0] if self.variants else ""
        return f"lx.tasks.{self.name}({first if first.isdigit() or not first else repr(first)})"

    @property
    def first(self) -> inspect.Parameter | None:
        """The argument that ``NAME:VALUE`` sets; None if the task has no variants."""
        found = next(iter(inspect.signature(self.build).parameters.values()), None)
        return found if found is not None and found.kind is not found.KEYWORD_ONLY else None

    @property
    def options(self) -> dict[str, Any]:
        """The other arguments, with their defaults."""
        known = inspect.signature(self.build).parameters.values()
        return {p.name: p.default for p in known if self.first is None or p.name != self.first.name}


TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task(
            "maze",
            maze,
            "the paper's mazes, or your own drawing: reach the goal, avoid bad tiles",
            "goal, tiles",
            tuple(MAZES),
            (1.0,),
        ),
        Task(
            "fruit_tree",
            fruit_tree,
            "a full binary tree with a vector of nutrients on each leaf",
            "protein, carbs, fats, vitamins, minerals, water",
            ("5", "6", "7"),
            (1.0, 1.0, 1.0, 1.0, 1.0),
            "gym",
        ),
        Task(
            "deep_sea_treasure",
            deep_sea_treasure,
            "a submarine between near small and far large treasures",
            "treasure, time",
            ("concave", "convex", "mirrored"),
            (24.0,),
            "gym",
        ),
        Task(
            "space_traders",
            space_traders,
            "two flights, each slow and safe or fast and risky",
            "success, time",
            (),
            (0.88,),
        ),
        Task(
            "resource_gathering",
            resource_gathering,
            "fetch gold and a diamond past enemies and come home",
            "survival, gold, diamond",
            (),
            (-0.1, 0.9),
            "gym",
        ),
        Task(
            "road_trip",
            road_trip,
            "a car, toll roads, a budget and pleasant cities; reads a CSV of roads",
            "toll, pleasure",
            (),
            (-10.0,),
        ),
        Task(
            "garnet",
            garnet,
            "random sparse models of any size",
            "three, random",
            ("100", "1000", "10000"),
            (50.0, 50.0),
        ),
        Task(
            "grid",
            grid,
            "slippery random grids of any size: hazards and time",
            "hazard 1, hazard 2, time",
            ("10", "32", "100"),
            (-1.0, -1.0),
        ),
    )
}


def make(name: str, **options: Any) -> MDP:
    """Build a task by name; ``"maze:extended"`` passes what follows as the first argument.

    Hyphens and underscores are the same.
    """
    check_text("name", name)
    label, _, variant = name.partition(":")
    task = find(label)
    if not variant:
        return task.build(**options)
    if task.first is None:
        raise ValueError(f"name: {label} has no variants, got {variant!r}")
    if task.first.annotation is not int:
        return task.build(variant, **options)
    if not variant.isdecimal():
        raise ValueError(
            f"name: {label} takes a whole number after the colon, like {label}:{task.first.default}, "
            f"got {variant!r}"
        )
    return task.build(int(variant), **options)


def find(name: str) -> Task:
    """The entry of the registry with that name."""
    check_text("name", name)
    key = name.strip().replace("-", "_").lower()
    if key not in TASKS:
        raise ValueError(f"name: there is no task {name!r}; there are {', '.join(TASKS)}")
    return TASKS[key]
