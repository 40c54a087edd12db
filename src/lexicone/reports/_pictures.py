"""Figures inside a page: SVG without what only files need, and with names that no other figure has."""

import io
import itertools
import re
from collections.abc import Iterator

import matplotlib as mpl
from matplotlib.figure import Figure

from lexicone._base.html import words
from lexicone.plots._style import STYLE

__all__ = ["Pictures"]

_HEAD = re.compile(r"^.*?(?=<svg)", re.DOTALL)
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_NAMES = re.compile(r'(\bid="|url\(#|href="#)')


class Pictures:
    """Numbers the figures of one page."""

    def __init__(self) -> None:
        self._numbers: Iterator[int] = itertools.count(1)

    def show(self, figure: Figure, caption: str) -> str:
        """The figure with its number and a caption, which is also what a screen reader says."""
        number = next(self._numbers)
        file = io.StringIO()
        with mpl.rc_context(STYLE):
            figure.savefig(file, format="svg", metadata={"Date": None})
        drawn = _METADATA.sub("", _HEAD.sub("", file.getvalue()))
        drawn = _NAMES.sub(rf"\g<1>f{number}-", drawn)
        label = words(f"Figure {number}: {caption}")
        drawn = drawn.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
        return f"<figure>{drawn}<figcaption>{label}</figcaption></figure>"
