from . import (
    criteria as criteria,
    directions as directions,
    exact as exact,
    learning as learning,
    models as models,
    order as order,
    plots as plots,
    proofs as proofs,
    qlearning as qlearning,
    reports as reports,
    tasks as tasks,
)
from .criteria import (
    Augmented as Augmented,
    Lifted as Lifted,
    Search as Search,
    augment as augment,
    augmentation as augmentation,
    search as search,
)
from .directions import (
    Direction as Direction,
    Maximum as Maximum,
    Reason as Reason,
    ascent_bound as ascent_bound,
    find_direction as find_direction,
    is_stationary as is_stationary,
    maximize as maximize,
    ordered_gradient as ordered_gradient,
    project_cone as project_cone,
)
from .exact import (
    LinearQuadraticSolution as LinearQuadraticSolution,
    Solution as Solution,
    Solver as Solver,
    lvi as lvi,
    pareto as pareto,
    sensitivity as sensitivity,
    solve as solve,
)
from .learning import (
    A2C as A2C,
    PPO as PPO,
    Reinforce as Reinforce,
    Trained as Trained,
    TrainedEnv as TrainedEnv,
    TrainedSegments as TrainedSegments,
    load as load,
    load_policy as load_policy,
    train as train,
    train_many as train_many,
)
from .models import (
    MDP as MDP,
    Layout as Layout,
    LinearQuadratic as LinearQuadratic,
    evaluate as evaluate,
    order_of as order_of,
    satisfaction as satisfaction,
    simulate as simulate,
    state_values as state_values,
)
from .order import (
    Order as Order,
    at_least as at_least,
    at_most as at_most,
    highest as highest,
    lowest as lowest,
)
from .proofs import Verification as Verification, verify as verify
from .qlearning import (
    Iteration as Iteration,
    Learned as Learned,
    Rule as Rule,
    classify as classify,
    predict as predict,
    preset as preset,
    tlq as tlq,
    tlq_iterate as tlq_iterate,
)
from .reports import report as report
from .studies import (
    Study as Study,
    StudyResult as StudyResult,
    compare as compare,
    study as study,
)

__version__: str
