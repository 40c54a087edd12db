"""A process that answers questions: one line of JSON in, one out. ``python -P -m lexicone.web._worker`` runs it.

A line ``{"cancel": id}`` ends the question at hand as soon as the solver looks up; what was already found out stays. It
ends when nobody writes to it any more.
"""

import json
import os
import queue
import sys
import threading
import traceback
from typing import Any, TextIO

__all__ = ["main"]


class _NobodyWaits(Exception):
    """The question was withdrawn."""


class _Inbox:
    """Questions, read by a thread so that a withdrawal is seen at once."""

    def __init__(self, lines: TextIO) -> None:
        self.questions: queue.Queue[dict[str, Any]] = queue.Queue()
        self.withdrawn: set[int] = set()
        threading.Thread(target=self._read, args=(lines,), daemon=True).start()

    def _read(self, lines: TextIO) -> None:
        for line in lines:
            message = json.loads(line)
            if "cancel" in message:
                self.withdrawn.add(message["cancel"])
            else:
                self.questions.put(message)
        os._exit(0)


def main() -> None:
    """Answers until the pipe is closed. The first line says what was opened."""
    lines, answers = sys.stdin, os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever prints shall not speak in between
    begin = json.loads(lines.readline())
    # what takes time, before the first question comes
    from lexicone.web._jobs import JOBS, Context
    from lexicone.web._questions import Known
    from lexicone.web._sources import Opened, SourceReader
    from lexicone.web._training import Training

    opened = Opened(**{**begin["opened"], "lines": tuple(begin["opened"]["lines"])})
    known = Known(SourceReader(begin["folder"], opened))
    training = Training(opened.path if opened.kind == "run" else "")
    inbox = _Inbox(lines)
    answers.write('{"ready": true}\n')
    answers.flush()
    while True:
        question = inbox.questions.get()
        number = question["id"]

        def progress(_: str, number: int = number) -> None:
            if number in inbox.withdrawn:
                raise _NobodyWaits

        context = Context(known, opened, training, float(question["seconds"]), progress)
        answer = _answer(JOBS[question["job"]], context, question["data"])
        inbox.withdrawn.discard(number)
        answers.write(json.dumps({"id": number} | answer, allow_nan=False) + "\n")
        answers.flush()


def _answer(job: Any, context: Any, data: Any) -> dict[str, Any]:
    """What a job found; or why not, and whose mistake that is."""
    try:
        context.progress("")
        return {"result": job(context, data if isinstance(data, dict) else {})}
    except _NobodyWaits:
        return {"error": "cancelled", "status": 499}
    except LookupError as error:
        told = error.args[0] if error.args else ""
        if str(told).startswith("file:"):
            return {"error": str(told), "status": 404}
        return _failure()
    except (ValueError, OSError, ImportError) as error:
        return {"error": str(error) or type(error).__name__, "status": 400}
    except MemoryError:
        return {"error": "there is not enough memory for this", "status": 400}
    except Exception:
        return _failure()


def _failure() -> dict[str, Any]:
    traceback.print_exc(file=sys.stderr)
    return {"error": "something went wrong; the terminal says what", "status": 500}


if __name__ == "__main__":
    try:
        main()
    except (KeyboardInterrupt, BrokenPipeError):
        os._exit(0)
