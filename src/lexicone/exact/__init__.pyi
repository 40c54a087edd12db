from ._front import (
    Front as Front,
)
from ._front import (
    Sensitivity as Sensitivity,
)
from ._front import (
    pareto as pareto,
)
from ._front import (
    sensitivity as sensitivity,
)
from ._lvi import SlackPolicy as SlackPolicy
from ._lvi import lvi as lvi
from ._solution import Solution as Solution
from ._solution import Status as Status
from ._solve import solve as solve
