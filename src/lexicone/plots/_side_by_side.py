"""Several policies of one model beside each other."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.backends.backend_agg import FigureCanvasAgg

from lexicone._base.checks import check_type
from lexicone.models._mdp import MDP, check_model
from lexicone.plots._checks import as_occupancy, check_titles
from lexicone.plots._models import draw_model
from lexicone.plots._style import Figure

__all__ = ["Panel", "beside"]

_DPI, _GAP = 200, 40


class Panel(NamedTuple):
    """One policy, as `draw_model` takes it."""

    title: str
    policy: Float[np.ndarray, "S A"]
    occupancy: Float[np.ndarray, "S A"]


def beside(mdp: MDP, panels: Sequence[Panel]) -> Figure:
    """The model once for each policy, from left to right."""
    check_model(mdp)
    if isinstance(panels, Panel) or not isinstance(panels, list | tuple) or not panels:
        raise ValueError(f"panels: need at least one, in a list, got {panels!r}")
    for i, panel in enumerate(panels):
        check_type(f"panels[{i}]", panel, Panel, "a Panel")
        try:
            mdp.policy_table(panel.policy)
            as_occupancy(mdp, panel.occupancy)
            check_titles(title=panel.title)
        except ValueError as error:
            raise ValueError(f"panels[{i}]: {error}") from None
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
