"""Studies of one's own: cells, what is kept, what is not done again, and what is said of it."""

import json

import numpy as np
import pytest

import lexicone as lx
from lexicone.studies.sweeps import running
from lexicone.studies.sweeps.design import Study
from lexicone.studies.sweeps.outcome import StudyResult
from lexicone.studies.sweeps.ranges import vary
from lexicone.studies.sweeps.running import groups_of
from lexicone.studies.sweeps.study import run_study
from lexicone.studies.sweeps.study_file import read_study
from tests.helpers.commands import run

pytestmark = pytest.mark.usefixtures("compile_quickly")
QUICK = {"batch": 8, "hidden": (4,)}
FILE = """
seeds = 2
episodes = 32
evaluation = 20
[tasks.traders]
task = "space-traders"
thresholds = [0.88]
[learners.ours]
learner = "a2c"
batch = 8
hidden = [4]
[learners.theirs]
learner = "a2c"
rule = "penalty"
batch = 8
hidden = [4]
[vary.ours]
learning_rate = [0.01, 0.001]
"""


def plan(**more):
    given = {
        "tasks": {"traders": (lx.tasks.space_traders(), [0.88])},
        "learners": {"ours": lx.A2C(**QUICK), "theirs": lx.A2C(**QUICK, rule="penalty")},
        "vary": {"ours": {"learning_rate": [1e-2, 1e-3]}},
        "seeds": 2,
        "episodes": 32,
        "evaluation": 20,
        **more,
    }
    return Study(**given)


def test_cells_and_the_programs_that_serve_them():
    cells = plan().cells
    names = ["ours learning_rate=0.01", "ours learning_rate=0.001", "theirs"]
    assert [cell.learner_name for cell in cells] == names
    assert [len(group) for group in groups_of(cells)] == [2, 1]  # a rate is a traced number
    assert len({cell.digest for cell in cells}) == 3
    assert cells[0].digest == plan().cells[0].digest
    assert cells[0].digest != plan(seed=1).cells[0].digest
    assert (
        cells[0].digest
        != plan(tasks={"traders": (lx.tasks.space_traders(), [0.8])}).cells[0].digest
    )


def test_settings_drawn_at_random():
    ranges = {
        "rate": {"low": 1e-4, "high": 1e-2, "log": True},
        "n": {"low": 1, "high": 9},
        "k": "ab",
    }
    drawn = list(vary(ranges, "random", 200, 0))
    assert drawn == list(vary(ranges, "random", 200, 0))
    rates = np.array([each["rate"] for each in drawn])
    assert ((rates >= 1e-4) & (rates <= 1e-2)).all()
    assert 0.35 < (rates < 1e-3).mean() < 0.65  # as often in either decade
    assert {type(each["n"]) for each in drawn} == {int}
    assert {each["k"] for each in drawn} == {"a", "b"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    return folder, run_study(plan(), folder)


@pytest.mark.slow
def test_what_was_interrupted_goes_on_to_the_same_numbers(whole, tmp_path, monkeypatch):
    _, found = whole
    real, done = running.run_group, []

    def dies_after_one(group, store):
        if done:
            raise KeyboardInterrupt
        done.append(group)
        real(group, store)

    monkeypatch.setattr(running, "run_group", dies_after_one)
    with pytest.raises(KeyboardInterrupt):
        run_study(plan(), tmp_path)
    monkeypatch.setattr(running, "run_group", real)
    assert len(list(tmp_path.glob("cells/??/*.json"))) == 2
    again = run_study(plan(), tmp_path)
    drop = lambda cells: [{k: v for k, v in cell.items() if k != "seconds"} for cell in cells]  # noqa: E731
    assert drop(again.cells) == drop(found.cells)
    assert again.missing == 0


@pytest.mark.slow
def test_nothing_is_done_twice_and_damage_is_mended(whole, monkeypatch):
    folder, found = whole
    monkeypatch.setattr(running, "train_many", None)
    monkeypatch.setattr(running, "train", None)
    again = run_study(plan(), folder)  # would fail if it trained
    assert again.cells == found.cells
    monkeypatch.undo()
    file = next(folder.glob("cells/??/*.json"))
    file.write_text("{", encoding="utf-8")
    mended = run_study(plan(), folder)
    assert [cell["values"] for cell in mended.cells] == [cell["values"] for cell in found.cells]
    json.loads(file.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_tables_figures_and_verdict(whole):
    _, found = whole
    assert found.table().splitlines()[0].split()[:2] == ["task", "learner"]
    assert len(found.table().splitlines()) == 4
    assert found.latex().count(r"\\") == 4
    assert r"learning\_rate=0.01" in found.latex()
    assert len(found.comparisons) == 3
    pairs = found.comparison_latex().splitlines()
    assert len(pairs) == 9
    assert pairs[0] == r"\begin{tabular}{lllrrrrr}"
    assert pairs[4].count("&") == 7
    assert found.verdict().startswith(f"traders: {found.best()} holds all thresholds for ")
    assert len(found.figure().axes) == 2
    assert "3 cells" in repr(found)
    exact = lx.solve(lx.tasks.space_traders(), [0.88]).values
    np.testing.assert_allclose(found.summaries[0].exact, exact)


def cell(learner, values, held):
    return {
        "task": "t",
        "learner": learner,
        "objectives": ["a", "b"],
        "thresholds": [0.0],
        "seeds": len(values),
        "values": values,
        "held": [[h] for h in held],
        "steps": 1.0,
        "seconds": 1.0,
    }


def test_the_order_decides_who_is_better():
    safe = cell("safe", [[0.1, 1.0 + i / 100] for i in range(10)], [True] * 10)
    rash = cell("rash", [[-0.5, 9.0 + i / 100] for i in range(10)], [False] * 10)
    close = cell("close", [[-0.001, 2.0 + i / 100] for i in range(10)], [True] * 10)
    found = StudyResult([safe, rash, close])
    assert found.best() == "close"  # holds up to the error of the evaluation, and has more of b
    pair = next(c for c in found.comparisons if {c.learner, c.other} == {"safe", "rash"})
    assert pair.better.value == 1.0
    assert pair.last == pytest.approx(
        (-8.0, -8.0, -8.0)
    )  # seed by seed, whatever seeds have in common
    assert pair.chance < 0.01
    assert "better than safe, rash" in found.verdict()
    few = StudyResult([cell("x", [[1.0, 1.0]], [True]), cell("y", [[1.0, 2.0]], [True])])
    assert "no sure difference from x" in few.verdict()
    with pytest.raises(ValueError, match=r"^cells: the study has no results yet"):
        StudyResult([]).verdict()


def test_of_many_settings_the_best_is_compared_with_the_others():
    many = [cell(f"n={i}", [[1.0, i + j / 10] for j in range(4)], [True] * 4) for i in range(25)]
    found = StudyResult(many)
    assert len(found.comparisons) == 24
    assert {c.learner for c in found.comparisons} == {"n=24"}
    assert len(StudyResult(many[:20]).comparisons) == 190
    assert "others" in found.verdict()
    assert len(StudyResult(many * 2).figure().axes[0].get_yticks()) <= 30


@pytest.mark.slow
def test_a_file_says_the_same(whole, tmp_path, capsys):
    folder, found = whole
    file = tmp_path / "traders.toml"
    file.write_text(FILE, encoding="utf-8")
    assert [c.digest for c in read_study(file).cells] == [c.digest for c in plan().cells]
    code, out, _ = run(["study", str(file), "--out", str(folder), "--report", "--json"], capsys)
    assert code == 0
    assert [c["learner"] for c in json.loads(out)["cells"]] == [c.learner for c in found.summaries]
    assert (folder / "comparison.png").exists()
    assert (folder / "table.tex").read_text(encoding="utf-8").startswith(r"\begin{tabular}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seeds = ", "file: .*no TOML"),
        ("seedz = 3", "file: .*has 'seedz'"),
        ("seeds = 3", "tasks: .*has none"),
        ("[tasks.x]\nthresholds = [1]", "tasks.x: needs task"),
        ("[tasks.x]\ntask = 'space-traders'\nthresholds = [1]\nlimit = 3", "tasks.x: has 'limit'"),
        (FILE.replace('"a2c"', '"a3c"'), "learners.ours: there is no learner 'a3c'"),
        (FILE.replace("rule =", "rul ="), "learners.theirs: a2c has no setting 'rul'"),
        (FILE.replace("seeds = 2", "seeds = 0"), "seeds: "),
        (FILE.replace("[vary.ours]", "[vary.mine]"), "vary: there is no learner 'mine'"),
        (FILE.replace("learning_rate = [", "learning_rat = ["), "vary: 'learning_rat' of 'ours'"),
        (
            FILE.replace("[0.01, 0.001]", "[-1.0]"),
            "vary: 'learning_rate' of 'ours': learning_rate: ",
        ),
    ],
)
def test_mistakes_in_a_file_are_named(text, message, tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=f"^{message}"):
        read_study(file)


def test_mistakes_in_python_are_named(tmp_path):
    task = lx.tasks.space_traders(), [0.88]
    with pytest.raises(ValueError, match=r"^tasks: 'x' must be a pair"):
        lx.study({"x": task[0]})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match=r"^learners: expected a mapping"):
        lx.compare(*task, learners=[lx.PPO()])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^steps: give steps or episodes"):
        lx.study({"x": task}, steps=5, episodes=5)
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=r"^out: "):
        lx.study({"x": task}, out=tmp_path / "file")
    with pytest.raises(ValueError, match=r"^out: expected a path, got 1\.0"):
        lx.study({"x": task}, out=1.0)  # pyright: ignore[reportArgumentType]
    for path in (None, b"study.toml", "study.toml\0"):
        with pytest.raises(ValueError, match=r"^path: expected a path"):
            read_study(path)  # pyright: ignore[reportArgumentType]
