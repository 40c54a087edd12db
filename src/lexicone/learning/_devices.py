"""Several devices on one machine: runs are spread over them, and the compiler does the rest (``jax.sharding``).

Nothing is exchanged between runs but where a program asks whether all of them are through with an episode.
"""

from typing import Any

import jax
import numpy as np

__all__ = ["spread"]


def spread(runs: Any, count: int) -> Any:
    """Arrays whose first axis is that of ``count`` runs, in equal parts on as many devices as divide them."""
    devices = jax.local_devices()
    used = max(size for size in range(1, len(devices) + 1) if count % size == 0)
    if used == 1:
        return runs
    mesh = jax.sharding.Mesh(np.array(devices[:used]), ("runs",))
    own = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("runs"))
    return jax.tree.map(lambda array: jax.device_put(array, own), runs)
