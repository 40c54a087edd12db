"""Names of code on the pages exist: files of the package, and what the glossary says one can import."""

import re
from functools import reduce
from pathlib import Path

import pytest

import lexicone as lx
from lexicone import criteria, directions, exact, learning, models, plots, qlearning

DOCS = Path(__file__).parent.parent.parent / "docs"
PACKAGE = Path(lx.__file__).parent
PLACES = (lx, models, directions, exact, criteria, qlearning, learning)
ROOMS = {"plots": plots, "qlearning": qlearning, "learning": learning}
GLOSSARY = [
    name
    for row in re.findall(
        r"^\| \*\*.*\| (.*) \|$", (DOCS / "glossary.md").read_text(), re.MULTILINE
    )
    for name in re.findall(r"`([^`]+)`", row)
]
FILES = re.findall(r"`([\w/]+\.py)`", (DOCS / "architecture.md").read_text())


def exists(name: str) -> bool:
    """Whether a dotted name leads to something, from `lexicone` or one of its rooms."""
    first, *rest = name.split(".")
    starts = [ROOMS[first]] if first in ROOMS else [p for p in PLACES if hasattr(p, first)]
    if first not in ROOMS:
        rest = [first, *rest]
    return any(found(start, rest) for start in starts)


def found(start: object, names: list[str]) -> bool:
    """Attributes, or annotated fields of a class that have no default."""
    *before, last = names
    try:
        owner = reduce(getattr, before, start)
    except AttributeError:
        return False
    fields = [
        f for base in getattr(owner, "__mro__", ()) for f in vars(base).get("__annotations__", {})
    ]
    return hasattr(owner, last) or last in fields


@pytest.mark.parametrize("name", GLOSSARY)
def test_names_of_the_glossary_are_names_of_the_code(name):
    assert (PACKAGE / name).is_file() if name.endswith(".py") else exists(name)


@pytest.mark.parametrize("name", FILES)
def test_files_on_the_page_of_architecture_are_there(name):
    assert (PACKAGE / name).is_file()


def test_a_name_that_is_not_there_is_noticed():
    assert not exists("Solution.prizes")
    assert not exists("solved")
