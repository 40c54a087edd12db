"""The application: a few files, the list of tasks, questions for the workers, and a place for files that are loaded."""

import asyncio
import contextlib
import hashlib
import json
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lexicone import __version__
from lexicone._base.files import write_atomically
from lexicone.web._guard import Guard
from lexicone.web._pool import Pool, Refusal
from lexicone.web._sources import MAX_TILES, Opened, file_path, list_tasks

__all__ = ["make_app"]

STATIC = Path(__file__).parent / "static"
MAX_QUESTION = 256 * 1024
MAX_FILE = 64 * 1024**2
"""Bytes of a file that is loaded."""
_FILES, _BYTES = 50, 512 * 1024**2  # that are kept
_READ_SECONDS = 60.0
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_JOBS = frozenset(
    (
        *("model", "extremes", "solve", "why", "front", "criteria", "episodes", "lines"),
        *("training", "snapshot"),
    )
)


class Files:
    """What was loaded, each in a file named by its digest; the oldest make room."""

    def __init__(self, folder: str) -> None:
        self.folder, self.sizes = folder, OrderedDict[str, int]()

    def add(self, content: bytes) -> str:
        """Keeps it; its digest."""
        digest = hashlib.sha256(content).hexdigest()
        path = file_path(self.folder, digest)
        write_atomically(path, lambda file: file.write(content))
        self.sizes[digest] = len(content)
        self.sizes.move_to_end(digest)
        while len(self.sizes) > _FILES or sum(self.sizes.values()) > _BYTES:
            oldest, _ = self.sizes.popitem(last=False)
            file_path(self.folder, oldest).unlink(missing_ok=True)
        return digest


def make_app(
    opened: Opened,
    folder: str,
    names: Callable[[], frozenset[str]],
    *,
    workers: int = 3,
    seconds: float = 60.0,
) -> Starlette:
    """The application.

    Args:
        opened: what the page may read besides tasks and what is loaded into it.
        folder: for files that are loaded.
        names: how browsers may call the server, with its port.
        workers: processes that compute.
        seconds: that a question may take.
    """
    pool = Pool(opened, folder, workers=workers, seconds=seconds)
    files = Files(folder)
    pages = {
        path.name: (path.read_bytes(), _TYPES[path.suffix]) for path in sorted(STATIC.iterdir())
    }

    async def page(request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        if name not in pages:
            return _error("there is no such page", 404)
        content, kind = pages[name]
        return Response(content, media_type=kind, headers={"Cache-Control": "no-cache"})

    async def start(_: Request) -> Response:
        return _json(
            {
                "version": __version__,
                "tasks": list_tasks(),
                "opened": {"kind": opened.kind, "label": opened.label, "state": opened.state},
                "limits": {"tiles": MAX_TILES, "file": MAX_FILE, "seconds": seconds},
            }
        )

    async def load(request: Request) -> Response:
        try:
            content = await _body(request, MAX_FILE)
            digest = files.add(content)
            source = {"file": digest}
            found = await pool.run("model", {"source": source}, _client(request))
        except Refusal as refusal:
            return _error(str(refusal), refusal.status)
        return _json(found | {"file": digest})

    async def ask(request: Request) -> Response:
        job = request.path_params["job"]
        if job not in _JOBS:
            return _error("there is no such question", 404)
        try:
            data = json.loads(await _body(request, MAX_QUESTION))
        except Refusal as refusal:
            return _error(str(refusal), refusal.status)
        except (ValueError, RecursionError):
            return _error("the question is no JSON", 400)
        return await _answer(request, pool.run(job, data, _client(request)))

    @contextlib.asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        await pool.open()
        yield
        await pool.close()

    routes = [
        Route("/", page),
        Route("/static/{name}", page),
        Route("/api/start", start),
        Route("/api/load", load, methods=["POST"]),
        Route("/api/{job}", ask, methods=["POST"]),
    ]
    return Starlette(routes=routes, lifespan=lifespan, middleware=[Middleware(Guard, names=names)])


async def _answer(request: Request, coming: Any) -> Response:
    """What comes; if the browser hangs up before, the question is withdrawn."""
    task = asyncio.create_task(coming)
    gone = asyncio.create_task(_gone(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            return _error("cancelled", 499)
        return _json(task.result())
    except Refusal as refusal:
        return _error(str(refusal), refusal.status)
    except asyncio.CancelledError:
        return _error("the server is closing", 503)
    finally:
        for one in (task, gone):
            one.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _body(request: Request, most: int) -> bytes:
    """What was sent, if it is not too much and comes in time."""
    parts, size = [], 0
    try:
        async with asyncio.timeout(_READ_SECONDS):
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise Refusal(f"more than {most / 1024**2:.3g} MB are not taken", 413)
                parts.append(part)
    except (TimeoutError, ClientDisconnect):
        raise Refusal("the rest did not come", 408) from None
    return b"".join(parts)


def _client(request: Request) -> str:
    """Which window asks: a random name that it gave itself."""
    return request.headers.get("x-window", "")[:40]


def _json(found: Any) -> Response:
    return JSONResponse(found, headers={"Cache-Control": "no-store"})


def _error(told: str, status: int) -> Response:
    return JSONResponse({"error": told}, status, headers={"Cache-Control": "no-store"})
