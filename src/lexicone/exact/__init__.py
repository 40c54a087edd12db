"""Exact: the lexicographic optimum of a model with its proof, fronts, and the planning baseline."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
