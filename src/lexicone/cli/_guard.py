"""How the command ends: quietly when it is interrupted or nobody reads on, whatever it was doing, imports included.

Nothing here imports what takes time.
"""

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

__all__ = ["quiet_end", "was_interrupted"]

_INTERRUPTED, _PIPE_CLOSED = 130, 141  # as shells have them: 128 and the signal's number
_AGAIN = 0.01  # seconds until an interrupt that could not be heeded comes again
_caught: list[int] = []  # the interrupts of the command that runs


def was_interrupted() -> bool:
    """Whether Ctrl-C came: what fails since then, an import for instance, is no news."""
    return bool(_caught)


@contextmanager
def quiet_end(*, whole_process: bool = False) -> Iterator[None]:
    """Inside, Ctrl-C ends with one line and exit code 130, and a closed pipe with nothing and 141.

    An interrupted import may fail with any other error; that is no news. Where Python cannot let an exception out (a
    callback of a dying object), the interrupt would be printed and forgotten: it comes again. A ``whole_process`` is
    ended without further ado where others would crash: at once during an import, which extensions in C++ do not expect
    to fail, and before Python takes apart the modules of a compiler that was interrupted.
    """
    _caught.clear()
    ended: list[int] = []
    if whole_process:
        atexit.register(_end_at_once, ended)

    def interrupt(number: int, frame: FrameType | None) -> None:
        _caught.append(number)
        if whole_process and _is_importing(frame):
            os.write(2, b"lexicone: interrupted\n")
            os._exit(_INTERRUPTED)
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
        if not _caught and not isinstance(error, KeyboardInterrupt):
            raise
        more = f" {error}" if isinstance(error, KeyboardInterrupt) and str(error) else ""
        print(f"lexicone: interrupted{more}", file=sys.stderr)
        ended.append(_INTERRUPTED)
        sys.exit(_INTERRUPTED)
    finally:
        if ours:
            signal.signal(signal.SIGINT, before)
            sys.unraisablehook = show_lost


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return frame is not None


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _drop_output() -> None:
    """Python writes what is left of the output once more when it ends: nowhere, then."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _end_at_once(ended: list[int]) -> None:
    if ended:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(ended[0])
