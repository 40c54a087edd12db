"""A small training that is in a file, and how it looked on the way."""

from pathlib import Path

import numpy as np

from lexicone._base import checkpoint

PPO_RUN = Path(__file__).parents[1] / "data" / "0.1.0" / "ppo.safetensors"
"""30 updates of 2 seeds on the paper's small maze, with policies kept after 15 and 30."""
ENVIRONMENT_RUN = PPO_RUN.with_name("unfinished-environment.safetensors")
"""2 of 6 updates in an environment."""


def cut_short(source: Path, target: Path, updates: int) -> None:
    """The file as it was after so many updates, but for what was learned."""
    arrays, facts = checkpoint.read(source)
    arrays["run.update"] = np.array(updates, dtype=arrays["run.update"].dtype)
    checkpoint.write(target, arrays, facts | {"done": updates})
