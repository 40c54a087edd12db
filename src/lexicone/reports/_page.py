"""A page of HTML that holds all it needs: no scripts, no other files; it follows light and dark, and prints on A4."""

import importlib.resources
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from lexicone._base.html import words

__all__ = ["Section", "badge", "code", "page", "side_by_side"]


class Section(NamedTuple):
    """A heading, and pieces of HTML below it."""

    title: str
    parts: Sequence[str]


def page(title: str, lead: str, sections: Iterable[Section], made: str) -> str:
    """The whole page; ``lead`` and ``made`` are plain text, the parts of sections are HTML."""
    kept = [section for section in sections if any(section.parts)]
    links = "".join(
        f'<li><a href="#s{n}">{words(section.title)}</a></li>' for n, section in enumerate(kept)
    )
    body = "\n".join(
        f'<section id="s{n}"><h2>{words(section.title)}</h2>\n{_joined(section.parts)}</section>'
        for n, section in enumerate(kept)
    )
    style = importlib.resources.files("lexicone.reports").joinpath("page.css").read_text("utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{words(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n"
        f'<header><h1>{words(title)}</h1>\n<p class="lead">{words(lead)}</p>\n'
        f'<nav aria-label="Contents"><ol>{links}</ol></nav></header>\n{body}\n'
        f"<footer>{words(made)}</footer>\n</main>\n</body>\n</html>\n"
    )


def _joined(parts: Sequence[str]) -> str:
    """Tables scroll by themselves where the screen is narrow."""
    return "\n".join(
        f'<div class="wide">{part}</div>' if part.startswith("<table") else part
        for part in parts
        if part
    )


def badge(text: Any, good: bool) -> str:
    """A word that stands out, by its frame and its words as well as its colour."""
    return f'<span class="badge {"good" if good else "bad"}">{words(text)}</span>'


def code(text: str) -> str:
    """Commands, or lines of Python."""
    return f"<pre><code>{words(text)}</code></pre>"


def side_by_side(*parts: str) -> str:
    """As many in a row as fit."""
    return f'<div class="beside">{"".join(part for part in parts if part)}</div>'
