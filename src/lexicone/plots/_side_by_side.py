"""Several policies of one model beside each other."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from lexicone.models._mdp import MDP
from lexicone.plots._models import draw_model

__all__ = ["Panel", "beside"]

_DPI, _GAP = 200, 40


class Panel(NamedTuple):
    """One policy, as `draw_model` takes it."""

    title: str
    policy: Float[np.ndarray, "S A"]
    occupancy: Float[np.ndarray, "S A"]


def beside(mdp: MDP, panels: Sequence[Panel]) -> Figure:
    """The model once for each policy, from left to right."""
    if not panels:
        raise ValueError("panels: need at least one")
    images = []
    for panel in panels:
        figure = draw_model(mdp, panel.policy, panel.occupancy, panel.title)
        figure.set_dpi(_DPI)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        images.append(np.asarray(canvas.buffer_rgba()))
    height = max(image.shape[0] for image in images)
    padded = [
        np.pad(i, ((0, height - len(i)), (0, _GAP), (0, 0)), constant_values=255) for i in images
    ]
    joined = np.concatenate(padded, axis=1)
    figure = Figure(figsize=(joined.shape[1] / _DPI, height / _DPI), dpi=_DPI)
    figure.figimage(joined)
    return figure
