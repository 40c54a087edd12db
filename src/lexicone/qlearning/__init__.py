"""Thresholded lexicographic Q-learning: rules from parts, their exact limits and learning; kinds of objectives."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
