"""The example of docs/storm.md prints what the page shows, and the README's command what that says."""

import re
import shutil
from pathlib import Path

import pytest

from tests.contracts.test_documents import blocks_of
from tests.helpers.checker_files import HOME, ROBOT, TIME
from tests.helpers.commands import run

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "storm.md"


@pytest.mark.slow
@pytest.mark.usefixtures("without_shape_checks")
def test_the_page_shows_what_is_printed(capsys, tmp_path, monkeypatch):
    shutil.copy(ROBOT, tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "__main__"}
    for _, block in blocks_of(PAGE):
        exec(block, names)
    printed = capsys.readouterr().out
    shown = re.findall(
        r"^```text\n(objective.*?)^```", PAGE.read_text(), flags=re.DOTALL | re.MULTILINE
    )
    assert len(shown) == 1
    assert shown[0] in printed
    assert "(-7.75,)" in printed
    assert names["shown"] == pytest.approx([0.85, 6.1875])
    assert {p.name for p in tmp_path.iterdir()} >= {"product.drn", "chain.drn", "scheduler.json"}


def test_the_command_of_the_readme(capsys):
    """On the explicit file, which needs no Storm."""
    told = (ROOT / "README.md").read_text()
    assert f"--objectives '{HOME}' '{TIME}' --thresholds 0.85" in told
    given = ["solve", str(ROBOT), "--objectives", HOME, TIME, "--thresholds", "0.85", "--json"]
    code, out, _ = run(given, capsys)
    assert code == 0
    assert "6.187" in out
    assert "6.1875" in told
