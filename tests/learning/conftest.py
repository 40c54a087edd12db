from collections.abc import Iterator

import jax
import pytest

from lexicone.learning._result_model import Trained
from tests.helpers.trainings import run


@pytest.fixture(autouse=True, scope="module")
def compile_quickly() -> Iterator[None]:
    """Compilation dominates here, and these programs are tiny."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.fixture(scope="module")
def trained(compile_quickly: None) -> Trained:
    return run()
