"""What a model's environment looks like at one moment, as text and as a picture."""

import numpy as np

from lexicone.models._mdp import MDP

__all__ = ["draw_picture", "draw_text"]

_PIXELS = 24  # per tile
_COLOURS = {
    "#": (40, 40, 40),
    "S": (200, 220, 255),
    "G": (150, 220, 150),
    "T": (240, 210, 90),
    "h": (250, 190, 150),
    "H": (230, 110, 90),
    "E": (230, 110, 90),
    "g": (240, 210, 90),
    "d": (150, 230, 240),
}
_FREE, _LINE, _AGENT = (250, 250, 250), (210, 210, 210), (60, 90, 200)


def draw_text(mdp: MDP, state: int) -> str:
    """The map with the agent on it and the state's name; state −1 has not begun."""
    name = "not begun" if state < 0 else mdp.state_label(state)
    if mdp.layout is None:
        return name
    rows = [list(row) for row in mdp.layout.rows]
    row, column = mdp.layout.positions[state] if state >= 0 else (-1, -1)
    if row >= 0:
        rows[row][column] = "@"
    return "\n".join(["".join(row) for row in rows] + [name])


def draw_picture(mdp: MDP, state: int) -> np.ndarray:
    """``[height, width, 3]`` bytes: coloured tiles and the agent; states in a square if no map."""
    if mdp.layout is not None:
        rows, positions = mdp.layout.rows, mdp.layout.positions
    else:
        side = int(np.ceil(np.sqrt(mdp.num_states)))
        kinds = "".join("G" if end else "." for end in mdp.terminal).ljust(side * side, "#")
        rows = tuple(kinds[i : i + side] for i in range(0, side * side, side))
        positions = np.stack(np.divmod(np.arange(mdp.num_states), side), axis=-1)
    tiles = np.array([[_COLOURS.get(t, _FREE) for t in row] for row in rows], dtype=np.uint8)
    image = tiles.repeat(_PIXELS, axis=0).repeat(_PIXELS, axis=1)
    image[::_PIXELS] = _LINE
    image[:, ::_PIXELS] = _LINE
    row, column = positions[state] if state >= 0 else (-1, -1)
    if row >= 0:
        y, x = np.ogrid[:_PIXELS, :_PIXELS]
        disc = (y - _PIXELS / 2) ** 2 + (x - _PIXELS / 2) ** 2 < (0.35 * _PIXELS) ** 2
        top, left = row * _PIXELS, column * _PIXELS
        image[top : top + _PIXELS, left : left + _PIXELS][disc] = _AGENT
    return image
