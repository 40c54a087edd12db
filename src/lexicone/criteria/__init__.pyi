from ._augment import Augmented as Augmented, augment as augment, augmentation as augmentation
from ._budget_observation import (
    Budgeted as Budgeted,
    Transition as Transition,
    from_table as from_table,
    with_budgets as with_budgets,
)
from ._compare import Row as Row, compare as compare
from ._policy_with_memory import Lifted as Lifted
from ._search import Search as Search, search as search
