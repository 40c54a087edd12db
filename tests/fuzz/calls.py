"""A valid call of a public callable, from which wild ones are made."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Arguments = dict[str, Any]
"""By the names of parameters; ``*fronts`` is the list for a parameter that takes any number."""


@dataclass(frozen=True)
class Call:
    """A public callable with arguments that it accepts."""

    name: str
    make: Callable[[], tuple[Callable[..., Any], Arguments]]
    """The callable (a method of a new object, where calls change it) and fresh arguments."""
    words: tuple[str, ...] = ()
    """What messages may begin with besides the names of parameters: fields of what is handed over."""
    long: tuple[str, ...] = ()
    """Numbers that say how long to work: asking for much is no mistake, but takes long."""
    weight: float = 1.0
    """How often it is called, compared with others."""


def call(
    name: str,
    function: Callable[..., Any],
    arguments: Arguments | Callable[[], Arguments] | None = None,
    **options: Any,
) -> Call:
    """A call of a function that does not change."""
    given = arguments if callable(arguments) else lambda: dict(arguments or {})
    return Call(name, lambda: (function, given()), **options)


def then(function: Callable[..., Any], use: Callable[[Any], Any]) -> Callable[..., Any]:
    """The function with something done to its result, as iterating over it."""

    @functools.wraps(function)
    def both(*args: Any, **kwargs: Any) -> Any:
        return use(function(*args, **kwargs))

    return both


def apply(function: Callable[..., Any], arguments: Arguments) -> Any:
    """Call it, positional where it must be."""
    positional, named = [], dict(arguments)
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL and f"*{name}" in named:
            positional += named.pop(f"*{name}")
        elif parameter.kind is parameter.POSITIONAL_ONLY and name in named:
            positional.append(named.pop(name))
    return function(*positional, **named)
