"""``--objectives``: a task's objectives in another sequence, the same for every command that takes a model."""

import json

import pytest

from tests.helpers.commands import run

TASK = ["maze:extended", "--set", "objectives=path"]
TURNED = ["--objectives", "time", "tiles+goal"]


@pytest.mark.parametrize("names", [["time", "tiles+goal"], ["2", "1"]])
def test_solve(names, capsys):
    code, out, _ = run(
        ["solve", *TASK, "--objectives", *names, "--thresholds", "-6", "--json"], capsys
    )
    found = json.loads(out)
    assert code == 0
    assert found["objectives"] == ["time", "tiles+goal"]
    assert found["values"] == pytest.approx([-6, -7 / 3])


@pytest.mark.parametrize(
    ("command", "more", "first"),
    [
        ("show", [], "objectives: time, tiles+goal"),
        ("pareto", [], "┃ time ┃ tiles+goal ┃"),
        ("compare", ["--thresholds", "-6"], "P(time ≥ -6)"),
        ("augment", ["--thresholds", "-6"], "optimal: (-4, -4)"),
        ("inspect", ["--thresholds", "-6"], "│ time │ -6 │"),
    ],
)
def test_every_command_reorders(command, more, first, capsys):
    code, out, _ = run([command, *TASK, *TURNED, *more], capsys)
    assert code == 0
    assert first in " ".join(out.split())


def test_what_is_not_listed_is_left_out(capsys):
    code, out, _ = run(["show", *TASK, "--objectives", "time"], capsys)
    assert code == 0
    assert "objectives: time\n" in out


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            ["tiles"],
            "--objectives: maze:extended has no objective 'tiles'; it has tiles+goal, time",
        ),
        (["time", "2"], "--objectives: each may come once, got time 2"),
    ],
)
def test_mistakes(names, message, capsys):
    code, _, errors = run(["show", *TASK, "--objectives", *names], capsys)
    assert code == 2
    assert message in errors
