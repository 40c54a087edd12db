"""What all figures share: colours, style, widths, how notebooks show them and how they are saved."""

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import figure as mpl_figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from lexicone._base.checks import (
    as_texts,
    check_index,
    check_kind,
    check_path,
    check_range,
    check_type,
)
from lexicone._base.files import write_atomically

__all__ = [
    "COLORS",
    "FORMATS",
    "FORMULAS",
    "GREY",
    "INK",
    "PRIMARY",
    "SECONDARY",
    "STYLE",
    "THRESHOLD",
    "WIDTHS",
    "Figure",
    "figure_defaults",
    "line_style",
    "save",
]

PRIMARY, SECONDARY, THRESHOLD, INK = "#c0392b", "#2463a8", "#e0a800", "#222222"
STYLE: Any = {  # for mpl.rc_context
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "mathtext.fontset": "cm",
    "text.parse_math": False,  # names and titles are other people's: a price in $ is no formula
    "pdf.fonttype": 42,  # letters stay letters
    "svg.hashsalt": "lexicone",  # the same figure gives the same file
}
FORMULAS: Any = {**STYLE, "text.parse_math": True}
"""The same for figures whose text is all ours."""
GREY = "#ececec"
COLORS = (
    PRIMARY,
    SECONDARY,
    "#d09912",
    "#21b5c9",
    "#c000ff",
    "#93ad8b",
    "#5c0212",
    "#24007e",
    "#665a64",
    "#410b48",
)
"""Of ten lines. Those who see no red, green or blue can tell them apart too; all are dark enough for white paper."""
_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (5, 1.5, 1.2, 1.5)))
_MARKERS = "os^Dv<>PXh"
FORMATS = ("png", "svg", "pdf")
"""In which `save` writes, unless it is told."""
WIDTHS = {"column": 3.3, "page": 6.9}
"""In inches: of a column and of the text of a paper in two columns."""
_LEAST_TEXT = 0.7  # of its size; smaller is hard to read
_defaults: ContextVar[tuple[Sequence[str], Any]] = ContextVar("figures", default=(FORMATS, None))


class Figure(mpl_figure.Figure):
    """A figure of matplotlib that notebooks show without pyplot."""

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        with mpl.rc_context(STYLE):
            self.savefig(file, format="png", dpi=110)
        return file.getvalue()


def line_style(number: int) -> dict[str, Any]:
    """A colour, a dash and a marker for line ``number``, from 0: no two of the first forty are the same.

    The first ten differ in colour. With the first of each dash and marker they differ without colours too.
    """
    check_index("number", number, 2**31)
    turn, place = divmod(int(number), len(COLORS))
    return {
        "color": COLORS[place],
        "linestyle": _DASHES[(place + turn) % len(_DASHES)],
        "marker": _MARKERS[(place + turn) % len(_MARKERS)],
    }


@contextmanager
def figure_defaults(formats: Sequence[str], width: Any) -> Iterator[None]:
    """Inside, `save` writes these formats at this width unless it is told otherwise."""
    token = _defaults.set((formats, width))
    try:
        yield
    finally:
        _defaults.reset(token)


def save(
    figure: mpl_figure.Figure,
    stem: str | os.PathLike[str],
    formats: str | Sequence[str] | None = None,
    *,
    width: str | float | None = None,
) -> list[Path]:
    """Writes ``stem.png``, ``stem.svg`` and ``stem.pdf``, each whole or not at all; returns their paths.

    Args:
        figure: what a function of this room returned, or any figure of matplotlib.
        stem: the path without its ending. With one of a known format, that is the only one written.
        formats: which ones, in place of all three; whatever matplotlib can write.
        width: ``"column"`` (3.3 inches) or ``"page"`` (6.9) of a paper, or a number of inches. The height follows;
            letters shrink less than the figure does. As it was drawn, if it is not given.
    """
    check_type("figure", figure, mpl_figure.Figure, "a figure of matplotlib")
    check_path("stem", stem)
    stem, written = Path(stem), []
    if not stem.name:
        raise ValueError(f"stem: expected a path without the ending, got {str(stem)!r}")
    known = sorted(figure.canvas.get_supported_filetypes())
    ending = stem.suffix.removeprefix(".").lower()
    if formats is None and ending in known:
        formats, stem = (ending,), stem.with_suffix("")
    given, usual = _defaults.get()
    formats = given if formats is None else formats
    formats = (formats,) if isinstance(formats, str) else as_texts("formats", formats)
    for suffix in formats:
        check_kind("formats", suffix, known)
    inches = _inches(usual if width is None else width)
    with _at_width(figure, inches):
        for suffix in formats:
            target = stem.with_name(f"{stem.name}.{suffix}")
            metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(suffix)
            draw = partial(figure.savefig, format=suffix, dpi=200, metadata=metadata)
            with mpl.rc_context(STYLE):
                write_atomically(target, draw, name="stem")
            written.append(target)
    return written


def _inches(width: Any) -> float | None:
    """A width as a number; None for the figure's own."""
    if width is None:
        return None
    if isinstance(width, str):
        check_kind("width", width, WIDTHS)
        return WIDTHS[width]
    check_range("width", width, 0.5, 50)
    return float(width)


@contextmanager
def _at_width(figure: Any, inches: float | None) -> Iterator[None]:
    """The figure at another width, nearly in proportion; afterwards it is as it was."""
    width, height = figure.get_size_inches()
    if inches is None or not figure.axes:  # images keep their own
        yield
        return
    ratio = inches / width
    shrink = min(1.0, max(_LEAST_TEXT, ratio))
    texts = [(text, text.get_fontsize()) for text in figure.findobj(Text)]
    lines = [(line, line.get_linewidth(), line.get_markersize()) for line in figure.findobj(Line2D)]
    legends = list(figure.legends)
    try:
        figure.set_size_inches(inches, height * min(ratio, 1.0) ** 0.7 * max(ratio, 1.0))
        for text, points in texts:
            text.set_fontsize(points * shrink)
        for line, thick, mark in lines:
            line.set_linewidth(thick * shrink)
            line.set_markersize(mark * shrink)
        for legend in legends:
            _in_fewer_columns(figure, legend)
        for axes in figure.axes:
            _in_smaller_letters(figure, axes)
        yield
    finally:
        figure.set_size_inches(width, height)
        figure.legends[:] = legends
        for text, points in texts:
            text.set_fontsize(points)
        for line, thick, mark in lines:
            line.set_linewidth(thick)
            line.set_markersize(mark)


def _in_smaller_letters(figure: Any, axes: Any) -> None:
    """The legend of axes may be as wide as their share of the figure; letters keep half of their size at least."""
    legend, grid = axes.get_legend(), axes.get_gridspec()
    if legend is None or grid is None:
        return
    share = figure.bbox.width / grid.ncols / legend.get_window_extent().width
    for text in legend.get_texts():
        text.set_fontsize(text.get_fontsize() * min(1.0, max(0.5, 0.9 * share)))


def _in_fewer_columns(figure: Any, legend: Any) -> None:
    """In place of a figure's legend that is wider than the figure, one that is not, and more height for its rows."""
    texts = legend.get_texts()
    words, points = [text.get_text() for text in texts], texts[0].get_fontsize()
    count = legend._ncols
    while count > 1 and legend.get_window_extent().width > figure.bbox.width:
        figure.legends.remove(legend)
        rows, count = -(-len(words) // count), count - 1
        place = {"loc": "outside lower center", "ncols": count, "fontsize": points}
        legend = figure.legend(legend.legend_handles, words, **place, frameon=False)
        width, height = figure.get_size_inches()
        figure.set_size_inches(width, height + 0.02 * points * (-(-len(words) // count) - rows))
