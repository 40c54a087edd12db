"""Worker processes: who answers which question, for how long, and what happens to one that nobody waits for any more.

A question goes to the worker that answered the last one about the same model, if that is free. One that is withdrawn,
or takes too long, is asked to stop, and after a moment its process is ended and another one started.
"""

import asyncio
import json
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from lexicone.web._sources import Opened

__all__ = ["Pool", "Refusal"]

_LONGEST_LINE = 256 * 1024**2
_PATIENCE = 1.0  # seconds for a worker to stop by itself
_WAITING = 32  # questions


class Refusal(Exception):
    """Why there is no answer, and the status of HTTP that says so."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Worker:
    """One process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process, self.number, self.about = process, 0, ""
        self.busy = False

    async def begin(self, facts: dict[str, Any]) -> None:
        """Tells it what was opened, and waits until it has imported what takes time."""
        await self._say(facts)
        assert self.process.stdout is not None
        if not await self.process.stdout.readline():
            raise Refusal(
                "a process that computes could not be started; the terminal says why", 500
            )

    async def ask(self, job: str, data: Any, seconds: float) -> dict[str, Any]:
        """The answer, as the process gives it."""
        self.number += 1
        await self._say({"id": self.number, "job": job, "data": data, "seconds": seconds})
        return await self._hear()

    async def stop(self) -> bool:
        """Withdraws the question; whether the process can go on."""
        try:
            await self._say({"cancel": self.number})
            async with asyncio.timeout(_PATIENCE):
                await self._hear()
        except (OSError, TimeoutError, Refusal):
            return False
        return True

    async def end(self) -> None:
        """Ends the process."""
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()

    async def _say(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        await self.process.stdin.drain()

    async def _hear(self) -> dict[str, Any]:
        """The answer to the latest question."""
        assert self.process.stdout is not None
        while True:
            line = await self.process.stdout.readline()
            if not line:
                raise Refusal(
                    "the process that computes has ended, perhaps for want of memory", 500
                )
            answer = json.loads(line)
            if answer.get("id") == self.number:
                return answer


class Pool:
    """A few workers, started when the server starts."""

    def __init__(self, opened: Opened, folder: str, *, workers: int, seconds: float) -> None:
        self.begin = {"opened": asdict(opened), "folder": folder}
        self.count, self.seconds = workers, seconds
        self.workers: list[Worker] = []
        self.asked: Counter[str] = Counter()
        self.waiting, self.closed = 0, False
        self.change = asyncio.Condition()
        self.chores: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Starts the workers."""
        self.workers = list(await asyncio.gather(*(self._start() for _ in range(self.count))))

    async def close(self) -> None:
        """Ends them."""
        self.closed = True
        await asyncio.gather(*(worker.end() for worker in self.workers))

    async def run(self, job: str, data: Any, client: str) -> dict[str, Any]:
        """What a worker answers; a `Refusal` says why there is nothing.

        A window of a browser never has all workers to itself if there are several.
        """
        worker = await self._take(_about(data), client)
        whole = False
        try:
            async with asyncio.timeout(self.seconds + _PATIENCE):
                answer = await worker.ask(job, data, self.seconds)
            whole = True
        except TimeoutError:
            raise Refusal(f"this took longer than {self.seconds:g} seconds", 503) from None
        except OSError:
            raise Refusal("the process that computes has ended", 500) from None
        finally:
            self.asked[client] -= 1
            if self.asked[client] <= 0:
                del self.asked[client]
            self._later(self._release(worker, whole))
        if "error" in answer:
            raise Refusal(answer["error"], answer["status"])
        return answer["result"]

    async def _take(self, about: str, client: str) -> Worker:
        if self.waiting >= _WAITING:
            raise Refusal("too many questions at once; try again in a moment", 503)
        most = max(1, self.count - 1)
        self.waiting += 1
        try:
            async with self.change:
                await self.change.wait_for(
                    lambda: self.asked[client] < most and any(not w.busy for w in self.workers)
                )
                free = [worker for worker in self.workers if not worker.busy]
                worker = next((w for w in free if w.about == about), free[0])
                worker.busy, worker.about = True, about
                self.asked[client] += 1
                self.workers.remove(worker)
                self.workers.append(worker)  # who has rested longest comes first
                return worker
        finally:
            self.waiting -= 1

    async def _release(self, worker: Worker, whole: bool) -> None:
        if not whole and (self.closed or not await worker.stop()):
            await worker.end()
            if self.closed:
                return
            fresh = await self._start()
            self.workers[self.workers.index(worker)] = fresh
            worker = fresh
        async with self.change:
            worker.busy = False
            self.change.notify_all()

    def _later(self, chore: Any) -> None:
        """Whoever withdrew a question does not wait for the worker to be free."""
        task = asyncio.create_task(chore)
        self.chores.add(task)
        task.add_done_callback(self.chores.discard)

    async def _start(self) -> Worker:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "lexicone.web._worker"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_LONGEST_LINE,
            start_new_session=True,  # Ctrl-C is for the server, which ends it
        )
        worker = Worker(process)
        await worker.begin(self.begin)
        return worker


def _about(data: Any) -> str:
    return json.dumps(data.get("source")) if isinstance(data, dict) else ""
