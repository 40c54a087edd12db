"""The examples of ordered losses, small; what they find as a whole is in experiments/ordered_losses."""

import runpy
from pathlib import Path

import pytest

pytestmark = [pytest.mark.usefixtures("without_shape_checks"), pytest.mark.slow]
EXAMPLES = Path(__file__).parents[2] / "experiments" / "ordered_losses"


def test_screening():
    pytest.importorskip("sklearn", reason="needs scikit-learn")
    script = runpy.run_path(str(EXAMPLES / "screening.py"))
    results = script["run"](splits=1, steps=20, mixes=[(1.0, 0.03)])
    assert set(results) >= {"ordered", "weighted sum", "UPGrad", "PCGrad", "penalty"}
    assert all(0 <= row["holds on test"] <= 1 for row in results.values())
    assert results["ordered"]["missed"] < 0.2


def test_digits():
    pytest.importorskip("sklearn", reason="needs scikit-learn")
    script = runpy.run_path(str(EXAMPLES / "digits.py"))
    script["SUMS"].clear()
    results = script["run"](seeds=1, steps=60)
    assert results["ordered"]["held-out accuracy"] > 0.7
    assert results["ordered"]["drawing"] < 0.08


def test_the_tables_are_those_of_the_results():
    script = runpy.run_path(str(EXAMPLES / "tables.py"))
    text = (EXAMPLES / "results.md").read_text()
    assert all(script["MARK"].format(name) in text for name in script["COLUMNS"])
    assert script["with_tables"](text) == text


def test_truss():
    script = runpy.run_path(str(EXAMPLES / "truss.py"))
    start = script["start"](0)
    values = script["VALUES"](script["by_maximize"](start))
    peer = script["VALUES"](script["by_scipy"]("SLSQP", start))
    assert values[0] >= -1.0 - 1e-6
    assert values[1] >= -0.6 - 1e-6
    assert values[2] > 1.1 * peer[2]  # both negative: at most a tenth heavier
