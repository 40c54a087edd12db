import os
import sys
import tempfile
from collections.abc import Iterator

# Compile in about two thirds of the time, to slower code. Processes that tests start inherit it.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
)

import jax
import jaxtyping
import pytest
from hypothesis import HealthCheck, settings

if "JAX_ENABLE_X64" not in os.environ:
    jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
# A program that several tests build is compiled once.
_compiled = tempfile.TemporaryDirectory(prefix="lexicone-tests-")
jax.config.update("jax_compilation_cache_dir", _compiled.name)
os.environ["JAX_COMPILATION_CACHE_DIR"] = _compiled.name  # for processes that tests start, too
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)

# Quick: the same examples every time, so that a run fails only for what was changed. Thorough: new ones every time.
settings.register_profile(
    "quick",
    max_examples=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "thorough", max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.fixture(scope="module")
def compile_quickly() -> Iterator[None]:
    """For modules of many tiny programs, where compilation takes most of the time."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.fixture(scope="module")
def without_shape_checks() -> Iterator[None]:
    """For modules that run whole programs: checks of shapes at each call take most of the time; others make them."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(autouse=True)
def verify_solutions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every solution that `solve` returns in a test is verified."""
    if "lexicone.exact._solve_model" in sys.modules:
        from tests.helpers.verified import confirm_and_verify

        monkeypatch.setattr("lexicone.exact._solve_model._confirmed", confirm_and_verify)
