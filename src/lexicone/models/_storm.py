"""The door to Storm: sparse models of stormpy, and PRISM and JANI files, which Storm builds (extra ``storm``).

Storm hands a model over as a UMB file, which is read as any other. stormpy is imported only here, when it is needed.
"""

import os
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lexicone._base.memory import available_bytes, bytes_text, no_more_memory
from lexicone.models._explicit import Explicit
from lexicone.models._mdp import MDP
from lexicone.models._product import check_before, check_properties, make_model
from lexicone.models._umb import read_umb

__all__ = ["build_with_storm", "from_prism", "from_storm"]


def from_storm(model: Any, objectives: Any, discounted: Any) -> MDP:
    """See `MDP.from_storm`."""
    if not hasattr(model, "nr_states") or not getattr(model, "is_sparse_model", False):
        raise ValueError(f"model: expected a sparse model of stormpy, got {type(model).__name__}")
    check_properties(objectives, discounted)
    return make_model(_explicit(model), objectives, discounted)


def from_prism(path: Any, objectives: Any, constants: Any, discounted: Any) -> MDP:
    """See `MDP.from_prism`."""
    check_before(path, objectives, discounted)
    model = build_with_storm(path, constants)
    _warn_of_deadlocks(model, path)
    return make_model(_explicit(model), objectives, discounted)


def build_with_storm(path: str | os.PathLike[str], constants: Any = None) -> Any:
    """The sparse model of a PRISM or JANI file, with all labels, rewards, variables and names of choices."""
    constants = {} if constants is None else constants
    if not isinstance(constants, Mapping):
        raise ValueError(f"constants: expected a mapping from names to values, got {constants!r}")
    stormpy = _stormpy()
    try:
        if os.fspath(path).endswith(".jani"):
            program, _ = stormpy.parse_jani_model(path)
        else:
            program = stormpy.parse_prism_program(path)
        program, _ = stormpy.instantiate_constants(program, dict(constants))
        options = stormpy.BuilderOptions()
        options.set_build_all_labels()
        options.set_build_all_reward_models()
        options.set_build_choice_labels()
        options.set_build_state_valuations()
        with no_more_memory():
            return stormpy.build_model(program, options=options)
    except MemoryError:
        raise ValueError(
            f"path: {os.fspath(path)!r} has too many states: to build them Storm needs more memory than the "
            f"{bytes_text(available_bytes())} that are left"
        ) from None
    except (RuntimeError, stormpy.exceptions.StormError) as error:
        raise ValueError(
            f"path: Storm cannot build {os.fspath(path)!r}: {_one_line(error)}"
        ) from None


def _warn_of_deadlocks(model: Any, path: str | os.PathLike[str]) -> None:
    """Storm lets states without a choice loop, and says nothing; PRISM warns of them."""
    stuck = model.labeling.get_states("deadlock")
    count = stuck.get_number_of_set_bits()
    if count:
        first = model.state_valuations.to_string(stuck.get_next_set_index(0))
        warnings.warn(
            f"{os.fspath(path)}: {count} state{'s have' if count > 1 else ' has'} no choice, a deadlock, and loop"
            f"{'' if count > 1 else 's'} for ever {'(one is ' if count > 1 else '('}{first.strip('[]')})",
            stacklevel=4,
        )


def _explicit(model: Any) -> Explicit:
    """By way of a UMB file."""
    stormpy = _stormpy()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.umb"
        try:
            options = stormpy.io.UmbExportOptions()
            options.compression = stormpy.io.CompressionMode.NO_COMPRESSION
            stormpy.io.export_to_umb(model, path, options=options)
        except RuntimeError as error:
            raise ValueError(f"model: Storm cannot hand it over: {_one_line(error)}") from None
        return read_umb(path)


def _stormpy() -> Any:
    try:
        import stormpy  # type: ignore[import-not-found]
    except ImportError:
        raise ImportError(
            "PRISM and JANI files are built by Storm: pip install 'lexicone[storm]'"
        ) from None
    return stormpy


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
