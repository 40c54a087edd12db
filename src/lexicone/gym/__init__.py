"""Gymnasium's door: models as environments with vector rewards, and budgets in observations (extra ``gym``).

Importing it registers the tasks with Gymnasium.
"""

from lexicone.gym._budget import BudgetObservation
from lexicone.gym._env import MDPEnv, MDPVectorEnv, make_env, make_vector_env, register_tasks

__all__ = [
    "BudgetObservation",
    "MDPEnv",
    "MDPVectorEnv",
    "make_env",
    "make_vector_env",
    "register_tasks",
]
