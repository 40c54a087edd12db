"""Results as one page: what was asked, the answer, what it costs, how sure it is, and how to have it again."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
