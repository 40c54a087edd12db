"""How many programs XLA compiles, whoever asks for them."""

from collections.abc import Callable
from typing import Any

import jax.monitoring

_EVENT = "/jax/core/compile/backend_compile_duration"
_seen: list[str] = []


def _listen(event: str, duration_secs: float, **kwargs: Any) -> None:
    if event == _EVENT:
        _seen.append(event)


jax.monitoring.register_event_duration_secs_listener(_listen)


def compiled_by(work: Callable[[], Any]) -> int:
    """The number of programs that were compiled in it."""
    before = len(_seen)
    work()
    return len(_seen) - before
