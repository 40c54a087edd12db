"""Models: one data type for every tabular task, exact values of policies, and episodes."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
