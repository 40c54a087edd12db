from . import tasks as tasks
from .criteria import (
    Augmented as Augmented,
)
from .criteria import (
    Lifted as Lifted,
)
from .criteria import (
    Search as Search,
)
from .criteria import (
    augment as augment,
)
from .criteria import (
    augmentation as augmentation,
)
from .criteria import (
    search as search,
)
from .directions import (
    Direction as Direction,
)
from .directions import (
    Maximum as Maximum,
)
from .directions import (
    Reason as Reason,
)
from .directions import (
    ascent_bound as ascent_bound,
)
from .directions import (
    find_direction as find_direction,
)
from .directions import (
    is_stationary as is_stationary,
)
from .directions import (
    maximize as maximize,
)
from .directions import (
    project_cone as project_cone,
)
from .exact import (
    Solution as Solution,
)
from .exact import (
    lvi as lvi,
)
from .exact import (
    pareto as pareto,
)
from .exact import (
    sensitivity as sensitivity,
)
from .exact import (
    solve as solve,
)
from .learning import (
    A2C as A2C,
)
from .learning import (
    PPO as PPO,
)
from .learning import (
    Reinforce as Reinforce,
)
from .learning import (
    Trained as Trained,
)
from .learning import (
    TrainedEnv as TrainedEnv,
)
from .learning import (
    load as load,
)
from .learning import (
    train as train,
)
from .learning import (
    train_many as train_many,
)
from .models import (
    MDP as MDP,
)
from .models import (
    Layout as Layout,
)
from .models import (
    evaluate as evaluate,
)
from .models import (
    satisfaction as satisfaction,
)
from .models import (
    simulate as simulate,
)
from .models import (
    state_values as state_values,
)
from .order import Order as Order
from .qlearning import (
    Iteration as Iteration,
)
from .qlearning import (
    Learned as Learned,
)
from .qlearning import (
    Rule as Rule,
)
from .qlearning import (
    classify as classify,
)
from .qlearning import (
    predict as predict,
)
from .qlearning import (
    preset as preset,
)
from .qlearning import (
    tlq as tlq,
)
from .qlearning import (
    tlq_iterate as tlq_iterate,
)

__version__: str
