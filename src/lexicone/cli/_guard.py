"""How the command ends: quietly when it is interrupted or nobody reads on, whatever it was doing, imports included.

Nothing here imports what takes time.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

__all__ = ["quiet_end"]

_INTERRUPTED, _PIPE_CLOSED = 130, 141  # as shells have them: 128 and the signal's number


@contextmanager
def quiet_end() -> Iterator[None]:
    """Inside, Ctrl-C ends with one line and exit code 130, and a closed pipe with nothing and 141.

    An interrupted import may fail with any other error; that is no news.
    """
    caught: list[int] = []

    def interrupt(number: int, _: FrameType | None) -> None:
        caught.append(number)
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    ours = before is signal.default_int_handler and _is_main_thread()
    if ours:
        signal.signal(signal.SIGINT, interrupt)
    if sys.stdout is None:  # it was closed before we began
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        sys.exit(_PIPE_CLOSED)
    except OSError as error:
        _drop_output()
        print(f"lexicone: cannot write the output: {error.strerror}", file=sys.stderr)
        sys.exit(2)
    except BaseException as error:
        if not caught and not isinstance(error, KeyboardInterrupt):
            raise
        print("lexicone: interrupted", file=sys.stderr)
        sys.exit(_INTERRUPTED)
    finally:
        if ours:
            signal.signal(signal.SIGINT, before)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _drop_output() -> None:
    """Python writes what is left of the output once more when it ends: nowhere, then."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
