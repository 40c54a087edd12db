"""The worked example of docs/units.md prints what the page shows."""

import re
from pathlib import Path

import pytest

from tests.contracts.test_documents import blocks_of

PAGE = Path(__file__).parents[2] / "docs" / "units.md"


@pytest.mark.slow
@pytest.mark.usefixtures("without_shape_checks")
def test_the_page_shows_what_is_printed(capsys):
    names = {"__name__": "__main__"}
    for _, block in blocks_of(PAGE):
        exec(block, names)
    printed = capsys.readouterr().out
    shown = re.findall(r"^```text\n(.*?)^```", PAGE.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert len(shown) == 2
    for block in shown:
        assert block in printed
