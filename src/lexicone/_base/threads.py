"""One thread for dense linear algebra where vectors are long and matrices thin.

NumPy and SciPy each bring a BLAS with a pool of threads of its own. From some 10,000 entries on either wakes its pool
for work of a few microseconds; two pools that take turns then need up to a thousand times as long as the work.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import scipy.linalg  # noqa: F401 - the pools are looked for once, so both must be there
from threadpoolctl import ThreadpoolController

__all__ = ["one_thread"]


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside, BLAS keeps to one thread, afterwards to as many as before. Also a decorator: ``@one_thread()``."""
    with _pools().limit(limits=1, user_api="blas"):
        yield


@cache
def _pools() -> ThreadpoolController:
    return ThreadpoolController()
