"""Figures and text maps. Functions return a matplotlib figure; `save` writes it as PNG, SVG and PDF."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
