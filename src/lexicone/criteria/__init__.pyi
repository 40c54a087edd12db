from ._augment import Augmented as Augmented
from ._augment import augment as augment
from ._augment import augmentation as augmentation
from ._budget_observation import (
    Budgeted as Budgeted,
)
from ._budget_observation import (
    Transition as Transition,
)
from ._budget_observation import (
    from_table as from_table,
)
from ._budget_observation import (
    with_budgets as with_budgets,
)
from ._compare import Row as Row
from ._compare import compare as compare
from ._policy_with_memory import Lifted as Lifted
from ._search import Search as Search
from ._search import search as search
