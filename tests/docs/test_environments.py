"""The page on environments shows the committed results."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_tables_are_those_of_the_results():
    script = runpy.run_path(str(ROOT / "experiments" / "environments_table.py"))
    text = script["PAGE"].read_text()
    assert all(script["MARK"].format(name) in text for name in script["TABLES"])
    assert script["with_tables"](text) == text
