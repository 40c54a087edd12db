"""Studies: one file per figure or table of the paper, ours, and one's own (`study`, `compare`)."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
