"""Settings that follow from what was tried before: the order alone decides, and nothing depends on who ran what."""

import numpy as np
import pytest

import lexicone as lx
from lexicone.studies.sweeps import running
from lexicone.studies.sweeps.design import Study
from lexicone.studies.sweeps.pruning import final, is_behind, standings
from lexicone.studies.sweeps.rounds import rounds
from lexicone.studies.sweeps.study import run_study
from lexicone.studies.sweeps.study_file import read_study
from lexicone.studies.sweeps.tuning import Tuner

pytest.importorskip("optuna", reason="needs the extra tune")
pytestmark = pytest.mark.usefixtures("compile_quickly")

RATES = {"learning_rate": {"low": 1e-5, "high": 1e-1, "log": True}}
QUICK = {"batch": 8, "hidden": (4,)}


def plan(**more):
    given = {
        "tasks": {"traders": (lx.tasks.space_traders(), [0.88])},
        "learners": {"ours": lx.A2C(**QUICK)},
        "vary": {"ours": RATES},
        "search": "tune",
        "samples": 24,
        "seeds": 2,
        "episodes": 64,
        "evaluation": 20,
        **more,
    }
    return Study(**given)


def cell(first, last, held=True, thresholds=(0.0,), **more):
    values = [[first, last - 0.01], [first, last + 0.01]]
    return {"values": values, "held": [[held]] * 2, "thresholds": list(thresholds), **more}


def played(study, outcome):
    """All cells of a study whose outcomes are known beforehand."""
    asked = []
    for cells in rounds(study, lambda c: outcome(c.learner)):
        asked += cells
    return asked


def valley(learner):
    """The threshold holds for rates up to 0.01, and the last objective is best just there."""
    far = np.log10(learner.learning_rate) + 2
    return cell(-far, -abs(far), held=bool(far <= 0))


def test_the_best_settings_are_found():
    asked = played(plan(), valley)
    assert len(asked) == 24
    late = [abs(np.log10(c.learner.learning_rate) + 2) for c in asked[12:]]
    chance = [abs(np.log10(c.learner.learning_rate) + 2) for c in plan(search="random").cells]
    assert np.median(late) < 0.6 * np.median(chance)
    assert [c.digest for c in played(plan(), valley)] == [c.digest for c in asked]
    assert played(plan(seed=1), valley)[0].learner != asked[0].learner


def test_no_weights_are_involved():
    """Numbers that compare alike lead to the same questions, whatever their sizes; another threshold does not."""

    def stretched(learner):
        same = valley(learner)
        held = same["held"][0][0]
        values = [[1e6 if held else a * 7 - 100, 1e4 * b + 3] for a, b in same["values"]]
        return {**same, "values": values}

    asked = [c.learner_name for c in played(plan(), valley)]
    assert [c.learner_name for c in played(plan(), stretched)] == asked

    def all_hold(learner):
        return {**valley(learner), "held": [[True]] * 2}

    assert [c.learner_name for c in played(plan(), all_hold)] != asked


def test_a_search_that_stops_goes_on_alike():
    whole = [c.learner_name for c in played(plan(), valley)]
    first = rounds(plan(), lambda c: None)
    assert [c.learner_name for c in next(first)] == whole[:4]
    assert list(first) == []  # nothing is known of them
    assert [c.learner_name for c in played(plan(samples=8), valley)] == whole[:8]
    names = [c.learner_name for c in played(plan(at_once=1, samples=8), valley)]
    assert names[0] == whole[0]


@pytest.mark.parametrize("search", ["tpe", "qmc", "nsga2"])
def test_samplers_by_name(search):
    ranges = {
        "entropy": {"low": 0.0, "high": 1.0},
        "hidden": [(4,), (8,)],
        "epochs": {"low": 1, "high": 9},
    }
    tuner = Tuner(search, ranges, 0)
    settings = tuner.ask(12)
    assert {type(each["epochs"]) for each in settings} == {int}
    assert all(0 <= each["entropy"] <= 1 and each["hidden"] in [(4,), (8,)] for each in settings)
    tuner.tell([each["entropy"] for each in settings])
    assert len(tuner.ask(2)) == 2


def test_what_varies_by_list_is_not_tried_twice():
    study = plan(vary={"ours": {"learning_rate": [1e-3, 1e-2]}}, samples=12)
    assert len(played(study, valley)) == 2


def test_who_stands_where():
    safe, rash = cell(0.1, 1.0), cell(-0.5, 9.0, held=False)
    assert standings([safe, rash]) == [0.75, 0.25]  # half of all is oneself
    behind = {**cell(0.1, 5.0), "look": 0, "looks": 2}
    later = {**cell(0.1, -5.0), "look": 1, "looks": 2}
    found = standings([safe, rash, behind, later])
    assert found == [0.75, 0.25, -1.5, -0.5]


def test_who_is_behind():
    others = [cell(0.1, float(i)) for i in range(4)]
    assert is_behind(cell(0.1, 0.9), others)
    assert not is_behind(cell(0.1, 1.1), others)
    assert is_behind(cell(-0.1, 9.0, held=False), others)  # the threshold comes first
    assert not is_behind(cell(-0.1, 9.0, held=False), others[:3])  # too few to say


def test_what_is_kept_decides_again():
    low, high = cell(0.1, 0.0), cell(0.1, 9.0)
    rivals = ([cell(0.1, float(i)) for i in range(1, 6)],) * 2
    assert final(None, rivals) is None
    assert final({"course": [high]}, rivals) is None  # under way
    gone = final({"course": [high, low]}, rivals)
    assert gone is not None
    assert gone["look"] == 1
    whole = {**high, "course": [low, high]}
    assert final(whole, ([], [])) == whole
    assert final(whole, rivals) == {**low, "look": 0, "looks": 2, "course": [low]}


@pytest.fixture(scope="module")
def pruned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pruned")
    study = plan(samples=10, at_once=2, prune=(0.25, 0.5))
    return study, folder, run_study(study, folder)


@pytest.mark.slow
def test_looks_change_no_number(pruned):
    _, _, found = pruned
    assert found.given_up > 0
    assert found.given_up + len(found.cells) == 10
    last = found.cells[-1]
    settings = lx.A2C(**{**last["facts"]["settings"], "hidden": (4,)})
    alone = lx.compare(
        lx.tasks.space_traders(), [0.88], {"same": settings}, seeds=2, episodes=64, evaluation=20
    )
    assert alone.cells[0]["values"] == last["values"]
    assert len(last["course"]) == 2
    assert "given up on the way" in found.verdict()


@pytest.mark.slow
def test_one_that_was_killed_goes_on_alike(pruned, tmp_path, monkeypatch):
    study, _, found = pruned
    real, calls = running.judge, []

    def dies_now_and_then(cell, trained, **options):
        calls.append(cell)
        if len(calls) in (
            2,
            7,
            15,
        ):  # after a training has come to a look, before what it reached is kept
            raise KeyboardInterrupt
        return real(cell, trained, **options)

    monkeypatch.setattr(running, "judge", dies_now_and_then)
    again = None
    for _ in range(4):
        try:
            again = run_study(study, tmp_path)
        except KeyboardInterrupt:
            continue
    assert again is not None
    drop = lambda cells: [(c["learner"], c["values"], c["held"]) for c in cells]  # noqa: E731
    assert drop(again.cells) == drop(found.cells)
    assert again.given_up == found.given_up
    assert not list(tmp_path.glob("unfinished/*"))


def test_a_file_says_the_same(tmp_path):
    file = tmp_path / "tuned.toml"
    file.write_text(
        """
        search = "tune"
        samples = 24
        prune = [0.25, 0.5]
        seeds = 2
        episodes = 64
        evaluation = 20
        [tasks.traders]
        task = "space-traders"
        thresholds = [0.88]
        [learners.ours]
        learner = "a2c"
        batch = 8
        hidden = [4]
        [vary.ours]
        learning_rate = {low = 1e-5, high = 1e-1, log = true}
        """,
        encoding="utf-8",
    )
    asked = [c.digest for c in played(read_study(file), valley)]
    assert asked == [c.digest for c in played(plan(prune=(0.25, 0.5)), valley)]
    assert asked != [c.digest for c in played(plan(), valley)]  # looks are part of a cell


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"search": "best"}, "search: "),
        ({"at_once": 0}, "at_once: "),
        ({"prune": 0.5}, "prune: expected shares"),
        ({"prune": [0.5, 0.25]}, "prune: expected rising shares"),
        ({"prune": [1.0]}, "prune: expected shares"),
        ({"prune": [0.5], "search": "random"}, "prune: is for a search that goes on"),
        ({"vary": {"ours": {"learning_rate": {"low": 1, "high": 0}}}}, "vary: 'learning_rate'"),
    ],
)
def test_mistakes_are_named(more, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        plan(**more)


def test_what_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    with pytest.raises(ValueError, match=r"^search: 'tune' needs the extra tune"):
        Tuner("tune", RATES, 0)
