from ._directions import (
    cone_geometry as cone_geometry,
)
from ._directions import (
    cone_keeps as cone_keeps,
)
from ._directions import (
    halfspace_fails as halfspace_fails,
)
from ._directions import (
    trajectory as trajectory,
)
from ._directions import (
    values_over_steps as values_over_steps,
)
from ._front import draw_front as draw_front
from ._front import draw_sensitivity as draw_sensitivity
from ._learners import by_delta as by_delta
from ._learners import heat_table as heat_table
from ._learners import over_training as over_training
from ._models import draw_maze as draw_maze
from ._models import draw_model as draw_model
from ._models import maze_on as maze_on
from ._qlearning import (
    fronts as fronts,
)
from ._qlearning import (
    oscillations as oscillations,
)
from ._qlearning import (
    outcome_maps as outcome_maps,
)
from ._qlearning import (
    panels as panels,
)
from ._qlearning import (
    region as region,
)
from ._qlearning import (
    value_maps as value_maps,
)
from ._side_by_side import Panel as Panel
from ._side_by_side import beside as beside
from ._style import save as save
from ._text import describe_choices as describe_choices
from ._text import sketch as sketch
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
