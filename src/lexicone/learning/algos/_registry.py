"""The learners by name, as files and the command line know them."""

from lexicone.learning.algos._a2c import A2C
from lexicone.learning.algos._ppo import PPO
from lexicone.learning.algos._reinforce import Reinforce

__all__ = ["LEARNERS"]

LEARNERS: dict[str, type[A2C] | type[PPO] | type[Reinforce]] = {
    "A2C": A2C,
    "PPO": PPO,
    "Reinforce": Reinforce,
}
"""A learner of one's own is none of these and is handed to `load`."""
