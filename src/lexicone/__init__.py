"""lexicone: decisions with ordered objectives, each but the last with a threshold that is good enough.

The public names are listed in ``__init__.pyi`` and imported when they are asked for.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
__version__ = "0.1.0"
