"""What `lexicone.train` and the command ``lexicone train`` do where nothing is said. Imports without JAX."""

__all__ = ["EPISODES", "SEEDS", "STEPS", "TRAINING_FILE"]

EPISODES = 20_000
"""That each seed learns from, where a learner takes whole ones."""
SEEDS = 10
"""How many independent runs."""
STEPS = 300_000
"""That each seed learns from, where a learner takes segments."""
TRAINING_FILE = "training.safetensors"
"""The training in a folder that ``lexicone train`` wrote to."""
