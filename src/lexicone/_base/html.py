"""Pieces of HTML: words are escaped here, so that names and titles of users are shown and never obeyed."""

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

__all__ = ["block", "bullets", "paragraphs", "table", "words"]


_NUMBER = re.compile(r"^[≥≤~ ]*[-−+]?(\d[\d.,]*(e[-+]?\d+)?%?|inf)(?![ ]?%)( .{0,13})?$")


def words(text: Any) -> str:
    """Any text, harmless inside and between tags."""
    return escape(str(text), quote=True)


def table(head: Sequence[Any], rows: Iterable[Sequence[Any]], *, caption: str = "") -> str:
    """Cells are words; those that look like numbers stand on the right."""
    lines = ["<table>"]
    if caption:
        lines.append(f"<caption>{words(caption)}</caption>")
    if any(head):
        cells = "".join(f'<th scope="col">{words(cell)}</th>' for cell in head)
        lines.append(f"<thead><tr>{cells}</tr></thead>")
    lines.append("<tbody>")
    lines += [f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows]
    return "\n".join([*lines, "</tbody></table>"])


def paragraphs(text: str) -> str:
    """One for each line that has words."""
    return "\n".join(f"<p>{words(line)}</p>" for line in text.splitlines() if line.strip())


def bullets(lines: Iterable[Any]) -> str:
    """A list of words."""
    return f"<ul>{''.join(f'<li>{words(line)}</li>' for line in lines)}</ul>"


def block(title: str, *parts: str) -> str:
    """What a notebook shows of one object: its name, and pieces of HTML."""
    return f"<div><b>{words(title)}</b>\n{''.join(parts)}</div>"


def _cell(cell: Any) -> str:
    text = str(cell)
    aligned = ' style="text-align:right"' if _is_number(text) else ' style="text-align:left"'
    return f"<td{aligned}>{words(text)}</td>"


def _is_number(text: str) -> bool:
    """A number, perhaps with a little after it: a unit, "of 10", "to 100%"."""
    return _NUMBER.match(text) is not None
