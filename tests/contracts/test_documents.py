"""What the documents show runs: the Python blocks of README.md and docs/, and the ``>>>`` lines of docstrings.

The blocks of one page share their names and run in order, as a reader would type them; a block that cannot run alone
(a placeholder, a command) is not marked ``python``.
"""

import doctest
import importlib
import re
import shutil
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest

pytestmark = pytest.mark.usefixtures("without_shape_checks")
ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "lexicone"
PAGES = [
    page for page in sorted((ROOT / "docs").rglob("*.md")) if "```python\n" in page.read_text()
]
MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if ">>>" in path.read_text()]


def blocks_of(page: Path) -> list[tuple[int, str]]:
    """The Python blocks of a page, each with its first line's number."""
    text = page.read_text()
    return [
        (text.count("\n", 0, found.start(1)) + 1, found.group(1))
        for found in re.finditer(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_blocks_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "docs" / "assets" / "robot.drn", tmp_path)  # which pages read
    names: dict[str, Any] = {"__name__": "__main__"}
    for line, block in blocks_of(page):
        exec(compile("\n" * (line - 1) + block, str(page), "exec"), names)
    plt.close("all")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_examples_of_docstrings_show_what_comes_out(path: Path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    module = importlib.import_module(".".join(part for part in parts if part != "__init__"))
    found = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert found.attempted > 0
    assert found.failed == 0
