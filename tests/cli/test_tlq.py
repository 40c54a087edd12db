import json

import pytest

from tests.helpers.commands import modules_after, run

REDUCED = ["--points", "3", "--tables", "2", "--leaves", "1", "--seeds", "1", "--steps", "500"]


@pytest.mark.slow
def test_importing_is_light():
    assert modules_after("import lexicone.cli._tlq") == "False False"


@pytest.mark.parametrize(
    ("command", "title"),
    [
        (["inspect"], "inspect"),
        (["reproduce", "tlq"], "reproduce tlq"),
        (["reproduce"], "reproduce"),
    ],
)
def test_help_has_examples(command, title, capsys):
    code, out, _ = run([*command, "--help"], capsys)
    assert code == 0
    assert f"lexicone {title}" in out
    assert "Examples:" in out


@pytest.mark.parametrize(
    ("arguments", "verdict"),
    [
        (["maze:small"], "fails, by the paper (terminating endpoint constraint"),
        (["maze:extended", "--set", "objectives=path"], "fails, by the paper (path constraint)"),
        (["space-traders"], "works, by the paper (worked in a case study)"),
        (["space-traders", "--thresholds=-inf"], "works, by the paper (single objective)"),
        (["fruit-tree:5"], "no claim (no claim)"),
    ],
)
def test_inspect(arguments, verdict, capsys):
    code, out, _ = run(["inspect", *arguments], capsys)
    assert code == 0
    assert verdict in " ".join(out.split())
    assert "terminating" in out


def test_inspect_json_with_presets(capsys):
    code, out, _ = run(["inspect", "space-traders", "--presets", "--json"], capsys)
    found = json.loads(out)
    assert code == 0
    assert [o["name"] for o in found["objectives"]] == ["success", "time"]
    assert [o["constrained"] for o in found["objectives"]] == [True, False]
    assert found["thresholds"] == [0.88]
    values = {row["rule"]: row["values"] for row in found["presets"]}
    assert values["exact optimum, deterministic policies"] == pytest.approx([0.9, -14.5])
    assert values["exact optimum, stochastic policies"] == pytest.approx([0.88, -11.2])
    assert values["gabor"] == pytest.approx([0.9, -19.9])
    gaps = {row["rule"]: row["gap"] for row in found["presets"]}
    assert gaps["gabor"] == pytest.approx([0, 5.4])


def test_inspect_with_presets_in_words(capsys):
    arguments = ["maze:extended", "--set", "objectives=path", "--thresholds", "1", "--presets"]
    out = run(["inspect", *arguments], capsys)[1]
    assert "fails, by the paper" in " ".join(out.split())
    row = next(line for line in out.splitlines() if " gabor " in line)
    assert "1, -10" in row  # and yet it is optimal
    out = run(["inspect", "maze:small", "--thresholds=-inf", "--presets"], capsys)[1]
    assert " urban " in out
    assert " gabor " not in out  # it would clip every value to −∞


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["inspect", "labyrinth"], "there is no task 'labyrinth'"),
        (
            ["inspect", "maze", "--thresholds", "1", "2"],
            "--thresholds: maze takes 1 threshold (goal)",
        ),
        (["inspect", "maze", "--gamma", "0"], "gamma: must be above 0"),
        (["inspect", "maze", "--horizon", "0"], "horizon: must be at least 1"),
        (["reproduce", "tlq", "--claims", "9"], "claims: there are 1 to 8, got 9"),
        (["reproduce", "tlq", "--points", "1"], "points: must be at least 2"),
    ],
)
def test_mistakes_get_one_line(arguments, message, tmp_path, capsys):
    out = ["--out", str(tmp_path)] if arguments[0] == "reproduce" else []
    code, _, err = run([*arguments, *out], capsys)
    assert code == 2
    assert message in err
    assert len(err.splitlines()) == 1


def test_folders_are_checked_before_work(tmp_path, capsys):
    file = tmp_path / "file"
    file.write_text("")
    code, _, err = run(["reproduce", "tlq", "--out", str(file)], capsys)
    assert code == 2
    assert "--out: cannot write" in err


@pytest.mark.slow
def test_reproduce(tmp_path, capsys):
    arguments = ["reproduce", "tlq", "--out", str(tmp_path), *REDUCED, "--claims", "2", "7"]
    code, out, _ = run(arguments, capsys)
    assert code == 0
    assert "2. small maze, undiscounted threshold: holds in part" in out
    assert sorted(p.name for p in tmp_path.iterdir()) == ["results.json", "run.json", "table.md"]
    before = (tmp_path / "results.json").stat().st_mtime_ns
    assert run(arguments, capsys)[0] == 0
    assert (tmp_path / "results.json").stat().st_mtime_ns == before  # nothing was computed again
    assert run([*arguments[:-2], "6"], capsys)[0] == 0
    assert {p.name for p in tmp_path.glob("*.png")} == {"tlq-treasure.png"}
    assert set(json.loads((tmp_path / "results.json").read_text())) == {"2", "6", "7"}
