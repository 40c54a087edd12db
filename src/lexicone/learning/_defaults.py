"""What `lexicone.train` and the command ``lexicone train`` do where nothing is said. Imports without JAX."""

__all__ = ["EPISODES", "SEEDS", "TRAINING_FILE"]

EPISODES = 20_000
"""Of each seed."""
SEEDS = 10
"""How many independent runs."""
TRAINING_FILE = "training.safetensors"
"""The training in a folder that ``lexicone train`` wrote to."""
