from ._cone import (
    DEFAULT_DELTA as DEFAULT_DELTA,
)
from ._cone import (
    Direction as Direction,
)
from ._cone import (
    Reason as Reason,
)
from ._cone import (
    ascent_bound as ascent_bound,
)
from ._cone import (
    find_direction as find_direction,
)
from ._cone import (
    is_stationary as is_stationary,
)
from ._cone import (
    project_cone as project_cone,
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
