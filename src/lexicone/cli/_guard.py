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
from typing import Any

__all__ = ["quiet_end"]

_INTERRUPTED, _PIPE_CLOSED = 130, 141  # as shells have them: 128 and the signal's number
_AGAIN = 0.01  # seconds until an interrupt that could not be heeded comes again


@contextmanager
def quiet_end() -> Iterator[None]:
    """Inside, Ctrl-C ends with one line and exit code 130, and a closed pipe with nothing and 141.

    An interrupted import may fail with any other error; that is no news. Where Python cannot let an exception out (a
    callback of a dying object, as imports have them), the interrupt would be printed and forgotten: it comes again.
    """
    caught: list[int] = []

    def interrupt(number: int, _: FrameType | None) -> None:
        caught.append(number)
        raise KeyboardInterrupt

    before, show_lost = signal.getsignal(signal.SIGINT), sys.unraisablehook

    def once_more(lost: Any) -> None:
        if not issubclass(lost.exc_type, KeyboardInterrupt):
            show_lost(lost)
        elif signal.getsignal(signal.SIGINT) is interrupt:
            main = threading.main_thread().ident
            again = threading.Timer(_AGAIN, signal.pthread_kill, [main, signal.SIGINT])
            again.daemon = True
            again.start()

    ours = before is signal.default_int_handler and _is_main_thread()
    if ours:
        sys.unraisablehook = once_more
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
        more = f" {error}" if isinstance(error, KeyboardInterrupt) and str(error) else ""
        print(f"lexicone: interrupted{more}", file=sys.stderr)
        sys.exit(_INTERRUPTED)
    finally:
        if ours:
            signal.signal(signal.SIGINT, before)
            sys.unraisablehook = show_lost


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _drop_output() -> None:
    """Python writes what is left of the output once more when it ends: nowhere, then."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
