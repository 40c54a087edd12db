"""No file of the package or of the tests is longer than what one reads in one sitting."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONGEST = 400  # lines


@pytest.mark.parametrize("folder", ["src", "tests"])
def test_files_are_short(folder: str):
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text().splitlines())
        for kind in ("*.py", "*.js", "*.css", "*.html")
        for path in (ROOT / folder).rglob(kind)
    }
    assert len(lengths) > 30
    assert {path: lines for path, lines in lengths.items() if lines > LONGEST} == {}
