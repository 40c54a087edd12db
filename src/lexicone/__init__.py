"""lexicone: decisions with ordered objectives, each but the last with a threshold that is good enough.

The public names are listed in ``__init__.pyi`` and imported when they are asked for.
"""

import lazy_loader as _lazy

__version__ = "0.1.0"  # before what asks for it

__getattr__, _, __all__ = _lazy.attach_stub(__name__, __file__)


def __dir__() -> list[str]:
    """Every public name; `lexicone.torch` and other doors come with their own import."""
    return sorted([*__all__, "__version__"])
