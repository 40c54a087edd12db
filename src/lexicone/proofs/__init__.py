"""Proofs: what a solution claims of a model, checked apart from the solver that found it."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
