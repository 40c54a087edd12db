"""The study of learners as data: a TOML file with ``study = "learners"`` and parts, each with its seeds.

study = "learners"
seed = 1                        # what stands here holds for all parts

[[part]]
tasks = ["exp1", "exp2"]        # those of `lexicone compare-learners`
learners = ["ppo", "a2c"]
seeds = 100
"""

import dataclasses
from pathlib import Path
from typing import Any

from rich.console import Console

from lexicone.studies.learners.study import Study, cells_of, in_order
from lexicone.studies.results import read, write
from lexicone.studies.sweeps.cells import Computed, digest_of
from lexicone.studies.sweeps.store import Store
from lexicone.studies.sweeps.study import run_groups

__all__ = ["is_learners_file", "read_parts", "results_of_parts", "run_parts"]

_FILE = "results.json"


def is_learners_file(given: dict[str, Any]) -> bool:
    """Whether a TOML file is one of these; a ValueError if it is of a kind that does not exist."""
    if "study" in given and given["study"] != "learners":
        raise ValueError(f"study: there is no {given['study']!r}; there is 'learners'")
    return "study" in given


def read_parts(given: dict[str, Any]) -> list[Study]:
    """The parts of the study, checked; a ValueError names the place of a mistake."""
    shared = {name: value for name, value in given.items() if name not in ("study", "part")}
    parts = given.get("part", [{}])
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise ValueError("part: expected tables [[part]]")
    names = {"seed" if f.name == "key" else f.name for f in dataclasses.fields(Study)}
    studies = []
    for place, part in enumerate(parts, start=1):
        options = {**shared, **part}
        wrong = set(options) - names
        if wrong:
            raise ValueError(
                f"part {place}: has {min(wrong)!r}; there may be {', '.join(sorted(names))}"
            )
        options = {"key" if k == "seed" else k: _as_tuple(v) for k, v in options.items()}
        studies.append(Study(**options))
        studies[-1].check()
    return studies


def run_parts(
    studies: list[Study],
    out: Path,
    *,
    ray: bool | str = False,
    cpus: float = 1,
    gpus: float = 0,
    progress: bool = True,
    console: Console | None = None,
) -> dict[str, Any]:
    """Run what neither the folder nor its ``results.json`` has; then that file has all cells of these parts."""
    cells, store = _cells(studies), Store(out)
    _adopt(cells, store, out)
    run_groups(
        [[cell] for cell in cells], store, ray, cpus, gpus, progress=progress, console=console
    )
    found = results_of_parts(studies, out)
    if found != read(out / _FILE):
        write(found, out / _FILE)
    return found


def results_of_parts(studies: list[Study], out: Path) -> dict[str, Any]:
    """What there is by now, by ``"task/learner"``."""
    store = Store(out)
    cells = _cells(studies)
    _adopt(cells, store, out)
    found = {cell.name: cell.found(store) for cell in cells}
    return in_order({name: kept for name, kept in found.items() if kept is not None})


def _cells(studies: list[Study]) -> list[Computed]:
    return [cell for study in studies for cell in cells_of(study)]


def _adopt(cells: list[Computed], store: Store, out: Path) -> None:
    """What ``results.json`` has from the same settings need not be computed."""
    known = read(out / _FILE)
    for cell in cells:
        kept: dict[str, Any] = known.get(cell.name, {})
        if digest_of(kept.get("settings")) == cell.digest and cell.found(store) is None:
            store.put(cell.digest, kept)


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
