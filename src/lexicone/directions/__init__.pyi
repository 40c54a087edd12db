from ._cone import (
    Certificate as Certificate,
    project_cone as project_cone,
)
from ._find_direction import (
    DEFAULT_DELTA as DEFAULT_DELTA,
    Direction as Direction,
    Reason as Reason,
    find_direction as find_direction,
)
from ._gradients import (
    combine as combine,
    gram as gram,
    values_and_gradients as values_and_gradients,
)
from ._loss_means import LossMeans as LossMeans
from ._maximize import Maximum as Maximum, maximize as maximize
from ._ordered_gradient import (
    OrderedGradient as OrderedGradient,
    OrderedState as OrderedState,
    ordered_gradient as ordered_gradient,
)
from ._stationarity import (
    ascent_bound as ascent_bound,
    is_stationary as is_stationary,
)
