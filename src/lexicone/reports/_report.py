"""`report`: finds out what a result is, and writes its page."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lexicone._base.checks import check_flags, check_path, check_text, check_type
from lexicone._base.files import check_writable, write_text
from lexicone.exact._linear_quadratic import LinearQuadraticSolution
from lexicone.exact._solution import Solution
from lexicone.models._mdp import MDP
from lexicone.reports._common import Origin

__all__ = ["MODEL_FILE", "SOLUTION_FILE", "report"]

SOLUTION_FILE, MODEL_FILE, RESULTS_FILE = "solution.safetensors", "model.npz", "results.json"
"""What the command line calls a solution, its model, and the results of a study."""
_LARGEST = 200 * 2**20  # bytes of a results file


def report(
    result: Any,
    path: str | os.PathLike[str] = "report.html",
    *,
    mdp: MDP | None = None,
    title: str | None = None,
    command: str | None = None,
    beside: bool = False,
) -> Path:
    """Write one HTML file that tells everything about a result, opens anywhere and prints well; returns its path.

    The question in words, the answer, what each threshold costs, how sure it is (a proof, or intervals over seeds),
    pictures, settings and versions, and how to have it again. Nothing in it needs other files, scripts or a network.

    Args:
        result: a `Solution`, also of a continuous model; a training; a mapping from names to trainings for one order;
            what `compare` or `study` found; or the path of what the command line wrote: a folder of ``solve``,
            ``train``, ``study``, ``compare-learners`` or ``reproduce``, or a saved solution or training.
        path: of the page.
        mdp: the model of a solution, for pictures, what thresholds cost when they move, and a second proof.
        title: of the page.
        command: what made it, if that is not known.
        beside: also save the result itself beside the page, and its numbers as CSV, under the same name.
    """
    check_writable("path", path)
    check_text("title", title, optional=True)
    check_text("command", command, optional=True)
    check_flags(beside=beside)
    if mdp is not None:
        check_type("mdp", mdp, MDP, "an MDP")
    origin = Origin()
    if isinstance(result, str | os.PathLike):
        check_path("result", result)
        result, origin, mdp = _read(Path(result), mdp)
    make, usual = _kind(result, mdp)
    if beside and not hasattr(result, "to_csv") and not isinstance(result, Mapping):
        raise ValueError("beside: is for solutions of tables and trainings")
    title = title or (f"{usual}: {origin.name}" if origin.name else usual)
    if command:
        origin = origin._replace(command=command)
    text = make(origin, title)
    write_text(path, text)
    if beside:
        _save_beside(result, Path(path))
    return Path(path)


def _kind(result: Any, mdp: MDP | None) -> tuple[Callable[[Origin, str], str], str]:
    """How its page is made, and its usual title."""
    if isinstance(result, Solution | LinearQuadraticSolution):
        from lexicone.reports._solution import solution_page

        return lambda origin, title: solution_page(result, mdp, origin, title), "Exact solution"
    if mdp is not None:
        raise ValueError("mdp: is for a solution; a training has its model with it")
    if isinstance(result, _Results):
        return result.page, result.title
    from lexicone.studies.sweeps.outcome import StudyResult

    if isinstance(result, StudyResult):
        from lexicone.reports._learners import study_page

        return lambda origin, title: study_page(result, origin, title), "Study"
    from lexicone.learning._result import TrainingResult
    from lexicone.reports._training import comparison_page, training_page

    if isinstance(result, TrainingResult):
        return lambda origin, title: training_page(result, origin, title), "Training"
    if isinstance(result, Mapping) and result:
        _check_trainings(result, TrainingResult)
        return lambda origin, title: comparison_page(result, origin, title), "Learners compared"
    raise ValueError(
        f"result: expected a solution, a training, trainings by name, or a path, got {type(result).__name__}"
    )


def _check_trainings(result: Mapping[Any, Any], kind: type) -> None:
    first = None
    for name, trained in result.items():
        check_text("result", name)
        check_type(f"result[{name!r}]", trained, kind, "a training")
        first = first or trained
        if trained.order != first.order:
            raise ValueError(f"result[{name!r}]: has another order than the first")


class _Results:
    """A results file, whose page needs nothing else."""

    def __init__(self, page: Callable[[Origin, str], str], title: str) -> None:
        self.page, self.title = page, title


def _read(path: Path, mdp: MDP | None) -> tuple[Any, Origin, MDP | None]:
    """What a path holds, where it comes from, and its model if that lies beside it."""
    if not path.exists():
        raise ValueError(f"result: there is nothing at {str(path)!r}")
    folder = path if path.is_dir() else path.parent
    origin = Origin.read(folder)
    from lexicone.learning._defaults import TRAINING_FILE

    if path.is_dir():
        known = (SOLUTION_FILE, TRAINING_FILE, RESULTS_FILE)
        inside = next((path / name for name in known if (path / name).is_file()), None)
        if inside is None:
            return _read_all(path), origin, mdp
        path = inside
    if path.suffix == ".json":
        return _read_results(path), origin, mdp
    try:
        solution = Solution.load(path)
    except ValueError as error:
        from lexicone.learning._saved import load

        try:
            return load(path), origin, mdp
        except ValueError:
            raise ValueError(
                f"result: {str(path)!r} is neither a solution nor a training ({error})"
            ) from None
    model = folder / MODEL_FILE
    if mdp is None and model.is_file():
        mdp = MDP.load(model)
    return solution, origin, mdp


def _load_json(path: Path) -> Any:
    try:
        if path.stat().st_size > _LARGEST:
            raise ValueError(f"it has more than {_LARGEST:,} bytes")
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"result: {str(path)!r} cannot be read: {error}") from None


def _read_results(path: Path) -> _Results:
    from lexicone.reports._learners import is_own_study, is_study, learners_page, study_page
    from lexicone.reports._paper import experiment_of, paper_page

    found = _load_json(path)
    name = experiment_of(found)
    if name is not None:
        return _Results(
            _guarded(path, lambda origin, title: paper_page({name: found}, origin, title)),
            f"Reproduction of {name}",
        )
    if isinstance(found, dict) and is_study(found):
        return _Results(
            _guarded(path, lambda origin, title: learners_page(found, origin, title)),
            "Learners compared",
        )
    if is_own_study(found):
        from lexicone.studies.sweeps.outcome import StudyResult

        whole = StudyResult(found["cells"], int(found.get("missing") or 0))
        return _Results(
            _guarded(path, lambda origin, title: study_page(whole, origin, title)), "Study"
        )
    raise ValueError(f"result: {str(path)!r} has no results that are known here")


def _read_all(folder: Path) -> _Results:
    """The folders of ``lexicone reproduce all``."""
    from lexicone.reports._paper import experiment_of, paper_page
    from lexicone.studies.paper import EXPERIMENTS

    found = {}
    for name in EXPERIMENTS:
        file = folder / name / RESULTS_FILE
        if file.is_file():
            results = _load_json(file)
            if experiment_of(results) != name:
                raise ValueError(f"result: {str(file)!r} has no results of {name}")
            found[name] = results
    if not found:
        raise ValueError(f"result: there are no results in {str(folder)!r}")
    make = _guarded(folder, lambda origin, title: paper_page(found, origin, title))
    return _Results(make, "The paper and its reproduction")


def _guarded(path: Path, make: Callable[[Origin, str], str]) -> Callable[[Origin, str], str]:
    """What a file lacks is told as such."""

    def guarded(origin: Origin, title: str) -> str:
        try:
            return make(origin, title)
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(
                f"result: the results in {str(path)!r} are not complete ({type(error).__name__}: {error})"
            ) from None

    return guarded


def _save_beside(result: Any, page: Path) -> None:
    for name, one in result.items() if isinstance(result, Mapping) else (("", result),):
        stem = page.stem + (f"-{_plain(name)}" if name else "")
        one.save(page.with_name(f"{stem}.safetensors"))
        one.to_csv(page.with_name(f"{stem}.csv"))


def _plain(name: str) -> str:
    """A name as part of a file's name."""
    return "".join(c if c.isalnum() or c in "-_" else "-" for c in name)
