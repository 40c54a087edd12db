"""Wild calls of every public callable end with a result or with a ValueError that names an argument.

``python -m tests.fuzz --cases 100000`` makes many more.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz import runs
from tests.fuzz.outcomes import (
    ESCAPED,
    FINE,
    OWN,
    REFUSED,
    RETURNED,
    SIGNATURE,
    UNNAMED,
    Outcome,
    judge,
)
from tests.fuzz.public import public_callables
from tests.fuzz.runs import run_cases

CASES = 700  # the first of them go through the whole registry


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    return run_cases(0, range(CASES))


@pytest.mark.slow
def test_wild_calls_are_refused_by_name(outcomes):
    assert [outcome for outcome in outcomes if outcome.kind not in FINE] == []
    assert len(outcomes) == CASES
    assert sum(outcome.kind == REFUSED for outcome in outcomes) > CASES / 2


@pytest.mark.slow
def test_every_public_callable_is_called(outcomes):
    """A new name needs a valid call in `tests/fuzz/calls_….py`, from which wild ones are made."""
    assert {outcome.name for outcome in outcomes} == set(public_callables())


def takes(size, names=()):
    """What refusals are judged against."""


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("size: must be positive, got 0"), REFUSED),
        (ValueError("names[2]: expected text"), REFUSED),
        (ValueError("size, names: do not fit each other"), REFUSED),
        (FileNotFoundError("size: there is no file 'a'"), REFUSED),
        (ValueError("reward[0,1] (state 0): is nan"), UNNAMED),
        (ValueError("sizes: must be positive"), UNNAMED),
        (ValueError("size must be positive"), UNNAMED),
        (TypeError("size: must be a number"), ESCAPED),
        (KeyError("size"), ESCAPED),
        (IndexError("size: out of range"), ESCAPED),
    ],
)
def test_only_errors_with_a_name_are_refusals(error, kind):
    def refuse(size, names=()):
        exec("raise error", {"error": error})

    with pytest.raises(type(error)) as caught:
        refuse(1)
    assert judge(caught.value, takes, ()) == kind
    assert {RETURNED, SIGNATURE, OWN, REFUSED} == set(FINE)


def test_fields_of_what_is_handed_over_are_names_too():
    with pytest.raises(ValueError, match="reward") as caught:
        raise ValueError("reward[0,1] (state 0): is nan")
    assert judge(caught.value, takes, ("reward",)) == REFUSED
    assert judge(caught.value, takes, ("rewards",)) == UNNAMED


def test_python_itself_refuses_unknown_names():
    with pytest.raises(TypeError) as caught:
        takes(1, sizes=2)  # pyright: ignore[reportCallIssue]
    assert judge(caught.value, takes, ()) == SIGNATURE


def test_wild_calls_begin_and_stay_in_a_folder_of_their_own(tmp_path, monkeypatch):
    class Begun(Exception):
        pass

    def begin(command, *, cwd, env, **options):
        folders.append((cwd, env["TMPDIR"]))
        raise Begun

    folders: list[tuple[str, str]] = []
    with monkeypatch.context() as patch:
        patch.setattr(runs.subprocess, "Popen", begin)
        with pytest.raises(Begun):
            run_cases(0, range(1))
    (folder, same), root = folders[0], Path(__file__).parents[2]
    assert folder == same
    assert root not in (Path(folder), *Path(folder).parents)
    code = """if True:
        import os, pathlib, sys
        from tests.fuzz.guard import stay_inside
        inside, outside = map(pathlib.Path, sys.argv[1:])
        stay_inside(inside)
        open("x", "w").close()
        for change in [
            lambda: open(outside / "exact", "w"),
            lambda: os.replace("x", outside / "x"),
            lambda: os.mkdir(outside / "more"),
            lambda: os.symlink("x", outside / "link"),
            lambda: open(os.open(outside / "low", os.O_CREAT | os.O_WRONLY), "w"),
        ]:
            try:
                change()
            except PermissionError as error:
                assert "outside of the folder" in str(error)
            else:
                raise AssertionError("written outside")
    """
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    subprocess.run([sys.executable, "-c", code, inside, outside], cwd=root, check=True)
    assert [path.name for path in inside.iterdir()] == ["x"]
    assert list(outside.iterdir()) == []
