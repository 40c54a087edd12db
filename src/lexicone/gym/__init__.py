"""Gymnasium's door: models as environments with vector rewards, and budgets in observations (extra ``gym``)."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
