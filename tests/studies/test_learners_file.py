"""The study of learners as a file: what is committed is what it describes, and mistakes are named."""

import io
import json
from pathlib import Path

import jaxtyping
import pytest
from rich.console import Console

from lexicone.cli._study import RunStudy
from lexicone.studies.learners import study as learners
from lexicone.studies.learners.study_file import read_parts
from lexicone.studies.sweeps.study_file import read_toml


def test_the_committed_study_is_the_file():
    root = Path(__file__).parents[2] / "experiments"
    cells = [
        cell
        for part in read_parts(read_toml(root / "learners.toml"))
        for cell in learners.cells_of(part)
    ]
    kept = json.loads((root / "learners" / "results.json").read_text(encoding="utf-8"))
    assert {cell.name: cell.facts for cell in cells} == {n: c["settings"] for n, c in kept.items()}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("study = 'ours'", "study: there is no 'ours'"),
        ("study = 'learners'\npart = 3", r"part: expected tables"),
        ("study = 'learners'\nkeys = 3", "part 1: has 'keys'"),
        ("study = 'learners'\n[[part]]\ntasks = ['exp9']", "tasks: there is no 'exp9'"),
        ("study = 'learners'\nseeds = 0", "seeds: must be at least 1"),
    ],
)
def test_mistakes_in_a_study_file_are_named(text, message, tmp_path, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    (tmp_path / "few.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=f"^{message}"):
        RunStudy(tmp_path / "few.toml", out=tmp_path / "out").run(Console(file=io.StringIO()))
    assert not (tmp_path / "out").exists()
