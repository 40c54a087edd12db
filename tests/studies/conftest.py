import jax
import pytest


@pytest.fixture(autouse=True, scope="module")
def as_users_have_it(without_shape_checks: None) -> None:
    """Whole programs run here."""


@pytest.fixture(scope="module")
def compile_quickly():
    """Compilation dominates here, and these programs are tiny."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
