"""Directions: K gradients, one direction that improves them in their order, and ascent along it."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
