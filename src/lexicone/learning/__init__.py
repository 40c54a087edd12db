"""Learning: policies from samples, on models and in environments, all seeds in one compiled program."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
