"""Tasks: functions that return an `MDP`, and a registry of them.

>>> from lexicone import tasks
>>> tasks.maze("extended", objectives="path").num_states
20
>>> tasks.make("maze:extended", objectives="path").num_actions
4
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
