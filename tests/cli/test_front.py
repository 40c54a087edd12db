import json

import pytest
import tyro
from rich.console import Console
from tyro.conf import OmitArgPrefixes

from lexicone.cli._front import Pareto
from tests.helpers.commands import run

EXTENDED = ["maze:extended", "--set", "objectives=path"]


def front(arguments, capsys):
    tyro.cli(OmitArgPrefixes[Pareto], args=arguments).run(Console())
    return capsys.readouterr().out


@pytest.mark.slow
def test_a_table(tmp_path, capsys):
    arguments = [*EXTENDED, "--policies", "deterministic", "--out", str(tmp_path)]
    arguments += ["--format", "png", "pdf", "--width", "column"]
    code, out, _ = run(["pareto", *arguments], capsys)
    assert code == 0
    rows = [line.strip("│ ").split("│") for line in out.splitlines() if line.startswith("│")]
    assert [[float(cell) for cell in row] for row in rows] == [[-4, -4], [-3, -8], [1, -10]]
    assert "3 points, all of them (γ=1, deterministic policies)" in out
    assert sorted(p.name for p in tmp_path.iterdir()) == ["front.pdf", "front.png"]


def test_json(capsys):
    found = json.loads(front([*EXTENDED, "--points", "6", "--json"], capsys))
    assert found["objectives"] == ["tiles+goal", "time"]
    assert found["values"][0] == pytest.approx([-4, -4])
    assert found["values"][-1] == pytest.approx([1, -10])
    assert len(found["values"]) == 6
    assert not found["complete"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["space-traders", "--points", "1"],
            r"^points: must be a whole number of at least 2, got 1",
        ),
        (["space-traders", "--set", "a=1"], r"^--set: space_traders has no option 'a'"),
        (["fruit_tree"], r"^mdp: the front is for two or three objectives, this model has 6"),
        (["garnet:5"], r"^mdp: objective 1 is unbounded with gamma=1"),
    ],
)
def test_mistakes(arguments, message, capsys):
    with pytest.raises(ValueError, match=message):
        front(arguments, capsys)
