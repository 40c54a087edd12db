from ._ascent import (
    cone_geometry as cone_geometry,
)
from ._ascent import (
    cone_keeps as cone_keeps,
)
from ._ascent import (
    halfspace_fails as halfspace_fails,
)
from ._ascent import (
    trajectory as trajectory,
)
from ._ascent import (
    values_over_steps as values_over_steps,
)
from ._front import draw_front as draw_front
from ._front import draw_sensitivity as draw_sensitivity
from ._models import draw_maze as draw_maze
from ._models import draw_model as draw_model
from ._models import maze_on as maze_on
from ._panels import Panel as Panel
from ._panels import beside as beside
from ._study import by_delta as by_delta
from ._study import heat_table as heat_table
from ._study import over_training as over_training
from ._style import save as save
from ._text import describe_choices as describe_choices
from ._text import sketch as sketch
from ._tlq import (
    fronts as fronts,
)
from ._tlq import (
    oscillations as oscillations,
)
from ._tlq import (
    outcome_maps as outcome_maps,
)
from ._tlq import (
    panels as panels,
)
from ._tlq import (
    region as region,
)
from ._tlq import (
    value_maps as value_maps,
)
from ._training import (
    history as history,
)
from ._training import (
    leaf_probabilities as leaf_probabilities,
)
from ._training import (
    one_seed as one_seed,
)
from ._training import (
    over_seeds as over_seeds,
)
