"""Files with one bit flipped: each is refused in one line, or is read as if nothing had happened.

``python -m tests.reliability.damage 5000`` flips more than the tests do, and prints what came of it.
"""

import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from lexicone.learning._saved import load
from lexicone.models._mdp import MDP
from tests.helpers.tables import random_mdp

OLD_TRAINING = Path(__file__).parents[1] / "data" / "0.1.0" / "ppo.safetensors"
TABLES = ("next_state", "probability", "reward", "initial", "terminal")
NAMES = ("state_names", "action_names", "objective_names")


def named_model() -> MDP:
    """A random model with names for everything."""
    mdp = random_mdp(1)
    sizes = (mdp.num_states, mdp.num_actions, mdp.num_objectives)
    names: dict[str, Any] = {
        key: [f"{key[0]}{i}" for i in range(n)] for key, n in zip(NAMES, sizes, strict=True)
    }
    return MDP(**{name: getattr(mdp, name) for name in TABLES}, **names)


def same_models(one: MDP, other: MDP) -> bool:
    tables = all(np.array_equal(getattr(one, n), getattr(other, n)) for n in TABLES)
    return tables and all(getattr(one, n) == getattr(other, n) for n in NAMES)


def same_trainings(one: Any, other: Any) -> bool:
    leaves = (jax.tree.leaves(trained.run) for trained in (one, other))
    numbers = all(np.array_equal(a, b, equal_nan=True) for a, b in zip(*leaves, strict=True))
    return numbers and one.identity == other.identity


def flip(
    path: Path, read: Callable[[Path], Any], same: Callable[[Any, Any], bool], count: int, seed: int
) -> Counter[str]:
    """Flip ``count`` bits of a file, one at a time: how many were refused, and how many harmless."""
    whole, rng, found = path.read_bytes(), np.random.default_rng(seed), Counter[str]()
    original, damaged = read(path), path.with_name("damaged" + path.suffix)
    for bit in rng.integers(8 * len(whole), size=count).tolist():
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        damaged.write_bytes(data)
        try:
            again = read(damaged)
        except ValueError as error:
            plain = str(error).startswith("path: ") and "\n" not in str(error)
            found["refused" if plain else f"bit {bit} is refused with {error}"] += 1
        else:
            harmless = same(original, again)
            found["harmless" if harmless else f"bit {bit} changes what is read"] += 1
    return found


def flip_both(folder: Path, count: int, seed: int = 0) -> dict[str, Counter[str]]:
    """Of a saved model and of a saved training."""
    model, training = folder / "model.npz", folder / "run.safetensors"
    named_model().save(model)
    shutil.copy(OLD_TRAINING, training)
    return {
        "model": flip(model, MDP.load, same_models, count, seed),
        "training": flip(training, load, same_trainings, count, seed),
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for what, found in flip_both(Path(folder), int(sys.argv[1]), seed=1).items():
            print(what, dict(found))
