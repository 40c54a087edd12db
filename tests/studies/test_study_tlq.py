"""The claims on reduced sweeps. Full ones are for ``lexicone reproduce tlq``."""

import io
import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from lexicone.exact import _solve as solver
from lexicone.models import _evaluation as evaluation
from lexicone.models._evaluation import evaluate
from lexicone.order import Order
from lexicone.qlearning import _iterate as iteration
from lexicone.studies.tlq import claims as tlq_claims, figures as tlq_figures
from lexicone.studies.tlq.cells import Finding
from lexicone.studies.tlq.claims import CLAIMS, run
from lexicone.studies.tlq.goal import (
    GOLDEN,
    ROUTE,
    claim_undiscounted,
)
from lexicone.studies.tlq.settings import Tlq
from lexicone.studies.tlq.variants import OUTCOMES
from lexicone.tasks import space_traders

pytestmark = pytest.mark.slow  # the claims behind them are computed first
QUICK = Tlq(points=4, tables=8, leaves=2, seeds=2, steps=20_000)


@pytest.fixture(scope="module")
def results(tmp_path_factory, without_shape_checks):
    """Some claims with coarse maps, and the folder."""
    out = tmp_path_factory.mktemp("tlq")
    return run(QUICK, out, (7, 6, 5, 1), console=Console(quiet=True)), out


def test_claim_1(results):
    found = results[0]["1"]
    assert all(cell["holds"] for cell in found["cells"])
    assert found["cells"][0]["values"] == pytest.approx((0.9, -5))
    for cell in found["cells"]:
        np.testing.assert_allclose(cell["optimum"], (0.9**3, 0), atol=1e-6)
        assert cell["trajectory"][0] == "(1,0)"
    gammas, slacks = found["data"]["gammas"], found["data"]["slacks"]
    assert found["data"]["boundary"] == pytest.approx(GOLDEN, abs=2e-5)
    for g, row in zip(gammas, found["data"]["reached"], strict=True):
        for d, count in zip(slacks, row, strict=True):
            assert (count > 0) == (g * (1 - g**2) <= d < 1 - g - 1e-9)


def test_claim_5(results):
    found = results[0]["5"]
    cells = {(cell["preset"], cell["setting"]): cell for cell in found["cells"]}
    assert cells["sarsa", "τ=0.5, γ=0.9, ties first"]["happened"].startswith("cycle of 7")
    assert not cells["cyclic", "δ=0.3, 1, γ=0.9"]["holds"]
    assert "Down 0.810, Right 0.729" in cells["cyclic", "δ=0.3, 1, γ=0.9"]["reason"]
    route = list(ROUTE)
    assert cells["cyclic, targets of what it does", "δ=0.3, 1, γ=0.9"]["trajectory"] == route
    assert cells["informed", "τ=0.5, γ=0.9, ties by_objective"]["trajectory"] == route
    assert not cells["informed", "τ=0.5, γ=0.9, ties first"]["holds"]
    assert cells["informed", "τ=0.7, γ=0.9, b=0"]["happened"].startswith("cycle of 2")
    starts = [cell for cell in found["cells"] if "random tables" in cell["swept"]]
    assert [cell["holds"] for cell in starts] == [False, True]
    maps = {name: np.array(table) for name, table in found["data"]["maps"].items()}
    way_around = OUTCOMES.index("way around")
    assert (maps["cyclic"] != way_around).all()
    assert (maps["cyclic, targets of what it does"] == way_around).any()


def test_claim_6(results):
    found = results[0]["6"]
    assert all(cell["holds"] for cell in found["cells"])
    assert found["data"]["front"] == found["data"]["tlq"]
    assert len(found["data"]["front"]) == 10
    assert found["data"]["linear"] == [[1, -1], [124, -19]]
    mixed, front = np.array(found["data"]["mixed"]), np.array(found["data"]["front"])
    assert np.all(mixed[1:-1, 1] > front[1:-1, 1])


def test_claim_7_by_brute_force(results):
    mdp, order = space_traders(), Order([0.88])
    pairs = itertools.product(range(3), repeat=2)
    values = np.array([evaluate(mdp, np.array([a, b, 0, 0])) for a, b in pairs])
    best = values[order.argmax(values)]
    for cell in results[0]["7"]["cells"]:
        np.testing.assert_allclose(cell["optimum"], best, atol=1e-6)
        assert np.abs(values - cell["values"]).max(axis=1).min() < 1e-9
        assert cell["holds"]
        assert order.better(best, cell["values"])


def test_results_are_whole(results):
    found, out = results
    assert list(found) == ["1", "5", "6", "7"]

    def refuse(word):
        raise AssertionError(word)

    assert json.loads((out / "results.json").read_text(), parse_constant=refuse) == found
    page = (out / "table.md").read_text()
    for number, result in found.items():
        assert f"## {number}. {CLAIMS[int(number)].title}" in page
        assert result["holds"] == {"1": "yes", "5": "in part", "6": "yes", "7": "yes"}[number]
    rows = sum(len(result["cells"]) for result in found.values())
    assert page.count("\n| ") == rows + len(found)
    assert not [path for path in out.iterdir() if path.name.startswith(".")]


def test_finished_claims_are_read_and_others_computed(results, monkeypatch):
    found, out = results
    calls = []

    def compute(config, watch):
        calls.append(config)
        return claim_undiscounted(config, watch)

    monkeypatch.setitem(CLAIMS, 7, CLAIMS[7]._replace(compute=compute))
    monkeypatch.setitem(CLAIMS, 2, CLAIMS[2]._replace(compute=compute))
    quiet = Console(quiet=True)
    assert run(QUICK, out, [7], console=quiet)["7"] == found["7"]
    assert calls == []
    assert list(run(QUICK, out, [7, 2], console=quiet)) == ["2", "7"]
    assert calls == [QUICK]
    other = replace(QUICK, seed=1)
    assert run(other, out, [2], console=quiet)["2"]["settings"]["seed"] == 1
    assert calls == [QUICK, other]
    assert set(json.loads((out / "results.json").read_text())) == {"1", "2", "5", "6", "7"}


def test_the_table_on_the_terminal(results):
    found, _ = results
    printed = io.StringIO()
    console = Console(width=100, file=printed)
    tlq_claims.report(found, console)
    tlq_figures.show(found, console)
    text = printed.getvalue()
    assert "7. Space Traders: holds yes" in text
    assert "(0.9, -19.9)" in text
    marks = sum(line.count("#") for line in text.splitlines() if line.strip().startswith("δ="))
    assert marks == np.sum(np.array(found["1"]["data"]["reached"]) > 0) > 0


def test_figures_show_their_data(results, tmp_path):
    found, _ = results
    paths = tlq_figures.draw(found, tmp_path)
    wanted = {name for name, kind in tlq_figures.FIGURES.items() if kind.claim in found}
    assert {path.stem for path in paths} == wanted
    assert "tlq-early-late" not in wanted
    region = tlq_figures.FIGURES["tlq-region"].make(found["1"]["data"]).axes[0]
    drawn = np.asarray(region.collections[0].get_array()).reshape(4, 4)
    np.testing.assert_array_equal(drawn > 0, np.array(found["1"]["data"]["reached"]).T > 0)
    maps = tlq_figures.FIGURES["tlq-cyclic"].make(found["5"]["data"]).axes
    assert [axes.get_title() for axes in maps] == list(found["5"]["data"]["maps"])


def test_figures_draw_what_the_results_say_and_solve_nothing(results, monkeypatch):
    """Numbers that no solver would find appear as they are."""

    def refuse(*_, **__):
        raise AssertionError("a figure is drawn from results alone")

    for module in (solver, iteration, evaluation):
        for name in ("solve", "tlq_iterate", "evaluate", "state_values"):
            monkeypatch.setattr(module, name, refuse, raising=False)
    data = json.loads(json.dumps(results[0]["1"]["data"]))
    name = next(iter(data["values"]))
    data["values"][name][0] = [-77.25, 0.0]
    figure = tlq_figures.FIGURES["tlq-values"].make(data)
    texts = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert any("77" in text for text in texts)
    for kind in tlq_figures.FIGURES.values():
        if kind.claim in results[0]:
            kind.make(results[0][kind.claim]["data"])


def test_results_without_what_the_figures_draw_are_computed_again(results, tmp_path, monkeypatch):
    """As an earlier version left them."""
    kept = json.loads(json.dumps(results[0]))
    del kept["1"]["data"]["values"]
    (tmp_path / "results.json").write_text(json.dumps(kept))
    computed = []

    def compute(config, watch):
        computed.append(config)
        return Finding((), "new", {key: [] for key in CLAIMS[1].drawn})

    for number in (1, 6):
        monkeypatch.setitem(CLAIMS, number, CLAIMS[number]._replace(compute=compute))
    found = run(QUICK, tmp_path, [1, 6], console=Console(quiet=True))
    assert computed == [QUICK]
    assert (found["1"]["summary"], found["6"]) == ("new", kept["6"])
