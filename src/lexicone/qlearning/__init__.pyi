from ._exploration import (
    EpsilonGreedy as EpsilonGreedy,
)
from ._exploration import (
    Schedule as Schedule,
)
from ._exploration import (
    Softmax as Softmax,
)
from ._exploration import (
    Visits as Visits,
)
from ._iterate import (
    Iteration as Iteration,
)
from ._iterate import (
    IterationStatus as IterationStatus,
)
from ._iterate import (
    tlq_iterate as tlq_iterate,
)
from ._learn import History as History
from ._learn import Learned as Learned
from ._learn import tlq as tlq
from ._parts import (
    absolute_slack as absolute_slack,
)
from ._parts import (
    absolute_threshold as absolute_threshold,
)
from ._parts import (
    clipped as clipped,
)
from ._parts import (
    cyclic as cyclic,
)
from ._parts import (
    informed as informed,
)
from ._parts import (
    optimal as optimal,
)
from ._parts import (
    ordered as ordered,
)
from ._parts import (
    relative_slack as relative_slack,
)
from ._parts import (
    taken as taken,
)
from ._rules import PRESETS as PRESETS
from ._rules import TIES as TIES
from ._rules import Rule as Rule
from ._rules import preset as preset
from ._taxonomy import (
    Case as Case,
)
from ._taxonomy import (
    Kind as Kind,
)
from ._taxonomy import (
    Prediction as Prediction,
)
from ._taxonomy import (
    classify as classify,
)
from ._taxonomy import (
    predict as predict,
)
