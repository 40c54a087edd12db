"""Reports: one file, whole and by itself, that says what its result says."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import lexicone as lx
from lexicone.reports._pictures import Pictures
from lexicone.studies import paper
from tests.helpers.commands import run
from tests.helpers.saved_runs import ENVIRONMENT_RUN, PPO_RUN

ROOT = Path(__file__).parents[2]
VOID = {"meta", "br"}


class Page(HTMLParser):
    """Tags that fit together, ids that differ, links that stay on the page, and the text."""

    def __init__(self, path):
        super().__init__()
        self.open, self.ids, self.links, self.words = [], [], [], []
        self.source = Path(path).read_text(encoding="utf-8")
        self.feed(self.source)
        assert self.open == []
        assert len(set(self.ids)) == len(self.ids)
        assert all(link[1:] in self.ids for link in self.links if link.startswith("#"))

    def handle_starttag(self, tag, attrs):
        assert tag not in ("script", "link", "iframe", "object")
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            assert not name.startswith("on")
            if name == "id":
                self.ids.append(value)
            if value is not None and name in ("href", "xlink:href", "src"):
                assert value.startswith(("#", "data:")), value
                self.links.append(value)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def solved():
    mdp = lx.tasks.maze("extended", objectives="path")
    return mdp, lx.solve(mdp, [-3])


def test_a_solution(solved, tmp_path):
    mdp, solution = solved
    path = lx.report(solution, tmp_path / "new" / "page.html", mdp=mdp, beside=True)
    page = Page(path)
    for told in (
        "tiles+goal at least -3",
        "time as high as possible",
        "on average",
        "one unit stricter costs at least 1.2 of time",
        "If tiles+goal had to be at least -2 instead of at least -3, time would be -6.4 instead of -5.2.",
        "(0,0) it flips a coin: Up (0.8) or Right (0.2)",
        "always Up would have (-4, -4)",
        "verified",
        "lx.solve(mdp, lx.Order([-3.0]), gamma=1.0)",
        f"lexicone {lx.__version__}",
    ):
        assert told in page.text
    assert page.source.count("<figure>") == 2
    assert "@media print" in page.source
    assert "size: A4" in page.source
    again = lx.Solution.load(tmp_path / "new" / "page.safetensors")
    assert again.explain() == solution.explain()
    assert (tmp_path / "new" / "page.csv").read_text() == solution.to_csv()


def test_at_a_corner_of_the_front_it_says_what_more_costs(solved, tmp_path):
    """The slope of the duals is 0.8 there, that of asking for less."""
    for limit, said in (
        (-4, "If tiles+goal had to be at least -3 instead of at least -4, time would be -5.2 instead of -4."),
        (1, "Stricter cannot be asked of tiles+goal: at least 1 is the best there is."),
    ):  # fmt: skip
        solution = lx.solve(solved[0], {"tiles+goal": limit, "time": None})
        assert said in Page(lx.report(solution, tmp_path / "p.html", mdp=solved[0])).text
    swapped = lx.solve(solved[0], {"time": lx.at_least(-5), "tiles+goal": lx.highest})
    page = Page(lx.report(swapped, tmp_path / "p.html", mdp=solved[0]))
    assert (
        "If time had to be at least -4 instead of at least -5, tiles+goal would be -4" in page.text
    )


def test_without_the_model_there_is_no_picture_and_no_second_proof(solved, tmp_path):
    page = Page(lx.report(solved[1], tmp_path / "page.html"))
    assert "<figure>" not in page.source
    assert "verified" not in page.text
    assert "left unproven" in page.text


def test_a_wrong_solution_is_not_called_verified(solved, tmp_path):
    mdp, solution = solved
    fields = vars(solution) | {"values": solution.values + np.array([0, 1.0])}
    names = solution.__dataclass_fields__
    wrong = lx.Solution(**{name: fields[name] for name in names})
    page = Page(lx.report(wrong, tmp_path / "page.html", mdp=mdp))
    assert "not verified" in page.text
    assert "NOT PROVEN" in page.text


def test_names_are_shown_and_not_obeyed(tmp_path):
    nasty = '<script>alert("x")</script>'
    mdp = lx.MDP.from_function(
        nasty, [nasty], lambda s, a: (1.0, None, [0.0, -1.0]), objective_names=(nasty, "b")
    )
    solution = lx.solve(mdp, {nasty: 1.0, "b": lx.lowest})
    page = Page(lx.report(solution, tmp_path / "p.html", mdp=mdp, title=nasty, command=nasty))
    assert nasty in page.text
    assert nasty not in page.source


def test_the_command_line_makes_a_page_of_what_it_solved(tmp_path, capsys):
    out = tmp_path / "run"
    arguments = ["space-traders", "--thresholds", "0.88", "--out", str(out), "--format", "svg"]
    assert run(["solve", *arguments], capsys)[0] == 0
    code, said, _ = run(["report", str(out), "-o", str(tmp_path / "r.html")], capsys)
    assert code == 0
    assert "r.html" in said
    page = Page(tmp_path / "r.html")
    assert "lexicone solve space-traders --thresholds 0.88" in page.text
    assert "Exact solution: space-traders" in page.text
    assert "<figure>" in page.source  # the model lies beside the solution
    for wrong in (tmp_path, tmp_path / "nothing", tmp_path / "r.html"):
        code, _, err = run(["report", str(wrong), "-o", str(tmp_path / "s.html")], capsys)
        assert code == 2
        assert "result:" in err


def test_learners_have_a_page_and_none_is_lost(tmp_path):
    cells = json.loads((ROOT / "experiments/learners/results.json").read_text())
    kept = {name: cell for name, cell in cells.items() if cell["task"] == "exp2"}
    (tmp_path / "results.json").write_text(json.dumps(kept))
    page = Page(lx.report(tmp_path, tmp_path / "page.html"))
    for cell in kept.values():
        assert cell["learner"] in page.text
    assert "exp2, τ₁=0.5 (episode): a2c, 100% of 100 seeds" in page.text  # fewer steps than ppo
    assert page.source.count("<figure>") == 3


def test_a_training_is_judged_as_its_thresholds_were_meant(tmp_path):
    """A mean may hold although many episodes miss it; so the share of episodes is no success then."""
    trained = lx.load(PPO_RUN)
    trained = replace(trained, order=lx.Order([0.75]))
    sure = trained.values()[:, 0] >= 0.75
    assert sure.tolist() == [False, True]
    assert (trained.evaluate(200, seed=1).success < 0.9).all()
    page = Page(lx.report(trained, tmp_path / "page.html"))
    assert "PPO: all thresholds hold on average on 1 of 2 seeds" in page.text
    assert "The policy of seed 1, the best" in page.text
    assert "95 % interval" in page.text
    learner = replace(trained.learner, criterion="episode", confidence=0.9)
    page = Page(lx.report(replace(trained, learner=learner), tmp_path / "page.html"))
    assert "PPO: all thresholds hold in 90 % of episodes on 0 of 2 seeds" in page.text
    page = Page(lx.report({"one": trained, "two": trained}, tmp_path / "page.html"))
    assert "Most dependable here: one, two, with 50% of seeds" in page.text


def test_a_training_in_an_environment_has_no_optimum_beside_it(tmp_path):
    page = Page(lx.report(lx.load(ENVIRONMENT_RUN), tmp_path / "page.html"))
    assert (
        "all thresholds hold on average on 0 of 2 seeds. The training is not finished" in page.text
    )
    assert "there is no model of the environment" in page.text


def maze_results(experiment, reported, won):
    part = {
        "title": "literal", "thresholds": [0.5], "episodes": 10, "steps": 99.0, "success": [1.0, 0.0],
        "seeds": 2, "successful_seeds": won, "interval": [0.2, 0.8], "returns": [[1, -9], [0, -3]],
        "exact": [1.0, -10.0], "curves": {"episodes": [5, 10], "a": [[0.0, 1.0]] * 2, "success": [[0.0, 1.0]] * 2},
    }  # fmt: skip
    return {
        "experiment": experiment, "title": experiment, "paper": reported, "success": "it is", "notes": [],
        "parts": {"literal": part},
    }  # fmt: skip


@pytest.fixture
def reproduction(tmp_path, monkeypatch):
    """Results of three experiments as the command writes them, made up; figures that need no results are left out."""
    leaf = {"episodes": [5, 10], "probability": [[0.1, 0.4], [0.2, 0.6]]}
    claim = {
        "title": "t", "statement": "s", "reference": "r", "holds": "no", "summary": "found", "data": {},
        "cells": [{"preset": "p", "setting": "q", "happened": "h", "values": [1.0], "optimum": [2.0], "swept": "",
                   "holds": False, "reason": ""}],
    }  # fmt: skip
    results = {
        "exp1": maze_results("exp1", "7 of 10", 1),
        "exp2": maze_results("exp2", "9 of 10", 1),
        "ftn": {"leaf": 3, "tlq": {"1e-09": [0.0]}, "parts": {k: {"20": leaf} for k in ("literal", "batched")}},
        "tlq": {"7": claim},
    }  # fmt: skip
    for name, found in results.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "results.json").write_text(json.dumps(found))
    kept = {name: e for name, e in paper.PAPER_FIGURES.items() if e.experiment is not None}
    monkeypatch.setattr("lexicone.reports._paper.PAPER_FIGURES", kept)
    return tmp_path


def test_a_reproduction_says_what_the_paper_says_beside_it(reproduction, tmp_path):
    page = Page(lx.report(reproduction, tmp_path / "page.html"))
    assert "the paper's 7 of 10 lies within the interval" in page.text
    assert "the paper's 9 of 10 lies outside the interval" in page.text
    assert "0.50 (0.40 to 0.60)" in page.text
    assert "holds: no" in page.text
    assert page.source.count("<figure>") == 4  # one seed twice, all seeds, the tree
    assert "lexicone reproduce all" in page.text
    single = Page(lx.report(reproduction / "ftn", tmp_path / "one.html"))
    assert "lexicone reproduce ftn" in single.text
    found = maze_results("exp1", "7 of 10", 0)
    found["parts"]["literal"]["usual_episodes"] = 4000
    (reproduction / "exp1" / "results.json").write_text(json.dumps(found))
    short = Page(lx.report(reproduction / "exp1", tmp_path / "short.html"))
    assert "10 episodes in place of 4,000: too few to compare" in short.text
    assert "the interval found here" not in short.text
    (reproduction / "ftn" / "results.json").write_text('{"leaf": 3, "tlq": {}, "parts": {}}')
    with pytest.raises(ValueError, match=r"result: the results in .* are not complete"):
        lx.report(reproduction / "ftn", tmp_path / "none.html")
    assert not (tmp_path / "none.html").exists()


def test_the_map_of_the_papers_figures_is_that_of_the_docs():
    text = (ROOT / "docs" / "paper.md").read_text()
    for name, entry in paper.PAPER_FIGURES.items():
        assert f"| {name} | {entry.where} | `{entry.command}` |" in text


def test_every_command_of_the_map_exists(capsys):
    for entry in paper.PAPER_FIGURES.values():
        name = entry.command.split()[1]
        assert name in ("show", "figure", "reproduce")


def test_figures_of_a_page_share_no_names():
    pictures = Pictures()
    pages = [pictures.show(lx.plots.cone_geometry(), "a <b>") for _ in range(2)]
    ids = [set(re.findall(r'\bid="([^"]+)"', page)) for page in pages]
    assert ids[0]
    assert not ids[0] & ids[1]
    for page in pages:
        used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', page))
        assert used <= set(re.findall(r'\bid="([^"]+)"', page))
        assert "Figure" in page
        assert "a &lt;b&gt;" in page


def test_continuous_models_have_a_page(tmp_path):
    model = lx.LinearQuadratic(
        np.array([[0.9]]), np.array([[1.0]]), np.array([[0.1]]),
        costs=[np.diag([1.0, 0.0]), np.diag([0.0, 1.0])], gamma=0.9,
    )  # fmt: skip
    found = lx.solve(model, {"error": lx.at_most(1.5), "effort": lx.lowest()})
    page = Page(lx.report(found, tmp_path / "page.html"))
    assert "error at most 1.5" in page.text
    assert "effort as low as possible" in page.text
    assert 'lx.Order({"error"'.replace('"', "'") in page.text
    assert "lx.at_most(1.5)" in page.text


def test_studies_of_ones_own_have_a_page(tmp_path):
    """Made up: one learner holds the threshold on all seeds, the other on none."""
    shared = {"task": "traders", "seeds": 4, "thresholds": ["0.5"], "objectives": ["safe", "fast"]}
    shared |= {"steps": 1000.0, "seconds": 1.0, "exact": [1.0, -3.0]}
    good = {"learner": "good", "values": [[1.0, -3.0 - i] for i in range(4)], "held": [[True]] * 4}
    bad = {"learner": "<bad>", "values": [[0.0, -9.0 - i] for i in range(4)], "held": [[False]] * 4}
    found = {"missing": 1, "cells": [shared | good, shared | bad]}
    (tmp_path / "results.json").write_text(json.dumps(found))
    page = Page(lx.report(tmp_path, tmp_path / "page.html"))
    assert "traders: safe at least 0.5, then fast as high as possible" in page.text
    assert "traders: good holds all thresholds for 100%" in page.text
    assert "good <bad> 100%" in page.text
    assert "1 cells are not done yet" in page.text
    with pytest.raises(ValueError, match="beside: is for"):
        lx.report(tmp_path, tmp_path / "none.html", beside=True)
    assert not (tmp_path / "none.html").exists()
