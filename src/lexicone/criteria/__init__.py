"""What a threshold means: on average or in every episode; budgets, and constrained problems in a row."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
