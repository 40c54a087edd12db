from ._cone import (
    project_cone as project_cone,
)
from ._find_direction import (
    DEFAULT_DELTA as DEFAULT_DELTA,
)
from ._find_direction import (
    Direction as Direction,
)
from ._find_direction import (
    Reason as Reason,
)
from ._find_direction import (
    find_direction as find_direction,
)
from ._gradients import (
    combine as combine,
)
from ._gradients import (
    gram as gram,
)
from ._gradients import (
    values_and_gradients as values_and_gradients,
)
from ._maximize import Maximum as Maximum
from ._maximize import maximize as maximize
from ._stationarity import (
    ascent_bound as ascent_bound,
)
from ._stationarity import (
    is_stationary as is_stationary,
)
