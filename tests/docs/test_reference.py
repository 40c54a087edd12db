"""The reference has every public name, each on the page of its room, and every command."""

import ast
import re
from pathlib import Path

import pytest

from tests.helpers.commands import run

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "src" / "lexicone"
REFERENCE = ROOT / "docs" / "reference"
ROOMS = sorted(
    path.parent.name
    for path in PACKAGE.glob("[a-z]*/__init__.py")
    if path.parent.name not in ("cli", "web")
)


def public_names(room: str) -> list[str]:
    """What the room's stub re-exports; ``__all__`` where it has no stub."""
    stub = PACKAGE / room / "__init__.pyi"
    if stub.exists():
        imports = [n for n in ast.parse(stub.read_text()).body if isinstance(n, ast.ImportFrom)]
        return [alias.asname or alias.name for statement in imports for alias in statement.names]
    for statement in ast.parse((PACKAGE / room / "__init__.py").read_text()).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            return ast.literal_eval(statement.value)
    raise AssertionError(f"{room} lists no public names")


def documented(page: str) -> list[str]:
    """The names on a page: its lines ``::: lexicone.ROOM.NAME``, but for private modules."""
    return re.findall(
        r"^::: lexicone\.(\w+\.[^_]\w*)$", (REFERENCE / page).read_text(), re.MULTILINE
    )


@pytest.mark.parametrize("room", ROOMS)
def test_the_page_of_a_room_has_its_public_names(room):
    assert sorted(documented(f"{room}.md")) == sorted(f"{room}.{n}" for n in public_names(room))


def test_what_lexicone_itself_offers_is_on_some_page():
    pages = [name for page in REFERENCE.glob("*.md") for name in documented(page.name)]
    offered = [
        f"{statement.module}.{alias.name}"
        for statement in ast.parse((PACKAGE / "__init__.pyi").read_text()).body
        if isinstance(statement, ast.ImportFrom) and statement.module
        for alias in statement.names
    ]
    assert set(offered) <= set(pages)


def test_the_page_of_commands_has_every_command(capsys):
    _, text, _ = run(["--help"], capsys)
    commands = re.search(r"\{([\w,-]+)\}", text.replace("\n", ""))
    assert commands is not None
    named = re.findall(r"^\| `lexicone ([\w-]+)`", (REFERENCE / "commands.md").read_text(), re.M)
    assert sorted(named) == sorted(commands[1].split(","))
