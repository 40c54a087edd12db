"""What all figures share: colours, style, and how they are saved."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from lexicone._base.checks import as_texts, check_kind, check_path, check_type
from lexicone._base.files import write_atomically

__all__ = ["COLORS", "GREY", "INK", "PRIMARY", "SECONDARY", "STYLE", "THRESHOLD", "save"]

PRIMARY, SECONDARY, THRESHOLD, INK = "#c0392b", "#2463a8", "#e0a800", "#222222"
STYLE: Any = {  # for mpl.rc_context
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "mathtext.fontset": "cm",
    "svg.hashsalt": "lexicone",  # the same figure gives the same file
}
GREY = "#ececec"
COLORS = (PRIMARY, SECONDARY, "#2e8b57", "#8d7fb8", "#e08e00", "#5d6d7e")
"""Of lines, from the first again where there are more."""


def save(figure: Figure, stem: Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Writes ``stem.png`` and ``stem.svg``, each whole or not at all; returns their paths."""
    check_type("figure", figure, Figure, "a figure of matplotlib")
    check_path("stem", stem)
    stem, written = Path(stem), []
    if not stem.name:
        raise ValueError(f"stem: expected a path without the ending, got {str(stem)!r}")
    formats = (formats,) if isinstance(formats, str) else as_texts("formats", formats)
    for suffix in formats:
        check_kind("formats", suffix, sorted(figure.canvas.get_supported_filetypes()))
    for suffix in formats:
        target = stem.with_name(f"{stem.name}.{suffix}")
        metadata = {"Date": None} if suffix == "svg" else None
        draw = partial(figure.savefig, format=suffix, dpi=200, metadata=metadata)
        with mpl.rc_context(STYLE):
            write_atomically(target, draw, name="stem")
        written.append(target)
    return written
