from ._curves import learning_curves as learning_curves
from ._directions import (
    cone_geometry as cone_geometry,
    cone_keeps as cone_keeps,
    halfspace_fails as halfspace_fails,
    trajectory as trajectory,
    values_over_steps as values_over_steps,
)
from ._front import draw_front as draw_front, draw_sensitivity as draw_sensitivity
from ._learners import (
    by_delta as by_delta,
    heat_table as heat_table,
    over_training as over_training,
)
from ._models import draw_maze as draw_maze, draw_model as draw_model, maze_on as maze_on
from ._qlearning import (
    fronts as fronts,
    oscillations as oscillations,
    outcome_maps as outcome_maps,
    panels as panels,
    region as region,
    value_maps as value_maps,
)
from ._side_by_side import Panel as Panel, beside as beside
from ._style import line_style as line_style, save as save
from ._text import describe_choices as describe_choices, sketch as sketch
from ._training import (
    history as history,
    leaf_probabilities as leaf_probabilities,
    one_seed as one_seed,
    over_seeds as over_seeds,
)
