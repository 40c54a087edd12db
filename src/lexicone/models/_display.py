"""A model in one line, and as HTML for notebooks, with its map."""

from typing import Any

from lexicone._base.html import block, table, words
from lexicone.models._layout import Layout

__all__ = ["OTHER_TILE", "TILE_COLORS", "Display"]

TILE_COLORS = {
    ".": "white",
    "S": "#e3edf9",
    "G": "#cdeccd",
    "h": "#fbe3cf",
    "H": "#f3b9ac",
    "#": "#555555",
    "E": "#f3b9ac",
    "g": "#fbf0c4",
    "d": "#d7eef2",
}
"""Of tiles on maps, here and in figures."""
OTHER_TILE = "#dcecc9"
_TILE = "color:#222;border:1px solid #999;min-width:1.6em;height:1.6em;text-align:center"
_LARGEST_MAP = 2500  # tiles that a notebook shows


class Display:
    """The part of an `MDP` that people look at."""

    def __repr__(self: Any) -> str:
        sizes = f"states: {self.num_states}, actions: {self.num_actions}"
        successors, objectives = self.num_successors, ", ".join(self.objective_labels)
        return f"MDP({sizes}, successors: {successors}, objectives: {objectives})"

    def _repr_html_(self: Any) -> str:
        facts = [
            ("states", f"{self.num_states:,}"),
            ("of these, ends", f"{int(self.terminal.sum()):,}"),
            ("of these, starts", f"{int((self.initial > 0).sum()):,}"),
            ("actions", ", ".join(self.action_names or ()) or str(self.num_actions)),
            ("objectives", ", ".join(self.objective_labels)),
        ]
        return block("MDP", table((), facts), "" if self.layout is None else _map(self.layout))


def _map(layout: Layout) -> str:
    """Tiles with their colours and letters; the size alone of a large one."""
    height, width = len(layout.rows), len(layout.rows[0])
    if height * width > _LARGEST_MAP:
        return f"<p>A map of {height} × {width} tiles.</p>"
    marks = layout.marks()
    lines = ['<table style="border-collapse:collapse">']
    for i, row in enumerate(layout.rows):
        cells = []
        for j, tile in enumerate(row):
            color = TILE_COLORS.get(tile, OTHER_TILE)
            cells.append(
                f'<td style="background:{color};{_TILE}">{words(marks.get((i, j), ""))}</td>'
            )
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return "\n".join([*lines, "</table>"])
