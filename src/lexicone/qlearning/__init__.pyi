from ._exploration import (
    EpsilonGreedy as EpsilonGreedy,
    Schedule as Schedule,
    Softmax as Softmax,
    Visits as Visits,
)
from ._iterate import (
    Iteration as Iteration,
    IterationStatus as IterationStatus,
    tlq_iterate as tlq_iterate,
)
from ._learn import History as History, Learned as Learned, tlq as tlq
from ._parts import (
    absolute_slack as absolute_slack,
    absolute_threshold as absolute_threshold,
    clipped as clipped,
    cyclic as cyclic,
    informed as informed,
    optimal as optimal,
    ordered as ordered,
    relative_slack as relative_slack,
    taken as taken,
)
from ._rules import PRESETS as PRESETS, TIES as TIES, Rule as Rule, preset as preset
from ._taxonomy import (
    Case as Case,
    Kind as Kind,
    Prediction as Prediction,
    classify as classify,
    predict as predict,
)
