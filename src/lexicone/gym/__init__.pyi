from ._budget import BudgetObservation as BudgetObservation
from ._env import (
    MDPEnv as MDPEnv,
)
from ._env import (
    MDPVectorEnv as MDPVectorEnv,
)
from ._env import (
    make_env as make_env,
)
from ._env import (
    make_vector_env as make_vector_env,
)
from ._env import (
    register_tasks as register_tasks,
)
